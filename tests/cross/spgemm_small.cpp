// Small products in one pass: the bits of the other ways, and where that pass gives up.
#include <fmt/format.h>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

const host_context& host() { return default_context<space::host>(); }

template <class C> class SpGEMMSmall : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMSmall, all_configs, config_name);
template <class C> class SpGEMMSmallFew : public SpGEMMSmall<C> {};
TYPED_TEST_SUITE(SpGEMMSmallFew, few_configs, config_name);

spgemm_thresholds up_to(std::int64_t thousand_products) {
  spgemm_thresholds t;
  t.one_pass_products = thousand_products;
  return t;
}

/// Whether one pass was taken, on a device; its result beside that of several.
template <class C, class A, class B> bool is_one_pass(const A& a, const B& b) {
  const auto& ctx = C::context();
  const spgemm_thresholds one = up_to(6000), several = up_to(0);
  spgemm_report report;
  const auto c =
      multiply(ctx, scaled(typename C::value(3), a), b, {.thresholds = &one, .report = &report});
  const auto want =
      copy_to(host(), multiply(ctx, scaled(typename C::value(3), a), b, {.thresholds = &several}));
  EXPECT_TRUE(same_matrix(c, want));
  EXPECT_EQ(report.entries, std::int64_t{c.size()});
  if (C::memory_space == space::host) return false;
  if (report.one_pass_rows > 0) {
    EXPECT_EQ(report.products, estimate(ctx, a, b).products);
  }
  return report.one_pass_rows == std::int64_t{a.shape().row};
}

TYPED_TEST(SpGEMMSmall, HaveTheSameBits) {
  const bool device = TypeParam::memory_space == space::device;
  // Several tiles, rows of all lengths, rows of B without entries; few columns and many.
  for (const auto& [m, n] :
       {std::pair{random_matrix(3000, 500, 6, 1), random_matrix(500, 900, 9, 2)},
        {random_matrix(400, 300, 30, 3), random_matrix(300, 100, 20, 4)},
        {random_matrix(50, 40, 3, 5), random_matrix(40, 8'000'000, 3, 6)},
        {random_matrix(700, 700, 1, 7), random_matrix(700, 1, 1, 8)}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", m.rows, m.cols, n.cols));
    EXPECT_EQ(is_one_pass<TypeParam>(TypeParam::put_csr(m), TypeParam::put_csr(n)), device);
  }
}

TYPED_TEST(SpGEMMSmallFew, RowsWithoutEntries) {
  const bool device = TypeParam::memory_space == space::device;
  // More of them than a tile has rows, at the beginning, between and at the end.
  triplets m{"gaps", 9'000, 9'000, {}, {}, {}};
  random_source random(5);
  for (const std::int64_t row : {3'000, 3'001, 5'999, 6'000})
    for (std::int64_t k = 0; k < 20; ++k) m.add(row, k * 300, random.value());
  const auto a = TypeParam::put_csr(m);
  EXPECT_EQ(is_one_pass<TypeParam>(a, a), device);
  const auto none = TypeParam::put_csr(triplets{"none", 9'000, 9'000, {}, {}, {}});
  EXPECT_EQ(is_one_pass<TypeParam>(a, none), device);
  EXPECT_EQ(is_one_pass<TypeParam>(none, a), device);
}

TYPED_TEST(SpGEMMSmallFew, GiveUp) {
  // A row of 1533 products is the longest that tiles take.
  for (const auto& [products, taken] : {std::pair{1'533, true}, {1'534, false}}) {
    auto m = random_matrix(300, 300, 4, 1);
    triplets n{"long", 301, 4'000, {}, {}, {}};
    random_source random(2);
    for (std::int64_t row = 0; row < 300; ++row) n.add(row, 7 * row, random.value());
    for (std::int64_t k = 0; k < products; ++k) n.add(300, 2 * k, random.value());
    m.cols = 301;
    m.add(300, 300, 2);
    m.rows = 301;
    EXPECT_EQ(is_one_pass<TypeParam>(TypeParam::put_csr(m), TypeParam::put_csr(n)),
              taken && TypeParam::memory_space == space::device);
  }
  // More entries of A than the pass may have products, though B has hardly any.
  const spgemm_thresholds few = up_to(1);
  const auto b = TypeParam::put_csr(random_matrix(500, 500, 1, 3));
  for (const auto& [rows, taken] : {std::pair{300, true}, {1'000, false}}) {
    const auto a = TypeParam::put_csr(random_matrix(rows, 500, 2, 4));
    spgemm_report report;
    (void)multiply(TypeParam::context(), a, b, {.thresholds = &few, .report = &report});
    EXPECT_EQ(report.one_pass_rows > 0, taken && TypeParam::memory_space == space::device);
  }
  // More products, and more entries, than sizes let expect.
  for (const std::int64_t rows : {1'000, 3'000}) {
    SCOPED_TRACE(rows);
    triplets m{"hub", rows, 1'000, {}, {}, {}}, n{"hub", 1'000, 2'000, {}, {}, {}};
    random_source random(3);
    for (std::int64_t row = 0; row < rows; ++row) m.add(row, 17, random.value());
    for (std::int64_t k = 0; k < 100; ++k) n.add(17, 3 * k, random.value());
    EXPECT_FALSE(is_one_pass<TypeParam>(TypeParam::put_csr(m), TypeParam::put_csr(n)));
  }
}

TYPED_TEST(SpGEMMSmallFew, PatternsAndLimits) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(random_matrix(400, 400, 8, 3));
  const spgemm_thresholds one = up_to(6000);
  const auto pattern = copy_to(host(), multiply_pattern(ctx, a, a, {.thresholds = &one}));
  const auto c = copy_to(host(), multiply(ctx, a, a, {.thresholds = &one}));
  ASSERT_EQ(pattern.size(), c.size());
  for (std::int64_t k = 0; k < c.size(); ++k) {
    EXPECT_EQ(pattern.colind()[k], c.colind()[k]);
    EXPECT_EQ(pattern.values()[k], 1);
  }
  const auto wide = copy_to(host(), multiply_wide(ctx, a, a, {.thresholds = &one}));
  ASSERT_EQ(wide.size(), c.size());
  for (std::int64_t row = 0; row <= 400; ++row)
    EXPECT_EQ(std::int64_t{wide.rowptr()[row]}, std::int64_t{c.rowptr()[row]});
}

} // namespace
} // namespace lacuna::test
