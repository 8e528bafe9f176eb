// What results are compared with, and how: the reference's value and a bound of its own for every
// element, 0 if integers are in use. NaN must be met by NaN, an infinity by the same one.
#pragma once

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "reference/reference.hpp"
#include "support/engine.hpp"

namespace lacuna::test {

using reference::expected;

/// The largest finite magnitude.
template <class T> double largest(const T* numbers, std::int64_t count);
template <class Numbers> double largest(const Numbers& v) {
  return largest(std::data(v), static_cast<std::int64_t>(std::size(v)));
}
/// The most entries that a row (if transposed, a column) has.
template <class T, class I, class O>
std::int64_t longest_line(const csr<T, I, O>& a, bool transposed = false);

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
                          const std::vector<T>& x, double beta = 0, const std::vector<T>& z = {});

template <class T>
::testing::AssertionResult within(const std::vector<T>& got, const expected& want);
template <class T>::testing::AssertionResult within(T got, const reference::expected_scalar& want);

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

// Built once, in oracle.cpp.
extern template ::testing::AssertionResult same(const std::vector<float>&,
                                                const std::vector<float>&);
extern template ::testing::AssertionResult same(const std::vector<double>&,
                                                const std::vector<double>&);
extern template ::testing::AssertionResult same(const std::vector<std::int32_t>&,
                                                const std::vector<std::int32_t>&);
extern template ::testing::AssertionResult same(const std::vector<std::int64_t>&,
                                                const std::vector<std::int64_t>&);

/// A vector of the machine-independent random source.
template <class T> std::vector<T> random_vector(std::int64_t size, std::uint64_t seed);
/// The same with 0, -0, NaN and both infinities strewn in.
template <class T> std::vector<T> special_vector(std::int64_t size, std::uint64_t seed);
template <class T> std::vector<T> all_nan(std::int64_t size);

/// Same shape and arrays, bit by bit; `got` may be in any space.
template <class T, class I, class O, space S>
::testing::AssertionResult same_matrix(const csr<T, I, O, S>& got, const csr<T, I, O>& want);
template <class T, class I, class O, space S>
::testing::AssertionResult same_matrix(const csc<T, I, O, S>& got, const csc<T, I, O>& want);
template <class T, class I, class O, space S>
::testing::AssertionResult same_matrix(const coo<T, I, O, S>& got, const coo<T, I, O>& want);

/// The entries of a csr, csc, coo or dense matrix in any space, in stored order, on the host.
template <class A> reference::triplets entries_of(const A& a);

/// The same entries in the same order, values bit by bit.
::testing::AssertionResult same_entries(const reference::triplets& got,
                                        const reference::triplets& want);
/// The same, but any NaN for a NaN: the sign and payload of one that is computed depend on the
/// machine.
::testing::AssertionResult same_sums(reference::triplets got, reference::triplets want);

} // namespace lacuna::test
