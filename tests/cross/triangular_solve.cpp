// x = inv(T) b for the four tags, judged by the residual b - T x in long double, row by row.
#include "support/oracle.hpp"
#include "support/triangular.hpp"

namespace lacuna::test {
namespace {

template <class C> class TriangularSolve : public engine_test<C> {};
TYPED_TEST_SUITE(TriangularSolve, all_configs, config_name);
template <class C> class TriangularSolveFew : public TriangularSolve<C> {};
TYPED_TEST_SUITE(TriangularSolveFew, few_configs, config_name);

TYPED_TEST(TriangularSolve, FourTagsScaledTransposedInPlace) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const auto& [n, per_row] : {std::pair{1, 0}, {33, 3}, {200, 40}}) {
    const triplets m = make_square(n, per_row, 7);
    const auto a = TypeParam::put_csr(m);
    const auto columns = TypeParam::put_csc(m);
    random_source random(3);
    std::vector<T> b(static_cast<std::size_t>(n));
    for (T& v : b) v = static_cast<T>(random.value());
    const auto right = TypeParam::put(b);
    auto x = TypeParam::put(std::vector<T>(b.size(), std::numeric_limits<T>::quiet_NaN()));
    const auto residual = [&](bool upper, bool unit, double alpha = 1, double beta = 1) {
      return worst_residual(m, upper, unit, alpha, beta, b, host_vector(x));
    };
    triangular_solve(ctx, a, lower_triangle, explicit_diagonal, right, x);
    EXPECT_LE(residual(false, false), 1);
    const auto bits = host_vector(x);
    triangular_solve(ctx, a, lower_triangle, explicit_diagonal, right, x);
    EXPECT_TRUE(same(host_vector(x), bits));
    triangular_solve(ctx, a, upper_triangle, explicit_diagonal, right, x);
    EXPECT_LE(residual(true, false), 1);
    triangular_solve(ctx, a, lower_triangle, implicit_unit_diagonal, right, x);
    EXPECT_LE(residual(false, true), 1);
    triangular_solve(ctx, a, upper_triangle, implicit_unit_diagonal, right, x);
    EXPECT_LE(residual(true, true), 1);
    triangular_solve(ctx, columns, lower_triangle, explicit_diagonal, right, x);
    EXPECT_LE(residual(false, false), 1);
    triangular_solve(ctx, scaled(4, a), upper_triangle, implicit_unit_diagonal, scaled(0.5, right),
                     x);
    EXPECT_LE(residual(true, true, 4, 0.5), 1);
    auto in_place = TypeParam::put(b);
    triangular_solve(ctx, a, upper_triangle, explicit_diagonal, in_place, in_place);
    triangular_solve(ctx, a, upper_triangle, explicit_diagonal, right, x);
    EXPECT_TRUE(same(host_vector(in_place), host_vector(x)));
    triangular_solve(ctx, transposed(a), lower_triangle, explicit_diagonal, right, x);
    EXPECT_LE(worst_residual(exchanged(m), false, false, 1, 1, b, host_vector(x)), 1);
  }
}

TYPED_TEST(TriangularSolve, SeveralColumns) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const triplets m = make_square(60, 5, 9);
  const auto a = TypeParam::put_csr(m);
  for (const layout l : {layout::row_major, layout::column_major}) {
    dense<T> b(host_context(), {60, 3}, l);
    random_source random(5);
    for (T& v : b.values()) v = static_cast<T>(random.value());
    const auto right = copy_to(ctx, b);
    dense<T, S> x(ctx, {60, 3}, l);
    triangular_solve(ctx, a, lower_triangle, explicit_diagonal, right, x);
    const auto solved = copy_to(host_context(), x);
    for (std::int64_t j = 0; j < 3; ++j) {
      std::vector<T> b_j, x_j;
      for (std::int64_t i = 0; i < 60; ++i) {
        b_j.push_back(b(i, j));
        x_j.push_back(solved(i, j));
      }
      EXPECT_LE(worst_residual(m, false, false, 1, 1, b_j, x_j), 1) << j;
    }
  }
}

TYPED_TEST(TriangularSolveFew, WhatCannotBeSolvedIsNamed) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  triplets m = make_square(5, 0, 1);
  m.value[3] = 0; // the diagonal of row 3
  const auto a = TypeParam::put_csr(m);
  const auto b = TypeParam::put(std::vector<T>(5, 1));
  auto x = TypeParam::put(std::vector<T>(5, 9));
  try {
    triangular_solve(ctx, a, lower_triangle, explicit_diagonal, b, x);
    FAIL() << "solved";
  } catch (const bad_input& e) {
    EXPECT_NE(std::string(e.what()).find("row 3"), std::string::npos) << e.what();
  }
  EXPECT_EQ(host_vector(x), std::vector<T>(5, 9));
  EXPECT_NO_THROW(triangular_solve(ctx, a, lower_triangle, implicit_unit_diagonal, b, x));
  auto shorter = TypeParam::put(std::vector<T>(4));
  EXPECT_THROW(triangular_solve(ctx, a, lower_triangle, explicit_diagonal, b, shorter),
               size_mismatch);
  const auto oblong = TypeParam::put_csr(triplets{"oblong", 2, 3, {}, {}, {}});
  auto y = TypeParam::put(std::vector<T>(2));
  EXPECT_THROW(triangular_solve(ctx, oblong, lower_triangle, implicit_unit_diagonal, y, y),
               size_mismatch);
}

} // namespace
} // namespace lacuna::test
