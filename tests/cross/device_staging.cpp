// Copies through pinned pieces: every length around a piece's, there and back.
#include "support/engine.hpp"
#include <lacuna/op/staging.hpp>

namespace lacuna::test {
namespace {

TEST(DeviceStaging, BringsVectorsThereAndBack) {
  if (device_count() == 0) GTEST_SKIP() << "no device";
  const device_context ctx;
  staging through(ctx);
  constexpr std::int64_t piece = (1 << 20) / sizeof(double);
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{1}, piece - 1, piece, piece + 1, 4 * piece, 9 * piece + 7}) {
    SCOPED_TRACE(n);
    array<double, space::device> there(ctx, n), also(ctx, n);
    std::vector<double> x = random_vector<double>(n, 1), back(x.size(), 0);
    const std::vector<double> kept = x, other = random_vector<double>(n, 2);
    through.send(x, there);
    std::fill(x.begin(), x.end(), -1); // it may change now
    through.send(other, also);
    through.fetch(there, back);
    EXPECT_EQ(back, kept);
    through.fetch(also, back);
    EXPECT_EQ(back, other);
  }
  array<double, space::device> there(ctx, 3);
  std::vector<double> four(4);
  EXPECT_THROW(through.send(four, there), size_mismatch);
  EXPECT_THROW(through.fetch(there, four), size_mismatch);
}

/// A pool that keeps no freed memory gives it back at each wait, and nothing that is in use.
TEST(DeviceStaging, PoolsThatKeepNothingKeepWhatIsInUse) {
  if (device_count() == 0) GTEST_SKIP() << "no device";
  const device_context ctx({.kept_bytes = 0});
  const std::vector<double> x = random_vector<double>(100'000, 1);
  const auto there = copy_to(ctx, x);
  for (int round = 0; round < 3; ++round) {
    { const array<double, space::device> freed(ctx, 1 << 20); }
    ctx.synchronize();
    EXPECT_EQ(host_vector(there), x);
  }
}

} // namespace
} // namespace lacuna::test
