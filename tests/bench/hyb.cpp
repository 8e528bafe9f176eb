// HYB, which the benchmarks compare with: its rule by hand, and its products on every engine.
#include "bench/hyb/hyb.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

TEST(HybWidth, IsWhatAThirdOfTheRowsFill) {
  // 12000 rows: 4000 of 3 entries are a third, but fewer than 4096.
  EXPECT_EQ(bench::choose_hyb_width(12000, {0, 4000, 4000, 4000}), 2);
  EXPECT_EQ(bench::choose_hyb_width(12288, {0, 4096, 4096, 4096}), 3);
  EXPECT_EQ(bench::choose_hyb_width(100000, {60000, 0, 0, 40000}), 3);
  EXPECT_EQ(bench::choose_hyb_width(100000, {70000, 0, 0, 30000}), 0);
  EXPECT_EQ(bench::choose_hyb_width(10, {0, 0, 10}), 0);
  EXPECT_EQ(bench::choose_hyb_width(0, {0}), 0);
}

template <class C> class Hyb : public engine_test<C> {};
TYPED_TEST_SUITE(Hyb, value_configs, config_name);

TYPED_TEST(Hyb, Multiplies) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = special_vector<T>(m.cols, 1);
    const auto x_put = TypeParam::put(x);
    for (const std::int64_t width : {0, 1, 3, 1000}) {
      const auto h = bench::to_hyb<T, TypeParam::memory_space>(ctx, a.view(), width);
      EXPECT_LE(h.width * m.rows, 3 * m.size());
      auto y = TypeParam::put(all_nan<T>(m.rows));
      bench::multiply_hyb<T, TypeParam::memory_space>(ctx, h, x_put.view(), y.view());
      EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    }
  });
}

} // namespace
} // namespace lacuna::test
