// Each kernel a device may choose for y = A x, forced on the whole battery; and each is chosen for
// some matrix. On the host the choice is recorded but makes no difference.
#include <memory>
#include <set>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class SpmvKernels : public engine_test<C> {
protected:
  using inspection = multiply_inspection<typename C::value, typename C::index, typename C::offset,
                                         C::memory_space>;

  static spmv_kernel chosen(const operation_info_t& info) {
    const auto* found = dynamic_cast<const inspection*>(info.found());
    EXPECT_NE(found, nullptr);
    return found != nullptr ? found->kernel : spmv_kernel{};
  }
  /// An inspection that says: so many lanes a row.
  template <class A> static operation_info_t forced(const A& a, int lanes) {
    auto result = std::make_shared<inspection>();
    result->nnz = a.size();
    result->kernel = {spmv_method::rows, lanes};
    return {std::move(result), {a.shape().row, a.shape().col}};
  }
};
TYPED_TEST_SUITE(SpmvKernels, few_configs, config_name);

TYPED_TEST(SpmvKernels, LanesForced) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto x = special_vector<T>(m.cols, 1), z = random_vector<T>(m.rows, 2);
    const auto x_there = TypeParam::put(x), z_there = TypeParam::put(z);
    const auto want = expected_product(1.5, TypeParam::host_csr(m), false, x, -0.5, z);
    for (const int lanes : {1, 2, 4, 8, 16, 32}) {
      SCOPED_TRACE(std::to_string(lanes) + " lanes");
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, TestFixture::forced(a, lanes), scaled(1.5, a), x_there, scaled(-0.5, z_there),
               y);
      EXPECT_TRUE(within(host_vector(y), want));
    }
  });
}

TYPED_TEST(SpmvKernels, EachIsChosen) {
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
    if (TypeParam::memory_space == space::host) break; // nothing to choose there
  }
  matrices.insert(matrices.end(), battery().begin(), battery().end());
  std::set<spmv_method> methods;
  std::set<int> lanes;
  for (const triplets& m : matrices) {
    SCOPED_TRACE(std::string(TypeParam::engine::name) + ": " + m.name);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.cols, 3);
    const auto x_there = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    const auto info = multiply_inspect(ctx, a, x_there, y);
    multiply(ctx, info, a, x_there, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, TypeParam::host_csr(m), false, x)));
    if (m.rows == 0) continue; // nothing was looked at
    methods.insert(TestFixture::chosen(info).method);
    lanes.insert(TestFixture::chosen(info).lanes);
  }
  if (TypeParam::memory_space == space::device) {
    EXPECT_EQ(methods.size(), 3U);
    EXPECT_GE(lanes.size(), 4U);
  }
}

} // namespace
} // namespace lacuna::test
