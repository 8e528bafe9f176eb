// Internal: which vertices of a directed graph reach each other.
#pragma once

#include <lacuna/core/array.hpp>

namespace lacuna::detail::cpu {

/// The strongly connected components of a graph.
template <class I> struct components {
  std::int64_t count = 0;
  array<I> of; ///< of each vertex; an edge that leaves a component leads to a lower number
};

/// Of the pattern of an n x n matrix, an entry being an edge from its row to its column; rows in
/// any order, duplicates or not. O(n + entries) on one thread; scratch: 3 columns and an offset a
/// row.
template <class I, class O>
components<I> strong_components(const host_context& ctx, vector_view<const O> rowptr,
                                vector_view<const I> colind);

} // namespace lacuna::detail::cpu
