// Internal: which rows, or pieces of rows, the slices of an ell_csr matrix hold.
#pragma once

#include <lacuna/format/ell_csr.hpp>

namespace lacuna::detail::gpu {

/// As detail::cpu::slice_rows: first the pieces of long rows, then the other rows.
template <class I> struct slice_rows {
  array<row_piece<I>, space::device> pieces;
  array<I, space::device> rows;             ///< empty: lane l of slice s is row 32 s + l
  array<unsigned char, space::device> logs; ///< log2 of the lanes that a row has; empty: 0
  std::int64_t slices = 0;                  ///< in all
};

/// Waits once.
template <class I, class O>
slice_rows<I> arrange_rows(const device_context& ctx, const O* rowptr, std::int64_t rows,
                           const ell_csr_options& options);

} // namespace lacuna::detail::gpu
