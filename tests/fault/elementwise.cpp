// Allocation number 0, 1, 2, … of operations on matrices element by element fails: out_of_memory,
// nothing leaked, operands as they were.
#include <functional>

#include <lacuna/op/assemble.hpp>
#include <lacuna/op/combine.hpp>
#include <lacuna/op/diagonals.hpp>
#include <lacuna/op/gather.hpp>
#include <lacuna/op/map_values.hpp>
#include <lacuna/op/reduce.hpp>

#include "fault/failing_allocator.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class FaultElementwise : public engine_test<C> {};
TYPED_TEST_SUITE(FaultElementwise, few_configs, config_name);

TYPED_TEST(FaultElementwise, EveryAllocation) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("unsorted with duplicates");
  const auto a = TypeParam::put_csr(m), b = transpose(ctx, TypeParam::put_csr(exchanged(m)));
  const auto in_a = entries_of(a), in_b = entries_of(b);
  const auto list = copy_to(ctx, std::vector<I>{3, 80, 3});
  const auto expect_survives = [&](const char* name, int least, const std::function<void()>& op) {
    SCOPED_TRACE(name);
    op(); // once-only things: streams, handles
    constexpr space where = TypeParam::memory_space;
    const auto before = memory(where).in_use, host_before = memory(space::host).in_use;
    int failures = 0;
    for (bool thrown = true; thrown; ++failures) {
      ASSERT_LT(failures, 1000) << "never succeeds";
      const failing_allocator hook(failures);
      try {
        op();
        thrown = false;
      } catch (const out_of_memory&) {
      }
      ASSERT_EQ(thrown, failed.load()) << "allocation " << failures;
      ASSERT_EQ(memory(where).in_use, before) << "leak, allocation " << failures;
      ASSERT_EQ(memory(space::host).in_use, host_before) << "host leak, allocation " << failures;
    }
    EXPECT_GT(failures, least);
    EXPECT_TRUE(same_entries(entries_of(a), in_a));
    EXPECT_TRUE(same_entries(entries_of(b), in_b));
  };
  expect_survives("multiply_elements", 5, [&] { (void)multiply_elements(ctx, a, b); });
  expect_survives("combine", 5, [&] { (void)combine(ctx, a, b, element_rule::minus); });
  expect_survives("compare", 7, [&] { (void)compare(ctx, a, b, comparison::less_equal); });
  expect_survives("reduce_rows", 1, [&] { (void)reduce_rows(ctx, a, reduction::max); });
  expect_survives("reduce_columns", 2, [&] { (void)reduce_columns(ctx, a, reduction::min); });
  expect_survives("reduce", 1, [&] { (void)sum(ctx, a); });
  expect_survives("column_sizes", 1, [&] { (void)column_sizes(ctx, a); });
  expect_survives("elements", 1, [&] { (void)elements(ctx, a, list, list); });
  expect_survives("gather", 5, [&] { (void)gather(ctx, a, list, list); });
  expect_survives("stack", 4, [&] { (void)block_diag(ctx, a, b); });
  expect_survives("kron", 3, [&] { (void)kron(ctx, a, b); });
  expect_survives("reshape", 6, [&] { (void)reshape(ctx, a, {m.cols, m.rows}); });
  expect_survives("eye", 3, [&] { (void)eye<T, I, O>(ctx, {9, 9}); });
  expect_survives("random", 6, [&] { (void)random_csr<T, I, O>(ctx, {90, 90}, 0.1, 1); });
  expect_survives("map_values", 3, [&] { (void)map_values(ctx, a, value_function::abs); });
}

} // namespace
} // namespace lacuna::test
