// Block CSR on every engine: made from the whole battery with every size of blocks, it holds the
// matrix it was made from, keeps its invariants, and multiplies as the reference does.
#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

template <class C> class Bsr : public engine_test<C> {
protected:
  /// Calls f(host matrix, bsr made from it on the engine).
  template <class F> static void for_each_case(F f) {
    C::for_each_matrix([&](const triplets& m) {
      const auto host = C::host_csr(m);
      const auto a = C::put_csr(m);
      for (int block = 2; block <= 8; ++block) {
        SCOPED_TRACE("blocks of " + std::to_string(block));
        f(host, to_bsr(C::context(), a, {block}));
      }
    });
  }
  template <class F> static void for_each_sum(F f) {
    C::for_each_value_kind([&] { for_each_case(f); });
  }
};
TYPED_TEST_SUITE(Bsr, all_configs, config_name);

TYPED_TEST(Bsr, Multiplies) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto& m) {
    const auto x = random_vector<T>(host.shape().col, 1), z = random_vector<T>(host.shape().row, 2);
    const auto x_put = TypeParam::put(x);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(ctx, m, x_put, y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x)));
    const auto once = host_vector(y);
    multiply(ctx, m, x_put, y);
    EXPECT_TRUE(same(host_vector(y), once));
    y = TypeParam::put(z);
    multiply(ctx, scaled(-1.5, m), x_put, scaled(0.25, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.5, host, false, x, 0.25, z)));
  });
}

template <class C> class BsrFew : public Bsr<C> {};
TYPED_TEST_SUITE(BsrFew, few_configs, config_name);

TYPED_TEST(BsrFew, HoldsTheMatrix) {
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers); // duplicates are added up
  TestFixture::for_each_case([&](const auto& host, const auto& m) {
    check(ctx, m);
    EXPECT_EQ(m.shape(), host.shape());
    EXPECT_EQ(m.size(), host.size());
    const auto want = merge_duplicates(host_context(), host, duplicates::sum);
    EXPECT_TRUE(same_matrix(to_csr(ctx, m), want));
    const auto copy = copy_to(ctx, copy_to(host_context(), m));
    EXPECT_TRUE(same_matrix(to_csr(ctx, copy), want));
  });
}

/// Places of a block without an entry are never multiplied with an Inf or a NaN in x.
TYPED_TEST(BsrFew, SpecialValues) {
  using T = typename TypeParam::value;
  TestFixture::for_each_sum([&](const auto& host, const auto& m) {
    const auto merged = merge_duplicates(host_context(), host, duplicates::sum);
    const auto x = special_vector<T>(host.shape().col, 3);
    auto y = TypeParam::put(all_nan<T>(host.shape().row));
    multiply(TypeParam::context(), m, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, merged, false, x)));
  });
}

TYPED_TEST(BsrFew, SeveralColumns) {
  using block = dense_block<typename TypeParam::value>;
  const auto& ctx = TypeParam::context();
  TestFixture::for_each_sum([&](const auto& host, const auto& m) {
    const block x({host.shape().col, 5}, 4), z({host.shape().row, 5}, 5);
    const auto want = expected_product(2, host, false, x, -1, &z);
    for (const layout order : {layout::row_major, layout::column_major}) {
      const auto x_put = x.put(ctx, order, 3);
      auto y = z.put(ctx, order, 2);
      multiply(ctx, scaled(2, m), x_put.view(), scaled(-1, y.view()), y.view());
      EXPECT_TRUE(within(y.elements(), want));
      EXPECT_TRUE(y.gaps_untouched());
    }
  });
}

TYPED_TEST(BsrFew, TakesNewValues) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m);
    auto other = TypeParam::host_csr(m);
    const auto values = special_vector<T>(other.size(), 6);
    std::copy(values.begin(), values.end(), other.values().begin());
    const auto b = copy_to(ctx, other);
    for (int block = 2; block <= 8; ++block) {
      auto blocks = to_bsr(ctx, a, {block});
      update_values(ctx, blocks, b);
      EXPECT_TRUE(same(host_vector(blocks.values), host_vector(to_bsr(ctx, b, {block}).values)));
      check(ctx, blocks);
    }
  });
}

/// A matrix of dense blocks is recognised: by counting, and by the planner from its sample.
TYPED_TEST(BsrFew, FindsTheSizeOfBlocks) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  for (int block = 2; block <= 8; ++block) {
    SCOPED_TRACE(block);
    triplets m{"nodes in a row", 240 * block, 240 * block, {}, {}, {}};
    for (std::int64_t i = 0; i < 240; ++i)
      for (const std::int64_t j : {i - 7, i - 1, i, i + 1, i + 7})
        for (std::int64_t e = 0; e < block * block && j >= 0 && j < 240; ++e)
          m.add(i * block + e / block, j * block + e % block, 1.0 + static_cast<double>(e));
    const auto a = TypeParam::put_csr(m);
    const auto blocked = to_bsr(ctx, a);
    EXPECT_EQ(blocked.block, block);
    EXPECT_TRUE(blocked.masks.empty());
    const auto op = plan(ctx, a);
    bool offered = false;
    for (const plan_candidate& c : op.decision().candidates)
      if (c.format == "bsr") offered = c.options.front() == plan_option{"block", block};
    EXPECT_TRUE(offered) << op.explain();
    const auto x = random_vector<T>(m.cols, 7);
    auto y = TypeParam::put(all_nan<T>(m.rows));
    multiply(ctx, blocked, TypeParam::put(x), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(1, TypeParam::host_csr(m), false, x)));
  }
}

/// Blocks that are mostly empty are noticed when they are made: the plan takes the next best
/// format.
TYPED_TEST(BsrFew, IsLeftWhereBlocksAreEmpty) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("tridiagonal"));
  plan_hints hints;
  hints.format = "bsr";
  EXPECT_EQ(plan(ctx, a, hints).format(), "bsr") << "asked for, without a limit";
  hints.memory_limit = a.bytes();
  const auto op = plan(ctx, a, hints);
  EXPECT_EQ(op.format(), "csr");
  EXPECT_NE(op.explain().find("bsr is not taken: its blocks are only"), std::string::npos)
      << op.explain();
}

TYPED_TEST(BsrFew, SizesAreChecked) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("unsorted with duplicates")); // 150 x 90
  for (const int block : {-1, 1, 9}) EXPECT_THROW((void)to_bsr(ctx, a, {block}), bad_input);
  auto m = to_bsr(ctx, a, {3});
  auto y = TypeParam::put(std::vector<typename TypeParam::value>(150));
  EXPECT_THROW(multiply(ctx, m, y, y), size_mismatch);
  EXPECT_THROW(multiply(ctx, transposed(m), y, y), unsupported);
  EXPECT_THROW(update_values(ctx, m, TypeParam::put_csr(battery_matrix("9 x 0"))), size_mismatch);
  m.masks = {};
  EXPECT_THROW(check(ctx, m), bad_input);
}

template <class C> class BsrThreads : public engine_test<C> {};
TYPED_TEST_SUITE(BsrThreads, host_value_configs, config_name);

TYPED_TEST(BsrThreads, DoNotChangeTheBits) {
  using T = typename TypeParam::value;
  for (const triplets& m : battery()) {
    const auto a = TypeParam::host_csr(m);
    const auto x = random_vector<T>(a.shape().col, 8);
    std::vector<T> first;
    for (const int threads : {1, 2, 4}) {
      const host_context ctx({threads});
      std::vector<T> y(static_cast<std::size_t>(a.shape().row));
      multiply(ctx, to_bsr(ctx, a, {3}), x, y);
      if (threads == 1) first = y;
      EXPECT_TRUE(same(y, first)) << m.name;
    }
  }
}

} // namespace
} // namespace lacuna::test
