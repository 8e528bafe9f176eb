// Internal: leaves that are there become flat leaves of higher levels where those take fewer bytes,
// as in a tree made from rows.
#pragma once

#include <algorithm>
#include <bit>

#include "cpu/block_tree_lists.hpp"
#include "cpu/block_tree_tile.hpp"

namespace lacuna::detail::cpu {

/// The leaves wait in chunks (bytes_of); those that are made go to `to`. Leaves are left in another
/// order. O(leaves log leaves), and O(n log n) for blocks of n entries that may be flat.
template <class T, class I> class leaf_flattener {
public:
  leaf_flattener(const host_context& ctx, index<I> extent, int bits, array<tree_leaf<I>>& leaves,
                 leaf_chunks& to)
      : ctx_(ctx), extent_(extent), bits_(bits), leaves_(leaves), to_(to) {}

  void run() {
    if (leaves_.size() == 0) return;
    std::sort(leaves_.begin(), leaves_.end(), [this](const tree_leaf<I>& a, const tree_leaf<I>& b) {
      // By the highest level that tells them apart: those of any block lie side by side.
      const auto differ = static_cast<std::uint64_t>((a.row ^ b.row) | (a.col ^ b.col));
      if (differ == 0) return false;
      const int shift = (63 - std::countl_zero(differ)) / bits_ * bits_;
      return a.row >> shift != b.row >> shift ? a.row < b.row : a.col < b.col;
    });
    (void)visit(0, leaves_.size(), level_count(bits_, extent_.row, extent_.col) - 1);
    std::int64_t kept = 0;
    for (const tree_leaf<I>& leaf : leaves_)
      if (leaf.entries > 0) leaves_[kept++] = leaf;
    if (kept == leaves_.size()) return;
    array<tree_leaf<I>> less(ctx_, kept);
    std::copy_n(leaves_.data(), kept, less.data());
    leaves_ = std::move(less);
  }

private:
  struct subtree {
    std::int64_t cost, entries;
  };
  /// What leaves [first, end) of one block of a level take, its share of lists included.
  subtree visit(std::int64_t first, std::int64_t end, int level) {
    if (leaves_[first].level == level)
      return {leaves_[first].bytes + leaf_overhead<I>, leaves_[first].entries};
    const int shift = bits_ * level;
    subtree sum{10, 0}; // its own pointer
    for (std::int64_t child = first, next = first; child < end; child = next) {
      while (next < end &&
             shifted(leaves_[next].row, shift) == shifted(leaves_[child].row, shift) &&
             shifted(leaves_[next].col, shift) == shifted(leaves_[child].col, shift))
        ++next;
      const subtree part = visit(child, next, level - 1);
      sum.cost += part.cost;
      sum.entries += part.entries;
    }
    const std::int64_t extent = block_extent(bits_, level);
    const int width = flat_width(extent);
    const std::int64_t least = sum.entries * (static_cast<std::int64_t>(sizeof(T)) + width);
    if (extent <= std::int64_t{1} << 32 && sum.cost > least)
      sum.cost = flatten(first, end, level, sum);
    return sum;
  }
  /// One leaf of them, if it takes less; what they take now.
  std::int64_t flatten(std::int64_t first, std::int64_t end, int level, const subtree& sum) {
    const std::int64_t extent = block_extent(bits_, level), mask = extent - 1;
    const std::int64_t row = leaves_[first].row & ~mask, col = leaves_[first].col & ~mask;
    array<tree_entry<T>> list(ctx_, sum.entries);
    std::int64_t at = 0;
    for (std::int64_t k = first; k < end; ++k) {
      const tree_leaf<I>& leaf = leaves_[k];
      if (leaf.entries == 0) continue;
      const std::uint64_t node = tree_pointer(leaf.type, 0, leaf.entries);
      for_each_entry<const T>(
          bytes_of(leaf), node, rows_from(leaf.row), cols_from(leaf.col),
          [&](std::int64_t r, std::int64_t c, const T& value) {
            list[at++] = {place_key(leaf.row - row + r, leaf.col - col + c), value};
          });
    }
    std::sort(list.begin(), list.end(),
              [](const tree_entry<T>& x, const tree_entry<T>& y) { return x.key < y.key; });
    const std::int64_t runs = count_runs(list.data(), at);
    const leaf_choice choice = smallest_leaf(sizeof(T), at, runs, extent, false, 0, 0);
    if (choice.bytes + leaf_overhead<I> >= sum.cost) return sum.cost;
    unsigned char* const bytes = to_.room(choice.bytes);
    leaves_[first] = {static_cast<I>(row), static_cast<I>(col),  level, choice.type, at, runs,
                      choice.bytes,        place_of_bytes(bytes)};
    write_leaf(leaves_[first], list.data(), 0, 0, bytes);
    for (std::int64_t k = first + 1; k < end; ++k) leaves_[k].entries = 0;
    return choice.bytes + leaf_overhead<I>;
  }
  std::int64_t rows_from(std::int64_t at) const {
    return std::min<std::int64_t>(std::int64_t{1} << bits_, extent_.row - at);
  }
  std::int64_t cols_from(std::int64_t at) const {
    return std::min<std::int64_t>(std::int64_t{1} << bits_, extent_.col - at);
  }

  const host_context& ctx_;
  index<I> extent_;
  int bits_;
  array<tree_leaf<I>>& leaves_;
  leaf_chunks& to_;
};

} // namespace lacuna::detail::cpu
