// hyb: the rule and the layout by hand, and what check() finds.
#include <gtest/gtest.h>

#include <lacuna/gen/generate.hpp>
#include <lacuna/lacuna.hpp>
#include <lacuna/op/hyb.hpp>

namespace lacuna::test {
namespace {

const host_context& ctx() { return default_context<space::host>(); }

TEST(HybWidth, AThirdOfTheRows) {
  using counts = std::vector<std::int64_t>;
  EXPECT_EQ(choose_hyb_width(15'000, counts{0, 0, 0, 15'000}), 3);
  EXPECT_EQ(choose_hyb_width(15'000, counts{0, 5'000, 5'000, 0, 5'000}), 4);
  EXPECT_EQ(choose_hyb_width(15'000, counts{0, 5'000, 5'001, 0, 4'999}), 2);
  EXPECT_EQ(choose_hyb_width(15'000, counts{10'001, 0, 4'999}), 0);
}

TEST(HybWidth, AtLeast4096Rows) {
  using counts = std::vector<std::int64_t>;
  EXPECT_EQ(choose_hyb_width(4096, counts{0, 0, 4096}), 2);
  EXPECT_EQ(choose_hyb_width(4095, counts{0, 0, 4095}), 0);
  EXPECT_EQ(choose_hyb_width(8000, counts{0, 3904, 4096}), 2);
  EXPECT_EQ(choose_hyb_width(8000, counts{0, 3905, 4095}), 1);
  EXPECT_EQ(choose_hyb_width(0, {}), 0);
}

TEST(HybWidth, OfAMatrix) {
  const auto stencil = to_hyb(ctx(), gen::generate<double>(ctx(), "poisson2d:n=128"));
  EXPECT_EQ(stencil.width, 5);
  EXPECT_EQ(stencil.rest.size(), 0);
  const auto arrow = gen::generate<double>(ctx(), "arrow:n=5000"); // a row of 5000, others of 2
  EXPECT_EQ(to_hyb(ctx(), arrow).width, 2);
  EXPECT_EQ(to_hyb(ctx(), arrow).rest.size(), 4998);
  EXPECT_EQ(to_hyb(ctx(), arrow, {4}).width, 4);
  // 14 998 entries: more than 8 places a row would be more than 3 an entry.
  EXPECT_EQ(to_hyb(ctx(), arrow, {5000}).width, 3 * arrow.size() / 5000);
  EXPECT_THROW((void)to_hyb(ctx(), arrow, {-1}), bad_input);
}

TEST(HybLayout, ColumnByColumn) {
  const auto a = gen::generate<double>(ctx(), "arrow:n=40");
  const auto h = to_hyb(ctx(), a, {2});
  EXPECT_EQ(h.stride, 64);
  ASSERT_EQ(h.columns.size(), 128);
  EXPECT_EQ(h.columns[0], 0); // row 0 is full
  EXPECT_EQ(h.columns[64], 1);
  EXPECT_EQ(h.columns[7], 0);
  EXPECT_EQ(h.columns[64 + 7], 7);
  EXPECT_EQ(h.columns[40], -1); // no row
  EXPECT_EQ(h.values[40], 0);
  EXPECT_EQ(h.rest.rowptr()[1], 38);
  EXPECT_EQ(h.rest.rowptr()[40], 38);
  EXPECT_EQ(h.rest.colind()[0], 2);
  EXPECT_EQ(h.bytes(), 128 * 12 + 41 * 4 + 38 * 12);
}

TEST(HybLayout, OneDirectionOnly) {
  const auto h = to_hyb(ctx(), gen::generate<double>(ctx(), "tridiagonal:n=10"), {3});
  const std::vector<double> x(10);
  std::vector<double> y(10), shorter(9);
  EXPECT_THROW(multiply(ctx(), transposed(h), x, y), unsupported);
  EXPECT_THROW(multiply(ctx(), h, shorter, y), size_mismatch);
  EXPECT_THROW(multiply(ctx(), h, y, y), bad_input);
}

/// Every way in which arrays can contradict each other is found, by name.
TEST(HybCheck, FindsWhatIsBroken) {
  const auto a = gen::generate<double>(ctx(), "arrow:n=40");
  const auto broken = [&](const char* what, auto damage) {
    auto h = to_hyb(ctx(), a, {2});
    check(ctx(), h);
    damage(h);
    try {
      check(ctx(), h);
      ADD_FAILURE() << "not found: " << what;
    } catch (const bad_input& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  broken("width is -1", [](auto& h) { h.width = -1; });
  broken("stride is 40", [](auto& h) { h.stride = 40; });
  broken("columns instead of", [](auto& h) { h.columns = array<std::int32_t>(ctx(), 64); });
  broken("values instead of", [](auto& h) { h.values = array<double>(ctx(), 64); });
  broken("the rest is", [](auto& h) { h.rest = csr<double>(ctx(), {40, 39}, 0); });
  broken("csr", [](auto& h) { h.rest.colind()[0] = 40; });
  broken("in row 41 of 40", [](auto& h) { h.columns[41] = 3; });
  broken("has column 40", [](auto& h) { h.columns[5] = 40; });
  broken("has column -2", [](auto& h) { h.columns[5] = -2; });
  broken("after 0 entries", [](auto& h) {
    h.columns[5] = -1;
    h.values[5] = 0;
  });
  broken("its value is 1", [](auto& h) { h.values[64 + 50] = 1; });
  broken("more in the rest", [](auto& h) {
    h.columns[64] = -1;
    h.values[64] = 0;
  });
  broken("nnz", [](auto& h) { h.nnz += 1; });
}

} // namespace
} // namespace lacuna::test
