// One row after another: every row may need the one before it.
#include <lacuna/op/triangular_solve.hpp>

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void triangular_solve_csr(const host_context&, T alpha, csr_view<const T, I, O> a, bool upper,
                          bool unit, T beta, dense_view<const T> b, dense_view<T> x) {
  const std::int64_t n = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const T* const values = a.values().data();
  for (std::int64_t j = 0; j < x.shape().col; ++j)
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t row = upper ? n - 1 - step : step;
      T sum = 0, diagonal = 0;
      for (O k = rowptr[row]; k < rowptr[row + 1]; ++k) {
        const I col = colind[k];
        if (col == row)
          diagonal += alpha * values[k];
        else if ((col > row) == upper)
          sum += alpha * values[k] * x(col, j);
      }
      const T rest = beta * b(row, j) - sum;
      x(row, j) = unit ? rest : rest / diagonal;
    }
}

template <class T, class I, class O>
std::int64_t find_no_diagonal(const host_context&, csr_view<const T, I, O> a) {
  const O* const rowptr = a.rowptr().data();
  for (std::int64_t row = 0; row < a.shape().row; ++row) {
    T diagonal = 0;
    for (O k = rowptr[row]; k < rowptr[row + 1]; ++k)
      if (a.colind()[k] == row) diagonal += a.values()[k];
    if (diagonal == T{0}) return row;
  }
  return -1;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void triangular_solve_csr<T, I, O>(const host_context&, T, csr_view<const T, I, O>,     \
                                              bool, bool, T, dense_view<const T>, dense_view<T>);  \
  template std::int64_t find_no_diagonal<T, I, O>(const host_context&, csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::cpu
