// The same changes of a dynamic matrix leave the same rows in the same order, whoever makes them:
// products have the same bits again, on another context, and on the host for any number of threads.
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class RepeatDynamic : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;

  /// Large enough for several threads; a third of the entries in one row, many of them twice.
  static const std::vector<coo<T, I, O>>& batches() {
    static const auto result = [] {
      const with_values random_numbers(value_kind::random);
      std::vector<coo<T, I, O>> list;
      random_source random(21);
      for (int b = 0; b < 5; ++b) {
        triplets t{"batch", 3000, 2000, {}, {}, {}};
        for (std::int64_t k = 0; k < 25'000; ++k)
          t.add(k % 3 == 0 ? 17 + b : random.below(t.rows), random.below(k % 2 == 0 ? t.cols : 60),
                random.value());
        list.push_back(make_coo<T, I, O>(t));
      }
      return list;
    }();
    return result;
  }

  /// Every product along the way, then what is left, as numbers.
  static std::vector<T> results(const context<S>& ctx, bool concurrent) {
    dynamic_csr<T, I, O, S> m(ctx, lacuna::index<I>(3000, 2000), {.concurrent = concurrent});
    const auto x = copy_to(ctx, random_vector<T>(2000, 1));
    array<T, S> y(ctx, 3000);
    std::vector<T> all;
    const auto note = [&] {
      multiply(ctx, m, x, y);
      const auto numbers = host_vector(y);
      all.insert(all.end(), numbers.begin(), numbers.end());
    };
    int k = 0;
    for (const auto& on_host : batches()) {
      const auto batch = copy_to(ctx, on_host);
      switch (k++) {
      case 3: erase(ctx, m, batch.view()); break;
      case 4: insert(ctx, m, batch.view(), {existing::append}); break;
      default: insert(ctx, m, batch.view()); break;
      }
      note();
    }
    const std::vector<I> list = {2000, 5, 17};
    const auto rows = copy_to(ctx, list);
    triplets b{"rows", 3, 2000, {}, {}, {}};
    random_source random(22);
    for (int e = 0; e < 400; ++e) b.add(e % 3, random.below(2000), random.value());
    replace_rows(ctx, m, rows, copy_to(ctx, make_csr<T, I, O>(b)));
    note();
    compact(ctx, m, {.merge = true});
    note();
    const auto values = host_vector(to_csr(ctx, m).values());
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
};
TYPED_TEST_SUITE(RepeatDynamic, few_configs, config_name);

TYPED_TEST(RepeatDynamic, Changes) {
  for (const bool concurrent : {false, true}) {
    SCOPED_TRACE(concurrent);
    const auto first = TestFixture::results(TypeParam::context(), concurrent);
    EXPECT_TRUE(same_bits(TestFixture::results(TypeParam::context(), concurrent), first));
    const context<TypeParam::memory_space> another;
    EXPECT_TRUE(same_bits(TestFixture::results(another, concurrent), first));
    if constexpr (TypeParam::memory_space == space::host)
      for (int threads = 1; threads <= 7; threads += concurrent ? 3 : 1) {
        SCOPED_TRACE(threads);
        const host_context some(host_options{.threads = threads});
        EXPECT_TRUE(same_bits(TestFixture::results(some, concurrent), first));
      }
  }
}

} // namespace
} // namespace lacuna::test
