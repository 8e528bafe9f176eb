#include <lacuna/op/reorder.hpp>

#include "cpu/reorder_search.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Searches for a vertex far out. Each but the last finds more levels than the one before; three
/// or four are usual, and more than this gain nothing worth a search.
constexpr int most_searches = 8;

/// George and Liu: from a vertex of least degree in the last level, as long as that finds more
/// levels. Of the last two starts the one with the narrower levels.
template <class I>
std::int64_t far_out(const graph<I>& g, level_search<I>& search, std::int64_t root,
                     std::int64_t begin) {
  levels_found levels = search.run(root, begin, false);
  for (int searches = 1; searches < most_searches; ++searches) {
    const I* const order = search.order().data();
    const I next = *std::min_element(order + levels.last, order + levels.end, [&](I a, I b) {
      return g.degree[a] != g.degree[b] ? g.degree[a] < g.degree[b] : a < b;
    });
    search.forget(levels.begin, levels.end);
    if (next == root) return root;
    const levels_found other = search.run(next, begin, false);
    const bool longer = other.count > levels.count;
    if (longer || other.width <= levels.width) root = next;
    levels = other;
    if (!longer) break;
  }
  search.forget(levels.begin, levels.end);
  return root;
}

} // namespace

template <class I> array<I> reverse_cuthill_mckee(const host_context& ctx, const graph<I>& g) {
  level_search<I> search(ctx, g);
  std::int64_t begin = 0;
  for (std::int64_t v = 0; v < g.size(); ++v) {
    if (search.reached(v)) continue;
    const std::int64_t start = g.neighbours(v).empty() ? v : far_out(g, search, v, begin);
    const std::int64_t end = search.run(start, begin, true).end;
    std::reverse(search.order().data() + begin, search.order().data() + end);
    begin = end;
  }
  return std::move(search.order());
}

template <class I, class O>
array<I> reverse_cuthill_mckee(const host_context& ctx, vector_view<const O> rowptr,
                               vector_view<const I> colind, bool sorted) {
  return reverse_cuthill_mckee(ctx, pattern_graph<I, O>(ctx, rowptr, colind, sorted));
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template array<I> reverse_cuthill_mckee(const host_context&, vector_view<const O>,               \
                                          vector_view<const I>, bool);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template array<std::int32_t> reverse_cuthill_mckee(const host_context&, const graph<std::int32_t>&);
template array<std::int64_t> reverse_cuthill_mckee(const host_context&, const graph<std::int64_t>&);

} // namespace lacuna::detail::cpu
