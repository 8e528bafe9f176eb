// Block trees when allocations fail: each operation throws, leaves its operands as they were and
// nothing behind; products of trees that are there need scratch alone.
#include <functional>

#include <lacuna/op/block_tree_ops.hpp>

#include "fault/failing_allocator.hpp"
#include "fault/plain_new.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using tree = block_tree<double>;

csr<double> scattered_blocks(std::int64_t n) {
  triplets m{"scattered blocks", n, n, {}, {}, {}};
  random_source random(3);
  for (std::int64_t i = 0; i < n; ++i) {
    m.add(i, i, 1.0 + random.value());
    m.add(i, i * 7919 % n, random.value());
    if (i < n / 8)
      for (std::int64_t j = n / 2; j < n / 2 + 20; ++j) m.add(i, j, random.value());
  }
  const host_context ctx({2});
  return merge_duplicates(ctx, make_csr<double, std::int32_t, std::int32_t>(sorted(m)));
}

void expect_survives(const char* name, int least, const csr<double>& a,
                     const std::function<void(tree&, std::vector<double>&)>& op) {
  SCOPED_TRACE(name);
  const host_context ctx({2});
  tree t = to_block_tree(ctx, a, {16});
  std::vector<double> y(static_cast<std::size_t>(a.shape().row), 5.0);
  const auto y_before = y;
  const std::int64_t before = memory(space::host).in_use;
  int failures = 0;
  for (;; ++failures) {
    ASSERT_LT(failures, 300) << "never succeeds";
    bool thrown = false;
    {
      const failing_allocator hook(failures);
      try {
        op(t, y);
      } catch (const out_of_memory&) {
        thrown = true;
      }
    }
    ASSERT_EQ(thrown, failed.load()) << "allocation " << failures;
    if (!thrown) break;
    ASSERT_EQ(memory(space::host).in_use, before) << "leak, allocation " << failures;
    ASSERT_TRUE(same_matrix(to_csr(ctx, t), a)) << "allocation " << failures;
    ASSERT_TRUE(same(y, y_before)) << "allocation " << failures;
  }
  EXPECT_GE(failures, least);
  check(ctx, t);
}

TEST(FaultBlockTree, EveryOperationFailsCleanly) {
  const host_context ctx({2});
  const csr<double> a = scattered_blocks(700);
  const std::vector<double> x(700, 1.0);
  expect_survives("made", 10, a, [&](tree&, auto&) { (void)to_block_tree(ctx, a, {32}); });
  expect_survives("to csr", 3, a, [&](tree& t, auto&) { (void)to_csr(ctx, t); });
  expect_survives("product", 1, a, [&](tree& t, auto& y) { multiply(ctx, t, x, y); });
  expect_survives("transposed", 1, a,
                  [&](tree& t, auto& y) { multiply(ctx, transposed(t), x, scaled(2, y), y); });
  expect_survives("both", 2, a, [&](tree& t, auto& y) {
    std::vector<double> z(700);
    multiply_both(ctx, t, x, z, x, y);
  });
  expect_survives("sum", 10, a, [&](tree& t, auto&) { (void)add(ctx, t, transposed(t)); });
  for (const auto by : {tree_product_method::blocks, tree_product_method::rows})
    expect_survives("product of trees", 10, a,
                    [&](tree& t, auto&) { (void)multiply(ctx, t, scaled(2, transposed(t)), by); });
  expect_survives("compressed", 3, a, [&](tree& t, auto&) { (void)compress(ctx, t); });
  auto other = copy_to(ctx, a);
  for (auto& v : other.values()) v *= 3;
  expect_survives("new values, shared", 4, a, [&](tree& t, auto&) {
    tree copy = t;
    update_values(ctx, copy, other);
  });
  const auto all = to_coo(ctx, a);
  expect_survives("entries, shared", 4, a, [&](tree& t, auto&) {
    tree copy = t;
    update_entries(ctx, copy, all.view(), existing::add);
  });
}

/// The same on a device, whose scratch is counted by space.
TEST(FaultBlockTree, FailsCleanlyOnADevice) {
  if (!cuda_engine::present()) GTEST_SKIP() << "no CUDA device";
  using device_tree = block_tree<double, index_t, index_t, space::device>;
  const device_context& ctx = cuda_engine::context();
  const csr<double> host = scattered_blocks(300);
  const auto a = copy_to(ctx, host);
  const array<double, space::device> x(ctx, 300);
  const auto survives = [&](const char* name, int least, const auto& op) {
    SCOPED_TRACE(name);
    device_tree t = to_block_tree(ctx, a, {16});
    ctx.synchronize();
    // The tree keeps what a product in either direction found, if the other one fails, too.
    const auto beside = [&] {
      return memory(space::device).in_use - static_cast<std::int64_t>(t.bytes());
    };
    const std::int64_t before = beside();
    int failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 600) << "never succeeds";
      bool thrown = false;
      {
        const failing_allocator hook(failures);
        try {
          op(t);
        } catch (const out_of_memory&) {
          thrown = true;
        }
      }
      ASSERT_EQ(thrown, failed.load()) << "allocation " << failures;
      if (!thrown) break;
      ctx.synchronize();
      ASSERT_EQ(beside(), before) << "leak, allocation " << failures;
      if (failures % 16 == 0) {
        ASSERT_TRUE(same_matrix(to_csr(ctx, t), host)) << "allocation " << failures;
      }
    }
    EXPECT_GE(failures, least);
    check(ctx, t);
  };
  survives("made", 40, [&](device_tree&) { (void)to_block_tree(ctx, a, {32}); });
  survives("to csr", 10, [&](device_tree& t) { (void)to_csr(ctx, t); });
  survives("product", 1, [&](device_tree& t) {
    array<double, space::device> y(ctx, 300);
    multiply(ctx, transposed(t), x, y);
  });
  survives("both products", 1, [&](device_tree& t) {
    array<double, space::device> y(ctx, 300), z(ctx, 300);
    multiply_both(ctx, t, x, y, x, z);
  });
  survives("sum", 60, [&](device_tree& t) { (void)add(ctx, t, transposed(t)); });
  const auto band = copy_to(ctx, gen::generate("banded:n=300,half_bandwidth=9"));
  const device_tree u = to_block_tree(ctx, band, {64});
  EXPECT_TRUE((detail::gpu::multiply_trees<double, index_t>(
      ctx, detail::tree_operand_of(u), detail::tree_operand_of(u), tree_product_method::adaptive)));
  for (const auto by :
       {tree_product_method::blocks, tree_product_method::adaptive, tree_product_method::rows})
    survives("product of trees", 60,
             [&](device_tree&) { (void)multiply(ctx, u, scaled(2, transposed(u)), by); });
  survives("new values, shared", 5, [&](device_tree& t) {
    device_tree copy = t;
    update_values(ctx, copy, a);
  });
  const auto all = to_coo(ctx, a);
  survives("entries, shared", 5, [&](device_tree& t) {
    device_tree copy = t;
    update_entries(ctx, copy, all.view(), existing::add);
  });
}

/// Scratch that grows with the matrix is seen by memory().
TEST(FaultBlockTree, ScratchIsCounted) {
  const host_context ctx({2});
  const csr<double> a = scattered_blocks(20'000);
  const auto run = [&] {
    tree t = to_block_tree(ctx, a);
    std::vector<double> x(20'000), y = x; // before it counts
    largest_plain_new = 0;
    multiply(ctx, t, x, y);
    const tree u = to_block_tree(ctx, a);
    (void)add(ctx, t, transposed(u));
    (void)multiply(ctx, t, transposed(u), tree_product_method::blocks);
    (void)to_csr(ctx, t);
    (void)compress(ctx, t);
  };
  run();
  run();
  EXPECT_LT(largest_plain_new.load(), std::size_t{16} << 10U);
}

} // namespace
} // namespace lacuna::test
