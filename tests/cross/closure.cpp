// Transitive closures on every engine, beside a search from every vertex.
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class Closure : public engine_test<C> {
protected:
  using T = typename C::value;
  using I = typename C::index;
  using O = typename C::offset;

  static auto closure_of(const triplets& t, const closure_options& options = {}) {
    return closure(C::context(), C::put_csr(t), options);
  }
  static void expect_right(const triplets& t, const closure_options& options = {}) {
    const auto r = closure_of(t, options);
    check(C::context(), r);
    const auto want = reference::closure<T, I, O>(C::host_csr(t).view(), options.reflexive);
    EXPECT_TRUE(same_entries(entries_of(to_csr(C::context(), r)), want));
  }
  static triplets random_graph(std::int64_t vertices, std::int64_t edges, std::uint64_t seed) {
    random_source random(seed);
    triplets t{"graph", vertices, vertices, {}, {}, {}};
    for (std::int64_t k = 0; k < edges; ++k)
      t.add(random.below(vertices), random.below(vertices), random.value());
    return t;
  }
  /// Edges lead to higher numbers: no cycle.
  static triplets random_order(std::int64_t vertices, std::int64_t edges, std::uint64_t seed) {
    triplets t = random_graph(vertices, edges, seed);
    for (std::size_t k = 0; k < t.row.size(); ++k) {
      if (t.row[k] > t.col[k]) std::swap(t.row[k], t.col[k]);
      if (t.row[k] == t.col[k]) t.row[k] = 0, t.col[k] = vertices - 1;
    }
    return t;
  }
  static triplets ring(std::int64_t vertices, bool closed) {
    triplets t{"ring", vertices, vertices, {}, {}, {}};
    for (std::int64_t i = 0; i + (closed ? 0 : 1) < vertices; ++i) t.add(i, (i + 1) % vertices, 2);
    return t;
  }
  /// Rings, an edge from each to the next: as many components, each of `length` vertices.
  static triplets chained_rings(std::int64_t rings, std::int64_t length) {
    const std::int64_t n = rings * length;
    triplets t{"chained rings", n, n, {}, {}, {}};
    for (std::int64_t i = 0; i < n; ++i) t.add(i, i - i % length + (i + 1) % length, 2);
    for (std::int64_t i = length; i < n; i += length) t.add(i - 1, i + 3, 2);
    return t;
  }
};
TYPED_TEST_SUITE(Closure, few_configs, config_name);

TYPED_TEST(Closure, IsWhatSearchesFind) {
  for (const bool reflexive : {false, true}) {
    const closure_options options{.reflexive = reflexive};
    // From many small parts to one that all are in.
    for (const std::int64_t edges : {0, 30, 180, 260, 900})
      TestFixture::expect_right(TestFixture::random_graph(200, edges, 7), options);
    TestFixture::expect_right(TestFixture::random_order(200, 400, 7), options);
    TestFixture::expect_right(TestFixture::chained_rings(9, 8), options);
    TestFixture::expect_right(TestFixture::ring(70, true), options);
    TestFixture::expect_right(TestFixture::ring(70, false), options);
    TestFixture::expect_right({"nothing", 0, 0, {}, {}, {}}, options);
    TestFixture::expect_right({"loop", 1, 1, {0}, {0}, {0}}, options);
  }
}

TYPED_TEST(Closure, CountsRounds) {
  closure_progress last;
  std::int64_t calls = 0, found = 0;
  closure_options options;
  options.progress = [&](const closure_progress& p) {
    EXPECT_EQ(p.rounds, ++calls);
    found += p.found;
    last = p;
  };
  const auto r = TestFixture::closure_of(TestFixture::ring(33, false), options);
  EXPECT_EQ(last.rounds, 32) << "31 that find something";
  EXPECT_EQ(last.found, 0);
  EXPECT_EQ(last.entries, 33 * 32 / 2);
  EXPECT_EQ(found, last.entries - 32);
  EXPECT_EQ(r.size(), last.entries);
}

/// A component is one vertex; the last round puts its vertices in their place.
TYPED_TEST(Closure, CountsRoundsOfComponents) {
  std::vector<closure_progress> told;
  closure_options options;
  options.progress = [&](const closure_progress& p) { told.push_back(p); };
  const auto r = TestFixture::closure_of(TestFixture::chained_rings(9, 8), options);
  ASSERT_EQ(told.size(), 9U) << "7 that find something, one that does not, one to end with";
  EXPECT_EQ(told[7].found, 0);
  EXPECT_EQ(told[7].entries, 9 * 10 / 2);
  EXPECT_EQ(told[8].entries, 9 * 10 / 2 * 8 * 8);
  EXPECT_EQ(r.size(), told[8].entries);
}

/// Where all of R is to be made within a limit: it is, or the sizes are told before it is begun.
TYPED_TEST(Closure, ComponentsStayWithinALimitOrSaySo) {
  const triplets t = TestFixture::chained_rings(40, 10);
  const auto r = TestFixture::closure_of(t);
  const std::size_t enough = 4 * r.bytes();
  TestFixture::expect_right(t, {.memory_limit = enough});
  try {
    TestFixture::closure_of(t, {.memory_limit = r.bytes() / 2});
    ADD_FAILURE() << "no exception";
  } catch (const out_of_memory& e) {
    EXPECT_GT(e.bytes(), r.bytes() / 2) << e.what();
    EXPECT_NE(std::string(e.what()).find(std::to_string(r.size()) + " entries"), std::string::npos)
        << e.what();
  }
}

/// Products come in more and more parts, until one does not fit.
TYPED_TEST(Closure, StaysWithinALimitOrSaysSo) {
  const triplets t = TestFixture::random_order(400, 2000, 3);
  int right = 0, refused = 0;
  for (const std::size_t limit : {100'000'000, 3'500'000, 2'900'000, 2'400'000, 1'600'000, 50'000})
    try {
      TestFixture::expect_right(t, {.memory_limit = limit});
      ++right;
    } catch (const out_of_memory& e) {
      EXPECT_GT(e.bytes(), 0U) << e.what();
      ++refused;
    }
  EXPECT_GE(right, 1);
  EXPECT_GE(refused, 1);
  EXPECT_THROW(TestFixture::closure_of({"wide", 3, 4, {}, {}, {}}), size_mismatch);
}

TYPED_TEST(Closure, NewEntriesAreThoseThatInsertionAdds) {
  const auto& ctx = TypeParam::context();
  const auto a = TypeParam::put_csr(TestFixture::random_graph(90, 700, 1));
  const auto b = TypeParam::put_csr(TestFixture::random_graph(90, 700, 2));
  auto m = to_dynamic_csr(ctx, merge_duplicates(ctx, a));
  const auto c = multiply_wide(ctx, b, b);
  const auto fresh = new_entries(ctx, m, c);
  check(ctx, fresh);
  EXPECT_EQ(insert(ctx, m, fresh, {existing::keep}).inserted, std::int64_t{fresh.size()});
  EXPECT_EQ(new_entries(ctx, m, c).size(), 0);
}

} // namespace
} // namespace lacuna::test
