// Internal: undirected graphs for orderings, and the coarser graph of groups of vertices.
#pragma once

#include <lacuna/core/array.hpp>

namespace lacuna::detail::cpu {

/// Vertices 0 .. size() - 1. Every edge is stored from both ends; no loops, none twice.
template <class I> struct graph {
  array<std::int64_t> start; ///< size() + 1
  array<I> neighbour;
  array<I> degree; ///< rows that the neighbours stand for together: at most all rows, so I holds it
  array<I> weight; ///< rows that a vertex stands for; empty: 1 each

  [[nodiscard]] std::int64_t size() const { return degree.size(); }
  [[nodiscard]] vector_view<const I> neighbours(std::int64_t v) const {
    return {neighbour.data() + start[v], start[v + 1] - start[v]};
  }
};

/// The pattern of A + A^T without its diagonal; a row's neighbours ascend. A is n x n, its rows
/// sorted or not; duplicates count once. Scratch: the column indices once more, twice if unsorted.
template <class I, class O>
graph<I> pattern_graph(const host_context& ctx, vector_view<const O> rowptr,
                       vector_view<const I> colind, bool sorted);

/// Vertices of `fine` by group: those of group j are members[starts[j] .. starts[j + 1]),
/// ascending.
template <class I> struct grouping { array<I> starts, members; };
template <class I>
grouping<I> list_members(const host_context& ctx, const array<I>& group_of, std::int64_t groups);

/// One vertex per group, joined where members are. O(edges of fine).
template <class I>
graph<I> contract(const host_context& ctx, const graph<I>& fine, const array<I>& group_of,
                  const grouping<I>& by_group);

/// The order of Cuthill and McKee, reversed within each component; vertices of a level by the
/// place of their first neighbour, then by degree, then by number.
template <class I> array<I> reverse_cuthill_mckee(const host_context& ctx, const graph<I>& g);

} // namespace lacuna::detail::cpu
