// y = alpha A x + beta z on the host: shares of equal rows and entries a thread, long rows shared.
// Memory-bound: nnz (sizeof T + sizeof I) + rows (sizeof O + sizeof T) + cols sizeof T bytes move.
#include <lacuna/op/multiply.hpp>

#include <cmath>

#include "cpu/multiply_csr_dense.hpp"
#include "cpu/shares.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, inspected_csr<T, I, O, space::host> m,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  const csr_view<const T, I, O> a = m.a;
  if (!are_vectors(x, beta, z, y)) return multiply_csr_dense(ctx, alpha, a, x, beta, z, y);
  const row_arguments<T, I, O> p{a.rowptr().data(),
                                 a.colind().data(),
                                 a.values().data(),
                                 x.data(),
                                 z.data(),
                                 y.data(),
                                 alpha,
                                 beta};
  array<T> sums;
  multiply_column(ctx, p, a.shape().row, sums);
}

template <class T, class I, class O>
void inspect_csr(const host_context& ctx, csr_view<const T, I, O> a,
                 multiply_inspection<T, I, O, space::host>& result) {
  (void)ctx;
  const O* rowptr = a.rowptr().data();
  const std::int64_t rows = a.shape().row;
  if (rows == 0) return;
  row_statistics& lengths = result.statistics;
  lengths.mean = static_cast<double>(a.size()) / static_cast<double>(rows);
  double squares = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = rowptr[row + 1] - rowptr[row];
    const double off = static_cast<double>(length) - lengths.mean;
    squares += off * off;
    lengths.longest = std::max(lengths.longest, length);
    lengths.empty += length == 0 ? 1 : 0;
  }
  lengths.deviation = std::sqrt(squares / static_cast<double>(rows));
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(const host_context&, T,                                   \
                                         inspected_csr<T, I, O, space::host>, dense_view<const T>, \
                                         T, dense_view<const T>, dense_view<T>);                   \
  template void inspect_csr<T, I, O>(const host_context&, csr_view<const T, I, O>,                 \
                                     multiply_inspection<T, I, O, space::host>&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
