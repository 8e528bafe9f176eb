// Internal: products of matrices whose neighbouring rows have one pattern, as those of several
// unknowns per node have. A column of C is searched once for g rows of A and h rows of B: g x h
// products a search. Sums are formed in A's order as everywhere else, so the bits are the same.
#pragma once

#include "gpu/parts/offsets.cuh"
#include "gpu/spgemm.cuh"

namespace lacuna::detail::gpu {

/// Rows of a group at most, of A as of B.
inline constexpr int most_twins = 6;

/// Groups by the length of their rows of C: classes of up to 64, 128, 256, 512, 1024 entries.
struct twin_lengths {
  static constexpr int classes = 5;
  LACUNA_BOTH static constexpr int most_of(int c) { return 64 << c; }
  int longest, largest_group;
  unsigned groups_of[classes];
};

/// Whether it is worth to look for groups: by the analysis' count of rows that look alike.
inline bool may_have_twins(const spgemm_thresholds& t, const spgemm_totals& totals,
                           std::int64_t rows) {
  return static_cast<std::int64_t>(totals.products / 1000) >= t.twin_products &&
         (t.twin_share <= 1 || 5 * totals.alike >= 2 * static_cast<unsigned long long>(rows));
}

/// A product by groups. Scratch: up to 24 bytes per row of A, 2 per row of B, those of a product of
/// one row per group, and C's columns, with a float each while they are made, once per group.
template <class T, class I, class O> class twin_product {
public:
  /// Finds groups and counts C's rows. Waits.
  twin_product(const device_context& ctx, const spgemm_factors<I, O>& f, std::int64_t b_rows,
               const spgemm_thresholds& thresholds, const spgemm_totals& totals,
               stage_clock& clock);
  /// Whether groups are large enough, and rows of C short enough; else make it the other way.
  [[nodiscard]] bool pays() const { return pays_; }
  /// Entries of C.
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  /// Of each row of C.
  [[nodiscard]] const std::int64_t* sizes() const { return sizes_.data(); }
  /// Columns and values of C, whose rowptr is known. Waits; false if a row had another number of
  /// entries than was counted. Once.
  bool fill(const spgemm_values<T>& v, read_offsets rowptr, I* colind, T* values,
            stage_clock& clock);

private:
  void find_groups(std::int64_t b_rows);
  void find_runs(const array<unsigned char, space::device>& b_leads);
  array<unsigned char, space::device> find_leaders(const O* rowptr, const I* colind,
                                                   std::int64_t rows) const;
  /// f with one row per group of A, and in it one entry per group of B.
  [[nodiscard]] spgemm_factors<I, O> reduced() const {
    return {rowptr_.data(), colind_.data(), f_.b_rowptr, f_.b_colind, groups_, f_.columns};
  }

  const device_context& ctx_;
  spgemm_factors<I, O> f_;
  bool pays_ = false;
  std::int64_t groups_ = 0, runs_ = 0, entries_ = 0;
  array<std::int64_t, space::device> group_of_; // leaders up to and with each row, from row 0 on
  array<I, space::device> leaders_;             // the first row of each group, and the end
  array<O, space::device> rowptr_;              // runs of each group
  array<I, space::device> colind_;              // the first row of B of each run
  array<I, space::device> at_;                  // where it is in A's row
  row_facts<I, O> facts_;
  spgemm_totals totals_{};
  array<std::int64_t, space::device> sizes_, starts_; // of C's rows; of patterns, one per group
  twin_lengths lengths_{};
};

} // namespace lacuna::detail::gpu
