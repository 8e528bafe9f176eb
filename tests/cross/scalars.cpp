// Vector operations with scalars in memory: dots, combine, programs, stopped columns, recordings.
#include <lacuna/core/repeated.hpp>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t scalar_sizes[] = {0, 1, 5, 1023, 1024, 1025, 4097, 100'003, 1'100'000};

template <class C> class Scalars : public engine_test<C> {
protected:
  using value = typename C::value;
  static constexpr space where = C::memory_space;
  static dense_view<value, where> columns(array<value, where>& v, std::int64_t count = 1) {
    return {v.data(), {v.size() / count, count}, layout::column_major};
  }
};
TYPED_TEST_SUITE(Scalars, value_configs, config_name);

TYPED_TEST(Scalars, DotsAndQuotients) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const with_values integers(value_kind::integers);
  for (const std::int64_t size : scalar_sizes) {
    SCOPED_TRACE(size);
    const auto x = random_vector<T>(size, 1), y = random_vector<T>(size, 2);
    auto xs = TypeParam::put(x), ys = TypeParam::put(y);
    const auto xv = TestFixture::columns(xs), yv = TestFixture::columns(ys);
    scalars<S> s(ctx, 6);
    dots<T, S>(ctx, s, {{xv, yv, 0}, {xv, xv, 1}, {yv, yv, 2}},
               {step::divide(3, 0, 1), step::square_root(4, 1), step::multiply(5, 4, 4)});
    const auto got = s.read(ctx);
    const double xy = reference::dot<T>(x, y).value, xx = reference::dot<T>(x, x).value;
    EXPECT_EQ(got[0], xy);
    EXPECT_EQ(got[1], xx);
    EXPECT_EQ(got[2], reference::dot<T>(y, y).value);
    EXPECT_EQ(got[3], xx == 0 ? 0 : xy / xx);
    EXPECT_EQ(got[4], std::sqrt(xx));
    EXPECT_NEAR(got[5], xx, 1e-10 * xx);
  }
}

// What is compiled for its terms, and what is not; two columns with factors of their own.
TYPED_TEST(Scalars, Combine) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const with_values integers(value_kind::integers);
  const std::pair<int, int> shapes[] = {{1, 0}, {2, 0}, {2, 2}, {3, 0},
                                        {3, 2}, {4, 3}, {4, 0}, {1, 4}};
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{1025}, std::int64_t{70'001}})
    for (const auto& [first, second] : shapes)
      for (int sums = 0; sums <= 2; ++sums) {
        SCOPED_TRACE(std::to_string(size) + ": " + std::to_string(first) + " and " +
                     std::to_string(second) + " terms, sums " + std::to_string(sums));
        std::vector<std::vector<T>> host;
        std::vector<array<T, S>> there;
        for (int v = 0; v < 5; ++v) {
          host.push_back(random_vector<T>(2 * size, static_cast<std::uint64_t>(v)));
          there.push_back(TypeParam::put(host.back()));
        }
        scalars<S> s(ctx, 4, 2);
        s.write(ctx, {2, -0.5, 0, 0, -1, 4, 0, 0});
        const double factor[2][2] = {{2, -0.5}, {-1, 4}};
        std::vector<linear_combination<T, S>> outputs;
        std::vector<std::vector<T>> want;
        for (int o = 0; o < (second > 0 ? 2 : 1); ++o) {
          linear_combination<T, S> c{TestFixture::columns(there[static_cast<std::size_t>(o)], 2),
                                     {}};
          std::vector<T> sum(host[0].size());
          for (int k = 0; k < (o == 0 ? first : second); ++k) {
            const auto v = static_cast<std::size_t>((o + k) % 4);
            const scalar_factor by = k == 0   ? scalar_factor{1, -1}
                                     : k == 1 ? times(0)
                                     : k == 2 ? times_minus(1)
                                              : scalar_factor{0.25, -1};
            c.terms.push_back({TestFixture::columns(there[v], 2), by});
            for (std::size_t i = 0; i < sum.size(); ++i) {
              const auto j = i / static_cast<std::size_t>(size);
              sum[i] +=
                  static_cast<T>(by.constant * (by.slot < 0 ? 1 : factor[j][by.slot])) * host[v][i];
            }
          }
          outputs.push_back(c);
          want.push_back(sum);
        }
        combine<T, S>(ctx, s, outputs,
                      {.square = sums > 0 ? 2 : -1,
                       .with = sums > 1 ? dense_view<const T, S>(TestFixture::columns(there[4], 2))
                                        : dense_view<const T, S>(),
                       .product = sums > 1 ? 3 : -1});
        for (std::size_t o = 0; o < want.size(); ++o)
          EXPECT_TRUE(same(host_vector(there[o]), want[o])) << "output " << o;
        const auto got = s.read(ctx);
        for (std::size_t j = 0; j < 2; ++j) {
          double square = 0, product = 0;
          for (std::size_t i = j * static_cast<std::size_t>(size);
               i < (j + 1) * static_cast<std::size_t>(size); ++i) {
            square += double{want.back()[i]} * double{want.back()[i]};
            product += double{want.back()[i]} * double{host[4][i]};
          }
          EXPECT_EQ(got[4 * j + 2], sums > 0 ? square : 0);
          EXPECT_EQ(got[4 * j + 3], sums > 1 ? product : 0);
        }
      }
}

// A column that has ended is left alone by whatever is queued for it, the other one is not.
TYPED_TEST(Scalars, EndedColumnsDoNotChange) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  auto x = TypeParam::put(std::vector<T>(20, T{1})), y = TypeParam::put(std::vector<T>(20, T{3}));
  const auto xv = TestFixture::columns(x, 2), yv = TestFixture::columns(y, 2);
  constexpr int slots = rule_slot::first_free + 2, number_slot = rule_slot::first_free;
  scalars<S> s(ctx, slots, 2, 10);
  std::vector<double> start(2 * slots, 0.0);
  for (int j = 0; j < 2; ++j) {
    double* const c = start.data() + j * slots;
    c[rule_slot::best] = 1e300;
    c[rule_slot::limit] = c[rule_slot::window] = 100;
    c[rule_slot::target] = j == 0 ? 50 : 5; // the norm is 10 at first, then 40
  }
  s.write(ctx, start);
  repeated<S> iterate(ctx, [&] {
    dots<T, S>(ctx, s, {{xv, xv, number_slot}},
               {step::begin_iteration(), step::stop_test(number_slot)});
    combine<T, S>(ctx, s, {{xv, {{xv}, {xv}}}});
  });
  for (int k = 0; k < 4; ++k) iterate();
  const auto got = s.read(ctx);
  EXPECT_EQ(got[rule_slot::phase], 2);
  EXPECT_EQ(got[rule_slot::reason], static_cast<double>(stop_reason::converged));
  EXPECT_EQ(got[rule_slot::iteration], 1);
  EXPECT_EQ(got[slots + rule_slot::phase], 0);
  EXPECT_EQ(got[slots + rule_slot::iteration], 4);
  const auto history = host_vector(s.history());
  EXPECT_EQ(history[1], 10);
  EXPECT_EQ(history[10 + 1], 10);
  EXPECT_EQ(history[10 + 2], 40);
  const auto after = host_vector(x);
  EXPECT_EQ(after[0], T{2}); // the iteration in which it ended is finished
  EXPECT_EQ(after[10], T{16});
  // Ended at once: nothing at all happens.
  start[rule_slot::phase] = 2;
  s.write(ctx, start);
  combine<T, S>(ctx, s, {{yv, {{yv}, {yv}}}});
  EXPECT_EQ(host_vector(y)[0], T{3});
  EXPECT_EQ(host_vector(y)[10], T{6});
  (void)iterate.recorded();
}

TYPED_TEST(Scalars, Halts) {
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  constexpr int slots = rule_slot::first_free + 1, number_slot = rule_slot::first_free;
  using enum stop_reason;
  for (const auto& [number, wanted] :
       {std::pair{1.0, none},
        {-1.0, indefinite},
        {0.0, breakdown_pivot},
        {std::numeric_limits<double>::quiet_NaN(), stop_reason::nan},
        {std::numeric_limits<double>::infinity(), stop_reason::nan}}) {
    scalars<S> s(ctx, slots, 1, 2);
    std::vector<double> start(slots, 0.0);
    start[number_slot] = number;
    s.write(ctx, start);
    run_scalars(ctx, s, {step::halt_unless_positive(number_slot, indefinite, breakdown_pivot)});
    const auto got = s.read(ctx);
    EXPECT_EQ(got[rule_slot::reason], static_cast<double>(wanted)) << number;
    EXPECT_EQ(got[rule_slot::phase], wanted == none ? 0 : 2) << number;
  }
}

TYPED_TEST(Scalars, WhatDoesNotFitIsRefused) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  auto x = TypeParam::put(std::vector<T>(4, T{1})), y = TypeParam::put(std::vector<T>(6, T{1}));
  const auto xv = TestFixture::columns(x), yv = TestFixture::columns(y);
  scalars<S> s(ctx, 2);
  EXPECT_THROW((dots<T, S>(ctx, s, {{xv, yv, 0}})), size_mismatch);
  EXPECT_THROW((dots<T, S>(ctx, s, {})), bad_input);
  EXPECT_THROW((combine<T, S>(ctx, s, {{xv, {{yv}}}})), size_mismatch);
  EXPECT_THROW((combine<T, S>(ctx, s, {{xv, {}}})), bad_input);
  EXPECT_THROW((dots<T, S>(ctx, s, {{TestFixture::columns(x, 2), TestFixture::columns(x, 2), 0}})),
               size_mismatch);
  EXPECT_THROW((scalars<S>(ctx, 49)), bad_input);
}

} // namespace
} // namespace lacuna::test
