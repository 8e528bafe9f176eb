// Every way of making rows, forced by thresholds, gives the bits of the others; sums in any order
// give the same entries.
#include <fmt/format.h>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

constexpr std::int64_t most_products = 400'000;

const host_context& host() { return default_context<space::host>(); }

struct forced {
  const char* name;
  spgemm_thresholds thresholds;
};
/// A host has no thresholds: there any of them is as good as all.
std::vector<forced> ways(space where) {
  const auto with = [](auto... set) {
    spgemm_thresholds t;
    t.sorted_products = std::int64_t{1} << 60;
    t.one_pass_products = 0;
    (set(t), ...);
    return t;
  };
  using t = spgemm_thresholds;
  const auto tables = [](t& s) { s.merged_products = s.merged_products_of_few = 0; };
  const auto heavy = [](t& s) { s.light_products = 0; };
  const auto twins = [](t& s) { s.twin_products = s.twin_share = 0; };
  const auto dense = [](t& s) { s.dense_products = 0; };
  const auto slices = [](t& s) {
    s.slice_products = 0;
    s.slice_places = 1000;
  };
  if (where == space::host) return {{"tables", with(tables)}};
  return {{"tables", with(tables)},
          {"tables, one row of B at a time", with(tables, [](t& s) { s.flat_length = 0; })},
          {"tables, always flat", with(tables, [](t& s) { s.flat_length = 1'000'000; })},
          {"hash tables alone", with(tables, [](t& s) { s.spans = false; })},
          {"always balanced", with(tables, [](t& s) { s.few_rows = s.few_in_all = 0; })},
          {"never balanced", with([](t& s) { s.few_in_all = std::int64_t{1} << 40; })},
          {"32 lanes", with(tables, [](t& s) { s.lanes = 32; })},
          {"4 lanes", with(tables, [](t& s) { s.lanes = 4; })},
          {"merged", with([](t& s) { s.merged_products_of_few = 100'000; })},
          {"heavy", with(tables, heavy)},
          {"heavy, by segments", with(tables, heavy, [](t& s) { s.tile_length = 0; })},
          {"heavy, by tiles",
           with(tables, heavy, [](t& s) { s.tile_length = s.flat_length = 1'000'000; })},
          {"twins", with(twins)},
          {"slices", with(slices)},
          {"dense", with(dense)},
          {"one pass", with([](t& s) { s.one_pass_products = 1000; })},
          {"sorted", with([](t& s) { s.sorted_products = 0; })}};
}

template <class C> class SpGEMMThresholds : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMThresholds, all_configs, config_name);
template <class C> class SpGEMMThresholdsFew : public SpGEMMThresholds<C> {};
TYPED_TEST_SUITE(SpGEMMThresholdsFew, few_configs, config_name);

/// Calls f(a, b) for products of the battery's matrices.
template <class C, class F> void for_each_product(const F& f) {
  C::for_each_matrix([&](const triplets& m) {
    for (const auto& [a, b] : {std::pair{m, exchanged(m)},
                               {exchanged(m), m},
                               {m, random_matrix(m.cols, 30'000, 12, 2)},
                               {random_matrix(40, m.rows, 30, 3), m}})
      if (product_count(a, b) <= most_products) f(C::put_csr(a), C::put_csr(b), a, b);
  });
}

TYPED_TEST(SpGEMMThresholds, SameBits) {
  const auto& ctx = TypeParam::context();
  int tried = 0;
  for_each_product<TypeParam>([&](const auto& a, const auto& b, const auto&, const auto&) {
    const auto want = copy_to(host(), multiply(ctx, a, b));
    for (const forced& way : ways(TypeParam::memory_space)) {
      SCOPED_TRACE(way.name);
      EXPECT_TRUE(same_matrix(multiply(ctx, a, b, {.thresholds = &way.thresholds}), want));
      ++tried;
    }
  });
  EXPECT_GE(tried, TypeParam::memory_space == space::host ? 42 : 500);
}

TYPED_TEST(SpGEMMThresholds, RowsOfOnePatternHaveTheSameBits) {
  const auto& ctx = TypeParam::context();
  spgemm_thresholds apart, together;
  apart.twin_products = std::int64_t{1} << 60;
  together.twin_products = 0;
  together.one_pass_products = 0;
  // Groups of one size, of many, longer than what is made together; rows of C of every class.
  for (const auto& [most, per_row] :
       {std::pair{1, 20}, {3, 8}, {6, 5}, {14, 2}, {3, 60}, {6, 60}}) {
    SCOPED_TRACE(fmt::format("groups of up to {} rows, {} a row", most, per_row));
    const auto m = grouped_matrix(60, 61, per_row, most, 5);
    const auto n = grouped_matrix(61, 80, per_row, most, 7);
    const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
    spgemm_report report;
    const auto c = multiply(ctx, scaled(typename TypeParam::value(3), a), b,
                            {.thresholds = &together, .report = &report});
    const auto want = copy_to(
        host(), multiply(ctx, scaled(typename TypeParam::value(3), a), b, {.thresholds = &apart}));
    EXPECT_TRUE(same_matrix(c, want));
    EXPECT_TRUE(is_product(c, expected_sparse(TypeParam::host_csr(m), TypeParam::host_csr(n), 3)));
    if (TypeParam::memory_space == space::device && most > 1 && per_row < 60) {
      EXPECT_EQ(report.twin_rows, a.shape().row);
    }
  }
}

TYPED_TEST(SpGEMMThresholdsFew, FactorsThatShareArrays) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  spgemm_thresholds together;
  together.twin_products = together.twin_share = together.one_pass_products = 0;
  const triplets m = grouped_matrix(60, 60, 5, 3, 5);
  const auto there = TypeParam::host_csr(m);
  const auto b = TypeParam::put_csr(m);
  for (const std::int64_t rows : {m.rows, m.rows / 2}) { // B itself, and its first rows
    const csr_view<const T, I, O, TypeParam::memory_space> a(
        b.values().data(), b.rowptr().data(), b.colind().data(), index<I>(rows, m.cols),
        there.rowptr()[rows], b.order());
    const auto own = copy_to(ctx, a);
    const auto want = copy_to(host(), multiply(ctx, own, b));
    EXPECT_TRUE(same_matrix(multiply(ctx, a, b, {.thresholds = &together}), want));
  }
}

TYPED_TEST(SpGEMMThresholds, AnyOrderHasTheSameEntries) {
  const auto& ctx = TypeParam::context();
  const with_values in_use(value_kind::integers); // whose sums are the same in any order
  for_each_product<TypeParam>(
      [&](const auto& a, const auto& b, const triplets& a_from, const triplets& b_from) {
        const auto want = expected_sparse(TypeParam::host_csr(a_from), TypeParam::host_csr(b_from));
        for (const forced& way : ways(TypeParam::memory_space)) {
          SCOPED_TRACE(way.name);
          EXPECT_TRUE(is_product(
              multiply(ctx, a, b, {.order = spgemm_order::relaxed, .thresholds = &way.thresholds}),
              want));
        }
      });
}

TYPED_TEST(SpGEMMThresholdsFew, ReportsAddUp) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("stencil 40 x 40"));
  for (const spgemm_method method : {spgemm_method::adaptive, spgemm_method::expand_sort}) {
    spgemm_report report;
    const auto c = multiply(ctx, a, a, {.method = method, .report = &report});
    EXPECT_EQ(report.entries, std::int64_t{c.size()});
    EXPECT_EQ(report.products, estimate(ctx, a, a).products);
    EXPECT_GT(report.seconds(), 0);
    if (TypeParam::memory_space == space::device && method == spgemm_method::adaptive) {
      EXPECT_EQ(report.merged_rows + report.table_rows + report.heavy_rows + report.twin_rows +
                    report.slice_rows + report.dense_rows + report.one_pass_rows,
                a.shape().row);
    }
  }
}

} // namespace
} // namespace lacuna::test
