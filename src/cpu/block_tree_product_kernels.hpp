// Internal: two leaves of block trees multiplied into a dense block; compiled for several
// instruction sets by Highway, the best this machine has is picked at first use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

/// Rows [row, row + rows) of a leaf, which have the same columns; values by rows, without gaps.
template <class T> struct leaf_panel {
  std::int32_t row, rows, cols;
  const std::uint8_t* columns;
  const T* values;
  // Of the right operand alone:
  std::int32_t segment = 0, segments = 0; ///< its columns as runs without gaps
  std::uint64_t mask[4] = {};             ///< its columns as bits
};
/// Columns [first, first + count) of a panel, which begin at column `at` of its values.
struct column_segment {
  std::uint16_t first, count, at;
};
inline constexpr std::uint16_t no_panel = 0xFFFF;
/// A leaf of the right operand: panel_of has 256 elements, by row.
template <class T> struct panel_rows {
  const leaf_panel<T>* panels;
  const column_segment* segments;
  const std::uint16_t* panel_of;
};

/// Elements that the kernel may read behind a block of sums, and leaves as they are.
inline constexpr std::int64_t tile_padding = 64;

template <class T> struct tree_product_kernels {
  /// sums += A B: sums has `stride` elements from row to row, mask four words of bits for each row,
  /// which get a bit where a product was added. Products and sums are rounded each, never fused,
  /// and an element's are added in the order of A's columns.
  void (*multiply)(const leaf_panel<T>* a, std::int64_t count, const panel_rows<T>& b, T* sums,
                   std::int64_t stride, std::uint64_t* mask);
};

template <class T> const tree_product_kernels<T>& best_tree_product_kernels();

} // namespace lacuna::detail::cpu
