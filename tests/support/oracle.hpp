// What results are compared with, and how: the reference's value and a bound of its own for every
// element, 0 if integers are in use. NaN must be met by NaN, an infinity by the same one.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "reference/reference.hpp"
#include "support/engine.hpp"

namespace lacuna::test {

using reference::expected;

/// The largest finite magnitude.
template <class Numbers> double largest(const Numbers& v) {
  double result = 0;
  for (const double x : v)
    if (std::isfinite(x)) result = std::max(result, std::abs(x));
  return result;
}
/// The most entries that a row (if transposed, a column) has.
template <class T, class I, class O>
std::int64_t longest_line(const csr<T, I, O>& a, bool transposed = false) {
  std::vector<std::int64_t> lengths(
      static_cast<std::size_t>(transposed ? a.shape().col : a.shape().row));
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      ++lengths[static_cast<std::size_t>(transposed ? a.colind()[k] : I(i))];
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

/// What is computed from integers is exact: takes the bounds away. Throws unless no sum of them, in
/// any order, rounds in float: alpha and beta multiples of 1/4, partial sums up to `most` < 2^22.
void expect_exactly(expected& e, double alpha, double beta, double most);
/// The same for one sum, if integers are in use.
reference::expected_scalar exact_for_integers(reference::expected_scalar e, double most);
/// The root of such a sum: its own rounding, whatever the number of terms.
template <class T> reference::expected_scalar norm2_for_integers(reference::expected_scalar e) {
  if (values_in_use() == value_kind::integers)
    e.bound = 2 * double{std::numeric_limits<T>::epsilon()} * e.value;
  return e;
}

/// alpha op(A) x + beta z with the bound of each element.
template <class T, class I, class O>
expected expected_product(double alpha, const csr<T, I, O>& a, bool transposed,
                          const std::vector<T>& x, double beta = 0, const std::vector<T>& z = {}) {
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

/// Bit by bit.
template <class T>
::testing::AssertionResult same(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size())
    return ::testing::AssertionFailure()
           << "has " << got.size() << " elements instead of " << want.size();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0)
      return ::testing::AssertionFailure()
             << "[" << i << "] is " << got[i] << " instead of " << want[i];
  return ::testing::AssertionSuccess();
}

/// A vector of the machine-independent random source.
template <class T> std::vector<T> random_vector(std::int64_t size, std::uint64_t seed) {
  random_source random(seed);
  std::vector<T> result(static_cast<std::size_t>(size));
  for (T& x : result) x = static_cast<T>(random.value());
  return result;
}
/// The same with 0, -0, NaN and both infinities strewn in.
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

/// Same shape and arrays, bit by bit; `got` may be in any space.
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

/// The entries of a matrix of any format and space, in stored order, on the host.
template <class A> reference::triplets entries_of(const A& a) {
  using T = typename A::scalar_type;
  const auto host = copy_to(default_context<space::host>(), a);
  if constexpr (requires { typename A::offset_type; })
    return reference::entries<T, typename A::index_type, typename A::offset_type>(host.view());
  else
    return reference::entries<T>(host.view());
}

/// The same entries in the same order, values bit by bit.
inline ::testing::AssertionResult same_entries(const reference::triplets& got,
                                               const reference::triplets& want) {
  if (!(got.shape == want.shape))
    return ::testing::AssertionFailure() << "is " << got.shape.row << " x " << got.shape.col;
  if (auto r = same(got.row, want.row); !r) return r << " (row)";
  if (auto r = same(got.col, want.col); !r) return r << " (col)";
  if (auto r = same(got.value, want.value); !r) return r << " (value)";
  return ::testing::AssertionSuccess();
}

} // namespace lacuna::test
