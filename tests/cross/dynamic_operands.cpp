// Dynamic CSR as an operand on every engine: transposed products, several vectors, sums,
// transposition, sparse products from it and into it; and where its rows lie.
#include "support/dense_block.hpp"
#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

template <class C>
using dynamic_of =
    dynamic_csr<typename C::value, typename C::index, typename C::offset, C::memory_space>;

/// In three batches without looking: rows in several segments.
template <class C> dynamic_of<C> segmented(const triplets& t) {
  dynamic_of<C> m(C::context(), lacuna::index<typename C::index>(t.rows, t.cols), {.slack = 1});
  for (std::int64_t part = 0; part < 3; ++part) {
    triplets batch{"part", t.rows, t.cols, {}, {}, {}};
    for (std::int64_t k = part; k < t.size(); k += 3) batch.add(t.row[k], t.col[k], t.value[k]);
    const auto put = C::put_coo(batch);
    insert(C::context(), m, put.view(), {existing::append});
  }
  return m;
}

/// Y = 2 A X - Y, with gaps.
template <class C>
void expect_several(const dynamic_of<C>& m,
                    const csr<typename C::value, typename C::index, typename C::offset>& host,
                    std::int64_t vectors, layout x_layout, layout y_layout) {
  using T = typename C::value;
  const auto [rows, cols] = host.shape();
  const dense_block<T> x({cols, vectors}, 1), z({rows, vectors}, 2);
  const auto want = expected_product(2, host, false, x, -1, &z);
  SCOPED_TRACE(std::to_string(vectors) + " vectors, " + describe(x_layout, y_layout, 1));
  const auto x_put = x.put(C::context(), x_layout, 1);
  auto y = z.put(C::context(), y_layout, 2);
  multiply(C::context(), scaled(2, m), x_put.view(), scaled(-1, y.view()), y.view());
  EXPECT_TRUE(within(y.elements(), want));
  EXPECT_TRUE(y.gaps_untouched());
}

template <class C> class DynamicOperand : public engine_test<C> {};
TYPED_TEST_SUITE(DynamicOperand, all_configs, config_name);
template <class C> class DynamicOperandFew : public engine_test<C> {};
TYPED_TEST_SUITE(DynamicOperandFew, few_configs, config_name);

TYPED_TEST(DynamicOperand, MultipliesTransposedAndSeveralVectors) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  int count = 0;
  TypeParam::for_each_matrix([&](const triplets& t) {
    auto m = segmented<TypeParam>(t);
    const auto host = TypeParam::host_csr(t);
    const auto x = random_vector<T>(t.rows, 1), z = random_vector<T>(t.cols, 2);
    auto y = TypeParam::put(z);
    multiply(ctx, transposed(scaled(-1.5, m)), TypeParam::put(x), scaled(0.25, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.5, host, true, x, 0.25, z)));
    constexpr std::int64_t vectors[] = {2, 5, 9};
    const bool by_rows = count++ % 2 == 0;
    if (t.size() <= 20'000) // the reference takes its time
      expect_several<TypeParam>(m, host, vectors[count % 3],
                                by_rows ? layout::row_major : layout::column_major,
                                by_rows ? layout::column_major : layout::row_major);

    compact(ctx, m, {.by_length = true});
    check(ctx, m);
    EXPECT_EQ(m.used(), m.size());
    const auto u = random_vector<T>(t.cols, 3);
    auto v = TypeParam::put(all_nan<T>(t.rows));
    multiply(ctx, m, TypeParam::put(u), v);
    EXPECT_TRUE(within(host_vector(v), expected_product(1, host, false, u)));
  });
}

/// Rows of 1 to 9000 entries: those that blocks share among them.
TYPED_TEST(DynamicOperand, MultipliesLongRowsWithSeveralVectors) {
  const with_values exact(value_kind::integers);
  triplets t{"hubs", 50, 10000, {}, {}, {}};
  for (std::int64_t row = 0; row < t.rows; ++row) {
    const std::int64_t size = row % 7 == 0 ? 2000 + 140 * row : 1 + row;
    for (std::int64_t k = 0; k < size; ++k)
      t.add(row, (k * 7 + row) % t.cols, static_cast<double>(k % 5 - 2));
  }
  const auto host = TypeParam::host_csr(t);
  auto m = segmented<TypeParam>(t);
  for (const std::int64_t vectors : {3, 7, 16, 65}) {
    expect_several<TypeParam>(m, host, vectors, layout::row_major, layout::row_major);
    expect_several<TypeParam>(m, host, vectors, layout::column_major, layout::column_major);
  }
}

/// The product is the matrix; with either method, with pools of either kind of rows.
TYPED_TEST(DynamicOperand, IsTheResultOfSparseProducts) {
  using I = typename TypeParam::index;
  const auto& ctx = TypeParam::context();
  const auto expect_product = [&](const triplets& a, const triplets& b) {
    const auto left = TypeParam::put_csr(a), right = TypeParam::put_csr(b);
    for (const auto method : {spgemm_method::adaptive, spgemm_method::expand_sort}) {
      const spgemm_options how{.method = method};
      dynamic_of<TypeParam> m(ctx, lacuna::index<I>(3, 4), {.segments = 3});
      const auto before = m.snapshot();
      multiply(ctx, scaled(-2, left), right, m, how);
      check(ctx, m);
      EXPECT_EQ(m.options().segments, 3);
      EXPECT_EQ(before.shape(), lacuna::index<I>(3, 4));
      const auto want = multiply(ctx, scaled(-2, left), right, how);
      EXPECT_TRUE(same_matrix(to_csr(ctx, m), copy_to(default_context<space::host>(), want)));
      // It can be changed as any other.
      triplets batch{"batch", a.rows, b.cols, {}, {}, {}};
      for (std::int64_t row = 0; row < a.rows; ++row) batch.add(row, row % b.cols, 1);
      const auto put = TypeParam::put_coo(batch);
      insert(ctx, m, put.view());
      check(ctx, m);
      EXPECT_TRUE(same_matrix(to_csr(ctx, m), copy_to(default_context<space::host>(),
                                                      add(ctx, want, to_csr(ctx, put)))));
    }
  };
  for (const char* name : {"stencil 40 x 40", "arrow", "rows of 0 to 70", "power law"}) {
    SCOPED_TRACE(name);
    const triplets& t = battery_matrix(name);
    expect_product(t, exchanged(t));
  }
  expect_product(random_matrix(40, 500, 60, 1), random_matrix(500, 3000, 80, 2));
}

TYPED_TEST(DynamicOperandFew, IsAddedMultipliedAndTransposed) {
  const auto& ctx = TypeParam::context();
  const auto& on_host = default_context<space::host>();
  const with_values exact(value_kind::integers);
  TypeParam::for_each_matrix([&](const triplets& t) {
    if (t.size() > 50'000) return;
    const auto a = TypeParam::put_csr(t);
    auto m = segmented<TypeParam>(t);
    for (const bool compacted : {false, true}) {
      SCOPED_TRACE(compacted ? "compact" : "in segments");
      if (compacted) compact(ctx, m);
      const auto view = m.snapshot();
      const auto want = copy_to(on_host, add(ctx, scaled(2, a), a));
      EXPECT_TRUE(same_matrix(add(ctx, scaled(2, m), a), want));
      EXPECT_TRUE(same_matrix(add(ctx, scaled(2, a), view), want));
      EXPECT_TRUE(same_matrix(add(ctx, scaled(2, m), m), want));
      csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
          TypeParam::memory_space>
          c;
      add(ctx, transposed(m), scaled(2, transposed(a)), c);
      EXPECT_TRUE(same_matrix(c, transpose(on_host, want)));
      EXPECT_TRUE(same_matrix(transpose(ctx, m), copy_to(on_host, transpose(ctx, to_csr(ctx, m)))));
      if (product_count(t, exchanged(t)) > 50'000) continue;
      const auto square = copy_to(on_host, multiply(ctx, a, transposed(a)));
      EXPECT_TRUE(same_matrix(multiply(ctx, m, transposed(m)), square));
      multiply(ctx, a, transposed(view), c);
      EXPECT_TRUE(same_matrix(c, square));
      EXPECT_EQ(estimate(ctx, m, transposed(m)).products, estimate(ctx, a, transposed(a)).products);
    }
  });
}

/// Where the rows of a matrix begin, and their sizes.
template <class C>
std::pair<std::vector<typename C::offset>, std::vector<typename C::offset>>
places_of(const dynamic_of<C>& m) {
  const auto v = m.view();
  const auto copied = [&](const typename C::offset* from) {
    return host_vector(vector_view<const typename C::offset, C::memory_space>(from, v.extent.row));
  };
  return {copied(v.begin), copied(v.sizes)};
}

TYPED_TEST(DynamicOperand, LiesByLengthOrApart) {
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const char* name : {"power law", "rows of 0 to 70", "9 x 0", "0 x 7", "dense"}) {
    SCOPED_TRACE(name);
    const triplets t = sorted(battery_matrix(name));
    const auto host = TypeParam::host_csr(t);
    const auto a = TypeParam::put_csr(t);
    auto m = to_dynamic_csr(ctx, a, {.slack = 2, .slack_at_start = true});
    check(ctx, m);
    EXPECT_EQ(m.used() > m.size(), t.rows > 0);
    EXPECT_EQ(m.is_compact(), false);
    EXPECT_TRUE(same_matrix(to_csr(ctx, m), host));
    if (t.rows > 0 && t.cols > 0) { // the first batch goes in place
      const std::int64_t used = m.used();
      triplets batch{"batch", t.rows, t.cols, {}, {}, {}};
      for (std::int64_t row = 0; row < t.rows; ++row) // longer ones have no slack
        if (host.rowptr()[row + 1] - host.rowptr()[row] < 1000) batch.add(row, row % t.cols, 1);
      const auto put = TypeParam::put_coo(batch);
      insert(ctx, m, put.view());
      EXPECT_EQ(m.used(), used);
      EXPECT_EQ(m.segments_max(), 1);
      check(ctx, m);
    }
    m = to_dynamic_csr(ctx, a);
    compact(ctx, m, {.by_length = true, .slack = true});
    check(ctx, m);
    EXPECT_TRUE(same_matrix(to_csr(ctx, m), host));
    const auto [begins, sizes] = places_of<TypeParam>(m);
    std::vector<std::pair<O, std::size_t>> order;
    for (std::size_t row = 0; row < sizes.size(); ++row) order.emplace_back(sizes[row], row);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 1; i < order.size(); ++i)
      ASSERT_GE(begins[order[i].second], begins[order[i - 1].second] + order[i - 1].first);
  }
}

TYPED_TEST(DynamicOperandFew, IsMadeOfAnyFormat) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"stencil 40 x 40", "unsorted", "9 x 0", "0 x 7"}) {
    SCOPED_TRACE(name);
    const triplets& t = battery_matrix(name);
    const auto host = TypeParam::host_csr(sorted(t));
    const auto expect_matrix = [&](const dynamic_of<TypeParam>& m) {
      check(ctx, m);
      EXPECT_TRUE(same_matrix(to_csr(ctx, m), host));
    };
    auto a = TypeParam::put_csr(t);
    expect_matrix(to_dynamic_csr(ctx, a));
    expect_matrix(to_dynamic_csr(ctx, TypeParam::put_coo(t)));
    expect_matrix(to_dynamic_csr(ctx, TypeParam::put_csc(t)));
    EXPECT_EQ(to_dynamic_csr(ctx, to_ell_csr(ctx, a)).size(), host.size());
    const auto* const columns = std::as_const(a).colind().data();
    const auto m = to_dynamic_csr(ctx, std::move(a)); // its arrays are the pool
    EXPECT_EQ(m.view().colind, columns);
    EXPECT_EQ(m.capacity(), host.size());
    expect_matrix(m);
  }
  EXPECT_EQ(to_dynamic_csr(ctx, decltype(TypeParam::put_csr({})){}).size(), 0);
}

TYPED_TEST(DynamicOperandFew, IsPlannedWhereUpdatesAreAnnounced) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  const triplets& t = battery_matrix("stencil 40 x 40");
  const auto a = TypeParam::put_csr(t);
  auto op = plan(ctx, a, {.transposed_multiplies = 10, .updates = 5});
  EXPECT_EQ(op.format(), "dynamic_csr");
  EXPECT_NE(op.explain().find("5 batches of changes"), std::string::npos) << op.explain();
  triplets batch{"batch", t.rows, t.cols, {}, {}, {}};
  for (std::int64_t k = 0; k < 100; ++k) batch.add(k * 5 % t.rows, k * 3 % t.cols, 2);
  const auto put = TypeParam::put_coo(batch);
  insert(ctx, op.dynamic(), put.view());
  const auto sum = copy_to(default_context<space::host>(), add(ctx, a, to_csr(ctx, put)));
  EXPECT_EQ(op.size(), sum.size());
  const auto x = random_vector<T>(t.cols, 1), z = random_vector<T>(t.rows, 2);
  auto y = TypeParam::put(all_nan<T>(t.rows));
  op.multiply(TypeParam::put(x), y);
  EXPECT_TRUE(within(host_vector(y), expected_product(1, sum, false, x)));
  auto w = TypeParam::put(all_nan<T>(t.cols));
  op.multiply_transposed(TypeParam::put(z), w);
  EXPECT_TRUE(within(host_vector(w), expected_product(1, sum, true, z)));
  EXPECT_THROW(op.update_values(a), size_mismatch);
  auto other = plan(ctx, a, {.multiplies = 1});
  EXPECT_THROW((void)other.dynamic(), unsupported);
  const auto advice = advise_compaction(ctx, op.dynamic(), 1e6);
  EXPECT_TRUE(advice.pays) << advice.reason;
}

} // namespace
} // namespace lacuna::test
