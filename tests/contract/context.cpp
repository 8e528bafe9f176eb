// Contexts: threads, devices, defaults, and what a build or machine without CUDA says.
#include "support/engine.hpp"

namespace lacuna::test {
namespace {

TEST(HostContext, Threads) {
  EXPECT_EQ(host_context(host_options{.threads = 5}).threads(), 5);
  EXPECT_GE(host_context().threads(), 1);
  EXPECT_THROW(host_context(host_options{.threads = -1}), bad_input);
  EXPECT_EQ(default_context<space::host>().threads(), host_context().threads());
  EXPECT_EQ(&default_context<space::host>(), &default_context<space::host>());
}

TEST(HostContext, CopiesAreTheSame) {
  const host_context a(host_options{.threads = 2});
  const host_context b = a; // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(b.threads(), 2);
  b.synchronize();
}

TEST(Build, AgreesWithItself) {
  EXPECT_EQ(built_with_cuda(), has_cuda);
  EXPECT_GE(device_count(), 0);
  EXPECT_STREQ(to_string(space::host), "host");
  EXPECT_STREQ(to_string(space::device), "device");
  EXPECT_EQ(std::string(LACUNA_VERSION), std::to_string(LACUNA_VERSION_MAJOR) + "." +
                                             std::to_string(LACUNA_VERSION_MINOR) + "." +
                                             std::to_string(LACUNA_VERSION_PATCH));
}

TEST(DeviceContext, WithoutDeviceSaysWhy) {
  if (!has_cuda) {
    EXPECT_EQ(device_count(), 0);
    EXPECT_THROW(device_context(), unsupported);
    EXPECT_THROW((void)default_context<space::device>(), unsupported);
    EXPECT_EQ(memory(space::device).in_use, 0);
  } else if (device_count() == 0) {
    EXPECT_THROW(device_context(), device_error);
    EXPECT_THROW((void)default_context<space::device>(), device_error);
  }
  // With a device: the tests below.
}

TEST(DeviceContext, RefusesDevicesThatAreNotThere) {
  for (const int device : {-1, device_count(), 1000}) {
    SCOPED_TRACE(device);
    const device_options options{.device = device};
    if (has_cuda)
      EXPECT_THROW(device_context ctx(options), device_error);
    else
      EXPECT_THROW(device_context ctx(options), unsupported);
  }
}

class cuda_DeviceContext : public ::testing::Test { // NOLINT(readability-identifier-naming)
protected:
  void SetUp() override {
    if (!cuda_engine::present()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(cuda_DeviceContext, KnowsItsDevice) {
  const device_context ctx;
  EXPECT_EQ(ctx.device(), 0);
  EXPECT_NE(ctx.stream(), nullptr);
  const auto& p = ctx.properties();
  EXPECT_FALSE(p.name.empty());
  EXPECT_GE(p.compute_capability, 70);
  EXPECT_GT(p.multiprocessors, 0);
  EXPECT_GT(p.memory_bytes, std::size_t{1} << 30U);
  EXPECT_GT(p.l2_bytes, 0U);
  EXPECT_GE(p.shared_bytes_per_block, 48U << 10U);
  EXPECT_NO_THROW(ctx.synchronize());
  EXPECT_NO_THROW(ctx.trim());
}

TEST_F(cuda_DeviceContext, StreamsAreApartAndShared) {
  const device_context a, b, copy = a;
  EXPECT_NE(a.stream(), b.stream());
  EXPECT_EQ(a.stream(), copy.stream());
  const device_context borrowed(device_options{.stream = a.stream()});
  EXPECT_EQ(borrowed.stream(), a.stream());
}

TEST_F(cuda_DeviceContext, ArraysKeepItAlive) {
  const auto before = memory(space::device).in_use;
  {
    array<double, space::device> a;
    {
      const device_context ctx;
      a = copy_to(ctx, std::vector<double>{1, 2, 3});
    }
    EXPECT_EQ(host_vector(a), (std::vector<double>{1, 2, 3}));
  }
  EXPECT_EQ(memory(space::device).in_use, before);
}

TEST_F(cuda_DeviceContext, CrossesStreams) {
  // What one stream wrote, another context's copy to the host sees.
  if constexpr (has_cuda) {
    const device_context ctx;
    array<float, space::device> a(ctx, 1'000'000);
    fill(ctx, 3, a);
    const auto host = host_vector(a);
    EXPECT_EQ(std::count(host.begin(), host.end(), 3.0F), 1'000'000);
  }
}

} // namespace
} // namespace lacuna::test
