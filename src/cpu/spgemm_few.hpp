// Internal: rows of C = alpha A B that have few products, several at a time, compiled for several
// instruction sets by Highway; the best this machine has is picked at first use.
#pragma once

#include "cpu/spgemm_factors.hpp"

namespace lacuna::detail::cpu {

/// Most products of such a row, on any machine. Up to four vectors of columns it pays to compare
/// each with all: a product takes 96 ns a row of 36 products, 167 by the other ways, where vectors
/// have 16 columns, and 91 of 25, 182, where they have 8 (EPYC, Zen 5, one thread).
inline constexpr int few_products = 64;

/// Rows that were made, one behind the other.
template <class T, class I> struct few_rows {
  static constexpr int most_rows = 64, most_products = 512;
  int rows = 0;
  std::int64_t entries = 0;
  std::uint8_t counts[most_rows]; ///< entries of each
  I col[most_products + few_products];
  T value[most_products + few_products];
};

template <class T, class I, class O> struct few_rows_kernels {
  int most; ///< products of a row: four vectors of columns
  /// Makes rows from `row` on until one has more than `most` products, there is no more room, or
  /// `end`. Without `values`: columns alone.
  void (*make)(const spgemm_factors<T, I, O>& f, std::int64_t row, std::int64_t end, bool values,
               few_rows<T, I>& made);
};

template <class T, class I, class O> const few_rows_kernels<T, I, O>& best_few_rows_kernels();

} // namespace lacuna::detail::cpu
