// Products of matrices that lack no entry: the bits of the other ways.
#include <array>
#include <limits>

#include <fmt/format.h>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

const host_context& host() { return default_context<space::host>(); }

template <class C> class SpGEMMDense : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMDense, all_configs, config_name);
template <class C> class SpGEMMDenseFew : public SpGEMMDense<C> {};
TYPED_TEST_SUITE(SpGEMMDenseFew, few_configs, config_name);

/// Rows x columns, with every entry.
triplets full_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  triplets m{"full", rows, cols, {}, {}, {}};
  random_source random(seed);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) m.add(i, j, random.value());
  return m;
}

TYPED_TEST(SpGEMMDense, HaveTheSameBits) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  spgemm_thresholds sparse, dense;
  sparse.dense_products = std::int64_t{1} << 60;
  dense.dense_products = 0;
  // Tiles of each size, whole and cut.
  for (const auto& [rows, inner, cols] :
       {std::array{16, 16, 16}, {64, 64, 64}, {17, 33, 130}, {200, 19, 190}, {530, 16, 521}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", rows, inner, cols));
    auto m = full_matrix(rows, inner, 3), n = full_matrix(inner, cols, 4);
    const auto same = [&] {
      const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
      spgemm_report report;
      const auto c = copy_to(
          host(), multiply(ctx, scaled(T{3}, a), b, {.thresholds = &dense, .report = &report}));
      const auto want = copy_to(host(), multiply(ctx, scaled(T{3}, a), b, {.thresholds = &sparse}));
      expect_same_but_nans(c, want);
      ASSERT_EQ(c.rowptr()[rows], want.rowptr()[rows]);
      if (TypeParam::memory_space == space::device) {
        EXPECT_EQ(report.dense_rows, rows);
        EXPECT_EQ(report.products, std::int64_t{rows} * inner * cols);
      }
    };
    same();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < m.value.size(); k += 5)
      m.value[k] = k % 4 == 0 ? -0.0 : k % 4 == 1 ? infinity : k % 4 == 2 ? 0.0 : -infinity;
    same();
  }
}

TYPED_TEST(SpGEMMDenseFew, InPhases) {
  using T = typename TypeParam::value;
  using matrix =
      csr<T, typename TypeParam::index, typename TypeParam::offset, TypeParam::memory_space>;
  const auto& ctx = TypeParam::context();
  spgemm_thresholds sparse;
  sparse.dense_products = std::int64_t{1} << 60;
  const auto m = full_matrix(50, 40, 5), n = full_matrix(40, 60, 6);
  const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n),
             other = TypeParam::put_csr(full_matrix(50, 40, 7));
  const auto info = multiply_compute(ctx, a, b);
  matrix c(ctx, info.shape(), info.nnz());
  multiply_fill(ctx, info, a, b, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a, b, {.thresholds = &sparse}))));
  multiply_refill(ctx, info, other, b, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, other, b, {.thresholds = &sparse}))));
  multiply_symbolic_fill(ctx, info, a, b, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply_pattern(ctx, a, b))));
  // Columns that are not C's are seen.
  const typename TypeParam::index elsewhere = 9;
  lacuna::detail::copy_bytes(ctx, c.colind().data() + 1000, &elsewhere, sizeof elsewhere,
                             space::host);
  ctx.synchronize();
  EXPECT_THROW(multiply_refill(ctx, info, a, b, c), bad_input);

  // As many entries as places, but one of them twice: another way.
  auto twice = m;
  twice.col[1] = twice.col[0];
  const auto odd = TypeParam::put_csr(twice);
  EXPECT_TRUE(same_matrix(multiply(ctx, odd, b),
                          copy_to(host(), multiply(ctx, odd, b, {.thresholds = &sparse}))));
  EXPECT_TRUE(is_product(copy_to(host(), multiply(ctx, odd, b)),
                         expected_sparse(TypeParam::host_csr(twice), TypeParam::host_csr(n))));
  if (TypeParam::memory_space == space::device) {
    EXPECT_THROW((void)multiply(ctx, a, b, {.memory_limit = 1000}), out_of_memory);
  }
}

} // namespace
} // namespace lacuna::test
