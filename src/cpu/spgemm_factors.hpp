// Internal: what SpGEMM's rows are made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <lacuna/core/array.hpp>
#include <lacuna/format/csr.hpp>

namespace lacuna::detail::cpu {

enum class spgemm_output { count, values, pattern };

/// A and B, and what of B every row needs.
template <class T, class I, class O> struct spgemm_factors {
  T alpha;
  const O* a_rowptr;
  const I* a_col;
  const T* a_value;
  const O* b_rowptr;
  const I* b_col;
  const T* b_value;
  std::int64_t rows, cols, a_entries, b_entries;
  bool b_sorted, b_unique;
  const I* b_low = nullptr; ///< first and last column of B's rows, where they are not sorted
  const I* b_high = nullptr;

  spgemm_factors(T scale, csr_view<const T, I, O> a, csr_view<const T, I, O> b)
      : alpha(scale), a_rowptr(a.rowptr().data()), a_col(a.colind().data()),
        a_value(a.values().data()), b_rowptr(b.rowptr().data()), b_col(b.colind().data()),
        b_value(b.values().data()), rows(a.shape().row), cols(b.shape().col), a_entries(a.size()),
        b_entries(b.size()), b_sorted(b.order().sorted), b_unique(b.order().unique) {}

  [[nodiscard]] std::int64_t products(std::int64_t row) const {
    std::int64_t sum = 0;
    for (std::int64_t k = a_rowptr[row]; k < a_rowptr[row + 1]; ++k)
      sum += std::int64_t{b_rowptr[a_col[k] + 1]} - b_rowptr[a_col[k]];
    return sum;
  }
  /// Entries of B that A's entry k meets; those of columns [begin, end) alone if `cut`, which B's
  /// rows must be sorted for.
  template <bool cut>
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> entries(std::int64_t k, std::int64_t begin,
                                                              std::int64_t end) const {
    std::int64_t first = b_rowptr[a_col[k]], last = b_rowptr[a_col[k] + 1];
    if constexpr (cut) {
      first = std::lower_bound(b_col + first, b_col + last, begin) - b_col;
      last = std::lower_bound(b_col + first, b_col + last, end) - b_col;
    }
    return {first, last};
  }
};

template <class T, class I> struct row_place {
  I* col = nullptr;
  T* value = nullptr;
};

} // namespace lacuna::detail::cpu
