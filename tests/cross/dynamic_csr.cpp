// Dynamic CSR on every engine: made from the whole battery and back, products in every state, and
// random sequences of changes beside a std::map.
#include <map>

#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

using entries = std::map<std::pair<std::int64_t, std::int64_t>, double>;

/// A matrix on the engine and what it should hold.
template <class C> struct modelled {
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;

  dynamic_csr<T, I, O, S> m;
  entries model;
  std::int64_t rows, cols;

  modelled(std::int64_t r, std::int64_t c, const dynamic_csr_options& options)
      : m(C::context(), lacuna::index<I>(r, c), options), rows(r), cols(c) {}

  void insert_all(const triplets& batch, existing rule, outside out = outside::error) {
    std::int64_t inserted = 0;
    for (std::int64_t k = 0; k < batch.size(); ++k) {
      const auto [at, is_new] = model.try_emplace({batch.row[k], batch.col[k]}, batch.value[k]);
      inserted += is_new ? 1 : 0;
      if (is_new) continue;
      if (rule == existing::add) at->second += batch.value[k];
      if (rule == existing::replace) at->second = batch.value[k];
    }
    rows = std::max(rows, batch.rows);
    cols = std::max(cols, batch.cols);
    const auto put = C::put_coo(batch);
    const update_counts counts = insert(C::context(), m, put.view(), {rule, out});
    EXPECT_EQ(counts.inserted, inserted);
  }
  void erase_all(const triplets& batch) {
    std::int64_t erased = 0;
    for (std::int64_t k = 0; k < batch.size(); ++k)
      erased += static_cast<std::int64_t>(model.erase({batch.row[k], batch.col[k]}));
    const auto put = C::put_coo(batch);
    EXPECT_EQ(erase(C::context(), m, put.view()).erased, erased);
  }
  void expect_alike() const { expect_alike(to_csr(C::context(), m), model); }
  void expect_alike(const csr<T, I, O, S>& a, const entries& want) const {
    const auto rowptr = host_vector(a.rowptr());
    const auto colind = host_vector(a.colind());
    const auto values = host_vector(a.values());
    ASSERT_EQ(a.shape(), (lacuna::index<I>(rows, cols)));
    ASSERT_EQ(values.size(), want.size());
    std::size_t k = 0;
    for (const auto& [at, value] : want) {
      ASSERT_EQ(std::int64_t{colind[k]}, at.second) << "in row " << at.first;
      ASSERT_GE(static_cast<std::int64_t>(k), std::int64_t{rowptr[at.first]});
      ASSERT_LT(static_cast<std::int64_t>(k), std::int64_t{rowptr[at.first + 1]});
      ASSERT_EQ(values[k], static_cast<T>(value)) << "at " << at.first << ", " << at.second;
      ++k;
    }
  }
};

triplets random_batch(random_source& random, std::int64_t rows, std::int64_t cols,
                      std::int64_t size, bool hub) {
  triplets batch{"batch", rows, cols, {}, {}, {}};
  const std::int64_t hit = random.below(rows);
  for (std::int64_t k = 0; k < size; ++k)
    batch.add(hub && k % 3 != 0 ? hit : random.below(rows), random.below(cols),
              static_cast<double>(1 + random.below(9)));
  return batch;
}

template <class C> class DynamicCsr : public engine_test<C> {};
TYPED_TEST_SUITE(DynamicCsr, all_configs, config_name);

TYPED_TEST(DynamicCsr, HoldsTheMatrixAndMultiplies) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& battery_matrix) {
    const triplets t = sorted(battery_matrix);
    const auto host = TypeParam::host_csr(t);
    const auto m = to_dynamic_csr(ctx, TypeParam::put_csr(battery_matrix));
    check(ctx, m);
    EXPECT_EQ(m.shape(), host.shape());
    EXPECT_EQ(m.size(), host.size());
    EXPECT_TRUE(same_matrix(to_csr(ctx, m), host));
    const auto x = random_vector<T>(host.shape().col, 1), z = random_vector<T>(host.shape().row, 2);
    auto y = TypeParam::put(z);
    multiply(ctx, scaled(-1.5, m), TypeParam::put(x), scaled(0.25, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(-1.5, host, false, x, 0.25, z)));
  });
}

/// The battery in three batches without looking: rows in several segments, long ones too.
TYPED_TEST(DynamicCsr, MultipliesSegments) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& t) {
    modelled<TypeParam> a(t.rows, t.cols, {.slack = 1});
    for (std::int64_t part = 0; part < 3; ++part) {
      triplets batch{"part", t.rows, t.cols, {}, {}, {}};
      for (std::int64_t k = part; k < t.size(); k += 3) batch.add(t.row[k], t.col[k], t.value[k]);
      const auto put = TypeParam::put_coo(batch);
      insert(ctx, a.m, put.view(), {existing::append});
    }
    check(ctx, a.m);
    const auto host = TypeParam::host_csr(t);
    const auto x = random_vector<T>(t.cols, 1), z = random_vector<T>(t.rows, 2);
    const auto x_put = TypeParam::put(x);
    auto y = TypeParam::put(z);
    multiply(ctx, scaled(2, a.m), x_put, scaled(-1, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x, -1, z)));
    const auto once = host_vector(y);
    y = TypeParam::put(z);
    multiply(ctx, scaled(2, a.m), x_put, scaled(-1, y), y);
    EXPECT_TRUE(same(host_vector(y), once));
    compact(ctx, a.m);
    check(ctx, a.m);
    EXPECT_TRUE(a.m.is_compact());
    EXPECT_EQ(a.m.size(), host.size());
    y = TypeParam::put(z);
    multiply(ctx, scaled(2, a.m), x_put, scaled(-1, y), y);
    EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x, -1, z)));
  });
}

/// Further segments of every length about a vector's, with free places behind them and without, up
/// to the end of the pool; what is in the free places must not matter, nor x where no row has
/// entries.
TYPED_TEST(DynamicCsr, MultipliesShortSegments) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  constexpr std::int64_t rows = 400, cols = 3000;
  auto x = random_vector<T>(cols, 1);
  x[0] = std::numeric_limits<T>::infinity();
  const auto z = random_vector<T>(rows, 2);
  const auto x_put = TypeParam::put(x);
  for (const std::int64_t slack : {0, -1})
    for (const int segments : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(slack) + " places, segments " + std::to_string(segments));
      triplets first{"first", rows, cols, {}, {}, {}};
      random_source random(5);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t k = 0; k < i % 13; ++k)
          first.add(i, 1 + 7 * k, static_cast<double>(1 + random.below(9)));
      auto m = to_dynamic_csr(ctx, TypeParam::put_csr(first),
                              {.segments = segments, .slack = slack, .slack_share = 0});
      for (std::int64_t b = 0; b < 5; ++b) {
        SCOPED_TRACE(b);
        triplets batch{"batch", rows, cols, {}, {}, {}};
        for (std::int64_t i = b % 2; i < rows; i += 1 + b)
          for (std::int64_t k = 0; k < 1 + (i / 3 + b) % 10; ++k)
            batch.add(i, 500 + 17 * k + b, static_cast<double>(1 + random.below(9)));
        const auto batch_put = TypeParam::put_coo(batch);
        insert(ctx, m, batch_put.view());
        if (b == 3) {
          const std::vector<typename TypeParam::index> gone{7, 64, 65, rows - 1};
          const auto list = copy_to(ctx, vector_view<const typename TypeParam::index>(gone));
          erase_rows(ctx, m, list);
        }
        check(ctx, m);
        const auto host = copy_to(default_context<space::host>(), to_csr(ctx, m));
        auto y = TypeParam::put(z);
        multiply(ctx, scaled(2, m), x_put, scaled(-1, y), y);
        EXPECT_TRUE(within(host_vector(y), expected_product(2, host, false, x, -1, z)));
        y = TypeParam::put(all_nan<T>(rows));
        multiply(ctx, m, x_put, y);
        EXPECT_TRUE(within(host_vector(y), expected_product(1, host, false, x, 0, z)));
      }
    }
}

/// Rows become long one after the other, and short again.
TYPED_TEST(DynamicCsr, MultipliesLongRows) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const with_values exact(value_kind::integers);
  modelled<TypeParam> a(40, 9000, {});
  random_source random(3);
  const auto x = random_vector<T>(a.cols, 1);
  const auto x_put = TypeParam::put(x);
  for (int step = 0; step < 24; ++step) {
    SCOPED_TRACE(step);
    triplets batch{"batch", a.rows, a.cols, {}, {}, {}};
    const std::int64_t row = step % 12, rest = step / 12;
    for (std::int64_t k = rest; k < 6000; k += 2) batch.add(row * 3, (k * 7 + row) % a.cols, 1);
    batch.add(1, random.below(a.cols), 2);
    if (step % 5 == 4)
      a.erase_all(batch);
    else
      a.insert_all(batch, existing::replace);
    auto y = TypeParam::put(all_nan<T>(a.rows));
    multiply(ctx, a.m, x_put, y);
    std::vector<double> want(static_cast<std::size_t>(a.rows));
    for (const auto& [at, value] : a.model)
      want[static_cast<std::size_t>(at.first)] +=
          value * static_cast<double>(x[static_cast<std::size_t>(at.second)]);
    const auto got = host_vector(y);
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(static_cast<double>(got[i]), want[i]);
  }
}

TYPED_TEST(DynamicCsr, ChangesLikeAMap) {
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  const auto& ctx = TypeParam::context();
  for (const int segments : {1, 2, 4}) {
    SCOPED_TRACE(segments);
    random_source random(segments);
    dynamic_csr_options options{.segments = segments, .slack = segments - 1};
    options.width = segments == 2 ? 3 : 0;
    modelled<TypeParam> a(37, 4001, options);
    struct kept {
      dynamic_csr_snapshot<T, I, typename TypeParam::offset, TypeParam::memory_space> snapshot;
      entries model;
      std::int64_t rows, cols;
    };
    std::vector<kept> snapshots;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(step);
      const std::int64_t size =
          random.below(3) == 0 ? 1 + random.below(3000) : 1 + random.below(60);
      const bool hub = random.below(2) == 0;
      const triplets batch = random_batch(random, a.rows, a.cols, size, hub);
      switch (random.below(10)) {
      case 0: a.insert_all(batch, existing::replace); break;
      case 1: a.insert_all(batch, existing::keep); break;
      case 2: a.erase_all(batch); break;
      case 3: { // most of what is there
        triplets there{"there", a.rows, a.cols, {}, {}, {}};
        for (const auto& [at, value] : a.model)
          if (random.below(4) != 0) there.add(at.first, at.second, value);
        a.erase_all(there);
        break;
      }
      case 4: {
        const std::vector<I> gone = {static_cast<I>(random.below(a.rows))};
        const auto list = copy_to(ctx, vector_view<const I>(gone));
        erase_rows(ctx, a.m, list);
        std::erase_if(a.model, [&](const auto& e) { return e.first.first == gone[0]; });
        break;
      }
      case 5: {
        const std::vector<I> gone = {static_cast<I>(random.below(a.cols)), 7, 7};
        const auto list = copy_to(ctx, vector_view<const I>(gone));
        erase_columns(ctx, a.m, list);
        std::erase_if(a.model, [&](const auto& e) {
          return e.first.second == gone[0] || e.first.second == 7;
        });
        break;
      }
      case 6: compact(ctx, a.m); break;
      case 7: snapshots.push_back({a.m.snapshot(), a.model, a.rows, a.cols}); break;
      case 8: {
        triplets outer = random_batch(random, a.rows + 3, a.cols + 5, 40, false);
        a.insert_all(outer, existing::add, outside::grow);
        break;
      }
      default: a.insert_all(batch, existing::add); break;
      }
      check(ctx, a.m);
      a.expect_alike();
      if (::testing::Test::HasFatalFailure()) return;
      if (snapshots.size() > 2) snapshots.erase(snapshots.begin());
      for (const kept& s : snapshots) {
        modelled<TypeParam> then(s.rows, s.cols, options);
        then.expect_alike(to_csr(ctx, s.snapshot), s.model);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

template <class C> class DynamicCsrFew : public engine_test<C> {};
TYPED_TEST_SUITE(DynamicCsrFew, few_configs, config_name);

TYPED_TEST(DynamicCsrFew, FailedBatchesChangeNothing) {
  const auto& ctx = TypeParam::context();
  random_source random(5);
  modelled<TypeParam> a(10, 20, {});
  a.insert_all(random_batch(random, 10, 20, 50, false), existing::add);
  for (const auto& [row, col] : {std::pair{10, 3}, {3, 20}, {-1, 0}, {0, -1}}) {
    triplets bad = random_batch(random, 10, 20, 30, true);
    bad.row[17] = row;
    bad.col[17] = col;
    const auto put = TypeParam::put_coo(bad);
    try {
      insert(ctx, a.m, put.view());
      FAIL() << "no error";
    } catch (const bad_input& e) {
      EXPECT_EQ(std::string(e.what()), "insert: entry 17 of the batch is at (" +
                                           std::to_string(row) + ", " + std::to_string(col) +
                                           "), outside of 10 x 20; nothing was changed");
    }
    EXPECT_THROW(erase(ctx, a.m, put.view()), bad_input);
    check(ctx, a.m);
    a.expect_alike();
  }
}

/// An entry more in each row of a hundred: of 8 places or an eighth of the row, not of a hundred.
TYPED_TEST(DynamicCsrFew, FurtherSegmentsHaveFewFreePlaces) {
  const auto& ctx = TypeParam::context();
  constexpr std::int64_t rows = 1000, length = 100;
  triplets t{"rows of a hundred", rows, 5000, {}, {}, {}}, batch{"new", rows, 5000, {}, {}, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < length; ++k) t.add(i, 40 * k + i % 40, 1);
    batch.add(i, 4500, 2);
  }
  auto m = to_dynamic_csr(ctx, TypeParam::put_csr(t));
  insert(ctx, m, TypeParam::put_coo(batch).view());
  check(ctx, m);
  EXPECT_EQ(m.size(), rows * (length + 1));
  EXPECT_LE(m.used() - m.size(), rows * 13);
  // Such segments are counted as what they are.
  const auto guessed = advise_compaction(ctx, m, 10);
  const auto all =
      advise_compaction(machine_of(ctx), {rows, m.size(), 2 * m.size(), 2, false},
                        {sizeof(typename TypeParam::value), sizeof(typename TypeParam::index),
                         sizeof(typename TypeParam::offset)},
                        10);
  EXPECT_GT(guessed.slowdown - 1, 0.8 * (all.slowdown - 1));
}

TYPED_TEST(DynamicCsrFew, LooksUpEntriesScalesRowsAndAddsCsr) {
  using T = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  random_source random(6);
  modelled<TypeParam> a(10, 20, {});
  const triplets batch = random_batch(random, 10, 20, 80, true);
  a.insert_all(batch, existing::add);
  insert(ctx, a.m, TypeParam::put_csr(batch));
  for (std::int64_t k = 0; k < batch.size(); ++k)
    a.model[{batch.row[k], batch.col[k]}] += batch.value[k];
  a.expect_alike();
  std::vector<T> factors;
  for (int i = 0; i < 10; ++i) factors.push_back(static_cast<T>(i % 3));
  const auto put = TypeParam::put(factors);
  scale_rows(ctx, a.m, put);
  for (auto& [at, value] : a.model) value *= static_cast<double>(at.first % 3);
  a.expect_alike();
  for (std::int64_t row = 0; row < 10; ++row)
    for (std::int64_t col = 0; col < 20; ++col) {
      const auto there = a.model.find({row, col});
      const auto value = entry(ctx, a.m, row, col);
      ASSERT_EQ(value.has_value(), there != a.model.end());
      if (value) {
        EXPECT_EQ(*value, static_cast<T>(there->second));
      }
    }
  EXPECT_THROW(entry(ctx, a.m, 10, 0), bad_input);
}

} // namespace
} // namespace lacuna::test
