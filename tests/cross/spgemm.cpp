// C = alpha op(A) op(B) on the battery: pattern exactly, values within the reference's bounds.
#include <functional>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t most_products = 400'000;

template <class C> class SpGEMM : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMM, all_configs, config_name);
template <class C> class SpGEMMFew : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMFew, few_configs, config_name);

TYPED_TEST(SpGEMM, Squares) {
  const auto& ctx = TypeParam::context();
  int tried = 0;
  TypeParam::for_each_sum([&](const triplets& m) {
    if (m.rows != m.cols || product_count(m, m) > most_products) return;
    ++tried;
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto c = multiply(ctx, a, a);
    EXPECT_NO_THROW(check(ctx, c));
    EXPECT_TRUE(is_product(c, expected_sparse(host, host)));
    EXPECT_TRUE(same_matrix(a, host));
  });
  EXPECT_GE(tried, 8);
}

TYPED_TEST(SpGEMM, WithTheirTransposes) {
  const auto& ctx = TypeParam::context();
  int tried = 0;
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    if (product_count(m, exchanged(m)) <= most_products) {
      ++tried;
      const auto c = multiply(ctx, a, scaled(-1.5, transposed(a)));
      EXPECT_NO_THROW(check(ctx, c));
      EXPECT_TRUE(is_product(c, expected_sparse(host, host, -1.5, false, true)));
    }
    if (product_count(exchanged(m), m) <= most_products) {
      ++tried;
      const auto c = multiply_transposed_self(ctx, a);
      EXPECT_NO_THROW(check(ctx, c));
      EXPECT_TRUE(is_product(c, expected_sparse(host, host, 1, true, false)));
    }
  });
  EXPECT_GE(tried, 40);
}

TYPED_TEST(SpGEMM, WithOthersOnEitherSide) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    for (const std::int64_t width : {std::int64_t{1}, std::int64_t{70}, std::int64_t{30'000}}) {
      SCOPED_TRACE("times " + std::to_string(width) + " columns");
      const auto b = random_matrix(m.cols, width, 2, 5);
      if (product_count(m, b) > most_products) continue;
      const auto c = multiply(ctx, scaled(2, a), TypeParam::put_csr(b));
      EXPECT_NO_THROW(check(ctx, c));
      EXPECT_TRUE(is_product(c, expected_sparse(host, TypeParam::host_csr(b), 2)));
    }
    const auto b = random_matrix(40, m.rows, 1, 6);
    if (product_count(b, m) > most_products) return;
    EXPECT_TRUE(is_product(multiply(ctx, TypeParam::put_csr(b), a),
                           expected_sparse(TypeParam::host_csr(b), host)));
  });
}

TYPED_TEST(SpGEMMFew, StatingNothingChangesNothing) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto b = random_matrix(m.cols, 300, 3, 7);
    if (product_count(m, b) > most_products) return;
    auto left = TypeParam::put_csr(m), right = TypeParam::put_csr(b);
    const auto want = copy_to(default_context<space::host>(), multiply(ctx, left, right));
    left.state({});
    right.state({});
    EXPECT_TRUE(same_matrix(multiply(ctx, left, right), want));
  });
}

TYPED_TEST(SpGEMM, PatternReadsNoValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const char* name : {"stencil 40 x 40", "unsorted with duplicates", "NaN and Inf values",
                           "rows of 0 to 70", "9 x 0", "arrow"}) {
    SCOPED_TRACE(name);
    const triplets& m = battery_matrix(name);
    const auto a = TypeParam::put_csr(m);
    const auto c = multiply_pattern(ctx, a, transposed(a));
    EXPECT_NO_THROW(check(ctx, c));
    const auto want =
        expected_sparse(TypeParam::host_csr(m), TypeParam::host_csr(m), 1, false, true);
    const auto got = entries_of(c);
    EXPECT_TRUE(same(got.row, want.row));
    EXPECT_TRUE(same(got.col, want.col));
    EXPECT_TRUE(same(host_vector(c.values()), std::vector<T>(got.value.size(), T{1})));
  }
}

TYPED_TEST(SpGEMM, WideOffsets) {
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("band");
  const auto host = TypeParam::host_csr(m);
  const auto a = TypeParam::put_csr(m);
  const auto want = expected_sparse(host, host);
  const auto limit = static_cast<std::int64_t>(want.row.size()) - 1;
  const lowered_narrow_limit lowered(limit);
  const auto wide = multiply_wide(ctx, a, a);
  static_assert(
      std::is_same_v<typename std::remove_cv_t<decltype(wide)>::offset_type, std::int64_t>);
  EXPECT_TRUE(is_product(wide, want));
  if (sizeof(O) == 8) {
    EXPECT_TRUE(is_product(multiply(ctx, a, a), want));
    return;
  }
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { (void)multiply(ctx, a, a); }, [&] { (void)multiply_compute(ctx, a, a); }}) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const unsupported& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(limit + 1)), std::string::npos)
          << e.what();
      EXPECT_NE(std::string(e.what()).find("multiply_wide"), std::string::npos) << e.what();
    }
  }
}

TYPED_TEST(SpGEMMFew, OperandsOfAllKinds) {
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("duplicates"); // 150 x 90
  const auto host = TypeParam::host_csr(m);
  const auto rows = TypeParam::put_csr(m);
  const auto columns = TypeParam::put_csc(m);
  const auto want = expected_sparse(host, host, 3, true, false);
  EXPECT_TRUE(is_product(multiply(ctx, scaled(3, transposed(columns)), rows), want));
  EXPECT_TRUE(
      is_product(multiply(ctx, transposed(scaled(1.5, rows.view())), scaled(2, columns)), want));
  EXPECT_THROW((void)multiply(ctx, rows, rows), size_mismatch);
  EXPECT_THROW((void)multiply_compute(ctx, rows, rows), size_mismatch);
  EXPECT_THROW((void)estimate(ctx, rows, rows), size_mismatch);
}

TYPED_TEST(SpGEMMFew, EstimateIsAnUpperBound) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto b = random_matrix(m.cols, 200, 2, 8);
    const auto e = estimate(ctx, TypeParam::put_csr(m), TypeParam::put_csr(b));
    EXPECT_EQ(e.products, product_count(m, b));
    if (e.products > most_products) return;
    const auto c = multiply(ctx, TypeParam::put_csr(m), TypeParam::put_csr(b));
    EXPECT_GE(e.most_entries, std::int64_t{c.size()});
    EXPECT_LE(e.most_entries, e.products);
    EXPECT_GE(e.most_result_bytes, c.bytes());
  });
}

TYPED_TEST(SpGEMMFew, RowsOfEverySize) {
  // Few and many products, short and long spans: every accumulator of every engine.
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    for (const std::int64_t a_row : {1, 2, 3, 5, 20, 300})
      for (const std::int64_t b_row : {1, 2, 4, 33, 500})
        for (const std::int64_t cols : {64, 4000, 5000, 70'000, 3'000'000}) {
          if (a_row * b_row > 30'000) continue;
          SCOPED_TRACE(std::to_string(a_row) + " x " + std::to_string(b_row) + " products over " +
                       std::to_string(cols) + " columns");
          const auto a = random_matrix(12, 600, a_row, 9), b = random_matrix(600, cols, b_row, 10);
          const auto c = multiply(ctx, TypeParam::put_csr(a), TypeParam::put_csr(b));
          EXPECT_TRUE(
              is_product(c, expected_sparse(TypeParam::host_csr(a), TypeParam::host_csr(b))));
        }
  });
}

TYPED_TEST(SpGEMMFew, HugeRowsAreShared) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    triplets meets_long_rows{"a row that meets long rows", 3, 1000, {}, {}, {}};
    random_source random(12);
    for (std::int64_t j = 0; j < 1000; ++j) meets_long_rows.add(1, j, random.value());
    for (const triplets* of :
         {&battery_matrix("one huge row"), &battery_matrix("huge first and last row"),
          &std::as_const(meets_long_rows)}) {
      const triplets& m = *of;
      SCOPED_TRACE(m.name);
      // Threads of the host divide a row by columns where it pays: the last one.
      const auto b = random_matrix(m.cols, 100'000, of == &meets_long_rows ? 300 : 2, 11);
      const auto a_on_engine = TypeParam::put_csr(m), b_on_engine = TypeParam::put_csr(b);
      const auto c = multiply(ctx, a_on_engine, b_on_engine);
      EXPECT_NO_THROW(check(ctx, c));
      EXPECT_TRUE(is_product(c, expected_sparse(TypeParam::host_csr(m), TypeParam::host_csr(b))));
      auto info = multiply_compute(ctx, a_on_engine, b_on_engine);
      auto d = copy_to(ctx, c);
      for (const bool again : {false, true}) {
        fill(ctx, -7, d.values());
        if (again)
          multiply_refill(ctx, info, a_on_engine, b_on_engine, d);
        else
          multiply_fill(ctx, info, a_on_engine, b_on_engine, d);
        EXPECT_TRUE(same_matrix(d, copy_to(default_context<space::host>(), c)));
      }
    }
  });
}

TEST(SpGEMMRows, TheAccumulatorChangesNoBit) {
  // The same products with their columns far apart or near: dense windows, trees, tables, sorts.
  const host_context ctx(host_options{2});
  using matrix = csr<double, std::int64_t, std::int64_t>;
  for (const auto& [a_row, b_row] : {std::pair{4, 5}, {9, 27}, {40, 60}, {200, 90}}) {
    SCOPED_TRACE(std::to_string(a_row) + " x " + std::to_string(b_row));
    auto a = random_matrix(60, 400, a_row, 12);
    const auto b = random_matrix(400, 500, b_row, 13);
    // Four like rows, then one alone.
    const std::size_t own = a.value.size();
    for (std::int64_t i = 0; i < 5; ++i)
      for (std::size_t k = 0; k < own; ++k)
        if (a.row[k] == 7) a.add(a.rows + i, a.col[k] - (i == 4 ? 1 : 0), a.value[k] + i);
    a.rows += 5;
    for (auto& j : a.col) j = std::max<std::int64_t>(j, 0);
    const auto left = make_csr<double, std::int64_t, std::int64_t>(a);
    const auto spread = [&](std::int64_t stride, bool stated) {
      triplets apart = b;
      apart.cols = b.cols * stride;
      for (auto& j : apart.col) j *= stride;
      auto right = make_csr<double, std::int64_t, std::int64_t>(apart);
      if (!stated) right.state({});
      matrix c = multiply(ctx, left, right);
      for (auto& j : c.colind()) j /= stride;
      return c;
    };
    const matrix near = spread(1, true);
    for (const std::int64_t stride : {3, 50, 5000, 3'000'000, 50'000'000})
      for (const bool stated : {true, false}) {
        SCOPED_TRACE("stride " + std::to_string(stride));
        const matrix far = spread(stride, stated);
        EXPECT_TRUE(same(host_vector(far.rowptr()), host_vector(near.rowptr())));
        EXPECT_TRUE(same(host_vector(far.colind()), host_vector(near.colind())));
        EXPECT_TRUE(same(host_vector(far.values()), host_vector(near.values())));
      }
    // Each row alone.
    const auto right = make_csr<double, std::int64_t, std::int64_t>(b);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      triplets one{"", 1, a.cols, {}, {}, {}};
      for (std::size_t k = 0; k < a.value.size(); ++k)
        if (a.row[k] == i) one.add(0, a.col[k], a.value[k]);
      const matrix c = multiply(ctx, make_csr<double, std::int64_t, std::int64_t>(one), right);
      const std::int64_t first = near.rowptr()[i], count = near.rowptr()[i + 1] - first;
      EXPECT_TRUE(same(host_vector(c.values()), host_vector(vector_view<const double>(
                                                    near.values().data() + first, count))));
    }
  }
}

TYPED_TEST(SpGEMM, RowsOfFewProducts) {
  // Rows on either side of what one to four vectors of columns take, alone, in long runs of few
  // and of more, mixed, and beside empty ones; columns that meet never, sometimes and always.
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    for (const std::int64_t cols : {200'000, 40, 3}) {
      SCOPED_TRACE(cols);
      triplets a{"few", 0, 300, {}, {}, {}}, b{"few", 300, cols, {}, {}, {}};
      random_source random(14);
      for (std::int64_t k = 0; k < 300; ++k) // three rows each of 0 to 99 entries
        for (std::int64_t j = 0; j < std::min(k / 3, cols); ++j)
          b.add(k, (37 * k + 1 + j * (cols / 100 + 1)) % cols, random.value());
      const auto row_of = [&](std::int64_t products, std::int64_t pieces) {
        for (std::int64_t p = 0; p < pieces; ++p) {
          const std::int64_t length = products * (p + 1) / pieces - products * p / pieces;
          a.add(a.rows, 3 * length + p % 3, random.value());
        }
        ++a.rows;
      };
      for (const std::int64_t pieces : {1, 2, 3})
        for (std::int64_t products = 0; products < 99; ++products) row_of(products, pieces);
      for (std::int64_t row = 0; row < 300; ++row) row_of(row % 5, 2);
      for (std::int64_t row = 0; row < 20; ++row) row_of(70 + row, 3);
      for (std::int64_t row = 0; row < 200; ++row) row_of(row % 2 == 0 ? 66 : row % 66, 2);
      for (std::int64_t row = 0; row < 70; ++row) row_of(0, 1);
      const auto left = TypeParam::put_csr(a);
      const auto want = expected_sparse(TypeParam::host_csr(a), TypeParam::host_csr(b));
      for (const bool stated : {true, false}) {
        auto right = TypeParam::put_csr(b);
        if (!stated) right.state({});
        const auto c = multiply(ctx, left, right);
        EXPECT_NO_THROW(check(ctx, c));
        EXPECT_TRUE(is_product(c, want));
        auto info = multiply_compute(ctx, left, right); // counts, and fills what was counted
        auto d = copy_to(ctx, c);
        fill(ctx, -7, d.values());
        multiply_fill(ctx, info, left, right, d);
        EXPECT_TRUE(same_matrix(d, copy_to(default_context<space::host>(), c)));
        const auto pattern = entries_of(multiply_pattern(ctx, left, right));
        EXPECT_TRUE(same(pattern.col, want.col));
        EXPECT_EQ(std::ranges::count(pattern.value, 1), std::ssize(pattern.value));
      }
    }
  });
}

TEST(SpGEMMRows, NegativeZerosStay) {
  const host_context ctx(host_options{1});
  for (const std::int64_t stride : {1, 100, 100'000}) {
    triplets a{"", 1, 3, {}, {}, {}}, b{"", 3, 9 * stride, {}, {}, {}};
    for (std::int64_t k = 0; k < 3; ++k) {
      a.add(0, k, -0.0);
      for (std::int64_t j = 0; j < 3; ++j) b.add(k, (3 * k + j) * stride, 2);
    }
    const auto c = multiply(ctx, make_csr<double, int, int>(a), make_csr<double, int, int>(b));
    ASSERT_EQ(c.size(), 9);
    for (const double v : c.values()) EXPECT_TRUE(std::signbit(v));
  }
}

} // namespace
} // namespace lacuna::test
