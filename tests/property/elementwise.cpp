// Laws of operations on matrices element by element, on random matrices.
#include <rapidcheck.h>

#include <lacuna/op/assemble.hpp>
#include <lacuna/op/combine.hpp>
#include <lacuna/op/diagonals.hpp>
#include <lacuna/op/gather.hpp>
#include <lacuna/op/reduce.hpp>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using matrix = csr<double>;

/// Small integers, so that sums are exact; duplicates, any order.
matrix any_matrix(int rows, int cols) {
  triplets m{"random", rows, cols, {}, {}, {}};
  if (rows > 0 && cols > 0)
    for (const auto& [i, j, v] :
         *rc::gen::container<std::vector<std::tuple<int, int, int>>>(rc::gen::tuple(
             rc::gen::inRange(0, rows), rc::gen::inRange(0, cols), rc::gen::inRange(-3, 4))))
      m.add(i, j, v);
  return make_csr<double, index_t, offset_t>(m);
}
/// Stored entries that are not 0, sorted, each once.
matrix plain(const matrix& a) { return filter(merge_duplicates(a), keep_nonzero); }
void require_same(const matrix& got, const matrix& want) {
  const auto same = same_matrix(got, want);
  if (!same) RC_FAIL(std::string(same.message()));
}
void check_law(const std::function<void(int rows, int cols)>& law) {
  EXPECT_TRUE(rc::check([&] { law(*rc::gen::inRange(0, 30), *rc::gen::inRange(0, 30)); }));
}

TEST(ElementwiseProperty, SumAndDifferenceGiveBack) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols), b = any_matrix(rows, cols);
    const auto sum = combine(a, b, element_rule::plus);
    require_same(combine(sum, b, element_rule::minus), plain(a));
    require_same(sum, plain(add(a, b)));
  });
}

TEST(ElementwiseProperty, MinimumAndMaximumAreTheTwo) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols), b = any_matrix(rows, cols);
    require_same(combine(minimum(a, b), maximum(a, b), element_rule::plus),
                 combine(a, b, element_rule::plus));
    require_same(minimum(a, b), minimum(b, a));
  });
}

TEST(ElementwiseProperty, OneOfThreeHolds) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols), b = any_matrix(rows, cols);
    const auto less = compare(a, b, comparison::less), more = compare(a, b, comparison::greater);
    const auto equal = compare(a, b, comparison::equal);
    RC_ASSERT(std::int64_t{less.size()} + more.size() + equal.size() == rows * cols);
    require_same(add(less, more), compare(a, b, comparison::not_equal));
    require_same(add(less, equal), compare(a, b, comparison::less_equal));
    require_same(complement(complement(less)), less);
  });
}

TEST(ElementwiseProperty, ProductsDistribute) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols), b = any_matrix(rows, cols), c = any_matrix(rows, cols);
    require_same(plain(multiply_elements(a, add(b, c))),
                 combine(multiply_elements(a, b), multiply_elements(a, c), element_rule::plus));
  });
}

TEST(ElementwiseProperty, SumsOfSumsAreTheSum) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols);
    const double all = sum(a);
    double by_rows = 0, by_columns = 0;
    for (const double v : reduce_rows(a, reduction::sum)) by_rows += v;
    for (const double v : reduce_columns(a, reduction::sum)) by_columns += v;
    RC_ASSERT(by_rows == all);
    RC_ASSERT(by_columns == all);
  });
}

TEST(ElementwiseProperty, PartsOfAStackAreItsMatrices) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols), b = any_matrix(rows, cols);
    const auto beside = hstack(a, b), below = vstack(a, b);
    require_same(submatrix(beside, {}, {0, cols}), a);
    require_same(submatrix(beside, {}, {cols}), b);
    require_same(submatrix(below, {rows}, {}), b);
    std::vector<int> columns(static_cast<std::size_t>(cols));
    for (int j = 0; j < cols; ++j) columns[static_cast<std::size_t>(j)] = cols + j;
    require_same(gather(beside, {}, columns), b);
    require_same(reshape(reshape(merge_duplicates(a), {cols, rows}), {rows, cols}),
                 merge_duplicates(a));
  });
}

TEST(ElementwiseProperty, KroneckerWithAnIdentityRepeats) {
  check_law([](int rows, int cols) {
    const auto a = any_matrix(rows, cols);
    require_same(kron(eye<double>({2, 2}), a), block_diag(a, a));
    require_same(kron(a, eye<double>({1, 1})), a);
  });
}

} // namespace
} // namespace lacuna::test
