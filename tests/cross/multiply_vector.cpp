// y = alpha A x + beta z against the reference, on the whole battery, for every type and engine.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class MultiplyVector : public engine_test<C> {};
TYPED_TEST_SUITE(MultiplyVector, all_configs, config_name);
template <class C> class MultiplyVectorFew : public MultiplyVector<C> {};
TYPED_TEST_SUITE(MultiplyVectorFew, few_configs, config_name);

TYPED_TEST(MultiplyVector, Plain) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().col, 1);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, a, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
  });
}

TYPED_TEST(MultiplyVector, Inspected) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().col, 2);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    const auto info = multiply_inspect(ctx, a, x_on_engine, y);
    EXPECT_FALSE(info.explain().empty());
    multiply(ctx, info, a, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    const auto z = random_vector<T>(host.shape().row, 12);
    y = TypeParam::put(z);
    multiply(ctx, info, scaled(-2, a), x_on_engine, scaled(0.5, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-2, host, false, x, 0.5, z)));
  });
}

TYPED_TEST(MultiplyVector, ScaledWithAddend) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().col, 3);
    const auto z = random_vector<T>(host.shape().row, 4);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    const double beta = scalar(0.3);
    multiply(ctx, scaled(-1.75, a), x_on_engine, scaled(beta, z_on_engine), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.75, host, false, x, beta, z)));
    multiply(ctx, a, scaled(2.5, x_on_engine), z_on_engine, y); // beta 1
    EXPECT_TRUE(within(host_vector(y), expected_product(2.5, host, false, x, 1, z)));
    multiply(ctx, scaled(3, a), scaled(0.5, x_on_engine), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1.5, host, false, x)));
    multiply(ctx, scaled(2, scaled(2, a)), x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(4, host, false, x)));
    EXPECT_TRUE(same(host_vector(x_on_engine), x));
    EXPECT_TRUE(same(host_vector(z_on_engine), z));
  });
}

TYPED_TEST(MultiplyVectorFew, AddendIsResult) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().col, 5);
    const auto z = random_vector<T>(host.shape().row, 6);
    auto y = TypeParam::put(z);
    const double alpha = scalar(0.7), beta = scalar(-1.2);
    multiply(ctx, scaled(alpha, a), TypeParam::put(x), scaled(beta, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(alpha, host, false, x, beta, z)));
  });
}

TYPED_TEST(MultiplyVectorFew, BetaZeroDoesNotReadTheAddend) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().col, 7);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, scaled(2, a), TypeParam::put(x), scaled(0, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x)));
  });
}

TYPED_TEST(MultiplyVectorFew, SpecialValuesInX) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = special_vector<T>(host.shape().col, 8);
    const auto z = special_vector<T>(host.shape().row, 9);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(z);
    multiply(ctx, a, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    const auto info = multiply_inspect(ctx, a, x_on_engine, y);
    multiply(ctx, info, a, x_on_engine, TypeParam::put(z), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x, 1, z)));
  });
}

TYPED_TEST(MultiplyVectorFew, FactsDoNotMatter) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 10));
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    auto y_silent = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, a, x, y);
    auto silent = copy_to(ctx, a);
    silent.state({});
    multiply(ctx, silent, x, y_silent);
    EXPECT_TRUE(same(host_vector(y_silent), host_vector(y)));
  });
}

TYPED_TEST(MultiplyVectorFew, DoesNotChangeTheMatrix) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 11));
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    const auto info = multiply_inspect(ctx, a, x, y);
    multiply(ctx, info, a, x, y);
    multiply(ctx, a, x, y);
    EXPECT_TRUE(same_matrix(a, host));
  });
}

} // namespace
} // namespace lacuna::test
