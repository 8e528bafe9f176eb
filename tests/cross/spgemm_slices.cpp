// Products by diagonals: forced or chosen, in one call or in phases, they give the bits of the
// other ways.
#include <array>

#include <fmt/format.h>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

const host_context& host() { return default_context<space::host>(); }

template <class C> class SpGEMMSlices : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMSlices, all_configs, config_name);
template <class C> class SpGEMMSlicesFew : public SpGEMMSlices<C> {};
TYPED_TEST_SUITE(SpGEMMSlicesFew, few_configs, config_name);

/// Entries on these diagonals, each with the chance that it is there.
triplets on_diagonals(std::int64_t rows, std::int64_t cols,
                      const std::vector<std::int64_t>& diagonals, double chance,
                      std::uint64_t seed) {
  triplets m{"diagonals", rows, cols, {}, {}, {}};
  random_source random(seed);
  for (std::int64_t i = 0; i < rows; ++i)
    for (const std::int64_t d : diagonals)
      if (i + d >= 0 && i + d < cols && random.uniform() < chance) m.add(i, i + d, random.value());
  return m;
}

std::vector<std::int64_t> band(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> diagonals;
  for (std::int64_t d = first; d <= last; ++d) diagonals.push_back(d);
  return diagonals;
}

struct ways {
  spgemm_thresholds apart, by_diagonals;
  ways() {
    apart.slice_products = std::int64_t{1} << 60;
    by_diagonals.slice_products = 0;
    by_diagonals.slice_places = std::int64_t{1} << 60;
    apart.one_pass_products = by_diagonals.one_pass_products = 0;
  }
};

TYPED_TEST(SpGEMMSlices, HaveTheSameBits) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const ways way;
  // C's rows in one piece and in several, windows of both widths, slices that are whole, and some
  // that lack rows or entries.
  for (const auto& [a_diagonals, b_diagonals] :
       std::vector<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>>{
           {{0}, {0}},
           {{-20, -1, 0, 1, 20}, {-20, -1, 0, 1, 20}},
           {{-21, -20, -19, -1, 0, 1, 19, 20, 21}, {-40, -3, 0, 2, 4, 90}},
           {{-100, -37, -5, -2, 0, 3, 64, 70}, {-77, -50, -9, -8, -7, 0, 1, 2, 31}},
           {band(-16, 16), band(-16, 16)},
           {band(-3, 60), {-1, 0, 1}}})
    for (const double chance : {1.0, 0.9, 0.2})
      for (const auto& [rows, inner, cols] :
           {std::array{256, 256, 256}, {131, 95, 161}, {33, 70, 20}}) {
        SCOPED_TRACE(fmt::format("{} and {} diagonals, {} rows, {}", a_diagonals.size(),
                                 b_diagonals.size(), rows, chance));
        const auto m = on_diagonals(rows, inner, a_diagonals, chance, 3);
        const auto n = on_diagonals(inner, cols, b_diagonals, chance, 4);
        const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
        spgemm_report report;
        const auto c =
            multiply(ctx, scaled(T{3}, a), b, {.thresholds = &way.by_diagonals, .report = &report});
        EXPECT_TRUE(same_matrix(
            c, copy_to(host(), multiply(ctx, scaled(T{3}, a), b, {.thresholds = &way.apart}))));
        EXPECT_TRUE(
            is_product(c, expected_sparse(TypeParam::host_csr(m), TypeParam::host_csr(n), 3)));
        if (TypeParam::memory_space == space::device) {
          EXPECT_EQ(report.slice_rows, rows);
        }
        if (rows != inner) continue;
        const auto square = multiply(ctx, a, a, {.thresholds = &way.by_diagonals});
        EXPECT_TRUE(
            same_matrix(square, copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.apart}))));
      }
}

TYPED_TEST(SpGEMMSlicesFew, OddValuesAndOrders) {
  const auto& ctx = TypeParam::context();
  const ways way;
  auto m = on_diagonals(200, 200, {-14, -1, 0, 1, 14}, 0.8, 5);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < m.value.size(); k += 3)
    m.value[k] = k % 4 == 0 ? -0.0 : k % 4 == 1 ? infinity : k % 4 == 2 ? 0.0 : -infinity;
  const auto same = [&](const triplets& of) {
    const auto a = TypeParam::put_csr(of);
    const auto c = copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.by_diagonals}));
    const auto want = copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.apart}));
    expect_same_but_nans(c, want);
  };
  same(m);
  std::swap(m.col[20], m.col[21]); // A is not sorted: another way
  std::swap(m.value[20], m.value[21]);
  m.add(199, 199, 2); // and has an entry twice
  same(m);
  for (int k = 0; k < 5000; ++k) m.add(k < 4000 ? 150 : 3, k < 4000 ? 150 : 4, 1); // and many times
  same(m);
  same(on_diagonals(200, 200, band(-40, 40), 1, 6)); // too many diagonals
}

/// Large products are looked at before anything else; here 20 million are expected.
TYPED_TEST(SpGEMMSlicesFew, AreSeenInASample) {
  const auto& ctx = TypeParam::context();
  const ways way;
  for (const double chance : {1.0, 0.97}) {
    const auto a = TypeParam::put_csr(on_diagonals(5'000, 5'000, band(-31, 31), chance, 7));
    const auto want = copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.apart}));
    EXPECT_TRUE(same_matrix(multiply(ctx, a, a), want));
  }
}

/// Diagonals of many rows are looked for in a sixteenth of them, which may miss one.
TYPED_TEST(SpGEMMSlicesFew, WhatTheSampleMisses) {
  const auto& ctx = TypeParam::context();
  const ways way;
  auto m = on_diagonals(140'000, 140'000, {-1, 0, 1}, 1, 8);
  for (int k = 0; k < 24; ++k) m.add(30 + 5'800 * k, 90 + 5'800 * k + k, 2);
  const auto a = TypeParam::put_csr(m);
  const auto want = copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.apart}));
  EXPECT_TRUE(same_matrix(multiply(ctx, a, a, {.thresholds = &way.by_diagonals}), want));
  const auto info = multiply_compute(ctx, a, a);
  csr<typename TypeParam::value, typename TypeParam::index, typename TypeParam::offset,
      TypeParam::memory_space>
      c(ctx, info.shape(), info.nnz());
  multiply_fill(ctx, info, a, a, c);
  EXPECT_TRUE(same_matrix(c, want));
}

/// Of a matrix with few rows that have entries it may meet none.
TYPED_TEST(SpGEMMSlicesFew, WhereTheSampleIsEmpty) {
  const auto& ctx = TypeParam::context();
  const ways way;
  const auto a = TypeParam::put_csr(on_diagonals(140'000, 140'000, {-1, 0, 1}, 1, 8));
  for (const std::int64_t row : {40, 400, 70'003, 139'990}) {
    triplets n{"a row", 140'000, 300, {}, {}, {}};
    for (std::int64_t j = 0; j < 3; ++j) n.add(row, 100 * j, 2);
    const auto b = TypeParam::put_csr(n);
    EXPECT_TRUE(same_matrix(multiply(ctx, a, b, {.thresholds = &way.by_diagonals}),
                            copy_to(host(), multiply(ctx, a, b, {.thresholds = &way.apart}))));
  }
}

TYPED_TEST(SpGEMMSlicesFew, AreChosenForGridsInPhasesToo) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto m = on_diagonals(45'000, 45'000, {-300, -1, 0, 1, 300}, 1, 7);
  const auto a = TypeParam::put_csr(m);
  const ways way;
  const auto want = copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.apart}));
  spgemm_thresholds built_in; // but for one pass, which so small a product would take
  built_in.one_pass_products = 0;
  spgemm_report report;
  EXPECT_TRUE(same_matrix(multiply(ctx, a, a, {.thresholds = &built_in, .report = &report}), want));
  if (TypeParam::memory_space == space::device) {
    EXPECT_EQ(report.slice_rows, m.rows);
  }

  const auto info = multiply_compute(ctx, a, a);
  csr<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space> c(
      ctx, info.shape(), info.nnz());
  multiply_fill(ctx, info, a, a, c);
  EXPECT_TRUE(same_matrix(c, want));
  auto other = m;
  for (double& value : other.value) value = -2 * value;
  const auto a2 = TypeParam::put_csr(other);
  multiply_refill(ctx, info, a, a2, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a, a2, {.thresholds = &way.apart}))));
  multiply_symbolic_fill(ctx, info, a, a, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply_pattern(ctx, a, a))));
  fill(ctx, T{7}, c.values());
  multiply_refill(ctx, info, a, a, c);
  EXPECT_TRUE(same_matrix(c, want));
  // Columns that are not C's are seen.
  const typename TypeParam::index elsewhere = 9;
  lacuna::detail::copy_bytes(ctx, c.colind().data() + 1000, &elsewhere, sizeof elsewhere,
                             space::host);
  ctx.synchronize();
  EXPECT_THROW(multiply_refill(ctx, info, a, a, c), bad_input);
}

} // namespace
} // namespace lacuna::test
