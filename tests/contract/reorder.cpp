// Orderings: the one that Cuthill and McKee define, bandwidths near the known best, super-rows.
#include <atomic>
#include <map>
#include <numeric>
#include <set>

#include <lacuna/gen/generate.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/plan/statistics.hpp>

#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

using matrix = csr<double, std::int32_t, std::int32_t>;
const auto& ctx = host_engine::context();

permutation<std::int32_t> random_permutation(std::int64_t size) {
  array<std::int32_t> order(ctx, size);
  std::iota(order.begin(), order.end(), 0);
  random_source random(5);
  for (std::int64_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return permutation<std::int32_t>(ctx, std::move(order));
}
matrix generated(const std::string& spec) {
  return gen::generate<double, std::int32_t, std::int32_t>(ctx, spec);
}
matrix shuffled(const std::string& spec) {
  const matrix a = generated(spec);
  return permute(ctx, a, random_permutation(a.shape().row));
}
matrix from_edges(std::int64_t n, const std::vector<std::pair<int, int>>& edges) {
  triplets m{"edges", n, n, {}, {}, {}};
  for (const auto& [i, j] : edges) m.add(i, j, 1);
  return make_csr<double, std::int32_t, std::int32_t>(m);
}
std::int64_t bandwidth_after(const matrix& a, const permutation<std::int32_t>& p) {
  return statistics(ctx, permute(ctx, a, p)).bandwidth();
}

/// Neighbours of each vertex, from the entries alone.
template <class A> std::vector<std::set<std::int64_t>> plain_graph(const A& a) {
  const auto e = entries_of(a);
  std::vector<std::set<std::int64_t>> g(static_cast<std::size_t>(e.shape.row));
  for (std::size_t k = 0; k < e.row.size(); ++k) {
    if (e.row[k] == e.col[k]) continue;
    g[static_cast<std::size_t>(e.row[k])].insert(e.col[k]);
    g[static_cast<std::size_t>(e.col[k])].insert(e.row[k]);
  }
  return g;
}

/// Whether p is what the definition makes of its own start in each component: components in the
/// order of their least vertices, in each, read backwards, (place of the first neighbour, degree,
/// number) ascending.
template <class A, class I>
::testing::AssertionResult is_cuthill_mckee(const A& a, const permutation<I>& p) {
  const auto g = plain_graph(a);
  const auto order = host_vector(p.new_to_old());
  std::vector<bool> seen(g.size());
  std::size_t begin = 0;
  for (std::size_t least = 0; least < g.size(); ++least) {
    if (seen[least]) continue;
    std::set<std::int64_t> component{static_cast<std::int64_t>(least)};
    std::vector<std::int64_t> todo{static_cast<std::int64_t>(least)};
    while (!todo.empty()) {
      const auto v = static_cast<std::size_t>(todo.back());
      todo.pop_back();
      seen[v] = true;
      for (const std::int64_t w : g[v])
        if (component.insert(w).second) todo.push_back(w);
    }
    const std::size_t end = begin + component.size();
    std::map<std::int64_t, std::int64_t> place; // counted from the start, which stands last
    std::tuple<std::int64_t, std::size_t, std::int64_t> before{-1, 0, 0};
    for (std::size_t i = end; i-- > begin;) {
      const std::int64_t v = order[i];
      const auto& neighbours = g[static_cast<std::size_t>(v)];
      std::int64_t first = i + 1 == end ? -1 : std::numeric_limits<std::int64_t>::max();
      for (const std::int64_t w : neighbours)
        if (place.contains(w)) first = std::min(first, place[w]);
      const std::tuple now{first, neighbours.size(), v};
      if (!component.contains(v) || (i + 1 != end && now < before))
        return ::testing::AssertionFailure() << "vertex " << v << " at " << i;
      place[v] = static_cast<std::int64_t>(end - 1 - i);
      before = now;
    }
    begin = end;
  }
  return ::testing::AssertionSuccess();
}

template <class C> class Reorder : public engine_test<C> {};
TYPED_TEST_SUITE(Reorder, internal::all_on<host_engine>, config_name);

TYPED_TEST(Reorder, OrdersTheBattery) {
  TypeParam::for_each_matrix([&](const triplets& m) {
    const auto a = TypeParam::host_csr(m);
    if (m.rows != m.cols) {
      EXPECT_THROW(reverse_cuthill_mckee(ctx, a), size_mismatch);
      EXPECT_THROW(band_k(ctx, a, {8}), size_mismatch);
      return;
    }
    const auto p = reverse_cuthill_mckee(ctx, a);
    ASSERT_EQ(p.size(), m.rows);
    check(ctx, p);
    if (m.size() < 100'000) {
      EXPECT_TRUE(is_cuthill_mckee(a, p));
    }
    const auto b = band_k(ctx, a, {8, 4});
    check(ctx, b.order);
    ASSERT_EQ(b.starts.size(), 2U);
    std::int64_t members = m.rows, most = 12; // 3/2 of the size
    for (const auto& starts : b.starts) {
      EXPECT_EQ(starts[0], 0);
      EXPECT_EQ(starts[starts.size() - 1], members);
      for (std::int64_t j = 0; j + 1 < starts.size(); ++j) {
        EXPECT_GT(starts[j + 1], starts[j]);
        EXPECT_LE(starts[j + 1] - starts[j], most);
      }
      members = starts.size() - 1;
      most = 6;
    }
  });
}

TEST(ReverseCuthillMckee, IsTheSameForAnyNumberOfThreads) {
  // Levels that threads share: narrow ones, wide ones, a hub.
  for (const std::string spec :
       {"mesh2d:n=150,shuffle=1", "rmat:scale=16", "arrow:n=400000", "web:n=50000", "circuit"}) {
    SCOPED_TRACE(spec);
    const matrix a = generated(spec);
    const auto alone = reverse_cuthill_mckee(host_context({1}), a);
    const auto groups = band_k(host_context({1}), a, {96, 8});
    for (const int threads : {2, 7}) {
      const host_context parallel({threads});
      EXPECT_TRUE(same(host_vector(reverse_cuthill_mckee(parallel, a).new_to_old()),
                       host_vector(alone.new_to_old())));
      const auto again = band_k(parallel, a, {96, 8});
      EXPECT_TRUE(
          same(host_vector(again.order.new_to_old()), host_vector(groups.order.new_to_old())));
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_TRUE(same(host_vector(again.starts[i]), host_vector(groups.starts[i])));
    }
  }
}

TEST(ReverseCuthillMckee, FindsTheBandOfShuffledMatrices) {
  const auto after = [](const std::string& spec) {
    const matrix a = shuffled(spec);
    const auto p = reverse_cuthill_mckee(ctx, a);
    EXPECT_TRUE(is_cuthill_mckee(a, p)) << spec;
    return bandwidth_after(a, p);
  };
  EXPECT_EQ(after("tridiagonal:n=3000"), 1);
  EXPECT_LE(after("banded:n=2000,half_bandwidth=5"), 10);
  EXPECT_EQ(after("poisson2d:n=60"), 60); // the best there is
  EXPECT_LE(after("poisson3d:n=12"), 144);
  EXPECT_LE(after("mesh2d:n=60,shuffle=1"), 2 * 60);
}

TEST(ReverseCuthillMckee, OfOneTriangle) {
  // A chain that only one of (i, j) and (j, i) shows.
  std::vector<std::pair<int, int>> chain;
  for (int i = 0; i + 1 < 200; ++i) chain.emplace_back((i * 77) % 200, ((i + 1) * 77) % 200);
  const matrix a = from_edges(200, chain);
  EXPECT_EQ(bandwidth_after(a, reverse_cuthill_mckee(ctx, a)), 1);
}

TEST(ReverseCuthillMckee, OfDegenerateGraphs) {
  EXPECT_EQ(reverse_cuthill_mckee(ctx, matrix()).size(), 0);
  EXPECT_EQ(band_k(ctx, matrix(), {8}).order.size(), 0);
  EXPECT_EQ(reverse_cuthill_mckee(ctx, from_edges(0, {})).size(), 0);
  EXPECT_EQ(reverse_cuthill_mckee(ctx, from_edges(1, {})).new_to_old()[0], 0);
  // Without neighbours everything stays where it is.
  for (const matrix& a : {from_edges(50, {}), generated("diagonal:n=50")}) {
    const auto p = reverse_cuthill_mckee(ctx, a);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(p.new_to_old()[i], i);
  }
  // Two chains, woven into each other, and a vertex alone.
  const matrix woven = from_edges(7, {{0, 2}, {2, 4}, {1, 3}, {3, 5}});
  EXPECT_EQ(bandwidth_after(woven, reverse_cuthill_mckee(ctx, woven)), 1);
  std::vector<std::pair<int, int>> star;
  for (int i = 1; i < 100; ++i) star.emplace_back(0, i);
  const matrix hub = from_edges(100, star);
  EXPECT_TRUE(is_cuthill_mckee(hub, reverse_cuthill_mckee(ctx, hub)));
}

TEST(BandK, GroupsHaveTheirSizes) {
  const matrix a = generated("mesh2d:n=100,shuffle=1");
  const auto b = band_k(ctx, a, {96, 8});
  EXPECT_NEAR(static_cast<double>(b.starts[0].size() - 1), 10'000.0 / 96, 10);
  EXPECT_NEAR(static_cast<double>(b.starts[1].size() - 1), 10'000.0 / 96 / 8, 3);
  // A band little wider than that of single rows.
  const std::int64_t rows_alone = bandwidth_after(a, reverse_cuthill_mckee(ctx, a));
  EXPECT_LE(bandwidth_after(a, band_k(ctx, a, {8}).order), 2 * rows_alone);
  EXPECT_LE(bandwidth_after(a, band_k(ctx, a, {96}).order), 4 * rows_alone);
  // Rows without neighbours share super-rows all the same.
  EXPECT_EQ(band_k(ctx, generated("diagonal:n=1000"), {96}).starts[0].size() - 1, 11);
  // Every row alone; all in one.
  EXPECT_EQ(band_k(ctx, a, {1}).starts[0].size() - 1, 10'000);
  EXPECT_EQ(band_k(ctx, a, {std::int64_t{1} << 40}).starts[0].size() - 1, 1);
}

TEST(BandK, SizesMustMakeSense) {
  const matrix a = generated("tridiagonal:n=10");
  EXPECT_THROW(band_k(ctx, a, {}), bad_input);
  EXPECT_THROW(band_k(ctx, a, {8, 0}), bad_input);
}

std::atomic<int> allowed{-1}; // allocations until one fails; negative: all pass
bool count_down(space, std::size_t) { return allowed < 0 || allowed-- > 0; }

TEST(ReorderMemory, SurvivesFailingAllocations) {
  const matrix a = shuffled("circuit:n=30000");
  const auto survives = [&](const char* name, int least, auto op) {
    SCOPED_TRACE(name);
    const auto before = memory(space::host).in_use;
    const auto old_hook = set_allocation_hook(count_down);
    int failures = 0;
    for (bool thrown = true; thrown; failures += thrown ? 1 : 0) {
      thrown = false;
      allowed = failures;
      try {
        op();
      } catch (const out_of_memory&) {
        thrown = true;
        allowed = -1;
        EXPECT_EQ(memory(space::host).in_use, before) << "allocation " << failures;
      }
    }
    allowed = -1;
    set_allocation_hook(old_hook);
    EXPECT_GE(failures, least);
    EXPECT_EQ(memory(space::host).in_use, before);
  };
  const auto p = random_permutation(a.shape().row);
  survives("rcm", 10, [&] { (void)reverse_cuthill_mckee(ctx, a); });
  survives("band_k", 30, [&] { (void)band_k(ctx, a, {96, 8}); });
  survives("permute", 4, [&] { (void)permute(ctx, a, p); });
  survives("compose", 2, [&] { (void)compose(ctx, p, p); });
}

TEST(ReorderMemory, ScratchIsBounded) {
  const matrix a = shuffled("rmat:scale=14");
  const std::int64_t n = a.shape().row, nnz = a.size();
  const auto scratch = [&](auto op) {
    const auto before = memory(space::host).in_use;
    reset_memory_peak(space::host);
    op();
    return memory(space::host).peak - before;
  };
  EXPECT_LT(scratch([&] { (void)reverse_cuthill_mckee(ctx, a); }), 16 * nnz + 80 * n);
  EXPECT_LT(scratch([&] { (void)band_k(ctx, a, {96, 8}); }), 32 * nnz + 160 * n);
}

} // namespace
} // namespace lacuna::test
