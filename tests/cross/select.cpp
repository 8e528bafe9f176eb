// Diagonals, scaled rows and columns, triangles, filters and submatrices, as the reference has
// them.
#include <numeric>

#include "core/narrow_limit.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using numbers = std::vector<std::int64_t>;

numbers range_of(std::int64_t first, std::int64_t last) {
  numbers result(static_cast<std::size_t>(last - first));
  std::iota(result.begin(), result.end(), first);
  return result;
}

template <class C> class Select : public engine_test<C> {
protected:
  template <class M>
  static void expect_is(const M& got, const reference::triplets& want, facts order) {
    EXPECT_NO_THROW(check(C::context(), got));
    EXPECT_EQ(got.order(), order);
    EXPECT_EQ(got.shape().row, want.shape.row);
    EXPECT_EQ(got.shape().col, want.shape.col);
    EXPECT_TRUE(same_entries(entries_of(got), want));
  }
  static auto put_list(const numbers& list) {
    const std::vector<typename C::index> narrow(list.begin(), list.end());
    return copy_to(C::context(), narrow);
  }
};
TYPED_TEST_SUITE(Select, all_configs, config_name);
template <class C> class SelectFew : public Select<C> {};
TYPED_TEST_SUITE(SelectFew, few_configs, config_name);

TYPED_TEST(Select, Diagonal) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    auto a = TypeParam::put_csr(m);
    const auto want = reference::diagonal<T>(entries_of(a));
    EXPECT_TRUE(within(host_vector(diagonal(ctx, a)), want));
    a.state({}); // every entry is looked at
    auto into = TypeParam::put(all_nan<T>(std::min(m.rows, m.cols)));
    diagonal(ctx, a, into);
    EXPECT_TRUE(within(host_vector(into), want));
    const auto bits = host_vector(into);
    diagonal(ctx, a.view(), into.view());
    EXPECT_TRUE(same(host_vector(into), bits));
    EXPECT_TRUE(within(host_vector(diagonal(ctx, TypeParam::put_csc(m))), want));
  });
}

TYPED_TEST(Select, ScaledRowsAndColumns) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto host = entries_of(TypeParam::host_csr(m));
    const auto rows = special_vector<T>(m.rows, 1), columns = special_vector<T>(m.cols, 2);
    auto a = TypeParam::put_csr(m);
    const facts order = a.order();
    scale_rows(ctx, a, TypeParam::put(rows));
    EXPECT_TRUE(same_sums(entries_of(a), reference::scale<T>(host, rows, {})));
    scale_columns(ctx, a.view(), TypeParam::put(columns));
    EXPECT_TRUE(same_sums(entries_of(a), reference::scale<T>(host, rows, columns)));
    EXPECT_EQ(a.order(), order);
    auto c = TypeParam::put_csc(m);
    scale_columns(ctx, c, TypeParam::put(columns));
    scale_rows(ctx, c, TypeParam::put(rows));
    const auto by_columns = entries_of(TypeParam::put_csc(m));
    // Columns first: rounds and makes NaN otherwise than rows first.
    auto want = reference::scale<T>(by_columns, {}, columns);
    want = reference::scale<T>(want, rows, {});
    EXPECT_TRUE(same_sums(entries_of(c), want));
  });
}

TYPED_TEST(Select, Triangles) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto all = entries_of(a);
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2}, -m.rows,
                                 m.cols, std::numeric_limits<std::int64_t>::min()}) {
      SCOPED_TRACE(k);
      TestFixture::expect_is(
          tril(ctx, a, k),
          reference::filter(all, [k](auto i, auto j, double) { return j - i <= k; }), a.order());
      if (k >= 0)
        TestFixture::expect_is(
            triu(ctx, a, k),
            reference::filter(all, [k](auto i, auto j, double) { return j >= i + k; }), a.order());
    }
  });
}

TYPED_TEST(Select, FilteredByRules) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto all = entries_of(a);
    const auto expect_kept = [&](const entry_rule& rule, auto keep) {
      TestFixture::expect_is(filter(ctx, a, rule), reference::filter(all, keep), a.order());
    };
    expect_kept({}, [](auto, auto, double) { return true; });
    expect_kept(keep_nonzero, [](auto, auto, double v) { return v != 0; });
    expect_kept(keep_at_least(1), [](auto, auto, double v) { return !(std::abs(v) < 1); });
    expect_kept(keep_within_band(3), [](auto i, auto j, double) { return std::abs(i - j) < 3; });
    expect_kept(
        keep_off_diagonal & keep_at_least(0.9) & keep_upper(-5),
        [](auto i, auto j, double v) { return i != j && !(std::abs(v) < 0.9) && j - i >= -5; });
    expect_kept(keep_within_band(0), [](auto, auto, double) { return false; });
    if (m.rows != m.cols) {
      EXPECT_THROW((void)filter(ctx, a, keep_strong(0.5)), size_mismatch);
      return;
    }
    const auto d = host_vector(diagonal(ctx, a));
    expect_kept(keep_strong(0.75), [&](auto i, auto j, double v) {
      const double left = static_cast<double>(d[static_cast<std::size_t>(i)]),
                   right = static_cast<double>(d[static_cast<std::size_t>(j)]);
      return !(std::abs(v) < 0.75 * std::sqrt(std::abs(left * right)));
    });
  });
  // Beyond the range of products in double the roots are multiplied.
  if (sizeof(T) == 8) {
    triplets m{"large", 2, 2, {}, {}, {}};
    for (const auto& [i, j, v] :
         {std::tuple{0, 0, 1e200}, {0, 1, 2e199}, {1, 0, 4e199}, {1, 1, 1e200}})
      m.add(i, j, v);
    EXPECT_EQ(filter(ctx, TypeParam::put_csr(m), keep_strong(0.25)).size(), 3);
  }
}

TYPED_TEST(Select, Submatrices) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto all = entries_of(a);
    const facts order = a.order(), unsorted{false, order.unique};
    const numbers every_row = range_of(0, m.rows), every_column = range_of(0, m.cols);
    TestFixture::expect_is(submatrix(ctx, a, {}, {}), all, order);
    const std::int64_t top = m.rows / 3, left = m.cols / 4, right = m.cols - m.cols / 5;
    TestFixture::expect_is(submatrix(ctx, a, {top, m.rows}, {left, right}),
                           reference::submatrix(all, range_of(top, m.rows), range_of(left, right)),
                           order);
    TestFixture::expect_is(submatrix(ctx, a, {0, top}, {.first = left}),
                           reference::submatrix(all, range_of(0, top), range_of(left, m.cols)),
                           order);
    // Backwards and with repeats; every second column backwards, and forwards.
    numbers rows = every_row, back, forth;
    std::reverse(rows.begin(), rows.end());
    rows.insert(rows.end(), every_row.begin(), every_row.begin() + top);
    for (std::int64_t j = 0; j < m.cols; j += 2) forth.push_back(j);
    back.assign(forth.rbegin(), forth.rend());
    const auto row_list = TestFixture::put_list(rows), back_list = TestFixture::put_list(back),
               forth_list = TestFixture::put_list(forth);
    TestFixture::expect_is(submatrix(ctx, a, row_list, {}),
                           reference::submatrix(all, rows, every_column), order);
    TestFixture::expect_is(submatrix(ctx, a, row_list, back_list),
                           reference::submatrix(all, rows, back),
                           back.size() < 2 ? order : unsorted);
    TestFixture::expect_is(submatrix(ctx, a, {top}, forth_list.view()),
                           reference::submatrix(all, range_of(top, m.rows), forth), order);
  });
}

TYPED_TEST(SelectFew, BadRangesAndListsAreNamed) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("unsorted")); // 130 x 140
  const auto expect_message = [&](const std::string& part, auto call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown: " << part;
    } catch (const bad_input& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  for (const line_range r : {line_range{-1, 5}, {0, 131}, {7, 6}, {131}})
    EXPECT_THROW((void)submatrix(ctx, a, r, {}), bad_input);
  expect_message("rows [0, 131) do not lie within the 130", [&] {
    (void)submatrix(ctx, a, {0, 131}, {});
  });
  expect_message("columns [200, end) do not lie within the 140",
                 [&] { (void)submatrix(ctx, a, {}, {200}); });
  const auto outside = TestFixture::put_list({3, 3, 130, 3, -1});
  expect_message("rows[2] = 130 is outside of the 130",
                 [&] { (void)submatrix(ctx, a, outside, {}); });
  const auto negative = TestFixture::put_list({3, -1});
  expect_message("columns[1] = -1 is outside of the 140",
                 [&] { (void)submatrix(ctx, a, {}, negative); });
  const auto twice = TestFixture::put_list({3, 5, 7, 5, 3, 200});
  expect_message("columns[3] = 5 stands in the list twice",
                 [&] { (void)submatrix(ctx, a, {}, twice); });
  EXPECT_EQ(submatrix(ctx, a, TestFixture::put_list({}), TestFixture::put_list({})).size(), 0);
  EXPECT_THROW((void)filter(ctx, a, keep_at_least(std::nan(""))), bad_input);
  auto b = TypeParam::put_csr(battery_matrix("unsorted"));
  const auto before = entries_of(b);
  EXPECT_THROW(scale_rows(ctx, b, TypeParam::put(std::vector<T>(140))), size_mismatch);
  EXPECT_THROW(scale_columns(ctx, b, TypeParam::put(std::vector<T>(130))), size_mismatch);
  auto d = TypeParam::put(std::vector<T>(140));
  EXPECT_THROW(diagonal(ctx, a, d), size_mismatch);
  EXPECT_TRUE(same_entries(entries_of(b), before));
}

TYPED_TEST(SelectFew, DefaultConstructedAndTooMany) {
  using M = csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
                TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  M nothing;
  EXPECT_EQ(diagonal(ctx, nothing).size(), 0);
  EXPECT_EQ(tril(nothing).rowptr().size(), 1);
  EXPECT_EQ(submatrix(ctx, nothing, {}, {}).size(), 0);
  scale_rows(ctx, nothing, TypeParam::put({}));
  // Repeated rows may have more entries than offsets can number.
  const auto a = TypeParam::put_csr(battery_matrix("dense"));
  const auto rows = TestFixture::put_list(numbers(10, 3));
  const auto before = lacuna::detail::set_narrow_limit(449);
  if (sizeof(typename TypeParam::offset) == 4) {
    EXPECT_THROW((void)submatrix(ctx, a, rows, {}), bad_input);
  } else {
    EXPECT_EQ(submatrix(ctx, a, rows, {}).size(), 450);
  }
  lacuna::detail::set_narrow_limit(before);
}

TEST(SelectOnTheHost, FilteredByAFunction) {
  const auto a = make_csr<double, std::int32_t, std::int32_t>(battery_matrix("duplicates"));
  const auto all = entries_of(a);
  std::int64_t calls = 0;
  const auto keep = [&](int i, int j, double v) {
    ++calls;
    return (i + j) % 3 == 0 && v > 0;
  };
  const auto got = filter(a, keep);
  EXPECT_EQ(calls, a.size());
  EXPECT_EQ(got.order(), a.order());
  EXPECT_TRUE(same_entries(entries_of(got), reference::filter(all, [](auto i, auto j, double v) {
                             return (i + j) % 3 == 0 && v > 0;
                           })));
  EXPECT_THROW(
      (void)filter(a, [](int, int, double) -> bool { throw std::runtime_error("enough"); }),
      std::runtime_error);
}

} // namespace
} // namespace lacuna::test
