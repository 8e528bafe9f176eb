#include "reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lacuna::reference {
namespace {

template <class T> double sum_bound(std::int64_t terms, long double sum_abs) {
  return static_cast<double>(terms + 4) *
         (std::numeric_limits<T>::epsilon() * static_cast<double>(sum_abs) +
          std::numeric_limits<T>::denorm_min());
}

double larger(double largest, double x) {
  return std::isnan(largest) || std::isnan(x) ? std::numeric_limits<double>::quiet_NaN()
                                              : std::max(largest, x);
}

} // namespace

template <class T> expected_scalar dot(vector_view<const T> x, vector_view<const T> y) {
  long double sum = 0, sum_abs = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const long double term = static_cast<long double>(x[i]) * y[i];
    sum += term;
    sum_abs += std::abs(term);
  }
  return {static_cast<double>(sum), sum_bound<T>(x.size(), sum_abs)};
}

template <class T>
expected axpby(double alpha, vector_view<const T> x, double beta, vector_view<const T> y) {
  expected result;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const long double ax = alpha == 0 ? 0 : alpha * static_cast<long double>(x[i]);
    const long double by = beta == 0 ? 0 : beta * static_cast<long double>(y[i]);
    result.value.push_back(static_cast<double>(ax + by));
    result.bound.push_back(sum_bound<T>(0, std::abs(ax) + std::abs(by)));
  }
  return result;
}

template <class T>
expected multiply_elements(double alpha, vector_view<const T> d, vector_view<const T> x,
                           double beta, vector_view<const T> y) {
  expected result;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const long double dx = alpha * static_cast<long double>(d[i]) * x[i];
    const long double by = beta == 0 ? 0 : beta * static_cast<long double>(y[i]);
    result.value.push_back(static_cast<double>(dx + by));
    result.bound.push_back(sum_bound<T>(0, std::abs(dx) + std::abs(by)));
  }
  return result;
}

template <class T> expected_scalar norm1(vector_view<const T> x) {
  long double sum = 0;
  for (const T v : x) sum += std::abs(v);
  return {static_cast<double>(sum), sum_bound<T>(x.size(), sum)};
}

template <class T> expected_scalar norm2(vector_view<const T> x) {
  long double sum = 0;
  for (const T v : x) sum += static_cast<long double>(v) * v;
  return {static_cast<double>(std::sqrt(sum)), sum_bound<T>(x.size(), std::sqrt(sum))};
}

template <class T> expected_scalar norm_inf(vector_view<const T> x) {
  double largest = 0;
  for (const T v : x) largest = larger(largest, std::abs(v));
  return {largest, 0};
}

template <class T, class I, class O> expected_scalar matrix_inf_norm(csr_view<const T, I, O> a) {
  expected_scalar result;
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    const std::int64_t begin = a.rowptr()[i], end = a.rowptr()[i + 1];
    const auto row = norm1<T>({a.values().data() + begin, end - begin});
    result.value = larger(result.value, row.value);
    result.bound = larger(result.bound, row.bound);
  }
  return result;
}

template <class T> double worst_error(T computed, expected_scalar e) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double c = computed;
  const auto rounded = static_cast<double>(static_cast<T>(e.value));
  if (c == rounded || (std::isnan(c) && std::isnan(rounded))) return 0;
  if (std::isnan(c) || std::isnan(rounded)) return infinity;
  if (std::isinf(c) || std::isinf(rounded)) {
    // Just below or above what T can hold, either is right.
    const bool near = std::abs(e.value) + e.bound >= std::numeric_limits<T>::max() &&
                      std::abs(e.value) - e.bound <= std::numeric_limits<T>::max();
    return near && std::signbit(c) == std::signbit(e.value) ? 0 : infinity;
  }
  return e.bound > 0 ? std::abs(c - e.value) / e.bound : infinity;
}

template <class T> double worst_error(vector_view<const T> computed, const expected& e) {
  if (computed.size() != static_cast<std::int64_t>(e.value.size()))
    return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < e.value.size(); ++i)
    worst = std::max(worst, worst_error<T>(computed[static_cast<std::int64_t>(i)],
                                           expected_scalar{e.value[i], e.bound[i]}));
  return worst;
}

template <class T> double worst_error(dense_view<const T> computed, const expected& e) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < computed.shape().row; ++i)
    for (std::int64_t j = 0; j < computed.shape().col; ++j) values.push_back(computed(i, j));
  return worst_error<T>(vector_view<const T>(values), e);
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template expected_scalar dot(vector_view<const T>, vector_view<const T>);                        \
  template expected axpby(double, vector_view<const T>, double, vector_view<const T>);             \
  template expected multiply_elements(double, vector_view<const T>, vector_view<const T>, double,  \
                                      vector_view<const T>);                                       \
  template expected_scalar norm1(vector_view<const T>);                                            \
  template expected_scalar norm2(vector_view<const T>);                                            \
  template expected_scalar norm_inf(vector_view<const T>);                                         \
  template double worst_error(T, expected_scalar);                                                 \
  template double worst_error(vector_view<const T>, const expected&);                              \
  template double worst_error(dense_view<const T>, const expected&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template expected_scalar matrix_inf_norm(csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::reference
