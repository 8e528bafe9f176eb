// Graphs as dynamic matrices on every engine: vertices go with their edges.
#include "support/engine.hpp"
#include "support/oracle.hpp"

namespace lacuna::test {
namespace {

template <class C> class DynamicGraph : public engine_test<C> {};
TYPED_TEST_SUITE(DynamicGraph, few_configs, config_name);

TYPED_TEST(DynamicGraph, ErasesVertices) {
  using I = typename TypeParam::index;
  const auto& ctx = TypeParam::context();
  const std::int64_t n = 60;
  random_source random(5);
  triplets edges{"edges", n, n, {}, {}, {}};
  for (int k = 0; k < 900; ++k) edges.add(random.below(n), random.below(n), 1);
  edges.add(7, 7, 1);
  auto graph = to_dynamic_csr(ctx, TypeParam::put_csr({"none", n, n, {}, {}, {}}));
  const auto batch = TypeParam::put_coo(edges);
  insert(ctx, graph, batch, {existing::keep});
  const auto before = graph.snapshot();
  const std::int64_t size = graph.size();

  const std::vector<I> gone{7, 0, 59, 7};
  triplets left{"left", n, n, {}, {}, {}};
  const auto all = copy_to(host_context(), to_coo(ctx, to_csr(ctx, graph)));
  const auto stays = [&](I v) { return std::find(gone.begin(), gone.end(), v) == gone.end(); };
  for (std::int64_t k = 0; k < all.size(); ++k)
    if (stays(all.rowind()[k]) && stays(all.colind()[k]))
      left.add(all.rowind()[k], all.colind()[k], 1);
  const auto list = copy_to(ctx, gone);
  EXPECT_EQ(erase_vertices(ctx, graph, list).erased, size - left.size());
  check(ctx, graph);
  EXPECT_TRUE(same_matrix(to_csr(ctx, graph), TypeParam::host_csr(left)));

  const auto outside = copy_to(ctx, std::vector<I>{1, 60});
  EXPECT_THROW(erase_vertices(ctx, graph, outside), bad_input);
  EXPECT_EQ(graph.size(), left.size());
  graph.restore(before);
  check(ctx, graph);
  EXPECT_EQ(graph.size(), size);
  EXPECT_EQ(erase_vertices(ctx, graph, list).erased, size - left.size());
  EXPECT_TRUE(same_matrix(to_csr(ctx, graph), TypeParam::host_csr(left)));
  EXPECT_EQ(before.size(), size);

  auto wide = to_dynamic_csr(ctx, TypeParam::put_csr({"wide", 2, 3, {}, {}, {}}));
  EXPECT_THROW(erase_vertices(ctx, wide, list), bad_input);
}

} // namespace
} // namespace lacuna::test
