// How SpGEMM on a device sizes its work: pure functions.
#include <gtest/gtest.h>

#include <vector>

#include "plan/spgemm.hpp"

namespace lacuna::test {
namespace {

constexpr spgemm_thresholds built_in;
constexpr std::int64_t broad = std::int64_t{1} << 40;

TEST(SpgemmClasses, ShortRowsAreMerged) {
  EXPECT_EQ(spgemm::count_class(built_in, {1, 1, broad}), 0);
  EXPECT_EQ(spgemm::count_class(built_in, {5, 25, 4000}), 0);
  EXPECT_EQ(spgemm::fill_class(built_in, {10, 100, 4000}, 60), 0);
  EXPECT_GT(spgemm::count_class(built_in, {11, 25, broad}),
            0); // a thread has no registers for so many
  EXPECT_GT(spgemm::count_class(built_in, {2, 101, broad}), 0);
}

TEST(SpgemmClasses, TablesHoldWhatTheyAreFor) {
  for (std::int64_t products = 1; products <= built_in.light_products; products += 7) {
    const int c = spgemm::count_class(built_in, {100, products, broad});
    if (c == spgemm::count_classes) {
      EXPECT_GT(spgemm::slots_for(products), spgemm::slots_of(c - 1));
      continue;
    }
    EXPECT_LE(4 * products, 3 * spgemm::slots_of(c)) << products;
    if (c > 1) {
      EXPECT_GT(spgemm::slots_for(products), spgemm::slots_of(c - 1)) << products;
    }
  }
}

TEST(SpgemmClasses, NarrowRowsNeedABitOrASlotAColumn) {
  EXPECT_EQ(spgemm::count_class(built_in, {100, 5000, 1024}), 1);     // 32 words
  EXPECT_EQ(spgemm::fill_class(built_in, {100, 5000, 64}, 60), 2);    // 64 slots, no hashing
  EXPECT_EQ(spgemm::fill_class(built_in, {100, 5000, broad}, 60), 3); // 80 slots are needed
  EXPECT_EQ(spgemm::fill_class(built_in, {100, 20'000, 64}, 60),
            spgemm::fill_classes); // heavy all the same
}

TEST(SpgemmClasses, OneEntryOfANeedsNoCounting) {
  EXPECT_EQ(spgemm::count_class(built_in, {1, 50, broad}), 0);
  EXPECT_EQ(spgemm::count_class(built_in, {1, 1'000'000, broad}), 1);
  EXPECT_EQ(spgemm::count_class(built_in, {1, 0xffffffff, broad}), spgemm::count_classes);
  EXPECT_EQ(spgemm::fill_class(built_in, {1, 1'000'000, broad}, 1'000'000), spgemm::fill_classes);
}

TEST(SpgemmClasses, FollowTheThresholds) {
  spgemm_thresholds t;
  t.merged_products = 20;
  EXPECT_GT(spgemm::count_class(t, {5, 25, 4000}), 0);
  t.light_products = 4000;
  EXPECT_EQ(spgemm::count_class(t, {100, 5000, 1024}), spgemm::count_classes);
  t = {};
  t.spans = false; // hash tables alone
  EXPECT_EQ(spgemm::count_class(t, {100, 3000, 1024}), 8);
  EXPECT_EQ(spgemm::fill_class(t, {100, 5000, 64}, 60), 3);
}

TEST(SpgemmClasses, ThresholdsFitTheMatrices) {
  // Large: as they are.
  EXPECT_EQ(spgemm::fit_to(built_in, {2'000'000, 54'000'000, 2'000'000, 54'000'000}, 132),
            built_in);
  // Small: nobody waits for one thread, or one warp.
  const spgemm_thresholds small = spgemm::fit_to(built_in, {11'000, 150'000, 11'000, 150'000}, 132);
  EXPECT_EQ(small.merged_products, built_in.merged_products_of_few);
  EXPECT_EQ(small.light_products, 2048);
  const spgemm_thresholds some =
      spgemm::fit_to(built_in, {500'000, 5'000'000, 500'000, 5'000'000}, 132);
  EXPECT_EQ(some.light_products, 11837); // 5e7 products among 4224 warps
  EXPECT_EQ(some.merged_products, built_in.merged_products);
  // What a user lowered stays low, and a thread has registers for ten rows.
  spgemm_thresholds low;
  low.light_products = 1000;
  low.merged_entries = 100;
  EXPECT_EQ(spgemm::fit_to(low, {0, 0, 0, 0}, 132).light_products, 1000);
  EXPECT_EQ(spgemm::fit_to(low, {0, 0, 0, 0}, 132).merged_entries, 10);
}

TEST(SpgemmClasses, FewRowsGoTogether) {
  const auto join = [](std::vector<std::int64_t> rows) {
    rows.resize(spgemm::count_classes + 1);
    return spgemm::join_classes(
        built_in, [&](int c) { return rows[static_cast<std::size_t>(c)]; }, spgemm::count_classes);
  };
  // Few in all: two launches, each with the largest table that is needed. Merged rows are not among
  // them: a table of 32 slots would not hold their 100 entries.
  const auto small = join({1000, 0, 500, 600, 0, 700});
  EXPECT_EQ(small.of[0], 0);
  for (int c = 1; c <= 5; ++c) EXPECT_EQ(small.of[c], c <= 3 ? 3 : 5);
  const auto smaller = join({1000, 0, 500});
  for (int c = 1; c <= 2; ++c) EXPECT_EQ(smaller.of[c], 2);
  // Many: each its own; the few rows of high classes are heavy.
  const auto large = join({900'000, 5000, 5000, 5000, 5000, 5000, 100, 20, 3});
  EXPECT_EQ(large.of[0], 0);
  EXPECT_EQ(large.of[5], 5);
  EXPECT_EQ(large.of[6], spgemm::count_classes);
  EXPECT_EQ(large.of[8], spgemm::count_classes);
}

TEST(SpgemmClasses, HeavyRowsMayBeBroad) {
  constexpr std::int64_t million = 1'000'000;
  const auto is_broad = [](std::int64_t products, std::int64_t span) {
    return spgemm::is_broad({5000, products, span}, spgemm::broad_span);
  };
  EXPECT_TRUE(is_broad(20'000, 1000 * million));
  EXPECT_TRUE(is_broad(20'000, million * million));
  EXPECT_FALSE(is_broad(20'000, million)); // a window or two
  EXPECT_FALSE(is_broad(20'000, spgemm::broad_span));
  EXPECT_TRUE(is_broad(20'000, spgemm::broad_span + 1));
  EXPECT_FALSE(is_broad(20 * million, 1000 * million)); // ranges have their share
  EXPECT_TRUE(is_broad(10 * million, 1000 * million));
}

TEST(SpgemmClasses, ManyRowsAreBroadSoonerWhenFilled) {
  EXPECT_EQ(spgemm::broad_span_to_fill(10, 1'000'000), spgemm::broad_span);
  EXPECT_EQ(spgemm::broad_span_to_fill(166, 1'000'000), spgemm::broad_span_of_many);
  EXPECT_EQ(spgemm::broad_span_to_fill(166, 0), spgemm::broad_span);
  EXPECT_TRUE(spgemm::is_broad({5000, 10'000, 1'000'000}, spgemm::broad_span_of_many));
  EXPECT_FALSE(spgemm::is_broad({5000, 20'000, 1'000'000}, spgemm::broad_span_of_many));
}

TEST(SpgemmClasses, RowsMuchHeavierThanOthersAreCutFiner) {
  // Rows alike: ranges as long as a block's memory allows, if they keep all blocks busy.
  EXPECT_EQ(spgemm::choose_range_sizes({10'000, 2000, 8'000'000'000, 900'000}, 1000).coarse, 2048);
  EXPECT_EQ(spgemm::choose_range_sizes({10'000, 2000, 8'000'000'000, 900'000}, 1000).fine, 2048);
  EXPECT_EQ(spgemm::choose_range_sizes({10'000, 100'000, 8'000'000'000, 900'000}, 1000).coarse,
            8192);
  // Few rows are cut for more blocks, and the longest finer still.
  const auto few = spgemm::choose_range_sizes({315, 507, 2'800'000, 53'000}, 1056);
  EXPECT_EQ(few.coarse, 128);
  EXPECT_EQ(few.fine, spgemm::least_range_columns);
  EXPECT_EQ(few.many, 8192);
  const auto giant = spgemm::choose_range_sizes({4284, 4284, 117'000'000, 1'000'000}, 1056);
  EXPECT_EQ(giant.coarse, 8192);
  EXPECT_EQ(giant.fine, 256);
  EXPECT_EQ(spgemm::choose_range_sizes({1, 1, 0, 0}, 1056).coarse, spgemm::least_range_columns);
}

TEST(SpgemmClasses, ExpandedRowsFitTheirClass) {
  EXPECT_EQ(spgemm::expand_class(0), 0);
  EXPECT_EQ(spgemm::expand_class(1), 1);
  EXPECT_EQ(spgemm::most_expanded(1), 32);
  for (int c = 1; c < spgemm::expand_classes; ++c) {
    EXPECT_EQ(spgemm::expand_class(spgemm::most_expanded(c)), c);
    EXPECT_EQ(spgemm::expand_class(spgemm::most_expanded(c) + 1), c + 1);
  }
  EXPECT_EQ(spgemm::expand_class(2048), spgemm::expand_classes - 1);
  EXPECT_EQ(spgemm::expand_class(2049), spgemm::expand_classes);
  EXPECT_EQ(spgemm::expand_class(std::int64_t{1} << 40), spgemm::expand_classes);
}

TEST(SpgemmGroups, AreAsLargeAsRowsOfB) {
  EXPECT_EQ(spgemm::choose_group(3, 3, 10, 4), 4);
  EXPECT_EQ(spgemm::choose_group(5, 5, 5, 4), 8);
  EXPECT_EQ(spgemm::choose_group(27, 27, 27, 8), 32);
  EXPECT_EQ(spgemm::choose_group(2, 1000, 4, 4), 32); // one long row among few
  EXPECT_EQ(spgemm::choose_group(0, 0, 0, 8), 8);
}

} // namespace
} // namespace lacuna::test
