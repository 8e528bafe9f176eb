// Statistics of row lengths, each one pass over the row pointers.
#pragma once

#include <lacuna/core/array.hpp>

namespace lacuna::detail::gpu {

/// Of the rows that count: how many, their entries, the most in one, the sum of squared lengths.
struct length_totals {
  std::int64_t rows, entries, longest;
  double squares;
};
/// Over rows of up to `limit` entries. Waits.
template <class O>
length_totals total_lengths(const device_context& ctx, const O* rowptr, std::int64_t rows,
                            std::int64_t limit);

/// Squares of lengths about a mean, the longest, and the rows without entries.
struct length_spread {
  double squares;
  std::int64_t longest;
  std::int64_t empty;
};
/// Over all rows. Waits.
template <class O>
length_spread spread_of_lengths(const device_context& ctx, const O* rowptr, std::int64_t rows,
                                double mean);

/// Pieces of rows of `long_row` entries or more, and the most entries of a shorter row.
struct piece_totals {
  std::int64_t pieces, longest_short;
};
/// Where rows are cut for slices (detail::piece_count). Waits.
template <class O>
piece_totals total_pieces(const device_context& ctx, const O* rowptr, std::int64_t rows,
                          std::int64_t long_row, std::int64_t piece);

/// The rows of more than `limit` entries, of which there are `count`, ascending.
template <class O>
array<std::int64_t, space::device> find_long_rows(const device_context& ctx, const O* rowptr,
                                                  std::int64_t rows, std::int64_t limit,
                                                  std::int64_t count);

} // namespace lacuna::detail::gpu
