// Operations on block trees on every engine: sums, products, changes of single entries, products in
// both directions at once, shared leaves.
#include "support/dense_block.hpp"
#include "support/tree_bytes.hpp"

#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::test {
namespace {

template <class C> class BlockTreeOps : public engine_test<C> {
protected:
  /// Calls f(matrix), sorted and unique, on the engine, for the battery and a mix of dense and
  /// scattered blocks.
  template <class F> static void for_each_case(F f) {
    const auto one = [&](const triplets& m) {
      SCOPED_TRACE(m.name);
      f(merge_duplicates(C::context(), C::put_csr(m), duplicates::sum));
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
TYPED_TEST_SUITE(BlockTreeOps, few_configs, config_name);

/// Of a host engine another one with so many threads.
template <class C> auto context_with(int threads) {
  if constexpr (C::memory_space == space::host)
    return host_context({threads});
  else
    return C::context();
}
template <class A> auto on_host(const A& a) { return copy_to(host_context(), a); }

/// Bit by bit what sums of csr matrices are: of equal and unlike patterns, each side transposed or
/// not. With blocks of 16 some blocks are lists in one tree and trees in the other.
TYPED_TEST(BlockTreeOps, AddsAsCsrDoes) {
  const auto& ctx = TypeParam::context();
  for (const int d : {16, 128})
    TestFixture::for_each_case([&](const auto& a) {
      const auto t = to_block_tree(ctx, a, {d});
      const auto expect = [&](const auto& got, const auto& want) {
        check(ctx, got);
        EXPECT_TRUE(same_matrix(to_csr(ctx, got), on_host(want)));
      };
      // Another pattern of the same shape: half of the rows, moved along.
      const auto from = on_host(a);
      triplets moved{"moved", a.shape().row, a.shape().col, {}, {}, {}};
      for (std::int64_t i = 0; i < a.shape().row; i += 2)
        for (auto k = from.rowptr()[i]; k < from.rowptr()[i + 1]; ++k)
          moved.add(i, (from.colind()[k] + 1) % a.shape().col, 0.5);
      const auto b = TypeParam::put_csr(sorted(moved));
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
  const auto a = TypeParam::put_csr(battery_matrix("tridiagonal"));
  EXPECT_THROW((void)add(ctx, to_block_tree(ctx, a, {16}), to_block_tree(ctx, a, {32})), bad_input);
}

/// A tree that an operation made is multiplied with, in both directions.
template <class Context, class Tree, class T, class I, class O>
void expect_products(const Context& ctx, const Tree& t, const csr<T, I, O>& want) {
  const auto x = random_vector<T>(want.shape().col, 1), w = random_vector<T>(want.shape().row, 2);
  const auto put = [&](const std::vector<T>& v) {
    return copy_to(
        ctx, vector_view<const T, space::host>(v.data(), static_cast<std::int64_t>(v.size())));
  };
  const auto x_put = put(x), w_put = put(w);
  auto y = put(w), z = put(x);
  multiply(ctx, t, x_put.view(), y.view());
  multiply(ctx, transposed(t), w_put.view(), z.view());
  EXPECT_TRUE(within(host_vector(y), expected_product(1, want, false, x)));
  EXPECT_TRUE(within(host_vector(z), expected_product(1, want, true, w)));
}

/// Where all leaves are of the lowest level sums are byte by byte the host's, on every engine, and
/// again. With dense, masked and listed leaves; cut off by the matrix's ends; of blocks that one
/// tree has alone; with rows of blocks that several tasks share; of one level, two and three.
TYPED_TEST(BlockTreeOps, SumsHaveTheHostsBytes) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const host_context host;
  random_source random(8);
  const auto random_blocks = [&](std::int64_t rows, std::int64_t cols, std::int64_t one_in) {
    triplets m{"blocks", rows, cols, {}, {}, {}};
    for (int block = 0; block < 7; ++block) {
      const std::int64_t i0 = random.below(rows), j0 = random.below(cols);
      for (std::int64_t i = i0; i < std::min(rows, i0 + 140); ++i)
        for (std::int64_t j = j0; j < std::min(cols, j0 + 140); ++j)
          if (block == 0 || random.below(one_in) == 0) m.add(i, j, random.value());
    }
    return merge_duplicates(host, TypeParam::host_csr(m), duplicates::sum);
  };
  const auto generated = [&](const char* name) { return cast<T, I, O>(host, gen::generate(name)); };
  const auto expect = [&](const auto& a, const auto& b, int d) {
    SCOPED_TRACE(d);
    const auto x = to_block_tree(host, a, {d}), y = to_block_tree(host, b, {d});
    const auto u = copy_to(ctx, x), v = copy_to(ctx, y);
    const auto expect_same = [&](const auto& got, const auto& again, const auto& want) {
      check(ctx, got);
      EXPECT_TRUE(bytes_of(got) == bytes_of(want));
      EXPECT_TRUE(bytes_of(got) == bytes_of(again));
    };
    expect_same(add(ctx, u, v), add(ctx, u, v), add(host, x, y));
    expect_products(ctx, add(ctx, u, v), add(host, a, b));
    expect_same(add(ctx, scaled(-2, v), u), add(ctx, scaled(-2, v), u),
                add(host, scaled(-2, y), x));
    expect_same(add(ctx, transposed(u), transposed(v)), add(ctx, transposed(u), transposed(v)),
                add(host, transposed(x), transposed(y)));
    if (a.shape().row != a.shape().col) return;
    expect_same(add(ctx, u, transposed(u)), add(ctx, u, transposed(u)),
                add(host, x, transposed(x)));
    expect_same(add(ctx, scaled(3, transposed(v)), u), add(ctx, scaled(3, transposed(v)), u),
                add(host, scaled(3, transposed(y)), x));
  };
  for (const int d : {32, 64, 128, 256}) {
    expect(random_blocks(500, 500, 3), random_blocks(500, 500, 20), d);
    expect(random_blocks(95, 700, 2), random_blocks(95, 700, 9), d);
  }
  expect(random_blocks(30, 20, 2), random_blocks(30, 20, 2), 32);
  expect(generated("poisson2d:n=60"), generated("banded:n=3600"), 128);
  expect(generated("banded:n=33000,half_bandwidth=5"), generated("banded:n=33000,half_bandwidth=8"),
         32);
  expect(generated("dense:n=70,m=2100"), random_blocks(70, 2100, 4), 128);
}

/// Trees with a few flat leaves: a device cuts them. Bit by bit the sums of csr matrices, and the
/// same bytes again.
TYPED_TEST(BlockTreeOps, AddsTreesWithSomeFlatLeaves) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  for (const char* const name : {"rgg:scale=14", "circuit:n=9000"}) {
    SCOPED_TRACE(name);
    const auto a = copy_to(ctx, cast<T, I, O>(host_context(), gen::generate(name)));
    const auto n = std::to_string(a.shape().row);
    const auto b = copy_to(
        ctx, cast<T, I, O>(host_context(), gen::generate("banded:half_bandwidth=3,n=" + n)));
    const auto t = to_block_tree(ctx, a, {64}), u = to_block_tree(ctx, b, {64});
    ASSERT_GT(node_statistics(t).sum(tree_node::coo_16, tree_node::rows_16).nodes, 0);
    if constexpr (TypeParam::memory_space == space::device) {
      EXPECT_TRUE((detail::gpu::add_trees<T, I>(ctx, detail::tree_operand_of(t),
                                                detail::tree_operand_of(u))));
    }
    const auto expect = [&](const auto& got, const auto& again, const auto& want) {
      check(ctx, got);
      EXPECT_TRUE(same_matrix(to_csr(ctx, got), on_host(want)));
      EXPECT_TRUE(bytes_of(got) == bytes_of(again));
      expect_products(ctx, got, on_host(want));
    };
    expect(add(ctx, t, transposed(t)), add(ctx, t, transposed(t)), add(ctx, a, transposed(a)));
    expect(add(ctx, t, scaled(-2, u)), add(ctx, t, scaled(-2, u)), add(ctx, a, scaled(-2, b)));
    expect(add(ctx, u, transposed(t)), add(ctx, u, transposed(t)), add(ctx, b, transposed(a)));
    const auto sum = add(ctx, t, t);
    expect(add(ctx, sum, transposed(u)), add(ctx, sum, transposed(u)),
           add(ctx, scaled(2, a), transposed(b)));
  }
}

/// Of A A, A A^T and A^T A.
template <class A> std::int64_t most_products(const A& matrix) {
  const auto a = on_host(matrix);
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
  constexpr bool on_device = TypeParam::memory_space == space::device;
  for (const int d : {16, 64, 256})
    TestFixture::for_each_case([&](const auto& a) {
      const auto ctx = context_with<TypeParam>(d == 64 ? 3 : 1);
      if (most_products(a) > (on_device ? 350'000 : 3'500'000)) return;
      const auto t = to_block_tree(ctx, a, {d});
      const auto expect = [&](const auto& got, const auto& want) {
        check(ctx, got);
        EXPECT_TRUE(same_matrix(to_csr(ctx, got), on_host(want)));
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
  const auto a = TypeParam::put_csr(battery_matrix("tridiagonal"));
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
  auto values = TypeParam::host_csr(sorted(m));
  values.values()[7] = std::numeric_limits<T>::infinity();
  values.values()[3000] = std::numeric_limits<T>::quiet_NaN();
  for (auto k = values.rowptr()[60]; k < values.rowptr()[61]; ++k) values.values()[k] = T{-0.0};
  const auto a = copy_to(ctx, values);
  const auto t = to_block_tree(ctx, a);
  ASSERT_GT(node_statistics(t).of[static_cast<int>(tree_node::masked)].nodes, 0);
  EXPECT_TRUE(same_matrix(to_csr(ctx, multiply(ctx, t, t, tree_product_method::blocks)),
                          on_host(multiply(ctx, a, a))));
}

TYPED_TEST(BlockTreeOps, EntriesAreChangedInPlace) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const host_context host;
  for (const bool across : {false, true})
    TestFixture::for_each_case([&](const auto& a) {
      auto t = to_block_tree(ctx, across ? transpose(ctx, a) : copy_to(ctx, a));
      if (across) t.transpose();
      t.scale(2);
      const auto before = t;
      auto want = on_host(a);
      for (auto& v : want.values()) v *= 2;
      const auto all = to_coo(host, want);
      triplets some{"batch", a.shape().row, a.shape().col, {}, {}, {}};
      for (std::int64_t k = 0; k < all.size(); k += 5) {
        some.add(all.rowind()[k], all.colind()[k], 3.0);
        some.add(all.rowind()[k], all.colind()[k], 7.0); // the last one is kept
        want.values()[k] = T{7};
      }
      const auto batch = TypeParam::put_coo(some);
      update_entries(ctx, t, batch.view());
      check(ctx, t);
      EXPECT_TRUE(same_sums(entries_of(to_csr(ctx, t)), entries_of(want)));
      update_entries(ctx, t, batch.view(), existing::add);
      for (std::int64_t k = 0; k < all.size(); k += 5) want.values()[k] = T{17};
      EXPECT_TRUE(same_sums(entries_of(to_csr(ctx, t)), entries_of(want)));
      for (std::int64_t k = 0; k < all.size(); ++k) want.values()[k] = all.values()[k];
      EXPECT_TRUE(same_sums(entries_of(to_csr(ctx, before)), entries_of(want)))
          << "a copy is left as it was";
    });
  auto t = to_block_tree(ctx, TypeParam::put_csr(battery_matrix("tridiagonal")));
  const auto before = on_host(to_csr(ctx, t));
  triplets outside{"", t.shape().row, t.shape().col, {0, 0}, {0, t.shape().col - 1}, {1, 1}};
  EXPECT_THROW(update_entries(ctx, t, TypeParam::put_coo(outside).view()), bad_input);
  EXPECT_TRUE(same_matrix(to_csr(ctx, t), before));
  outside.cols += 1;
  EXPECT_THROW(update_entries(ctx, t, TypeParam::put_coo(outside).view()), size_mismatch);
}

TYPED_TEST(BlockTreeOps, MultipliesBothWaysAtOnce) {
  using T = typename TypeParam::value;
  TestFixture::for_each_case([&](const auto& a) {
    const auto host = on_host(a);
    const auto x = random_vector<T>(a.shape().col, 1), w = random_vector<T>(a.shape().row, 2);
    const auto x_put = TypeParam::put(x), w_put = TypeParam::put(w);
    std::vector<T> first_y, first_z;
    for (const int threads : {1, 3}) {
      const auto ctx = context_with<TypeParam>(threads);
      const auto t = to_block_tree(ctx, a, {64});
      auto y = TypeParam::put(all_nan<T>(a.shape().row));
      auto z = TypeParam::put(all_nan<T>(a.shape().col));
      multiply_both(ctx, scaled(2, t), x_put, y, w_put, z);
      EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x)));
      EXPECT_TRUE(within(host_vector(z), expected_product(2, host, true, w)));
      if (threads == 1) first_y = host_vector(y), first_z = host_vector(z);
      EXPECT_TRUE(same(host_vector(y), first_y));
      EXPECT_TRUE(same(host_vector(z), first_z));
      y = TypeParam::put(all_nan<T>(a.shape().row));
      z = TypeParam::put(all_nan<T>(a.shape().col));
      multiply_both(ctx, scaled(2, transposed(t)), w_put, z, x_put, y);
      EXPECT_TRUE(same(host_vector(y), first_y));
      EXPECT_TRUE(same(host_vector(z), first_z));
      auto longer = TypeParam::put(std::vector<T>(first_y.size() + 1));
      EXPECT_THROW(multiply_both(ctx, t, x_put, longer, w_put, z), size_mismatch);
    }
  });
}

/// An operation as docs/block_tree.md writes one: the largest magnitude of each row.
template <class C> class BlockTreeVisitors : public BlockTreeOps<C> {};
TYPED_TEST_SUITE(BlockTreeVisitors, internal::few_on<host_engine>, config_name);
TYPED_TEST(BlockTreeVisitors, OwnTheirRows) {
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
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), on_host(a)));
    EXPECT_EQ(saved.bytes_before, before.bytes());
    EXPECT_EQ(saved.bytes_after, t.bytes());
    EXPECT_LE(saved.bytes_after, saved.bytes_before);
    EXPECT_EQ(compress(ctx, t).bytes_after, saved.bytes_after) << "again";
    const auto x = TypeParam::put(random_vector<T>(a.shape().col, 1));
    auto y = TypeParam::put(all_nan<T>(a.shape().row)),
         z = TypeParam::put(all_nan<T>(a.shape().row));
    multiply(ctx, before, x, y);
    multiply(ctx, t, x, z);
    EXPECT_TRUE(same(host_vector(z), host_vector(y)));
    // Written to, every block has its leaf again.
    if (a.size() == 0) return;
    const auto all = to_coo(host_context(), on_host(a));
    triplets one{"", a.shape().row, a.shape().col, {all.rowind()[0]}, {all.colind()[0]}, {9}};
    update_entries(ctx, t, TypeParam::put_coo(one).view());
    auto want = on_host(a);
    want.values()[0] = T{9};
    check(ctx, t);
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), want));
  });
  // A stencil has few different leaves.
  const auto stencil = cast<T, I, O>(host_context(), gen::generate("poisson2d:n=128"));
  auto t = to_block_tree(ctx, copy_to(ctx, stencil), {128});
  const auto bytes = t.bytes();
  expect_products(ctx, t, stencil);
  const auto saved = compress(ctx, t);
  EXPECT_EQ(saved.bytes_before, bytes) << "what products keep is neither nodes nor lists";
  expect_products(ctx, t, stencil);
  EXPECT_LT(10 * saved.kept, saved.leaves);
  EXPECT_LT(2 * saved.bytes_after, saved.bytes_before);
}

} // namespace
} // namespace lacuna::test
