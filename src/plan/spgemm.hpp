// Internal: how SpGEMM sizes its work, the same formulas on host and device. After Parger et al.
// (spECK, 2020), sections 4 and 5.
#pragma once

#include <algorithm>
#include <cstdint>

#include <lacuna/op/spgemm_options.hpp>

#ifdef __CUDACC__
#define LACUNA_BOTH __host__ __device__
#else
#define LACUNA_BOTH
#endif

namespace lacuna::spgemm {

/// Rows fall into classes: 0 is merged by one thread, class c has a table of 16 << c slots that a
/// group of lanes owns. What needs more is heavy and goes by column ranges.
inline constexpr int count_classes = 9; ///< to 4096 slots of a key
inline constexpr int fill_classes = 7;  ///< to 1024 slots of a key and a value
LACUNA_BOTH constexpr int slots_of(int c) { return 16 << c; }
inline constexpr int least_slots = 32;
/// A thread that merges rows of B has registers for no more.
inline constexpr std::int64_t most_merged_entries = 10;
/// Tables are at most three quarters full.
LACUNA_BOTH constexpr std::int64_t slots_for(std::int64_t entries) {
  return entries + (entries + 2) / 3;
}
/// What decides how a row is made.
struct row_work {
  std::int64_t a_entries;
  std::int64_t products;
  std::int64_t span; ///< columns that products can fall on
};
LACUNA_BOTH constexpr int class_of_slots(const spgemm_thresholds& t, const row_work& row,
                                         std::int64_t slots, int classes) {
  if (row.a_entries <= t.merged_entries && row.products <= t.merged_products) return 0;
  if (row.products > t.light_products) return classes;
  int c = 1;
  while (c < classes && slots_of(c) < slots) ++c;
  return c;
}
/// Counting takes keys of all products in a table, or a bit for each column of the span; nothing
/// where A's row has one entry, unless a count of 32 bits does not tell how many products that is.
LACUNA_BOTH constexpr int count_class(const spgemm_thresholds& t, const row_work& row) {
  if (row.a_entries <= 1 && row.products > t.merged_products && row.products < 0xffffffff) return 1;
  const std::int64_t hashed = slots_for(row.products), bits = (row.span + 31) / 32;
  return class_of_slots(t, row, t.spans && bits < hashed ? bits : hashed, count_classes);
}
/// Filling takes a table of the entries, or a slot for each column of the span.
LACUNA_BOTH constexpr int fill_class(const spgemm_thresholds& t, const row_work& row,
                                     std::int64_t entries) {
  const std::int64_t hashed = slots_for(entries);
  return class_of_slots(t, row, t.spans && row.span < hashed ? row.span : hashed, fill_classes);
}

/// Rows of columns that count as broad, at the least, and how many columns a product they have.
/// Reasoned: a heavy row is counted in windows of about 2^20 columns, a few of which cost less than
/// a sort's launches. It is filled in ranges of 8192 at most: where rows have many together, less.
inline constexpr std::int64_t broad_span = std::int64_t{1} << 22;
inline constexpr std::int64_t broad_span_of_many = std::int64_t{1} << 17;
inline constexpr std::int64_t broad_columns = 64;
/// Whether a heavy row is to be expanded and sorted: ranges of columns would mostly be empty.
LACUNA_BOTH constexpr bool is_broad(const row_work& row, std::int64_t least_span) {
  return row.span > least_span && row.span / broad_columns > row.products;
}
/// The span that makes rows broad where so many are to be filled: 2^25 columns are 4096 ranges.
constexpr std::int64_t broad_span_to_fill(std::int64_t rows, std::int64_t columns) {
  return rows > (std::int64_t{1} << 25) / std::max<std::int64_t>(columns, 1) ? broad_span_of_many
                                                                             : broad_span;
}

/// Columns of a heavy row that a block fills: powers of two between these.
inline constexpr int most_range_columns = 8192, least_range_columns = 64;
struct range_sizes {
  int coarse;
  int fine; ///< for rows with more products than `many`
  std::int64_t many;
};
struct heavy_work {
  std::int64_t rows, columns;
  std::int64_t products, largest; ///< of all rows of C, of one row
};
/// Few rows, or few columns, are cut so that each of `blocks` gets some; and rows that would take
/// more than twice a block's share finer, down to that share.
constexpr range_sizes choose_range_sizes(const heavy_work& work, std::int64_t blocks) {
  const auto ranges = [&](int columns) { return (work.columns + columns - 1) / columns; };
  int coarse = least_range_columns;
  while (coarse < most_range_columns && coarse < work.columns) coarse *= 2;
  while (coarse > least_range_columns && work.rows * ranges(coarse) < blocks) coarse /= 2;
  const std::int64_t share = std::max<std::int64_t>(work.products / blocks, 4096);
  int fine = coarse;
  // If a row's products are spread evenly over its ranges.
  while (fine > least_range_columns && work.largest > share * ranges(fine)) fine /= 2;
  return {coarse, fine, 2 * share};
}

/// Classes of the method that expands and sorts (King et al. 2016): 0 has no products, c up to
/// 16 << c of them, the last more than any shared memory is to sort.
inline constexpr int expand_classes = 8;
LACUNA_BOTH constexpr std::int64_t most_expanded(int c) { return std::int64_t{16} << c; }
LACUNA_BOTH constexpr int expand_class(std::int64_t products) {
  int c = products == 0 ? 0 : 1;
  while (c > 0 && c < expand_classes && most_expanded(c) < products) ++c;
  return c;
}

/// Whether the method that sorts may serve where rows of B are sorted: rows of some length, so that
/// no thread merges them as fast, of many rows of B, whose products a range of columns would have
/// to look for. Uniform rows of 8 and R-MAT's gain, circuits with rows of 10^4 do not.
constexpr bool may_be_sorted(const spgemm_thresholds& t, std::int64_t rows, std::int64_t a_entries,
                             std::int64_t products) {
  return products > 0 && products / 1000 >= t.sorted_products && products / 32 >= rows &&
         products / 256 <= a_entries;
}
/// … if there are at most so many products for an entry of C.
inline constexpr double most_sorted_compression = 1.33;

/// Which classes are launched: rows of class c go with those of class of[c].
struct joined_classes {
  int of[count_classes + 1];
  int heavy; ///< classes from here on are heavy
};
/// Few rows in high classes are heavy; few rows with tables in all are two, small and large
/// (section 4.2: balancing only where it pays). Merged rows stay merged: they may have more entries
/// than a small table holds.
template <class Totals>
constexpr joined_classes join_classes(const spgemm_thresholds& t, const Totals& rows_of,
                                      int classes) {
  joined_classes joined{};
  std::int64_t above = 0, all = 0;
  int cut = classes;
  while (cut > 5 && above + rows_of(cut - 1) < t.few_rows) above += rows_of(--cut);
  int highest = 0;
  for (int c = 1; c < cut; ++c) {
    all += rows_of(c);
    if (rows_of(c) > 0) highest = c;
  }
  for (int c = 1; c <= classes; ++c)
    joined.of[c] = c >= cut                            ? classes
                   : all > t.few_in_all || highest > 6 ? c
                   : c <= 3                            ? std::min(3, highest)
                                                       : highest;
  joined.heavy = classes;
  return joined;
}

/// Heavy rows have more: their spans are looked at.
inline constexpr std::int64_t least_heavy_products = 64;

/// Thresholds for two matrices: O(1), before anything is known of their rows.
struct factor_sizes {
  std::int64_t a_rows, a_entries, b_rows, b_entries;
};
constexpr spgemm_thresholds fit_to(spgemm_thresholds t, const factor_sizes& s,
                                   int multiprocessors) {
  t.merged_entries = std::min(t.merged_entries, most_merged_entries);
  t.light_products = std::max(t.light_products, least_heavy_products);
  // A thread that merges takes microseconds; a multiprocessor has 2048 of them.
  if (s.a_rows < std::int64_t{1024} * multiprocessors)
    t.merged_products = std::min(t.merged_products, t.merged_products_of_few);
  // Products, if rows of B were alike; a warp's fair share, of 32 a multiprocessor.
  const double products = static_cast<double>(s.a_entries) * static_cast<double>(s.b_entries) /
                          static_cast<double>(std::max<std::int64_t>(s.b_rows, 1));
  const double share = products / (32.0 * multiprocessors);
  const auto least = std::min<std::int64_t>(t.light_products, 2048);
  if (share < static_cast<double>(t.light_products))
    t.light_products = std::max(least, static_cast<std::int64_t>(share));
  return t;
}

/// Lanes that own a row of C and walk A's row together, side by side along each row of B: a power
/// of two from `least` to 32. After section 4.3: the mean length of B's rows, and more where the
/// longest would take more than twice the steps that there are rows to walk. The paper also gives
/// fewer lanes to many rows, since its groups share them; ours walks them alone, in order.
constexpr int choose_group(double mean_length, double longest, double rows_of_b, int least) {
  double g = std::clamp(mean_length, 1.0, 32.0);
  const double steps = longest / g, rows = std::max(1.0, rows_of_b);
  if (steps > 2 * rows) g *= steps / (2 * rows);
  int power = least;
  while (power < 32 && power < 0.95 * g) power *= 2;
  return power;
}

} // namespace lacuna::spgemm
