// ell_csr: the layout of small examples, its bytes, and what check() finds.
#include <gtest/gtest.h>

#include <lacuna/gen/generate.hpp>
#include <lacuna/lacuna.hpp>

#include "support/battery.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t none = ell_csr_options::none;
const ell_csr_options in_order{none, none, 2048, 1, true};

const host_context& ctx() { return default_context<space::host>(); }

TEST(EllCsrLayout, TridiagonalIsThreeDiagonals) {
  const auto a = gen::generate<double>(ctx(), "tridiagonal:n=96");
  const auto e = to_ell_csr(ctx(), a, in_order);
  ASSERT_EQ(e.view().slice_count(), 3);
  EXPECT_EQ(e.even.width, 3);
  EXPECT_EQ(e.even.kind, packing::diagonal);
  EXPECT_TRUE(e.columns.empty());
  EXPECT_TRUE(e.rows.empty());
  ASSERT_EQ(e.steps.size(), 9);
  EXPECT_EQ(e.steps[0].base, -1); // the first row has no entry there
  EXPECT_EQ(e.steps[0].mask, 0xfffffffeu);
  EXPECT_EQ(e.steps[1].base, 0);
  EXPECT_EQ(e.steps[1].mask, 0xffffffffu);
  EXPECT_EQ(e.steps[8].base, 65);
  EXPECT_EQ(e.steps[8].mask, 0x7fffffffu);
  EXPECT_EQ(e.values[0], 0);
}

TEST(EllCsrLayout, BytesAnEntry) {
  const auto a = gen::generate<double>(ctx(), "poisson2d:n=128");
  const auto each = [&](const ell_csr_options& options) {
    return static_cast<double>(to_ell_csr(ctx(), a, options).bytes()) /
           static_cast<double>(a.size());
  };
  EXPECT_LT(each(in_order), 8.6); // 8 bytes per value, a 32nd of a head, the slices
  EXPECT_LT(each({none, none, 2048, 1, false}), 12.7);
  const auto scattered = gen::generate<double>(ctx(), "uniform:rows=20000,per_row=4");
  const auto e = to_ell_csr(ctx(), scattered, in_order);
  EXPECT_EQ(e.even.width, 4);
  EXPECT_EQ(e.even.kind, packing::bits16);
  EXPECT_LT(static_cast<double>(e.bytes()) / static_cast<double>(scattered.size()), 10.8);
}

TEST(EllCsrLayout, LongRowsAreCutIntoPieces) {
  const auto a = gen::generate<double>(ctx(), "arrow:n=1000"); // one row of 1000, the others of 2
  const auto e = to_ell_csr(ctx(), a, {.long_row = 100, .piece = 300});
  ASSERT_EQ(e.pieces.size(), 4); // 256 entries each, the last 232
  for (std::int32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(e.pieces[i].row, 0);
    EXPECT_EQ(e.pieces[i].first, 0);
    EXPECT_EQ(e.pieces[i].count, 4);
    EXPECT_EQ(e.slices[i].row_lanes(), 32);
    EXPECT_EQ(e.slices[i + 1].step - e.slices[i].step, 8);
  }
  EXPECT_EQ(e.rows[0], 1); // row 0 is in no slice
  EXPECT_EQ(e.even.width, 0);
}

TEST(EllCsrLayout, LongerRowsGetMoreLanes) {
  const auto a = gen::generate<double>(ctx(), "dense:n=8,m=40");
  const auto e = to_ell_csr(ctx(), a, {.long_row = none, .lane_entries = 5});
  ASSERT_EQ(e.view().slice_count(), 2); // 8 lanes per row, 4 rows per slice
  EXPECT_EQ(e.slices[0].row_lanes(), 8);
  EXPECT_EQ(e.steps.size(), 10);
  EXPECT_EQ(e.rows[3], 3);
  EXPECT_EQ(e.rows[4], -1);
  EXPECT_EQ(e.rows[slice_lanes], 4);
}

TEST(EllCsrLayout, ThresholdsAreTested) {
  const auto a = gen::generate<double>(ctx(), "tridiagonal:n=10");
  EXPECT_THROW((void)to_ell_csr(ctx(), a, {.long_row = 0}), bad_input);
  EXPECT_THROW((void)to_ell_csr(ctx(), a, {.window = -1}), bad_input);
}

TEST(EllCsrLayout, OneDirectionOnly) {
  const auto e = to_ell_csr(ctx(), gen::generate<double>(ctx(), "tridiagonal:n=10"));
  const std::vector<double> x(10);
  std::vector<double> y(10), shorter(9);
  EXPECT_THROW(multiply(ctx(), transposed(e), x, y), unsupported);
  EXPECT_THROW(multiply(ctx(), e, shorter, y), size_mismatch);
  EXPECT_THROW(multiply(ctx(), e, y, y), bad_input);
}

/// Every way in which arrays can contradict each other is found, by name.
TEST(EllCsrCheck, FindsWhatIsBroken) {
  const auto a = gen::generate<double>(ctx(), "lp:rows=300,cols=3000");
  const auto broken = [&](const char* what, auto damage) {
    auto e = to_ell_csr(ctx(), a, {.long_row = 100, .piece = 64, .window = 64});
    check(ctx(), e);
    damage(e);
    try {
      check(ctx(), e);
      ADD_FAILURE() << "not found: " << what;
    } catch (const bad_input& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  broken("ends before it begins", [](auto& e) { e.slices[1].step = 1 << 20; });
  broken("begin at byte", [](auto& e) { e.slices[2].columns += 32; });
  broken("lanes a row", [](auto& e) { e.slices[0].columns -= 4; });
  broken("steps instead of", [](auto& e) { e.slices[e.slices.size() - 1].step += 1; });
  broken("has row", [](auto& e) { e.rows[0] = 300; });
  broken("in two slices", [](auto& e) { e.rows[0] = e.rows[1]; });
  broken("in no slice", [](auto& e) { e.rows[0] = -1; });
  broken("piece 0", [](auto& e) { e.pieces[0].count = 0; });
  broken("do not agree", [](auto& e) { e.pieces[1].row += 1; });
  broken("column", [](auto& e) { e.steps[e.steps.size() - 1].base = 499999; });
  broken("nnz", [](auto& e) { e.nnz += 1; });
  broken("said to be even", [](auto& e) { e.even.width = 3; });
}

} // namespace
} // namespace lacuna::test
