// Entries that a dynamic matrix does not have: each is looked up, once to count and once to write.
#include <lacuna/op/closure.hpp>

#include "cpu/build_rows.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
csr<T, I, O> new_entries(const host_context& ctx, dynamic_csr_view<const T, I, O> m,
                         std::int64_t first, csr_view<const T, I, std::int64_t> part) {
  const std::int64_t rows = part.shape().row, entries = part.size();
  const std::int64_t* const rowptr = part.rowptr().data();
  array<char> is_new(ctx, entries);
  const int parts = part_count(ctx, rows + entries, entry_grain);
  const auto row_of_part = [&](int p) { return first_row(rowptr, rows, p, parts); };
  const auto first_of = [&](int p) { // rows outside of the part are the first's and the last's
    return p == 0 ? 0 : p == parts ? std::int64_t{m.extent.row} : first + row_of_part(p);
  };
  const auto inside = [&](std::int64_t i) { return i >= first && i < first + rows; };
  return build_rows<T, I, O>(
      ctx, m.extent, part.order(), parts, first_of,
      [&](std::int64_t i) {
        std::int64_t count = 0;
        if (!inside(i)) return count;
        for (std::int64_t k = rowptr[i - first]; k < rowptr[i - first + 1]; ++k) {
          is_new[k] = m.find(i, part.colind()[k]) < 0 ? 1 : 0;
          count += is_new[k];
        }
        return count;
      },
      [&](std::int64_t i, I* colind, T* values) {
        if (!inside(i)) return;
        for (std::int64_t k = rowptr[i - first]; k < rowptr[i - first + 1]; ++k)
          if (is_new[k] != 0) {
            *colind++ = part.colind()[k];
            *values++ = part.values()[k];
          }
      });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> new_entries<T, I, O>(const host_context&, dynamic_csr_view<const T, I, O>, \
                                             std::int64_t, csr_view<const T, I, std::int64_t>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
