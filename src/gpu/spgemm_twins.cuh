// Internal: products of matrices whose neighbouring rows have one pattern, as those of several
// unknowns per node have. A column of C is searched once for g rows of A and h rows of B: g x h
// products a search. Sums are formed in A's order as everywhere else, so the bits are the same.
#pragma once

#include <algorithm>

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

/// Calls launch(least, longest) for rows of C with more than `least` and up to `longest` entries,
/// class by class. Classes with few groups go with the next: another launch costs more than their
/// room.
template <class F> void for_each_twin_class(const twin_totals& totals, const F& launch) {
  int longest = totals.longest;
  unsigned waiting = 0;
  for (int c = twin_totals::classes - 1; c >= 0 && longest > 0; --c) {
    const int least = c == 0 ? 0 : twin_totals::most_of(c - 1);
    waiting += totals.groups_of[c];
    if (waiting == 0) {
      longest = std::min(longest, least);
      continue;
    }
    unsigned below = 0;
    for (int lower = 0; lower < c; ++lower) below += totals.groups_of[lower];
    if (below != 0 && (below < 8192 || waiting < totals.groups / 8)) continue;
    launch(below != 0 ? least : 0, longest);
    if (below == 0) break;
    longest = least;
    waiting = 0;
  }
}
/// Warps per block, so that most of them are resident: a block takes 1 KB of shared memory more.
inline int warps_of_twin_block(std::size_t shared_bytes, std::size_t each) {
  int best = 1;
  std::size_t most = 0;
  for (const int warps : {4, 2, 1}) {
    const std::size_t block = each * static_cast<std::size_t>(warps) + 1024;
    if (block - 1024 > shared_bytes) continue;
    const std::size_t held =
        std::min<std::size_t>((shared_bytes + 1024) / block, 32) * static_cast<std::size_t>(warps);
    if (held > most) {
      most = held;
      best = warps;
    }
  }
  return best;
}

/// Columns and values of C by groups, whose rowptr is known. Waits to know whether every row had
/// the entries that were counted; false if not. `wrong`, on the device, is 0.
template <class T, class I, class O>
bool fill_twins(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                const twin_groups<I, O>& groups, read_offsets rowptr,
                const fill_target<T, I>& target, int* wrong, stage_clock& clock);

} // namespace lacuna::detail::gpu
