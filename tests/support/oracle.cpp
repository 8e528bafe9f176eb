#include "support/oracle.hpp"

#include <stdexcept>

namespace lacuna::test {
namespace {

void require_exact(double alpha, double beta, double most) {
  for (const double s : {alpha, beta})
    if (std::fmod(s, 0.25) != 0)
      throw std::logic_error("with integers, " + std::to_string(s) + " is not a multiple of 1/4");
  if (!(most < 0x1p22))
    throw std::logic_error("sums of integers that may reach " + std::to_string(most) +
                           " are not exact in float");
}

} // namespace

template <class T> double largest(const T* numbers, std::int64_t count) {
  double result = 0;
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(numbers[i])) result = std::max(result, std::abs(double{numbers[i]}));
  return result;
}

void expect_exactly(expected& e, double alpha, double beta, double most) {
  require_exact(alpha, beta, most);
  e.bound.assign(e.bound.size(), 0);
}

reference::expected_scalar exact_for_integers(reference::expected_scalar e, double most) {
  if (values_in_use() == value_kind::random) return e;
  require_exact(1, 1, most);
  return {e.value, 0};
}

template <class T, class I, class O>
std::int64_t longest_line(const csr<T, I, O>& a, bool transposed) {
  std::vector<std::int64_t> lengths(
      static_cast<std::size_t>(transposed ? a.shape().col : a.shape().row));
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      ++lengths[static_cast<std::size_t>(transposed ? a.colind()[k] : I(i))];
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

template <class T, class I, class O>
expected expected_product(double alpha, const csr<T, I, O>& a, bool transposed,
                          const std::vector<T>& x, double beta, const std::vector<T>& z) {
  auto result = reference::multiply<T, I, O>(a.view(), x, transposed, alpha, beta, z);
  if (values_in_use() == value_kind::integers)
    expect_exactly(result, alpha, beta,
                   std::abs(alpha) * static_cast<double>(longest_line(a, transposed)) *
                           largest(a.values()) * largest(x) +
                       std::abs(beta) * largest(z));
  return result;
}

template <class T>
::testing::AssertionResult within(const std::vector<T>& got, const expected& want) {
  if (got.size() != want.value.size())
    return ::testing::AssertionFailure()
           << "has " << got.size() << " elements instead of " << want.value.size();
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;)
    if (!(reference::worst_error<T>(got[i], {want.value[i], want.bound[i]}) <= 1)) {
      ++wrong;
      first = i;
    }
  if (wrong == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << wrong << " of " << got.size() << " elements are wrong; the first is [" << first
         << "] = " << got[first] << " instead of " << want.value[first] << " +- "
         << want.bound[first];
}
template <class T>::testing::AssertionResult within(T got, const reference::expected_scalar& want) {
  if (reference::worst_error<T>(got, want) <= 1) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << got << " instead of " << want.value << " +- " << want.bound;
}

template <class T> std::vector<T> random_vector(std::int64_t size, std::uint64_t seed) {
  random_source random(seed);
  std::vector<T> result(static_cast<std::size_t>(size));
  for (T& x : result) x = static_cast<T>(random.value());
  return result;
}

template <class T> std::vector<T> special_vector(std::int64_t size, std::uint64_t seed) {
  auto result = random_vector<T>(size, seed);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (i % 11 == 3) result[i] = T{0};
    if (i % 11 == 7) result[i] = -T{0};
    if (i % 29 == 5) result[i] = std::numeric_limits<T>::quiet_NaN();
    if (i % 31 == 8) result[i] = std::numeric_limits<T>::infinity();
    if (i % 37 == 9) result[i] = -std::numeric_limits<T>::infinity();
  }
  return result;
}
template <class T> std::vector<T> all_nan(std::int64_t size) {
  return std::vector<T>(static_cast<std::size_t>(size), std::numeric_limits<T>::quiet_NaN());
}

template <class T, class I, class O, space S>
::testing::AssertionResult same_matrix(const csr<T, I, O, S>& got, const csr<T, I, O>& want) {
  if (!(got.shape() == want.shape()))
    return ::testing::AssertionFailure() << "is " << got.shape().row << " x " << got.shape().col;
  if (auto r = same(host_vector(got.rowptr()), host_vector(want.rowptr())); !r)
    return r << " (rowptr)";
  if (auto r = same(host_vector(got.colind()), host_vector(want.colind())); !r)
    return r << " (colind)";
  if (auto r = same(host_vector(got.values()), host_vector(want.values())); !r)
    return r << " (values)";
  return ::testing::AssertionSuccess();
}
template <class T, class I, class O, space S>
::testing::AssertionResult same_matrix(const csc<T, I, O, S>& got, const csc<T, I, O>& want) {
  return same_matrix(got.transpose(), want.transpose());
}
template <class T, class I, class O, space S>
::testing::AssertionResult same_matrix(const coo<T, I, O, S>& got, const coo<T, I, O>& want) {
  if (!(got.shape() == want.shape()))
    return ::testing::AssertionFailure() << "is " << got.shape().row << " x " << got.shape().col;
  if (auto r = same(host_vector(got.rowind()), host_vector(want.rowind())); !r)
    return r << " (rowind)";
  if (auto r = same(host_vector(got.colind()), host_vector(want.colind())); !r)
    return r << " (colind)";
  if (auto r = same(host_vector(got.values()), host_vector(want.values())); !r)
    return r << " (values)";
  return ::testing::AssertionSuccess();
}

template <class A> reference::triplets entries_of(const A& a) {
  using T = typename A::scalar_type;
  const auto host = copy_to(default_context<space::host>(), a);
  if constexpr (requires { typename A::offset_type; })
    return reference::entries<T, typename A::index_type, typename A::offset_type>(host.view());
  else
    return reference::entries<T>(host.view());
}

::testing::AssertionResult same_entries(const reference::triplets& got,
                                        const reference::triplets& want) {
  if (!(got.shape == want.shape))
    return ::testing::AssertionFailure() << "is " << got.shape.row << " x " << got.shape.col;
  if (auto r = same(got.row, want.row); !r) return r << " (row)";
  if (auto r = same(got.col, want.col); !r) return r << " (col)";
  if (auto r = same(got.value, want.value); !r) return r << " (value)";
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult same_sums(reference::triplets got, reference::triplets want) {
  for (reference::triplets* t : {&got, &want})
    for (double& v : t->value)
      if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  return same_entries(got, want);
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template double largest(const T*, std::int64_t);                                                 \
  template ::testing::AssertionResult within(const std::vector<T>&, const expected&);              \
  template ::testing::AssertionResult within(T, const reference::expected_scalar&);                \
  template std::vector<T> random_vector(std::int64_t, std::uint64_t);                              \
  template std::vector<T> special_vector(std::int64_t, std::uint64_t);                             \
  template std::vector<T> all_nan(std::int64_t);                                                   \
  template ::testing::AssertionResult same(const std::vector<T>&, const std::vector<T>&);          \
  template reference::triplets entries_of(const dense<T, space::host>&);                           \
  template reference::triplets entries_of(const dense<T, space::device>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template ::testing::AssertionResult same(const std::vector<std::int32_t>&,
                                         const std::vector<std::int32_t>&);
template ::testing::AssertionResult same(const std::vector<std::int64_t>&,
                                         const std::vector<std::int64_t>&);

#define LACUNA_INSTANTIATE_IN(M, T, I, O, S)                                                       \
  template ::testing::AssertionResult same_matrix(const M<T, I, O, S>&, const M<T, I, O>&);        \
  template reference::triplets entries_of(const M<T, I, O, S>&);
#define LACUNA_INSTANTIATE_FORMAT(M, T, I, O)                                                      \
  LACUNA_INSTANTIATE_IN(M, T, I, O, space::host)                                                   \
  LACUNA_INSTANTIATE_IN(M, T, I, O, space::device)
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template std::int64_t longest_line(const csr<T, I, O>&, bool);                                   \
  template expected expected_product(double, const csr<T, I, O>&, bool, const std::vector<T>&,     \
                                     double, const std::vector<T>&);                               \
  LACUNA_INSTANTIATE_FORMAT(csr, T, I, O)                                                          \
  LACUNA_INSTANTIATE_FORMAT(csc, T, I, O)                                                          \
  LACUNA_INSTANTIATE_FORMAT(coo, T, I, O)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::test
