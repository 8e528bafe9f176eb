// Internal: rows of two matrices merged with vectors, compiled for several instruction sets by
// Highway; the best this machine has is picked at first use.
#pragma once

#include <cstdint>

#include "cpu/product_kernels.hpp"

namespace lacuna::detail::cpu {

/// What becomes of alpha a and beta b. All but sum_all take a missing entry for 0, and drop results
/// that are 0.
enum class merge_rule { sum_all, plus, minimum, maximum, not_equal, less };

/// Rows that one call merges at most.
inline constexpr std::int64_t merged_rows = 256;

template <class T, class I, class O> struct merge_kernels {
  /// Merges rows from `row` on, up to merged_rows of them and not row_end, writes entries from `at`
  /// on, and to ends[k] where row `row` + k ends. Returns the number of rows, which is smaller
  /// where a vector would be read behind A's or B's arrays or written behind `limit`.
  using rows = std::int64_t (*)(merge_rule rule, const factor<T, I, O>& a, const factor<T, I, O>& b,
                                std::int64_t row, std::int64_t row_end, std::int64_t at,
                                std::int64_t limit, I* col, T* value, std::int64_t* ends);
  rows all;  ///< sum_all
  rows some; ///< every other rule
};

template <class T, class I, class O> const merge_kernels<T, I, O>& best_merge_kernels();

/// Whole rows [row, row_end) by the kernel as far as it goes; end(row, at) is told where each ends.
/// Returns the first row that is left; `at` is where it begins. Entries before `limit` may be
/// written to.
template <class T, class I, class O, class F>
std::int64_t merge_rows(merge_rule rule, const factor<T, I, O>& a, const factor<T, I, O>& b,
                        std::int64_t row, std::int64_t row_end, std::int64_t& at,
                        std::int64_t limit, I* col, T* value, F end) {
  const auto& kernels = best_merge_kernels<T, I, O>();
  const auto kernel = rule == merge_rule::sum_all ? kernels.all : kernels.some;
  std::int64_t ends[merged_rows];
  while (row < row_end) {
    const std::int64_t count = kernel(rule, a, b, row, row_end, at, limit, col, value, ends);
    if (count == 0) break;
    for (std::int64_t k = 0; k < count; ++k) end(row + k, ends[k]);
    row += count;
    at = ends[count - 1];
  }
  return row;
}

} // namespace lacuna::detail::cpu
