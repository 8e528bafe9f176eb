// Internal: products of matrices whose neighbouring rows have one pattern, as those of several
// unknowns per node have. A column of C is searched once for g rows of A and h rows of B: g x h
// products a search. Sums are formed in A's order as everywhere else, so the bits are the same.
#pragma once

#include "gpu/parts/offsets.cuh"
#include "gpu/spgemm.cuh"

namespace lacuna::detail::gpu {

/// Rows of a group at most, of A as of B.
inline constexpr int most_twins = 6;

/// What is found of all groups. Classes: rows of C of up to 64, 128, 256, 512, 1024 entries.
struct twin_totals {
  static constexpr int classes = 5;
  LACUNA_BOTH static constexpr int most_of(int c) { return 64 << c; }
  unsigned long long entries, searches; // of C; for columns, in the numeric pass
  unsigned groups, overflowed;          // overflowed: some row of C has columns too far apart
  int longest, most_words, largest_group;
  unsigned groups_of[classes];
};

/// Whether it is worth to look for groups: by the analysis' count of rows that look alike. A warp
/// makes a group, so a row of C may not have too many products.
inline bool may_have_twins(const spgemm_thresholds& t, const spgemm_totals& totals,
                           std::int64_t rows) {
  return static_cast<std::int64_t>(totals.products / 1000) >= t.twin_products &&
         totals.longest < (1ull << 18) &&
         (t.twin_share <= 1 || 5 * totals.alike >= 2 * static_cast<unsigned long long>(rows));
}

/// Groups of A's rows and of B's. Up to 5 bytes per row of A (9 where columns are of 64 bits) and
/// one per row of B.
template <class I, class O> class twin_groups {
public:
  twin_groups() = default;
  /// Finds groups and counts C's rows into counts[0 .. rows). Waits once.
  twin_groups(const device_context& ctx, const spgemm_factors<I, O>& f, std::int64_t b_rows,
              const spgemm_thresholds& thresholds, const spgemm_totals& totals,
              std::int64_t* counts);
  /// Whether groups are large enough, and rows of C short enough; else make it the other way.
  [[nodiscard]] bool pay() const { return pay_; }
  [[nodiscard]] const twin_totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t bytes() const {
    return leaders_.bytes() + leads_.bytes() + b_leads_.bytes();
  }
  /// The first row of each group, in any order.
  [[nodiscard]] const I* leaders() const { return leaders_.data(); }
  /// Whether a row of A, of B, is the first of its group.
  [[nodiscard]] const unsigned char* leads() const { return leads_.data(); }
  [[nodiscard]] const unsigned char* b_leads() const {
    return is_square_ ? leads_.data() : b_leads_.data();
  }

private:
  bool pay_ = false, is_square_ = false;
  twin_totals totals_{};
  array<I, space::device> leaders_;
  array<unsigned char, space::device> leads_, b_leads_;
};

/// Columns and values of C by groups, whose rowptr is known. Waits to know whether every row had
/// the entries that were counted; false if not. `wrong`, on the device, is 0.
template <class T, class I, class O>
bool fill_twins(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                const twin_groups<I, O>& groups, read_offsets rowptr,
                const fill_target<T, I>& target, int* wrong, stage_clock& clock);

} // namespace lacuna::detail::gpu
