// Element by element, and the preconditioners made of that, against dense arithmetic in long
// double.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using wide_vector = std::vector<long double>;

/// Row-major; what is stored twice adds up.
struct dense_matrix {
  std::int64_t n = 0;
  wide_vector element;
  template <class T> static dense_matrix of(const triplets& m) {
    dense_matrix a{m.rows, wide_vector(static_cast<std::size_t>(m.rows * m.cols))};
    for (std::size_t k = 0; k < m.value.size(); ++k)
      a(m.row[k], m.col[k]) += static_cast<T>(m.value[k]);
    return a;
  }
  long double& operator()(std::int64_t i, std::int64_t j) {
    return element[static_cast<std::size_t>(i * n + j)];
  }
  [[nodiscard]] wide_vector times(const wide_vector& x) const {
    wide_vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x.size(); ++j) y[i] += element[i * x.size() + j] * x[j];
    return y;
  }
};

/// Symmetric positive definite: neighbours at distance 1 and 4, each coupling in two parts where
/// `twice`, rows unsorted.
triplets symmetric_matrix(std::int64_t n, bool twice = false) {
  triplets m{"symmetric", n, n, {}, {}, {}};
  random_source random(3);
  for (std::int64_t i = 0; i < n; ++i) m.add(i, i, 4 + random.uniform());
  for (const std::int64_t far : {4, 1})
    for (std::int64_t i = 0; i + far < n; ++i) {
      const double v = -random.uniform();
      for (int part = 0; part < (twice ? 2 : 1); ++part) {
        m.add(i, i + far, v / (twice ? 2 : 1));
        m.add(i + far, i, v / (twice ? 2 : 1));
      }
    }
  return m;
}

template <class C> class Preconditioners : public engine_test<C> {
protected:
  using V = typename C::value;

  template <class M> static std::vector<V> apply(const M& m, const std::vector<V>& r) {
    const auto in = C::put(r);
    auto out = C::put(all_nan<V>(static_cast<std::int64_t>(r.size())));
    m.apply(C::context(), in.view(), out.view());
    return host_vector(out);
  }
  /// M^-1 x y = x M^-1 y for a few pairs.
  template <class M> static void expect_symmetric(const M& m) {
    EXPECT_TRUE(m.is_symmetric());
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      const auto x = random_vector<V>(m.size(), seed), y = random_vector<V>(m.size(), seed + 9);
      const auto mx = apply(m, x), my = apply(m, y);
      long double left = 0, right = 0, magnitude = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        left += static_cast<long double>(mx[i]) * y[i];
        right += static_cast<long double>(my[i]) * x[i];
        magnitude += std::abs(static_cast<long double>(mx[i]) * y[i]);
      }
      EXPECT_LE(std::abs(left - right), 20 * std::numeric_limits<V>::epsilon() * magnitude);
    }
  }
  template <class F> static void expect_message(const std::string& part, F call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown: " << part;
    } catch (const bad_input& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }
  static void expect_near(const std::vector<V>& got, const wide_vector& want, double ulps) {
    long double largest = 0, worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      largest = std::max(largest, std::abs(want[i]));
      worst = std::max(worst, std::abs(want[i] - got[i]));
    }
    EXPECT_LE(worst, ulps * std::numeric_limits<V>::epsilon() * largest);
  }
};
TYPED_TEST_SUITE(Preconditioners, few_configs, config_name);

TYPED_TEST(Preconditioners, Elements) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const std::int64_t size : {0, 1, 33, 70'001}) {
    const auto d = special_vector<T>(size, 1), x = special_vector<T>(size, 2),
               y = special_vector<T>(size, 3);
    auto out = TypeParam::put(y);
    multiply_elements(ctx, -0.3, TypeParam::put(d), TypeParam::put(x), 0.7, out);
    EXPECT_TRUE(within(host_vector(out), reference::multiply_elements<T>(-0.3, d, x, 0.7, y)));
    auto fresh = TypeParam::put(all_nan<T>(size));
    multiply_elements(ctx, TypeParam::put(d), TypeParam::put(x), fresh);
    EXPECT_TRUE(within(host_vector(fresh), reference::multiply_elements<T>(1, d, x, 0, y)));
    multiply_elements(fresh, fresh, fresh); // onto itself
    fill_random(ctx, 5, out);
    const auto numbers = host_vector(out);
    std::vector<T> on_host(numbers.size());
    fill_random(5, on_host);
    EXPECT_TRUE(same(numbers, on_host));
    double sum = 0;
    for (const T v : numbers) {
      ASSERT_LE(std::abs(v), 1);
      sum += static_cast<double>(v);
    }
    EXPECT_LE(std::abs(sum), 2 * std::sqrt(static_cast<double>(size)) + 1);
  }
  auto shorter = TypeParam::put(std::vector<T>(3));
  EXPECT_THROW(multiply_elements(ctx, shorter, TypeParam::put(std::vector<T>(4)), shorter),
               size_mismatch);
}

TYPED_TEST(Preconditioners, Jacobi) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const std::int64_t n : {0, 1, 200}) {
    const triplets m = symmetric_matrix(n);
    auto a = TypeParam::put_csr(m);
    jacobi p(ctx, a, {.damping = 0.75});
    EXPECT_EQ(p.size(), n);
    EXPECT_EQ(p.name(), "jacobi");
    const auto r = random_vector<T>(n, 4);
    auto dense = dense_matrix::of<T>(m);
    wide_vector want;
    for (std::int64_t i = 0; i < n; ++i)
      want.push_back(0.75L * r[static_cast<std::size_t>(i)] / dense(i, i));
    TestFixture::expect_near(TestFixture::apply(p, r), want, 4);
    TestFixture::expect_symmetric(p);
    scale(ctx, 2, a);
    p.update_values(ctx, a);
    for (long double& v : want) v /= 2;
    TestFixture::expect_near(TestFixture::apply(p, r), want, 4);
    EXPECT_TRUE(same(TestFixture::apply(p, r),
                     TestFixture::apply(jacobi(ctx, to_csc(ctx, a), {.damping = 0.75}), r)));
  }
}

TYPED_TEST(Preconditioners, JacobiRefuses) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  triplets m = symmetric_matrix(50);
  jacobi p(ctx, TypeParam::put_csr(m));
  const auto r = random_vector<T>(50, 4);
  const auto before = TestFixture::apply(p, r);
  for (const double bad : {0.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    m.value[31] = m.value[40] = bad; // diagonals come first
    const auto a = TypeParam::put_csr(m);
    TestFixture::expect_message("jacobi: the diagonal of row 31", [&] { (void)jacobi(ctx, a); });
    TestFixture::expect_message("row 31", [&] { p.update_values(ctx, a); });
    TestFixture::expect_message("row 31", [&] { (void)estimate_spectral_radius(ctx, a); });
    TestFixture::expect_message("chebyshev: the diagonal of row 31",
                                [&] { (void)chebyshev(ctx, a); });
  }
  EXPECT_TRUE(same(TestFixture::apply(p, r), before));
  const auto wide = TypeParam::put_csr(battery_matrix("wide"));
  EXPECT_THROW((void)jacobi(ctx, wide), size_mismatch);
  EXPECT_THROW((void)block_jacobi(ctx, wide), size_mismatch);
  EXPECT_THROW((void)chebyshev(ctx, wide), size_mismatch);
  EXPECT_THROW((void)estimate_spectral_radius(ctx, wide), size_mismatch);
  EXPECT_THROW(p.update_values(ctx, TypeParam::put_csr(symmetric_matrix(49))), size_mismatch);
  const auto a = TypeParam::put_csr(symmetric_matrix(50));
  for (const double damping : {0.0, -1.0, std::nan("")})
    EXPECT_THROW((void)jacobi(ctx, a, {.damping = damping}), bad_input);
  auto shorter = TypeParam::put(std::vector<T>(49));
  EXPECT_THROW(p.apply(ctx, shorter.view(), shorter.view()), size_mismatch);
}

TYPED_TEST(Preconditioners, BlockJacobi) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const std::int64_t n : {0, 1, 5, 203})
    for (const int block : {1, 2, 3, 5, 16}) {
      SCOPED_TRACE(std::to_string(n) + " rows, blocks of " + std::to_string(block));
      triplets m = symmetric_matrix(n, true);
      if (n > 100) { // a diagonal of 0 wants pivots, a long row is searched
        m.value[100] = 0;
        for (std::int64_t j = 0; j < n; j += 7) m.add(64, j, 0.125);
      }
      const auto a = TypeParam::put_csr(m);
      if (n > 100 && block == 1) {
        TestFixture::expect_message("block 100 (rows 100 to 100) is singular",
                                    [&] { (void)block_jacobi(ctx, a, {.block = 1}); });
        continue;
      }
      const block_jacobi p(ctx, a, {.block = block});
      EXPECT_EQ(p.size(), n);
      const auto r = random_vector<T>(n, 4);
      const auto z = TestFixture::apply(p, r);
      // B z = r.
      auto dense = dense_matrix::of<T>(m);
      for (std::int64_t i = 0; i < n; ++i) {
        long double sum = 0, magnitude = std::abs(r[static_cast<std::size_t>(i)]);
        for (std::int64_t j = i / block * block; j < std::min(n, (i / block + 1) * block); ++j) {
          const long double term = dense(i, j) * z[static_cast<std::size_t>(j)];
          sum += term;
          magnitude += std::abs(term);
        }
        EXPECT_LE(std::abs(sum - r[static_cast<std::size_t>(i)]),
                  200 * std::numeric_limits<T>::epsilon() * magnitude)
            << "row " << i;
      }
      if (n < 100) TestFixture::expect_symmetric(p);
    }
}

TYPED_TEST(Preconditioners, BlockJacobiRefuses) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  // Blocks of 3; the second last is singular to rounding, the last has 2 rows.
  triplets m{"blocks", 11, 11, {}, {}, {}};
  for (std::int64_t i = 0; i < 11; ++i) m.add(i, i, 1 + 0.1 * static_cast<double>(i));
  auto a = TypeParam::put_csr(m);
  block_jacobi p(ctx, a, {.block = 3});
  const auto r = random_vector<T>(11, 1);
  const auto before = TestFixture::apply(p, r);
  triplets singular = m;
  for (std::int64_t i = 6; i < 9; ++i) {
    singular.value[static_cast<std::size_t>(i)] = 0;
    for (std::int64_t j = 6; j < 9; ++j)
      singular.add(i, j, 0.1 * static_cast<double>((i - 5) * (j - 4)));
  }
  const auto b = TypeParam::put_csr(singular);
  TestFixture::expect_message("block 2 (rows 6 to 8) is singular",
                              [&] { (void)block_jacobi(ctx, b, {.block = 3}); });
  TestFixture::expect_message("block 2", [&] { p.update_values(ctx, b); });
  singular.value[10] = std::nan("");
  singular.value[6] = 5;
  singular.value[7] = 3;
  TestFixture::expect_message("block 3 (rows 9 to 10) is singular",
                              [&] { p.update_values(ctx, TypeParam::put_csr(singular)); });
  EXPECT_TRUE(same(TestFixture::apply(p, r), before));
  scale(ctx, 4, a);
  p.update_values(ctx, a);
  auto want = before;
  for (T& v : want) v /= 4;
  EXPECT_TRUE(same(TestFixture::apply(p, r), want));
  for (const int block : {0, -1, 17})
    EXPECT_THROW((void)block_jacobi(ctx, a, {.block = block}), bad_input);
}

/// -1 2 -1, times -1 for `sign` -1. D^-1 A has the eigenvalues 1 - cos(k pi / (n + 1)).
triplets laplacian(std::int64_t n, double sign = 1) {
  triplets m{"laplacian", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) m.add(i, i - 1, -sign);
    m.add(i, i, 2 * sign);
    if (i + 1 < n) m.add(i, i + 1, -sign);
  }
  return m;
}

TYPED_TEST(Preconditioners, SpectralRadius) {
  const auto& ctx = TypeParam::context();
  for (const std::int64_t n : {1, 2, 7, 3000}) {
    const double exact = 1 + std::cos(3.14159265358979 / static_cast<double>(n + 1));
    for (const double sign : {1.0, -1.0}) {
      const auto a = TypeParam::put_csr(laplacian(n, sign));
      const double rho = estimate_spectral_radius(ctx, a);
      EXPECT_LE(rho, n == 1 ? 1.00001 : exact * 1.00001);
      EXPECT_GE(rho, n == 1 ? 0.99999 : exact * (n < 10 ? 0.99999 : 0.95));
      EXPECT_EQ(rho, estimate_spectral_radius(ctx, a)); // the same bits
      if (n == 3000) {
        EXPECT_NE(rho, estimate_spectral_radius(ctx, a, {.seed = 2}));
      }
      const double more = estimate_spectral_radius(ctx, a, {.iterations = 100});
      EXPECT_LE(more, n == 1 ? 1.00001 : exact * 1.00001);
      EXPECT_GE(more, n == 1 ? 0.99999 : exact * 0.999); // rounding does not add up
      const double power = estimate_spectral_radius(ctx, a, {.iterations = 30, .symmetric = false});
      EXPECT_LE(power, n == 1 ? 1.00001 : exact * 1.00001);
      EXPECT_GE(power, exact * 0.9);
    }
  }
  EXPECT_EQ(estimate_spectral_radius(ctx, TypeParam::put_csr(battery_matrix("0 x 0"))), 0);
  // A rotation of (1, 1)'s neighbours: D^-1 A has 1 +- 3 i.
  triplets turn{"turn", 2, 2, {}, {}, {}};
  for (const auto& [i, j, v] : {std::tuple{0, 0, 1.0}, {0, 1, -3.0}, {1, 0, 3.0}, {1, 1, 1.0}})
    turn.add(i, j, v);
  EXPECT_NEAR(estimate_spectral_radius(ctx, TypeParam::put_csr(turn), {.symmetric = false}),
              std::sqrt(10.0), 1e-4);
  triplets bad = laplacian(30);
  bad.value[1] = std::nan("");
  EXPECT_THROW((void)estimate_spectral_radius(ctx, TypeParam::put_csr(bad)), bad_input);
  EXPECT_THROW(
      (void)estimate_spectral_radius(ctx, TypeParam::put_csr(laplacian(3)), {.iterations = 0}),
      bad_input);
}

/// Chebyshev's polynomial by its recurrence in long double.
wide_vector chebyshev_by_hand(dense_matrix a, const wide_vector& r, int degree, long double radius,
                              long double fraction) {
  const long double upper = 1.1L * radius, lower = fraction * upper;
  const long double theta = (upper + lower) / 2, delta = (upper - lower) / 2;
  wide_vector z(r.size()), p(r.size());
  for (std::size_t i = 0; i < r.size(); ++i)
    z[i] = p[i] = r[i] / a(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)) / theta;
  long double rho = delta / theta;
  for (int k = 1; k < degree; ++k) {
    const long double next = 1 / (2 * theta / delta - rho);
    const wide_vector az = a.times(z);
    for (std::size_t i = 0; i < r.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      p[i] = next * rho * p[i] + 2 * next / delta * (r[i] - az[i]) / a(row, row);
      z[i] += p[i];
    }
    rho = next;
  }
  return z;
}

TYPED_TEST(Preconditioners, Chebyshev) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const std::int64_t n : {0, 1, 150})
    for (const int degree : {1, 2, 5}) {
      SCOPED_TRACE(std::to_string(n) + " rows, degree " + std::to_string(degree));
      const triplets m = symmetric_matrix(n, true);
      auto a = TypeParam::put_csr(m);
      chebyshev p(ctx, a, {.degree = degree, .lower_fraction = 0.2});
      EXPECT_EQ(p.size(), n);
      EXPECT_EQ(p.radius(), n == 0 ? 0 : estimate_spectral_radius(ctx, a));
      const auto r = random_vector<T>(n, 4);
      const auto z = TestFixture::apply(p, r);
      TestFixture::expect_near(z,
                               chebyshev_by_hand(dense_matrix::of<T>(m),
                                                 wide_vector(r.begin(), r.end()), degree,
                                                 p.radius(), 0.2L),
                               50);
      EXPECT_TRUE(same(TestFixture::apply(p, r), z));
      TestFixture::expect_symmetric(p);
      // The same pattern with other values: as one that is made anew.
      const auto factors = TypeParam::put(std::vector<T>(static_cast<std::size_t>(n), T{2}));
      scale_rows(ctx, a, factors);
      auto b = copy_to(ctx, a);
      scale_columns(ctx, b, factors);
      p.update_values(ctx, b);
      EXPECT_TRUE(same(
          TestFixture::apply(p, r),
          TestFixture::apply(chebyshev(ctx, b, {.degree = degree, .lower_fraction = 0.2}), r)));
    }
}

TYPED_TEST(Preconditioners, ChebyshevRefuses) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(laplacian(20)), fewer = TypeParam::put_csr(laplacian(19));
  EXPECT_THROW((void)chebyshev(ctx, a, {.degree = 0}), bad_input);
  for (const double fraction : {0.0, 1.0, std::nan("")})
    EXPECT_THROW((void)chebyshev(ctx, a, {.lower_fraction = fraction}), bad_input);
  EXPECT_THROW((void)chebyshev(ctx, a, {.radius = -1}), bad_input);
  chebyshev p(ctx, a, {.radius = 2});
  EXPECT_EQ(p.radius(), 2);
  EXPECT_THROW(p.update_values(ctx, fewer), size_mismatch);
  triplets m = laplacian(20);
  m.add(0, 19, 1);
  const auto other = TypeParam::put_csr(m);
  EXPECT_THROW(p.update_values(ctx, other), size_mismatch);
  const preconditioner<typename TypeParam::value, TypeParam::memory_space>& base = p;
  EXPECT_EQ(base.name(), "chebyshev");
  EXPECT_TRUE(base.is_linear());
}

} // namespace
} // namespace lacuna::test
