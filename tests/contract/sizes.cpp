// Operations refuse operands that do not fit each other, and leave them as they were.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class Sizes : public engine_test<C> {
protected:
  static auto matrix(const char* name) { return C::put_csr(battery_matrix(name)); }
  static auto vector(std::int64_t size) {
    return C::put(random_vector<typename C::value>(size, 1));
  }
};
TYPED_TEST_SUITE(Sizes, value_configs, config_name);

TYPED_TEST(Sizes, MultiplyVector) {
  const auto& ctx = TypeParam::context();
  const auto a = TestFixture::matrix("wide"); // 20 x 3000
  const auto x = TestFixture::vector(3000), short_x = TestFixture::vector(2999);
  auto y = TestFixture::vector(20), long_y = TestFixture::vector(21);
  const auto z = TestFixture::vector(19);
  const auto before = host_vector(y);
  EXPECT_THROW(multiply(ctx, a, short_x, y), size_mismatch);
  EXPECT_THROW(multiply(ctx, a, x, long_y), size_mismatch);
  EXPECT_THROW(multiply(ctx, a, x, z, y), size_mismatch);
  EXPECT_THROW(multiply(ctx, transposed(a), x, y), size_mismatch);
  EXPECT_TRUE(same(host_vector(y), before));
  EXPECT_NO_THROW(multiply(ctx, a, x, scaled(0, z), y)) << "with beta 0, z does not matter";
  try {
    multiply(ctx, a, short_x, y);
  } catch (const size_mismatch& e) {
    EXPECT_NE(std::string(e.what()).find("2999"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("3000"), std::string::npos) << e.what();
  }
}

TYPED_TEST(Sizes, MultiplyDense) {
  const auto& ctx = TypeParam::context();
  using dense_t = dense<typename TypeParam::value, TypeParam::memory_space>;
  const auto a = TestFixture::matrix("tall"); // 3000 x 20
  const auto zeroed = [&](std::int64_t rows, std::int64_t columns) {
    dense_t d(ctx, {rows, columns});
    fill(ctx, 0, d.values());
    return d;
  };
  const auto x = zeroed(20, 4);
  auto y = zeroed(3000, 4);
  EXPECT_NO_THROW(multiply(ctx, a, x, y));
  EXPECT_THROW(multiply(ctx, a, zeroed(21, 4), y), size_mismatch);
  EXPECT_THROW(multiply(ctx, a, zeroed(20, 3), y), size_mismatch);
  EXPECT_THROW(multiply(ctx, a, x, zeroed(2999, 4), y), size_mismatch);
  EXPECT_THROW(multiply(ctx, a, x, zeroed(3000, 5), y), size_mismatch);
  EXPECT_THROW(multiply(ctx, transposed(a), x, y), size_mismatch);
  auto wrong = zeroed(2999, 4);
  EXPECT_THROW(multiply(ctx, a, x, wrong), size_mismatch);
}

TYPED_TEST(Sizes, Vectors) {
  const auto& ctx = TypeParam::context();
  const auto x = TestFixture::vector(10);
  auto y = TestFixture::vector(11);
  const auto before = host_vector(y);
  EXPECT_THROW((void)dot(ctx, x, y), size_mismatch);
  EXPECT_THROW(axpby(ctx, 1, x, 1, y), size_mismatch);
  EXPECT_TRUE(same(host_vector(y), before));
}

TYPED_TEST(Sizes, OverlapIsRefused) {
  using T = typename TypeParam::value;
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TestFixture::matrix("identity"); // 100 x 100
  auto memory = TestFixture::vector(250);
  const auto part = [&](std::int64_t at) { return vector_view<T, where>(memory.data() + at, 100); };
  const auto before = host_vector(memory);
  EXPECT_THROW(multiply(ctx, a, part(0), part(0)), bad_input);
  EXPECT_THROW(multiply(ctx, a, part(0), part(99)), bad_input);
  EXPECT_THROW(multiply(ctx, a, part(99), part(0)), bad_input);
  const dense_view<T, where> x(memory.data(), {100, 1}), y(memory.data() + 50, {100, 1});
  EXPECT_THROW(multiply(ctx, a, x, y), bad_input);
  EXPECT_TRUE(same(host_vector(memory), before));
  EXPECT_NO_THROW(multiply(ctx, a, part(0), part(100)));
  // Interleaved columns share a range but no element: too close to tell, so refused as well.
  const dense_view<T, where> even(memory.data(), {100, 1}, layout::row_major, 2);
  const dense_view<T, where> odd(memory.data() + 1, {100, 1}, layout::row_major, 2);
  EXPECT_THROW(multiply(ctx, a, even, odd), bad_input);
}

TYPED_TEST(Sizes, InfosKnowSizesAndDirections) {
  const auto& ctx = TypeParam::context();
  const auto a = TestFixture::matrix("identity"), b = TestFixture::matrix("identity");
  const auto x = TestFixture::vector(100);
  auto y = TestFixture::vector(100);
  const auto plain = multiply_inspect(ctx, a, x, y);
  const auto of_transpose = multiply_inspect(ctx, transposed(a), x, y);
  EXPECT_NO_THROW(multiply(ctx, plain, a, x, y));
  EXPECT_NO_THROW(multiply(ctx, of_transpose, transposed(a), x, y));
  EXPECT_NO_THROW(multiply(ctx, plain, b, x, y)) << "the same pattern elsewhere";
  EXPECT_THROW(multiply(ctx, plain, transposed(a), x, y), bad_input);
  EXPECT_THROW(multiply(ctx, of_transpose, a, x, y), bad_input);
  EXPECT_NO_THROW(multiply(ctx, operation_info_t(), a, x, y)) << "an empty one says nothing";
  const auto copy = plain; // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_NO_THROW(multiply(ctx, copy, a, x, y));
  EXPECT_EQ(plain.shape(), (index<std::int64_t>{100, 100}));
  EXPECT_THROW(multiply(ctx, add_inspect(ctx, a, a), a, x, y), bad_input);
  const auto more = add(ctx, a, TypeParam::put_csr({"one more", 100, 100, {3}, {7}, {1}}));
  try {
    multiply(ctx, plain, more, x, y);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const size_mismatch& e) {
    EXPECT_NE(std::string(e.what()).find("101"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("100"), std::string::npos) << e.what();
  }
}

TEST(HostOperands, VectorsSpansAndArrays) {
  const auto a = make_csr<double, std::int32_t, std::int32_t>(battery_matrix("tridiagonal"));
  const auto x = random_vector<double>(a.shape().col, 1);
  std::vector<double> y(x.size());
  multiply(a, x, y); // the default context
  const auto want = expected_product(1, a, false, x);
  EXPECT_TRUE(within(y, want));
  std::fill(y.begin(), y.end(), 0);
  multiply(a.view(), std::span<const double>(x), std::span<double>(y));
  EXPECT_TRUE(within(y, want));
  std::fill(y.begin(), y.end(), 0);
  multiply(a, vector_view<const double>(x), vector_view<double>(y));
  EXPECT_TRUE(within(y, want));
  multiply(scaled(2, a), x, scaled(-1, y), y);
  EXPECT_TRUE(within(y, want));
  EXPECT_NEAR(dot(x, y), reference::dot<double>(x, y).value, 1e-10);
  axpby(1, x, 0, y);
  EXPECT_EQ(y, x);
  scale(2, y);
  EXPECT_EQ(y[0], 2 * x[0]);
  EXPECT_GT(norm1(y), norm2(y));
  EXPECT_GT(norm2(y), norm_inf(y));
  EXPECT_GT(matrix_frob_norm(a), 0);
  EXPECT_GT(matrix_inf_norm(a), 0);
}

} // namespace
} // namespace lacuna::test
