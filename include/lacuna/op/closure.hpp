// The transitive closure of a graph: which vertices can be reached from which. Boolean products are
// merged into a dynamic matrix until nothing new comes of them (King et al. 2016, section II.A).
//
//   auto r = closure(ctx, a);                                  r(i, j): a path of 1 or more edges
//   auto r = closure(ctx, a, {.reflexive = true});             of 0 or more
//   auto fresh = new_entries(ctx, m, c);                       entries of c that m does not have
//
// An edge is an entry, whatever its value. Vertices that reach each other, a strongly connected
// component, are one vertex while R is made. Semi-naive: a round multiplies what the last one found
// by A, and only what is new goes on, so that each pair of R meets each edge behind it once: as
// many products in all as a search from every component has steps. Rounds: the longest of the
// shortest paths between components, one that finds nothing, and where components have several
// vertices one that puts them in their place.
#pragma once

#include <functional>

#include <lacuna/op/update.hpp>

namespace lacuna {

/// How far a closure is, after each round.
struct closure_progress {
  std::int64_t rounds = 0;
  std::int64_t found = 0;   ///< entries that the round added
  std::int64_t entries = 0; ///< of R by now, a component of several vertices counted as one
};

struct closure_options {
  bool reflexive = false; ///< every vertex reaches itself
  /// Bytes that R, what a round found and the part of a product that is being made may take
  /// together in the context's space; 0: what there is. Products are made in parts if they must be.
  /// A batch's scratch, and R's old pool while it grows, come on top.
  std::size_t memory_limit = 0;
  std::function<void(const closure_progress&)> progress = {};
};

/// R, sorted by nothing but its rows' segments: to_csr puts it in order. All values are 1. Throws
/// size_mismatch if A is not square, out_of_memory (R may be dense: n^2 entries), unsupported if R
/// does not fit A's offsets: cast A to 64-bit ones then. Device: waits once or twice a round, and
/// the host finds the components in a copy of A.
template <class T, class I, class O, space S>
LACUNA_EXPORT dynamic_csr<T, I, O, S> closure(const context<S>& ctx, const csr<T, I, O, S>& a,
                                              const closure_options& options = {});

namespace detail::cpu {
/// Entries of `part`, rows [first, first + its rows) of a matrix of m's shape, that m does not
/// have, as a matrix of m's shape. O(entries k log row).
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> new_entries(const host_context& ctx, dynamic_csr_view<const T, I, O> m,
                                       std::int64_t first, csr_view<const T, I, std::int64_t> part);
} // namespace detail::cpu
namespace detail::gpu {
/// The same; waits for their number.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
new_entries(const device_context& ctx, dynamic_csr_view<const T, I, O, space::device> m,
            std::int64_t first, csr_view<const T, I, std::int64_t, space::device> part);
} // namespace detail::gpu

/// Entries of c, rows sorted, that m does not have: what `insert(ctx, m, c, {existing::keep})`
/// would add. c has m's shape and 64-bit offsets, as multiply_wide makes them. O(entries of c, k
/// log row each). Throws size_mismatch. Device: waits.
template <class T, class I, class O, space S>
csr<T, I, O, S> new_entries(const context<S>& ctx, const dynamic_csr<T, I, O, S>& m,
                            const csr<T, I, std::int64_t, S>& c) {
  detail::require_same_size("new_entries", "rows of C", c.shape().row, "rows of M", m.shape().row);
  detail::require_same_size("new_entries", "columns of C", c.shape().col, "columns of M",
                            m.shape().col);
  if constexpr (S == space::host)
    return detail::cpu::new_entries<T, I, O>(ctx, m.view(), 0, c.view());
  else
    return detail::gpu::new_entries<T, I, O>(ctx, m.view(), 0, c.view());
}

} // namespace lacuna
