// Batches into a matrix in parts while allocation number 0, 1, 2, … fails: out_of_memory, and no
// part holds anything of the batch.
#include "fault/failing_allocator.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class FaultParts : public engine_test<C> {};
TYPED_TEST_SUITE(FaultParts, few_configs, config_name);

TYPED_TEST(FaultParts, Batches) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  using O = typename TypeParam::offset;
  constexpr space S = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  const auto entries = [](std::uint64_t seed, std::int64_t rows, std::int64_t size) {
    random_source random(seed);
    triplets t{"entries", rows, 500, {}, {}, {}};
    for (std::int64_t k = 0; k < size; ++k)
      t.add(random.below(rows), random.below(500), static_cast<double>(1 + random.below(5)));
    return TypeParam::put_coo(t);
  };
  const auto first = entries(1, 40, 900), batch = entries(2, 40, 1500), outer = entries(3, 90, 900);
  for (int change = 0; change < 3; ++change) {
    SCOPED_TRACE(change);
    // One after the other: which allocation fails does not depend on threads.
    dynamic_csr_parts<T, I, O, S> m(ctx, {40, 500}, {ctx, ctx, ctx}, {.segments = 2});
    insert(ctx, m, first.view());
    const auto before = copy_to(host_context(), to_csr(ctx, m));
    int failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 1000);
      bool done = true;
      {
        const failing_allocator fails(failures);
        try {
          if (change == 0) insert(ctx, m, batch.view());
          if (change == 1) insert(ctx, m, outer.view(), {existing::replace, outside::grow});
          if (change == 2) erase(ctx, m, batch.view());
        } catch (const out_of_memory&) {
          done = false;
        }
        ctx.synchronize();
      }
      check(ctx, m);
      if (done) break;
      ASSERT_TRUE(same_matrix(to_csr(ctx, m), before)) << "after failure " << failures;
    }
    EXPECT_GE(failures, 10);
    EXPECT_FALSE(same_matrix(to_csr(ctx, m), before));
  }
}

} // namespace
} // namespace lacuna::test
