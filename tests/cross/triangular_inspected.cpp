// Inspected solves: every schedule on triangles with levels of all kinds, judged by the residual;
// the same bits whichever schedule solves.
#include "support/oracle.hpp"
#include "support/triangular.hpp"

namespace lacuna::test {
namespace {

template <class C> class TriangularInspected : public engine_test<C> {
protected:
  using number = typename C::value;
  static constexpr space S = C::memory_space;
  static constexpr triangular_schedule schedules[] = {
      triangular_schedule::automatic, triangular_schedule::serial, triangular_schedule::levels,
      triangular_schedule::waiting};

  /// Solves by every schedule; returns x of the first.
  template <class A, class Triangle, class Diagonal>
  static std::vector<number> solve(const A& a, Triangle t, Diagonal d, const array<number, S>& b,
                                   bool values_stay = false) {
    const auto& ctx = C::context();
    std::vector<number> first;
    for (const auto schedule : schedules) {
      auto x = C::put(all_nan<number>(b.size()));
      const auto info = triangular_solve_inspect(ctx, a, t, d, b, x, {values_stay, schedule});
      triangular_solve(ctx, info, a, t, d, b, x);
      if (schedule == schedules[0])
        first = host_vector(x);
      else
        EXPECT_TRUE(same(host_vector(x), first))
            << static_cast<int>(schedule) << ": " << info.explain();
    }
    return first;
  }
};
template <class C> class TriangularInspectedFew : public TriangularInspected<C> {};
TYPED_TEST_SUITE(TriangularInspected, all_configs, config_name);
TYPED_TEST_SUITE(TriangularInspectedFew, value_configs, config_name);

TYPED_TEST(TriangularInspected, EverySchedule) {
  using T = typename TypeParam::value;
  for (const triplets& m : triangular_battery()) {
    SCOPED_TRACE(m.name);
    const auto a = TypeParam::put_csr(m);
    const auto b = random_vector<T>(m.rows, 3);
    const auto right = TypeParam::put(b);
    EXPECT_LE(worst_residual(m, false, false, 1, 1, b,
                             TestFixture::solve(a, lower_triangle, explicit_diagonal, right)),
              1);
    EXPECT_LE(worst_residual(m, true, true, 1, 1, b,
                             TestFixture::solve(a, upper_triangle, implicit_unit_diagonal, right)),
              1);
    EXPECT_LE(
        worst_residual(exchanged(m), false, false, 1, 1, b,
                       TestFixture::solve(transposed(a), lower_triangle, explicit_diagonal, right)),
        1);
  }
}

TYPED_TEST(TriangularInspectedFew, ScaledInPlaceOtherValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets m = make_square(500, 6, 17);
  triplets twice = m;
  for (double& v : twice.value) v *= 2;
  const auto a = TypeParam::put_csr(m), a2 = TypeParam::put_csr(twice);
  const auto b = random_vector<T>(m.rows, 4);
  auto x = TypeParam::put(b);
  const auto residual = [&](const triplets& of, double alpha, double beta, bool unit = false) {
    return worst_residual(of, true, unit, alpha, beta, b, host_vector(x));
  };
  for (const bool stay : {false, true}) {
    const triangular_options options{stay, triangular_schedule::automatic};
    auto info = triangular_solve_inspect(ctx, a, upper_triangle, explicit_diagonal, x, x, options);
    x = TypeParam::put(b);
    triangular_solve(ctx, info, a, upper_triangle, explicit_diagonal, x, x);
    EXPECT_LE(residual(m, 1, 1), 1);
    x = TypeParam::put(b);
    triangular_solve(ctx, info, scaled(4, a), upper_triangle, explicit_diagonal, scaled(0.5, x), x);
    EXPECT_LE(residual(m, 4, 0.5), 1);
    info = triangular_solve_inspect(ctx, a, upper_triangle, implicit_unit_diagonal, x, x, options);
    x = TypeParam::put(b);
    triangular_solve(ctx, info, scaled(0.5, a), upper_triangle, implicit_unit_diagonal, x, x);
    EXPECT_LE(residual(m, 0.5, 1, true), 1);
  }
  // Values are those of the matrix that is given, not of the one that was inspected.
  const auto right = TypeParam::put(b);
  const auto info = triangular_solve_inspect(ctx, a, upper_triangle, explicit_diagonal, right, x);
  triangular_solve(ctx, info, a2, upper_triangle, explicit_diagonal, right, x);
  EXPECT_LE(residual(twice, 1, 1), 1);
  EXPECT_NE(info.explain().find("levels"), std::string::npos) << info.explain();
  EXPECT_GT(info.bytes(), 0U);
}

TYPED_TEST(TriangularInspectedFew, SeveralColumns) {
  using T = typename TypeParam::value;
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  for (const triplets& m : {make_grid(40), make_square(300, 30, 9)})
    for (const std::int64_t columns : {2, 7})
      for (const layout l : {layout::row_major, layout::column_major}) {
        const auto a = TypeParam::put_csr(m);
        dense<T> b(host_context(), {m.rows, columns}, l);
        const auto numbers = random_vector<T>(m.rows * columns, 5);
        std::copy(numbers.begin(), numbers.end(), b.values().begin());
        const auto right = copy_to(ctx, b);
        dense<T, where> x(ctx, {m.rows, columns}, l);
        const auto info =
            triangular_solve_inspect(ctx, a, lower_triangle, explicit_diagonal, right, x);
        std::vector<T> bits;
        for (const auto schedule : TestFixture::schedules) {
          const auto other = triangular_solve_inspect(ctx, a, lower_triangle, explicit_diagonal,
                                                      right, x, {true, schedule});
          triangular_solve(ctx, other, a, lower_triangle, explicit_diagonal, right, x);
          if (bits.empty()) bits = host_vector(x.values());
          EXPECT_TRUE(same(host_vector(x.values()), bits));
        }
        const auto solved = copy_to(host_context(), x);
        for (std::int64_t j = 0; j < columns; ++j) {
          std::vector<T> b_j, x_j;
          for (std::int64_t i = 0; i < m.rows; ++i) {
            b_j.push_back(b(i, j));
            x_j.push_back(solved(i, j));
          }
          EXPECT_LE(worst_residual(m, false, false, 1, 1, b_j, x_j), 1) << j;
        }
      }
}

TYPED_TEST(TriangularInspectedFew, WhatDoesNotFitIsNamed) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  triplets m = make_square(5, 0, 1);
  const auto a = TypeParam::put_csr(m);
  m.value[3] = 0; // the diagonal of row 3
  const auto singular = TypeParam::put_csr(m);
  const auto b = TypeParam::put(std::vector<T>(5, 1));
  auto x = TypeParam::put(std::vector<T>(5, 9));
  const auto info = triangular_solve_inspect(ctx, a, lower_triangle, explicit_diagonal, b, x);
  try {
    triangular_solve(ctx, info, singular, lower_triangle, explicit_diagonal, b, x);
    FAIL() << "solved";
  } catch (const bad_input& e) {
    EXPECT_NE(std::string(e.what()).find("row 3"), std::string::npos) << e.what();
  }
  EXPECT_EQ(host_vector(x), std::vector<T>(5, 9));
  EXPECT_THROW(triangular_solve_inspect(ctx, singular, lower_triangle, explicit_diagonal, b, x,
                                        {.values_stay = true}),
               bad_input);
  EXPECT_THROW(triangular_solve(ctx, info, a, upper_triangle, explicit_diagonal, b, x), bad_input);
  EXPECT_THROW(triangular_solve(ctx, info, a, lower_triangle, implicit_unit_diagonal, b, x),
               bad_input);
  EXPECT_THROW(triangular_solve(ctx, info, transposed(a), lower_triangle, explicit_diagonal, b, x),
               bad_input);
  const auto other = TypeParam::put_csr(make_square(6, 2, 1));
  auto y = TypeParam::put(std::vector<T>(6, 1));
  EXPECT_THROW(triangular_solve(ctx, info, other, lower_triangle, explicit_diagonal, y, y),
               size_mismatch);
  const auto oblong = TypeParam::put_csr(triplets{"oblong", 2, 3, {}, {}, {}});
  EXPECT_THROW(triangular_solve_inspect(ctx, oblong, lower_triangle, implicit_unit_diagonal, y, y),
               size_mismatch);
  // NaN and infinities are numbers like any other, also the NaN of all ones.
  std::vector<T> special(5, 1);
  std::memset(&special[1], 0xff, sizeof(T));
  special[2] = std::numeric_limits<T>::infinity();
  for (const auto schedule : TestFixture::schedules) {
    const auto chosen = triangular_solve_inspect(ctx, a, lower_triangle, explicit_diagonal, b, x,
                                                 {false, schedule});
    triangular_solve(ctx, chosen, a, lower_triangle, explicit_diagonal, TypeParam::put(special), x);
    const auto got = host_vector(x);
    EXPECT_TRUE(std::isnan(got[1]) && std::isinf(got[2]) && got[0] == got[0] && got[4] == got[4]);
  }
}

TEST(TriangularLevels, AreCutByCost) {
  const host_context ctx;
  auto chosen = triangular_schedule::automatic;
  // 100 narrow levels, 50 of 4000 rows, one of 2 million, two narrow ones.
  array<std::int32_t> begin(ctx, 154);
  begin[0] = 0;
  for (int level = 0; level < 153; ++level)
    begin[level + 1] = begin[level] + (level < 100   ? 20
                                       : level < 150 ? 4000
                                       : level < 151 ? 2'000'000
                                                     : 20);
  const auto cut = [&](triangular_schedule schedule) {
    auto runs = detail::cut_levels(ctx, true, std::as_const(begin).view(), 3, 1, schedule, chosen);
    std::int32_t next = 0;
    for (const level_run& r : runs) {
      EXPECT_EQ(r.first_level, next);
      EXPECT_EQ(r.first_slot, begin[r.first_level]);
      EXPECT_EQ(r.last_slot, begin[r.last_level]);
      next = r.last_level;
    }
    EXPECT_EQ(next, 153);
    return runs;
  };
  const auto by_cost = cut(triangular_schedule::automatic); // narrow ones wait, too
  EXPECT_EQ(by_cost[0].kind, level_run::waiting);
  EXPECT_GE(by_cost[0].last_level, 150);
  const auto by_levels = cut(triangular_schedule::levels);
  ASSERT_GE(by_levels.size(), 3);
  EXPECT_EQ(by_levels[0].kind, level_run::one_worker);
  EXPECT_EQ(by_levels[0].last_level, 100);
  EXPECT_EQ(by_levels[1].kind, level_run::side_by_side);
  level_statistics narrow{1'000'000, 1'000'000, 1'000'000, 1},
      wide{1'000'000, 3'000'000, 10, 200'000};
  EXPECT_EQ(detail::choose_triangular_schedule(narrow, 2), triangular_schedule::serial);
  EXPECT_EQ(detail::choose_triangular_schedule(wide, 16), triangular_schedule::levels);
  EXPECT_EQ(detail::choose_triangular_schedule(wide, 1), triangular_schedule::serial);
}

} // namespace
} // namespace lacuna::test
