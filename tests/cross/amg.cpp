// Algebraic multigrid on every engine: what its hierarchy promises, and that it solves.
#include <cmath>
#include <limits>

#include <lacuna/solver/amg.hpp>

#include "reference/amg.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using host_matrix = csr<double>;

/// A matrix in double, row by row; all that the tests below compute with.
host_matrix in_double(const auto& a) {
  const auto& host = default_context<space::host>();
  return cast<double, std::int32_t, std::int32_t>(host, copy_to(host, a));
}
std::vector<double> times(const host_matrix& a, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.shape().row), 0.0);
  multiply(a, x, y);
  return y;
}

/// The Laplacian of a grid without boundary values: constant vectors are mapped to 0.
host_matrix neumann(std::int64_t n) {
  auto a = gen::poisson2d<double>(default_context<space::host>(), n);
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    const int first = a.rowptr()[i], last = a.rowptr()[i + 1];
    for (int k = first; k < last; ++k)
      a.values()[k] = a.colind()[k] == i ? static_cast<double>(last - first - 1) : -1.0;
  }
  return a;
}
/// Other values that leave connections in the same order: who joins which aggregate stays. Half of
/// all off-diagonal values leaves also those equal that round alike, as norms of blocks.
host_matrix with_other_values(const host_matrix& from) {
  auto a = copy_to(default_context<space::host>(), from);
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (int k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      a.values()[k] *= a.colind()[k] == i ? 1.25 + static_cast<double>(i % 7) / 30 : 0.5;
  return a;
}

template <class C> class Amg : public engine_test<C> {
protected:
  using number = typename C::value;
  static constexpr space where = C::memory_space;
  using preconditioner_t = amg<number, where>;
  using matrix_t = csr<number, std::int32_t, std::int32_t, where>;

  static matrix_t put(const host_matrix& a) {
    return copy_to(C::context(), cast<number>(default_context<space::host>(), a));
  }
  static amg_options small(amg_options o = {}) {
    o.coarse_rows = 20;
    o.planned_entries = 2000;
    return o;
  }
  static std::vector<number> applied(const preconditioner<number, where>& m,
                                     const std::vector<number>& r) {
    auto z = C::put(all_nan<number>(static_cast<std::int64_t>(r.size())));
    const auto on_engine = C::put(r);
    m.apply(C::context(), on_engine, z);
    return host_vector(z);
  }
  /// Iterations of flexible CG to a residual of 1e-8 (float: 1e-4); 100: not reached.
  static int iterations(const matrix_t& a, const preconditioner<number, where>& m,
                        const std::vector<number>& right) {
    const auto& ctx = C::context();
    const auto b = C::put(right);
    auto r = C::put(right), last = C::put(right), z = C::put(right), q = C::put(right);
    auto p = C::put(right);
    const double aim = (sizeof(number) == 4 ? 1e-4 : 1e-8) * static_cast<double>(norm2(ctx, b));
    m.apply(ctx, r, p);
    double rz = dot(ctx, r, p);
    for (int k = 1; k <= 100; ++k) {
      multiply(ctx, a, p, q);
      const double alpha = rz / static_cast<double>(dot(ctx, p, q));
      axpby(ctx, 1, r, 0, last);
      axpby(ctx, -alpha, q, 1, r);
      if (static_cast<double>(norm2(ctx, r)) <= aim) return k;
      m.apply(ctx, r, z);
      const double now = dot(ctx, r, z), across = dot(ctx, last, z);
      axpby(ctx, 1, z, (now - across) / rz, p);
      rz = now;
    }
    return 100;
  }
  static int iterations(const host_matrix& a, const amg_options& o) {
    const auto on_engine = put(a);
    const preconditioner_t m(C::context(), on_engine, o);
    return iterations(on_engine, m, random_vector<number>(a.shape().row, 5));
  }
  static double tolerance() { return sizeof(number) == 4 ? 2e-4 : 1e-10; }
  /// All numbers of a hierarchy, and of one cycle.
  static std::vector<number> bits(const preconditioner_t& m) {
    std::vector<number> all;
    const auto append = [&](const auto& v) {
      const auto h = host_vector(v);
      all.insert(all.end(), h.begin(), h.end());
    };
    for (int k = 1; k < m.levels(); ++k) {
      append(m.matrix(k).values());
      append(m.prolongator(k - 1).values());
      append(m.restriction(k - 1).values());
    }
    const auto z = applied(m, random_vector<number>(m.size(), 6));
    all.insert(all.end(), z.begin(), z.end());
    return all;
  }
};
TYPED_TEST_SUITE(Amg, value_configs, config_name);

const amg_kind kinds[] = {amg_kind::smoothed_aggregation, amg_kind::classical};
const amg_smoother smoothers[] = {amg_smoother::jacobi, amg_smoother::l1_jacobi,
                                  amg_smoother::chebyshev, amg_smoother::gauss_seidel};

TYPED_TEST(Amg, AggregatesCoverAllRows) {
  const auto& ctx = TypeParam::context();
  const auto a = TestFixture::put(gen::poisson2d<double>(default_context<space::host>(), 30));
  for (const auto way : {amg_aggregation::automatic, amg_aggregation::independent_set}) {
    const amg<typename TypeParam::value, TypeParam::memory_space> m(
        ctx, a, TestFixture::small({.aggregation = way}));
    ASSERT_GT(m.levels(), 2);
    for (int k = 0; k + 1 < m.levels(); ++k) {
      const auto aggregates = host_vector(m.aggregates(k));
      std::vector<int> members(static_cast<std::size_t>(m.matrix(k + 1).shape().row), 0);
      for (const int g : aggregates) {
        ASSERT_GE(g, 0);
        ASSERT_LT(g, static_cast<int>(members.size()));
        ++members[static_cast<std::size_t>(g)];
      }
      EXPECT_GE(*std::min_element(members.begin(), members.end()), 1);
      EXPECT_LT(members.size() * 2, aggregates.size());
    }
  }
}

TYPED_TEST(Amg, IndependentSetsAreTheHosts) {
  using T = typename TypeParam::value;
  const auto host = gen::generate<double>("mesh2d:n=40");
  const amg_options o =
      TestFixture::small({.strength = 0, .aggregation = amg_aggregation::independent_set});
  const auto a = TestFixture::put(host);
  const amg<T, TypeParam::memory_space> m(TypeParam::context(), a, o);
  const auto on_host = cast<T>(default_context<space::host>(), host);
  const amg<T> wanted(default_context<space::host>(), on_host, o);
  ASSERT_GT(m.levels(), 1);
  EXPECT_TRUE(same(host_vector(m.aggregates(0)), host_vector(wanted.aggregates(0))));
}

TYPED_TEST(Amg, ProlongatorsKeepConstants) {
  const auto a = TestFixture::put(neumann(25));
  for (const auto kind : kinds) {
    const typename TestFixture::preconditioner_t m(TypeParam::context(), a,
                                                   TestFixture::small({.kind = kind}));
    ASSERT_GT(m.levels(), 2);
    for (int k = 0; k + 1 < m.levels(); ++k) {
      const auto p = in_double(m.prolongator(k));
      const auto y = times(p, std::vector<double>(static_cast<std::size_t>(p.shape().col), 1.0));
      for (const double v : y) ASSERT_NEAR(v, 1, TestFixture::tolerance()) << "level " << k;
    }
  }
}

TYPED_TEST(Amg, ProlongatorsAreTheReferences) {
  const auto compare = [](const host_matrix& host, const amg_options& o, auto wanted) {
    const auto a = TestFixture::put(host);
    const typename TestFixture::preconditioner_t m(TypeParam::context(), a, o);
    ASSERT_GT(m.levels(), 1);
    const auto p = in_double(m.prolongator(0));
    const auto got =
        reference::to_dense(reference::entries<double, std::int32_t, std::int32_t>(p.view()));
    const std::vector<double> want =
        wanted(reference::entries<double, std::int32_t, std::int32_t>(host.view()),
               host_vector(m.aggregates(0)), p.shape().col, m.report().levels[0].spectral_radius);
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], want[k], TestFixture::tolerance()) << "entry " << k;
  };
  const auto smoothed = [](const reference::triplets& a, const std::vector<int>& aggregates,
                           int columns, double radius) {
    return reference::smoothed_prolongator(a, aggregates, columns, 0.2, 4.0 / 3.0 / radius);
  };
  for (const auto way : {amg_aggregation::automatic, amg_aggregation::independent_set})
    compare(gen::generate<double>("anisotropic:n=9,epsilon=0.05"),
            TestFixture::small({.strength = 0.2, .aggregation = way}), smoothed);
  compare(gen::generate<double>("variable:n=9,contrast=3"),
          TestFixture::small({.kind = amg_kind::classical, .most_interpolated = 0}),
          [](const reference::triplets& a, const std::vector<int>& numbers, int columns, double) {
            return reference::extended_interpolation(a, numbers, columns, 0.25);
          });
}

TYPED_TEST(Amg, TentativeProlongatorsReproduceVectors) {
  const auto host = gen::generate<double>("elasticity3d:n=6,clamped=0");
  const std::int64_t rows = host.shape().row, points = rows / 3;
  std::vector<double> coordinates;
  for (std::int64_t i = 0; i < points; ++i)
    for (const std::int64_t v : {i % 7, i / 7 % 7, i / 49})
      coordinates.push_back(static_cast<double>(v));
  const auto modes = rigid_body_modes(coordinates, 3);
  ASSERT_EQ(modes.size(), static_cast<std::size_t>(6 * rows));
  const auto a = TestFixture::put(host);
  const typename TestFixture::preconditioner_t m(
      TypeParam::context(), a,
      TestFixture::small(
          {.unknowns_per_node = 3, .near_null_space = modes, .prolongator_relaxation = 0}));
  ASSERT_GT(m.levels(), 1);
  const auto p = in_double(m.prolongator(0));
  const auto coarse = host_vector(m.near_null_space(1));
  for (int v = 0; v < 6; ++v) {
    const auto columns = static_cast<std::size_t>(p.shape().col);
    const auto* const first = coarse.data() + static_cast<std::size_t>(v) * columns;
    const auto y = times(p, std::vector<double>(first, first + columns));
    const auto along =
        std::vector<double>(modes.begin() + v * rows, modes.begin() + (v + 1) * rows);
    for (std::int64_t i = 0; i < rows; ++i)
      ASSERT_NEAR(y[static_cast<std::size_t>(i)], along[static_cast<std::size_t>(i)],
                  TestFixture::tolerance())
          << "vector " << v << ", row " << i;
    // Rigid bodies do not resist: A maps these vectors to 0.
    for (const double f : times(host, along)) ASSERT_NEAR(f, 0, 1e-8);
  }
}

TYPED_TEST(Amg, CoarseMatricesAreGalerkinProducts) {
  const auto host = gen::generate<double>("anisotropic:n=25");
  const auto a = TestFixture::put(host);
  for (const auto kind : kinds) {
    const typename TestFixture::preconditioner_t m(TypeParam::context(), a,
                                                   TestFixture::small({.kind = kind}));
    for (int k = 0; k + 1 < m.levels(); ++k) {
      const auto p = in_double(m.prolongator(k)), r = in_double(m.restriction(k));
      const auto fine = in_double(m.matrix(k)), coarse = in_double(m.matrix(k + 1));
      const auto x = random_vector<double>(p.shape().col, 7);
      const auto got = times(coarse, x), want = times(r, times(fine, times(p, x)));
      EXPECT_EQ(r.size(), p.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 10 * TestFixture::tolerance()) << "level " << k;
    }
  }
}

TYPED_TEST(Amg, CyclesAreSymmetric) {
  using T = typename TypeParam::value;
  const auto host = gen::poisson2d<double>(default_context<space::host>(), 24);
  const auto a = TestFixture::put(host);
  const auto r = random_vector<T>(host.shape().row, 8), s = random_vector<T>(host.shape().row, 9);
  const auto product = [](const std::vector<T>& x, const std::vector<T>& y) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += double(x[i]) * double(y[i]);
    return sum;
  };
  for (const auto kind : kinds)
    for (const auto smoother : smoothers)
      for (const auto cycle : {amg_cycle::v, amg_cycle::w}) {
        const typename TestFixture::preconditioner_t m(
            TypeParam::context(), a,
            TestFixture::small({.kind = kind, .smoother = smoother, .cycle = cycle}));
        EXPECT_TRUE(m.is_symmetric());
        const auto mr = TestFixture::applied(m, r), ms = TestFixture::applied(m, s);
        const double left = product(mr, s), right = product(r, ms);
        EXPECT_NEAR(left, right, TestFixture::tolerance() * product(mr, r))
            << "smoother " << static_cast<int>(smoother);
        EXPECT_GT(product(mr, r), 0);
      }
}

TYPED_TEST(Amg, MultipliesInTheFinestStorage) {
  using T = typename TestFixture::number;
  const auto a = this->put(gen::poisson2d<double>(default_context<space::host>(), 40));
  for (const std::int64_t planned : {0, 100}) {
    auto options = this->small();
    options.planned_entries = planned;
    const typename TestFixture::preconditioner_t m(TypeParam::context(), a, options);
    const auto x = TypeParam::put(random_vector<T>(1600, 7));
    auto y = TypeParam::put(all_nan<T>(1600)), expected = TypeParam::put(all_nan<T>(1600));
    m.multiply(TypeParam::context(), x, y);
    multiply(TypeParam::context(), a, x, expected);
    const auto got = host_vector(y), want = host_vector(expected);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 64 * std::numeric_limits<T>::epsilon()) << i;
    auto short_one = TypeParam::put(std::vector<T>(3));
    EXPECT_THROW(m.multiply(TypeParam::context(), short_one, y), size_mismatch);
  }
}

TYPED_TEST(Amg, SolvesWithEverySmootherAndCycle) {
  const auto host = gen::poisson2d<double>(default_context<space::host>(), 40);
  for (const auto kind : kinds)
    for (const auto smoother : smoothers)
      EXPECT_LE(
          TestFixture::iterations(host, TestFixture::small({.kind = kind, .smoother = smoother})),
          smoother == amg_smoother::l1_jacobi ? 25 : 16)
          << static_cast<int>(kind) << " with smoother " << static_cast<int>(smoother);
  for (const auto cycle : {amg_cycle::v, amg_cycle::w, amg_cycle::k})
    EXPECT_LE(TestFixture::iterations(
                  host, TestFixture::small(
                            {.aggregation = amg_aggregation::independent_set, .cycle = cycle})),
              16);
  EXPECT_LE(TestFixture::iterations(
                host, TestFixture::small({.prolongator_relaxation = 0, .cycle = amg_cycle::k})),
            30)
      << "plain aggregation";
  EXPECT_LE(
      TestFixture::iterations(host, TestFixture::small({.kind = amg_kind::classical,
                                                        .interpolation = amg_interpolation::direct,
                                                        .most_interpolated = 0})),
      20);
}

TYPED_TEST(Amg, SolvesHarderProblems) {
  EXPECT_LE(TestFixture::iterations(gen::generate<double>("anisotropic:n=50"), {}), 20);
  EXPECT_LE(TestFixture::iterations(gen::generate<double>("variable:n=48,contrast=1e6"),
                                    TestFixture::small({.kind = amg_kind::classical})),
            25);
  EXPECT_LE(TestFixture::iterations(gen::generate<double>("poisson3d27:n=12"), {}), 16);
  EXPECT_LE(TestFixture::iterations(gen::generate<double>("elasticity3d:n=6"),
                                    TestFixture::small({.unknowns_per_node = 3})),
            60);
}

TYPED_TEST(Amg, UpdatesAreNewSetUpsBitByBit) {
  using M = typename TestFixture::preconditioner_t;
  const auto& ctx = TypeParam::context();
  const auto host = gen::poisson2d<double>(default_context<space::host>(), 30);
  const auto a = TestFixture::put(host), b = TestFixture::put(with_other_values(host));
  for (const bool announced : {false, true})
    for (const auto kind : kinds) {
      amg_options o = TestFixture::small({.kind = kind, .strength = 0, .value_updates = announced});
      o.coarse_rows = 450;     // two levels: connections of others depend on values
      o.most_interpolated = 0; // and so does which weights are largest
      M m(ctx, a, o);
      ASSERT_EQ(m.levels(), 2);
      const auto before = TestFixture::bits(m);
      const M fresh(ctx, b, o);
      m.update_values(ctx, b);
      EXPECT_TRUE(same_bits(TestFixture::bits(m), TestFixture::bits(fresh)));
      m.update_values(ctx, a);
      EXPECT_TRUE(same_bits(TestFixture::bits(m), before)) << "and back";
    }
  auto four = TestFixture::put(host);
  scale(ctx, 4, four);
  for (const auto kind : kinds) {
    M m(ctx, a, TestFixture::small({.kind = kind}));
    ASSERT_GT(m.levels(), 2);
    m.update_values(ctx, four);
    EXPECT_TRUE(same_bits(TestFixture::bits(m),
                          TestFixture::bits(M(ctx, four, TestFixture::small({.kind = kind})))));
  }
  const auto elastic = gen::generate<double>("elasticity3d:n=5");
  const auto c = TestFixture::put(elastic), d = TestFixture::put(with_other_values(elastic));
  auto o = TestFixture::small(
      {.strength = 0, .unknowns_per_node = 3, .smoother = amg_smoother::gauss_seidel});
  o.coarse_rows = 150;
  M m(ctx, c, o);
  ASSERT_EQ(m.levels(), 2);
  m.update_values(ctx, d);
  EXPECT_TRUE(same_bits(TestFixture::bits(m), TestFixture::bits(M(ctx, d, o))));
}

TYPED_TEST(Amg, RepeatsBitByBit) {
  using T = typename TypeParam::value;
  const auto host = gen::generate<double>("mesh2d:n=60");
  const auto a = TestFixture::put(host);
  for (const auto kind : kinds) {
    const auto o = TestFixture::small({.kind = kind, .cycle = amg_cycle::k});
    const auto first =
        TestFixture::bits(typename TestFixture::preconditioner_t(TypeParam::context(), a, o));
    EXPECT_TRUE(same_bits(first, TestFixture::bits(typename TestFixture::preconditioner_t(
                                     TypeParam::context(), a, o))));
    if constexpr (TypeParam::memory_space == space::host)
      for (const int threads : {1, 2, 7}) {
        const host_context ctx({threads});
        auto unplanned = o; // plans may choose other formats for other numbers of threads
        unplanned.planned_entries = 0;
        const amg<T> m(ctx, a, unplanned), again(TypeParam::context(), a, unplanned);
        EXPECT_TRUE(same_bits(TestFixture::bits(again), TestFixture::bits(m)))
            << threads << " threads";
      }
  }
}

TYPED_TEST(Amg, SingularSystemsThatHaveASolution) {
  using T = typename TypeParam::value;
  const auto host = neumann(30);
  const auto a = TestFixture::put(host);
  auto b = random_vector<T>(host.shape().row, 10);
  double mean = 0;
  for (const T v : b) mean += static_cast<double>(v) / static_cast<double>(b.size());
  for (T& v : b) v -= static_cast<T>(mean);
  for (const auto kind : kinds)
    for (const int rows : {20, 500}) { // the coarsest is singular, too
      const typename TestFixture::preconditioner_t m(TypeParam::context(), a,
                                                     {.kind = kind, .coarse_rows = rows});
      EXPECT_LE(TestFixture::iterations(a, m, b), 20);
    }
}

TYPED_TEST(Amg, OddMatrices) {
  using T = typename TypeParam::value;
  using M = typename TestFixture::preconditioner_t;
  const auto& ctx = TypeParam::context();
  const auto solved = [&](const host_matrix& a, int most, const amg_options& o = {}) {
    EXPECT_LE(TestFixture::iterations(a, o), most);
  };
  {
    const typename TestFixture::matrix_t none(
        copy_to(ctx, gen::poisson2d<T>(default_context<space::host>(), 0)));
    const M m(ctx, none);
    EXPECT_EQ(m.size(), 0);
    EXPECT_TRUE(TestFixture::applied(m, {}).empty());
  }
  solved(gen::poisson2d<double>(default_context<space::host>(), 1), 1);
  solved(gen::generate<double>("tridiagonal:n=7"), 1);
  // In one dimension an independent set's aggregates are less even than the host's greedy ones.
  solved(gen::generate<double>("tridiagonal:n=3000"),
         TypeParam::memory_space == space::host ? 8 : 18, TestFixture::small());
  {
    auto diagonal = gen::generate<double>("diagonal:n=3000");
    for (auto& v : diagonal.values()) v = 1 + std::abs(v);
    solved(diagonal, 12); // no connections, too many rows to invert: smoothed
    solved(diagonal, 12, {.kind = amg_kind::classical});
  }
  {
    // A star: no connection of the hub is strong by its size. And rows tied to nothing.
    const int n = 800;
    std::vector<int> rowptr{0}, colind;
    std::vector<double> values;
    const auto entry = [&](int j, double v) {
      colind.push_back(j);
      values.push_back(v);
    };
    for (int i = 0; i < n; ++i) {
      if (i == 0) entry(0, n - 99);
      if (i == 0)
        for (int j = 1; j < n - 100; ++j) entry(j, -1);
      if (i > 0 && i < n - 100) entry(0, -1);
      if (i > 0) entry(i, i < n - 100 ? 1 : 5);
      rowptr.push_back(static_cast<int>(colind.size()));
    }
    const csr_view<double> star(values, rowptr, colind, {n, n}, values.size(), {true, true});
    solved(copy_to(default_context<space::host>(), star), 25, TestFixture::small());
  }
  {
    // A row and column of zeros: nothing is divided by it.
    auto a = gen::poisson2d<double>(default_context<space::host>(), 30);
    for (std::int64_t i = 0; i < a.shape().row; ++i)
      for (int k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
        if (i == 17 || a.colind()[k] == 17) a.values()[k] = 0;
    const auto on_engine = TestFixture::put(a);
    for (const auto kind : kinds) {
      const M m(ctx, on_engine, TestFixture::small({.kind = kind}));
      auto b = random_vector<T>(a.shape().row, 11);
      b[17] = 0;
      EXPECT_LE(TestFixture::iterations(on_engine, m, b), 25);
    }
  }
}

TYPED_TEST(Amg, OtherTypesAndOrders) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto wide = copy_to(
      ctx, gen::poisson2d<T, std::int64_t, std::int64_t>(default_context<space::host>(), 20));
  const auto narrow = copy_to(ctx, gen::poisson2d<T>(default_context<space::host>(), 20));
  const auto o = TestFixture::small();
  typename TestFixture::preconditioner_t m(ctx, wide, o);
  const auto want = TestFixture::bits(typename TestFixture::preconditioner_t(ctx, narrow, o));
  EXPECT_TRUE(same_bits(TestFixture::bits(m), want));
  m.update_values(ctx, wide);
  EXPECT_TRUE(same_bits(TestFixture::bits(m), want));
  auto unstated = copy_to(ctx, narrow);
  unstated.state({});
  EXPECT_TRUE(
      same_bits(TestFixture::bits(typename TestFixture::preconditioner_t(ctx, unstated, o)), want));
  m.update_values(ctx, unstated); // keeps a copy, and then another
  EXPECT_TRUE(same_bits(TestFixture::bits(m), want));
  m.update_values(ctx, std::move(unstated));
  EXPECT_TRUE(same_bits(TestFixture::bits(m), want));
}

TYPED_TEST(Amg, HierarchiesInFloat) {
  const auto& ctx = TypeParam::context();
  const auto host = gen::poisson2d<double>(default_context<space::host>(), 40);
  const auto a = copy_to(ctx, host);
  amg_mixed<TypeParam::memory_space> m(ctx, a, TestFixture::small());
  if constexpr (std::is_same_v<typename TypeParam::value, double>) {
    EXPECT_LE(TestFixture::iterations(a, m, random_vector<double>(host.shape().row, 12)), 16);
  }
  m.update_values(ctx, a);
  EXPECT_EQ(m.size(), host.shape().row);
  EXPECT_LT(m.hierarchy().report().operator_complexity, 2);
}

TYPED_TEST(Amg, ReportsItself) {
  const auto a = TestFixture::put(gen::poisson2d<double>(default_context<space::host>(), 40));
  const typename TestFixture::preconditioner_t m(TypeParam::context(), a, TestFixture::small());
  const amg_report& r = m.report();
  ASSERT_EQ(static_cast<int>(r.levels.size()), m.levels());
  EXPECT_EQ(r.levels.front().rows, 1600);
  EXPECT_EQ(r.levels.back().format, "dense");
  EXPECT_GT(r.operator_complexity, 1);
  EXPECT_LT(r.operator_complexity, 1.7);
  EXPECT_GT(r.bytes, 0u);
  EXPECT_NE(m.explain().find("operator complexity"), std::string::npos);
  EXPECT_EQ(m.json().front(), '{');
}

TYPED_TEST(Amg, Refuses) {
  using M = typename TestFixture::preconditioner_t;
  const auto& ctx = TypeParam::context();
  const auto host = gen::poisson2d<double>(default_context<space::host>(), 10);
  const auto a = TestFixture::put(host);
  const auto other = TestFixture::put(gen::poisson2d<double>(default_context<space::host>(), 11));
  const auto tall = TypeParam::put_csr(battery_matrix("tall"));
  EXPECT_THROW(M(ctx, tall), size_mismatch);
  EXPECT_THROW(M(ctx, a, {.strength = 2}), bad_input);
  EXPECT_THROW(M(ctx, a, {.degree = 0}), bad_input);
  EXPECT_THROW(M(ctx, a, {.coarse_rows = 0}), bad_input);
  EXPECT_THROW(M(ctx, a, {.unknowns_per_node = 3}), bad_input);
  EXPECT_THROW(M(ctx, a, {.near_null_space = {1, 2, 3}}), size_mismatch);
  M m(ctx, a);
  EXPECT_THROW(m.update_values(ctx, other), size_mismatch);
  EXPECT_THROW(TestFixture::applied(m, random_vector<typename TypeParam::value>(99, 1)),
               size_mismatch);
  auto bad = copy_to(default_context<space::host>(), host);
  bad.values()[77] = std::numeric_limits<double>::quiet_NaN();
  const auto with_nan = TestFixture::put(bad);
  EXPECT_THROW(M(ctx, with_nan), bad_input);
  EXPECT_THROW(rigid_body_modes({1, 2, 3, 4}, 3), bad_input);
  EXPECT_THROW(rigid_body_modes({1, 2, 3, 4}, 4), bad_input);
}

} // namespace
} // namespace lacuna::test
