// Changes to a dynamic matrix, in batches.
//
//   insert(ctx, m, batch);                                    m(i, j) += value; new ones go in
//   insert(ctx, m, batch, {.existing = existing::replace});   m(i, j) = value
//   insert(ctx, m, b);                                        m += b, a csr matrix
//   erase(ctx, m, batch);                                     entries at these places, if there
//   erase_rows(ctx, m, rows);                                 also erase_columns, scale_rows
//   replace_rows(ctx, m, rows, b);                            row rows[i] becomes b's row i
//   compact(ctx, m);                                          one segment per row, none free
//
// A batch is a coo matrix: entries in any order, some perhaps twice, which are combined in their
// order. It goes in as a whole: one that fails (an index outside, memory) changes nothing. Where
// the entries of a row lie, and so the order of every later sum, follows from the batches alone.
//
// When a row has all the segments it may have, it is rewritten as one; when the pool is full it
// grows, or is compacted if much of it is free. On a device all of it happens there; calls that
// return a number wait for it.
#pragma once

#include <lacuna/format/dynamic_csr.hpp>
#include <lacuna/op/look_up.hpp>

namespace lacuna {

/// What an entry of a batch does to one that is there. append: nothing is looked up, and both stay,
/// as in the paper; products add them up, compact() can.
enum class existing { add, replace, keep, append };
/// What becomes of entries outside of the matrix. grow: it gets the rows and columns that the batch
/// has.
enum class outside { error, grow };

struct insert_options {
  lacuna::existing existing = lacuna::existing::add;
  lacuna::outside outside = lacuna::outside::error;
};
struct update_counts {
  std::int64_t inserted = 0; ///< new entries
  std::int64_t changed = 0;  ///< entries that got another value
  std::int64_t erased = 0;
};
struct compact_options {
  bool merge = false; ///< add duplicates up, which `append` leaves
  /// Rows lie in the pool in the order of their length, the shortest first, as in the paper.
  /// Products are then those of segments: is_compact() is false.
  bool by_length = false;
  /// Each row has its slack behind it, as a new segment has. is_compact() is false then.
  bool slack = false;
};

/// O(b log b + rows hit), not O(entries). Throws bad_input that names the first entry outside.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts insert(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                   std::type_identity_t<coo_view<const T, I, O, S>> batch,
                                   const insert_options& options = {});
/// Every entry of b, a csr matrix of m's shape.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts insert(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                   const csr<T, I, O, S>& b, const insert_options& options = {});
/// Values of the batch are not read and may be null.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts erase(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                  std::type_identity_t<coo_view<const T, I, O, S>> batch);
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts erase_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                       std::type_identity_t<vector_view<const I, S>> rows);
/// Row rows[i] becomes row i of b, whose entries may be in any order; those that b has twice are
/// added up. Throws size_mismatch unless b has a row for each of `rows` and m's columns; bad_input
/// if a row is outside of m or given twice. O(b log b + rows); on a device a copy of the table,
/// too.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts replace_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                         std::type_identity_t<vector_view<const I, S>> rows,
                                         const csr<T, I, O, S>& b);
/// Looks at every entry.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts erase_columns(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                          std::type_identity_t<vector_view<const I, S>> columns);
/// Rows and columns of these numbers, of a square matrix: vertices of a graph with their edges. The
/// numbers of the others stay. Looks at every entry, and copies them.
template <class T, class I, class O, space S>
LACUNA_EXPORT update_counts erase_vertices(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                                           std::type_identity_t<vector_view<const I, S>> vertices);
/// Row i times factors[i].
template <class T, class I, class O, space S>
LACUNA_EXPORT void scale_rows(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                              std::type_identity_t<vector_view<const T, S>> factors);
/// One segment per row, columns ascending, rows side by side. Costs about two products. What rows
/// left behind is reclaimed.
template <class T, class I, class O, space S>
LACUNA_EXPORT void compact(const context<S>& ctx, dynamic_csr<T, I, O, S>& m,
                           const compact_options& options = {});
/// Makes the pool that large, or leaves it: batches need not.
template <class T, class I, class O, space S>
LACUNA_EXPORT void reserve(const context<S>& ctx, dynamic_csr<T, I, O, S>& m, std::int64_t entries);

} // namespace lacuna
