// Entries that a dynamic matrix does not have: each is looked up by one thread. Waits once, for
// their number.
#include <lacuna/op/closure.hpp>

#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {

template <class T, class I, class O>
csr<T, I, O, space::device>
new_entries(const device_context& ctx, dynamic_csr_view<const T, I, O, space::device> m,
            std::int64_t first, csr_view<const T, I, std::int64_t, space::device> part) {
  const device_guard guard(ctx.device());
  const std::int64_t entries = part.size(), rows = part.shape().row;
  array<std::uint8_t, space::device> is_new(ctx, entries);
  array<std::int64_t, space::device> places(ctx, entries + 1);
  for_each(ctx, entries, "new_entries: look up",
           [m, first, rows, rowptr = part.rowptr().data(), colind = part.colind().data(),
            is_new = is_new.data()] __device__(std::int64_t k) {
             is_new[k] = m.find(first + row_of(rowptr, rows, k), colind[k]) < 0 ? 1 : 0;
           });
  exclusive_sums(ctx, entries, std::as_const(is_new).data(), places.data());
  std::int64_t count = 0;
  read_back(ctx, &count, std::as_const(places).data() + entries, 1);
  csr<T, I, O, space::device> result(ctx, m.extent, checked_cast<O>(count, "the number of entries"),
                                     part.order());
  for_each(ctx, std::int64_t{m.extent.row} + 1, "new_entries: rowptr",
           [first, rows, rowptr = part.rowptr().data(), places = places.data(),
            to = result.rowptr().data()] __device__(std::int64_t i) {
             const std::int64_t row = i < first ? 0 : i - first < rows ? i - first : rows;
             to[i] = static_cast<O>(places[rowptr[row]]);
           });
  for_each(ctx, entries, "new_entries: entries",
           [is_new = is_new.data(), places = places.data(), colind = part.colind().data(),
            values = part.values().data(), to_colind = result.colind().data(),
            to_values = result.values().data()] __device__(std::int64_t k) {
             if (is_new[k] == 0) return;
             to_colind[places[k]] = colind[k];
             to_values[places[k]] = values[k];
           });
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O, space::device> new_entries<T, I, O>(                                       \
      const device_context&, dynamic_csr_view<const T, I, O, space::device>, std::int64_t,         \
      csr_view<const T, I, std::int64_t, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
