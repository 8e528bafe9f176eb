// Large batches into dynamic CSRs, which a device merges with all entries, sorts by prefixes or by
// whole keys, and small ones that go to one row: beside a std::map.
#include "support/dynamic_model.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class DynamicLarge : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;
  using matrix = dynamic_csr<T, I, O, S>;

  static void insert_both(matrix& m, dynamic_model& model, const triplets& batch, existing rule) {
    const auto put = C::put_coo(batch);
    const update_counts counts = insert(C::context(), m, put.view(), {rule});
    const std::int64_t inserted = model.insert(batch, rule);
    EXPECT_EQ(counts.inserted, rule == existing::append ? batch.size() : inserted);
  }
  static void erase_both(matrix& m, dynamic_model& model, const triplets& batch) {
    const auto put = C::put_coo(batch);
    EXPECT_EQ(erase(C::context(), m, put.view()).erased, model.erase(batch));
  }
  static void expect_alike(const matrix& m, const dynamic_model& model) {
    check(C::context(), m);
    const auto now = copy_to(host_context(), to_csr(C::context(), m));
    ASSERT_EQ(model.difference(now), "");
  }
  static triplets same_entry(const dynamic_model& model, std::int64_t size) {
    triplets batch{"one entry", model.rows(), model.cols(), {}, {}, {}};
    for (std::int64_t k = 0; k < size; ++k) batch.add(3, 5, static_cast<double>(1 + k % 3));
    return batch;
  }
};
TYPED_TEST_SUITE(DynamicLarge, all_configs, config_name);

TYPED_TEST(DynamicLarge, BatchesOfEveryRule) {
  const auto& ctx = TypeParam::context();
  for (const bool hub : {false, true}) {
    dynamic_model model(500, 70'000, hub ? 5 : 6);
    typename TestFixture::matrix m(ctx, lacuna::index<typename TypeParam::index>(500, 70'000));
    TestFixture::insert_both(m, model, model.random_batch(20'000, hub), existing::add);
    TestFixture::expect_alike(m, model);
    const auto then = m.snapshot();
    const auto before = copy_to(host_context(), to_csr(ctx, m));
    for (const existing rule : {existing::add, existing::replace, existing::keep}) {
      SCOPED_TRACE(testing::Message() << "rule " << static_cast<int>(rule) << ", hub " << hub);
      // Half of the entries are there; some are in the batch twice.
      triplets batch = model.some_entries(2);
      const triplets others = model.random_batch(17'000, hub);
      for (std::int64_t k = 0; k < others.size(); ++k)
        batch.add(others.row[k], others.col[k], others.value[k]);
      TestFixture::insert_both(m, model, batch, rule);
      TestFixture::expect_alike(m, model);
      // In segments: not merged.
      TestFixture::insert_both(m, model, model.random_batch(300, hub), rule);
      TestFixture::insert_both(m, model, model.random_batch(17'000, hub), rule);
      TestFixture::expect_alike(m, model);
      compact(ctx, m);
    }
    TestFixture::insert_both(m, model, model.random_batch(17'000, hub), existing::append);
    check(ctx, m);
    compact(ctx, m, {.merge = true});
    TestFixture::expect_alike(m, model);
    EXPECT_TRUE(same_matrix(to_csr(ctx, then), before));
    TestFixture::erase_both(m, model, model.some_entries(3));
    TestFixture::expect_alike(m, model);
  }
}

/// One entry again and again is what sorting by prefixes gives up on, and a small batch to one row
/// what one block does.
TYPED_TEST(DynamicLarge, AllInOnePlace) {
  const auto& ctx = TypeParam::context();
  dynamic_model model(500, 70'000, 7);
  typename TestFixture::matrix m(ctx, lacuna::index<typename TypeParam::index>(500, 70'000));
  TestFixture::insert_both(m, model, TestFixture::same_entry(model, 40'000), existing::add);
  TestFixture::expect_alike(m, model);
  for (const std::int64_t size : {100, 400, 700, 5'000}) {
    triplets batch{"one row", 500, 70'000, {}, {}, {}};
    for (std::int64_t k = 0; k < size; ++k)
      batch.add(7, model.below(70'000), static_cast<double>(1 + model.below(9)));
    TestFixture::insert_both(m, model, batch, existing::add);
    TestFixture::expect_alike(m, model);
  }
  TestFixture::insert_both(m, model, TestFixture::same_entry(model, 40'000), existing::replace);
  TestFixture::erase_both(m, model, TestFixture::same_entry(model, 250'000));
  TestFixture::erase_both(m, model, model.some_entries(2));
  TestFixture::expect_alike(m, model);
}

TYPED_TEST(DynamicLarge, AnEntryOutsideChangesNothing) {
  const auto& ctx = TypeParam::context();
  dynamic_model model(500, 70'000, 8);
  typename TestFixture::matrix m(ctx, lacuna::index<typename TypeParam::index>(500, 70'000));
  TestFixture::insert_both(m, model, model.random_batch(20'000, true), existing::add);
  for (const std::int64_t size : {100, 20'000, 250'000}) {
    triplets batch = model.random_batch(size, false);
    batch.rows = 501;
    batch.row[static_cast<std::size_t>(size / 2)] = 500;
    const auto put = TypeParam::put_coo(batch);
    EXPECT_THROW(insert(ctx, m, put.view()), bad_input);
    EXPECT_THROW(erase(ctx, m, put.view()), bad_input);
    TestFixture::expect_alike(m, model);
  }
}

/// Rows and columns of more bits than a key has.
TYPED_TEST(DynamicLarge, WideIndices) {
  if constexpr (sizeof(typename TypeParam::index) == 8) {
    const auto& ctx = TypeParam::context();
    const std::int64_t cols = std::int64_t{1} << 58;
    dynamic_model model(300, cols, 9);
    typename TestFixture::matrix m(ctx, lacuna::index<typename TypeParam::index>(300, cols));
    for (const std::int64_t size : {200, 20'000, 300}) {
      TestFixture::insert_both(m, model, model.random_batch(size, true), existing::add);
      TestFixture::erase_both(m, model, model.some_entries(4));
      TestFixture::expect_alike(m, model);
    }
  }
}

} // namespace
} // namespace lacuna::test
