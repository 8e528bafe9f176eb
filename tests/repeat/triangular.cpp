// Kept triangles, incomplete factors and colours: the same bits again, on another context, and on
// the host for any number of threads.
#include "support/oracle.hpp"
#include "support/triangular.hpp"

namespace lacuna::test {
namespace {

template <class C> class RepeatTriangular : public engine_test<C> {
protected:
  using T = typename C::value;
  static constexpr space S = C::memory_space;

  /// x of two solves, factors, M^-1 b by each, colours, as numbers.
  static std::vector<T> results(const context<S>& ctx) {
    static const triplets m = make_layers(9, 400);
    const auto a = copy_to(ctx, C::host_csr(m));
    const auto b = copy_to(ctx, random_vector<T>(m.rows, 1));
    array<T, S> x(ctx, m.rows);
    std::vector<T> all;
    const auto note = [&](const std::vector<T>& v) { all.insert(all.end(), v.begin(), v.end()); };
    for (const auto schedule : {triangular_schedule::levels, triangular_schedule::waiting}) {
      const auto info = triangular_solve_inspect(ctx, a, lower_triangle, explicit_diagonal, b, x,
                                                 {.schedule = schedule});
      triangular_solve(ctx, info, a, lower_triangle, explicit_diagonal, b, x);
      note(host_vector(x));
    }
    const auto apply = [&](const auto& p) {
      p.apply(ctx, b, x);
      note(host_vector(x));
      note(host_vector(p.factors().values()));
    };
    const auto levels = triangular_schedule::levels;
    apply(ilu0<T, S>(ctx, a, {.schedule = levels}));
    apply(ic0<T, S>(ctx, a, {.schedule = levels}));
    apply(ilu0<T, S>(ctx, a, {.factor_sweeps = 3, .solve_sweeps = 2}));
    for (const std::int32_t c : host_vector(colour(ctx, a).colour))
      all.push_back(static_cast<T>(c));
    return all;
  }
};
TYPED_TEST_SUITE(RepeatTriangular, few_configs, config_name);

TYPED_TEST(RepeatTriangular, Bits) {
  const auto first = TestFixture::results(TypeParam::context());
  EXPECT_TRUE(same_bits(TestFixture::results(TypeParam::context()), first));
  const context<TypeParam::memory_space> another;
  EXPECT_TRUE(same_bits(TestFixture::results(another), first));
  if constexpr (TypeParam::memory_space == space::host)
    for (const int threads : {1, 2, 5}) {
      const host_context some(host_options{.threads = threads});
      EXPECT_TRUE(same_bits(TestFixture::results(some), first)) << threads;
    }
}

} // namespace
} // namespace lacuna::test
