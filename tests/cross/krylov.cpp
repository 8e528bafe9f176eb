// Krylov methods and solve() on every engine: systems that have a solution against Gaussian
// elimination, and those that have none by the reason that is given.
#include <filesystem>

#include "support/oracle.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

/// 5-point stencil on an n x n grid, with wind: not symmetric if it is not 0.
triplets stencil(std::int64_t n, double wind = 0, double shift = 0) {
  triplets a{"stencil", n * n, n * n, {}, {}, {}};
  for (std::int64_t y = 0; y < n; ++y)
    for (std::int64_t x = 0; x < n; ++x) {
      const std::int64_t i = y * n + x;
      if (y > 0) a.add(i, i - n, -1);
      if (x > 0) a.add(i, i - 1, -1 - wind);
      a.add(i, i, 4 + shift);
      if (x + 1 < n) a.add(i, i + 1, -1 + wind);
      if (y + 1 < n) a.add(i, i + n, -1);
    }
  return a;
}
/// The Laplacian of a ring: constants are in its null space.
triplets ring(std::int64_t n) {
  triplets a{"ring", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    a.add(i, (i + n - 1) % n, -1);
    a.add(i, i, 2);
    a.add(i, (i + 1) % n, -1);
  }
  return sorted(a);
}
/// A saddle point: [I B^T; B 0].
triplets saddle(std::int64_t n) {
  triplets a{"saddle", 2 * n, 2 * n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    a.add(i, i, 2);
    for (const std::int64_t j : {i, (i + 1) % n}) {
      const double v = j == i ? 1.5 : -0.5;
      a.add(i, n + j, v);
      a.add(n + j, i, v);
    }
  }
  return sorted(a);
}
triplets one_by_one(double v) { return {"1 x 1", 1, 1, {0}, {0}, {v}}; }

constexpr const char* methods[] = {"cg", "flexible_cg", "minres", "bicgstab", "gmres"};

template <class C> class Krylov : public engine_test<C> {
protected:
  using value = typename C::value;
  static constexpr space where = C::memory_space;
  static constexpr double tolerance = sizeof(value) == 4 ? 1e-5 : 1e-10;
  using options = solve_options<value, where>;

  static options with(const std::string& method, const std::string& preconditioner = "none") {
    options o;
    o.method = method;
    o.preconditioner = preconditioner;
    o.stop.relative = tolerance;
    o.throws = false;
    return o;
  }
  struct outcome {
    solve_report report;
    std::vector<value> x;
  };
  static outcome run(const triplets& a, const std::vector<value>& b, const options& o,
                     std::vector<value> guess = {}) {
    if (guess.empty()) guess.assign(b.size(), value{0});
    auto x = C::put(guess);
    const auto matrix = C::put_csr(a);
    solve_report report = solve(C::context(), matrix, C::put(b), x, o);
    return {std::move(report), host_vector(x)};
  }
  /// Converged, and near the solution by elimination; how near follows from how bad A is.
  static void expect_solution(const triplets& a, const options& o, double condition) {
    SCOPED_TRACE(std::string(C::engine::name) + ", " + a.name + ", " + o.method + ", " +
                 o.preconditioner);
    const auto b = random_vector<value>(a.rows, 17);
    const auto [report, x] = run(a, b, o);
    EXPECT_TRUE(report.converged) << report.text();
    EXPECT_EQ(report.reason, stop_reason::converged);
    EXPECT_LE(report.relative_residual, tolerance);
    EXPECT_EQ(static_cast<std::int64_t>(report.history.size()), report.iterations + 1);
    const auto want = reference::solve({{a.rows, a.cols}, a.row, a.col, a.value},
                                       std::vector<double>(b.begin(), b.end()));
    double error = 0, size = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      error = std::max(error, std::abs(double{x[i]} - want[i]));
      size = std::max(size, std::abs(want[i]));
    }
    EXPECT_LE(error, 20 * condition * tolerance * size);
  }
};
TYPED_TEST_SUITE(Krylov, value_configs, config_name);

TYPED_TEST(Krylov, PositiveDefinite) {
  const auto a = stencil(14);
  for (const char* const method : methods)
    for (const char* const preconditioner : {"none", "jacobi"})
      TestFixture::expect_solution(a, TestFixture::with(method, preconditioner), 100);
  TestFixture::expect_solution(a, TestFixture::with("auto", "auto"), 100);
}
TYPED_TEST(Krylov, Indefinite) {
  for (const char* const method : {"minres", "gmres", "bicgstab", "auto"}) {
    auto o = TestFixture::with(method);
    o.restart = 200;
    TestFixture::expect_solution(stencil(9, 0, -2.03), o, 1000);
    if (std::string(method) != "bicgstab") TestFixture::expect_solution(saddle(40), o, 100);
  }
  const auto b = random_vector<typename TypeParam::value>(81, 3);
  const auto [report, x] = TestFixture::run(stencil(9, 0, -2.03), b, TestFixture::with("cg"));
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.reason, stop_reason::indefinite) << report.text();
}
TYPED_TEST(Krylov, NotSymmetric) {
  for (const char* const method : {"bicgstab", "gmres", "auto"})
    for (const char* const preconditioner : {"none", "jacobi"})
      TestFixture::expect_solution(stencil(12, 0.4), TestFixture::with(method, preconditioner),
                                   100);
}
TYPED_TEST(Krylov, ShortRestartsStillConverge) {
  auto o = TestFixture::with("gmres", "jacobi");
  o.restart = 3;
  TestFixture::expect_solution(stencil(8, 0.3), o, 100);
}

TYPED_TEST(Krylov, SmallAndEmpty) {
  using T = typename TypeParam::value;
  for (const std::string method : {"cg", "flexible_cg", "minres", "bicgstab", "gmres", "auto"}) {
    SCOPED_TRACE(method);
    const auto none = TestFixture::run({"empty", 0, 0, {}, {}, {}}, {}, TestFixture::with(method));
    EXPECT_TRUE(none.report.converged);
    EXPECT_EQ(none.report.iterations, 0);
    const auto one = TestFixture::run(one_by_one(4), {T{2}}, TestFixture::with(method, "jacobi"));
    EXPECT_TRUE(one.report.converged) << one.report.text();
    EXPECT_EQ(one.x[0], T{0.5});
    // b = 0 has the solution 0, whatever the guess.
    const auto zero = TestFixture::run(stencil(3), std::vector<T>(9, T{0}),
                                       TestFixture::with(method), std::vector<T>(9, T{5}));
    EXPECT_TRUE(zero.report.converged);
    EXPECT_EQ(zero.report.iterations, 0);
    EXPECT_EQ(zero.report.relative_residual, 0);
    EXPECT_TRUE(same(zero.x, std::vector<T>(9, T{0})));
    // A guess that is the solution stays.
    const auto there = TestFixture::run(one_by_one(4), {T{2}}, TestFixture::with(method), {T{0.5}});
    EXPECT_TRUE(there.report.converged);
    EXPECT_EQ(there.report.iterations, 0);
  }
}

TYPED_TEST(Krylov, SingularSystems) {
  using T = typename TypeParam::value;
  std::vector<T> consistent(32), inconsistent(32, T{1});
  for (std::size_t i = 0; i < 32; ++i) consistent[i] = i < 16 ? T{1} : T{-1};
  for (const char* const method : methods) {
    SCOPED_TRACE(method);
    auto o = TestFixture::with(method);
    const auto solved = TestFixture::run(ring(32), consistent, o);
    EXPECT_TRUE(solved.report.converged) << solved.report.text();
    o.stop.iterations = 400;
    o.stop.stagnation = 60;
    const auto lost = TestFixture::run(ring(32), inconsistent, o);
    EXPECT_FALSE(lost.report.converged);
    EXPECT_NE(lost.report.reason, stop_reason::none);
    EXPECT_NE(lost.report.reason, stop_reason::converged);
    EXPECT_GT(lost.report.relative_residual, 0.5);
    const auto zero = TestFixture::run(one_by_one(0), {T{1}}, o);
    EXPECT_FALSE(zero.report.converged) << zero.report.text();
  }
}

TYPED_TEST(Krylov, ZeroDiagonal) {
  using T = typename TypeParam::value;
  auto o = TestFixture::with("auto", "auto");
  const auto b = random_vector<T>(20, 5);
  const auto solved = TestFixture::run(saddle(10), b, o);
  EXPECT_TRUE(solved.report.converged) << solved.report.text();
  EXPECT_EQ(solved.report.method, "minres");
  EXPECT_EQ(solved.report.preconditioner, "none");
  o.preconditioner = "jacobi";
  EXPECT_THROW(TestFixture::run(saddle(10), b, o), bad_input);
}

TYPED_TEST(Krylov, NotFinite) {
  using T = typename TypeParam::value;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
  for (const char* const method : methods)
    for (const T bad : {nan, inf}) {
      SCOPED_TRACE(method);
      const auto o = TestFixture::with(method);
      auto b = random_vector<T>(36, 6);
      auto poisoned = stencil(6);
      poisoned.value[7] = static_cast<double>(bad);
      EXPECT_EQ(TestFixture::run(poisoned, b, o).report.reason, stop_reason::nan);
      auto guess = random_vector<T>(36, 7);
      guess[5] = bad;
      EXPECT_EQ(TestFixture::run(stencil(6), b, o, guess).report.reason, stop_reason::nan);
      b[9] = bad;
      const auto got = TestFixture::run(stencil(6), b, o).report;
      EXPECT_EQ(got.reason, stop_reason::nan);
      EXPECT_EQ(got.iterations, 0);
      EXPECT_FALSE(got.converged);
    }
}

TYPED_TEST(Krylov, SeveralRightHandSides) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(stencil(10));
  constexpr std::int64_t rows = 100, columns = 4;
  std::vector<T> b = random_vector<T>(rows * columns, 8);
  for (std::size_t i = 0; i < rows; ++i) b[rows + i] = T{0}; // one is done at once
  for (const std::string method : methods)
    for (const layout l : {layout::column_major, layout::row_major}) {
      SCOPED_TRACE(method);
      const std::vector<T> nothing(rows * columns, T{0});
      auto x = TypeParam::put(nothing);
      std::vector<T> laid(b);
      if (l == layout::row_major)
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < columns; ++j) laid[i * columns + j] = b[j * rows + i];
      const auto right = TypeParam::put(laid);
      const dense_view<const T, S> bv(right.data(), {rows, columns}, l);
      const dense_view<T, S> xv(x.data(), {rows, columns}, l);
      const auto report = solve(ctx, a, bv, xv, TestFixture::with(method, "jacobi"));
      EXPECT_TRUE(report.converged) << report.text();
      ASSERT_EQ(report.columns.size(), 4u);
      EXPECT_EQ(report.columns[1].iterations, 0);
      const auto got = host_vector(x);
      // Each is what it is alone, bit by bit: columns do not see each other.
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::vector<T> alone(b.begin() + j * rows, b.begin() + (j + 1) * rows);
        const auto one = TestFixture::run(stencil(10), alone, TestFixture::with(method, "jacobi"));
        EXPECT_EQ(report.columns[static_cast<std::size_t>(j)].iterations, one.report.iterations);
        double error = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          const auto at = l == layout::row_major ? i * columns + static_cast<std::size_t>(j)
                                                 : static_cast<std::size_t>(j) * rows + i;
          error = std::max(error, std::abs(double{got[at]} - double{one.x[i]}));
        }
        EXPECT_LE(error, 1000 * TestFixture::tolerance);
      }
    }
}

TYPED_TEST(Krylov, CallbacksMayCancel) {
  using T = typename TypeParam::value;
  for (const char* const method : methods) {
    SCOPED_TRACE(method);
    std::vector<std::int64_t> seen;
    auto o = TestFixture::with(method);
    o.watch = [&](const solve_progress& p) {
      seen.push_back(p.iteration);
      return p.iteration < 5;
    };
    const auto got = TestFixture::run(stencil(20), random_vector<T>(400, 9), o);
    EXPECT_EQ(got.report.reason, stop_reason::cancelled) << got.report.text();
    EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
    EXPECT_LT(got.report.iterations, 20);
  }
}

TYPED_TEST(Krylov, LimitsAreKept) {
  using T = typename TypeParam::value;
  const auto b = random_vector<T>(900, 10);
  for (const char* const method : methods) {
    SCOPED_TRACE(method);
    auto o = TestFixture::with(method);
    o.stop.iterations = 7;
    const auto few = TestFixture::run(stencil(30), b, o);
    EXPECT_EQ(few.report.reason, stop_reason::iteration_limit);
    EXPECT_EQ(few.report.iterations, 7);
    o = TestFixture::with(method);
    o.stop.seconds = 1e-9;
    EXPECT_EQ(TestFixture::run(stencil(30), b, o).report.reason, stop_reason::time_limit);
    o = TestFixture::with(method);
    o.stop.relative = 1e-30; // beyond what rounding leaves
    const auto stuck = TestFixture::run(stencil(6), random_vector<T>(36, 11), o);
    EXPECT_FALSE(stuck.report.converged) << stuck.report.text();
    EXPECT_LT(stuck.report.relative_residual, 100 * std::numeric_limits<T>::epsilon());
  }
}

TYPED_TEST(Krylov, SolveSaysWhatItPicksAndThrows) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto b = random_vector<T>(100, 12);
  const auto a = TypeParam::put_csr(stencil(10));
  const auto right = TypeParam::put(b);
  const auto [x, report] = solve(ctx, a, right);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.method, "cg");
  EXPECT_EQ(report.preconditioner, "jacobi");
  EXPECT_FALSE(report.choice.empty());
  EXPECT_NE(report.json().find("\"converged\": true"), std::string::npos);
  try {
    (void)solve(ctx, a, right, {.stop = {.iterations = 2}});
    FAIL() << "did not throw";
  } catch (const not_converged& e) {
    const auto* const with_report = dynamic_cast<const not_solved*>(&e);
    ASSERT_NE(with_report, nullptr);
    EXPECT_EQ(with_report->report().iterations, 2);
    EXPECT_STREQ(e.kind(), "not_converged");
  }
  auto short_x = TypeParam::put(std::vector<T>(99));
  EXPECT_THROW(solve(ctx, a, right, short_x), size_mismatch);
  EXPECT_THROW((void)solve(ctx, a, right, {.method = "magic"}), bad_input);
  EXPECT_THROW((void)solve(ctx, a, right, {.preconditioner = "magic"}), bad_input);
  EXPECT_THROW((void)solve(ctx, a, right, {.order = "magic"}), bad_input);
}

TYPED_TEST(Krylov, OrdersAndStorages) {
  for (const char* const order : {"none", "rcm", "band-k"})
    for (const char* const storage : {"planned", "csr", "background"}) {
      SCOPED_TRACE(std::string(order) + ", " + storage);
      auto o = TestFixture::with("cg", "jacobi");
      o.order = order;
      o.storage = storage;
      TestFixture::expect_solution(stencil(12), o, 100);
    }
}

TYPED_TEST(Krylov, FunctionsAndTransposedMatrices) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(stencil(6, 0.3));
  const auto b = TypeParam::put(random_vector<T>(36, 13));
  const auto zero = std::vector<T>(36, T{0});
  auto x = TypeParam::put(zero), y = TypeParam::put(zero);
  const linear_operator<T, S> f(
      {36, 36}, [&](const context<S>& on, auto from, auto to) { multiply(on, a, from, to); });
  const krylov_options<T, S> o{.stop = {.relative = TestFixture::tolerance}};
  EXPECT_TRUE(gmres(ctx, f, b, x, o).converged);
  EXPECT_TRUE(gmres(ctx, a, b, y, o).converged);
  const auto hx = host_vector(x), hy = host_vector(y);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_NEAR(hx[i], hy[i], 100 * TestFixture::tolerance);
  EXPECT_TRUE(bicgstab(ctx, transposed(a), b, x, o).converged);
}

// The same bits on every run, and on the host for any number of threads.
TYPED_TEST(Krylov, Repeats) {
  using T = typename TypeParam::value;
  const auto b = random_vector<T>(900, 14);
  for (const char* const method : methods) {
    SCOPED_TRACE(method);
    const auto o = TestFixture::with(method, "jacobi");
    const auto first = TestFixture::run(stencil(30), b, o),
               second = TestFixture::run(stencil(30), b, o);
    EXPECT_TRUE(same(first.x, second.x));
    EXPECT_EQ(first.report.history, second.report.history);
  }
}
TEST(KrylovThreads, BitsDoNotDependOnThem) {
  const auto a = make_csr<double, std::int32_t, std::int32_t>(stencil(300));
  const auto b = random_vector<double>(90'000, 15);
  for (const char* const method : methods) {
    SCOPED_TRACE(method);
    std::vector<double> first;
    for (const int threads : {1, 2, 3, 5}) {
      const host_context ctx({threads});
      std::vector<double> x(90'000, 0.0);
      solve_options<double, space::host> o{.stop = {.iterations = 12}, .method = method};
      o.storage = "csr";
      o.throws = false;
      (void)solve(ctx, a, b, x, o);
      if (first.empty())
        first = x;
      else
        EXPECT_TRUE(same(x, first)) << threads << " threads";
    }
  }
}

/// A clamped beam: squared second differences, whose condition grows with n^4.
triplets beam(std::int64_t n) {
  triplets a{"beam", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - 2); j <= std::min(n - 1, i + 2); ++j)
      a.add(i, j, i == j ? 6 : std::abs(i - j) == 1 ? -4 : 1);
  return a;
}
solve_report solve_on_host(const triplets& m, std::int64_t iterations = 0) {
  const host_context ctx({1});
  const auto a = from_triplets(index<std::int64_t>{m.rows, m.cols}, m.row, m.col, m.value);
  const auto b = random_vector<double>(m.rows, 3);
  std::vector<double> x(b.size(), 0.0);
  solve_options<double, space::host> o;
  o.stop.iterations = iterations;
  o.throws = false;
  return solve(ctx, a, b, x, o);
}
std::string reasons_of(const solve_report& r) {
  std::string all;
  for (const auto& line : r.choice) all += line + "\n";
  return all;
}

TEST(KrylovChoice, AStrongerPreconditionerTakesOver) {
  const auto r = solve_on_host(beam(400));
  EXPECT_TRUE(r.converged) << r.text();
  EXPECT_EQ(r.method, "cg");
  EXPECT_EQ(r.preconditioner, "ic0"); // exact on a band
  EXPECT_NE(reasons_of(r).find("cg with jacobi left"), std::string::npos) << reasons_of(r);
  EXPECT_EQ(r.history.size(), static_cast<std::size_t>(r.iterations) + 1);
  EXPECT_LT(r.iterations, 1100); // Jacobi's patience, and a few
}
TEST(KrylovChoice, ClassicalMultigridTakesOverWhereCoefficientsJump) {
  const host_context ctx({2});
  const auto a = gen::generate<double>(ctx, "variable:n=192,contrast=1e6");
  const auto b = random_vector<double>(a.shape().row, 3);
  const auto [x, r] = solve(ctx, a, b);
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(r.preconditioner, "classical amg") << r.text();
  EXPECT_LT(r.iterations, 110);
}
TEST(KrylovChoice, HierarchiesAreInFloatWhereItsRangeSuffices) {
  const host_context ctx({2});
  auto a = gen::generate<double>(ctx, "poisson2d:n=100");
  const auto n = a.shape().row;
  const auto preconditioner_of = [&](double size) {
    auto b = random_vector<double>(n, 3);
    for (double& v : b) v *= size;
    std::vector<double> x(b.size(), 0.0), r(b);
    const auto report = solve(ctx, a, b, x, {.throws = false});
    EXPECT_TRUE(report.converged) << report.text();
    EXPECT_LT(report.iterations, 20);
    EXPECT_FALSE(report.levels.empty());
    EXPECT_GT(report.operator_complexity, 1);
    multiply(ctx, scaled(-1.0, a), x, r, r);
    EXPECT_LT(norm2(ctx, r), 2e-8 * norm2(ctx, b));
    return report.preconditioner;
  };
  EXPECT_EQ(preconditioner_of(1), "amg in float");
  EXPECT_EQ(preconditioner_of(1e-40), "amg") << "residuals would be 0 in float";
  EXPECT_EQ(preconditioner_of(1e40), "amg");
  for (double& v : a.values()) v *= 1e50;
  EXPECT_EQ(preconditioner_of(1), "amg") << "entries would be infinite";
  for (double& v : a.values()) v *= 1e-100;
  EXPECT_EQ(preconditioner_of(1), "amg") << "the diagonal would be 0";
  EXPECT_EQ(
      solve(ctx, a, random_vector<double>(n, 3), {.preconditioner = "amg"}).report.preconditioner,
      "amg");
}
TEST(KrylovChoice, TheLimitOfPrecisionIsNamed) {
  const auto r = solve_on_host(beam(4000), 1500);
  EXPECT_FALSE(r.converged);
  EXPECT_EQ(r.reason, stop_reason::precision_limit) << r.text();
  EXPECT_STREQ(name_of(r.reason), "precision_limit");
}
TEST(KrylovChoice, RoundingIsNoWantOfSymmetry) {
  auto a = stencil(20);
  a.add(0, 200, 1e-15); // without a counterpart
  const auto r = solve_on_host(sorted(a));
  EXPECT_TRUE(r.converged) << r.text();
  EXPECT_EQ(r.method, "cg") << reasons_of(r);
  auto b = stencil(20);
  b.add(0, 200, 1e-3);
  EXPECT_EQ(solve_on_host(sorted(b)).method, "gmres");
}

// Real systems, where there are files of them: solved, or told why not.
TEST(KrylovReal, PositiveDefiniteMatrices) {
  const char* const named = std::getenv("LACUNA_MATRICES");
  const std::filesystem::path folder =
      named != nullptr ? named
                       : std::filesystem::path(__FILE__).parent_path() / "../../../shared/matrices";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const host_context ctx({2});
  for (const char* const name : {"1138_bus", "662_bus", "bcsstk01", "bcsstk16", "bcsstk27",
                                 "bcsstm02", "gr_30_30", "Trefethen_20b", "Dubcova1"}) {
    const auto file = folder / (std::string(name) + ".mtx.gz");
    if (!std::filesystem::exists(file)) continue;
    SCOPED_TRACE(name);
    const auto a = io::read_csr(file.string());
    const auto n = a.shape().row;
    const auto b = random_vector<double>(n, 16);
    std::vector<double> x(static_cast<std::size_t>(n), 0.0), r(b);
    const auto report = solve(ctx, a, b, x, {.stop = {.iterations = 20'000}, .throws = false});
    EXPECT_TRUE(report.converged) << report.text();
    EXPECT_EQ(report.method, "cg");
    multiply(ctx, scaled(-1.0, a), x, r, r);
    EXPECT_NEAR(norm2(ctx, r) / norm2(ctx, b), report.relative_residual, 1e-9);
  }
}

} // namespace
} // namespace lacuna::test
