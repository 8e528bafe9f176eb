// Laws that hold for every matrix, tried on random ones; a failure is shrunk and printed with the
// string that reproduces it (RC_PARAMS).
#include <functional>

#include <rapidcheck.h>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

/// A law about a matrix, given as triplets in any order, duplicates included.
using law = std::function<::testing::AssertionResult(const triplets&)>;

rc::Gen<triplets> any_matrix() {
  return rc::gen::exec([] {
    // Mostly small, where corner cases are; now and then enough entries for several threads.
    const bool large = *rc::gen::weightedElement<bool>({{15, false}, {1, true}});
    const int limit = large ? 3000 : 40;
    triplets m{"random", *rc::gen::inRange(0, limit), *rc::gen::inRange(0, limit), {}, {}, {}};
    if (m.rows == 0 || m.cols == 0) return m;
    if (large) {
      random_source random(*rc::gen::arbitrary<std::uint64_t>());
      const std::int64_t entries = random.below(60'000);
      // Rows of very different lengths.
      for (std::int64_t k = 0; k < entries; ++k)
        m.add(random.below(1 + random.below(m.rows)), random.below(m.cols), random.value());
      return m;
    }
    using entry = std::tuple<int, int, int>;
    const auto entries = *rc::gen::container<std::vector<entry>>(
        rc::gen::tuple(rc::gen::inRange(0, static_cast<int>(m.rows)),
                       rc::gen::inRange(0, static_cast<int>(m.cols)), rc::gen::inRange(-99, 100)));
    const double unit = values_in_use() == value_kind::integers ? 1 : 7;
    for (const auto& [i, j, v] : entries) m.add(i, j, v / unit);
    return m;
  });
}

std::string shown(const triplets& m) {
  std::string text = std::to_string(m.rows) + " x " + std::to_string(m.cols) + ", " +
                     std::to_string(m.size()) + " entries:";
  for (std::size_t k = 0; k < std::min<std::size_t>(m.value.size(), 50); ++k)
    text += " (" + std::to_string(m.row[k]) + ", " + std::to_string(m.col[k]) + ") " +
            std::to_string(m.value[k]);
  return text;
}

/// Tries the law on a hundred matrices.
void expect_law(const law& holds, value_kind kind = value_kind::random) {
  const with_values in_use(kind);
  EXPECT_TRUE(rc::check([&] {
    const triplets m = *any_matrix();
    const auto result = holds(m);
    if (!result) RC_FAIL(std::string(result.message()) + "\n" + shown(m));
  }));
}

/// A law about sums. With integers it holds exactly.
void expect_exact_law(const law& holds) { expect_law(holds, value_kind::integers); }

template <class T>
::testing::AssertionResult equal(const std::vector<T>& got, const std::vector<T>& want) {
  return within(got, {{want.begin(), want.end()}, std::vector<double>(want.size())});
}
template <class T> std::vector<T> sum(std::vector<T> x, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

template <class C> class Property : public engine_test<C> {
protected:
  using vector = std::vector<typename C::value>;
  template <class A> static vector product(const A& a, const vector& x, std::int64_t rows) {
    auto y = C::put(all_nan<typename C::value>(rows));
    multiply(C::context(), a, C::put(x), y);
    return host_vector(y);
  }
};
TYPED_TEST_SUITE(Property, few_configs, config_name);

TYPED_TEST(Property, ProductIsLinear) {
  using T = typename TypeParam::value;
  expect_exact_law([](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.cols, 1), y = random_vector<T>(m.cols, 2);
    return equal(TestFixture::product(a, sum(x, y), m.rows),
                 sum(TestFixture::product(a, x, m.rows), TestFixture::product(a, y, m.rows)));
  });
}

TYPED_TEST(Property, TransposedTwiceIsTheSame) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    auto a = TypeParam::put_csr(m);
    const auto twice = transpose(ctx, transpose(ctx, a));
    sort(ctx, a);
    return same_matrix(twice, copy_to(default_context<space::host>(), a));
  });
}

TYPED_TEST(Property, TransposeIsTheAdjoint) {
  using T = typename TypeParam::value;
  expect_exact_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.rows, 3), y = random_vector<T>(m.cols, 4);
    const auto atx = TestFixture::product(transposed(a), x, m.cols);
    const auto ay = TestFixture::product(a, y, m.rows);
    const T left = dot(ctx, TypeParam::put(atx), TypeParam::put(y));
    const T right = dot(ctx, TypeParam::put(x), TypeParam::put(ay));
    if (left == right) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << left << " and " << right << " differ";
  });
}

TYPED_TEST(Property, CooCsrCooOnlyReorders) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_coo(m);
    return same_entries(entries_of(to_coo(ctx, to_csr(ctx, a))), reference::by_row(entries_of(a)));
  });
}

TYPED_TEST(Property, CsrCscCsrOnlySorts) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    return same_entries(entries_of(to_csr(ctx, to_csc(ctx, a))), reference::sort(entries_of(a)));
  });
}

TYPED_TEST(Property, SortTwiceIsSortOnce) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    auto rows = TypeParam::put_csr(m);
    const auto want = reference::sort(entries_of(rows));
    auto triples = TypeParam::put_coo(m);
    for (int times = 0; times < 2; ++times) {
      rows.state({});
      sort(ctx, rows);
      triples.state({});
      sort(ctx, triples);
      if (auto r = same_entries(entries_of(rows), want); !r) return r << " (csr)";
      if (auto r = same_entries(entries_of(triples), want); !r) return r << " (coo)";
    }
    return ::testing::AssertionSuccess();
  });
}

TYPED_TEST(Property, MergingKeepsTheProduct) {
  using T = typename TypeParam::value;
  expect_exact_law([](const triplets& m) {
    const auto& ctx = TypeParam::context();
    const auto merged = merge_duplicates(ctx, TypeParam::put_csr(m), duplicates::sum);
    check(ctx, merged);
    const auto x = random_vector<T>(m.cols, 5);
    return within(TestFixture::product(merged, x, m.rows),
                  expected_product(1, TypeParam::host_csr(m), false, x));
  });
}

TYPED_TEST(Property, DenseThereAndBack) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    using I = typename TypeParam::index;
    using O = typename TypeParam::offset;
    const auto& ctx = TypeParam::context();
    if (m.rows * m.cols > 1'000'000) return ::testing::AssertionSuccess();
    // Zeros are dropped once, in the first dense copy; after that nothing may change.
    const auto a = to_csr<I, O>(ctx, to_dense(ctx, TypeParam::put_csr(m)));
    check(ctx, a);
    for (const layout l : {layout::row_major, layout::column_major})
      if (auto r = same_entries(entries_of(to_csr<I, O>(ctx, to_dense(ctx, a, l))), entries_of(a));
          !r)
        return r;
    return ::testing::AssertionSuccess();
  });
}

TYPED_TEST(Property, BlocksAreVectorsSideBySide) {
  using T = typename TypeParam::value;
  expect_exact_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    constexpr std::int64_t columns = 3;
    const auto x = random_vector<T>(m.cols * columns, 6);
    const auto x_on_engine = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(m.rows * columns));
    multiply(
        ctx, a,
        dense_view<const T, TypeParam::memory_space>(x_on_engine.data(), {m.cols, columns},
                                                     layout::column_major),
        dense_view<T, TypeParam::memory_space>(y.data(), {m.rows, columns}, layout::column_major));
    const auto got = host_vector(y);
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::vector<T> column(x.begin() + j * m.cols, x.begin() + (j + 1) * m.cols);
      const std::vector<T> result(got.begin() + j * m.rows, got.begin() + (j + 1) * m.rows);
      if (auto r = within(result, expected_product(1, host, false, column)); !r) return r;
    }
    return ::testing::AssertionSuccess();
  });
}

TYPED_TEST(Property, SumsCommute) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    auto halved = m; // another pattern of the same shape: every second entry, and its mirror
    halved.row.clear(), halved.col.clear(), halved.value.clear();
    for (std::size_t k = 0; k < m.value.size(); k += 2)
      halved.add(m.row[k], m.cols - 1 - m.col[k], m.value[k] / 3);
    const auto b = TypeParam::put_csr(halved);
    const auto host = [](const auto& c) { return copy_to(default_context<space::host>(), c); };
    const auto left = add(ctx, scaled(0.7, a), scaled(-1.3, b));
    return same_matrix(left, host(add(ctx, scaled(-1.3, b), scaled(0.7, a))));
  });
}

TYPED_TEST(Property, TheSumOfProductsIsTheProductOfTheSum) {
  using T = typename TypeParam::value;
  expect_exact_law([](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    auto moved = m;
    for (std::size_t k = 0; k < m.value.size(); k += 3) moved.col[k] = (m.col[k] + 1) % m.cols;
    const auto b = TypeParam::put_csr(moved);
    const auto x = random_vector<T>(m.cols, 5);
    return equal(TestFixture::product(add(TypeParam::context(), a, b), x, m.rows),
                 sum(TestFixture::product(a, x, m.rows), TestFixture::product(b, x, m.rows)));
  });
}

TYPED_TEST(Property, AMatrixLessItselfIsExplicitZeros) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    const auto zero = add(ctx, a, scaled(-1, a));
    for (const auto v : host_vector(zero.values()))
      if (v != 0) return ::testing::AssertionFailure() << v << " is left";
    const auto merged = merge_duplicates(ctx, a);
    return same(host_vector(zero.colind()), host_vector(merged.colind()));
  });
}

TYPED_TEST(Property, TransposingASumIsAddingTransposes) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    auto moved = m;
    for (std::size_t k = 0; k < m.value.size(); k += 2) moved.row[k] = (m.row[k] + 1) % m.rows;
    const auto b = TypeParam::put_csr(moved);
    const auto sum_transposed = transpose(ctx, add(ctx, a, b));
    return same_matrix(sum_transposed, copy_to(default_context<space::host>(),
                                               add(ctx, transposed(a), transposed(b))));
  });
}

TYPED_TEST(Property, AddingInPlaceIsAdding) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    auto half = m;
    half.row.clear(), half.col.clear(), half.value.clear();
    for (std::size_t k = 0; k < m.value.size(); k += 2) half.add(m.row[k], m.col[k], m.value[k]);
    const auto b = TypeParam::put_csr(half);
    auto c = merge_duplicates(ctx, a);
    const auto want = copy_to(default_context<space::host>(), add(ctx, c, scaled(0.3, b)));
    add_to(ctx, scaled(0.3, b), c);
    return same_matrix(c, want);
  });
}

TYPED_TEST(Property, SparseProductActsLikeItsFactors) {
  using T = typename TypeParam::value;
  expect_exact_law([](const triplets& m) {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    const auto b = TypeParam::put_csr(random_matrix(m.cols, 70, 2, 1));
    const auto c = multiply(ctx, scaled(0.5, a), b);
    check(ctx, c);
    const auto x = random_vector<T>(70, 3);
    return equal(TestFixture::product(c, x, m.rows),
                 TestFixture::product(scaled(0.5, a), TestFixture::product(b, x, m.cols), m.rows));
  });
}

TYPED_TEST(Property, SparseProductTransposed) {
  expect_law([](const triplets& m) -> ::testing::AssertionResult {
    const auto& ctx = TypeParam::context();
    const auto a = TypeParam::put_csr(m);
    const auto b = TypeParam::put_csr(random_matrix(m.cols, 50, 2, 2));
    // (A B)^T = B^T A^T: the same pattern; the products of an entry come in the same order where
    // A's rows are sorted, so the same bits.
    auto sorted_a = copy_to(ctx, a);
    sort(ctx, sorted_a);
    const auto left = transpose(ctx, multiply(ctx, sorted_a, b));
    const auto right = multiply(ctx, transposed(b), transposed(sorted_a));
    if (!sorted_a.order().unique)
      return same(host_vector(left.colind()), host_vector(right.colind()));
    return same_entries(entries_of(left), entries_of(right));
  });
}

TYPED_TEST(Property, SparseProductDistributes) {
  expect_exact_law([](const triplets& m) {
    const auto& ctx = TypeParam::context();
    const auto x = random_matrix(m.cols, 40, 2, 3), y = random_matrix(m.cols, 40, 2, 4);
    triplets both = x; // B + C: all entries of either, duplicates add up
    for (std::size_t k = 0; k < y.value.size(); ++k) both.add(y.row[k], y.col[k], y.value[k]);
    const auto a = TypeParam::put_csr(m);
    const auto dense_of = [&](const triplets& b) {
      return reference::to_dense(entries_of(multiply(ctx, a, TypeParam::put_csr(b))));
    };
    return equal(dense_of(both), sum(dense_of(x), dense_of(y)));
  });
}

} // namespace
} // namespace lacuna::test
