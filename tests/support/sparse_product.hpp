// Sparse products for tests: the reference's entries with their bounds, and operands that fit.
#pragma once

#include <cmath>

#include "core/narrow_limit.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {

/// Lowers the limit of 32-bit offsets for the life of the object.
class lowered_narrow_limit {
public:
  explicit lowered_narrow_limit(std::int64_t limit) : before_(detail::set_narrow_limit(limit)) {}
  ~lowered_narrow_limit() { detail::set_narrow_limit(before_); }
  lowered_narrow_limit(const lowered_narrow_limit&) = delete;
  lowered_narrow_limit& operator=(const lowered_narrow_limit&) = delete;

private:
  std::int64_t before_;
};

template <class T, class I, class O>
reference::expected_matrix expected_sparse(const csr<T, I, O>& a, const csr<T, I, O>& b,
                                           double alpha = 1, bool a_transposed = false,
                                           bool b_transposed = false);

/// Sorted, unique, the reference's pattern, values within its bounds; in any space.
template <class T, class I, class O, space S>
::testing::AssertionResult is_product(const csr<T, I, O, S>& got,
                                      const reference::expected_matrix& want);

/// The same pattern and the same bits, but that any NaN is like any other; both on the host.
template <class T, class I, class O>
void expect_same_but_nans(const csr<T, I, O>& got, const csr<T, I, O>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::int64_t k = 0; k < got.size(); ++k) {
    const T x = got.values()[k], y = want.values()[k];
    EXPECT_EQ(got.colind()[k], want.colind()[k]);
    EXPECT_TRUE((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y)));
  }
}

/// A matrix with `rows` rows and about `per_row` entries in each, among them empty rows.
triplets random_matrix(std::int64_t rows, std::int64_t cols, std::int64_t per_row,
                       std::uint64_t seed);

/// A matrix whose rows and columns come in groups of 1 to `most`: rows of a group have one pattern,
/// and all columns of a group or none; sizes of groups repeat, so that products of several such
/// matrices meet in them. As matrices of several unknowns per node have it.
triplets grouped_matrix(std::int64_t row_groups, std::int64_t col_groups, std::int64_t per_row,
                        int most, std::uint64_t seed);

/// Multiplications in op(A) op(B); the slow reference is spared those of millions.
std::int64_t product_count(const triplets& a, const triplets& b);

} // namespace lacuna::test
