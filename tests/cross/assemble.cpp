// Matrices from parts of others, from diagonals and at random; functions of values.
#include <numeric>

#include <lacuna/op/assemble.hpp>
#include <lacuna/op/diagonals.hpp>
#include <lacuna/op/gather.hpp>
#include <lacuna/op/map_values.hpp>

#include "reference/elementwise.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using numbers = std::vector<std::int64_t>;

/// Any order, some twice, some never.
numbers some_of(std::int64_t limit, std::int64_t count, std::uint64_t seed) {
  random_source random(seed);
  numbers result;
  for (std::int64_t k = 0; k < count && limit > 0; ++k) result.push_back(random.below(limit));
  return result;
}
facts both(facts a, facts b) { return {a.sorted && b.sorted, a.unique && b.unique}; }

template <class C> class Assemble : public engine_test<C> {
protected:
  template <class M>
  static void expect_is(const M& got, const reference::triplets& want, facts order) {
    EXPECT_NO_THROW(check(C::context(), got));
    EXPECT_EQ(got.order(), order);
    EXPECT_EQ(got.shape().row, want.shape.row);
    EXPECT_EQ(got.shape().col, want.shape.col);
    EXPECT_TRUE(same_sums(entries_of(got), want));
  }
  static std::vector<typename C::index> narrow(const numbers& list) {
    return {list.begin(), list.end()};
  }
};
TYPED_TEST_SUITE(Assemble, internal::all_on<host_engine>, config_name);
template <class C> class AssembleFew : public Assemble<C> {};
TYPED_TEST_SUITE(AssembleFew, internal::few_on<host_engine>, config_name);

TYPED_TEST(Assemble, Elements) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    auto a = TypeParam::host_csr(m);
    numbers rows = some_of(m.rows, m.cols == 0 ? 0 : 300, 1),
            cols = some_of(m.cols, std::ssize(rows), 2);
    for (std::int64_t k = 0; k < m.size(); k += std::max<std::int64_t>(m.size() / 200, 1)) {
      rows.push_back(m.row[static_cast<std::size_t>(k)]);
      cols.push_back(m.col[static_cast<std::size_t>(k)]);
    }
    const auto want = reference::elements<T>(entries_of(a), rows, cols);
    const auto get = [&] {
      const auto got =
          host_vector(elements(ctx, a, TestFixture::narrow(rows), TestFixture::narrow(cols)));
      return within(got, {{want.begin(), want.end()}, std::vector<double>(want.size())});
    };
    EXPECT_TRUE(get());
    a.state({}); // every entry of a row is looked at
    EXPECT_TRUE(get());
  });
}

TYPED_TEST(Assemble, Gather) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::host_csr(m);
    const auto all = entries_of(a);
    const numbers rows = some_of(m.rows, std::min<std::int64_t>(m.rows, 500), 3);
    numbers cols = some_of(m.cols, std::min<std::int64_t>(m.cols, 3000), 4);
    TestFixture::expect_is(
        gather(ctx, a, TestFixture::narrow(rows), TestFixture::narrow(cols)),
        reference::gather(all, rows, cols),
        {a.order().sorted && std::is_sorted(cols.begin(), cols.end()), a.order().unique});
    numbers all_columns(static_cast<std::size_t>(m.cols));
    std::iota(all_columns.begin(), all_columns.end(), 0);
    TestFixture::expect_is(gather(ctx, a, TestFixture::narrow(rows)),
                           reference::gather(all, rows, all_columns), a.order());
    std::sort(cols.begin(), cols.end()); // some twice
    numbers every(static_cast<std::size_t>(m.rows));
    std::iota(every.begin(), every.end(), 0);
    const bool twice = std::adjacent_find(cols.begin(), cols.end()) != cols.end();
    TestFixture::expect_is(gather(ctx, a, {}, TestFixture::narrow(cols)),
                           reference::gather(all, every, cols),
                           {a.order().sorted && (a.order().unique || !twice), a.order().unique});
  });
}

TYPED_TEST(Assemble, Stacks) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::host_csr(m);
    triplets n = m;
    n.cols += 3;
    const auto b = TypeParam::host_csr(n);
    n = m;
    n.rows += 2;
    const auto c = TypeParam::host_csr(n);
    const auto in_a = entries_of(a), in_b = entries_of(b), in_c = entries_of(c);
    TestFixture::expect_is(hstack(ctx, a, b),
                           reference::put_beside(in_a, in_b, 0, m.cols, {m.rows, 2 * m.cols + 3}),
                           a.order());
    TestFixture::expect_is(vstack(ctx, a, c),
                           reference::put_beside(in_a, in_c, m.rows, 0, {2 * m.rows + 2, m.cols}),
                           a.order());
    const auto two =
        reference::put_beside(in_a, in_b, m.rows, m.cols, {2 * m.rows, 2 * m.cols + 3});
    TestFixture::expect_is(block_diag(ctx, a, b), two, a.order());
    const std::vector list = {a.view(), b.view(), c.view()};
    TestFixture::expect_is(block_diag(ctx, list),
                           reference::put_beside(two, in_c, 2 * m.rows, 2 * m.cols + 3,
                                                 {3 * m.rows + 2, 3 * m.cols + 3}),
                           a.order());
  });
}

TYPED_TEST(Assemble, Kronecker) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto small = TypeParam::host_csr({"small", 2, 3, {0, 0, 1}, {2, 0, 1}, {2, -0.3, 7}});
  const auto in_small = entries_of(small);
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::host_csr(m);
    TestFixture::expect_is(kron(ctx, a, small), reference::kron<T>(entries_of(a), in_small),
                           both(a.order(), small.order()));
    TestFixture::expect_is(kron(ctx, small, a), reference::kron<T>(in_small, entries_of(a)),
                           both(a.order(), small.order()));
  });
}

TYPED_TEST(AssembleFew, Reshaped) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::host_csr(m);
    if (m.rows * m.cols > 2'000'000) return;
    for (const index<std::int64_t> shape :
         {index<std::int64_t>{m.cols, m.rows}, index<std::int64_t>{m.rows * m.cols, 1},
          index<std::int64_t>{1, m.rows * m.cols}}) {
      const auto b = reshape(ctx, a, shape);
      EXPECT_NO_THROW(check(ctx, b));
      EXPECT_TRUE(same_entries(entries_of(b), reference::reshape(entries_of(a), shape)));
    }
  });
  const auto a = TypeParam::host_csr(battery_matrix("wide"));
  EXPECT_THROW((void)reshape(a, {a.shape().row, a.shape().col + 1}), bad_input);
}

TYPED_TEST(AssembleFew, Diagonals) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const auto& [rows, cols] :
       {std::pair{5, 5}, {3, 7}, {7, 3}, {0, 4}, {4, 0}, {40'000, 40'000}, {1, 1}})
    for (const std::int64_t k : {0, 1, -1, 2, -6, 9}) {
      const auto e = eye<T, I, O>(ctx, {rows, cols}, k);
      EXPECT_NO_THROW(check(ctx, e));
      EXPECT_EQ(e.order(), (facts{true, true}));
      reference::triplets want{{rows, cols}, {}, {}, {}};
      for (std::int64_t i = 0; i < rows; ++i)
        if (i + k >= 0 && i + k < cols) {
          want.row.push_back(i);
          want.col.push_back(i + k);
          want.value.push_back(1);
        }
      EXPECT_TRUE(same_entries(entries_of(e), want)) << rows << " x " << cols << ", " << k;
    }
  const auto a = from_diagonals<I, O>(ctx, {3, 4}, {1, -2, 0},
                                      std::vector<std::vector<T>>{{1, 2, 3}, {4}, {5, 6, 7}});
  EXPECT_TRUE(
      same_entries(entries_of(a),
                   {{3, 4}, {0, 0, 1, 1, 2, 2, 2}, {0, 1, 1, 2, 0, 2, 3}, {5, 1, 6, 2, 4, 7, 3}}));
  const std::vector<std::vector<T>> two = {{1}, {2}};
  EXPECT_THROW((void)(from_diagonals<I, O>({3, 3}, {0, 0}, two)), bad_input);
  EXPECT_THROW((void)(from_diagonals<I, O>({3, 3}, {0, 3}, two)), bad_input);
  EXPECT_THROW((void)(from_diagonals<I, O>({3, 3}, {0}, two)), size_mismatch);
  EXPECT_THROW((void)(from_diagonals<I, O>({3, 3}, {0}, std::vector<std::vector<T>>{{1, 2}})),
               size_mismatch);
}

TYPED_TEST(AssembleFew, AtRandom) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const double density : {0., 0.001, 0.3, 1.}) {
    const auto a = random_csr<T, I, O>(ctx, {300, 217}, density, 5);
    EXPECT_NO_THROW(check(ctx, a));
    EXPECT_EQ(a.order(), (facts{true, true}));
    EXPECT_EQ(a.size(), std::llround(density * 300 * 217));
    for (const T v : a.values()) EXPECT_TRUE(v >= 0 && v < 1);
    EXPECT_TRUE(same_matrix(random_csr<T, I, O>({300, 217}, density, 5), a));
  }
  EXPECT_FALSE(
      same_matrix(random_csr<T, I, O>({30, 21}, 0.3, 5), random_csr<T, I, O>({30, 21}, 0.3, 6)));
  EXPECT_EQ((random_csr<T, I, O>({0, 5}, 1, 5).size()), 0);
  EXPECT_THROW((void)(random_csr<T, I, O>({3, 3}, 1.5, 5)), bad_input);
  EXPECT_THROW((void)(random_csr<T, I, O>({3, 3}, NAN, 5)), bad_input);
}

TYPED_TEST(AssembleFew, MappedValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    auto a = TypeParam::put_csr(m);
    auto want = entries_of(a);
    for (double& v : want.value) v = std::abs(v);
    TestFixture::expect_is(map_values(ctx, a, [](T v) { return std::abs(v); }), want, a.order());
    transform_values(ctx, a, [](T v) { return std::abs(v); });
    TestFixture::expect_is(a, want, a.order());
    const auto columns = TypeParam::put_csc(m);
    EXPECT_TRUE(same_matrix(map_values(columns, [](T v) { return v; }), columns));
  });
  const auto a = TypeParam::host_csr(battery_matrix("one huge row"));
  const auto fail = [](T v) -> T { return v == v ? throw std::domain_error("no") : v; };
  EXPECT_THROW((void)map_values(ctx, a, fail), std::domain_error);
}

TYPED_TEST(AssembleFew, Refuses) {
  const auto& ctx = TypeParam::context();
  using I = typename TypeParam::index;
  const auto a = TypeParam::host_csr(battery_matrix("wide"));
  const auto b = TypeParam::host_csr(battery_matrix("tall"));
  EXPECT_THROW((void)hstack(ctx, a, b), size_mismatch);
  EXPECT_THROW((void)vstack(ctx, a, b), size_mismatch);
  const std::vector<decltype(a.view())> none;
  EXPECT_THROW((void)vstack(none), bad_input);
  EXPECT_THROW((void)elements(a, std::vector<I>{0, 1}, std::vector<I>{0}), size_mismatch);
  EXPECT_THROW((void)elements(a, std::vector<I>{0}, std::vector<I>{-1}), bad_input);
  EXPECT_THROW((void)gather(a, {}, std::vector<I>{a.shape().col}), bad_input);
  try {
    (void)gather(a, std::vector<I>{0, a.shape().row}, std::vector<I>{0});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const bad_input& e) {
    EXPECT_NE(std::string(e.what()).find("rows[1]"), std::string::npos) << e.what();
  }
}

} // namespace
} // namespace lacuna::test
