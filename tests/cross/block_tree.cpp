// Block trees on every engine: made from the whole battery with every size of blocks they hold the
// matrix they were made from, keep their invariants, and multiply in both directions as the
// reference does. A device makes the bytes that the host makes.
#include <future>

#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

constexpr int sizes[] = {16, 32, 64, 128, 256};

/// Matrices that the battery lacks: leaves of every type, several levels.
std::vector<triplets> tree_matrices() {
  std::vector<triplets> all;
  random_source random(11);
  // Dense and nearly dense blocks, cut at the matrix's edges; a few entries elsewhere.
  triplets blocks{"blocks and single entries", 700, 530, {}, {}, {}};
  for (std::int64_t i = 512; i < 700; ++i)
    for (std::int64_t j = 256; j < 530; ++j)
      if (j < 400 || random.below(20) > 0) blocks.add(i, j, random.value());
  for (std::int64_t j = 0; j < 250; j += 40) blocks.add(3, j, random.value());
  for (std::int64_t i = 128; i < 160; ++i) blocks.add(i, 130, random.value());
  blocks.add(300, 10, random.value());
  blocks.add(300, 12, random.value());
  all.push_back(std::move(blocks));
  // One entry in each of many blocks: lists with wide coordinates.
  triplets scattered{"scattered", 3000, 70'000, {}, {}, {}};
  for (std::int64_t i = 0; i < scattered.rows; ++i) {
    scattered.add(i, i * 7919 % 35'000, random.value());
    scattered.add(i, 35'000 + i * 6133 % 35'000, random.value());
  }
  all.push_back(sorted(scattered));
  // Long rows and columns, far apart.
  triplets far{"far apart", 300'000, 200'000, {}, {}, {}};
  for (std::int64_t k = 0; k < 400; ++k) far.add(5, k * 500, random.value());
  for (std::int64_t k = 0; k < 400; ++k) far.add(k * 750, 199'999, random.value());
  for (std::int64_t k = 0; k < 40; ++k) far.add(299'900 + k, 100'000 + 2 * k, random.value());
  all.push_back(sorted(far));
  // Flat leaves that several warps share: a few rows are longer than what one takes, and entries of
  // a row are shared. Without those rows the leaves are lists of places.
  for (const bool hubs : {true, false}) {
    triplets flat{hubs ? "flat with long rows" : "flat", 2000, 60'000, {}, {}, {}};
    for (std::int64_t i = 0; i < flat.rows; ++i) {
      const bool is_long = hubs && i % 700 == 5;
      const std::int64_t entries = is_long ? 2000 : 1 + i % 2, step = is_long ? 30 : 300;
      const std::int64_t first = is_long ? 0 : random.below(59'000);
      for (std::int64_t k = 0; k < entries; ++k) flat.add(i, first + k * step, random.value());
    }
    all.push_back(std::move(flat));
  }
  return all;
}

template <class C> class BlockTree : public engine_test<C> {
protected:
  /// Calls f(host matrix, its tree on the engine with blocks of d) for the battery and more.
  template <class F> static void for_each_case(int d, F f) {
    const auto one = [&](const triplets& m) {
      SCOPED_TRACE(m.name + ", blocks of " + std::to_string(d));
      f(C::host_csr(m), to_block_tree(C::context(), C::put_csr(m), {d}));
    };
    C::for_each_matrix(one);
    for (const triplets& m : tree_matrices()) one(m);
  }
  template <class F> static void for_each_sum(F f) {
    C::for_each_value_kind([&] {
      for (const int d : {16, 128}) for_each_case(d, f);
    });
  }
};
TYPED_TEST_SUITE(BlockTree, all_configs, config_name);

TYPED_TEST(BlockTree, Multiplies) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& a, const auto& t) {
    const auto [rows, cols] = a.shape();
    const auto x = random_vector<T>(cols, 1), u = random_vector<T>(rows, 2);
    const auto x_put = TypeParam::put(x), u_put = TypeParam::put(u);
    auto y = TypeParam::put(all_nan<T>(rows)), v = TypeParam::put(all_nan<T>(cols));
    multiply(ctx, t, x_put, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, a, false, x)));
    multiply(ctx, transposed(t), u_put, v);
    EXPECT_TRUE(within(host_vector(v), expected_product(1, a, true, u)));
    const auto once = host_vector(y), once_across = host_vector(v);
    multiply(ctx, t, x_put, y);
    multiply(ctx, transposed(t), u_put, v);
    EXPECT_TRUE(same(host_vector(y), once));
    EXPECT_TRUE(same(host_vector(v), once_across));
    y = TypeParam::put(u);
    multiply(ctx, scaled(-1.5, t), x_put, scaled(0.25, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.5, a, false, x, 0.25, u)));
    v = TypeParam::put(x);
    multiply(ctx, scaled(2, transposed(t)), u_put, scaled(-0.5, v), v);
    EXPECT_TRUE(within(host_vector(v), expected_product(2, a, true, u, -0.5, x)));
  });
}

template <class C> class BlockTreeFew : public BlockTree<C> {};
TYPED_TEST_SUITE(BlockTreeFew, few_configs, config_name);

TYPED_TEST(BlockTreeFew, HoldsTheMatrix) {
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers); // duplicates are added up
  std::int64_t seen[tree_node_types] = {};
  for (const int d : sizes)
    TestFixture::for_each_case(d, [&](const auto& a, const auto& made) {
      auto t = made;
      check(ctx, t);
      EXPECT_EQ(t.shape(), a.shape());
      EXPECT_EQ(t.block(), d);
      const host_context host;
      const auto want = merge_duplicates(host, a, duplicates::sum);
      EXPECT_EQ(t.size(), want.size());
      EXPECT_TRUE(same_matrix(to_csr(ctx, t), want));
      EXPECT_TRUE(same_matrix(to_coo(ctx, t), to_coo(host, want)));
      t.transpose();
      t.scale(2);
      auto across = transpose(host, want);
      for (auto& value : across.values()) value *= 2;
      EXPECT_TRUE(same_sums(entries_of(to_csr(ctx, t)), entries_of(across)));
      EXPECT_TRUE(same_matrix(to_csr(ctx, made), want)) << "the copy's state is its own";
      const auto there_and_back = copy_to(ctx, copy_to(host, t));
      EXPECT_TRUE(same_sums(entries_of(to_csr(ctx, there_and_back)), entries_of(across)));
      const tree_statistics s = node_statistics(made);
      for (int type = 0; type < tree_node_types; ++type) seen[type] += s.of[type].nodes;
      EXPECT_EQ(s.sum(tree_node::dense, tree_node::rows_32).entries, want.size());
    });
  for (int type = 1; type < tree_node_types; ++type)
    EXPECT_GT(seen[type], 0) << to_string(static_cast<tree_node>(type));
}

/// Pool and lists are the same bytes whoever makes them.
TYPED_TEST(BlockTreeFew, HasTheHostsBytes) {
  const host_context host;
  const auto bytes = [](const auto& a) {
    const auto* const first = reinterpret_cast<const unsigned char*>(a.data());
    return std::vector<unsigned char>(first, first + a.bytes());
  };
  const with_values exact(value_kind::integers);
  for (const int d : sizes)
    TestFixture::for_each_case(d, [&](const auto& a, const auto& t) {
      const auto got = copy_to(host, t), want = to_block_tree(host, a, {d});
      const auto &g = *got.content(), &w = *want.content();
      EXPECT_EQ(g.nnz, w.nnz);
      EXPECT_EQ(g.entries, w.entries);
      EXPECT_EQ(g.levels, w.levels);
      EXPECT_EQ(g.root, w.root);
      EXPECT_EQ(g.row_sums.widest, w.row_sums.widest);
      EXPECT_EQ(g.row_sums.slots, w.row_sums.slots);
      EXPECT_EQ(g.column_sums.widest, w.column_sums.widest);
      EXPECT_EQ(g.column_sums.slots, w.column_sums.slots);
      EXPECT_TRUE(bytes(g.row_tasks) == bytes(w.row_tasks));
      EXPECT_TRUE(bytes(g.column_tasks) == bytes(w.column_tasks));
      EXPECT_TRUE(bytes(g.items) == bytes(w.items));
      EXPECT_TRUE(bytes(g.by_column) == bytes(w.by_column));
      EXPECT_TRUE(bytes(g.pool) == bytes(w.pool));
    });
}

/// Places of a masked leaf without an entry are never multiplied with an Inf or a NaN in x.
TYPED_TEST(BlockTreeFew, SpecialValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const int d : {16, 256})
    TestFixture::for_each_case(d, [&](const auto& a, const auto& t) {
      const auto merged = merge_duplicates(host_context(), a, duplicates::sum);
      const auto [rows, cols] = a.shape();
      const auto x = special_vector<T>(cols, 3), u = special_vector<T>(rows, 4);
      auto y = TypeParam::put(all_nan<T>(rows)), v = TypeParam::put(all_nan<T>(cols));
      multiply(ctx, t, TypeParam::put(x), y);
      EXPECT_TRUE(within(host_vector(y), expected_product(1, merged, false, x)));
      multiply(ctx, transposed(t), TypeParam::put(u), v);
      EXPECT_TRUE(within(host_vector(v), expected_product(1, merged, true, u)));
    });
}

TYPED_TEST(BlockTreeFew, SeveralColumns) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_value_kind([&] {
    TestFixture::for_each_case(64, [&](const auto& a, const auto& t) {
      if (a.shape().row > 100'000) return;
      const block x({a.shape().col, 5}, 4), z({a.shape().row, 5}, 5);
      const auto want = expected_product(2, a, false, x, -1, &z);
      for (const layout order : {layout::row_major, layout::column_major}) {
        const auto x_put = x.put(ctx, order, 3);
        auto y = z.put(ctx, order, 2);
        multiply(ctx, scaled(2, t), x_put.view(), scaled(-1, y.view()), y.view());
        EXPECT_TRUE(within(y.elements(), want));
        EXPECT_TRUE(y.gaps_untouched());
      }
    });
  });
}

TYPED_TEST(BlockTreeFew, TakesNewValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (const int d : {16, 128})
    TestFixture::for_each_case(d, [&](const auto& a, const auto& made) {
      auto host = copy_to(host_context(), a);
      const auto values = special_vector<T>(host.size(), 6);
      std::copy(values.begin(), values.end(), host.values().begin());
      const auto other = copy_to(ctx, host);
      auto t = made;
      const auto before = copy_to(host_context(), to_csr(ctx, made));
      update_values(ctx, t, other);
      check(ctx, t);
      const auto anew = to_csr(ctx, to_block_tree(ctx, other, {d}));
      EXPECT_TRUE(same_matrix(to_csr(ctx, t), copy_to(host_context(), anew)));
      EXPECT_TRUE(same_matrix(to_csr(ctx, made), before)) << "copies are apart once written to";
      t.transpose();
      update_values(ctx, t, transpose(ctx, copy_to(ctx, a)));
      t.transpose();
      EXPECT_TRUE(same_matrix(to_csr(ctx, t), before));
    });
}

/// The thesis' bounds: of a leaf's bytes, of the number of nodes, and never far above CSR.
TYPED_TEST(BlockTreeFew, BytesAreBounded) {
  using T = typename TypeParam::value;
  const auto v = static_cast<std::int64_t>(sizeof(T));
  for (const int d : sizes)
    TestFixture::for_each_case(d, [&](const auto& a, const auto& t) {
      const tree_statistics s = node_statistics(t);
      const auto inner = s.sum(tree_node::inner, tree_node::inner_dense);
      const auto leaves = s.sum(tree_node::dense, tree_node::rows_32);
      for (const tree_node type : {tree_node::coo1, tree_node::coo2, tree_node::coo4,
                                   tree_node::rows, tree_node::masked, tree_node::dense}) {
        const auto& k = s.of[static_cast<int>(type)]; // nnz (2 log d + b) + 32 bits, and padding
        EXPECT_LE(k.bytes, k.entries * (v + 2) + k.nodes * (3 * (v + 2) + 16));
      }
      EXPECT_LE(inner.entries, inner.nodes + leaves.nodes);
      EXPECT_LE(leaves.nodes, std::max<std::int64_t>(t.size(), 1));
      EXPECT_LE(inner.nodes, leaves.nodes * std::max(0, s.levels - 1));
      const auto csr_bytes = static_cast<double>(a.bytes());
      EXPECT_LE(static_cast<double>(s.bytes), 1.15 * csr_bytes + 300 * s.levels)
          << s.bytes << " bytes for " << a.size() << " entries";
    });
}

TYPED_TEST(BlockTreeFew, IsChecked) {
  const auto& ctx = TypeParam::context();
  using T = typename TypeParam::value;
  const auto a = TypeParam::put_csr(battery_matrix("unsorted with duplicates")); // 150 x 90
  for (const int d : {-1, 0, 8, 100, 512})
    EXPECT_THROW((void)to_block_tree(ctx, a, {d}), bad_input);
  const auto t = to_block_tree(ctx, a, {16});
  const auto x = TypeParam::put(std::vector<T>(90));
  auto y = TypeParam::put(std::vector<T>(150)), z = TypeParam::put(std::vector<T>(150));
  EXPECT_THROW(multiply(ctx, t, z, y), size_mismatch);
  EXPECT_THROW(multiply(ctx, transposed(t), x, y), size_mismatch);
  auto changed = t;
  const auto other = TypeParam::put_csr(battery_matrix("9 x 0"));
  EXPECT_THROW(update_values(ctx, changed, other), size_mismatch);
}

/// Every byte of the pointers and coordinates matters: a tree that is damaged is told from one that
/// is not, and none makes check() read outside of it.
TEST(BlockTreeDamage, IsFound) {
  const host_context ctx({2});
  auto changed =
      to_block_tree(ctx, make_csr<double, std::int32_t, std::int32_t>(tree_matrices()[0]));
  const auto other_owner = changed;
  const auto nodes = detail::own_content(ctx, changed);
  ASSERT_NE(nodes, other_owner.content());
  auto* const pool = reinterpret_cast<unsigned char*>(nodes->pool.data());
  const std::int64_t root = detail::place_of(nodes->root);
  ASSERT_TRUE(detail::is_inner(nodes->root));
  const block_tree<double> damaged(nodes);
  check(ctx, damaged);
  for (const int byte : {0, 5, 6, 7}) {
    const unsigned char was = pool[root + byte];
    pool[root + byte] = static_cast<unsigned char>(was ^ 0x5A);
    EXPECT_THROW(check(ctx, damaged), bad_input) << byte;
    pool[root + byte] = was;
  }
  check(ctx, damaged);
  nodes->row_sums.widest -= 1;
  EXPECT_THROW(check(ctx, damaged), bad_input) << "products would have too few sums";
  nodes->row_sums.widest += 1;
  nodes->nnz += 1;
  EXPECT_THROW(check(ctx, damaged), bad_input);
}

/// By name, and by itself where both directions are announced and a transposed copy has no room.
TYPED_TEST(BlockTreeFew, InAPlan) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("stencil 40 x 40");
  auto host = TypeParam::host_csr(m);
  const auto a = TypeParam::put_csr(m);
  const auto x = random_vector<T>(m.cols, 1), u = random_vector<T>(m.rows, 2);
  const auto expect_products = [&](const auto& op) {
    auto y = TypeParam::put(all_nan<T>(m.rows)), v = TypeParam::put(all_nan<T>(m.cols));
    op.multiply(TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    op.multiply_transposed(TypeParam::put(u), v);
    EXPECT_TRUE(within(host_vector(v), expected_product(1, host, true, u)));
  };
  plan_hints hints{.transposed_multiplies = 100};
  EXPECT_NE(plan(ctx, a, hints).format(), "block_tree");
  if constexpr (TypeParam::memory_space == space::host) { // a device keeps lists beside the nodes
    hints.memory_limit =
        static_cast<std::size_t>(host.size()) * (sizeof(T) + sizeof(typename TypeParam::index)) - 1;
    const auto chosen = plan(ctx, a, hints);
    EXPECT_EQ(chosen.format(), "block_tree");
    EXPECT_LE(chosen.bytes(), hints.memory_limit);
    expect_products(chosen);
  } else { // room for the nodes alone is not enough
    hints.memory_limit =
        static_cast<std::size_t>(host.size()) * (sizeof(T) + sizeof(typename TypeParam::index));
    hints.format = "block_tree";
    EXPECT_NE(plan(ctx, a, hints).format(), "block_tree");
  }
  hints = {.transposed_multiplies = 100};
  hints.format = "block_tree";
  auto op = plan(ctx, a, hints);
  EXPECT_EQ(op.format(), "block_tree");
  expect_products(op);
  for (auto& value : host.values()) value *= -3;
  const auto other = copy_to(ctx, host);
  op.update_values(other);
  expect_products(op);
}

template <class E> using wide_on = ::testing::Types<on<E, double, std::int64_t, std::int32_t>>;
template <class C> class BlockTreeWide : public engine_test<C> {};
using wide_configs = internal::on_engines<wide_on>;
TYPED_TEST_SUITE(BlockTreeWide, wide_configs, config_name);

/// Columns beyond 32 bits.
TYPED_TEST(BlockTreeWide, HugeColumns) {
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t cols = std::int64_t{1} << 45;
  triplets m{"few entries, very far apart", 40, cols, {}, {}, {}};
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = 0; j < 5; ++j)
      m.add(i, (cols / 5 - 1) * j + i, 1.0 + static_cast<double>(i));
  const auto a = TypeParam::put_csr(m);
  for (const int d : sizes) {
    const auto t = to_block_tree(ctx, a, {d});
    check(ctx, t);
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), TypeParam::host_csr(m))) << d;
  }
}

/// One stripe has most of the work here, so that several tasks share it. With blocks of 16 the few
/// entries beside it are flat leaves, which make it wide.
triplets heavy_stripe() {
  triplets m{"a heavy stripe", 400, 98'304, {}, {}, {}};
  random_source random(12);
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = i; j < 90'000; ++j) m.add(i, j, random.value());
  for (std::int64_t i = 4; i < m.rows; ++i) m.add(i, 90'112 + random.below(8192), random.value());
  return m;
}

template <class C> class BlockTreeHeavy : public engine_test<C> {};
TYPED_TEST_SUITE(BlockTreeHeavy, value_configs, config_name);

TYPED_TEST(BlockTreeHeavy, SharedStripes) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const triplets m = heavy_stripe();
  const auto host = TypeParam::host_csr(m);
  const auto a = TypeParam::put_csr(m);
  const auto x = random_vector<T>(m.cols, 8), u = random_vector<T>(m.rows, 9);
  const auto x_put = TypeParam::put(x), u_put = TypeParam::put(u);
  for (const int d : {16, 128}) {
    const auto t = to_block_tree(ctx, a, {d});
    EXPECT_GT(t.content()->row_sums.slots, 0);
    EXPECT_EQ(t.content()->row_sums.widest > 256, d == 16);
    auto y = TypeParam::put(all_nan<T>(m.rows)), v = TypeParam::put(all_nan<T>(m.cols));
    multiply(ctx, t, x_put, y);
    multiply(ctx, transposed(t), u_put, v);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    EXPECT_TRUE(within(host_vector(v), expected_product(1, host, true, u)));
    EXPECT_TRUE(same_matrix(to_csr(ctx, t), host));
  }
}

template <class C> class BlockTreeThreads : public BlockTree<C> {};
TYPED_TEST_SUITE(BlockTreeThreads, host_value_configs, config_name);

TYPED_TEST(BlockTreeThreads, DoNotChangeTheBits) {
  using T = typename TypeParam::value;
  auto all = tree_matrices();
  all.push_back(heavy_stripe());
  for (const char* name : {"one huge row", "one huge column", "power law", "stencil 40 x 40"})
    all.push_back(battery_matrix(name));
  for (const triplets& m : all) {
    const auto a = TypeParam::host_csr(m);
    const auto x = random_vector<T>(a.shape().col, 8), u = random_vector<T>(a.shape().row, 9);
    std::vector<T> first_y, first_v;
    std::vector<unsigned char> first_pool;
    for (const int threads : {1, 2, 4, 7}) {
      const host_context ctx({threads});
      std::vector<T> y(x.size() == 0 ? 0 : u.size()), v(x.size());
      const auto t = to_block_tree(ctx, a);
      multiply(ctx, t, x, y);
      multiply(ctx, transposed(t), u, v);
      const auto& pool = t.content()->pool;
      const auto* const bytes = reinterpret_cast<const unsigned char*>(pool.data());
      const std::vector<unsigned char> bits(bytes, bytes + pool.bytes());
      if (threads == 1) {
        first_y = y;
        first_v = v;
        first_pool = bits;
        EXPECT_TRUE(within(y, expected_product(1, a, false, x)));
        EXPECT_TRUE(within(v, expected_product(1, a, true, u)));
      }
      EXPECT_TRUE(same(y, first_y)) << m.name << ", " << threads << " threads";
      EXPECT_TRUE(same(v, first_v)) << m.name << ", " << threads << " threads";
      EXPECT_TRUE(bits == first_pool) << m.name << ", " << threads << " threads";
    }
  }
}

/// What products on a device keep with a tree.
class cuda_BlockTreeKept : public ::testing::Test {
protected:
  using device_tree = block_tree<double, index_t, index_t, space::device>;
  using device_vector = array<double, space::device>;
  static constexpr std::int64_t n = 700 * 700;
  void SetUp() override {
    if (!cuda_engine::present()) GTEST_SKIP() << "no CUDA device";
  }
  static device_tree tree_on(const device_context& ctx) {
    return to_block_tree(ctx, copy_to(ctx, gen::poisson2d<double>(host_context(), 700)));
  }
  static device_vector numbers_on(const device_context& ctx) {
    return copy_to(ctx, random_vector<double>(n, 1));
  }
};

/// It is freed behind the stream that made the tree, whichever multiplied first.
TEST_F(cuda_BlockTreeKept, GoesBehindTheTreesStream) {
  const device_context maker, other;
  device_tree t = tree_on(maker);
  const device_vector x = numbers_on(maker);
  device_vector y(other, n), z(maker, n);
  maker.synchronize();
  multiply(other, t, x, y);
  other.synchronize(); // the tree is the maker's alone again
  for (int k = 0; k < 50; ++k) multiply(maker, t, x, z);
  const auto bytes = static_cast<std::int64_t>(t.bytes());
  t = {};
  for (const std::int64_t part : {1, 8, 32, 128}) { // what the other stream may have of it
    device_vector overwritten(other, bytes / 8 / part);
    fill(other, -1.0, overwritten);
  }
  EXPECT_TRUE(same(host_vector(z), host_vector(y)));
}

/// One thread makes it, the other one waits.
TEST_F(cuda_BlockTreeKept, TwoThreadsMultiplyForTheFirstTime) {
  const device_context contexts[2];
  const device_tree t = tree_on(contexts[0]);
  const device_vector x = numbers_on(contexts[0]);
  device_vector y[2] = {{contexts[0], n}, {contexts[1], n}};
  device_vector z[2] = {{contexts[0], n}, {contexts[1], n}};
  contexts[0].synchronize();
  const auto run = [&](int k) {
    multiply(contexts[k], t, x, y[k]);
    multiply(contexts[k], transposed(t), x, z[k]);
    contexts[k].synchronize();
  };
  auto second = std::async(std::launch::async, run, 1);
  run(0);
  second.get();
  EXPECT_TRUE(same(host_vector(y[0]), host_vector(y[1])));
  EXPECT_TRUE(same(host_vector(z[0]), host_vector(z[1])));
}

} // namespace
} // namespace lacuna::test
