#include <lacuna/solver/features.hpp>

#include "core/system_row.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
system_features look_at_system(const host_context& ctx, csr_view<const T, I, O> a,
                               vector_view<T> diagonal) {
  const std::int64_t rows = a.shape().row;
  const system_arrays<T, I, O> arrays{a.rowptr().data(), a.colind().data(), a.values().data(),
                                      a.order().sorted};
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) diagonal[i] = diagonal_of(arrays, i);
  });
  const int parts = part_count(ctx, rows, entry_grain);
  array<row_findings> found(ctx, parts);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    row_findings sum;
    const std::int64_t end = part_begin(rows, part + 1, parts);
    for (std::int64_t i = part_begin(rows, part, parts); i < end; ++i) {
      const row_findings f =
          look_at_row(arrays, diagonal.data(), i, std::numeric_limits<T>::epsilon());
      for (int k = 0; k < row_findings::count; ++k) sum.of[k] += f.of[k];
    }
    found[part] = sum;
  });
  row_findings all;
  for (const row_findings& f : found)
    for (int k = 0; k < row_findings::count; ++k) all.of[k] += f.of[k];
  return {rows,
          a.size(),
          all.of[row_findings::unmatched],
          all.of[row_findings::unsymmetric],
          all.of[row_findings::zero],
          all.of[row_findings::negative],
          all.of[row_findings::dominant],
          all.of[row_findings::not_finite]};
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template system_features look_at_system(                                                         \
      const host_context&, csr_view<const T, std::int32_t, std::int32_t>, vector_view<T>);         \
  template system_features look_at_system(                                                         \
      const host_context&, csr_view<const T, std::int64_t, std::int64_t>, vector_view<T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
