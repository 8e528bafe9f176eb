// What only a device has: each kernel it may choose for y = A x, forced on the whole battery, and
// each chosen for some matrix; and its own memory, which a product may exceed.
#include <memory>
#include <set>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class DeviceSpmv : public engine_test<C> {
protected:
  using inspection = multiply_inspection<typename C::value, typename C::index, typename C::offset,
                                         C::memory_space>;

  static spmv_kernel chosen(const operation_info_t& info) {
    const auto* inspected = dynamic_cast<const inspection*>(info.inspection());
    EXPECT_NE(inspected, nullptr);
    return inspected != nullptr ? inspected->kernel : spmv_kernel{};
  }
  /// An inspection that says: so many lanes per row.
  template <class A> static operation_info_t forced(const A& a, int lanes) {
    auto result = std::make_shared<inspection>();
    result->nnz = a.size();
    result->kernel = {spmv_method::rows, lanes};
    return {std::move(result), {a.shape().row, a.shape().col}};
  }
};
TYPED_TEST_SUITE(DeviceSpmv, device_configs, config_name);

TYPED_TEST(DeviceSpmv, LanesForced) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto x = special_vector<T>(m.cols, 1), z = random_vector<T>(m.rows, 2);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    const auto want = expected_product(1.5, TypeParam::host_csr(m), false, x, -0.5, z);
    for (const int lanes : {1, 2, 4, 8, 16, 32}) {
      SCOPED_TRACE(std::to_string(lanes) + " lanes");
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, TestFixture::forced(a, lanes), scaled(1.5, a), x_on_engine,
               scaled(-0.5, z_on_engine), y);
      EXPECT_TRUE(within(host_vector(y), want));
    }
  });
}

TYPED_TEST(DeviceSpmv, EachIsChosen) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  // Even rows in numbers that keep a large device busy, besides the battery.
  std::vector<triplets> matrices;
  for (const std::int64_t length : {3, 24, 70, 300}) {
    triplets m{
        "rows of " + std::to_string(length), length > 100 ? 6'000 : 40'000, 1000, {}, {}, {}};
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t k = 0; k < length; ++k)
        m.add(i, (i * 7 + k) % m.cols, static_cast<double>((i + k) % 17) - 8);
    matrices.push_back(std::move(m));
  }
  matrices.insert(matrices.end(), battery().begin(), battery().end());
  std::set<spmv_method> methods;
  std::set<int> lanes;
  for (const triplets& m : matrices) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + m.name);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.cols, 3);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    const auto info = multiply_inspect(ctx, a, x_on_engine, y);
    multiply(ctx, info, a, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, TypeParam::host_csr(m), false, x)));
    if (m.rows == 0) continue; // nothing was looked at
    methods.insert(TestFixture::chosen(info).method);
    lanes.insert(TestFixture::chosen(info).lanes);
  }
  EXPECT_EQ(methods.size(), 3U);
  EXPECT_GE(lanes.size(), 4U);
}

template <class C> class DevicePackedCsr : public engine_test<C> {};
TYPED_TEST_SUITE(DevicePackedCsr, device_configs, config_name);

TYPED_TEST(DevicePackedCsr, Forced) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto packed = to_packed_csr(ctx, TypeParam::put_csr(m));
    const auto v = packed.view();
    const auto x = special_vector<T>(m.cols, 10);
    const auto x_on_engine = TypeParam::put(x);
    const auto want = expected_product(1, host, false, x);
    for (const int lanes : {0, 1, 2, 4, 8, 16, 32}) { // 0: split tiles, found in the call
      SCOPED_TRACE(std::to_string(lanes) + " lanes");
      multiply_inspection<T, I, O, where> schedule;
      if (lanes > 0) schedule.kernel = {spmv_method::rows, lanes};
      const packed_csr_view<const T, I, O, where> forced(v.values().data(), v.rowptr().data(),
                                                         v.chunks(), v.columns(), v.shape(),
                                                         v.size(), v.order(), &schedule);
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, forced, x_on_engine, y);
      EXPECT_TRUE(within(host_vector(y), want));
    }
  });
}

template <class C> class DeviceSpGEMM : public engine_test<C> {};
TYPED_TEST_SUITE(DeviceSpGEMM, device_configs, config_name);

TYPED_TEST(DeviceSpGEMM, ResultsBeyondTheDeviceAreNamed) {
  const auto& ctx = TypeParam::context();
  // A full column times a full row: few entries, and a product of terabytes.
  constexpr std::int64_t n = 500'000;
  triplets column{"column", n, 1, {}, {}, {}}, row{"row", 1, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    column.add(i, 0, 1);
    row.add(0, i, 1);
  }
  const auto a = TypeParam::put_csr(column), b = TypeParam::put_csr(row);
  try {
    (void)multiply_wide(ctx, a, b);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const out_of_memory& e) {
    EXPECT_GE(e.bytes(), std::size_t{1'000'000'000'000});
  }
  EXPECT_TRUE(same_matrix(a, TypeParam::host_csr(column)));
}

} // namespace
} // namespace lacuna::test
