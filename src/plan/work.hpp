// Internal: the bytes that a product moves, predicted from a matrix's features.
#pragma once

#include <algorithm>
#include <cmath>

#include "plan/format.hpp"

namespace lacuna::planning {

/// A new format must be predicted this much faster than CSR, all told: predictions are not better.
inline constexpr double least_gain = 0.97;

inline double as_double(std::int64_t n) { return static_cast<double>(n); }
inline double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : as_double(part) / as_double(whole);
}

/// Bytes of x that are fetched beyond what a contiguous read would, by the sectors of a sample.
inline double scattered(const spmv_features& f, const type_widths& w, double sectors) {
  /// x that stays in the cache next to the lanes: an L1 of a multiprocessor, an L2 of a core.
  constexpr double near_cache = 192 * 1024;
  /// Of the hits in hot columns, those that the near cache serves.
  constexpr double hot_hits = 0.8;
  const double each = std::max(0.0, 32 * sectors - as_double(w.value));
  const bool fits = as_double(f.cols * w.value) <= near_cache;
  const double missed = fits ? 0.05 : 1 - hot_hits * f.hot_share_4096;
  return each * missed * as_double(f.entries);
}
/// Sectors of x per entry: where lanes take neighbouring entries, or entries of neighbouring rows.
inline double sectors_by_entry(const spmv_features& f) {
  return ratio(f.sectors_by_entry, f.sampled_entries);
}
inline double sectors_by_lane(const spmv_features& f) {
  return ratio(f.sectors_by_row_lane, f.sampled_entries);
}

/// Bytes of x and y.
inline double vector_bytes(const spmv_features& f, const type_widths& w) {
  return as_double((f.rows + f.cols) * w.value);
}
inline double csr_bytes(const spmv_features& f, const type_widths& w) {
  return as_double(f.entries) * as_double(w.value + w.index) +
         as_double(f.rows + 1) * as_double(w.offset);
}
/// Deviation of the lengths of rows of less than 256 entries.
inline double usual_deviation(const spmv_features& f) {
  const double mean = f.row_length.mean, deviation = f.row_length.deviation;
  double rows = as_double(f.rows), entries = as_double(f.entries);
  double squares = deviation * deviation * rows;
  for (std::size_t k = 9; k < f.length_histogram.size(); ++k) {
    const double off = ratio(f.entries_by_length[k], f.length_histogram[k]) - mean;
    squares -= as_double(f.length_histogram[k]) * off * off;
    rows -= as_double(f.length_histogram[k]);
    entries -= as_double(f.entries_by_length[k]);
  }
  if (rows <= 0) return 0;
  const double off = entries / rows - mean;
  return std::sqrt(std::max(0.0, squares / rows - off * off));
}
/// Rows by what their ends cost a host that goes from row to row. Where the next length cannot be
/// foreseen the row begins late, and what it misses of x is waited for, not overlapped.
inline double rows_with_ends(const spmv_features& f, double gather) {
  // Short rows have a branch for each entry, longer ones for each vector.
  const double unlike = usual_deviation(f) / (f.row_length.mean < 8 ? 0.8 : 2.0);
  const double misses = gather / (32 * std::max(1.0, as_double(f.rows)));
  return as_double(f.rows) * (1 + 2 * std::min(1.0, unlike) * (1 + std::min(1.0, misses)));
}
/// A product that reads the matrix in the order of CSR's entries.
inline spmv_work csr_work(const spmv_features& f, const type_widths& w, double matrix_bytes,
                          const spmv_machine& machine) {
  const double gather = scattered(f, w, sectors_by_entry(f));
  return {matrix_bytes + vector_bytes(f, w), gather,
          machine.device ? as_double(f.rows) : rows_with_ends(f, gather), as_double(f.entries)};
}

/// Rows of `threshold` entries or more, as far as the histogram tells.
struct long_part {
  std::int64_t rows = 0;
  std::int64_t entries = 0;
};
inline long_part rows_from(const spmv_features& f, std::int64_t threshold) {
  long_part part;
  for (std::size_t k = 1; k < f.length_histogram.size(); ++k) {
    const std::int64_t least = std::int64_t{1} << (k - 1);
    // A class that the threshold cuts goes by its rows' mean length.
    const double mean = ratio(f.entries_by_length[k], f.length_histogram[k]);
    if (least < threshold && mean < as_double(threshold)) continue;
    part.rows += f.length_histogram[k];
    part.entries += f.entries_by_length[k];
  }
  return part;
}

} // namespace lacuna::planning
