// Products of matrices of several unknowns per node, whose entries come in blocks: the bits are
// those of other ways, in phases too, and a matrix that lacks an entry goes another way.
#include <array>
#include <limits>

#include <fmt/format.h>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

template <class C> class SpGEMMNodes : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMNodes, all_configs, config_name);
template <class C> class SpGEMMNodesFew : public engine_test<C> {};
TYPED_TEST_SUITE(SpGEMMNodesFew, few_configs, config_name);

const host_context& host() { return default_context<space::host>(); }

/// Rows of 1 to 2 per_row blocks of unknowns x unknowns entries.
triplets node_matrix(std::int64_t node_rows, std::int64_t node_cols, std::int64_t per_row,
                     std::int64_t unknowns, std::uint64_t seed) {
  triplets m{"nodes", unknowns * node_rows, unknowns * node_cols, {}, {}, {}};
  random_source random(seed);
  for (std::int64_t node = 0; node < node_rows; ++node) {
    std::vector<std::int64_t> blocks(
        static_cast<std::size_t>(std::min(1 + random.below(2 * per_row), node_cols)));
    const std::int64_t step = node_cols / static_cast<std::int64_t>(blocks.size());
    std::int64_t at = 0;
    for (auto& block : blocks) block = step * at++ + random.below(step);
    for (std::int64_t i = unknowns * node; i < unknowns * (node + 1); ++i)
      for (const std::int64_t block : blocks)
        for (std::int64_t t = 0; t < unknowns; ++t) m.add(i, unknowns * block + t, random.value());
  }
  return m;
}

struct ways {
  spgemm_thresholds apart, by_nodes;
  ways() {
    apart.twin_products = std::int64_t{1} << 60;
    by_nodes.twin_products = 0;
    apart.one_pass_products = by_nodes.one_pass_products = 0;
  }
};

TYPED_TEST(SpGEMMNodes, HaveTheSameBits) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const ways way;
  // Rows of B of one node and of more than a warp has lanes, rows of C of every class, in few words
  // and in many; and nodes of too many unknowns.
  for (const std::int64_t unknowns : {2, 3, 4, 5, 6, 7})
    for (const auto& [inner, a_blocks, b_blocks, cols] :
         {std::array{70, 1, 1, 110}, {100, 12, 5, 110}, {90, 3, 40, 110}, {200, 4, 11, 1'500}}) {
      SCOPED_TRACE(fmt::format("{} unknowns, {} and {} blocks", unknowns, a_blocks, b_blocks));
      const auto m = node_matrix(30, inner, a_blocks, unknowns, 3);
      const auto n = node_matrix(inner, cols, b_blocks, unknowns, 4);
      const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
      spgemm_report report;
      const auto c =
          multiply(ctx, scaled(T{3}, a), b, {.thresholds = &way.by_nodes, .report = &report});
      EXPECT_TRUE(same_matrix(
          c, copy_to(host(), multiply(ctx, scaled(T{3}, a), b, {.thresholds = &way.apart}))));
      EXPECT_TRUE(
          is_product(c, expected_sparse(TypeParam::host_csr(m), TypeParam::host_csr(n), 3)));
      EXPECT_EQ(report.products, product_count(m, n));
      EXPECT_EQ(report.entries, std::int64_t{c.size()});
      if (TypeParam::memory_space == space::device) {
        EXPECT_EQ(report.twin_rows, a.shape().row);
      }
      const auto square = TypeParam::put_csr(node_matrix(inner, inner, a_blocks, unknowns, 5));
      EXPECT_TRUE(
          same_matrix(multiply(ctx, square, square, {.thresholds = &way.by_nodes}),
                      copy_to(host(), multiply(ctx, square, square, {.thresholds = &way.apart}))));
    }
}

TYPED_TEST(SpGEMMNodesFew, LongRowsGoAnotherWay) {
  const auto& ctx = TypeParam::context();
  const ways way;
  const auto a = TypeParam::put_csr(node_matrix(20, 100, 20, 3, 3));
  const auto b = TypeParam::put_csr(node_matrix(100, 600, 40, 3, 4));
  spgemm_report report;
  const auto c = multiply(ctx, a, b, {.thresholds = &way.by_nodes, .report = &report});
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply(ctx, a, b, {.thresholds = &way.apart}))));
  EXPECT_EQ(report.twin_rows, 0);
}

TYPED_TEST(SpGEMMNodesFew, OddValuesAndOrders) {
  const auto& ctx = TypeParam::context();
  const ways way;
  auto m = node_matrix(60, 60, 6, 3, 5);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < m.value.size(); k += 3)
    m.value[k] = k % 4 == 0 ? -0.0 : k % 4 == 1 ? infinity : k % 4 == 2 ? 0.0 : -infinity;
  const auto n = TypeParam::put_csr(node_matrix(60, 50, 6, 3, 6));
  const auto same = [&](const triplets& of) {
    const auto a = TypeParam::put_csr(of);
    const auto c = copy_to(host(), multiply(ctx, a, n, {.thresholds = &way.by_nodes}));
    const auto want = copy_to(host(), multiply(ctx, a, n, {.thresholds = &way.apart}));
    expect_same_but_nans(c, want);
  };
  same(m);
  auto unsorted = m; // blocks of A in any order are blocks
  for (auto& j : unsorted.col) j = m.cols - 3 - j / 3 * 3 + j % 3;
  same(unsorted);
  auto other = m; // a column that is not where its block's others are
  other.col.back() = other.col.back() == m.cols - 1 ? 0 : other.col.back() + 1;
  same(other);
  other = m; // an entry too few
  other.row.pop_back();
  other.col.pop_back();
  other.value.pop_back();
  same(other);
}

TYPED_TEST(SpGEMMNodesFew, AreRefilled) {
  const auto& ctx = TypeParam::context();
  const auto m = node_matrix(240, 250, 6, 3, 7), n = node_matrix(250, 260, 6, 3, 8);
  ASSERT_GT(product_count(m, n), 200'000); // a device makes them by nodes
  auto m2 = m, n2 = n;
  random_source random(9);
  for (double& v : m2.value) v = random.value();
  for (double& v : n2.value) v = random.value();
  const auto a = TypeParam::put_csr(m), b = TypeParam::put_csr(n);
  const auto a2 = TypeParam::put_csr(m2), b2 = TypeParam::put_csr(n2);
  auto c = multiply(ctx, a, b);
  const auto want = copy_to(host(), c), other = copy_to(host(), multiply(ctx, a2, b2));
  const auto info = multiply_compute(ctx, a, b);
  EXPECT_EQ(info.nnz(), want.size());
  multiply_symbolic_fill(ctx, info, a, b, c);
  EXPECT_TRUE(same_matrix(c, copy_to(host(), multiply_pattern(ctx, a, b))));
  multiply_refill(ctx, info, a2, b2, c);
  EXPECT_TRUE(same_matrix(c, other));
  multiply_fill(ctx, info, a, b, c);
  EXPECT_TRUE(same_matrix(c, want));
  if (TypeParam::memory_space == space::host) return; // where columns are not compared
  auto wrong = copy_to(host(), c);
  std::swap(wrong.colind()[3], wrong.colind()[4]);
  auto wrong_there = copy_to(ctx, wrong);
  EXPECT_THROW(multiply_refill(ctx, info, a, b, wrong_there), bad_input);
}

/// Large products are looked at before anything else; here 20 million are expected.
TYPED_TEST(SpGEMMNodesFew, AreSeenInASample) {
  const auto& ctx = TypeParam::context();
  const ways way;
  auto m = node_matrix(1'500, 1'500, 22, 3, 11);
  for (const bool lacks_one : {false, true}) {
    if (lacks_one) {
      m.row.pop_back();
      m.col.pop_back();
      m.value.pop_back();
    }
    const auto a = TypeParam::put_csr(m);
    EXPECT_TRUE(same_matrix(multiply(ctx, a, a),
                            copy_to(host(), multiply(ctx, a, a, {.thresholds = &way.apart}))));
  }
}

} // namespace
} // namespace lacuna::test
