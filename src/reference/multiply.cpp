#include "reference/reference.hpp"

#include <cmath>
#include <limits>

namespace lacuna::reference {
namespace {

/// alpha op(A) x + beta z for one vector, x and z given element by element.
template <class T, class I, class O, class X, class Z>
expected multiply_one(csr_view<const T, I, O> a, bool transposed, double alpha, X x, double beta,
                      Z z) {
  const auto size = static_cast<std::size_t>(transposed ? a.shape().col : a.shape().row);
  std::vector<long double> sum(size), sum_abs(size);
  std::vector<double> terms(size);
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k) {
      const std::int64_t j = a.colind()[k];
      const auto to = static_cast<std::size_t>(transposed ? j : i);
      const long double term = static_cast<long double>(a.values()[k]) * x(transposed ? i : j);
      sum[to] += term;
      sum_abs[to] += std::abs(term);
      terms[to] += 1;
    }
  // The tiny part is for products that underflow in T.
  const double eps = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::denorm_min();
  expected result;
  for (std::size_t i = 0; i < size; ++i) {
    const long double addend = beta == 0 ? 0 : beta * static_cast<long double>(z(i));
    const long double scale = std::abs(alpha) * sum_abs[i] + std::abs(addend);
    result.value.push_back(static_cast<double>(alpha * sum[i] + addend));
    result.bound.push_back((terms[i] + 4) *
                           (eps * static_cast<double>(scale) + tiny * (1 + std::abs(alpha))));
  }
  return result;
}

} // namespace

template <class T, class I, class O>
expected multiply(csr_view<const T, I, O> a, vector_view<const T> x, bool transposed, double alpha,
                  double beta, vector_view<const T> z) {
  return multiply_one(
      a, transposed, alpha, [&](std::int64_t j) { return x[j]; }, beta,
      [&](std::size_t i) { return z[static_cast<std::int64_t>(i)]; });
}

template <class T, class I, class O>
expected multiply(csr_view<const T, I, O> a, dense_view<const T> x, bool transposed, double alpha,
                  double beta, dense_view<const T> z) {
  const auto rows = static_cast<std::size_t>(transposed ? a.shape().col : a.shape().row);
  const auto vectors = static_cast<std::size_t>(x.shape().col);
  expected result{std::vector<double>(rows * vectors), std::vector<double>(rows * vectors)};
  for (std::size_t v = 0; v < vectors; ++v) {
    const auto col = static_cast<std::int64_t>(v);
    const auto one = multiply_one(
        a, transposed, alpha, [&](std::int64_t j) { return x(j, col); }, beta,
        [&](std::size_t i) { return z(static_cast<std::int64_t>(i), col); });
    for (std::size_t i = 0; i < rows; ++i) {
      result.value[i * vectors + v] = one.value[i];
      result.bound[i * vectors + v] = one.bound[i];
    }
  }
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template expected multiply(csr_view<const T, I, O>, vector_view<const T>, bool, double, double,  \
                             vector_view<const T>);                                                \
  template expected multiply(csr_view<const T, I, O>, dense_view<const T>, bool, double, double,   \
                             dense_view<const T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::reference
