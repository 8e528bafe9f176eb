// B = A^T by a stable radix sort of A's columns. Entries of one column keep the order of A's rows.
//
// Bytes moved, 32-bit indices: about 16 a sorting pass of 8 bits (3 passes for 2^24 columns), and
// 2 (sizeof T + sizeof I) + 12 an entry around it.
#include "gpu/parts/sort.cuh"
#include <lacuna/op/transpose.hpp>

namespace lacuna::gpu {

namespace {

template <class position, class T, class I, class O>
void transpose_numbered(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                        csr_view<T, I, O, space::device> b) {
  using key = std::make_unsigned_t<I>;
  const std::int64_t rows = a.shape().row, columns = a.shape().col, entries = a.size();
  sorted_keys<key, position> order{array<key, space::device>(ctx, entries),
                                   array<position, space::device>(ctx, entries)};
  array<I, space::device> row_of_entry(ctx, entries);
  for_each(ctx, entries, "transpose: keys",
           [from = a.colind().data(), rowptr = a.rowptr().data(), rows, keys = order.keys.data(),
            positions = order.positions.data(),
            row = row_of_entry.data()] __device__(std::int64_t k) {
             keys[k] = static_cast<key>(from[k]);
             positions[k] = static_cast<position>(k);
             row[k] = static_cast<I>(row_of(rowptr, rows, k));
           });
  order = sort_stably(ctx, std::move(order), columns);
  for_each(ctx, columns + 1, "transpose: rowptr",
           [keys = order.keys.data(), entries, columns,
            rowptr = b.rowptr().data()] __device__(std::int64_t c) {
             rowptr[c] = static_cast<O>(
                 c == columns ? entries : lower_bound(keys, entries, static_cast<key>(c)));
           });
  for_each(ctx, entries, "transpose: entries",
           [positions = order.positions.data(), row = row_of_entry.data(), from = a.values().data(),
            colind = b.colind().data(), values = b.values().data()] __device__(std::int64_t k) {
             colind[k] = row[positions[k]];
             values[k] = from[positions[k]];
           });
}

} // namespace

template <class T, class I, class O>
void transpose_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                   csr_view<T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  with_position_type(a.size(),
                     [&](auto position) { transpose_numbered<decltype(position)>(ctx, a, b); });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void transpose_csr<T, I, O>(const device_context&,                                      \
                                       csr_view<const T, I, O, space::device>,                     \
                                       csr_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
