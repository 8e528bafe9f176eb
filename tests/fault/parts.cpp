// Plans and products in parts while allocation number 0, 1, 2, … fails: out_of_memory, nothing
// leaks, and the next call works.
#include "fault/failing_allocator.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"
#include <lacuna/op/multiply_on.hpp>
#include <lacuna/plan/parts.hpp>

namespace lacuna::test {
namespace {

template <class C> class FaultInParts : public engine_test<C> {};
TYPED_TEST_SUITE(FaultInParts, few_configs, config_name);

TYPED_TEST(FaultInParts, PlansAndProducts) {
  using T = typename TypeParam::value;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(random_matrix(60, 60, 4, 1));
  const auto x = TypeParam::put(random_vector<T>(60, 2));
  auto y = TypeParam::put(random_vector<T>(60, 3)), want = TypeParam::put(random_vector<T>(60, 3));
  multiply(ctx, a, x, want);
  const auto product = copy_to(host_context(), multiply(ctx, a, a));
  ctx.synchronize();
  // One after the other: which allocation fails does not depend on threads.
  const std::vector<context<S>> contexts{ctx, ctx, ctx};
  for (const bool plans : {true, false}) {
    const std::int64_t before = memory(S).in_use;
    int failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 1000);
      bool done = true;
      try {
        const failing_allocator fails(failures);
        if (plans) {
          const auto op = plan_on(ctx, contexts, a, {.format = "ell_csr"}, {true});
          op.multiply(x, y);
        } else {
          const auto c = multiply_on(ctx, contexts, a, a, {}, {true});
          EXPECT_EQ(c.size(), product.size());
        }
      } catch (const out_of_memory&) {
        done = false;
      }
      ctx.synchronize();
      EXPECT_EQ(memory(S).in_use, before) << "after failure " << failures;
      if (done) break;
    }
    EXPECT_GE(failures, 10);
  }
  const auto got = host_vector(y), wanted = host_vector(want);
  for (std::size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], wanted[k], 1e-4);
}

} // namespace
} // namespace lacuna::test
