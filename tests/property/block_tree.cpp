// Laws of block trees, on random matrices of many shapes and densities, with every size of blocks:
// integers, so that they hold exactly.
#include <lacuna/op/block_tree_ops.hpp>

#include "support/sparse_product.hpp"

namespace lacuna::test {
namespace {

using matrix = csr<double, std::int32_t, std::int64_t>;

/// Entries in clusters of random height and width, and some elsewhere.
matrix random_clusters(const host_context& ctx, std::int64_t rows, std::int64_t cols,
                       random_source& random) {
  triplets m{"clusters", rows, cols, {}, {}, {}};
  for (std::int64_t c = random.below(6); c > 0; --c) {
    const std::int64_t i0 = random.below(rows), j0 = random.below(cols);
    const std::int64_t height = 1 + random.below(90), width = 1 + random.below(90);
    const std::int64_t skip = random.below(4);
    for (std::int64_t i = i0; i < std::min(rows, i0 + height); ++i)
      for (std::int64_t j = j0; j < std::min(cols, j0 + width); ++j)
        if (skip == 0 || random.below(skip + 1) == 0)
          m.add(i, j, static_cast<double>(1 + random.below(9)));
  }
  for (std::int64_t k = random.below(300); k > 0; --k)
    m.add(random.below(rows), random.below(cols), static_cast<double>(1 + random.below(9)));
  return merge_duplicates(ctx, make_csr<double, std::int32_t, std::int64_t>(sorted(m)));
}

TEST(BlockTreeLaws, HoldForRandomMatrices) {
  const with_values exact(value_kind::integers);
  const host_context ctx({3});
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    random_source random(seed);
    const std::int64_t rows = 1 + random.below(seed % 5 == 0 ? 100'000 : 900);
    const std::int64_t cols = 1 + random.below(seed % 7 == 0 ? 100'000 : 900);
    const matrix a = random_clusters(ctx, rows, cols, random),
                 b = random_clusters(ctx, rows, cols, random);
    const int d = 16 << (seed % 5);
    const auto t = to_block_tree(ctx, a, {d}), u = to_block_tree(ctx, b, {d});
    check(ctx, t);
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), a)) << "there and back";
    auto back = t;
    back.transpose();
    EXPECT_TRUE(same_matrix(to_csr(ctx, back), transpose(ctx, a)));
    const auto sum = add(ctx, t, u);
    check(ctx, sum);
    EXPECT_TRUE(same_matrix(to_csr(ctx, sum), add(ctx, a, b)));
    const auto minus = add(ctx, sum, scaled(-1, u)); // (A + B) - B has A's values, and zeros
    std::vector<double> x(static_cast<std::size_t>(cols)), y(static_cast<std::size_t>(rows)), z = y;
    for (auto& v : x) v = static_cast<double>(random.below(9));
    multiply(ctx, minus, x, y);
    multiply(ctx, a, x, z);
    EXPECT_TRUE(same(y, z));
    std::vector<double> v(x.size()), w = v;
    multiply(ctx, transposed(sum), y, v);
    multiply(ctx, transposed(t), y, w);
    multiply(ctx, transposed(u), y, w, w);
    EXPECT_TRUE(same(w, v)) << "(A + B)^T y = A^T y + B^T y";
    const auto by = seed % 2 == 0 ? tree_product_method::blocks : tree_product_method::adaptive;
    const auto square = multiply(ctx, transposed(t), u, by);
    check(ctx, square);
    EXPECT_TRUE(same_matrix(to_csr(ctx, square), multiply(ctx, transposed(a), b)));
    multiply(ctx, square, x, v);
    multiply(ctx, u, x, z);
    multiply(ctx, transposed(t), z, w);
    EXPECT_TRUE(same(w, v)) << "(A^T B) x = A^T (B x)";
    auto compressed = t;
    (void)compress(ctx, compressed);
    check(ctx, compressed);
    EXPECT_TRUE(same_matrix(to_csr(ctx, compressed), a));
  }
}

/// A device makes the host's bytes, and multiplies as they say, with vectors and with trees.
TEST(BlockTreeLaws, HoldOnADevice) {
  if (!cuda_engine::present()) GTEST_SKIP() << "no CUDA device";
  const with_values exact(value_kind::integers);
  const host_context host({3});
  const device_context& ctx = cuda_engine::context();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    random_source random(seed);
    const std::int64_t rows = 1 + random.below(seed % 5 == 0 ? 100'000 : 900);
    const std::int64_t cols = 1 + random.below(seed % 7 == 0 ? 100'000 : 900);
    const matrix a = random_clusters(host, rows, cols, random);
    const int d = 16 << (seed % 5);
    const auto want = to_block_tree(host, a, {d});
    const auto t = to_block_tree(ctx, copy_to(ctx, a), {d});
    const auto got = copy_to(host, t);
    const auto &g = *got.content(), &w = *want.content();
    ASSERT_EQ(g.pool.bytes(), w.pool.bytes());
    EXPECT_EQ(std::memcmp(g.pool.data(), w.pool.data(), w.pool.bytes()), 0);
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), a));
    std::vector<double> x(static_cast<std::size_t>(cols)), y(static_cast<std::size_t>(rows));
    for (auto& v : x) v = static_cast<double>(random.below(9));
    std::vector<double> back(x.size());
    multiply(host, a, x, y);
    multiply(host, transposed(a), y, back);
    const auto x_put = copy_to(ctx, x);
    array<double, space::device> y_put(ctx, rows), back_put(ctx, cols);
    multiply(ctx, t, x_put, y_put);
    multiply(ctx, transposed(t), y_put, back_put);
    EXPECT_TRUE(same(host_vector(y_put), y));
    EXPECT_TRUE(same(host_vector(back_put), back)) << "A^T (A x)";
    const matrix b = random_clusters(host, rows, cols, random);
    const auto u = to_block_tree(ctx, copy_to(ctx, b), {d});
    const auto by = tree_product_method::blocks;
    const auto across = multiply(ctx, transposed(t), scaled(3, u), by);
    check(ctx, across);
    EXPECT_TRUE(same_matrix(to_csr(ctx, across), multiply(host, scaled(3, transposed(a)), b)));
    if (rows < 1000) {
      const auto square = multiply(ctx, t, transposed(t), by);
      check(ctx, square);
      EXPECT_TRUE(same_matrix(to_csr(ctx, square), multiply(host, a, transposed(a))));
    }
  }
}

} // namespace
} // namespace lacuna::test
