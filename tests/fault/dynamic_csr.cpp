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
    for (const bool concurrent : {false, true}) expect_survives(name, least, concurrent, change);
  }
  static void expect_survives(const char* name, int least, bool concurrent,
                              const std::function<void(matrix&)>& change) {
    SCOPED_TRACE(testing::Message() << name << (concurrent ? ", with readers" : ""));
    const auto& ctx = C::context();
    const host_context host;
    matrix m(ctx, lacuna::index<I>(40, 500), {.segments = 2, .concurrent = concurrent});
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
      if (concurrent) {
        ASSERT_TRUE(same_matrix(to_csr(ctx, m.snapshot()), before));
      }
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

TYPED_TEST(FaultDynamic, Rows) {
  using index = typename TypeParam::index;
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const std::vector<index> list = {5, 30, 0, 11, 8, 39};
  const auto rows = copy_to(ctx, list);
  const auto b = TypeParam::put_csr(TestFixture::entries(5, 6, 200));
  const auto large = TypeParam::put_csr(TestFixture::entries(6, 6, 9000));
  const auto factors = TypeParam::put(std::vector<value>(40, value{2}));
  TestFixture::expect_survives("replace_rows", 5, [&](auto& m) { replace_rows(ctx, m, rows, b); });
  TestFixture::expect_survives("replace_rows, larger", 5,
                               [&](auto& m) { replace_rows(ctx, m, rows, large); });
  TestFixture::expect_survives("erase_rows", 2, [&](auto& m) { erase_rows(ctx, m, rows); });
  TestFixture::expect_survives("erase_columns", 4, [&](auto& m) { erase_columns(ctx, m, rows); });
  TestFixture::expect_survives("scale_rows", 4, [&](auto& m) { scale_rows(ctx, m, factors); });
}

TYPED_TEST(FaultDynamic, Streams) {
  const auto& ctx = TypeParam::context();
  const triplets changes = TestFixture::entries(7, 40, 2000);
  TestFixture::expect_survives("update_stream", 4, [&](auto& m) {
    update_stream s(ctx, m, {.batch = 5000});
    for (std::int64_t k = 0; k < changes.size(); ++k)
      s.insert(changes.row[k], changes.col[k],
               static_cast<typename TypeParam::value>(changes.value[k]));
    s.flush();
  });
}

/// A stream of both kinds goes on where it failed.
TYPED_TEST(FaultDynamic, StreamsGoOn) {
  using index = typename TypeParam::index;
  const auto& ctx = TypeParam::context();
  const triplets changes = TestFixture::entries(8, 40, 2000);
  typename TestFixture::matrix m(ctx, lacuna::index<index>(40, 500)),
      same_changes(ctx, lacuna::index<index>(40, 500));
  const auto first = TypeParam::put_coo(TestFixture::entries(1, 40, 900));
  insert(ctx, m, first.view());
  insert(ctx, same_changes, first.view());
  update_stream s(ctx, m, {.batch = 5000}), whole(ctx, same_changes, {.batch = 5000});
  for (auto* stream : {&s, &whole})
    for (std::int64_t k = 0; k < changes.size(); ++k)
      if (k % 4 == 0)
        stream->erase(changes.row[k], changes.col[k]);
      else
        stream->insert(changes.row[k], changes.col[k],
                       static_cast<typename TypeParam::value>(changes.value[k]));
  whole.flush();
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    ASSERT_LT(failures, 1000);
    const failing_allocator fails(failures);
    try {
      s.flush();
      done = true;
    } catch (const out_of_memory&) {
      EXPECT_GT(s.pending(), 0);
    }
    ctx.synchronize();
  }
  EXPECT_GE(failures, 6);
  check(ctx, m);
  EXPECT_TRUE(same_matrix(to_csr(ctx, m), copy_to(host_context(), to_csr(ctx, same_changes))));
}

} // namespace
} // namespace lacuna::test
