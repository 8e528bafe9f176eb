// Sums, largest and smallest elements of lines and of all, beside the reference.
#include <lacuna/op/reduce.hpp>

#include "reference/elementwise.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using reference::side;

constexpr reduction reductions[] = {reduction::sum, reduction::sum_of_magnitudes,
                                    reduction::sum_of_squares, reduction::max, reduction::min};

template <class C> class Reduce : public engine_test<C> {};
TYPED_TEST_SUITE(Reduce, all_configs, config_name);
template <class C> class ReduceFew : public Reduce<C> {};
TYPED_TEST_SUITE(ReduceFew, few_configs, config_name);

TYPED_TEST(Reduce, Battery) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto columns = TypeParam::put_csc(m);
    const auto all = entries_of(a), by_columns = entries_of(columns);
    for (const reduction how : reductions) {
      SCOPED_TRACE(static_cast<int>(how));
      const bool of_something = how == reduction::max || how == reduction::min;
      if (of_something && m.rows * m.cols == 0) continue;
      const auto rows = reference::reduce<T>(all, how, side::rows);
      const auto cols = reference::reduce<T>(all, how, side::columns);
      const auto whole = reference::reduce<T>(all, how, side::all);
      EXPECT_TRUE(within(host_vector(reduce_rows(ctx, a, how)), rows));
      EXPECT_TRUE(within(host_vector(reduce_columns(ctx, a, how)), cols));
      EXPECT_TRUE(within(std::vector<T>{reduce(ctx, a, how)}, whole));
      // A csc's entries are in another order: duplicates may round otherwise.
      EXPECT_TRUE(within(host_vector(reduce_rows(ctx, columns, how)),
                         reference::reduce<T>(by_columns, how, side::rows)));
      EXPECT_TRUE(within(host_vector(reduce_columns(ctx, columns.view(), how)),
                         reference::reduce<T>(by_columns, how, side::columns)));
    }
  });
}

TYPED_TEST(Reduce, Sizes) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto wide = [](const auto& sizes) {
      const auto all = host_vector(sizes);
      return std::vector<std::int64_t>(all.begin(), all.end());
    };
    EXPECT_TRUE(same(wide(row_sizes(ctx, a)), reference::count_entries(entries_of(a), side::rows)));
    EXPECT_TRUE(
        same(wide(column_sizes(ctx, a)), reference::count_entries(entries_of(a), side::columns)));
  });
}

TYPED_TEST(ReduceFew, ExactSums) {
  // Integers: nothing rounds, so that no entry can be lost.
  using T = typename TypeParam::value;
  const with_values in_use(value_kind::integers);
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const auto all = entries_of(a);
    auto rows = reference::reduce<T>(all, reduction::sum, side::rows);
    auto cols = reference::reduce<T>(all, reduction::sum, side::columns);
    const double most = static_cast<double>(m.size());
    expect_exactly(rows, 1, 0, 2 * most);
    expect_exactly(cols, 1, 0, 2 * most);
    EXPECT_TRUE(within(host_vector(reduce_rows(ctx, a, reduction::sum)), rows));
    EXPECT_TRUE(within(host_vector(reduce_columns(a, reduction::sum)), cols));
    EXPECT_TRUE(
        within(sum(ctx, a), {reference::reduce<T>(all, reduction::sum, side::all).value[0], 0}));
  });
}

TYPED_TEST(ReduceFew, LinesThatEndWhereTilesDo) {
  // A device takes 2304 entries and ends of lines at a time.
  using T = typename TypeParam::value;
  const with_values in_use(value_kind::integers);
  const auto& ctx = TypeParam::context();
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{2303, 2303, 2303},
                                                   {2304, 2302, 1151, 1151, 0, 0},
                                                   {6911, 3},
                                                   std::vector<std::int64_t>(5000, 0),
                                                   std::vector<std::int64_t>(1000, 8),
                                                   {0, 7000, 0}}) {
    triplets m{"lines", std::ssize(lengths), 7000, {}, {}, {}};
    random_source random(5);
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < lengths[static_cast<std::size_t>(i)]; ++j)
        m.add(i, j, random.value());
    const auto a = TypeParam::put_csr(m);
    const auto all = entries_of(a);
    for (const reduction how : reductions) {
      auto rows = reference::reduce<T>(all, how, side::rows);
      expect_exactly(rows, 1, 0, 30'000);
      EXPECT_TRUE(within(host_vector(reduce_rows(ctx, a, how)), rows));
    }
  }
}

TYPED_TEST(ReduceFew, OfNothing) {
  using M = csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
                TypeParam::memory_space>;
  const auto no_columns = TypeParam::put_csr({"3 x 0", 3, 0, {}, {}, {}});
  EXPECT_THROW((void)reduce_rows(no_columns, reduction::max), bad_input);
  EXPECT_THROW((void)reduce(no_columns, reduction::min), bad_input);
  EXPECT_EQ(reduce_columns(no_columns, reduction::max).size(), 0);
  EXPECT_EQ(host_vector(reduce_rows(no_columns, reduction::sum))[2], 0);
  EXPECT_EQ(sum(M()), 0);
  EXPECT_EQ(row_sizes(M()).size(), 0);
  EXPECT_EQ(column_sizes(M()).size(), 0);
}

TYPED_TEST(ReduceFew, OneNorm) {
  using T = typename TypeParam::value;
  const auto a = TypeParam::put_csr({"a", 2, 3, {0, 0, 1}, {0, 2, 2}, {1, -2, 3}});
  EXPECT_EQ(matrix_one_norm(a), T{5});
  EXPECT_EQ(matrix_one_norm(TypeParam::put_csc({"a", 2, 3, {0, 0, 1}, {0, 2, 2}, {1, -2, 3}})),
            T{5});
}

} // namespace
} // namespace lacuna::test
