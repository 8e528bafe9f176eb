// The tests' own judge: it finds what is wrong, and refuses to compare exactly what rounds.
#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Oracle, ComparesWithinTheBound) {
  const expected want{{1, 2}, {0, 0.25}};
  EXPECT_TRUE(within<float>({1, 2.25F}, want));
  EXPECT_FALSE(within<float>({1, 2.26F}, want));
  EXPECT_FALSE(within<float>({std::nextafter(1.0F, 2.0F), 2}, want));
  EXPECT_FALSE(within<float>({1}, want));
  EXPECT_FALSE(within<float>({1, 2, 3}, want));
}

TEST(Oracle, TakesNothingElseForNaNAndInfinity) {
  const expected want{{nan, inf, -inf, 1}, {inf, inf, inf, 0.5}};
  const auto with = [](std::size_t at, double value) {
    std::vector<double> v{nan, inf, -inf, 1};
    v[at] = value;
    return v;
  };
  EXPECT_TRUE(within(with(3, 1), want));
  EXPECT_FALSE(within(with(0, 0), want));
  EXPECT_FALSE(within(with(0, inf), want));
  EXPECT_FALSE(within(with(1, -inf), want));
  EXPECT_FALSE(within(with(1, nan), want));
  EXPECT_FALSE(within(with(2, 1e300), want));
  EXPECT_FALSE(within(with(3, nan), want));
  EXPECT_FALSE(within(with(3, inf), want));
}

TEST(Oracle, FindsOneLostEntryInRowsOfAnyLength) {
  const with_values in_use(value_kind::integers);
  int tried = 0;
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto a = make_csr<float, std::int32_t, std::int32_t>(m);
    const auto x = random_vector<float>(m.cols, 1);
    const auto want = expected_product(-1.5, a, false, x);
    std::vector<float> y(want.value.begin(), want.value.end());
    EXPECT_TRUE(within(y, want));
    for (std::int64_t i = 0; i < m.rows; ++i) {
      if (a.rowptr()[i] == a.rowptr()[i + 1]) continue;
      const std::int64_t last = a.rowptr()[i + 1] - 1;
      const float lost = -1.5F * a.values()[last] * x[static_cast<std::size_t>(a.colind()[last])];
      if (lost == 0 || !std::isfinite(lost) || !std::isfinite(y[static_cast<std::size_t>(i)]))
        continue;
      y[static_cast<std::size_t>(i)] -= lost;
      ASSERT_FALSE(within(y, want)) << "row " << i;
      y[static_cast<std::size_t>(i)] += lost;
      i += m.rows / 50; // some of many rows
      ++tried;
    }
  }
  EXPECT_GE(tried, 800);
}

TEST(Oracle, FindsALostProductOfASparseProduct) {
  const with_values in_use(value_kind::integers);
  const triplets& m = battery_matrix("huge first and last row");
  const auto b = random_matrix(m.cols, 20, 2, 1); // thousands of products per entry
  const auto want = expected_sparse(make_csr<float, int, int>(m), make_csr<float, int, int>(b));
  std::vector<float> c(want.entries.value.begin(), want.entries.value.end());
  EXPECT_TRUE(within(c, want.entries));
  c.front() += 1;
  EXPECT_FALSE(within(c, want.entries));
}

TEST(Oracle, RefusesIntegersWhoseSumsRound) {
  const with_values in_use(value_kind::integers);
  auto a = make_csr<float, int, int>(battery_matrix("identity"));
  const auto x = random_vector<float>(100, 1);
  EXPECT_NO_THROW(expected_product(0.25, a, false, x));
  EXPECT_THROW(expected_product(0.3, a, false, x), std::logic_error);
  EXPECT_THROW(expected_product(1, a, false, x, 0.1, x), std::logic_error);
  a.values()[7] = 5e6F;
  EXPECT_THROW(expected_product(1, a, false, x), std::logic_error);
  EXPECT_THROW(expected_sparse(a, a), std::logic_error);
  EXPECT_THROW(exact_for_integers({1, 0}, 1e7), std::logic_error);
}

TEST(Oracle, ScalarsAreExactAmongIntegers) {
  EXPECT_EQ(scalar(0.3), 0.3);
  const with_values in_use(value_kind::integers);
  EXPECT_EQ(scalar(0.3), 0.25);
  EXPECT_EQ(scalar(-1.2), -1.25);
  EXPECT_EQ(scalar(-1.5), -1.5);
}

} // namespace
} // namespace lacuna::test
