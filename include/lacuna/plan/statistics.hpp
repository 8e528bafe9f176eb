// What can be said about a matrix from one pass over it: the figures that choices of storage and
// kernels are made of.
#pragma once

#include <array>
#include <cstdint>

#include <lacuna/format/csr.hpp>
#include <lacuna/op/inspection.hpp>

namespace lacuna {

struct matrix_statistics {
  static constexpr int block_size = 128;

  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0; ///< stored ones: duplicates and explicit zeros count

  row_statistics row_length; ///< mean, deviation (of all rows), longest, empty
  std::int64_t shortest_row = 0;
  /// Rows by length: [0] empty ones, [k] those of 2^(k-1) to 2^k - 1 entries.
  std::array<std::int64_t, 64> length_histogram{};

  std::int64_t lower_bandwidth = 0; ///< largest row - column, or 0
  std::int64_t upper_bandwidth = 0; ///< largest column - row, or 0
  std::int64_t profile = 0;         ///< over all rows, from the first entry to the diagonal
  std::int64_t diagonal_entries = 0;

  std::int64_t zeros = 0; ///< stored values that are 0 or -0
  std::int64_t nans = 0;
  std::int64_t infinities = 0;

  std::int64_t blocks = 0; ///< 128 x 128 blocks, aligned, that hold at least one entry

  [[nodiscard]] std::int64_t bandwidth() const {
    return lower_bandwidth > upper_bandwidth ? lower_bandwidth : upper_bandwidth;
  }
  /// Entries in a block that is not empty, as a share of what it could hold; 0 without entries.
  [[nodiscard]] double block_fill() const {
    const double room = double{block_size} * block_size * static_cast<double>(blocks);
    return blocks == 0 ? 0 : static_cast<double>(entries) / room;
  }
};

/// One parallel pass, the same result for any number of threads. Rows need not be sorted. Scratch:
/// a bit for every 128 columns and thread, or the column indices once more where that is less.
template <class T, class I, class O>
LACUNA_EXPORT matrix_statistics statistics(const host_context& ctx, csr_view<const T, I, O> a);
template <class T, class I, class O>
matrix_statistics statistics(const host_context& ctx, const csr<T, I, O>& a) {
  return statistics(ctx, a.view());
}

/// How a matrix and its transpose compare, entry by entry. NaN counts as equal to NaN.
struct symmetry_found {
  bool pattern = false;        ///< the same coordinates
  bool symmetric = false;      ///< and the same values
  bool skew_symmetric = false; ///< and the same values with the other sign; 0 on the diagonal
  friend bool operator==(const symmetry_found&, const symmetry_found&) = default;
};
/// Costs a transposition, and a second one if the rows are not stated to be sorted; nothing if the
/// matrix is not square.
template <class T, class I, class O>
LACUNA_EXPORT symmetry_found find_symmetry(const host_context& ctx, csr_view<const T, I, O> a);
template <class T, class I, class O>
symmetry_found find_symmetry(const host_context& ctx, const csr<T, I, O>& a) {
  return find_symmetry(ctx, a.view());
}

} // namespace lacuna
