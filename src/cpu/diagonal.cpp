#include <lacuna/op/diagonal.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void csr_diagonal(const host_context& ctx, csr_view<const T, I, O> a, vector_view<T> d) {
  const std::int64_t rows = d.size();
  if (rows == 0) return;
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const T* const values = a.values().data();
  const bool sorted = a.order().sorted;
  const int parts = part_count(ctx, sorted ? rows : rows + rowptr[rows], entry_grain);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i) {
      const I own = static_cast<I>(i);
      const I* const last = colind + rowptr[i + 1];
      const I* at = colind + rowptr[i];
      T sum = 0;
      if (sorted) {
        at = std::lower_bound(at, last, own);
        for (; at != last && *at == own; ++at) sum += values[at - colind];
      } else {
        for (; at != last; ++at)
          if (*at == own) sum += values[at - colind];
      }
      d[i] = sum;
    }
  });
}

template <class T, class I, class O>
void scale_csr_rows(const host_context& ctx, csr_view<T, I, O> a, vector_view<const T> factors) {
  const O* const rowptr = a.rowptr().data();
  T* const values = a.values().data();
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for_each_row_piece(rowptr, a.shape().row, begin, end,
                       [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                         const T factor = factors[row];
                         for (std::int64_t k = first; k < last; ++k) values[k] *= factor;
                       });
  });
}

template <class T, class I, class O>
void scale_csr_columns(const host_context& ctx, csr_view<T, I, O> a, vector_view<const T> factors) {
  const I* const colind = a.colind().data();
  T* const values = a.values().data();
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) values[k] *= factors[colind[k]];
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void csr_diagonal<T, I, O>(const host_context&, csr_view<const T, I, O>,                \
                                      vector_view<T>);                                             \
  template void scale_csr_rows<T, I, O>(const host_context&, csr_view<T, I, O>,                    \
                                        vector_view<const T>);                                     \
  template void scale_csr_columns<T, I, O>(const host_context&, csr_view<T, I, O>,                 \
                                           vector_view<const T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
