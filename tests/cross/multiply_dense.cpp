// Y = alpha A X + beta Z with 1 to 512 columns, both layouts on either side, with and without gaps
// between rows or columns, against the reference column by column. Gaps must stay untouched.
#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t counts[] = {1, 2, 3, 4, 7, 8, 16, 17, 32, 33, 64, 100, 512};

/// Keeps the suite short: large blocks only on small matrices.
bool affordable(const triplets& m, std::int64_t columns) {
  return columns <= 3 || (m.size() + m.rows + m.cols) * columns <= 300'000;
}

/// Layouts of X and Y, without and with gaps between lines.
struct arrangement {
  layout x, y;
  std::int64_t gap;
};
constexpr arrangement arrangements[] = {{layout::row_major, layout::row_major, 0},
                                        {layout::column_major, layout::column_major, 0},
                                        {layout::row_major, layout::column_major, 3},
                                        {layout::column_major, layout::row_major, 5}};

template <class C> class MultiplyDense : public engine_test<C> {
protected:
  /// Calls f(host matrix, matrix, columns) for each affordable pair of matrix and column count.
  template <class Counts, class F> static void for_each_case(const Counts& columns_tried, F f) {
    C::for_each_sum([&](const triplets& m) {
      const auto host = C::host_csr(m);
      const auto a = C::put_csr(m);
      for (const std::int64_t columns : columns_tried)
        if (affordable(m, columns)) {
          SCOPED_TRACE(std::to_string(columns) + " columns");
          f(host, a, columns);
        }
    });
  }
};
TYPED_TEST_SUITE(MultiplyDense, all_configs, config_name);
template <class C> class MultiplyDenseFew : public MultiplyDense<C> {};
TYPED_TEST_SUITE(MultiplyDenseFew, few_configs, config_name);

TYPED_TEST(MultiplyDense, Plain) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_case(counts, [&](const auto& host, const auto& a, std::int64_t columns) {
    const block x({host.shape().col, columns}, 1);
    const auto want = expected_product(1, host, false, x);
    for (const auto& [x_layout, y_layout, gap] : arrangements) {
      SCOPED_TRACE(describe(x_layout, y_layout, gap));
      const auto x_on_engine = x.put(ctx, x_layout, gap);
      auto y = block::nan({host.shape().row, columns}).put(ctx, y_layout, gap + (gap != 0));
      multiply(ctx, a, x_on_engine.view(), y.view());
      EXPECT_TRUE(within(y.elements(), want));
      EXPECT_TRUE(y.gaps_untouched());
    }
  });
}

TYPED_TEST(MultiplyDense, ScaledWithAddend) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_case(counts, [&](const auto& host, const auto& a, std::int64_t columns) {
    const block x({host.shape().col, columns}, 2), z({host.shape().row, columns}, 3);
    const auto want = expected_product(-1.5, host, false, x, 0.25, &z);
    for (const auto& [x_layout, y_layout, gap] : arrangements) {
      SCOPED_TRACE(describe(x_layout, y_layout, gap));
      const auto x_on_engine = x.put(ctx, x_layout, gap);
      auto y = z.put(ctx, y_layout, gap);
      multiply(ctx, scaled(-1.5, a), x_on_engine.view(), scaled(0.25, y.view()), y.view());
      EXPECT_TRUE(within(y.elements(), want)) << "addend is the result";
      EXPECT_TRUE(y.gaps_untouched());
      // An addend of the other layout.
      const auto z_on_engine = z.put(ctx, x_layout, 2 * gap);
      y = block::nan({host.shape().row, columns}).put(ctx, y_layout, gap);
      multiply(ctx, a, scaled(-1.5, x_on_engine.view()), scaled(0.25, z_on_engine.view()),
               y.view());
      EXPECT_TRUE(within(y.elements(), want)) << "addend apart";
      EXPECT_TRUE(y.gaps_untouched());
    }
  });
}

TYPED_TEST(MultiplyDense, Transposed) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t few[] = {1, 5, 16};
  TestFixture::for_each_case(few, [&](const auto& host, const auto& a, std::int64_t columns) {
    const block x({host.shape().row, columns}, 4), z({host.shape().col, columns}, 5);
    const auto want = expected_product(2, host, true, x, -1, &z);
    for (const auto& [x_layout, y_layout, gap] : arrangements) {
      SCOPED_TRACE(describe(x_layout, y_layout, gap));
      const auto x_on_engine = x.put(ctx, x_layout, gap);
      auto y = z.put(ctx, y_layout, gap);
      multiply(ctx, scaled(2, transposed(a)), x_on_engine.view(), scaled(-1, y.view()), y.view());
      EXPECT_TRUE(within(y.elements(), want));
      EXPECT_TRUE(y.gaps_untouched());
      y = z.put(ctx, y_layout, gap);
      const auto info = multiply_inspect(ctx, transposed(a), x_on_engine.view(), y.view());
      multiply(ctx, info, scaled(2, transposed(a)), x_on_engine.view(), scaled(-1, y.view()),
               y.view());
      EXPECT_TRUE(within(y.elements(), want)) << "inspected";
      EXPECT_TRUE(y.gaps_untouched());
    }
  });
}

TYPED_TEST(MultiplyDense, Inspected) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t few[] = {1, 6, 32};
  TestFixture::for_each_case(few, [&](const auto& host, const auto& a, std::int64_t columns) {
    const block x({host.shape().col, columns}, 6);
    const auto x_on_engine = x.put(ctx, layout::row_major, 0);
    auto y = block::nan({host.shape().row, columns}).put(ctx, layout::row_major, 0);
    const auto info = multiply_inspect(ctx, a, x_on_engine.view(), y.view());
    multiply(ctx, info, a, x_on_engine.view(), y.view());
    EXPECT_TRUE(within(y.elements(), expected_product(1, host, false, x)));
  });
}

TYPED_TEST(MultiplyDense, Csc) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    if (!affordable(m, 9)) return;
    const block x({m.cols, 9}, 7);
    const auto x_on_engine = x.put(ctx, layout::row_major, 0);
    auto y = block::nan({m.rows, 9}).put(ctx, layout::row_major, 0);
    multiply(ctx, TypeParam::put_csc(m), x_on_engine.view(), y.view());
    EXPECT_TRUE(within(y.elements(), expected_product(1, TypeParam::host_csr(m), false, x)));
  });
}

TYPED_TEST(MultiplyDenseFew, SpecialValuesInX) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t few[] = {3, 8, 33};
  TestFixture::for_each_case(few, [&](const auto& host, const auto& a, std::int64_t columns) {
    const auto x = block::special({host.shape().col, columns}, 8);
    const auto want = expected_product(1, host, false, x);
    for (const auto& [x_layout, y_layout, gap] : arrangements) {
      SCOPED_TRACE(describe(x_layout, y_layout, gap));
      const auto x_on_engine = x.put(ctx, x_layout, gap);
      auto y = block::nan({host.shape().row, columns}).put(ctx, y_layout, gap);
      multiply(ctx, a, x_on_engine.view(), y.view());
      EXPECT_TRUE(within(y.elements(), want));
    }
  });
}

TYPED_TEST(MultiplyDenseFew, TooLargeForCaches) {
  // A host writes such a Y, and its copy of such an X, past the caches; with a gap of 3 it cannot.
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t columns = 64;
  constexpr std::int64_t many = (1 << 24) / (columns * sizeof(typename TypeParam::value)) + 5;
  for (const triplets& m : {random_matrix(many, 40, 2, 1), random_matrix(40, many, 900, 2)}) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const block x({m.cols, columns}, 9);
    const auto want = expected_product(1, host, false, x);
    for (const auto& [x_layout, y_layout, gap] : arrangements) {
      SCOPED_TRACE(describe(x_layout, y_layout, gap));
      auto y = block::nan({m.rows, columns}).put(ctx, y_layout, gap);
      multiply(ctx, a, x.put(ctx, x_layout, gap).view(), y.view());
      EXPECT_TRUE(within(y.elements(), want));
      EXPECT_TRUE(y.gaps_untouched());
    }
  }
}

TYPED_TEST(MultiplyDenseFew, HubRows) {
  // Rows beyond many of a device's tiles among short ones and empty ones, and in a band, whose rows
  // read neighbouring elements of a column; even and odd columns.
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  triplets hubs{"hubs", 400, 45'000, {}, {}, {}}, band{"band with hubs", 4'000, 4'000, {}, {}, {}};
  random_source random(11);
  const auto add_row = [&](triplets& m, std::int64_t i, std::int64_t first, std::int64_t length) {
    for (std::int64_t k = 0; k < length; ++k) m.add(i, first + k, random.value());
  };
  for (std::int64_t i = 0; i < hubs.rows; ++i) {
    const std::int64_t length = i == 150 || i == 399 ? 41'000 : i % 50 == 7 ? 700 : i % 4;
    add_row(hubs, i, random.below(hubs.cols - length), length);
  }
  for (std::int64_t i = 0; i < band.rows; ++i)
    i % 1'000 == 777 ? add_row(band, i, 3, i) : add_row(band, i, std::min(i, band.cols - 3), 3);
  for (const triplets& m : {hubs, band}) {
    SCOPED_TRACE(m.name);
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    for (const std::int64_t columns : {5, 8, 32}) {
      SCOPED_TRACE(std::to_string(columns) + " columns");
      const block x({m.cols, columns}, 10), z({m.rows, columns}, 11);
      const auto want = expected_product(-1.5, host, false, x, 0.25, &z);
      for (const auto& [x_layout, y_layout, gap] : arrangements) {
        SCOPED_TRACE(describe(x_layout, y_layout, gap));
        auto y = z.put(ctx, y_layout, gap);
        multiply(ctx, scaled(-1.5, a), x.put(ctx, x_layout, gap).view(), scaled(0.25, y.view()),
                 y.view());
        EXPECT_TRUE(within(y.elements(), want));
        EXPECT_TRUE(y.gaps_untouched());
      }
    }
  }
}

TYPED_TEST(MultiplyDenseFew, MillionsOfColumns) {
  // More than a device's grid has blocks for.
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t columns = 2'100'000;
  const triplets m{"an entry twice", 1, 1, {0, 0}, {0, 0}, {2, -3}};
  const auto host = TypeParam::host_csr(m);
  const auto a = TypeParam::put_csr(m);
  const block x({1, columns}, 12);
  const auto want = expected_product(1, host, false, x);
  for (const layout l : {layout::row_major, layout::column_major}) {
    auto y = block::nan({1, columns}).put(ctx, l, 0);
    multiply(ctx, a, x.put(ctx, l, 0).view(), y.view());
    EXPECT_TRUE(within(y.elements(), want));
  }
}

TYPED_TEST(MultiplyDenseFew, NoColumns) {
  using T = typename TypeParam::value;
  using dense_t = dense<T, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("band"));
  for (const layout l : {layout::row_major, layout::column_major}) {
    const dense_t x(ctx, {300, 0}, l);
    dense_t y(ctx, {300, 0}, l);
    EXPECT_NO_THROW(multiply(ctx, a, x, y));
  }
}

} // namespace
} // namespace lacuna::test
