// The choice of the device's SpMV kernel: a pure function, tested without a device. Loose about
// lanes and tiles, strict about what must hold for any matrix.
#include <bit>
#include <cmath>

#include "support/battery.hpp"
#include "support/engine.hpp"

namespace lacuna::test {
namespace {

struct recorded {
  const char* name;
  std::int64_t rows;
  row_statistics lengths;
};

// Statistics of well-known kinds of matrices.
const recorded even[] = {
    {"5-point stencil, 1000 x 1000", 1'000'000, {4.996, 0.063, 5, 0}},
    {"27-point stencil, 200^3", 8'000'000, {26.73, 1.49, 27, 0}},
    {"diagonal", 100'000, {1, 0, 1, 0}},
    {"structural mechanics", 500'000, {80, 12, 144, 0}},
    {"rows of 1000", 10'000, {1000, 0, 1000, 0}},
};
const recorded uneven[] = {
    {"web graph", 1'000'000, {10, 300, 200'000, 100'000}},
    {"one dense row", 100'000, {6, 316, 100'000, 0}},
    {"circuit", 5'000'000, {12, 1500, 2'000'000, 0}},
};

bool sensible(spmv_kernel k) {
  if (k.method != spmv_method::rows) return true;
  return k.lanes >= 1 && k.lanes <= 32 && std::has_single_bit(static_cast<unsigned>(k.lanes));
}

TEST(ChooseSpmvKernel, IsPureAndSensible) {
  for (const std::size_t bytes : {sizeof(float), sizeof(double)}) {
    for (const auto& m : even) {
      SCOPED_TRACE(m.name);
      const auto k = choose_spmv_kernel(m.rows, m.lengths, bytes);
      EXPECT_TRUE(sensible(k)) << k.lanes;
      EXPECT_EQ(k, choose_spmv_kernel(m.rows, m.lengths, bytes));
    }
    for (const auto& m : uneven) {
      SCOPED_TRACE(m.name);
      EXPECT_EQ(choose_spmv_kernel(m.rows, m.lengths, bytes).method, spmv_method::split_tiles);
    }
  }
}

TEST(ChooseSpmvKernel, LongerRowsGetNoFewerLanes) {
  int lanes = 1;
  for (std::int64_t length = 1; length <= 4096; length *= 2) {
    const row_statistics lengths{static_cast<double>(length), 0, length, 0};
    const auto k = choose_spmv_kernel(100'000, lengths, 8);
    EXPECT_TRUE(sensible(k));
    if (k.method != spmv_method::rows) continue;
    EXPECT_GE(k.lanes, lanes) << length;
    lanes = k.lanes;
  }
}

TEST(ChooseSpmvKernel, ServesAnything) {
  random_source random(1);
  for (int k = 0; k < 10'000; ++k) {
    const auto rows = random.below(1 + random.below(1 << 20));
    const auto nnz = rows == 0 ? 0 : random.below(1 + rows * random.below(300));
    const double mean = rows == 0 ? 0 : static_cast<double>(nnz) / static_cast<double>(rows);
    const auto most = static_cast<std::int64_t>(std::ceil(mean));
    const std::int64_t longest = most + (nnz > most ? random.below(nnz - most + 1) : 0);
    // One row of that length makes the deviation at least this.
    const double least = (static_cast<double>(longest) - mean) /
                         std::sqrt(static_cast<double>(std::max<std::int64_t>(rows, 1)));
    const row_statistics lengths{mean, least * (1 + random.uniform()), longest,
                                 rows == 0 ? 0 : random.below(rows)};
    const auto kernel = choose_spmv_kernel(rows, lengths, k % 2 == 0 ? 4 : 8);
    ASSERT_TRUE(sensible(kernel)) << kernel.lanes;
    if (static_cast<double>(longest) > 100 * mean && longest > 10'000) {
      ASSERT_EQ(kernel.method, spmv_method::split_tiles)
          << rows << " rows, " << nnz << " entries, longest " << longest;
    }
  }
}

TEST(ChooseSpmvKernel, EmptyMatrices) {
  EXPECT_TRUE(sensible(choose_spmv_kernel(0, {}, 8)));
  EXPECT_TRUE(sensible(choose_spmv_kernel(1000, {0, 0, 0, 1000}, 4)));
}

TEST(AdviseCompaction, PaysMoreTheMoreIsInTheWay) {
  for (const spmv_machine& machine : {hopper_machine(132), x86_machine("AVX2", 2)}) {
    SCOPED_TRACE(machine.name);
    const auto advise = [&](std::int64_t used, int segments, bool compact, double multiplies) {
      return advise_compaction(machine, {1 << 20, 10 << 20, used, segments, compact}, {},
                               multiplies);
    };
    const auto nothing = advise(10 << 20, 1, true, 1e9);
    EXPECT_FALSE(nothing.pays);
    EXPECT_EQ(nothing.slowdown, 1);
    double slowdown = 1, repaid = nothing.repaid_after;
    for (int segments = 1; segments <= 4; ++segments) {
      const auto advice = advise((10 << 20) * std::int64_t{segments}, segments, false, 100);
      EXPECT_GT(advice.slowdown, slowdown);
      EXPECT_LT(advice.slowdown, 10);
      EXPECT_LE(advice.repaid_after, repaid);
      EXPECT_EQ(advice.pays, 100 >= advice.repaid_after);
      EXPECT_NE(advice.reason.find("times that of the compact matrix"), std::string::npos);
      slowdown = advice.slowdown;
      repaid = advice.repaid_after;
    }
    EXPECT_FALSE(advise(20 << 20, 2, false, 1).pays);
    EXPECT_TRUE(advise(20 << 20, 2, false, 1e6).pays);
    EXPECT_THROW((void)advise(20 << 20, 2, false, -1), bad_input);
  }
}
TEST(AdviseCompaction, ServesAnything) {
  const spmv_machine machine = hopper_machine(132);
  for (const std::int64_t rows : {0, 1, 1000})
    for (const std::int64_t entries : {0, 1, 100'000})
      for (const std::int64_t free : {0, 7, 1'000'000}) {
        const auto advice =
            advise_compaction(machine, {rows, entries, entries + free, 3, false}, {}, 10);
        EXPECT_GE(advice.slowdown, 1);
        EXPECT_FALSE(advice.reason.empty());
      }
}

} // namespace
} // namespace lacuna::test
