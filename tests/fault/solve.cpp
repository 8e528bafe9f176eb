// Allocation number 0, 1, 2, … of a solve fails: out_of_memory, nothing leaked, and the next solve
// is as if nothing had been.
#include "fault/failing_allocator.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class FaultSolve : public engine_test<C> {};
TYPED_TEST_SUITE(FaultSolve, few_configs, config_name);

TYPED_TEST(FaultSolve, EveryAllocation) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  triplets m{"tridiagonal", 30, 30, {}, {}, {}};
  for (std::int64_t i = 0; i < 30; ++i) {
    if (i > 0) m.add(i, i - 1, -1);
    m.add(i, i, 2.5);
    if (i < 29) m.add(i, i + 1, -1);
  }
  const auto a = TypeParam::put_csr(m);
  const auto b = TypeParam::put(random_vector<T>(30, 1));
  for (const char* const method : {"cg", "gmres"}) {
    SCOPED_TRACE(method);
    const auto before = memory(TypeParam::memory_space).in_use;
    int failures = 0;
    for (bool thrown = true; thrown; ++failures) {
      ASSERT_LT(failures, 1000) << "never succeeds";
      const failing_allocator hook(failures);
      try {
        const auto solved = solve(ctx, a, b, {.method = method, .storage = "csr"});
        thrown = false;
        EXPECT_TRUE(solved.report.converged);
      } catch (const out_of_memory&) {
      }
      ASSERT_EQ(thrown, failed.load()) << "allocation " << failures;
      ASSERT_EQ(memory(TypeParam::memory_space).in_use, before) << "leak, allocation " << failures;
    }
    EXPECT_GE(failures, 8);
  }
}

} // namespace
} // namespace lacuna::test
