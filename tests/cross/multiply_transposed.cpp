// Transposed products and CSC operands, with and without inspection, against the reference.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class MultiplyTransposed : public engine_test<C> {};
TYPED_TEST_SUITE(MultiplyTransposed, all_configs, config_name);
template <class C> class MultiplyTransposedFew : public MultiplyTransposed<C> {};
TYPED_TEST_SUITE(MultiplyTransposedFew, few_configs, config_name);

TYPED_TEST(MultiplyTransposed, Plain) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().row, 1);
    auto y = TypeParam::put(all_nan<T>(host.shape().col));
    multiply(ctx, transposed(a), TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, true, x)));
    EXPECT_TRUE(same_matrix(a, host));
  });
}

TYPED_TEST(MultiplyTransposed, ScaledWithAddend) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().row, 2);
    const auto z = random_vector<T>(host.shape().col, 3);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    auto y = TypeParam::put(all_nan<T>(host.shape().col));
    const double beta = scalar(-0.4);
    multiply(ctx, scaled(1.5, transposed(a)), x_on_engine, scaled(beta, z_on_engine), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1.5, host, true, x, beta, z)));
    y = TypeParam::put(z);
    multiply(ctx, transposed(scaled(1.5, a)), x_on_engine, scaled(beta, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1.5, host, true, x, beta, z)));
    y = TypeParam::put(all_nan<T>(host.shape().col));
    multiply(ctx, transposed(a), scaled(-3, x_on_engine), scaled(0, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-3, host, true, x)));
  });
}

TYPED_TEST(MultiplyTransposed, Inspected) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(host.shape().row, 4);
    const auto z = random_vector<T>(host.shape().col, 5);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    auto y = TypeParam::put(all_nan<T>(host.shape().col));
    const auto info = multiply_inspect(ctx, transposed(a), x_on_engine, y);
    EXPECT_EQ(info.shape().row, host.shape().col);
    EXPECT_EQ(info.shape().col, host.shape().row);
    EXPECT_GE(info.bytes(), a.colind().size() * sizeof(typename TypeParam::index));
    multiply(ctx, info, transposed(a), x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, true, x)));
    const double alpha = scalar(0.6);
    multiply(ctx, info, scaled(alpha, transposed(a)), x_on_engine, scaled(2, z_on_engine), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(alpha, host, true, x, 2, z)));
  });
}

TYPED_TEST(MultiplyTransposedFew, SpecialValuesInX) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = special_vector<T>(host.shape().row, 6);
    const auto z = special_vector<T>(host.shape().col, 7);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(z);
    multiply(ctx, transposed(a), x_on_engine, scaled(0.5, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, true, x, 0.5, z)));
    const auto info = multiply_inspect(ctx, transposed(a), x_on_engine, y);
    multiply(ctx, info, transposed(a), x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, true, x)));
  });
}

TYPED_TEST(MultiplyTransposedFew, TwiceIsPlain) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = TypeParam::put(random_vector<T>(host.shape().col, 8));
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    auto y_twice = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, a, x, y);
    multiply(ctx, transposed(transposed(a)), x, y_twice);
    EXPECT_TRUE(same(host_vector(y_twice), host_vector(y)));
  });
}

TYPED_TEST(MultiplyTransposed, Csc) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csc(m);
    const auto x = random_vector<T>(host.shape().col, 9);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, a, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    y = TypeParam::put(all_nan<T>(host.shape().row));
    const auto info = multiply_inspect(ctx, a, x_on_engine, y);
    multiply(ctx, info, scaled(-2, a), x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-2, host, false, x)));

    const auto u = random_vector<T>(host.shape().row, 10);
    const auto w = random_vector<T>(host.shape().col, 11);
    auto v = TypeParam::put(w);
    multiply(ctx, transposed(a), TypeParam::put(u), scaled(0.5, v), v);
    EXPECT_TRUE(within(host_vector(v), expected_product(1, host, true, u, 0.5, w)));
  });
}

TYPED_TEST(MultiplyTransposedFew, AnInspectionSeesChangedValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.rows, 1);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(m.cols));
    const auto info = multiply_inspect(ctx, transposed(a), x_on_engine, y);
    const auto promised =
        multiply_inspect(ctx, transposed(a), x_on_engine, y, {.values_stay = true});
    multiply(ctx, info, transposed(a), x_on_engine, y);
    const auto fetched = host_vector(y);
    multiply(ctx, promised, transposed(a), x_on_engine, y);
    EXPECT_TRUE(same(host_vector(y), fetched)); // the same sums in the same order
    scale(ctx, 4, a);
    multiply(ctx, info, transposed(a), x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(4, TypeParam::host_csr(m), true, x)));
  });
}

} // namespace
} // namespace lacuna::test
