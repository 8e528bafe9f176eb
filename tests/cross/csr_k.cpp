// CSR-k against the reference, on the whole battery: every type and engine, both k, many sizes and
// thresholds for long rows.
#include <limits>

#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

template <class C> class CsrK : public engine_test<C> {};
TYPED_TEST_SUITE(CsrK, all_configs, config_name);
template <class C> class CsrKGroups : public engine_test<C> {};
TYPED_TEST_SUITE(CsrKGroups, few_configs, config_name);

std::string text(const csr_k_options& o) {
  return "k " + std::to_string(o.k) + ", super-rows of " + std::to_string(o.super_row) + ", " +
         std::to_string(o.super_super_row) + " of them, long beyond " + std::to_string(o.long_row);
}

TYPED_TEST(CsrK, Plain) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto x = random_vector<T>(m.cols, 1);
    const auto x_on_engine = TypeParam::put(x);
    const auto want = expected_product(1, host, false, x);
    for (const int k : {0, 2, 3}) {
      SCOPED_TRACE("k " + std::to_string(k));
      const auto a = to_csr_k(ctx, TypeParam::put_csr(m), {.k = k});
      EXPECT_NO_THROW(check(ctx, a));
      EXPECT_EQ(a.shape(), host.shape());
      EXPECT_EQ(a.size(), host.size());
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, a, x_on_engine, y);
      EXPECT_TRUE(within(host_vector(y), want));
      EXPECT_TRUE(same_matrix(to_csr(ctx, a), host));
    }
  });
}

TYPED_TEST(CsrK, ScaledWithAddend) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = to_csr_k(ctx, TypeParam::put_csr(m), {.long_row = 40});
    const auto x = random_vector<T>(m.cols, 2), z = random_vector<T>(m.rows, 3);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    const double alpha = scalar(0.7), beta = scalar(-1.2);
    multiply(ctx, scaled(-1.75, a), x_on_engine, scaled(alpha, z_on_engine), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.75, host, false, x, alpha, z)));
    multiply(ctx, a.view(), scaled(2.5, x_on_engine), z_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(2.5, host, false, x, 1, z)));
    y = TypeParam::put(z);
    multiply(ctx, scaled(alpha, a), x_on_engine, scaled(beta, y), y); // the addend is the result
    EXPECT_TRUE(within(host_vector(y), expected_product(alpha, host, false, x, beta, z)));
    y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, scaled(2, a), x_on_engine, scaled(0, y), y); // and is not read if beta is 0
    EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x)));
    EXPECT_TRUE(same(host_vector(x_on_engine), x));
    EXPECT_TRUE(same_matrix(to_csr(ctx, a), host));
  });
}

TYPED_TEST(CsrK, SpecialValuesInX) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto x = special_vector<T>(m.cols, 4), z = special_vector<T>(m.rows, 5);
    const auto want = expected_product(1, host, false, x, 1, z);
    for (const std::int64_t long_row : {std::int64_t{0}, std::int64_t{1}, never}) {
      const auto a = to_csr_k(ctx, TypeParam::put_csr(m), {.long_row = long_row});
      auto y = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, a, TypeParam::put(x), TypeParam::put(z), y);
      EXPECT_TRUE(within(host_vector(y), want)) << "long beyond " << long_row;
    }
  });
}

TYPED_TEST(CsrK, SeveralColumns) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    for (const char* name : {"power law", "huge first and last row", "stencil 40 x 40", "9 x 0"}) {
      SCOPED_TRACE(name);
      const triplets& m = battery_matrix(name);
      const auto host = TypeParam::host_csr(m);
      const auto a = to_csr_k(ctx, TypeParam::put_csr(m));
      for (const std::int64_t columns : {0, 1, 2, 9}) {
        const dense_block<T> x({m.cols, columns}, 6), z({m.rows, columns}, 7);
        const auto want = expected_product(-0.5, host, false, x, 2, &z);
        for (const layout l : {layout::row_major, layout::column_major})
          for (const std::int64_t gap : {0, 3}) {
            SCOPED_TRACE(std::to_string(columns) + " columns, " + describe(l, l, gap));
            auto y = dense_block<T>::nan({m.rows, columns}).put(ctx, l, gap);
            multiply(ctx, scaled(-0.5, a), x.put(ctx, l, gap).view(),
                     scaled(2, z.put(ctx, l, gap).view()), y.view());
            EXPECT_TRUE(within(y.elements(), want));
            EXPECT_TRUE(y.gaps_untouched());
          }
      }
    }
  });
}

TYPED_TEST(CsrKGroups, AnySizesAndThresholds) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto on_engine = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.cols, 8), z = random_vector<T>(m.rows, 9);
    const auto x_on_engine = TypeParam::put(x), z_on_engine = TypeParam::put(z);
    const auto want = expected_product(1.5, TypeParam::host_csr(m), false, x, -0.5, z);
    for (const std::int64_t long_row : {std::int64_t{0}, std::int64_t{1}, std::int64_t{30}, never})
      for (const csr_k_options& o :
           {csr_k_options{2, 1, 0, long_row}, csr_k_options{2, 7, 0, long_row},
            csr_k_options{2, 5000, 0, long_row}, csr_k_options{3, 1, 1, long_row},
            csr_k_options{3, 3, 5, long_row}, csr_k_options{3, 100, 40, long_row},
            csr_k_options{3, 9, 0, long_row}, csr_k_options{3, 0, 30, long_row}}) {
        SCOPED_TRACE(text(o));
        const auto a = to_csr_k(ctx, on_engine, o);
        ASSERT_NO_THROW(check(ctx, a));
        auto y = TypeParam::put(all_nan<T>(m.rows));
        multiply(ctx, scaled(1.5, a), x_on_engine, scaled(-0.5, z_on_engine), y);
        ASSERT_TRUE(within(host_vector(y), want));
      }
  });
}

TYPED_TEST(CsrKGroups, FewAndManyEntriesARow) {
  // Every block shape of a device, with and without long rows among rows of like length.
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    for (const std::int64_t length : {1, 5, 8, 9, 16, 17, 32, 33, 100, 257})
      for (const bool outliers : {false, true}) {
        triplets m{"rows of " + std::to_string(length), 1000, 20'000, {}, {}, {}};
        for (std::int64_t i = 0; i < m.rows; ++i) {
          const std::int64_t n = outliers && i % 333 == 5 ? 17'000 + i : length;
          for (std::int64_t k = 0; k < n; ++k)
            m.add(i, (i * 7 + k) % m.cols, static_cast<double>((i + k) % 17) - 8);
        }
        SCOPED_TRACE(m.name + (outliers ? " with outliers" : ""));
        const auto host = TypeParam::host_csr(m);
        const auto x = random_vector<T>(m.cols, 10);
        for (const int k : {2, 3}) {
          const auto a = to_csr_k(ctx, TypeParam::put_csr(m), {.k = k});
          EXPECT_NO_THROW(check(ctx, a));
          if (length < 50) {
            EXPECT_EQ(a.view().long_row_count(), outliers ? 3 : 0);
            EXPECT_DOUBLE_EQ(a.grouping().mean, static_cast<double>(length));
            EXPECT_EQ(a.grouping().regular, !outliers);
          }
          auto y = TypeParam::put(all_nan<T>(m.rows));
          multiply(ctx, a, TypeParam::put(x), y);
          EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
        }
      }
  });
}

TYPED_TEST(CsrKGroups, TheSameBitsAgainAndAgain) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto on_engine = TypeParam::put_csr(m);
    const auto x = TypeParam::put(random_vector<T>(m.cols, 11));
    for (const csr_k_options& o :
         {csr_k_options{2, 10, 0, 50}, csr_k_options{3, 4, 3, 0}, csr_k_options{}}) {
      SCOPED_TRACE(text(o));
      const auto a = to_csr_k(ctx, on_engine, o);
      auto first = TypeParam::put(all_nan<T>(m.rows));
      multiply(ctx, a, x, first);
      for (int times = 0; times < 4; ++times) {
        auto y = TypeParam::put(all_nan<T>(m.rows));
        multiply(ctx, times % 2 == 0 ? copy_to(ctx, a) : to_csr_k(ctx, on_engine, o), x, y);
        EXPECT_TRUE(same(host_vector(y), host_vector(first)));
      }
    }
  });
}

TYPED_TEST(CsrKGroups, CopiesBetweenSpaces) {
  // Groups made on the host serve the engine, and those of the engine the host.
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto& host_ctx = default_context<space::host>();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto rows = TypeParam::host_csr(m);
    const auto x = random_vector<T>(m.cols, 12);
    const auto want = expected_product(1, rows, false, x);
    const auto a = copy_to(ctx, to_csr_k(host_ctx, rows));
    EXPECT_NO_THROW(check(ctx, a));
    auto y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, a, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), want));

    const auto b = copy_to(host_ctx, to_csr_k(ctx, TypeParam::put_csr(m)));
    EXPECT_NO_THROW(check(host_ctx, b));
    std::vector<T> back(static_cast<std::size_t>(m.rows));
    multiply(host_ctx, b, x, back);
    EXPECT_TRUE(within(back, want));
  });
}

TYPED_TEST(CsrKGroups, TakesOverAndGivesBack) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    const triplets& m = battery_matrix("power law");
    auto rows = TypeParam::put_csr(m);
    const auto* const values = rows.values().data();
    auto a = to_csr_k(ctx, std::move(rows));
    EXPECT_EQ(a.rows().values().data(), values);
    EXPECT_GT(a.bytes(), static_cast<std::size_t>(m.size()) * sizeof(T));

    // Values may be changed where they are.
    triplets doubled = m;
    for (double& v : doubled.value) v *= 2;
    const auto twice = TypeParam::put_csr(doubled);
    detail::copy_bytes(ctx, a.values().data(), twice.values().data(),
                       static_cast<std::size_t>(m.size()) * sizeof(T), TypeParam::memory_space);
    const auto x = random_vector<T>(m.cols, 13);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, a, TypeParam::put(x), y);
    EXPECT_TRUE(
        within(host_vector(y), expected_product(1, TypeParam::host_csr(doubled), false, x)));

    const auto back = to_csr(ctx, std::move(a));
    EXPECT_EQ(back.values().data(), values);
    EXPECT_TRUE(same_matrix(back, TypeParam::host_csr(doubled)));
  });
}

TYPED_TEST(CsrKGroups, OfAnOrdering) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto& host_ctx = default_context<space::host>();
  TypeParam::for_each_value_kind([&] {
    for (const char* name : {"stencil 40 x 40", "arrow", "tridiagonal", "0 x 0"})
      for (const std::vector<std::int64_t>& sizes :
           {std::vector<std::int64_t>{12}, std::vector<std::int64_t>{7, 4}}) {
        SCOPED_TRACE(std::string(name) + ", k " + std::to_string(sizes.size() + 1));
        const auto rows = TypeParam::host_csr(battery_matrix(name));
        const auto ordering = band_k(host_ctx, rows, sizes);
        const auto permuted = permute(host_ctx, rows, ordering.order);
        const auto a = to_csr_k(host_ctx, permuted, ordering, {.long_row = 30});
        EXPECT_EQ(a.grouping().k, static_cast<int>(sizes.size()) + 1);
        EXPECT_NO_THROW(check(host_ctx, a));
        EXPECT_TRUE(same(host_vector(a.view().super_rows()), host_vector(ordering.starts[0])));
        const auto on_engine = copy_to(ctx, a);
        const auto x = random_vector<T>(rows.shape().col, 14);
        auto y = TypeParam::put(all_nan<T>(rows.shape().row));
        multiply(ctx, on_engine, TypeParam::put(x), y);
        EXPECT_TRUE(within(host_vector(y), expected_product(1, permuted, false, x)));
      }
  });
}

TEST(CsrKThreads, DoNotChangeABit) {
  const host_context one(host_options{1});
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto rows = make_csr<double, std::int32_t, std::int32_t>(m);
    const auto x = random_vector<double>(m.cols, 15), z = random_vector<double>(m.rows, 16);
    for (const csr_k_options& o :
         {csr_k_options{}, csr_k_options{2, 5, 0, 100}, csr_k_options{3, 3, 4, never}}) {
      SCOPED_TRACE(text(o));
      const auto a = to_csr_k(one, rows, o);
      std::vector<double> want(z.size()), plain(z.size());
      multiply(one, scaled(0.3, a), x, scaled(0.7, z), want);
      multiply(one, scaled(0.3, rows), x, scaled(0.7, z), plain);
      EXPECT_TRUE(same(want, plain)); // the kernels and pieces are CSR's
      for (int threads = 2; threads <= 4; ++threads) {
        SCOPED_TRACE(std::to_string(threads) + " threads");
        const host_context ctx(host_options{threads});
        const auto b = to_csr_k(ctx, rows, o);
        EXPECT_EQ(b.grouping(), a.grouping());
        EXPECT_TRUE(same(host_vector(b.view().long_rows()), host_vector(a.view().long_rows())));
        for (int times = 0; times < 3; ++times) {
          std::vector<double> y(z.size());
          multiply(ctx, scaled(0.3, b), x, scaled(0.7, z), y);
          EXPECT_TRUE(same(y, want));
        }
      }
    }
  }
}

} // namespace
} // namespace lacuna::test
