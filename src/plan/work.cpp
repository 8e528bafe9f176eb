// The bytes that a product moves in each format, predicted from a matrix's features.
#include <algorithm>

#include <lacuna/plan/choose.hpp>

#include "plan/work.hpp"

namespace lacuna::planning {
namespace {

/// x that stays in the cache next to the lanes: an L1 of a multiprocessor, an L2 of a core.
constexpr double near_cache = 192 * 1024;
/// Of the hits in hot columns, those that the near cache serves.
constexpr double hot_hits = 0.8;
/// Sorting by length takes neighbouring rows apart: their lanes share fewer sectors.
constexpr double sorted_spread = 1.3;
/// Padding where rows are in order of length within windows: 1.2 to 8 % were seen.
constexpr double sorted_padding = 1.03;

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Bytes of x that are fetched beyond what a contiguous read would, by the sectors of a sample.
double scattered(const spmv_features& f, const type_widths& w, double sectors) {
  const double each = std::max(0.0, 32 * sectors - static_cast<double>(w.value));
  const bool fits = static_cast<double>(f.cols * w.value) <= near_cache;
  const double missed = fits ? 0.05 : 1 - hot_hits * f.hot_share_4096;
  return each * missed * static_cast<double>(f.entries);
}

double vectors(const spmv_features& f, const type_widths& w) {
  return static_cast<double>((f.rows + f.cols) * w.value);
}

/// Bytes of a step's columns, by the kinds that slices of the sample need; wider: 8 bits count as
/// 16, because rows that are sorted lie farther apart.
double column_bytes(const spmv_features& f, const type_widths& w, bool wider) {
  const double narrow = ratio(f.steps_8, f.sampled_steps),
               middle = ratio(f.steps_16, f.sampled_steps);
  const double full = f.sampled_steps == 0 ? 0 : 1 - narrow - middle;
  return slice_lanes *
         (narrow * (wider ? 2 : 1) + middle * 2 + full * static_cast<double>(w.index));
}
double head_and_values(const type_widths& w) {
  return static_cast<double>(2 * w.index + slice_lanes * w.value);
}

} // namespace

bool is_diagonal(const spmv_features& f, const type_widths& w) {
  const double diagonals = static_cast<double>(f.diagonal_steps) * head_and_values(w);
  const double plain =
      static_cast<double>(f.sampled_steps) * (head_and_values(w) + column_bytes(f, w, false));
  return f.sampled_steps > 0 && diagonals < plain;
}

bool is_even(const spmv_features& f) {
  const std::int64_t groups = (f.rows + slice_lanes - 1) / slice_lanes;
  return f.slice_steps > 0 && f.row_length.longest * groups <= f.slice_steps + f.slice_steps / 32;
}

long_part rows_from(const spmv_features& f, std::int64_t threshold) {
  long_part found;
  for (std::size_t k = 1; k < f.length_histogram.size(); ++k) {
    const std::int64_t least = std::int64_t{1} << (k - 1);
    // A class that the threshold cuts goes by its rows' mean length.
    const double mean = ratio(f.entries_by_length[k], f.length_histogram[k]);
    if (least < threshold && mean < static_cast<double>(threshold)) continue;
    found.rows += f.length_histogram[k];
    found.entries += f.entries_by_length[k];
  }
  return found;
}

double matrix_bytes(const spmv_features& f, const type_widths& w, spmv_class kernel) {
  const auto entries = static_cast<double>(f.entries), rows = static_cast<double>(f.rows);
  const auto value = static_cast<double>(w.value), column = static_cast<double>(w.index);
  const double pointers = (rows + 1) * static_cast<double>(w.offset);
  const double slices = (rows / slice_lanes + 1) * sizeof(ell_slice);
  switch (kernel) {
  case spmv_class::csr_rows:
  case spmv_class::csr_tiles:
  case spmv_class::csr_split: return entries * (value + column) + pointers;
  case spmv_class::csr_k: return entries * (value + column) + pointers + rows / 64 * column;
  case spmv_class::packed_csr: {
    const std::int64_t chunks = f.chunks_8 + f.chunks_16 + f.chunks_full;
    const double packed = ratio(f.chunks_8, chunks) + 2 * ratio(f.chunks_16, chunks) +
                          column * ratio(f.chunks_full, chunks);
    return entries * (value + packed + 2 * column / 64) + pointers;
  }
  case spmv_class::ell_diagonal: {
    const double steps =
        static_cast<double>(f.slice_steps) * ratio(f.diagonal_steps, f.sampled_steps);
    return steps * head_and_values(w) + slices;
  }
  case spmv_class::ell_even:
  case spmv_class::ell_slices: {
    const double steps = kernel == spmv_class::ell_even
                             ? static_cast<double>(f.row_length.longest) * (rows / slice_lanes + 1)
                             : static_cast<double>(f.slice_steps);
    const double columns = is_diagonal(f, w) ? 0 : column_bytes(f, w, false);
    return steps * (head_and_values(w) + columns) + slices;
  }
  case spmv_class::ell_sorted: break;
  }
  const double steps = (sorted_padding * entries) / slice_lanes;
  return steps * (head_and_values(w) + column_bytes(f, w, true)) + slices + rows * column;
}

} // namespace lacuna::planning

namespace lacuna {

spmv_work work_of(const spmv_features& f, const type_widths& w, spmv_class kernel) {
  spmv_work work;
  work.stream = planning::matrix_bytes(f, w, kernel) + planning::vectors(f, w);
  work.rows = static_cast<double>(f.rows);
  work.entries = static_cast<double>(f.entries);
  const double by_entry = planning::ratio(f.sectors_by_entry, f.sampled_entries);
  const double by_lane = planning::ratio(f.sectors_by_row_lane, f.sampled_entries);
  switch (kernel) {
  case spmv_class::csr_rows:
    work.gather = planning::scattered(f, w, by_entry);
    // Where a row ends is foreseen if rows are alike.
    work.rows *= 1 + std::min(1.0, f.row_length.deviation / std::max(1.0, f.row_length.mean));
    break;
  case spmv_class::ell_diagonal:
  case spmv_class::ell_even:
  case spmv_class::ell_slices:
    work.gather = planning::scattered(f, w, by_lane);
    work.entries = static_cast<double>(slice_lanes * f.slice_steps);
    break;
  case spmv_class::ell_sorted:
    work.gather = planning::scattered(f, w, std::min(1.0, planning::sorted_spread * by_lane));
    work.entries *= planning::sorted_padding;
    break;
  default: work.gather = planning::scattered(f, w, by_entry);
  }
  return work;
}

} // namespace lacuna
