// ILU(0) and IC(0): factors against a dense reference, M^-1 r by their residual, sweeps towards
// both, what cannot be factored by name; and colours, which widen levels.
#include <lacuna/op/colour.hpp>
#include <lacuna/solver/ilu.hpp>

#include "support/oracle.hpp"
#include "support/triangular.hpp"

namespace lacuna::test {
namespace {

template <class C> class Ilu : public engine_test<C> {
protected:
  static constexpr space S = C::memory_space;

  /// The largest difference of stored entries of the factors and the reference.
  template <class M> static double factor_error(const M& m, const triplets& a, bool symmetric) {
    const auto csr_of_a = make_csr<double, std::int32_t, std::int32_t>(a);
    const auto want = reference::incomplete_factors(entries_of(csr_of_a), symmetric);
    const auto f = m.factors();
    const auto rowptr = host_vector(f.rowptr());
    const auto colind = host_vector(f.colind());
    const auto values = host_vector(f.values());
    double worst = 0;
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (auto k = static_cast<std::size_t>(rowptr[static_cast<std::size_t>(i)]);
           k < static_cast<std::size_t>(rowptr[static_cast<std::size_t>(i) + 1]); ++k) {
        if (symmetric && colind[k] > i) continue;
        const double error =
            std::abs(double{values[k]} - want[static_cast<std::size_t>(i * a.rows + colind[k])]);
        worst = error <= worst ? worst : error;
      }
    return worst;
  }
  static triplets symmetric_square() {
    triplets a = make_square(150, 4, 3);
    const auto entries = static_cast<std::size_t>(a.size());
    for (std::size_t k = 0; k < entries; ++k)
      if (a.row[k] != a.col[k]) a.add(a.col[k], a.row[k], a.value[k]);
    for (std::int64_t i = 0; i < a.rows; ++i) a.add(i, i, 2);
    return a;
  }
};
TYPED_TEST_SUITE(Ilu, value_configs, config_name);

TYPED_TEST(Ilu, FactorsAndSolves) {
  using T = typename TypeParam::value;
  using fixture = TestFixture;
  const auto& ctx = TypeParam::context();
  const double eps = std::numeric_limits<T>::epsilon();
  const triplets some[] = {triplets{"nothing", 0, 0, {}, {}, {}}, make_square(1, 0, 1),
                           make_grid(24), fixture::symmetric_square()};
  for (const triplets& t : some)
    for (const auto schedule : {triangular_schedule::automatic, triangular_schedule::serial,
                                triangular_schedule::levels}) {
      SCOPED_TRACE(t.name);
      const auto a = TypeParam::put_csr(t);
      const auto r = TypeParam::put(random_vector<T>(t.rows, 8));
      auto z = TypeParam::put(all_nan<T>(t.rows)), y = TypeParam::put(all_nan<T>(t.rows));
      const ilu_options options{.schedule = schedule};
      const ilu0<T, fixture::S> lu(ctx, a, options);
      EXPECT_LE(fixture::factor_error(lu, t, false), 100 * eps);
      lu.apply(ctx, r, z);
      triangular_solve(ctx, lu.factors(), lower_triangle, implicit_unit_diagonal, r, y);
      triangular_solve(ctx, lu.factors(), upper_triangle, explicit_diagonal, y, y);
      const auto got = host_vector(z), want = host_vector(y);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 100 * eps) << i;
      EXPECT_EQ(lu.size(), t.rows);
      EXPECT_EQ(lu.name(), "ilu0");
      EXPECT_FALSE(lu.is_symmetric());

      const ic0<T, fixture::S> ll(ctx, a, options);
      EXPECT_LE(fixture::factor_error(ll, t, true), 100 * eps);
      ll.apply(ctx, r, z);
      triangular_solve(ctx, ll.factors(), lower_triangle, explicit_diagonal, r, y);
      triangular_solve(ctx, transposed(ll.factors()), upper_triangle, explicit_diagonal, y, y);
      const auto got_ll = host_vector(z), want_ll = host_vector(y);
      for (std::size_t i = 0; i < got_ll.size(); ++i)
        EXPECT_NEAR(got_ll[i], want_ll[i], 100 * eps) << i;
      EXPECT_EQ(ll.name(), "ic0");
      EXPECT_NE(ll.explain().find("levels"), std::string::npos) << ll.explain();
    }
}

TYPED_TEST(Ilu, SweepsApproachTheFactors) {
  using T = typename TypeParam::value;
  using fixture = TestFixture;
  const auto& ctx = TypeParam::context();
  const triplets t = make_grid(24);
  const auto a = TypeParam::put_csr(t);
  double lu_before = 1, ll_before = 1;
  for (const int sweeps : {1, 3, 6}) {
    const ilu_options options{.factor_sweeps = sweeps, .solve_sweeps = sweeps};
    const ilu0<T, fixture::S> lu(ctx, a, options);
    const ic0<T, fixture::S> ll(ctx, a, options);
    const double lu_error = fixture::factor_error(lu, t, false);
    const double ll_error = fixture::factor_error(ll, t, true);
    EXPECT_LT(lu_error, lu_before / 2) << sweeps;
    EXPECT_LT(ll_error, ll_before / 2) << sweeps;
    lu_before = lu_error;
    ll_before = ll_error;
  }
  // Enough sweeps solve exactly: a triangle is nilpotent beside its diagonal.
  const triplets chain = triangular_battery()[2];
  const auto d = TypeParam::put_csr(chain);
  const auto r = TypeParam::put(random_vector<T>(chain.rows, 8));
  auto z = TypeParam::put(all_nan<T>(chain.rows)), y = TypeParam::put(all_nan<T>(chain.rows));
  const ilu0<T, fixture::S> exact(ctx, d), swept(ctx, d, {.factor_sweeps = 1, .solve_sweeps = 1});
  exact.apply(ctx, r, y);
  swept.apply(ctx, r, z);
  EXPECT_TRUE(same(host_vector(z), host_vector(y)));
}

TYPED_TEST(Ilu, OtherValuesAndFailures) {
  using T = typename TypeParam::value;
  using fixture = TestFixture;
  const auto& ctx = TypeParam::context();
  const triplets t = fixture::symmetric_square();
  triplets other = t;
  for (double& v : other.value) v *= 4;
  const auto a = TypeParam::put_csr(t), b = TypeParam::put_csr(other);
  ilu0<T, fixture::S> m(ctx, a);
  const ilu0<T, fixture::S> fresh(ctx, b);
  m.update_values(ctx, b);
  EXPECT_TRUE(same(host_vector(m.factors().values()), host_vector(fresh.factors().values())));
  const auto r = TypeParam::put(random_vector<T>(t.rows, 8));
  auto z = TypeParam::put(all_nan<T>(t.rows)), y = TypeParam::put(all_nan<T>(t.rows));
  m.apply(ctx, r, z);
  fresh.apply(ctx, r, y);
  EXPECT_TRUE(same(host_vector(z), host_vector(y)));

  triplets bad = make_grid(6);
  const auto set_diagonal = [&](std::int64_t row, double value) {
    for (std::size_t k = 0; k < bad.row.size(); ++k)
      if (bad.row[k] == row && bad.col[k] == row) bad.value[k] = value;
  };
  const auto expect_row = [&](const char* row, auto make) {
    try {
      make();
      FAIL() << "factored";
    } catch (const bad_input& e) {
      EXPECT_NE(std::string(e.what()).find(row), std::string::npos) << e.what();
    }
  };
  set_diagonal(0, 0);
  const auto zero = TypeParam::put_csr(bad);
  expect_row("row 0", [&] { ilu0<T, fixture::S>(ctx, zero); });
  EXPECT_NO_THROW((ilu0<T, fixture::S>(ctx, zero, {.shift = 0.5})));
  set_diagonal(0, 4);
  set_diagonal(9, -3);
  const auto indefinite = TypeParam::put_csr(bad);
  expect_row("row 9", [&] { ic0<T, fixture::S>(ctx, indefinite); });
  EXPECT_NO_THROW((ilu0<T, fixture::S>(ctx, indefinite)));
  set_diagonal(9, std::numeric_limits<double>::quiet_NaN());
  expect_row("row 9", [&] { ilu0<T, fixture::S>(ctx, TypeParam::put_csr(bad)); });
  const auto hollow = TypeParam::put_csr(triplets{"hollow", 2, 2, {0, 1}, {0, 0}, {1, 1}});
  expect_row("row 1", [&] { ilu0<T, fixture::S>(ctx, hollow); });
  const auto oblong = TypeParam::put_csr(triplets{"oblong", 2, 3, {}, {}, {}});
  EXPECT_THROW((ilu0<T, fixture::S>(ctx, oblong)), size_mismatch);
  EXPECT_THROW((ilu0<T, fixture::S>(ctx, a, {.solve_sweeps = -1})), bad_input);
  EXPECT_THROW(m.update_values(ctx, zero), size_mismatch);
  auto shorter = TypeParam::put(std::vector<T>(3));
  EXPECT_THROW(m.apply(ctx, r, shorter.view()), size_mismatch);
}

template <class C> class Colour : public engine_test<C> {};
TYPED_TEST_SUITE(Colour, all_configs, config_name);

TYPED_TEST(Colour, AreThoseOfTheReference) {
  using I = typename TypeParam::index;
  const auto& ctx = TypeParam::context();
  const host_context host;
  for (const triplets& t : triangular_battery()) {
    SCOPED_TRACE(t.name);
    const auto a = TypeParam::put_csr(t);
    const auto on_host = TypeParam::host_csr(t);
    for (const colour_order order : {colour_order::random, colour_order::natural}) {
      const bool natural = order == colour_order::natural;
      std::vector<std::uint64_t> weight;
      for (std::int64_t i = 0; i < t.rows; ++i)
        weight.push_back(detail::colour_weight(static_cast<std::uint64_t>(i), natural));
      const auto c = colour(ctx, a, {.order = order});
      const auto want = reference::colours(entries_of(on_host), weight);
      EXPECT_TRUE(same(host_vector(c.colour), want));
      EXPECT_EQ(c.count, want.empty() ? 0 : *std::max_element(want.begin(), want.end()) + 1);
      if (t.name == "grid" && natural) {
        EXPECT_EQ(c.count, 2);
      }
      colouring<> here{copy_to(host, c.colour), c.count};
      const auto p = reorder_by_colours<I>(host, here);
      const auto b = permute(host, on_host, p);
      std::vector<typename TypeParam::value> x(static_cast<std::size_t>(t.rows));
      const auto info =
          triangular_solve_inspect(host, b, lower_triangle, implicit_unit_diagonal, x, x);
      using kept = detail::triangular_inspection<typename TypeParam::value, space::host>;
      const auto& found = dynamic_cast<const kept&>(*info.inspection());
      EXPECT_LE(found.pattern.statistics.levels, c.count);
    }
  }
}

} // namespace
} // namespace lacuna::test
