// Every operation at sizes one below, at and one above those by which kernels cut work into tiles,
// blocks, pieces and shares: so many rows, so many entries in a row, so many in a column.
#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t sizes[] = {
    1,    31,   32,   33,   63,   64,   65,   127,  128,  129,    255,    256,    257,    511,
    512,  513,  1023, 1024, 1025, 1279, 1280, 1281, 2047, 2048,   2049,   2559,   2560,   2561,
    4095, 4096, 4097, 5119, 5120, 5121, 8191, 8192, 8193, 16'383, 16'384, 16'385, 32'767, 32'769};

triplets diagonal(std::int64_t n) {
  triplets m{"diagonal of " + std::to_string(n), n, n, {}, {}, {}};
  random_source random(static_cast<std::uint64_t>(n));
  for (std::int64_t i = 0; i < n; ++i) m.add(i, i, random.value());
  return m;
}
triplets one_row(std::int64_t n) {
  triplets m{"one row of " + std::to_string(n), 1, n, {}, {}, {}};
  random_source random(static_cast<std::uint64_t>(n) + 1);
  for (std::int64_t j = n; j-- > 0;) m.add(0, j, random.value()); // descending
  return m;
}
triplets one_column(std::int64_t n) {
  triplets m = exchanged(one_row(n));
  m.name = "one column of " + std::to_string(n);
  return m;
}
/// n entries, cycling through a few coordinates.
triplets repeated(std::int64_t n) {
  triplets m{std::to_string(n) + " entries at few coordinates", 3, 2, {}, {}, {}};
  for (std::int64_t k = 0; k < n; ++k) m.add(k % 3, (k / 3) % 2, static_cast<double>(k % 9));
  return m;
}

template <class C> class Boundaries : public engine_test<C> {
protected:
  template <class F> static void for_each_matrix(F f) {
    for (const std::int64_t n : sizes)
      for (const triplets& m : {diagonal(n), one_row(n), one_column(n), repeated(n)}) {
        SCOPED_TRACE(std::string(C::engine::name) + ": " + m.name);
        f(m);
      }
  }
  template <class F> static void for_each_sum(F f) {
    C::for_each_value_kind([&] { for_each_matrix(f); });
  }
};
TYPED_TEST_SUITE(Boundaries, few_configs, config_name);

TYPED_TEST(Boundaries, Multiply) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const triplets& m) {
    const auto host = TypeParam::host_csr(m);
    const auto a = TypeParam::put_csr(m);
    const auto x = random_vector<T>(m.cols, 1), u = random_vector<T>(m.rows, 2);
    const auto x_on_engine = TypeParam::put(x), u_on_engine = TypeParam::put(u);
    const auto want = expected_product(1, host, false, x);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, a, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), want)) << "plain";
    y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, multiply_inspect(ctx, a, x_on_engine, y), a, x_on_engine, y);
    EXPECT_TRUE(within(host_vector(y), want)) << "inspected";
    auto v = TypeParam::put(all_nan<T>(m.cols));
    multiply(ctx, transposed(a), u_on_engine, v);
    EXPECT_TRUE(within(host_vector(v), expected_product(1, host, true, u))) << "transposed";
  });
}

TYPED_TEST(Boundaries, MultiplyDense) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    const block x({m.cols, 5}, 3);
    const auto want = expected_product(1, TypeParam::host_csr(m), false, x);
    for (const layout l : {layout::row_major, layout::column_major}) {
      const auto x_on_engine = x.put(ctx, l, 0);
      auto y = block::nan({m.rows, 5}).put(ctx, l, 0);
      multiply(ctx, a, x_on_engine.view(), y.view());
      EXPECT_TRUE(within(y.elements(), want));
    }
  });
}

TYPED_TEST(Boundaries, Structure) {
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_matrix([&](const triplets& m) {
    auto rows = TypeParam::put_csr(m);
    auto triples = TypeParam::put_coo(m);
    const auto entries = entries_of(rows), in_order = reference::sort(entries);
    EXPECT_NO_THROW(check(ctx, rows));
    EXPECT_NO_THROW(check(ctx, triples));
    EXPECT_TRUE(same_entries(entries_of(transpose(ctx, rows)), reference::transpose(entries)));
    EXPECT_TRUE(same_entries(entries_of(to_csr(ctx, triples)), entries));
    EXPECT_TRUE(same_entries(entries_of(to_coo(ctx, rows)), entries));
    EXPECT_TRUE(same_entries(entries_of(merge_duplicates(ctx, rows)),
                             reference::merge(entries, duplicates::sum))); // no rounding here
    EXPECT_TRUE(same_entries(entries_of(merge_duplicates(ctx, triples, duplicates::last)),
                             reference::merge(entries, duplicates::last)));
    rows.state({});
    sort(ctx, rows);
    EXPECT_TRUE(same_entries(entries_of(rows), in_order));
    triples.state({});
    sort(ctx, triples);
    EXPECT_TRUE(same_entries(entries_of(triples), in_order));
  });
}

} // namespace
} // namespace lacuna::test
