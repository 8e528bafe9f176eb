// Internal: sizes of slices, steps and pieces, the same for both engines.
#pragma once

#include <lacuna/format/ell_csr.hpp>

namespace lacuna::detail {

/// Entries of each piece of a row of `entries`, a whole number of steps; the last may have fewer.
constexpr std::int64_t piece_length(std::int64_t entries, std::int64_t piece) {
  const std::int64_t count = (entries + piece - 1) / piece;
  const std::int64_t share = (entries + count - 1) / count;
  return (share + slice_lanes - 1) / slice_lanes * slice_lanes;
}
/// Pieces of a row; 0 for one of fewer than `long_row` entries, which is not cut.
constexpr std::int64_t piece_count(std::int64_t entries, std::int64_t long_row,
                                   std::int64_t piece) {
  if (entries < long_row) return 0;
  const std::int64_t each = piece_length(entries, piece);
  return (entries + each - 1) / each;
}
/// Binary logarithm of the lanes that a short row gets.
constexpr int log_lanes(std::int64_t entries, std::int64_t lane_entries) {
  int log = 0;
  while (log < 4 && entries > lane_entries << log) ++log;
  return log;
}
/// Bytes of one step's columns in all lanes.
constexpr std::int64_t step_column_bytes(packing kind, std::int64_t index_bytes) {
  return kind == packing::diagonal ? 0
                                   : slice_lanes * (kind == packing::bits8    ? 1
                                                    : kind == packing::bits16 ? 2
                                                                              : index_bytes);
}
/// The packing that a largest distance from the base asks for.
constexpr packing packing_for(std::int64_t spread) {
  return spread <= 0xff ? packing::bits8 : spread <= 0xffff ? packing::bits16 : packing::full;
}
/// Bytes of one step: its head, values and columns.
constexpr std::int64_t step_bytes(packing kind, std::int64_t value_bytes,
                                  std::int64_t index_bytes) {
  return 2 * index_bytes + slice_lanes * value_bytes + step_column_bytes(kind, index_bytes);
}
/// What one slice, or the largest of several, would have.
struct slice_widths {
  std::int64_t plain_steps = 0; ///< of the longest lane
  std::int64_t plain_kind = 0;  ///< the packing they need, bits8 or wider
  std::int64_t diagonals = 0;   ///< steps if stored by diagonals; too_many if that is no gain
  static constexpr std::int64_t too_many = std::int64_t{1} << 40;
};
/// Slices are made even where that adds at most a 32nd to their `bytes`.
constexpr even_slices choose_even(std::int64_t slices, std::int64_t bytes,
                                  const slice_widths& largest, std::int64_t value_bytes,
                                  std::int64_t index_bytes) {
  const std::int64_t most = bytes + bytes / 32;
  const auto fits = [&](const even_slices& even) {
    const std::int64_t step = step_bytes(even.kind, value_bytes, index_bytes);
    return even.width > 0 && even.width <= most / step && slices <= most / (step * even.width);
  };
  const even_slices diagonal{largest.diagonals, packing::diagonal};
  if (fits(diagonal)) return diagonal;
  const even_slices plain{largest.plain_steps, static_cast<packing>(largest.plain_kind)};
  return fits(plain) ? plain : even_slices{};
}
} // namespace lacuna::detail
