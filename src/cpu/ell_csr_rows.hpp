// Internal: which rows, or pieces of rows, the slices of an ell_csr matrix hold.
#pragma once

#include <lacuna/format/ell_csr.hpp>

namespace lacuna::detail::cpu {

/// Slices in the order of the matrix: first the pieces of long rows, then the other rows.
template <class I> struct slice_rows {
  array<row_piece<I>> pieces;
  /// Rows of the slices that are no pieces, 32 places each, -1 for none. Empty: row 32 s + l.
  array<I> rows;
  array<unsigned char> logs; ///< log2 of the lanes that a row has, for the same slices; empty: 0
  std::int64_t slices = 0;   ///< in all
};

template <class I, class O>
slice_rows<I> arrange_rows(const host_context& ctx, vector_view<const O> rowptr,
                           const ell_csr_options& options);

} // namespace lacuna::detail::cpu
