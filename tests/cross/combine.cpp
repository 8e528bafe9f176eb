// Two matrices element by element, bit by bit as the reference has it.
#include <cmath>

#include <lacuna/op/combine.hpp>

#include "reference/elementwise.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

/// Of the same shape: most of m's entries, some as they are, some with another value, some moved,
/// some zeros; and a diagonal.
triplets partner(const triplets& m) {
  random_source random(4);
  triplets result{m.name + ", changed", m.rows, m.cols, {}, {}, {}};
  for (std::size_t k = 0; k < m.value.size(); ++k) {
    const std::int64_t by = random.below(8);
    if (by == 0) continue;
    const double value = by < 4 ? m.value[k] : by == 4 ? 0 : random.value();
    result.add(m.row[k], by == 7 ? (m.col[k] + 1) % m.cols : m.col[k], value);
  }
  for (std::int64_t i = 0; i < std::min(m.rows, m.cols); i += 3) result.add(i, i, random.value());
  return result;
}

struct rule_meaning {
  element_rule rule;
  double (*of)(double, double);
  bool of_both = false;
};
constexpr rule_meaning meanings[] = {
    {element_rule::plus, [](double x, double y) { return x + y; }},
    {element_rule::minus, [](double x, double y) { return x - y; }},
    {element_rule::times, [](double x, double y) { return x * y; }},
    {element_rule::stored_times, [](double x, double y) { return x * y; }, true},
    {element_rule::minimum,
     [](double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y); }},
    {element_rule::maximum,
     [](double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y); }},
    {element_rule::not_equal, [](double x, double y) { return x != y ? 1. : 0.; }},
    {element_rule::less, [](double x, double y) { return x < y ? 1. : 0.; }},
    {element_rule::greater, [](double x, double y) { return x > y ? 1. : 0.; }}};

template <class C> class Combine : public engine_test<C> {
protected:
  template <class M> static void expect_is(const M& c, const reference::triplets& want) {
    EXPECT_NO_THROW(check(C::context(), c));
    EXPECT_EQ(c.order(), (facts{true, true}));
    EXPECT_TRUE(same_sums(entries_of(c), want));
  }
};
TYPED_TEST_SUITE(Combine, all_configs, config_name);
template <class C> class CombineFew : public Combine<C> {};
TYPED_TEST_SUITE(CombineFew, few_configs, config_name);

TYPED_TEST(Combine, Battery) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(partner(m));
    const auto in_a = entries_of(a), in_b = entries_of(b);
    for (const auto& each : meanings) {
      // Loops over rows know no offsets: one of either kind shows that these are right.
      if (sizeof(typename TypeParam::index) != sizeof(typename TypeParam::offset) &&
          each.rule != element_rule::stored_times && each.rule != element_rule::less)
        continue;
      SCOPED_TRACE(static_cast<int>(each.rule));
      TestFixture::expect_is(combine(ctx, a, b, each.rule),
                             reference::combine<T>(1, in_a, 1, in_b, each.of, each.of_both));
    }
    EXPECT_TRUE(same_matrix(a, TypeParam::host_csr(m)));
  });
}

TYPED_TEST(CombineFew, ScaledTransposedAndByColumns) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(exchanged(partner(m)));
    const auto columns = TypeParam::put_csc(m);
    const auto in_a = entries_of(a), in_b = reference::transpose(entries_of(b));
    const auto product = [](double x, double y) { return x * y; };
    TestFixture::expect_is(multiply_elements(ctx, scaled(0.3, a), transposed(scaled(-3, b))),
                           reference::combine<T>(0.3, in_a, -3, in_b, product, true));
    TestFixture::expect_is(multiply_elements(transposed(b), columns),
                           reference::combine<T>(1, in_b, 1, entries_of(columns), product, true));
    TestFixture::expect_is(multiply_elements(ctx, a, a),
                           reference::combine<T>(1, in_a, 1, in_a, product, true));
    TestFixture::expect_is(combine(ctx, a, scaled(2, a), element_rule::minus),
                           reference::combine<T>(1, in_a, -2, in_a, std::plus<>()));
    EXPECT_TRUE(same_entries(entries_of(minimum(a, transposed(b))),
                             entries_of(combine(a, transposed(b), element_rule::minimum))));
    EXPECT_TRUE(same_entries(entries_of(maximum(a, transposed(b))),
                             entries_of(combine(a, transposed(b), element_rule::maximum))));
  });
}

TYPED_TEST(Combine, ComparisonsThatHoldForZeros) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    if (m.rows * m.cols > 2'000'000) return;
    const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(partner(m));
    TestFixture::expect_is(complement(ctx, a), reference::complement(entries_of(a)));
    const auto expect_rest = [&](comparison holds, comparison fails) {
      TestFixture::expect_is(compare(ctx, a, b, holds),
                             reference::complement(entries_of(compare(a, b, fails))));
    };
    expect_rest(comparison::equal, comparison::not_equal);
    expect_rest(comparison::less_equal, comparison::greater);
    expect_rest(comparison::greater_equal, comparison::less);
    EXPECT_TRUE(same_entries(entries_of(compare(ctx, a, b, comparison::less)),
                             entries_of(compare(ctx, b, a, comparison::greater))));
  });
}

TYPED_TEST(CombineFew, UnlikeWidths) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("unsorted with duplicates");
  const auto a = copy_to(ctx, make_csr<T, std::int32_t, std::int64_t>(m));
  const auto b = copy_to(ctx, make_csr<T, std::int64_t, std::int32_t>(partner(m)));
  const auto c = multiply_elements(ctx, a, b);
  using wide = csr<T, std::int64_t, std::int64_t, TypeParam::memory_space>;
  static_assert(std::is_same_v<decltype(c), const wide>);
  TestFixture::expect_is(
      c, reference::combine<T>(1, entries_of(a), 1, entries_of(b), std::multiplies<>(), true));
}

TYPED_TEST(CombineFew, MissingTimesInfinity) {
  using T = typename TypeParam::value;
  const auto a = TypeParam::put_csr({"a", 1, 3, {0, 0}, {0, 1}, {INFINITY, 2}});
  const auto b = TypeParam::put_csr({"b", 1, 3, {0, 0}, {1, 2}, {3, 4}});
  EXPECT_EQ(multiply_elements(a, b).size(), 1);
  const auto c = combine(a, b, element_rule::times);
  ASSERT_EQ(c.size(), 2);
  const auto values = host_vector(c.values());
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], T{6});
}

TYPED_TEST(CombineFew, Refuses) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  EXPECT_THROW((void)multiply_elements(ctx, a, transposed(a)), size_mismatch);
  EXPECT_THROW((void)compare(ctx, a, transposed(a), comparison::less), size_mismatch);
  const csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
            TypeParam::memory_space>
      none;
  EXPECT_EQ(multiply_elements(none, none).size(), 0);
  EXPECT_EQ(complement(none).size(), 0);
  if (sizeof(typename TypeParam::offset) == 4) {
    const auto empty = TypeParam::put_csr({"empty", 70'000, 70'000, {}, {}, {}});
    EXPECT_THROW((void)complement(empty), bad_input);
  }
}

} // namespace
} // namespace lacuna::test
