// Changes to a dynamic matrix while allocation number 0, 1, 2, … fails: out_of_memory, the matrix
// holds what it held, and afterwards the change works.
#include <functional>

#include "fault/failing_allocator.hpp"
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class FaultDynamic : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;
  using matrix = dynamic_csr<T, I, O, S>;

  static triplets entries(std::uint64_t seed, std::int64_t rows, std::int64_t size) {
    random_source random(seed);
    triplets t{"entries", rows, 500, {}, {}, {}};
    for (std::int64_t k = 0; k < size; ++k)
      t.add(random.below(3) == 0 ? 5 : random.below(rows), random.below(500),
            static_cast<double>(1 + random.below(5)));
    return t;
  }
  /// `least`: the fewest allocations that it must make, so that nothing passes by testing nothing.
  static void expect_survives(const char* name, int least,
                              const std::function<void(matrix&)>& change) {
    SCOPED_TRACE(name);
    const auto& ctx = C::context();
    const host_context host;
    matrix m(ctx, lacuna::index<I>(40, 500), {.segments = 2});
    const auto first = C::put_coo(entries(1, 40, 900)), second = C::put_coo(entries(2, 40, 300));
    insert(ctx, m, first.view());
    insert(ctx, m, second.view());
    auto snapshot = m.snapshot();
    const auto before = copy_to(host, to_csr(ctx, m));
    int failures = 0;
    for (;; ++failures) {
      ASSERT_LT(failures, 1000);
      bool done = true;
      {
        const failing_allocator fails(failures);
        try {
          change(m);
        } catch (const out_of_memory&) {
          done = false;
        }
        ctx.synchronize();
      }
      check(ctx, m);
      EXPECT_TRUE(same_matrix(to_csr(ctx, snapshot), before));
      if (done) break;
      ASSERT_TRUE(failed);
      ASSERT_TRUE(same_matrix(to_csr(ctx, m), before)) << "after failure " << failures;
    }
    EXPECT_GE(failures, least);
    EXPECT_FALSE(same_matrix(to_csr(ctx, m), before));
  }
};
TYPED_TEST_SUITE(FaultDynamic, few_configs, config_name);

TYPED_TEST(FaultDynamic, Batches) {
  const auto& ctx = TypeParam::context();
  const auto batch = TypeParam::put_coo(TestFixture::entries(3, 40, 4000));
  const auto outer = TypeParam::put_coo(TestFixture::entries(4, 90, 4000));
  TestFixture::expect_survives("insert", 3, [&](auto& m) { insert(ctx, m, batch.view()); });
  TestFixture::expect_survives("grow", 6, [&](auto& m) {
    insert(ctx, m, outer.view(), {existing::replace, outside::grow});
  });
  TestFixture::expect_survives("erase", 3, [&](auto& m) { erase(ctx, m, batch.view()); });
  TestFixture::expect_survives("compact by length", 6, [&](auto& m) {
    compact(ctx, m, {.by_length = true, .slack = true});
    insert(ctx, m, batch.view());
  });
  for (const auto method : {spgemm_method::adaptive, spgemm_method::expand_sort})
    TestFixture::expect_survives(
        "multiply", 6, [&](auto& m) { multiply(ctx, m, transposed(m), m, {.method = method}); });
}

} // namespace
} // namespace lacuna::test
