// The method that expands, sorts and sums: the bits of the other one, whatever the rows look like;
// and broad rows of few products, by either.
#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t most_products = 400'000;
constexpr spgemm_options by_sorting{.method = spgemm_method::expand_sort};

const host_context& host() { return default_context<space::host>(); }

/// Whether both methods add the same numbers: a device merges B's duplicates before the other one
/// multiplies.
template <class C> bool adds_alike(const triplets& b) {
  return C::memory_space == space::host || csr_facts(sorted(b)).unique;
}

/// alpha A B by either method: the same bits where sums round, the reference's where they do not.
template <class C>
void expect_alike(const triplets& a, const triplets& b, double alpha, spgemm_options how) {
  const auto& ctx = C::context();
  const auto left = C::put_csr(a), right = C::put_csr(b);
  how.method = spgemm_method::expand_sort;
  const auto c = multiply(ctx, scaled(alpha, left), right, how);
  EXPECT_NO_THROW(check(ctx, c));
  if (adds_alike<C>(b) && values_in_use() == value_kind::random)
    EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, scaled(alpha, left), right))));
  else
    EXPECT_TRUE(is_product(c, expected_sparse(C::host_csr(a), C::host_csr(b), alpha)));
}

template <class C> class SpGEMMSort : public engine_test<C> {
protected:
  static void expect_alike_on_battery() {
    int tried = 0;
    C::for_each_matrix([&](const triplets& m) {
      for (const auto& [a, b] : {std::pair{m, exchanged(m)},
                                 {exchanged(m), m},
                                 {m, random_matrix(m.cols, 70, 2, 1)},
                                 {m, random_matrix(m.cols, 30'000, 3, 2)},
                                 {random_matrix(40, m.rows, 1, 3), m}}) {
        if (product_count(a, b) > most_products) continue;
        expect_alike<C>(a, b, -1.5, {});
        ++tried;
      }
    });
    EXPECT_GE(tried, 100);
  }
};
TYPED_TEST_SUITE(SpGEMMSort, all_configs, config_name);
template <class C> class SpGEMMSortFew : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMSortFew, few_configs, config_name);

TYPED_TEST(SpGEMMSort, SameBits) { TestFixture::expect_alike_on_battery(); }

TYPED_TEST(SpGEMMSort, SameIntegers) {
  const with_values in_use(value_kind::integers);
  TestFixture::expect_alike_on_battery();
}

TYPED_TEST(SpGEMMSort, TransposedPatternAndWideOffsets) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"stencil 40 x 40", "arrow", "unsorted", "NaN and Inf values", "9 x 0",
                           "0 x 7", "rows of 0 to 70"}) {
    SCOPED_TRACE(name);
    const auto a = TypeParam::put_csr(battery_matrix(name));
    EXPECT_TRUE(same_matrix(multiply(ctx, a, scaled(3, transposed(a)), by_sorting),
                            copy_to(host(), multiply(ctx, a, scaled(3, transposed(a))))));
    EXPECT_TRUE(same_matrix(multiply_wide(ctx, transposed(a), a, by_sorting),
                            copy_to(host(), multiply_wide(ctx, transposed(a), a))));
    EXPECT_TRUE(same_matrix(multiply_pattern(ctx, transposed(a), a, by_sorting),
                            copy_to(host(), multiply_pattern(ctx, transposed(a), a))));
  }
}

TYPED_TEST(SpGEMMSortFew, OrderOfBIsNoMatter) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    for (const char* name : {"unsorted", "unsorted with duplicates", "duplicates"}) {
      SCOPED_TRACE(name);
      const triplets& m = battery_matrix(name);
      auto a = TypeParam::put_csr(random_matrix(90, m.rows, 4, 4)), b = TypeParam::put_csr(m);
      const auto want =
          expected_sparse(copy_to(host(), a), TypeParam::host_csr(m)); // by products alone
      const auto stated = copy_to(host(), multiply(ctx, a, b, by_sorting));
      EXPECT_TRUE(is_product(stated, want));
      a.state({});
      b.state({});
      EXPECT_TRUE(same_matrix(multiply(ctx, a, b, by_sorting), stated));
    }
  });
}

TYPED_TEST(SpGEMMSortFew, SaysThatOffsetsAreShort) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("band"));
  const std::int64_t entries = multiply(ctx, a, a).size();
  const lowered_narrow_limit lowered(entries - 1);
  EXPECT_EQ(std::int64_t{multiply_wide(ctx, a, a, by_sorting).size()}, entries);
  if (sizeof(typename TypeParam::offset) == 4) {
    EXPECT_THROW((void)multiply(ctx, a, a, by_sorting), unsupported);
  }
}

TYPED_TEST(SpGEMMSortFew, RowsOfEverySize) {
  TypeParam::for_each_value_kind([&] {
    // Around the bounds of classes, with columns that meet never, often and always.
    for (const std::int64_t products :
         {1,   2,   31,  32,  33,   63,   64,   65,   127,  128,  129,  255, 256,
          257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 9000})
      for (const std::int64_t cols : {1, 7, 600, 1'000'000}) {
        SCOPED_TRACE(std::to_string(products) + " products over " + std::to_string(cols) +
                     " columns");
        random_source random(static_cast<std::uint64_t>(products + cols));
        // Rows of B with 0 to 4 entries, in no order; rows of A that need all, one more and one
        // less.
        triplets a{"", 5, 0, {}, {}, {}}, b{"", 0, cols, {}, {}, {}};
        for (std::int64_t made = 0; made < products; ++b.rows) {
          const std::int64_t count =
              std::min(random.below(std::min<std::int64_t>(5, cols + 1)), products - made);
          std::int64_t column = random.below(cols);
          for (std::int64_t k = 0; k < count; ++k) {
            b.add(b.rows, column, random.value());
            column = (column + 1 + random.below(std::max<std::int64_t>(1, cols / 8))) % cols;
          }
          made += count;
        }
        b.rows += 1;
        b.add(b.rows - 1, cols / 2, 2);
        a.cols = b.rows;
        for (std::int64_t k = 0; k + 1 < b.rows; ++k) a.add(0, k, random.value());
        for (std::int64_t k = 0; k < b.rows; ++k) a.add(1, k, random.value());
        for (std::int64_t k = 1; k + 1 < b.rows; ++k) a.add(3, k, random.value());
        a.add(4, b.rows - 1, -0.0);
        expect_alike<TypeParam>(a, b, 1, {});
      }
  });
}

TYPED_TEST(SpGEMMSortFew, HeavyRowsOfEveryKind) {
  TypeParam::for_each_value_kind([&] {
    // Rows of B whose entries lie anywhere, or among few columns of which they all have one; rows
    // of A that need many of the first, of the second, one that needs all of these, and light ones.
    constexpr std::int64_t half = 6000;
    for (const std::int64_t cols : {700, 1'000'000, 6'000'000}) {
      SCOPED_TRACE(std::to_string(cols) + " columns");
      random_source random(static_cast<std::uint64_t>(cols));
      triplets a{"", 330, 2 * half, {}, {}, {}}, b{"", 2 * half, cols, {}, {}, {}};
      for (std::int64_t k = 0; k < 2 * half; ++k) {
        const std::int64_t among = k < half ? cols : 600;
        if (k >= half) b.add(k, 5, random.value());
        for (std::int64_t first = 6, n = 0; n < 4; ++n, first += (among - 6) / 4)
          b.add(k, first + random.below((among - 6) / 4), random.value());
      }
      for (std::int64_t i = 0; i < a.rows; ++i) {
        const bool light = i % 11 == 3, near = i % 11 == 7;
        const std::int64_t step = i == 0 ? 1 : light ? 1500 : 10;
        const std::int64_t begin = i == 0 || near ? half : 0;
        for (std::int64_t k = begin + i % step; k < begin + half; k += step)
          a.add(i, k, random.value());
      }
      b = sorted(b);
      expect_alike<TypeParam>(a, b, 1, {});
      const auto c = multiply(TypeParam::context(), TypeParam::put_csr(a), TypeParam::put_csr(b));
      EXPECT_TRUE(same_matrix(
          c, multiply(host_context({1}), TypeParam::host_csr(a), TypeParam::host_csr(b))));
    }
  });
}

TYPED_TEST(SpGEMMSortFew, RowsOfSeveralBatches) {
  TypeParam::for_each_value_kind([&] {
    // Rows of more products than are expanded at a time where memory is short.
    triplets a{"", 40, 2000, {}, {}, {}}, b{"", 2000, 150, {}, {}, {}};
    random_source random(7);
    for (std::int64_t k = 0; k < a.cols; ++k) {
      a.add(3, k, random.value());
      a.add(39, a.cols - 1 - k, random.value());
      a.add(k % 38, k, random.value());
      for (std::int64_t j = 0; j < 100; ++j) b.add(k, (k + j) % 150, random.value());
    }
    a = by_row(a);
    b = sorted(b);
    for (const std::size_t limit :
         {std::size_t{0}, std::size_t{64'000'000}, std::size_t{8'000'000}})
      expect_alike<TypeParam>(a, b, 0.5, {.memory_limit = limit});
  });
}

TYPED_TEST(SpGEMMSortFew, LimitsAreKeptOrNamed) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"power law", "stencil 40 x 40"}) {
    SCOPED_TRACE(name);
    const auto a = TypeParam::put_csr(battery_matrix(name));
    const auto want = copy_to(host(), multiply(ctx, a, a));
    int met = 0, refused = 0;
    for (std::size_t limit = want.bytes() / 2; limit < 64 * want.bytes(); limit *= 2) {
      try {
        const auto c =
            multiply(ctx, a, a, {.memory_limit = limit, .method = spgemm_method::expand_sort});
        EXPECT_TRUE(same_matrix(c, want));
        ++met;
      } catch (const out_of_memory& e) {
        EXPECT_GT(e.bytes(), limit);
        EXPECT_NE(std::string(e.what()).find(std::to_string(limit)), std::string::npos) << e.what();
        ++refused;
      }
    }
    EXPECT_GT(met, 0);
    EXPECT_GT(refused, 0);
    const auto all = copy_to(host(), multiply_wide(ctx, a, a));
    EXPECT_TRUE(same_matrix(
        multiply_in_parts(ctx, a, a,
                          {.memory_limit = 2'000'000, .method = spgemm_method::expand_sort}),
        all));
  }
}

TYPED_TEST(SpGEMMSortFew, ReportsTellProductsAndEntries) {
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("power law");
  const auto a = TypeParam::put_csr(m);
  for (const auto method : {spgemm_method::adaptive, spgemm_method::expand_sort}) {
    spgemm_report report;
    const auto c = multiply(ctx, a, a, {.method = method, .report = &report});
    EXPECT_EQ(report.products, product_count(m, m));
    EXPECT_EQ(report.entries, std::int64_t{c.size()});
    EXPECT_GT(report.fill, 0);
    EXPECT_GE(report.seconds(), report.fill);
  }
}

TYPED_TEST(SpGEMMSortFew, BroadRows) {
  // Windows or ranges over all columns would take minutes.
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const std::int64_t cols =
      sizeof(I) == 4 ? std::numeric_limits<std::int32_t>::max() - 1 : 1'000'000'000'000;
  TypeParam::for_each_value_kind([&] {
    triplets a = random_matrix(30, 4000, 6, 8);
    random_source random(9);
    for (std::int64_t k = 0; k < a.cols; ++k) a.add(30, k, random.value()); // 32 000 products
    for (std::int64_t k = 0; k < a.cols; k += 6) a.add(31, k, random.value());
    a.rows = 32;
    triplets b = random_matrix(4000, cols, 4, 10);
    for (std::int64_t k = 0; k < b.rows; ++k)
      for (std::int64_t j = 0; j < 4; ++j) // some that meet
        b.add(k, 1000 * (k % 500) + 17 * j, random.value());
    for (std::int64_t& j : b.col) j = std::min(j, cols - 1);
    b = sorted(b);
    expect_alike<TypeParam>(a, b, 2, {});
    const auto left = TypeParam::put_csr(a), right = TypeParam::put_csr(b);
    const auto c = multiply(ctx, left, right);
    EXPECT_TRUE(is_product(c, expected_sparse(TypeParam::host_csr(a), TypeParam::host_csr(b))));
    auto info = multiply_compute(ctx, left, right);
    ASSERT_EQ(info.nnz(), c.size());
    csr<T, I, O, TypeParam::memory_space> d(ctx, info.shape(), info.nnz());
    multiply_fill(ctx, info, left, right, d);
    EXPECT_TRUE(same_matrix(d, copy_to(host(), c)));
    fill(ctx, -7, d.values());
    multiply_refill(ctx, info, left, right, d);
    EXPECT_TRUE(same_matrix(d, copy_to(host(), c)));
    // A pattern that the product does not have: found when values are to be filled again.
    triplets moved = b;
    moved.col.back() = 5;
    EXPECT_THROW(multiply_refill(ctx, info, left, TypeParam::put_csr(sorted(moved)), d), error);
  });
}

} // namespace
} // namespace lacuna::test
