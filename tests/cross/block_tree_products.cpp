// Products of two block trees on every engine, by blocks wherever they can be made so: bytes,
// values and what is chosen.
#include <cmath>

#include "support/dense_block.hpp"
#include "support/tree_bytes.hpp"

#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::test {
namespace {

template <class C> class BlockTreeProducts : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  using matrix = csr<T, I, O>;

  static matrix generated(const std::string& name) {
    return cast<T, I, O>(host_context(), gen::generate(name));
  }
  /// Blocks of so many rows and columns, of one of `one_in` of their places.
  static matrix clusters(std::int64_t rows, std::int64_t cols, std::int64_t size,
                         std::int64_t one_in, std::uint64_t seed) {
    random_source random(seed);
    triplets m{"clusters", rows, cols, {}, {}, {}};
    for (int cluster = 0; cluster < 7; ++cluster) {
      const std::int64_t i0 = random.below(rows), j0 = random.below(cols);
      for (std::int64_t i = i0; i < std::min(rows, i0 + size); ++i)
        for (std::int64_t j = j0; j < std::min(cols, j0 + size); ++j)
          if (random.below(one_in) == 0) m.add(i, j, random.value());
    }
    return merge_duplicates(host_context(), C::host_csr(sorted(m)), duplicates::sum);
  }
  static bool made_by_blocks(const auto& x, const auto& y, tree_product_method by) {
    if constexpr (C::memory_space == space::device)
      return detail::gpu::multiply_trees<T, I>(C::context(), detail::tree_operand_of(x),
                                               detail::tree_operand_of(y), by) != nullptr;
    return by == tree_product_method::blocks;
  }
};
/// Kernels that nothing else runs are a device's.
using product_configs = internal::on_engines<internal::few_on, internal::all_on_device>;
TYPED_TEST_SUITE(BlockTreeProducts, product_configs, config_name);

/// Byte by byte what is made of the product of csr matrices, by blocks, on every engine, and again.
template <class C, class A, class X, class Y>
void expect_product(const A& want, const X& x, const Y& y, int d) {
  const auto& ctx = C::context();
  const auto got = multiply(ctx, x, y, tree_product_method::blocks);
  check(ctx, got);
  EXPECT_TRUE(same_matrix(to_csr(ctx, got), want));
  EXPECT_EQ(got.size(), want.size());
  EXPECT_TRUE(bytes_of(got) == bytes_of(to_block_tree(host_context(), want, {d})));
  EXPECT_TRUE(bytes_of(got) == bytes_of(multiply(ctx, x, y, tree_product_method::blocks)));
}

/// A and B as they are and transposed, of any sizes; blocks cut off by the matrices' ends; leaves
/// of all types; rows of a few entries and of many; rows of blocks without any; of one level to
/// four.
TYPED_TEST(BlockTreeProducts, HaveTheBytesOfRows) {
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const host_context host;
  const auto expect = [&](const auto& a, const auto& b, int d) {
    SCOPED_TRACE(d);
    SCOPED_TRACE(a.shape().row);
    const auto a_across = transpose(host, a), b_across = transpose(host, b);
    const auto tree = [&](const auto& m) { return copy_to(ctx, to_block_tree(host, m, {d})); };
    const auto t = tree(a), u = tree(b), v = tree(a_across), w = tree(b_across);
    EXPECT_TRUE(TestFixture::made_by_blocks(t, u, tree_product_method::blocks));
    const auto want = multiply(host, a, b);
    expect_product<TypeParam>(want, t, u, d);
    expect_product<TypeParam>(want, transposed(v), u, d);
    expect_product<TypeParam>(want, t, transposed(w), d);
    expect_product<TypeParam>(want, transposed(v), transposed(w), d);
    expect_product<TypeParam>(multiply(host, scaled(value{-6}, a), b), scaled(-2, t), scaled(3, u),
                              d);
    expect_product<TypeParam>(multiply(host, a, a_across), t, transposed(t), d);
    if (a.shape().row == a.shape().col) expect_product<TypeParam>(multiply(host, a, a), t, t, d);
  };
  const auto make = [](auto... with) { return TestFixture::clusters(with...); };
  for (const int d : {32, 64, 128, 256}) {
    expect(make(300, 300, 140, 3, 1), make(300, 300, 140, 7, 2), d);
    expect(make(95, 400, 90, 2, 3), make(400, 77, 90, 5, 4), d);
  }
  expect(make(30, 20, 30, 1, 5), make(20, 25, 30, 1, 6), 32);
  expect(make(33000, 60, 40, 1, 8), make(60, 33000, 40, 1, 9), 32);
  expect(TestFixture::generated("dense:n=70,m=300"), make(300, 40, 90, 4, 7), 128);
  expect(TestFixture::generated("banded:n=1500,half_bandwidth=9"),
         TestFixture::generated("banded:n=1500,half_bandwidth=5"), 32);
}

/// Meshes, by blocks because it pays there.
TYPED_TEST(BlockTreeProducts, OfMeshesAreChosen) {
  const auto& ctx = TypeParam::context();
  const host_context host;
  for (const char* const name : {"fem3d:n=6", "poisson3d27:n=9", "poisson2d:n=40"}) {
    SCOPED_TRACE(name);
    const auto a = TestFixture::generated(name);
    const auto t = copy_to(ctx, to_block_tree(host, a, {64}));
    if (TypeParam::memory_space == space::device) {
      EXPECT_TRUE(TestFixture::made_by_blocks(t, t, tree_product_method::adaptive));
      EXPECT_FALSE(TestFixture::made_by_blocks(t, t, tree_product_method::rows));
    }
    const auto c = multiply(host, a, a);
    expect_product<TypeParam>(c, t, t, 64);
    EXPECT_TRUE(same_matrix(to_csr(ctx, multiply(ctx, t, t)), c));
    EXPECT_TRUE(same_matrix(to_csr(ctx, multiply(ctx, t, t, tree_product_method::rows)), c));
    // R A P of a coarse grid, say: a tree that was made times one that was.
    const auto square = multiply(ctx, t, t, tree_product_method::blocks);
    expect_product<TypeParam>(multiply(host, a, c), t, square, 64);
  }
}

/// Some flat leaves of operands are cut; trees that are flat for the most part go by rows. What is
/// made is the same.
TYPED_TEST(BlockTreeProducts, OfFlatLeavesAreCut) {
  const auto& ctx = TypeParam::context();
  const host_context host;
  const auto expect = [&](const std::string& name, int d, bool by_blocks) {
    SCOPED_TRACE(name);
    const auto a = TestFixture::generated(name);
    const auto b =
        TestFixture::generated("banded:half_bandwidth=9,n=" + std::to_string(a.shape().row));
    const auto t = copy_to(ctx, to_block_tree(host, a, {d}));
    const auto u = copy_to(ctx, to_block_tree(host, b, {d}));
    EXPECT_GT(node_statistics(t).sum(tree_node::coo_16, tree_node::rows_16).nodes, 0);
    if (TypeParam::memory_space == space::device) {
      EXPECT_EQ(TestFixture::made_by_blocks(t, u, tree_product_method::blocks), by_blocks);
    }
    expect_product<TypeParam>(multiply(host, a, b), t, u, d);
    expect_product<TypeParam>(multiply(host, b, transpose(host, a)), u, transposed(t), d);
    expect_product<TypeParam>(multiply(host, a, transpose(host, a)), t, transposed(t), d);
  };
  expect("rgg:scale=14", 64, true);
  expect("web:n=2000", 64, false);
}

/// Where leaves that meet have few products rows are chosen, and taken where C has flat leaves;
/// where leaves meet in vain, and where an operand has no entries, C has none.
TYPED_TEST(BlockTreeProducts, OfFewEntries) {
  const auto& ctx = TypeParam::context();
  const host_context host;
  const auto put = [&](const triplets& m) {
    return copy_to(ctx, to_block_tree(host, TypeParam::host_csr(m), {128}));
  };
  triplets pieces{"pieces of rows", 512, 512, {}, {}, {}};
  triplets across = pieces, narrow = pieces, none = pieces;
  for (std::int64_t i = 5; i < 512; i += 128)
    for (std::int64_t j = 0; j < 512; ++j)
      if (j % 128 < 60) pieces.add(i, j, 0.5);
  for (std::int64_t i = 100; i < 512; i += 128)
    for (std::int64_t j = 0; j < 512; ++j)
      if (j % 128 < 60) across.add(i, j, 0.5);
  for (std::int64_t i = 0; i < 512; ++i)
    for (std::int64_t j = 0; j < 512; ++j)
      if (i % 128 < 60 && j % 128 < 4) narrow.add(i, j, 0.5);
  const auto a = TypeParam::host_csr(pieces), b = TypeParam::host_csr(narrow);
  const auto t = put(pieces), u = put(across), v = put(narrow), zero = put(none);
  if (TypeParam::memory_space == space::device) {
    EXPECT_TRUE(TestFixture::made_by_blocks(t, t, tree_product_method::blocks));
    EXPECT_FALSE(TestFixture::made_by_blocks(t, t, tree_product_method::adaptive));
    EXPECT_TRUE(TestFixture::made_by_blocks(v, v, tree_product_method::blocks));
    EXPECT_FALSE(TestFixture::made_by_blocks(t, v, tree_product_method::blocks));
  }
  expect_product<TypeParam>(multiply(host, a, b), t, v, 128);
  expect_product<TypeParam>(multiply(host, a, a), t, t, 128);
  EXPECT_TRUE(same_matrix(to_csr(ctx, multiply(ctx, t, t)), multiply(host, a, a)));
  for (const auto by : {tree_product_method::blocks, tree_product_method::adaptive}) {
    EXPECT_EQ(multiply(ctx, t, u, by).size(), 0) << "leaves meet, but no entries";
    EXPECT_EQ(multiply(ctx, t, zero, by).size(), 0);
    EXPECT_EQ(multiply(ctx, zero, transposed(t), by).size(), 0);
  }
  EXPECT_THROW((void)multiply(ctx, t, put(triplets{"", 300, 512, {}, {}, {}})), size_mismatch);
}

/// NaN as a number: which sign and payload it has is the processor's.
template <class Matrix> Matrix with_nan_as_number(Matrix a) {
  for (auto& v : a.values())
    if (std::isnan(v)) v = -123456;
  return a;
}

/// What is not finite, and zeros of either sign: only where entries meet.
TYPED_TEST(BlockTreeProducts, OfSpecialValues) {
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const host_context host;
  for (const std::int64_t one_in : {2, 8}) {
    auto a = TestFixture::clusters(200, 200, 190, one_in, 9);
    std::int64_t k = 0;
    for (auto& v : a.values()) {
      if (k % 11 == 0) v = value{-0.0};
      if (k % 13 == 0) v = value{0};
      if (k % 97 == 0) v = std::numeric_limits<value>::infinity();
      if (++k % 1009 == 0) v = std::numeric_limits<value>::quiet_NaN();
    }
    const auto a_across = transpose(host, a);
    const auto t = copy_to(ctx, to_block_tree(host, a, {64}));
    const auto by = tree_product_method::blocks;
    const auto expect = [&](const auto& got, auto want) {
      EXPECT_TRUE(same_matrix(with_nan_as_number(copy_to(host, to_csr(ctx, got))),
                              with_nan_as_number(std::move(want))));
    };
    expect(multiply(ctx, t, t, by), multiply(host, a, a));
    expect(multiply(ctx, scaled(-1, transposed(t)), t, by),
           multiply(host, scaled(-1, a_across), a));
  }
}

} // namespace
} // namespace lacuna::test
