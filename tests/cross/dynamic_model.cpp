// Dynamic CSR beside a std::map: a million single changes in random batches of every kind, for a
// matrix that nobody looks at and for one with readers; and streams of single changes.
#include "support/dynamic_model.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class DynamicModel : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;
  using matrix = dynamic_csr<T, I, O, S>;

  static array<I, S> put_indices(const std::vector<std::int64_t>& list) {
    const std::vector<I> typed(list.begin(), list.end());
    return copy_to(C::context(), typed);
  }
  static csr<T, I, O> on_host(const csr<T, I, O, S>& a) { return copy_to(host_context(), a); }

  /// A random change of both; returns how many entries it was about.
  static std::int64_t change(matrix& m, dynamic_model& model) {
    const auto& ctx = C::context();
    const std::int64_t size = 1 + model.below(model.below(3) == 0 ? 2000 : 60);
    const bool hub = model.below(2) == 0;
    const auto insert_batch = [&](existing rule, std::int64_t more) {
      const triplets batch = model.random_batch(size, hub, more);
      const auto put = C::put_coo(batch);
      const update_counts counts =
          insert(ctx, m, put.view(), {rule, more > 0 ? outside::grow : outside::error});
      const std::int64_t inserted = model.insert(batch, rule);
      EXPECT_EQ(counts.inserted, rule == existing::append ? size : inserted);
    };
    const auto erase_batch = [&](const triplets& batch) {
      const auto put = C::put_coo(batch);
      EXPECT_EQ(erase(ctx, m, put.view()).erased, model.erase(batch));
      return batch.size();
    };
    switch (model.below(24)) {
    case 0:
    case 1:
    case 2: insert_batch(existing::replace, 0); break;
    case 3:
    case 4: insert_batch(existing::keep, 0); break;
    case 5:
    case 6: return erase_batch(model.random_batch(size, hub));
    case 7: return erase_batch(model.some_entries(1 + model.below(4)));
    case 8: insert_batch(existing::add, 3); break;
    case 9: { // entries twice, until they are added up
      insert_batch(existing::append, 0);
      check(ctx, m);
      compact(ctx, m, {.merge = true});
      break;
    }
    case 10: {
      const auto rows = model.random_rows(1 + model.below(3));
      const auto list = put_indices(rows);
      EXPECT_EQ(erase_rows(ctx, m, list).erased, model.erase_rows(rows));
      return 1;
    }
    case 11: {
      const std::vector<std::int64_t> cols = {model.below(model.cols()), 7, 7};
      const auto list = put_indices(cols);
      EXPECT_EQ(erase_columns(ctx, m, list).erased, model.erase_columns(cols));
      return 1;
    }
    case 12: {
      std::vector<double> factors(static_cast<std::size_t>(model.rows()));
      for (double& f : factors) f = model.below(4) == 0 ? -1 : 1;
      model.scale_rows(factors);
      const auto put = C::put(std::vector<T>(factors.begin(), factors.end()));
      scale_rows(ctx, m, put);
      return 1;
    }
    case 13:
    case 14: {
      const auto rows = model.random_rows(1 + model.below(20));
      triplets b{"rows", static_cast<std::int64_t>(rows.size()), model.cols(), {}, {}, {}};
      for (std::int64_t k = 0; k < size; ++k)
        b.add(model.below(b.rows), model.below(b.cols), static_cast<double>(1 + model.below(9)));
      const auto list = put_indices(rows);
      EXPECT_EQ(replace_rows(ctx, m, list, C::put_csr(b)).inserted, model.replace_rows(rows, b));
      break;
    }
    case 15: compact(ctx, m); return 1;
    case 16: m = to_dynamic_csr(ctx, to_csr(ctx, m), m.options()); return 1;
    default: insert_batch(existing::add, 0); break;
    }
    return size;
  }

  /// `steps` changes of single entries.
  static void run(std::uint64_t seed, std::int64_t steps, const dynamic_csr_options& options) {
    const auto& ctx = C::context();
    dynamic_model model(60, 5000, seed);
    matrix m(ctx, lacuna::index<I>(model.rows(), model.cols()), options);
    struct kept {
      dynamic_csr_snapshot<T, I, O, S> snapshot;
      csr<T, I, O> then;
    };
    std::vector<kept> snapshots;
    std::int64_t done = 0;
    for (std::int64_t batch = 0; done < steps; ++batch) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << done);
      done += change(m, model);
      ASSERT_EQ(m.size(), model.size());
      const bool snaps = model.below(40) == 0;
      if (snaps || batch % 16 == 0 || done >= steps) {
        check(ctx, m);
        auto now = on_host(to_csr(ctx, m));
        ASSERT_EQ(model.difference(now), "");
        if (snaps) snapshots.push_back({m.snapshot(), std::move(now)});
      }
      if (snapshots.size() > 2) {
        for (const kept& k : snapshots) ASSERT_TRUE(same_matrix(to_csr(ctx, k.snapshot), k.then));
        snapshots.erase(snapshots.begin());
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
};
TYPED_TEST_SUITE(DynamicModel, few_configs, config_name);

TYPED_TEST(DynamicModel, AMillionChanges) {
  TestFixture::run(11, 300'000, {});
  TestFixture::run(12, 200'000, {.segments = 1, .slack = 0});
  TestFixture::run(13, 200'000, {.segments = 2, .slack = 1, .slack_share = 0, .width = 3});
  TestFixture::run(14, 300'000, {.segments = 8, .slack = 20, .concurrent = true});
}

/// Inserts and erases of a few entries, which alternate, against the same one after the other.
TYPED_TEST(DynamicModel, StreamsKeepTheOrder) {
  const auto& ctx = TypeParam::context();
  for (const existing rule : {existing::add, existing::replace, existing::keep})
    for (const std::int64_t size : {1, 7, 1000}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(rule) << ", batches of " << size);
      dynamic_model model(20, 30, 3);
      typename TestFixture::matrix m(
          ctx, lacuna::index<typename TestFixture::I>(model.rows(), model.cols()));
      update_stream s(ctx, m, {.batch = size, .existing = rule, .outside = outside::grow});
      for (std::int64_t k = 0; k < 3000; ++k) {
        const bool outer = k % 500 == 499;
        const triplets one = model.random_batch(1, false, outer ? 2 : 0);
        if (model.below(3) == 0 && !outer) {
          s.erase(one.row[0], one.col[0]);
          model.erase(one);
        } else {
          s.insert(one.row[0], one.col[0], static_cast<typename TestFixture::T>(one.value[0]));
          model.insert({"one", one.row[0] + 1, one.col[0] + 1, one.row, one.col, one.value}, rule);
        }
      }
      EXPECT_LE(s.pending(), size);
      s.flush();
      EXPECT_EQ(s.pending(), 0);
      EXPECT_EQ(s.counts().inserted - s.counts().erased, m.size());
      check(ctx, m);
      EXPECT_EQ(model.difference(TestFixture::on_host(to_csr(ctx, m))), "");
    }
}

TYPED_TEST(DynamicModel, StreamsRefuseWhatIsOutside) {
  const auto& ctx = TypeParam::context();
  typename TestFixture::matrix m(ctx, lacuna::index<typename TestFixture::I>(4, 5));
  EXPECT_THROW(update_stream(ctx, m, {.batch = 0}), bad_input);
  update_stream s(ctx, m);
  s.insert(3, 4, 1);
  EXPECT_THROW(s.insert(4, 0, 1), bad_input);
  EXPECT_THROW(s.insert(0, -1, 1), bad_input);
  EXPECT_THROW(s.erase(0, 5), bad_input);
  EXPECT_EQ(s.pending(), 1);
  EXPECT_EQ(m.size(), 0);
  s.flush();
  EXPECT_EQ(m.size(), 1);
}

TYPED_TEST(DynamicModel, RefusedRowsChangeNothing) {
  const auto& ctx = TypeParam::context();
  dynamic_model model(10, 20, 4);
  const triplets batch = model.random_batch(80, true);
  auto m = to_dynamic_csr(ctx, merge_duplicates(ctx, TypeParam::put_csr(batch)));
  model.insert(batch, existing::add);
  const auto refused = [&](const std::vector<std::int64_t>& rows, std::int64_t cols) {
    triplets b{"rows", 2, cols, {}, {}, {}};
    b.add(1, 3, 5);
    const auto list = TestFixture::put_indices(rows);
    replace_rows(ctx, m, list, TypeParam::put_csr(b));
  };
  EXPECT_THROW(refused({3, 3}, 20), bad_input);
  EXPECT_THROW(refused({3, 10}, 20), bad_input);
  EXPECT_THROW(refused({-1, 0}, 20), bad_input);
  EXPECT_THROW(refused({1, 2}, 19), size_mismatch);
  EXPECT_THROW(refused({1, 2, 3}, 20), size_mismatch);
  check(ctx, m);
  EXPECT_EQ(model.difference(TestFixture::on_host(to_csr(ctx, m))), "");
}

/// Row and column do not fit one word of 64 bits.
TYPED_TEST(DynamicModel, TakesWideColumns) {
  using index = typename TypeParam::index;
  const auto& ctx = TypeParam::context();
  dynamic_model model(5000, sizeof(index) == 8 ? std::int64_t{1} << 61 : 2'000'000'000, 6);
  typename TestFixture::matrix m(ctx, lacuna::index<index>(model.rows(), model.cols()));
  for (const std::int64_t size : {50, 40'000}) {
    const triplets batch = model.random_batch(size, true);
    const auto put = TypeParam::put_coo(batch);
    insert(ctx, m, put.view());
    model.insert(batch, existing::add);
  }
  check(ctx, m);
  EXPECT_EQ(model.difference(TestFixture::on_host(to_csr(ctx, m))), "");
}

TYPED_TEST(DynamicModel, LooksUpRows) {
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  dynamic_model model(30, 50, 5);
  typename TestFixture::matrix m(ctx, lacuna::index<typename TestFixture::I>(30, 50), {.slack = 0});
  for (int k = 0; k < 4; ++k) {
    const triplets batch = model.random_batch(60, k % 2 == 0);
    const auto put = TypeParam::put_coo(batch);
    insert(ctx, m, put.view());
    model.insert(batch, existing::add);
  }
  const auto snapshot = m.snapshot();
  const auto sizes = host_vector(row_sizes(ctx, m));
  const auto then = host_vector(row_sizes(ctx, snapshot));
  const auto want = model.row_sizes();
  EXPECT_TRUE(std::equal(sizes.begin(), sizes.end(), want.begin(), want.end()));
  EXPECT_EQ(sizes, then);
  for (std::int64_t i = 0; i < 30; ++i) {
    const auto got = row(ctx, m, i);
    ASSERT_EQ(got.columns.size(), want[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(std::is_sorted(got.columns.begin(), got.columns.end()));
    for (std::int64_t k = 0; k < got.columns.size(); ++k) {
      const double* const there = model.find(i, got.columns[k]);
      ASSERT_NE(there, nullptr);
      EXPECT_EQ(got.values[k], static_cast<value>(*there));
      EXPECT_EQ(entry(ctx, snapshot, i, got.columns[k]), static_cast<value>(*there));
    }
  }
  EXPECT_THROW(row(ctx, m, 30), bad_input);
  EXPECT_THROW(row(ctx, snapshot, -1), bad_input);
}

} // namespace
} // namespace lacuna::test
