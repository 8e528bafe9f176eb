// Internal: a tree, plain or transposed, as rows of its lowest blocks.
#pragma once

#include <algorithm>
#include <span>
#include <tuple>

#include <lacuna/op/block_tree_ops.hpp>

#include "cpu/block_tree_frame.hpp"
#include "cpu/parallel_sort.hpp"

namespace lacuna::detail::cpu {

/// A block of d x d that has entries. Its column is the operand's, in blocks.
template <class I> struct grid_block {
  I row, col;
  std::int64_t entries;
  std::uint64_t node; ///< its type; where it is: leaf
  const unsigned char* leaf;
  friend bool operator<(const grid_block& x, const grid_block& y) {
    return std::tie(x.row, x.col) < std::tie(y.row, y.col);
  }
};

/// The blocks of an operand, by rows. Flat leaves of higher levels are cut into blocks, copied.
template <class T, class I> class block_lists {
public:
  block_lists(const host_context& ctx, const tree_operand<T, I>& t) {
    const auto& a = t.a;
    const int bits = a.bits;
    std::int64_t leaves = 0, flat = 0;
    const auto for_each = [&](auto f) { for_each_leaf(a, a.root, a.levels - 1, 0, 0, f); };
    for_each([&](std::uint64_t node, int level, std::int64_t, std::int64_t) {
      if (level == 0)
        ++leaves;
      else
        with_lists<const T>(a.bytes() + place_of(node), node,
                            [&](const auto& l) { flat += l.entries; });
    });
    array<flat_entry> entries(ctx, flat);
    flat = 0;
    const std::int64_t last = (std::int64_t{1} << bits) - 1;
    for_each([&](std::uint64_t node, int level, std::int64_t row, std::int64_t col) {
      if (level == 0) return;
      for_each_entry<const T>(
          a.bytes(), node, 0, 0, [&](std::int64_t r, std::int64_t c, const T& value) {
            entries[flat++] = {static_cast<I>((row + r) >> bits), static_cast<I>((col + c) >> bits),
                               static_cast<std::uint16_t>((r & last) << 8 | (c & last)), value};
          });
    });
    parallel_sort(ctx, entries.data(), flat);
    std::int64_t pieces = 0, bytes = 0;
    for_each_piece(entries, [&](std::int64_t first, std::int64_t end) {
      ++pieces;
      bytes += leaf_bytes(list_type(end - first), sizeof(T), end - first, 0, 0, 0);
    });
    blocks_ = array<grid_block<I>>(ctx, leaves + pieces);
    pieces_ = array<tree_unit>(ctx, bytes / 16);
    std::int64_t at = 0;
    const auto add = [&](std::int64_t row, std::int64_t col, std::int64_t count, std::uint64_t node,
                         const unsigned char* leaf) {
      blocks_[at++] = {static_cast<I>(t.transposed ? col : row),
                       static_cast<I>(t.transposed ? row : col), count, node, leaf};
    };
    for_each([&](std::uint64_t node, int level, std::int64_t row, std::int64_t col) {
      if (level == 0)
        add(row >> bits, col >> bits, count_of(node), node, a.bytes() + place_of(node));
    });
    auto* to = reinterpret_cast<unsigned char*>(pieces_.data());
    for_each_piece(entries, [&](std::int64_t first, std::int64_t end) {
      const tree_node type = list_type(end - first);
      const std::uint64_t node = tree_pointer(type, 0, end - first);
      const auto l = lists_of<std::uint8_t, T>(to, node);
      for (std::int64_t k = first; k < end; ++k) {
        l.values[k - first] = entries[k].value;
        l.first[2 * (k - first)] = static_cast<std::uint8_t>(entries[k].place >> 8);
        l.first[2 * (k - first) + 1] = static_cast<std::uint8_t>(entries[k].place);
      }
      add(entries[first].row, entries[first].col, end - first, node, to);
      to += leaf_bytes(type, sizeof(T), end - first, 0, 0, 0);
    });
    parallel_sort(ctx, blocks_.data(), at);
    const std::int64_t rows = t.rows() == 0 ? 0 : ((t.rows() - 1) >> bits) + 1;
    cols_ = t.cols() == 0 ? 0 : ((t.cols() - 1) >> bits) + 1;
    first_ = array<std::int64_t>(ctx, rows + 1);
    for (std::int64_t i = 0, k = 0; i <= rows; ++i) {
      while (k < at && blocks_[k].row < i) ++k;
      first_[i] = k;
    }
  }
  /// Rows and columns of blocks.
  [[nodiscard]] std::int64_t rows() const { return first_.size() - 1; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] std::span<const grid_block<I>> row(std::int64_t i) const {
    return {blocks_.data() + first_[i], static_cast<std::size_t>(first_[i + 1] - first_[i])};
  }
  /// Of the first block of a row.
  [[nodiscard]] std::int64_t number(std::int64_t i) const { return first_[i]; }
  [[nodiscard]] const grid_block<I>& block(std::int64_t number) const { return blocks_[number]; }

private:
  /// An entry of a flat leaf: its block, and its place in it.
  struct flat_entry {
    I row, col;
    std::uint16_t place;
    T value;
    friend bool operator<(const flat_entry& x, const flat_entry& y) {
      return std::tie(x.row, x.col, x.place) < std::tie(y.row, y.col, y.place);
    }
  };
  static tree_node list_type(std::int64_t entries) {
    return entries == 1 ? tree_node::coo1 : entries == 2 ? tree_node::coo2 : tree_node::coo4;
  }
  /// Calls f(first, end) for the entries of each block.
  template <class F> static void for_each_piece(const array<flat_entry>& entries, F f) {
    for (std::int64_t first = 0, end = 0; first < entries.size(); first = end) {
      while (end < entries.size() && entries[end].row == entries[first].row &&
             entries[end].col == entries[first].col)
        ++end;
      f(first, end);
    }
  }

  array<grid_block<I>> blocks_;
  array<std::int64_t> first_;
  array<tree_unit> pieces_;
  std::int64_t cols_ = 0;
};

} // namespace lacuna::detail::cpu
