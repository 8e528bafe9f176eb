// The order of work: contexts, calls without one, copies to the host. Long work is queued first,
// so that what does not wait for it finds the old values.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

class cuda_Streams : public ::testing::Test {
protected:
  void SetUp() override {
    if (!cuda_engine::present()) GTEST_SKIP() << "no CUDA device";
  }
  static constexpr std::int64_t n = 1 << 22;

  /// Leaves `last` in x after some milliseconds of work on the context.
  static void fill_slowly(const device_context& ctx, double last, array<double, space::device>& x) {
    for (int k = 0; k < 200; ++k) fill(ctx, -1.0, x);
    fill(ctx, last, x);
  }
};

TEST_F(cuda_Streams, CallsWithoutAContextAreInOrder) {
  const device_context ctx;
  const host_context host;
  const auto identity = gen::generate<double>(host, "diagonal:n=" + std::to_string(n));
  for (int round = 0; round < 5; ++round) {
    const auto a = copy_to(ctx, identity);
    array<double, space::device> x(ctx, n), y(ctx, n), z(ctx, n);
    fill_slowly(ctx, round + 1.0, x);
    multiply(a, x, y);     // on the default stream: after the fills
    axpby(1.0, x, 0.0, z); // likewise
    fill(ctx, 7.0, x);     // on the context again: after both
    const auto got = copy_to(host, y);
    std::vector<double> ones(static_cast<std::size_t>(n), round + 1.0), want(ones.size());
    multiply(identity, ones, want);
    EXPECT_TRUE(same(std::vector<double>(got.begin(), got.end()), want)) << round;
    EXPECT_EQ(copy_to(host, z)[n - 1], round + 1.0);
    EXPECT_EQ(copy_to(host, x)[0], 7.0);
  }
}

TEST_F(cuda_Streams, CopiesToTheHostWaitForEveryStream) {
  const device_context first, second;
  const host_context host;
  array<double, space::device> x(first, n), y(second, n);
  fill_slowly(first, 2.0, x);
  fill_slowly(second, 3.0, y);
  EXPECT_EQ(copy_to(host, x)[n - 1], 2.0);
  EXPECT_EQ(copy_to(host, y)[n - 1], 3.0);
}

TEST_F(cuda_Streams, OneStreamWaitsForAnother) {
  const device_context first, second;
  const host_context host;
  array<double, space::device> x(first, n), y(second, n);
  for (int round = 0; round < 5; ++round) {
    fill_slowly(first, round, x);
    order_streams(first.device(), first.stream(), second.stream());
    axpby(second, 1.0, x, 0.0, y);
    order_streams(second.device(), second.stream(), first.stream());
    fill(first, -2.0, x);
    EXPECT_EQ(copy_to(host, y)[n - 1], round);
  }
  order_streams(first.device(), nullptr, first.stream());
  order_streams(first.device(), first.stream(), first.stream());
  EXPECT_EQ(device_of(x.data()), first.device());
  EXPECT_EQ(device_of(&host), -1);
}

TEST_F(cuda_Streams, AMovedPlanInTheBackgroundWaitsForTheOldOne) {
  const device_context ctx;
  const host_context host;
  const auto a = copy_to(ctx, gen::poisson2d<double>(host, 300));
  const auto b = copy_to(ctx, gen::poisson2d<double>(host, 200));
  auto op = plan_async(ctx, a);
  array<double, space::device> x(ctx, a.shape().col), y(ctx, a.shape().row);
  fill(ctx, 1.0, x);
  op.multiply(x, y);
  op = plan_async(ctx, b); // the first one's preparation is waited for before it goes
  EXPECT_EQ(op.shape(), (index<std::int64_t>{40000, 40000}));
}

TEST(Streams, DevicesAreRefusedWithoutOne) {
  if (device_count() > 0) GTEST_SKIP() << "there is a device";
  // This compiles in every build; what it throws says what is missing.
  if (built_with_cuda())
    EXPECT_THROW(device_context(), device_error);
  else
    EXPECT_THROW(device_context(), unsupported);
}

} // namespace
} // namespace lacuna::test
