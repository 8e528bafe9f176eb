// Operations on block trees: sums, changes of single entries, products in both directions at once,
// shared leaves.
#include "support/dense_block.hpp"

#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::test {
namespace {

template <class C> class BlockTreeOps : public engine_test<C> {
protected:
  /// Calls f(matrix), sorted and unique, for the battery and a mix of dense and scattered blocks.
  template <class F> static void for_each_case(F f) {
    const auto one = [&](const triplets& m) {
      SCOPED_TRACE(m.name);
      f(merge_duplicates(C::context(), C::host_csr(m), duplicates::sum));
    };
    C::for_each_matrix(one);
    random_source random(21);
    triplets m{"blocks and scattered entries", 20'000, 20'000, {}, {}, {}};
    for (std::int64_t i = 0; i < 150; ++i)
      for (std::int64_t j = 0; j < 120; ++j) m.add(1000 + i, 3000 + j, random.value());
    for (std::int64_t i = 0; i < m.rows; i += 3) m.add(i, i * 7919 % m.cols, random.value());
    for (std::int64_t i = 0; i < 2000; ++i) m.add(i, i, random.value());
    one(sorted(m));
  }
};
TYPED_TEST_SUITE(BlockTreeOps, internal::few_on<host_engine>, config_name);

/// Bit by bit what sums of csr matrices are: of equal and unlike patterns, each side transposed or
/// not. With blocks of 16 some blocks are lists in one tree and trees in the other.
TYPED_TEST(BlockTreeOps, AddsAsCsrDoes) {
  const auto& ctx = TypeParam::context();
  for (const int d : {16, 128})
    TestFixture::for_each_case([&](const auto& a) {
      const auto t = to_block_tree(ctx, a, {d});
      const auto expect = [&](const auto& got, const auto& want) {
        check(ctx, got);
        EXPECT_TRUE(same_matrix(to_csr(ctx, got), want));
      };
      // Another pattern of the same shape: half of the rows, moved along.
      triplets moved{"moved", a.shape().row, a.shape().col, {}, {}, {}};
      for (std::int64_t i = 0; i < a.shape().row; i += 2)
        for (auto k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
          moved.add(i, (a.colind()[k] + 1) % a.shape().col, 0.5);
      const auto b = TypeParam::host_csr(sorted(moved));
      const auto u = to_block_tree(ctx, b, {d});
      expect(add(ctx, t, t), add(ctx, a, a));
      expect(add(ctx, t, u), add(ctx, a, b));
      expect(add(ctx, scaled(-2, u), scaled(0.5, t)), add(ctx, scaled(-2, b), scaled(0.5, a)));
      expect(add(ctx, transposed(t), transposed(u)), add(ctx, transposed(a), transposed(b)));
      if (a.shape().row != a.shape().col) {
        EXPECT_THROW((void)add(ctx, t, transposed(t)), size_mismatch);
        return;
      }
      expect(add(ctx, t, transposed(t)), add(ctx, a, transposed(a)));
      expect(add(ctx, scaled(3, transposed(u)), t), add(ctx, scaled(3, transposed(b)), a));
    });
  const auto a = TypeParam::host_csr(battery_matrix("tridiagonal"));
  EXPECT_THROW((void)add(ctx, to_block_tree(ctx, a, {16}), to_block_tree(ctx, a, {32})), bad_input);
}

/// Of A A, A A^T and A^T A.
template <class A> std::int64_t most_products(const A& a) {
  std::vector<std::int64_t> in_col(static_cast<std::size_t>(a.shape().col));
  for (const auto j : a.colind()) ++in_col[static_cast<std::size_t>(j)];
  std::int64_t with_itself = 0, across = 0, back = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    const std::int64_t length = a.rowptr()[i + 1] - a.rowptr()[i];
    back += length * length;
    if (i < a.shape().col) with_itself += length * in_col[static_cast<std::size_t>(i)];
  }
  for (const std::int64_t n : in_col) across += n * n;
  return std::max({with_itself, across, back});
}

/// Bit by bit the products of csr matrices, and the nodes of a tree made of them: each side
/// transposed or not, scaled, by blocks and by what is chosen; with itself from one storage.
TYPED_TEST(BlockTreeOps, MultipliesAsCsrDoes) {
  using T = typename TypeParam::value;
  for (const int d : {16, 64, 256})
    TestFixture::for_each_case([&](const auto& a) {
      const host_context ctx({d == 64 ? 3 : 1});
      if (most_products(a) > 3'500'000) return;
      const auto t = to_block_tree(ctx, a, {d});
      const auto expect = [&](const auto& got, const auto& want) {
        check(ctx, got);
        EXPECT_TRUE(same_matrix(to_csr(ctx, got), want));
        EXPECT_EQ(got.bytes(), to_block_tree(ctx, want, {d}).bytes()) << "types are chosen anew";
      };
      const auto by = tree_product_method::blocks;
      expect(multiply(ctx, t, transposed(t), by), multiply(ctx, a, transposed(a)));
      expect(multiply(ctx, scaled(-2, transposed(t)), scaled(0.5, t), by),
             multiply(ctx, scaled(-2, transposed(a)), scaled(0.5, a)));
      auto turned = t;
      turned.transpose();
      turned.scale(T{4});
      expect(multiply(ctx, t, turned), multiply(ctx, a, scaled(4, transposed(a))));
      if (a.shape().row != a.shape().col) {
        EXPECT_THROW((void)multiply(ctx, t, t), size_mismatch);
        return;
      }
      expect(multiply(ctx, t, t, by), multiply(ctx, a, a));
      expect(multiply(ctx, transposed(t), transposed(t), by),
             multiply(ctx, transposed(a), transposed(a)));
    });
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::host_csr(battery_matrix("tridiagonal"));
  EXPECT_THROW((void)multiply(ctx, to_block_tree(ctx, a, {16}), to_block_tree(ctx, a, {32})),
               bad_input);
}

/// Zeros of masked leaves and of padding are no entries: what is not finite stays where it is.
TYPED_TEST(BlockTreeOps, ProductsKeepWhatIsNotFinite) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  random_source random(5);
  triplets m{"nearly dense", 100, 100, {}, {}, {}};
  for (std::int64_t i = 0; i < 100; ++i)
    for (std::int64_t j = 0; j < 100; ++j)
      if (random.below(20) != 0) m.add(i, j, random.value());
  auto a = TypeParam::host_csr(sorted(m));
  a.values()[7] = std::numeric_limits<T>::infinity();
  a.values()[3000] = std::numeric_limits<T>::quiet_NaN();
  for (auto k = a.rowptr()[60]; k < a.rowptr()[61]; ++k) a.values()[k] = T{-0.0};
  const auto t = to_block_tree(ctx, a);
  ASSERT_GT(node_statistics(t).of[static_cast<int>(tree_node::masked)].nodes, 0);
  EXPECT_TRUE(same_matrix(to_csr(ctx, multiply(ctx, t, t, tree_product_method::blocks)),
                          multiply(ctx, a, a)));
}

TYPED_TEST(BlockTreeOps, EntriesAreChangedInPlace) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const bool across : {false, true})
    TestFixture::for_each_case([&](const auto& a) {
      auto t = to_block_tree(ctx, across ? transpose(ctx, a) : copy_to(ctx, a));
      if (across) t.transpose();
      t.scale(2);
      const auto before = t;
      auto want = copy_to(ctx, a);
      for (auto& v : want.values()) v *= 2;
      const auto all = to_coo(ctx, want);
      triplets batch{"batch", a.shape().row, a.shape().col, {}, {}, {}};
      for (std::int64_t k = 0; k < all.size(); k += 5) {
        batch.add(all.rowind()[k], all.colind()[k], 7.0);
        want.values()[k] = T{7};
      }
      update_entries(ctx, t, make_coo<T, I, O>(batch).view());
      check(ctx, t);
      EXPECT_TRUE(same_matrix(to_csr(ctx, t), want));
      update_entries(ctx, t, make_coo<T, I, O>(batch).view(), existing::add);
      for (std::int64_t k = 0; k < all.size(); k += 5) want.values()[k] = T{14};
      EXPECT_TRUE(same_matrix(to_csr(ctx, t), want));
      for (std::int64_t k = 0; k < all.size(); ++k) want.values()[k] = all.values()[k];
      EXPECT_TRUE(same_matrix(to_csr(ctx, before), want)) << "a copy is left as it was";
    });
  auto t = to_block_tree(ctx, TypeParam::host_csr(battery_matrix("tridiagonal")));
  const auto before = to_csr(ctx, t);
  triplets outside{"", t.shape().row, t.shape().col, {0, 0}, {0, t.shape().col - 1}, {1, 1}};
  EXPECT_THROW(update_entries(ctx, t, make_coo<T, I, O>(outside).view()), bad_input);
  EXPECT_TRUE(same_matrix(to_csr(ctx, t), before));
  outside.cols += 1;
  EXPECT_THROW(update_entries(ctx, t, make_coo<T, I, O>(outside).view()), size_mismatch);
}

TYPED_TEST(BlockTreeOps, MultipliesBothWaysAtOnce) {
  using T = typename TypeParam::value;
  TestFixture::for_each_case([&](const auto& a) {
    const auto x = random_vector<T>(a.shape().col, 1), w = random_vector<T>(a.shape().row, 2);
    std::vector<T> first_y, first_z;
    for (const int threads : {1, 3}) {
      const host_context ctx({threads});
      const auto t = to_block_tree(ctx, a, {64});
      auto y = all_nan<T>(a.shape().row), z = all_nan<T>(a.shape().col);
      multiply_both(ctx, scaled(2, t), x, y, w, z);
      EXPECT_TRUE(within(y, expected_product(2, a, false, x)));
      EXPECT_TRUE(within(z, expected_product(2, a, true, w)));
      if (threads == 1) first_y = y, first_z = z;
      EXPECT_TRUE(same(y, first_y));
      EXPECT_TRUE(same(z, first_z));
      std::fill(y.begin(), y.end(), T{0});
      std::fill(z.begin(), z.end(), T{0});
      multiply_both(ctx, scaled(2, transposed(t)), w, z, x, y);
      EXPECT_TRUE(same(y, first_y));
      EXPECT_TRUE(same(z, first_z));
      std::vector<T> longer(y.size() + 1);
      EXPECT_THROW(multiply_both(ctx, t, x, longer, w, z), size_mismatch);
    }
  });
}

/// An operation as docs/block_tree.md writes one: the largest magnitude of each row.
TYPED_TEST(BlockTreeOps, VisitorsOwnTheirRows) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_case([&](const auto& a) {
    for (const bool across : {false, true}) {
      const auto rows = across ? transpose(ctx, a) : copy_to(ctx, a);
      std::vector<T> want(static_cast<std::size_t>(rows.shape().row)), most = want;
      for (std::size_t i = 0; i < want.size(); ++i)
        for (auto k = rows.rowptr()[i]; k < rows.rowptr()[i + 1]; ++k)
          want[i] = std::max(want[i], std::abs(-2 * rows.values()[k]));
      auto t = to_block_tree(ctx, a);
      if (across) t.transpose();
      t.scale(-2);
      for_each_stripe(ctx, t.view(), [&](const auto& stripe) {
        stripe.for_each([&](std::int64_t row, std::int64_t, T value) {
          T& m = most[static_cast<std::size_t>(row)];
          m = std::max(m, std::abs(value));
        });
      });
      EXPECT_TRUE(same(most, want));
    }
  });
}

TYPED_TEST(BlockTreeOps, EqualLeavesAreKeptOnce) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_case([&](const auto& a) {
    auto t = to_block_tree(ctx, a, {16});
    const auto before = t;
    const auto saved = compress(ctx, t);
    check(ctx, t);
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), a));
    EXPECT_EQ(saved.bytes_before, before.bytes());
    EXPECT_EQ(saved.bytes_after, t.bytes());
    EXPECT_LE(saved.bytes_after, saved.bytes_before);
    EXPECT_EQ(compress(ctx, t).bytes_after, saved.bytes_after) << "again";
    const auto x = random_vector<T>(a.shape().col, 1);
    std::vector<T> y(static_cast<std::size_t>(a.shape().row)), z = y;
    multiply(ctx, before, x, y);
    multiply(ctx, t, x, z);
    EXPECT_TRUE(same(z, y));
    // Written to, every block has its leaf again.
    if (a.size() == 0) return;
    const auto all = to_coo(ctx, a);
    triplets one{"", a.shape().row, a.shape().col, {all.rowind()[0]}, {all.colind()[0]}, {9}};
    update_entries(ctx, t, make_coo<T, I, O>(one).view());
    auto want = copy_to(ctx, a);
    want.values()[0] = T{9};
    check(ctx, t);
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), want));
  });
  // A stencil has few different leaves.
  auto t = to_block_tree(ctx, cast<T, I, O>(ctx, gen::generate("poisson2d:n=128")), {128});
  const auto saved = compress(ctx, t);
  EXPECT_LT(10 * saved.kept, saved.leaves);
  EXPECT_LT(2 * saved.bytes_after, saved.bytes_before);
}

} // namespace
} // namespace lacuna::test
