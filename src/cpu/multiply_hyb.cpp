// y = alpha A x + beta z on the host, A in hyb: the ELL part by blocks of rows, then the rest added
// as CSR. Memory-bound: what the matrix takes with its padding, x once, y once and, where there is
// a rest, twice more.
#include <lacuna/op/hyb.hpp>

#include "cpu/parallel.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t block = 256; // rows whose sums are kept while columns are passed through

/// One column of y; rows [begin, end).
template <class T, class I, class O>
void multiply_ell(T alpha, hyb_view<const T, I, O> a, dense_view<const T> x, T beta,
                  dense_view<const T> z, dense_view<T> y, std::int64_t column, std::int64_t begin,
                  std::int64_t end) {
  for (std::int64_t first = begin; first < end; first += block) {
    const std::int64_t count = std::min(block, end - first);
    T sums[block] = {};
    for (std::int64_t k = 0; k < a.width(); ++k) {
      const I* const columns = a.columns().data() + k * a.stride() + first;
      const T* const values = a.values().data() + k * a.stride() + first;
      for (std::int64_t i = 0; i < count; ++i)
        if (columns[i] >= 0) sums[i] += values[i] * x(columns[i], column);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const T sum = alpha * sums[i];
      y(first + i, column) = beta == T{0} ? sum : sum + beta * z(first + i, column);
    }
  }
}

} // namespace

template <class T, class I, class O>
void multiply_hyb(const host_context& ctx, T alpha, hyb_view<const T, I, O> a,
                  dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  const std::int64_t rows = y.shape().row, columns = y.shape().col;
  if (rows == 0 || columns == 0) return;
  const std::int64_t grain = entry_grain / (1 + a.width());
  for_each_range(ctx, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = 0; j < columns; ++j) multiply_ell(alpha, a, x, beta, z, y, j, begin, end);
  });
  if (a.rest().size() == 0) return;
  if (columns > 1 || x.row_stride() != 1 || y.row_stride() != 1)
    return multiply_csr_dense<T, I, O>(ctx, alpha, a.rest(), x, T{1}, y, y);
  const vector_view<T> to(y.data(), rows);
  multiply_csr<T, I, O>(ctx, alpha, a.rest(), {x.data(), x.shape().row}, T{1}, to, to);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_hyb<T, I, O>(const host_context&, T, hyb_view<const T, I, O>,             \
                                      dense_view<const T>, T, dense_view<const T>, dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
