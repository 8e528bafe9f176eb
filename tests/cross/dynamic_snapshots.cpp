// Snapshots of a dynamic matrix: readers on threads of their own beside a writer, products on
// another stream while batches go in, and the memory that snapshots hold.
#include <atomic>
#include <thread>

#include "support/dynamic_model.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

/// A context of the engine's with threads, or a stream, of its own.
template <class C> auto other_context() {
  if constexpr (C::memory_space == space::host)
    return host_context({1});
  else
    return device_context();
}

template <class C> class DynamicSnapshots : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;
  static constexpr space S = C::memory_space;
  using matrix = dynamic_csr<T, I, O, S>;
  using snapshot_type = dynamic_csr_snapshot<T, I, O, S>;

  static constexpr std::int64_t rows = 200, cols = 300;

  /// What tells states apart: size, shape and the sum of all entries, which are integers.
  struct mark {
    std::int64_t size, rows;
    double sum;
    friend bool operator==(const mark&, const mark&) = default;
  };
  static mark mark_of(const context<S>& ctx, const snapshot_type& s) {
    const std::vector<T> ones(static_cast<std::size_t>(s.shape().col), T{1});
    const auto x = copy_to(ctx, ones);
    array<T, S> y(ctx, s.shape().row);
    multiply(ctx, s, x, y);
    double sum = 0;
    for (const T v : host_vector(y)) sum += static_cast<double>(v);
    return {s.size(), s.shape().row, sum};
  }

  /// Changes number 0, 1, …, all of one seed: the same matrix each time.
  class writer {
  public:
    explicit writer(const dynamic_csr_options& options)
        : m(C::context(), lacuna::index<I>(rows, cols), options) {}
    void change() {
      const auto& ctx = C::context();
      const int step = steps_++;
      const auto batch = [&](std::int64_t size, std::int64_t more) {
        return C::put_coo(model_.random_batch(size, step % 2 == 0, more));
      };
      switch (step % 8) {
      case 3: {
        const auto gone = batch(400, 0);
        erase(ctx, m, gone.view());
        break;
      }
      case 4: compact(ctx, m); break;
      case 5: {
        const auto outer = batch(50, 2);
        insert(ctx, m, outer.view(), {existing::replace, outside::grow});
        model_.insert({"shape", m.shape().row, m.shape().col, {}, {}, {}}, existing::add);
        break;
      }
      case 6: {
        const std::vector<I> list = {static_cast<I>(step % 100), 150};
        triplets b{"rows", 2, m.shape().col, {}, {}, {}};
        for (std::int64_t k = 0; k < 60; ++k) b.add(k % 2, model_.below(b.cols), 3);
        const auto put = copy_to(ctx, list);
        replace_rows(ctx, m, put, C::put_csr(b));
        break;
      }
      case 7:
        if (step % 3 == 0) reserve(ctx, m, m.capacity() + 100);
        [[fallthrough]];
      default: {
        const auto more = batch(300, 0);
        insert(ctx, m, more.view());
      }
      }
    }
    matrix m;

  private:
    dynamic_model model_{rows, cols, 9};
    int steps_ = 0;
  };
};
TYPED_TEST_SUITE(DynamicSnapshots, few_configs, config_name);

TYPED_TEST(DynamicSnapshots, ReadersBesideAWriter) {
  constexpr int changes = 120, readers = 3;
  const auto& ctx = TypeParam::context();
  const dynamic_csr_options options{.concurrent = true};
  std::vector<typename TestFixture::mark> marks; // after each change
  {
    typename TestFixture::writer w(options);
    marks.push_back(TestFixture::mark_of(ctx, w.m.snapshot()));
    for (int k = 0; k < changes; ++k) {
      w.change();
      marks.push_back(TestFixture::mark_of(ctx, w.m.snapshot()));
    }
  }
  typename TestFixture::writer w(options);
  std::atomic<bool> done = false;
  std::atomic<int> ready = 0, seen = 0, wrong = 0;
  const auto read = [&] {
    const auto own = other_context<TypeParam>();
    std::size_t at = 0; // states come in their order
    for (bool last = false; !last; ++seen) {
      last = done;
      const auto s = w.m.snapshot();
      typename TestFixture::mark got{};
      try {
        check(own, s);
        got = TestFixture::mark_of(own, s);
      } catch (const error&) {
        ++wrong;
        return;
      }
      const auto found =
          std::find(marks.begin() + static_cast<std::ptrdiff_t>(at), marks.end(), got);
      if (found == marks.end()) {
        ++wrong;
        return;
      }
      at = static_cast<std::size_t>(found - marks.begin());
      ++ready;
      own.synchronize(); // before the snapshot goes
    }
    if (marks[at] != marks.back()) ++wrong;
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < readers; ++r) threads.emplace_back(read);
  while (ready < readers && wrong == 0) std::this_thread::yield();
  for (int k = 0; k < changes; ++k) w.change();
  done = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(seen, readers * 2);
  EXPECT_EQ(TestFixture::mark_of(ctx, w.m.snapshot()), marks.back());
  check(ctx, w.m);
}

/// The writer hands snapshots out, and goes on in place when they have gone.
TYPED_TEST(DynamicSnapshots, AreReadAndDroppedByOtherThreads) {
  const auto& ctx = TypeParam::context();
  typename TestFixture::writer w({});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 40; ++k) {
    w.change();
    auto s = w.m.snapshot();
    const auto want = TestFixture::mark_of(ctx, s); // waits
    std::atomic<bool> gone = false;
    threads.emplace_back([&wrong, &gone, want, s = std::move(s)]() mutable {
      const auto own = other_context<TypeParam>();
      if (TestFixture::mark_of(own, s) != want) ++wrong;
      own.synchronize();
      s = {};
      gone.store(true, std::memory_order_relaxed); // orders nothing
    });
    while (k % 2 == 0 && !gone.load(std::memory_order_relaxed)) std::this_thread::yield();
    w.change();
    while (!gone.load(std::memory_order_relaxed)) std::this_thread::yield();
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  check(ctx, w.m);
}

/// The snapshot is read by another stream; the first one goes on with batches, in place.
TYPED_TEST(DynamicSnapshots, AreReadOnAnotherStream) {
  using value = typename TypeParam::value;
  const auto& ctx = TypeParam::context();
  const auto other = other_context<TypeParam>();
  typename TestFixture::writer w({});
  for (int k = 0; k < 3; ++k) w.change();
  for (int round = 0; round < 10; ++round) {
    auto s = w.m.snapshot();
    const auto then = copy_to(host_context(), to_csr(ctx, s));
    const auto x = random_vector<value>(s.shape().col, 1);
    const auto x_put = copy_to(other, x);
    array<value, TypeParam::memory_space> y(other, s.shape().row), want(other, s.shape().row);
    ctx.synchronize(); // the snapshot is complete
    multiply(other, s, x_put, want);
    for (int k = 0; k < 5; ++k) { // while these run, batches go in
      multiply(other, s, x_put, y);
      w.change();
    }
    EXPECT_TRUE(same_bits(host_vector(y), host_vector(want)));
    EXPECT_TRUE(same_matrix(to_csr(other, s), then));
    other.synchronize(); // before the snapshot goes
  }
}

TYPED_TEST(DynamicSnapshots, FreeTheirMemory) {
  constexpr space where = TypeParam::memory_space;
  const auto& ctx = TypeParam::context();
  for (const bool concurrent : {false, true}) {
    SCOPED_TRACE(concurrent);
    {
      typename TestFixture::writer first({.concurrent = concurrent});
      for (int k = 0; k < 32; ++k) first.change(); // scratch that a context keeps is there then
    }
    ctx.synchronize();
    const std::int64_t before = memory(where).in_use;
    typename TestFixture::writer w({.concurrent = concurrent});
    const auto others = [&] { // bytes that are not the matrix's
      ctx.synchronize();
      return memory(where).in_use - before - static_cast<std::int64_t>(w.m.bytes());
    };
    const std::int64_t own = others(); // a few bytes that bytes() leaves out
    EXPECT_LT(own, 1000);
    std::vector<typename TestFixture::snapshot_type> kept;
    for (int k = 0; k < 24; ++k) {
      kept.push_back(w.m.snapshot());
      w.change();
    }
    const std::int64_t held = others();
    EXPECT_GT(held, own);
    kept.erase(kept.begin(), kept.begin() + 12);
    EXPECT_LT(others(), held);
    kept.clear();
    EXPECT_EQ(others(), own);
    w.change();
    EXPECT_EQ(others(), own);
  }
}

} // namespace
} // namespace lacuna::test
