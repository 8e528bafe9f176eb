// ell_csr, in a plan: rows in order, or by length with long rows apart.
#pragma once

#include <bit>

#include <fmt/format.h>

#include <lacuna/format/ell_csr.hpp>

#include "plan/work.hpp"

namespace lacuna::planning {

struct ell_csr_format : csr_ordered_format {
  static constexpr std::string_view name = "ell_csr";
  static constexpr kernel_costs kernels[] = {
      {"ell_diagonal", // rows in order, slices by diagonals
       {3.48e-6, 0.198e-12, 0.141e-12, 1.26e-12, 0.163e-12, 12},
       {1.0e-6, 1.18e-12, 11.4e-12, 0.281e-9, 0.161e-9, 5}},
      {"ell_even", // rows in order, slices of one width
       {4.96e-6, 0.0898e-12, 0.141e-12, 0.299e-12, 1.14e-12, 10},
       {2.0e-6, 0, 11.4e-12, 0.224e-9, 0.207e-9, 6}},
      {"ell_slices", // rows in order, slices of several widths
       {4.83e-6, 0.111e-12, 0.141e-12, 0, 0.975e-12, 14},
       {1.0e-6, 5.42e-12, 11.4e-12, 0.250e-9, 0.120e-9, 10}},
      {"ell_sorted", // rows by length, long rows in pieces
       {2.68e-6, 0.113e-12, 0.141e-12, 8.80e-12, 0.412e-12, 18},
       {6.0e-6, 5.0e-12, 7.0e-12, 1.30e-9, 0.170e-9, 10}}};

  static constexpr double pieces_tried[] = {512, 1024, 2048, 4096, 8192};
  static constexpr double few_rows_tried[] = {0, 256, 512, 1024, 2048, 4096};
  static constexpr double lane_entries_tried[] = {4, 8, 16, 32};
  static constexpr double padding_tried[] = {1, 1.05, 1.1, 1.15, 1.25, 1.5, 2};
  static constexpr tuned_number numbers[] = {
      {"piece", 1, 2048, 2048, pieces_tried},        // entries of a piece
      {"few_rows", 0, 1024, 1024, few_rows_tried},   // per worker: below, rows get more lanes
      {"lane_entries", 1, 8, 8, lane_entries_tried}, // and a lane so many entries
      {"padding", 1, 1.15, 1.35, padding_tried}};    // that rows in order may cost
  static constexpr value_order updates_by = value_order::rows;

  /// How it would be made of such a matrix.
  struct ways {
    ell_csr_options in_order;
    ell_csr_options by_length;
    bool may_be_in_order = false; ///< no row is long and padding is bearable
  };
  static ways choose(const spmv_features& f, const spmv_machine& machine);

  static void offer(const offer_to& to, std::vector<plan_candidate>& out);

  template <class T, class I, class O, space S> using matrix = ell_csr<T, I, S>;
  template <class T, class I, class O, space S>
  static ell_csr<T, I, S> make(const context<S>& ctx, csr_view<const T, I, O, S> a,
                               const plan_options& o) {
    return to_ell_csr(ctx, a,
                      {option(o, "long_row"), option(o, "lane_entries"), option(o, "piece"),
                       option(o, "window"), option(o, "packed") != 0});
  }
  template <class T, class I, class O, space S>
  static void update(const context<S>& ctx, ell_csr<T, I, S>& m,
                     const value_source<T, I, O, S>& v) {
    if (v.a.size() > 0) detail::place_values<T, I, O, S>(ctx, v.rowptr, v.from, v.a.values(), m);
  }

private:
  /// Sorting by length takes neighbouring rows apart: their lanes share fewer sectors.
  static constexpr double sorted_spread = 1.3;
  /// Padding where rows are in order of length within windows: 1.2 to 8 % were seen.
  static constexpr double sorted_padding = 1.03;

  static double head_and_values(const type_widths& w) {
    return as_double(2 * w.index + slice_lanes * w.value);
  }
  /// Bytes of a step's columns, by the kinds that slices of the sample need; sorted: 8 bits count
  /// as 16, because neighbours lie farther apart.
  static double column_bytes(const spmv_features& f, const type_widths& w, bool sorted) {
    const double narrow = ratio(f.steps_8, f.sampled_steps);
    const double middle = ratio(f.steps_16, f.sampled_steps);
    const double full = f.sampled_steps == 0 ? 0 : 1 - narrow - middle;
    return slice_lanes * (narrow * (sorted ? 2 : 1) + middle * 2 + full * as_double(w.index));
  }
  /// Whether slices take fewer bytes when they are stored by diagonals.
  static bool is_diagonal(const spmv_features& f, const type_widths& w) {
    const double diagonals = as_double(f.diagonal_steps) * head_and_values(w);
    const double plain =
        as_double(f.sampled_steps) * (head_and_values(w) + column_bytes(f, w, false));
    return f.sampled_steps > 0 && diagonals < plain;
  }
  /// Whether all slices can be given one width.
  static bool is_even(const spmv_features& f) {
    const std::int64_t groups = (f.rows + slice_lanes - 1) / slice_lanes;
    return f.slice_steps > 0 && f.row_length.longest * groups <= f.slice_steps + f.slice_steps / 32;
  }
  static double slice_heads(const spmv_features& f) {
    return (as_double(f.rows) / slice_lanes + 1) * sizeof(ell_slice);
  }
  /// Options that do the same to a matrix are made equal.
  static plan_options options_of(const spmv_features& f, const ell_csr_options& o) {
    constexpr std::int64_t none = ell_csr_options::none;
    const bool none_long = f.row_length.longest < o.long_row;
    const std::int64_t longest_short = none_long ? f.row_length.longest : o.long_row - 1;
    return {{"long_row", none_long ? none : o.long_row},
            {"lane_entries", o.lane_entries >= longest_short ? none : o.lane_entries},
            {"piece", none_long ? 2048 : std::min(o.piece, f.row_length.longest)},
            {"window", o.window},
            {"packed", o.packed ? 1 : 0}};
  }
  static void offer_in_order(const offer_to& to, const ell_csr_options& o,
                             std::vector<plan_candidate>& out);
  static void offer_by_length(const offer_to& to, const ell_csr_options& o,
                              std::vector<plan_candidate>& out);
};

inline ell_csr_format::ways ell_csr_format::choose(const spmv_features& f,
                                                   const spmv_machine& machine) {
  constexpr std::int64_t none = ell_csr_options::none;
  const auto number = [&](std::string_view which) {
    return static_cast<std::int64_t>(machine.number(which));
  };
  const std::int64_t piece = number("piece");
  std::int64_t short_rows = 0, short_entries = 0;
  for (std::size_t k = 0; k <= 8; ++k) { // rows of less than 256 entries
    short_rows += f.length_histogram[k];
    short_entries += f.entries_by_length[k];
  }
  ways choice;
  ell_csr_options& by_length = choice.by_length;
  by_length.lane_entries = none;
  by_length.window = 1024;
  by_length.piece = piece;
  if (machine.device) {
    // Rows that differ: longer ones get several lanes, so that no lane of a slice is far behind.
    // Measured on an H200 over T, M, windows and pieces on 26 matrices; figures in docs/ell_csr.md.
    const bool skewed = f.row_length.deviation > 0.5 * f.row_length.mean;
    const bool few = f.rows < number("few_rows") * machine.workers;
    const std::int64_t mean = short_rows == 0 ? 0 : short_entries / short_rows;
    by_length.long_row =
        std::max<std::int64_t>(paper_thresholds(short_rows, short_entries).long_row, 65);
    // Rows that are alike stay together, however long.
    if (!skewed && f.row_length.longest <= 256)
      by_length.long_row = std::max(by_length.long_row, f.row_length.longest + 1);
    if (skewed || few) {
      by_length.long_row = std::max<std::int64_t>(by_length.long_row, 129);
      by_length.lane_entries = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(mean))),
          std::min<std::int64_t>(number("lane_entries"), 32), 32);
    }
    // Few pieces are made shorter: every multiprocessor gets some.
    if (rows_from(f, by_length.long_row).entries < 2 * machine.workers * piece)
      by_length.piece = std::max<std::int64_t>(piece / 4, 32);
  } else {
    by_length.long_row = 257;
  }
  choice.in_order = {none, none, choice.by_length.piece, 1, true};
  choice.may_be_in_order =
      f.entries > 0 && f.row_length.longest <= 256 &&
      as_double(slice_lanes * f.slice_steps) <= machine.number("padding") * as_double(f.entries);
  return choice;
}

inline void ell_csr_format::offer(const offer_to& to, std::vector<plan_candidate>& out) {
  const ways choice = choose(to.f, to.machine);
  if (choice.may_be_in_order) offer_in_order(to, choice.in_order, out);
  // On a host a long row's pieces read x as CSR does: where nearly all entries are in such rows
  // there is nothing to gain.
  const bool mostly_long =
      as_double(rows_from(to.f, choice.by_length.long_row).entries) > 0.9 * as_double(to.f.entries);
  if (to.machine.device || !mostly_long || to.asks_for(name))
    offer_by_length(to, choice.by_length, out);
}

inline void ell_csr_format::offer_in_order(const offer_to& to, const ell_csr_options& o,
                                           std::vector<plan_candidate>& out) {
  const spmv_features& f = to.f;
  const bool even = is_even(f), diagonal = is_diagonal(f, to.w);
  double steps = as_double(f.slice_steps), columns = diagonal ? 0 : column_bytes(f, to.w, false);
  const char* kernel = "ell_slices";
  std::string why = fmt::format("32 neighbouring rows are alike: slices store {:.2f} times the "
                                "entries",
                                as_double(slice_lanes * f.slice_steps) / as_double(f.entries));
  if (even && diagonal) {
    kernel = "ell_diagonal";
    steps *= ratio(f.diagonal_steps, f.sampled_steps);
    why = "neighbouring rows have their entries on the same few diagonals, so columns need not be "
          "stored and x is read in runs";
  } else if (even) {
    kernel = "ell_even";
    steps = as_double(f.row_length.longest) * (as_double(f.rows) / slice_lanes + 1);
    why = "rows are of one length, so 32 of them fill a slice without padding";
  }
  const double bytes = steps * (head_and_values(to.w) + columns) + slice_heads(f);
  const spmv_work work{bytes + vector_bytes(f, to.w), scattered(f, to.w, sectors_by_lane(f)),
                       as_double(f.rows), as_double(slice_lanes * f.slice_steps)};
  out.push_back(to.candidate(name, kernel, bytes, work, std::move(why)));
  out.back().options = options_of(f, o);
}

inline void ell_csr_format::offer_by_length(const offer_to& to, const ell_csr_options& o,
                                            std::vector<plan_candidate>& out) {
  const spmv_features& f = to.f;
  const double bytes = sorted_padding * as_double(f.entries) / slice_lanes *
                           (head_and_values(to.w) + column_bytes(f, to.w, true)) +
                       slice_heads(f) + as_double(f.rows * to.w.index);
  const spmv_work work{bytes + vector_bytes(f, to.w),
                       scattered(f, to.w, std::min(1.0, sorted_spread * sectors_by_lane(f))),
                       as_double(f.rows), sorted_padding * as_double(f.entries)};
  const auto apart = rows_from(f, o.long_row);
  std::string why = "rows differ, so they are put in order of length and 32 at a time share a "
                    "slice";
  if (apart.rows > 0)
    why =
        fmt::format("{} rows of {} entries or more hold {:.0f} % of all: they are cut into "
                    "pieces, the others share slices by length",
                    apart.rows, o.long_row, 100 * as_double(apart.entries) / as_double(f.entries));
  out.push_back(to.candidate(name, "ell_sorted", bytes, work, std::move(why)));
  out.back().options = options_of(f, o);
}

} // namespace lacuna::planning
