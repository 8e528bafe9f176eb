// AMG when allocations fail: set-up throws and leaves nothing behind; a cycle allocates nothing.
#include <lacuna/solver/amg.hpp>

#include "fault/failing_allocator.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class FaultAmg : public engine_test<C> {};
TYPED_TEST_SUITE(FaultAmg, value_configs, config_name);

TYPED_TEST(FaultAmg, SetUpFailsCleanly) {
  using number = typename TypeParam::value;
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = copy_to(ctx, gen::poisson2d<number>(default_context<space::host>(), 12));
  for (const auto kind : {amg_kind::smoothed_aggregation, amg_kind::classical}) {
    amg_options o{.kind = kind, .smoother = amg_smoother::gauss_seidel};
    o.coarse_rows = 10;
    o.planned_entries = 100;
    o.value_updates = true;
    const amg<number, where> once(ctx, a, o); // what is made once is made
    const std::int64_t before = memory(where).in_use;
    int failures = 0;
    for (;; failures += 3) { // every third: they are many
      bool thrown = false;
      {
        const failing_allocator hook(failures);
        try {
          const amg<number, where> m(ctx, a, o);
        } catch (const out_of_memory&) {
          thrown = true;
        }
      }
      ASSERT_EQ(thrown, failed.load()) << "allocation " << failures;
      ASSERT_EQ(memory(where).in_use, before) << "leak, allocation " << failures;
      if (!thrown) break;
    }
    EXPECT_GE(failures, 50);
  }
}

TYPED_TEST(FaultAmg, CyclesAllocateNothing) {
  using number = typename TypeParam::value;
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto a = copy_to(ctx, gen::poisson2d<number>(default_context<space::host>(), 40));
  const auto r = TypeParam::put(random_vector<number>(1600, 1));
  auto z = TypeParam::put(random_vector<number>(1600, 2));
  for (const auto smoother :
       {amg_smoother::jacobi, amg_smoother::chebyshev, amg_smoother::gauss_seidel})
    for (const auto cycle : {amg_cycle::v, amg_cycle::w, amg_cycle::k}) {
      amg_options o{.smoother = smoother, .cycle = cycle};
      o.coarse_rows = 20;
      o.planned_entries = 2000;
      const amg<number, where> m(ctx, a, o);
      m.apply(ctx, r, z);
      const failing_allocator hook(0);
      EXPECT_NO_THROW(m.apply(ctx, r, z));
    }
}

} // namespace
} // namespace lacuna::test
