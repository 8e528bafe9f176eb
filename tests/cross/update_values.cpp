// New values for every format and every plan: bit by bit what is made of them anew.
#include <thread>

#include "support/dense_block.hpp"

namespace lacuna::test {
namespace {

/// The same pattern with other values.
template <class C> auto revalued(const triplets& m, std::uint64_t seed) {
  auto a = C::host_csr(m);
  const auto values = special_vector<typename C::value>(a.size(), seed);
  std::copy(values.begin(), values.end(), a.values().begin());
  return copy_to(C::context(), a);
}

/// Bytes that arrays took at most during f, beyond what they held before.
template <class F> std::int64_t bytes_taken_by(space s, F f) {
  const std::int64_t before = memory(s).in_use;
  reset_memory_peak(s);
  f();
  return memory(s).peak - before;
}

template <class C> class UpdateValues : public engine_test<C> {};
TYPED_TEST_SUITE(UpdateValues, all_configs, config_name);

const ell_csr_options thresholds[] = {
    {},
    {.long_row = ell_csr_options::none, .lane_entries = ell_csr_options::none, .window = 1},
    {.long_row = ell_csr_options::none, .lane_entries = 2, .window = 1},
    {.long_row = ell_csr_options::none, .lane_entries = 1, .window = 128},
    {.long_row = 20, .lane_entries = 3, .piece = 64, .window = 64},
    {.long_row = 1, .piece = 32},
    {.long_row = 5, .piece = 40, .window = ell_csr_options::none, .packed = false}};

TYPED_TEST(UpdateValues, OfEllCsr) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m), b = revalued<TypeParam>(m, 1);
    for (const ell_csr_options& o : thresholds) {
      SCOPED_TRACE("threshold " + std::to_string(&o - thresholds));
      auto e = to_ell_csr(ctx, a, o);
      const auto want = to_ell_csr(ctx, b, o);
      update_values(ctx, e, b);
      EXPECT_TRUE(same(host_vector(e.values), host_vector(want.values)));
      update_values(ctx, e, a.view());
      EXPECT_TRUE(same(host_vector(e.values), host_vector(to_ell_csr(ctx, a, o).values)));
      EXPECT_NO_THROW(check(ctx, e));
    }
  });
}

TYPED_TEST(UpdateValues, OfTheOtherFormats) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m), b = revalued<TypeParam>(m, 2);
    const auto want = revalued<on<host_engine, typename TypeParam::value, typename TypeParam::index,
                                  typename TypeParam::offset>>(m, 2);
    const auto expect_updated = [&](auto made) {
      update_values(ctx, made, b);
      EXPECT_NO_THROW(check(ctx, made));
      EXPECT_TRUE(same_matrix(to_csr(ctx, made), want));
    };
    expect_updated(copy_to(ctx, a));
    expect_updated(to_packed_csr(ctx, a));
    expect_updated(to_csr_k(ctx, a, {.k = 2}));
    expect_updated(to_csr_k(ctx, a, {.k = 3, .long_row = 8}));
  });
}

TYPED_TEST(UpdateValues, SizesAreChecked) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("stencil 40 x 40"));
  const auto other = TypeParam::put_csr(battery_matrix("unsorted with duplicates"));
  auto fewer = battery_matrix("stencil 40 x 40");
  fewer.row.pop_back();
  fewer.col.pop_back();
  fewer.value.pop_back();
  const auto one_less = TypeParam::put_csr(fewer);
  const auto expect_refused = [&](auto made) {
    const auto before = host_vector(to_csr(ctx, made).values());
    EXPECT_THROW(update_values(ctx, made, other), size_mismatch);
    EXPECT_THROW(update_values(ctx, made, one_less), size_mismatch);
    EXPECT_TRUE(same(host_vector(to_csr(ctx, made).values()), before));
  };
  expect_refused(copy_to(ctx, a));
  expect_refused(to_packed_csr(ctx, a));
  expect_refused(to_ell_csr(ctx, a));
  expect_refused(to_csr_k(ctx, a));
}

/// A different pattern of the same size is not noticed, and does no harm beyond wrong values.
TYPED_TEST(UpdateValues, StaysInsideWhenPatternsDiffer) {
  const auto& ctx = TypeParam::context();
  triplets one{"one long row", 40, 400, {}, {}, {}}, other{"others", 40, 400, {}, {}, {}};
  for (std::int64_t k = 0; k < 400; ++k) {
    one.add(7, k, 1);
    other.add(k % 40, k, 2);
  }
  const auto a = TypeParam::put_csr(one), b = TypeParam::put_csr(other);
  for (const ell_csr_options& o : thresholds)
    for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      auto e = to_ell_csr(ctx, *from, o);
      update_values(ctx, e, *to);
      EXPECT_NO_THROW(check(ctx, e));
    }
  for (const int block : {2, 5}) {
    auto m = to_bsr(ctx, a, {block});
    update_values(ctx, m, b);
    EXPECT_NO_THROW(check(ctx, m));
  }
  ctx.synchronize();
}

template <class C> class PlanValues : public engine_test<C> {
protected:
  using T = typename C::value;
  /// Bits of products with a plan, transposed too.
  template <class Operator> static std::vector<std::vector<T>> products(Operator&& op) {
    const auto [rows, cols] = op.shape();
    auto y = C::put(all_nan<T>(rows));
    op.multiply(C::put(random_vector<T>(cols, 3)), y);
    auto v = C::put(all_nan<T>(cols));
    op.multiply_transposed(C::put(random_vector<T>(rows, 4)), v);
    return {host_vector(y), host_vector(v)};
  }
  template <class A, class B> static void expect_same(A&& got, B&& want) {
    const auto left = products(got), right = products(want);
    EXPECT_TRUE(same(left[0], right[0]));
    EXPECT_TRUE(same(left[1], right[1])) << "transposed";
  }
};
TYPED_TEST_SUITE(PlanValues, few_configs, config_name);

TYPED_TEST(PlanValues, AreThoseOfANewPlan) {
  const auto& ctx = TypeParam::context();
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::put_csr(m), b = revalued<TypeParam>(m, 5);
    for (const std::string& format : planned_formats())
      for (const double transposed : {0.0, 100.0})
        for (const double announced : {0.0, 10.0}) {
          SCOPED_TRACE(format);
          plan_hints hints{.transposed_multiplies = transposed};
          hints.format = format;
          const auto want = plan(ctx, b, hints), before = plan(ctx, a, hints);
          hints.value_updates = announced;
          auto op = plan(ctx, a, hints);
          TestFixture::expect_same(op, before);
          op.update_values(b);
          TestFixture::expect_same(op, want);
          const std::size_t bytes = op.bytes();
          op.update_values(a.view());
          TestFixture::expect_same(op, before);
          EXPECT_EQ(op.bytes(), bytes) << "nothing more is kept";
          EXPECT_EQ(op.format(), format);
        }
  });
}

TYPED_TEST(PlanValues, AnnouncedNeedNoMemory) {
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("power law");
  const auto a = TypeParam::put_csr(m), b = revalued<TypeParam>(m, 6);
  for (const std::string& format : planned_formats()) {
    plan_hints hints{.transposed_multiplies = 100};
    hints.format = format;
    hints.value_updates = 1;
    auto op = plan(ctx, a, hints);
    EXPECT_EQ(bytes_taken_by(TypeParam::memory_space, [&] { op.update_values(b); }), 0) << format;
  }
}

TYPED_TEST(PlanValues, SizesAreChecked) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(battery_matrix("stencil 40 x 40"));
  const auto other = TypeParam::put_csr(battery_matrix("unsorted with duplicates"));
  for (const std::string& format : planned_formats()) {
    plan_hints hints{.transposed_multiplies = 100};
    hints.format = format;
    auto op = plan(ctx, a, hints);
    const auto want = plan(ctx, a, hints);
    EXPECT_THROW(op.update_values(other), size_mismatch);
    EXPECT_THROW(op.update_values(TypeParam::put_csr(battery_matrix("9 x 0"))), size_mismatch);
    TestFixture::expect_same(op, want);
  }
}

TYPED_TEST(PlanValues, OfATemporaryAreThePlansOwn) {
  const auto& ctx = TypeParam::context();
  for (const char* name : {"stencil 40 x 40", "power law", "9 x 0"}) {
    SCOPED_TRACE(name);
    const triplets& m = battery_matrix(name);
    const auto a = TypeParam::put_csr(m);
    for (const double multiplies : {1.0, 1000.0}) {
      const plan_hints hints{.multiplies = multiplies};
      const auto want = plan(ctx, a, hints);
      const auto op = plan(ctx, TypeParam::put_csr(m), hints);
      EXPECT_EQ(op.bytes(), want.bytes() + a.bytes());
      TestFixture::expect_same(op, want);
      auto mine = TypeParam::put_csr(m);
      auto moved = plan(ctx, std::move(mine), hints);
      auto again = std::move(moved);
      TestFixture::expect_same(again, want);
      // A view is looked at, temporary or not, and an owner with a name, too.
      EXPECT_EQ(plan(ctx, a.view(), hints).bytes(), want.bytes());
      const auto columns = plan(ctx, TypeParam::put_csc(m), hints);
      const auto by_rows = plan(ctx, to_csr(ctx, TypeParam::put_csc(m)), hints);
      TestFixture::expect_same(columns, by_rows);

      // New values: copied where the plan owns its matrix, taken over where they are given away.
      {
        const auto b = revalued<TypeParam>(m, 7);
        again.update_values(b);
      }
      const auto b = revalued<TypeParam>(m, 7), c = revalued<TypeParam>(m, 8);
      const auto want_b = plan(ctx, b, hints), want_c = plan(ctx, c, hints);
      TestFixture::expect_same(again, want_b);
      again.update_values(revalued<TypeParam>(m, 8));
      TestFixture::expect_same(again, want_c);
      auto looking = plan(ctx, a, hints);
      looking.update_values(revalued<TypeParam>(m, 7));
      TestFixture::expect_same(looking, want_b);
      looking.update_values(to_csc(ctx, c));
      TestFixture::expect_same(looking, want_c);
    }
  }
}

TYPED_TEST(PlanValues, ThatThrowsLeavesTheMatrix) {
  const auto& ctx = TypeParam::context();
  auto a = TypeParam::put_csr(battery_matrix("power law"));
  const auto size = a.size();
  EXPECT_THROW((void)plan(ctx, std::move(a), {.multiplies = -1}), bad_input);
  EXPECT_EQ(a.size(), size); // NOLINT(bugprone-use-after-move)
}

TYPED_TEST(PlanValues, InTheBackground) {
  const auto& ctx = TypeParam::context();
  const triplets& m = battery_matrix("power law");
  const auto a = TypeParam::put_csr(m), b = revalued<TypeParam>(m, 9);
  plan_hints hints{.transposed_multiplies = 100}, csr;
  hints.format = "ell_csr";
  csr.format = "csr";
  const auto in_csr = plan(ctx, b, csr), planned = plan(ctx, b, hints);
  // Before, at and after the change, of a matrix that is looked at and of one that is owned.
  for (const bool owns : {false, true})
    for (const bool gives : {false, true}) {
      SCOPED_TRACE(std::string(owns ? "owned, " : "") + (gives ? "given" : "shown"));
      auto op =
          owns ? plan_async(ctx, TypeParam::put_csr(m), hints, 4) : plan_async(ctx, a, hints, 4);
      if (gives)
        op.update_values(revalued<TypeParam>(m, 9));
      else
        op.update_values(b);
      EXPECT_FALSE(op.switched());
      TestFixture::expect_same(op, in_csr);
      TestFixture::expect_same(op, in_csr);
      TestFixture::expect_same(op, planned);
      EXPECT_TRUE(op.switched());
      op.update_values(a);
      TestFixture::expect_same(op, plan(ctx, a, hints));
      EXPECT_THROW(op.update_values(TypeParam::put_csr(battery_matrix("9 x 0"))), size_mismatch);
    }
}

TYPED_TEST(PlanValues, MoveAssignmentEndsWhatWasThere) {
  const auto& ctx = TypeParam::context();
  plan_hints hints;
  hints.format = "ell_csr";
  const triplets& m = battery_matrix("power law");
  const auto a = TypeParam::put_csr(m);
  auto op = plan_async(ctx, a, hints);
  for (int times = 0; times < 20; ++times) {
    // The matrix of the one that is replaced dies right after it: nobody may read it any more.
    auto dying = std::make_unique<decltype(TypeParam::put_csr(m))>(TypeParam::put_csr(m));
    op = plan_async(ctx, *dying, hints);
    op = plan_async(ctx, a, hints);
    dying.reset();
  }
  op = std::move(op); // NOLINT
  const auto want = plan(ctx, a, hints);
  op.wait();
  TestFixture::expect_same(op, want);
}

template <class C> class ReorderedPlan : public engine_test<C> {
protected:
  using value = typename C::value;
  static plan_hints hints(double transposed = 0) {
    plan_hints h{.transposed_multiplies = transposed, .may_reorder = true};
    h.format = "csr_k";
    return h;
  }
  template <class Operator>
  static std::vector<value> product(const Operator& op, int seed, bool transposed = false) {
    const std::int64_t n = op.shape().row;
    const auto x = random_vector<value>(n, static_cast<std::uint64_t>(seed));
    std::vector<value> y(static_cast<std::size_t>(n));
    transposed ? op.multiply_transposed(x, y) : op.multiply(x, y);
    return y;
  }
};
TYPED_TEST_SUITE(ReorderedPlan, host_value_configs, config_name);

TYPED_TEST(ReorderedPlan, TakesNewValues) {
  const auto& ctx = TypeParam::context();
  for (const triplets& m : battery()) {
    if (m.rows != m.cols) continue;
    SCOPED_TRACE(m.name);
    const auto a = TypeParam::host_csr(m), b = revalued<TypeParam>(m, 10);
    auto op = plan(ctx, a, TestFixture::hints(100));
    const auto want = plan(ctx, b, TestFixture::hints(100));
    EXPECT_EQ(op.decision().chosen().options.back(), (plan_option{"reordered", 1}));
    op.update_values(b);
    for (const bool transposed : {false, true})
      EXPECT_TRUE(
          same(TestFixture::product(op, 1, transposed), TestFixture::product(want, 1, transposed)));
  }
}

TYPED_TEST(ReorderedPlan, MultipliesWithoutMemoryAndFromSeveralThreads) {
  using T = typename TypeParam::value;
  const auto a = TypeParam::host_csr(battery_matrix("stencil 40 x 40"));
  const auto op = plan(TypeParam::context(), a, TestFixture::hints());
  const auto want = TestFixture::product(op, 1);
  const std::int64_t taken =
      bytes_taken_by(space::host, [&] { EXPECT_TRUE(same(TestFixture::product(op, 1), want)); });
  EXPECT_EQ(taken, 0);

  std::vector<std::vector<T>> wanted, got(8);
  for (int t = 0; t < 8; ++t) wanted.push_back(TestFixture::product(op, t));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int times = 0; times < 20; ++times)
        got[static_cast<std::size_t>(t)] = TestFixture::product(op, t);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < 8; ++t) EXPECT_TRUE(same(got[t], wanted[t]));
}

} // namespace
} // namespace lacuna::test
