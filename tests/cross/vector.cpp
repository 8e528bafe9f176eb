// dot, axpby, scale, fill and the norms of vectors against the reference.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

// 0, 1, and sizes around those that kernels may cut vectors into.
constexpr std::int64_t sizes[] = {0,    1,    2,    3,      7,      8,      31,     32,
                                  33,   255,  256,  257,    511,    1023,   1024,   1025,
                                  4095, 4096, 4097, 10'000, 65'535, 65'537, 300'001};

template <class C> class Vector : public engine_test<C> {
protected:
  template <class F> static void for_each_size(F f) {
    for (const std::int64_t size : sizes) {
      SCOPED_TRACE(std::string(C::engine::name) + ": " + std::to_string(size) + " elements");
      f(size);
    }
  }

  template <class F> static void for_each_sum(F f) {
    C::for_each_value_kind([&] { for_each_size(f); });
  }

  /// All three norms of x.
  template <class T> static void expect_norms(const std::vector<T>& x) {
    const auto& ctx = C::context();
    const auto v = C::put(x);
    const auto sum = reference::norm1<T>(x);
    EXPECT_TRUE(within<T>(norm1(ctx, v), exact_for_integers(sum, sum.value))) << "norm1";
    EXPECT_TRUE(within<T>(norm2(ctx, v), norm2_for_integers<T>(reference::norm2<T>(x)))) << "norm2";
    EXPECT_TRUE(within<T>(norm_inf(ctx, v), reference::norm_inf<T>(x))) << "norm_inf";
  }
};
TYPED_TEST_SUITE(Vector, value_configs, config_name);

TYPED_TEST(Vector, Dot) {
  using T = typename TypeParam::value;
  TestFixture::for_each_sum([&](std::int64_t size) {
    const auto x = random_vector<T>(size, 1), y = random_vector<T>(size, 2);
    EXPECT_TRUE(within<T>(dot(TypeParam::context(), TypeParam::put(x), TypeParam::put(y)),
                          exact_for_integers(reference::dot<T>(x, y),
                                             static_cast<double>(size) * largest(x) * largest(y))));
  });
}

TYPED_TEST(Vector, DotOfSpecialValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  constexpr T inf = std::numeric_limits<T>::infinity();
  const auto with = [](std::int64_t at, T value) {
    auto x = random_vector<T>(2000, 3);
    x[static_cast<std::size_t>(at)] = value;
    return x;
  };
  const auto ones = std::vector<T>(2000, T{1});
  for (const std::int64_t at : {0, 5, 999, 1999}) {
    const auto nan = with(at, std::numeric_limits<T>::quiet_NaN());
    EXPECT_TRUE(std::isnan(dot(ctx, TypeParam::put(nan), TypeParam::put(ones))));
    EXPECT_EQ(dot(ctx, TypeParam::put(with(at, inf)), TypeParam::put(ones)), inf);
    EXPECT_EQ(dot(ctx, TypeParam::put(with(at, -inf)), TypeParam::put(ones)), -inf);
    const auto zeros = std::vector<T>(2000, T{0});
    EXPECT_TRUE(std::isnan(dot(ctx, TypeParam::put(with(at, inf)), TypeParam::put(zeros))));
  }
}

TYPED_TEST(Vector, Axpby) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_size([&](std::int64_t size) {
    const auto x = random_vector<T>(size, 4), y = random_vector<T>(size, 5);
    for (const auto& [alpha, beta] :
         {std::pair{1.0, 1.0}, {2.5, -0.5}, {0.3, 0.0}, {0.0, 0.7}, {-1.0, 1.0}, {0.0, 0.0}}) {
      auto result = TypeParam::put(y);
      axpby(ctx, alpha, TypeParam::put(x), beta, result);
      EXPECT_TRUE(within(host_vector(result), reference::axpby<T>(alpha, x, beta, y)))
          << alpha << " x + " << beta << " y";
    }
  });
}

TYPED_TEST(Vector, AxpbyReadsOnlyWhatItNeeds) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_size([&](std::int64_t size) {
    const auto v = random_vector<T>(size, 6);
    auto y = TypeParam::put(all_nan<T>(size));
    axpby(ctx, 2, TypeParam::put(v), 0, y);
    EXPECT_TRUE(within(host_vector(y), reference::axpby<T>(2, v, 0, v))) << "beta 0 read y";
    y = TypeParam::put(v);
    axpby(ctx, 0, TypeParam::put(all_nan<T>(size)), 3, y);
    EXPECT_TRUE(within(host_vector(y), reference::axpby<T>(0, v, 3, v))) << "alpha 0 read x";
  });
}

TYPED_TEST(Vector, AxpbyOntoItself) {
  using T = typename TypeParam::value;
  const auto x = random_vector<T>(5000, 7);
  auto y = TypeParam::put(x);
  axpby(TypeParam::context(), 2, y, -0.5, y);
  EXPECT_TRUE(within(host_vector(y), reference::axpby<T>(2, x, -0.5, x)));
}

TYPED_TEST(Vector, Scale) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_size([&](std::int64_t size) {
    const auto x = random_vector<T>(size, 8);
    auto y = TypeParam::put(x);
    scale(ctx, -0.75, y);
    EXPECT_TRUE(within(host_vector(y), reference::axpby<T>(-0.75, x, 0, x)));
    scale(ctx, 0, y);
    EXPECT_TRUE(within(host_vector(y), reference::axpby<T>(0, x, 0, x)));
  });
}

TYPED_TEST(Vector, ScaleKeepsNaN) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  auto x = special_vector<T>(1000, 9);
  for (const double alpha : {2.0, 0.0}) {
    SCOPED_TRACE("alpha " + std::to_string(alpha));
    auto copied = TypeParam::put(x);
    scale(ctx, alpha, copied);
    const auto y = host_vector(copied);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T want = static_cast<T>(alpha) * x[i];
      ASSERT_TRUE(std::isnan(want) ? std::isnan(y[i]) : y[i] == want)
          << alpha << " * " << x[i] << " is not " << y[i] << " at " << i;
    }
  }
}

TYPED_TEST(Vector, Fill) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_size([&](std::int64_t size) {
    auto x = TypeParam::put(all_nan<T>(size));
    fill(ctx, -2.5, x);
    EXPECT_TRUE(same(host_vector(x), std::vector<T>(static_cast<std::size_t>(size), T{-2.5})));
  });
}

TYPED_TEST(Vector, Norms) {
  using T = typename TypeParam::value;
  TestFixture::for_each_sum(
      [&](std::int64_t size) { TestFixture::expect_norms(random_vector<T>(size, 10)); });
}

TYPED_TEST(Vector, NormsOfZerosAreZero) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3000}}) {
    const auto x = TypeParam::put(std::vector<T>(size, -T{0}));
    EXPECT_EQ(norm1(ctx, x), T{0});
    EXPECT_EQ(norm2(ctx, x), T{0});
    EXPECT_EQ(norm_inf(ctx, x), T{0});
    EXPECT_EQ(dot(ctx, x, x), T{0});
  }
}

TYPED_TEST(Vector, NormsNeitherOverflowNorUnderflow) {
  using T = typename TypeParam::value;
  // Squares of these are beyond T; their length is not.
  const bool is_double = std::is_same_v<T, double>;
  for (const double magnitude : {is_double ? 1e200 : 1e30, is_double ? 1e-200 : 1e-30,
                                 is_double ? 1e-310 : 1e-40, is_double ? 1e300 : 1e35}) {
    for (const std::int64_t size : {1, 2, 5, 1000, 5000}) {
      SCOPED_TRACE(std::to_string(size) + " elements near " + std::to_string(magnitude));
      auto x = random_vector<T>(size, 11);
      for (T& v : x) v *= static_cast<T>(magnitude);
      TestFixture::expect_norms(x);
      // And a mixture of both ends.
      x[x.size() / 2] = static_cast<T>(1 / magnitude);
      if (std::isfinite(x[x.size() / 2])) TestFixture::expect_norms(x);
    }
  }
}

TYPED_TEST(Vector, NormsOfSpecialValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{30'000}})
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      SCOPED_TRACE(std::to_string(size) + " elements, special at " + std::to_string(at));
      auto x = random_vector<T>(static_cast<std::int64_t>(size), 12);
      x[at] = -inf;
      auto v = TypeParam::put(x);
      EXPECT_EQ(norm1(ctx, v), inf);
      EXPECT_EQ(norm2(ctx, v), inf);
      EXPECT_EQ(norm_inf(ctx, v), inf);
      x[at] = nan;
      v = TypeParam::put(x);
      EXPECT_TRUE(std::isnan(norm1(ctx, v)));
      EXPECT_TRUE(std::isnan(norm2(ctx, v)));
      EXPECT_TRUE(std::isnan(norm_inf(ctx, v)));
      x[size - 1 - at] = inf; // NaN wins over Inf, wherever they stand
      if (size > 1 && size - 1 - at != at) {
        v = TypeParam::put(x);
        EXPECT_TRUE(std::isnan(norm1(ctx, v)));
        EXPECT_TRUE(std::isnan(norm2(ctx, v)));
        EXPECT_TRUE(std::isnan(norm_inf(ctx, v)));
      }
    }
}

} // namespace
} // namespace lacuna::test
