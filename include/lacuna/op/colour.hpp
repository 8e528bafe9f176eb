// Colours for the rows of a square matrix, so that no two rows of one colour are joined by an
// entry; and the order that puts rows of a colour side by side.
//
//   const auto c = colour(ctx, a);                    // host or device, the same colours
//   const auto p = reorder_by_colours(host, c);       // rows by colour, those of a colour in order
//   const auto b = permute(host, a, p);               // triangles of b have at most c.count levels
//
// Entries (i, j) and (j, i) both join i and j; the diagonal joins nothing. A row takes the least
// colour that none of its neighbours that go before it has (Jones and Plassmann 1993), whatever the
// timing: the same colours for any number of threads and on a device.
#pragma once

#include <lacuna/op/kept_pattern.hpp>
#include <lacuna/op/reorder.hpp>

namespace lacuna {

enum class colour_order {
  random, ///< rows in a fixed random order: a few tens of rounds, whatever the matrix
  natural ///< rows in their order: fewest colours on grids (two for a 5-point stencil); as many
          ///< rounds as levels on a device, one thread on the host
};
struct colour_options {
  colour_order order = colour_order::random;
  /// A promise: where (i, j) is stored, (j, i) is. Saves the transposed pattern.
  bool symmetric = false;
};

/// colour[i] in [0, count) for every row.
template <space S = space::host> struct colouring {
  array<std::int32_t, S> colour;
  std::int64_t count = 0;
};

namespace detail {
/// Both patterns of a graph: neighbours of a row are in either. The second may be empty.
template <class I, class O, space S> struct colour_graph { pattern_arrays<I, O, S> rows, columns; };

/// Larger goes first. One to one, so there are no ties.
constexpr std::uint64_t colour_weight(std::uint64_t row, bool natural) {
  if (natural) return ~row;
  std::uint64_t z = (row + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}
} // namespace detail
namespace detail::cpu {
/// Fills `colour` (one element a row); returns how many there are.
template <class I, class O>
LACUNA_EXPORT std::int64_t colour_rows(const host_context& ctx,
                                       detail::colour_graph<I, O, space::host> g, bool natural,
                                       vector_view<std::int32_t> colour);
/// Rows by colour, those of one in ascending order.
template <class I>
LACUNA_EXPORT array<I> rows_by_colour(const host_context& ctx, const colouring<space::host>& c);
} // namespace detail::cpu
namespace detail::gpu {
/// Waits after every round.
template <class I, class O>
LACUNA_GPU_EXPORT std::int64_t
colour_rows(const device_context& ctx, detail::colour_graph<I, O, space::device> g, bool natural,
            vector_view<std::int32_t, space::device> colour);
} // namespace detail::gpu

/// A is a square csr. Throws size_mismatch if it is not square. O(nnz) a round.
template <space S, class A>
colouring<S> colour(const context<S>& ctx, const A& a, const colour_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  detail::require_same_size("colour", "rows of A", view.shape().row, "columns of A",
                            view.shape().col);
  detail::transposed_pattern<I, O, S> columns;
  if (!options.symmetric) columns = detail::keep_transposed(ctx, view);
  const detail::colour_graph<I, O, S> graph{detail::arrays_of(view),
                                            {columns.rowptr.view(), columns.colind.view()}};
  const bool natural = options.order == colour_order::natural;
  colouring<S> result;
  result.colour = array<std::int32_t, S>(ctx, view.shape().row);
  if constexpr (S == space::host)
    result.count = detail::cpu::colour_rows<I, O>(ctx, graph, natural, result.colour.view());
  else
    result.count = detail::gpu::colour_rows<I, O>(ctx, graph, natural, result.colour.view());
  return result;
}

/// The order that brings rows of a colour together: for permute(ctx, a, p). I: A's index type.
template <class I = index_t>
permutation<I> reorder_by_colours(const host_context& ctx, const colouring<space::host>& c) {
  return permutation<I>(ctx, detail::cpu::rows_by_colour<I>(ctx, c));
}

} // namespace lacuna
