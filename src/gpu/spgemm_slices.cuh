// Internal: products of matrices whose entries lie on few diagonals (column - row), as those of
// stencils on grids. A diagonal of A meets one of B on the diagonal of C that is their sum, so no
// column is searched; rows that lack an entry have a bit that says so, and nothing is added there.
// Sums are formed in A's order as everywhere else, so the bits are the same.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "gpu/spgemm.cuh"
#include "gpu/spgemm_slice_kernels.cuh"

namespace lacuna::detail::gpu {

/// Whether it is worth to look for diagonals: by the analysis' count of rows that have the pattern
/// of the one before, one column on.
inline bool may_have_slices(const spgemm_thresholds& t, const spgemm_totals& totals,
                            std::int64_t rows) {
  return static_cast<std::int64_t>(totals.products / 1000) >= t.slice_products &&
         (t.slice_places >= most_diagonals ||
          5 * totals.shifted >= 2 * static_cast<unsigned long long>(rows));
}

/// The same before an analysis, which costs a fifth of such a product: by a sample of A's rows,
/// where the factors' sizes let many products be expected. Waits if so.
template <class I, class O>
bool looks_sliced(const device_context& ctx, const spgemm_factors<I, O>& f,
                  const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds);

struct slice_findings {
  found_diagonals a, b;
  unsigned long long entries; // of C
};
/// Made from zeros.
struct slice_scratch {
  slice_findings found;
  unsigned long long a_keys[diagonal_slots], b_keys[diagonal_slots];
};

/// Values of A and B by diagonals; B's are A's where there is no array.
template <class T> struct placed_values { array<T, space::device> a, b; };

/// Patterns of A, B and C by diagonals. Keeps no pointer to A or B: 8 bytes for each of their rows,
/// and 4 for each of A's until sizes are dropped.
template <class I, class O> class slice_product {
public:
  /// Finds diagonals, and counts C's rows where they pay. Waits to know whether they do. By a
  /// sample: in a sixteenth of many rows, which may miss one.
  slice_product(const device_context& ctx, const spgemm_factors<I, O>& f,
                const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds,
                bool by_sample);
  /// Whether diagonals are few and full enough; else make the product another way.
  [[nodiscard]] bool pays() const { return pays_; }
  /// Waits for the count; false if A's rows are not sorted, so that products have another order, or
  /// if a diagonal was missed.
  [[nodiscard]] bool is_counted();
  [[nodiscard]] bool is_incomplete() const { return is_incomplete_; }
  /// Entries of C, and of each of its rows.
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  [[nodiscard]] const int* sizes() const { return sizes_.data(); }
  void drop_sizes() { sizes_ = {}; }
  /// What stays; not the sizes.
  [[nodiscard]] std::size_t bytes() const {
    return a_masks_.bytes() + b_masks_.bytes() + full_.bytes() + program_.bytes();
  }

  /// Queued. A and B may be elsewhere, with the patterns that were found.
  template <class T>
  placed_values<T> place(const device_context& ctx, const spgemm_factors<I, O>& f,
                         const spgemm_values<T>& v) const;
  /// C, whose rowptr has the sizes; values alone where there are no columns. Queued; `wrong` as in
  /// fill_target.
  template <class T>
  void fill(const device_context& ctx, const placed_values<T>& placed, const spgemm_values<T>& v,
            read_offsets rowptr, const fill_target<T, I>& target, int* wrong) const;

private:
  void find_diagonals(const device_context& ctx, const O* rowptr, const I* colind,
                      std::int64_t rows, bool by_sample, unsigned long long* keys,
                      found_diagonals* found) const;
  array<unsigned long long, space::device> mask_rows(const device_context& ctx, const O* rowptr,
                                                     const I* colind, std::int64_t rows,
                                                     found_diagonals* found) const;
  template <class T>
  array<T, space::device> place_one(const device_context& ctx, const O* rowptr, const T* values,
                                    const array<unsigned long long, space::device>& masks,
                                    std::size_t diagonals) const;
  void count(const device_context& ctx);
  [[nodiscard]] sliced_pattern pattern() const;

  std::int64_t rows_ = 0, b_rows_ = 0, entries_ = 0;
  bool pays_ = false, is_incomplete_ = false, is_square_ = false; // square: B is A
  std::vector<std::int64_t> a_, b_;                               // diagonals, ascending
  slice_plan plan_;
  std::vector<unsigned char> uploaded_; // until the count is there, as what follows
  array<slice_scratch, space::device> scratch_;
  std::unique_ptr<read_ahead<slice_findings>> counted_;
  array<unsigned char, space::device> program_; // steps, windows, A's diagonals
  array<unsigned long long, space::device> a_masks_, b_masks_;
  array<unsigned, space::device> full_;
  array<int, space::device> sizes_;
};

} // namespace lacuna::detail::gpu
