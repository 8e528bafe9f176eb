// Internal: from a list of leaves to a tree: places in the pool, inner nodes, lists. What makes
// trees (from CSR, sums, products) finds the leaves, calls make_frame, and fills them.
#pragma once

#include <lacuna/format/block_tree.hpp>

#include "op/block_tree_levels.hpp"

namespace lacuna::detail::cpu {

/// A leaf to be, and where the maker finds what goes into it.
template <class I> struct tree_leaf {
  I row, col; ///< the first of its block
  std::int32_t level;
  tree_node type;
  std::int64_t entries, runs;
  std::int64_t bytes;
  std::int64_t from;      ///< the maker's
  std::uint64_t node = 0; ///< set by make_frame
};

/// The tree of these leaves, inner nodes and lists made; of leaves all but values and coordinates:
/// entries, runs, zeros of padding. Leaves are brought into the order of the items, and given their
/// pointers. O(leaves log leaves).
template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
make_frame(const host_context& ctx, index<I> extent, int bits, array<tree_leaf<I>>& leaves);

/// Calls f(node, level, row, column) for the leaves below a node, (row, column) being its first.
template <class A, class F>
void for_each_leaf(const A& a, std::uint64_t node, int level, std::int64_t row, std::int64_t col,
                   F& f) {
  if (node == 0) return;
  if (!is_inner(node)) return f(node, level, row, col);
  const std::int64_t d = std::int64_t{1} << a.bits, step = block_extent(a.bits, level - 1);
  for_each_child(a.bytes(), node, std::min(d, (a.extent.row - row + step - 1) / step),
                 std::min(d, (a.extent.col - col + step - 1) / step),
                 [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                   for_each_leaf(a, child, level - 1, row + r * step, col + c * step, f);
                 });
}

/// What of a leaf is not entries: their numbers, and zeros where nothing will be written.
template <class T, class I> void start_leaf(const tree_leaf<I>& leaf, unsigned char* at) {
  const bool all = is_coo(leaf.type) || leaf.type == tree_node::masked;
  std::memset(all ? at : at + leaf.bytes - 16, 0, static_cast<std::size_t>(all ? leaf.bytes : 16));
  const auto runs = static_cast<std::uint32_t>(leaf.runs);
  if (has_header(leaf.type)) {
    std::memset(at, 0, 16);
    std::memcpy(at, &leaf.entries, 8);
    if (is_rows(leaf.type)) std::memcpy(at + 8, &runs, 4);
  } else if (is_rows(leaf.type)) {
    const auto less_one = static_cast<std::uint16_t>(runs - 1);
    std::memcpy(at + leaf.entries * static_cast<std::int64_t>(sizeof(T)), &less_one, 2);
  }
}

/// Where in a leaf the next entries go.
struct leaf_cursor {
  std::int64_t entry = 0, run = 0;
};

/// Appends entries of one row to a leaf: col(k), value(k) for k in [0, count), columns ascending
/// and counted from the leaf's first. cols: columns of the leaf inside of the matrix, where it is
/// dense.
template <class T, class Col, class Value>
void append_to_leaf(unsigned char* leaf, std::uint64_t node, leaf_cursor& at, std::int64_t rows,
                    std::int64_t cols, std::int64_t row, std::int64_t count, Col col, Value value) {
  const tree_node type = type_of(node);
  if (type == tree_node::dense || type == tree_node::masked) {
    T* const values = reinterpret_cast<T*>(leaf);
    for (std::int64_t k = 0; k < count; ++k) values[row * cols + col(k)] = value(k);
    if (type == tree_node::masked) {
      unsigned char* const mask = leaf + rows * cols * static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t place = row * cols + col(k);
        mask[place / 8] = static_cast<unsigned char>(mask[place / 8] | 1U << (place % 8));
      }
    }
    return;
  }
  with_lists<T>(leaf, node, [&]<class C>(const leaf_lists<T, C>& l) {
    for (std::int64_t k = 0; k < count; ++k) l.values[at.entry + k] = value(k);
    if (is_rows(type)) {
      for (std::int64_t k = 0; k < count; ++k) l.columns[at.entry + k] = static_cast<C>(col(k));
      l.first[at.run] = static_cast<C>(row);
      l.lengths[at.run] = static_cast<C>(count - 1);
      ++at.run;
    } else {
      for (std::int64_t k = 0; k < count; ++k) {
        l.first[2 * (at.entry + k)] = static_cast<C>(row);
        l.first[2 * (at.entry + k) + 1] = static_cast<C>(col(k));
      }
    }
    at.entry += count;
  });
}

} // namespace lacuna::detail::cpu
