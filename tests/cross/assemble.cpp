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
  static auto put_list(const numbers& list) {
    return copy_to(C::context(), std::vector<typename C::index>(list.begin(), list.end()));
  }
};
TYPED_TEST_SUITE(Assemble, all_configs, config_name);
template <class C> class AssembleFew : public Assemble<C> {};
TYPED_TEST_SUITE(AssembleFew, few_configs, config_name);

TYPED_TEST(Assemble, Elements) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    auto a = TypeParam::put_csr(m);
    numbers rows = some_of(m.rows, m.cols == 0 ? 0 : 300, 1),
            cols = some_of(m.cols, std::ssize(rows), 2);
    for (std::int64_t k = 0; k < m.size(); k += std::max<std::int64_t>(m.size() / 200, 1)) {
      rows.push_back(m.row[static_cast<std::size_t>(k)]);
      cols.push_back(m.col[static_cast<std::size_t>(k)]);
    }
    const auto want = reference::elements<T>(entries_of(a), rows, cols);
    const auto get = [&] {
      const auto got =
          host_vector(elements(ctx, a, TestFixture::put_list(rows), TestFixture::put_list(cols)));
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
    const auto a = TypeParam::put_csr(m);
    const auto all = entries_of(a);
    const numbers rows = some_of(m.rows, std::min<std::int64_t>(m.rows, 500), 3);
    numbers cols = some_of(m.cols, std::min<std::int64_t>(m.cols, 3000), 4);
    TestFixture::expect_is(
        gather(ctx, a, TestFixture::put_list(rows), TestFixture::put_list(cols)),
        reference::gather(all, rows, cols),
        {a.order().sorted && std::is_sorted(cols.begin(), cols.end()), a.order().unique});
    numbers all_columns(static_cast<std::size_t>(m.cols));
    std::iota(all_columns.begin(), all_columns.end(), 0);
    TestFixture::expect_is(gather(ctx, a, TestFixture::put_list(rows)),
                           reference::gather(all, rows, all_columns), a.order());
    std::sort(cols.begin(), cols.end()); // some twice
    numbers every(static_cast<std::size_t>(m.rows));
    std::iota(every.begin(), every.end(), 0);
    const bool twice = std::adjacent_find(cols.begin(), cols.end()) != cols.end();
    TestFixture::expect_is(gather(ctx, a, {}, TestFixture::put_list(cols)),
                           reference::gather(all, every, cols),
                           {a.order().sorted && (a.order().unique || !twice), a.order().unique});
  });
}

TYPED_TEST(Assemble, Stacks) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    triplets n = m;
    n.cols += 3;
    const auto b = TypeParam::put_csr(n);
    n = m;
    n.rows += 2;
    const auto c = TypeParam::put_csr(n);
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
  const auto small = TypeParam::put_csr({"small", 2, 3, {0, 0, 1}, {2, 0, 1}, {2, -0.3, 7}});
  const auto in_small = entries_of(small);
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    TestFixture::expect_is(kron(ctx, a, small), reference::kron<T>(entries_of(a), in_small),
                           both(a.order(), small.order()));
    TestFixture::expect_is(kron(ctx, small, a), reference::kron<T>(in_small, entries_of(a)),
                           both(a.order(), small.order()));
  });
}

TYPED_TEST(AssembleFew, Reshaped) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    if (m.rows * m.cols > 2'000'000) return;
    for (const index<std::int64_t> shape :
         {index<std::int64_t>{m.cols, m.rows}, index<std::int64_t>{m.rows * m.cols, 1},
          index<std::int64_t>{1, m.rows * m.cols}}) {
      const auto b = reshape(ctx, a, shape);
      EXPECT_NO_THROW(check(ctx, b));
      EXPECT_TRUE(same_entries(entries_of(b), reference::reshape(entries_of(a), shape)));
    }
  });
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  EXPECT_THROW((void)reshape(a, {a.shape().row, a.shape().col + 1}), bad_input);
}

TYPED_TEST(AssembleFew, ManyBlocks) {
  using M = csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
                TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr({"a", 3, 2, {0, 0, 2}, {1, 0, 1}, {2, -0.5, 7}});
  const auto empty = TypeParam::put_csr({"empty", 3, 5, {}, {}, {}});
  const M none;
  std::vector<decltype(a.view())> list;
  reference::triplets diagonal{{0, 0}, {}, {}, {}}, beside{{3, 0}, {}, {}, {}};
  const auto add = [&](const M& block, bool to_both) {
    const auto in_block = entries_of(block);
    const auto put = [&](reference::triplets& to, std::int64_t row) {
      const std::int64_t col = to.shape.col;
      to = reference::put_beside(to, in_block, row, col,
                                 {row + in_block.shape.row, col + in_block.shape.col});
    };
    put(diagonal, diagonal.shape.row);
    if (to_both) put(beside, 0);
    list.push_back(block.view());
  };
  for (int k = 0; k < 90; ++k) add(k % 3 == 0 ? empty : a, true);
  TestFixture::expect_is(hstack(ctx, list), beside, both(a.order(), empty.order()));
  list.insert(list.begin(), 2, none.view());
  add(none, false);
  TestFixture::expect_is(block_diag(ctx, list), diagonal,
                         both(both(a.order(), empty.order()), none.order()));
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
  const auto refuse = [&](const std::vector<std::int64_t>& offsets,
                          const std::vector<std::vector<T>>& diagonals) {
    (void)from_diagonals<I, O>(ctx, {3, 3}, offsets, diagonals);
  };
  EXPECT_THROW(refuse({0, 0}, {{1}, {2}}), bad_input);
  EXPECT_THROW(refuse({0, 3}, {{1}, {2}}), bad_input);
  EXPECT_THROW(refuse({0}, {{1}, {2}}), size_mismatch);
  EXPECT_THROW(refuse({0}, {{1, 2}}), size_mismatch);
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
    for (const T v : host_vector(a.values())) EXPECT_TRUE(v >= 0 && v < 1);
    EXPECT_TRUE(same_matrix(a, random_csr<T, I, O>({300, 217}, density, 5))); // the host's
  }
  EXPECT_FALSE(same_matrix(random_csr<T, I, O>(ctx, {30, 21}, 0.3, 5),
                           random_csr<T, I, O>({30, 21}, 0.3, 6)));
  EXPECT_EQ((random_csr<T, I, O>(ctx, {0, 5}, 1, 5).size()), 0);
  EXPECT_THROW((void)(random_csr<T, I, O>(ctx, {3, 3}, 1.5, 5)), bad_input);
  EXPECT_THROW((void)(random_csr<T, I, O>(ctx, {3, 3}, NAN, 5)), bad_input);
}

struct function_meaning {
  value_function f;
  double (*of)(double);
  bool exact = false; ///< rounded once, on every engine
};
constexpr function_meaning functions[] = {
    {value_function::abs, [](double v) { return std::abs(v); }, true},
    {value_function::sign,
     [](double v) { return std::isnan(v) ? v : static_cast<double>((v > 0) - (v < 0)); }, true},
    {value_function::sqrt, [](double v) { return std::sqrt(v); }, true},
    {value_function::power, [](double v) { return std::pow(v, 1.5); }},
    {value_function::exp, [](double v) { return std::exp(v); }},
    {value_function::expm1, [](double v) { return std::expm1(v); }},
    {value_function::log, [](double v) { return std::log(v); }},
    {value_function::log1p, [](double v) { return std::log1p(v); }},
    {value_function::sin, [](double v) { return std::sin(v); }},
    {value_function::cos, [](double v) { return std::cos(v); }},
    {value_function::tan, [](double v) { return std::tan(v); }},
    {value_function::asin, [](double v) { return std::asin(v); }},
    {value_function::atan, [](double v) { return std::atan(v); }},
    {value_function::sinh, [](double v) { return std::sinh(v); }},
    {value_function::tanh, [](double v) { return std::tanh(v); }},
    {value_function::asinh, [](double v) { return std::asinh(v); }},
    {value_function::atanh, [](double v) { return std::atanh(v); }},
    {value_function::floor, [](double v) { return std::floor(v); }, true},
    {value_function::ceil, [](double v) { return std::ceil(v); }, true},
    {value_function::trunc, [](double v) { return std::trunc(v); }, true},
    {value_function::rint, [](double v) { return std::rint(v); }, true}};

TYPED_TEST(AssembleFew, FunctionsByName) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const char* const name :
       {"unsorted with duplicates", "NaN and Inf values", "stencil 40 x 40"}) {
    SCOPED_TRACE(name);
    auto a = TypeParam::put_csr(battery_matrix(name));
    const auto before = entries_of(a);
    for (const auto& [f, of, exact] : functions) {
      SCOPED_TRACE(static_cast<int>(f));
      expected want;
      for (const double v : before.value) {
        want.value.push_back(static_cast<double>(static_cast<T>(of(v))));
        const double last_bits = 8 * double{std::numeric_limits<T>::epsilon()};
        want.bound.push_back(exact ? 0 : last_bits * std::abs(want.value.back()));
      }
      const auto b = map_values(ctx, a, f, 1.5);
      EXPECT_EQ(b.order(), a.order());
      EXPECT_TRUE(within(host_vector(b.values()), want));
    }
    EXPECT_TRUE(same_entries(entries_of(a), before));
    auto want = before;
    for (double& v : want.value) v = static_cast<double>(static_cast<T>(v * v));
    transform_values(ctx, a, value_function::power, 2);
    EXPECT_TRUE(same_sums(entries_of(a), want));
  }
  const triplets& m = battery_matrix("tall");
  auto triples = TypeParam::put_coo(m);
  transform_values(triples, value_function::sign);
  EXPECT_TRUE(same(host_vector(triples.values()),
                   host_vector(map_values(TypeParam::put_coo(m), value_function::sign).values())));
  const auto columns = TypeParam::put_csc(m);
  EXPECT_EQ(map_values(columns, value_function::abs).size(), columns.size());
}

TYPED_TEST(AssembleFew, Refuses) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("wide"));
  const auto b = TypeParam::put_csr(battery_matrix("tall"));
  EXPECT_THROW((void)hstack(ctx, a, b), size_mismatch);
  EXPECT_THROW((void)vstack(ctx, a, b), size_mismatch);
  const std::vector<decltype(a.view())> none;
  EXPECT_THROW((void)vstack(none), bad_input);
  const auto zero = TestFixture::put_list({0}), two = TestFixture::put_list({0, 1}),
             below = TestFixture::put_list({-1}), behind = TestFixture::put_list({a.shape().col}),
             last = TestFixture::put_list({0, a.shape().row});
  EXPECT_THROW((void)elements(a, two, zero), size_mismatch);
  EXPECT_THROW((void)elements(a, zero, below), bad_input);
  EXPECT_THROW((void)gather(a, {}, behind), bad_input);
  try {
    (void)gather(a, last, zero);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const bad_input& e) {
    EXPECT_NE(std::string(e.what()).find("rows[1]"), std::string::npos) << e.what();
  }
}

TEST(MapValuesOnTheHost, AnyFunction) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    auto a = make_csr<double, std::int32_t, std::int32_t>(m);
    auto want = entries_of(a);
    for (double& v : want.value) v = std::abs(v);
    const auto magnitude = [](double v) { return std::abs(v); };
    EXPECT_TRUE(same_entries(entries_of(map_values(a, magnitude)), want));
    transform_values(a, magnitude);
    EXPECT_TRUE(same_entries(entries_of(a), want));
    const auto columns = make_csc<float, std::int64_t, std::int64_t>(m);
    EXPECT_TRUE(same_matrix(map_values(columns, [](float v) { return v; }), columns));
  }
  const auto a = make_csr<double, std::int32_t, std::int32_t>(battery_matrix("one huge row"));
  const auto fail = [](double v) -> double { return v == v ? throw std::domain_error("no") : v; };
  EXPECT_THROW((void)map_values(host_engine::context(), a, fail), std::domain_error);
}

} // namespace
} // namespace lacuna::test
