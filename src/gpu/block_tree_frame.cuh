// From a list of leaves to a block tree, on the device: as cpu/block_tree_frame.hpp.
#pragma once

#include <bit>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"
#include "op/block_tree_levels.hpp"

namespace lacuna::detail::gpu {

/// The most levels: 4 bits each, of 63.
constexpr int most_levels = 16;

/// A leaf to be.
template <class I> struct device_leaf {
  I row, col; ///< the first of its block
  std::int32_t level;
  tree_node type;
  std::int64_t entries, runs;
  std::int64_t bytes;
};
/// Leaves of level 0, then of level 1, …; those of a level by rows.
template <class I> struct device_leaves {
  array<device_leaf<I>, space::device> all;
  std::int64_t of_level[most_levels] = {};
  std::int64_t inner[most_levels] = {}; ///< inner nodes of each level
};

/// A tree without the entries of its leaves.
template <class I> struct device_frame {
  std::uint64_t root = 0;
  array<tree_unit, space::device> pool;
  array<tree_item<I>, space::device> items;
  array<std::int64_t, space::device> by_column;
  array<tree_task<I>, space::device> row_tasks, column_tasks;
  tree_sums row_sums, column_sums;
  array<std::uint64_t, space::device> node; ///< of each leaf

  /// All but `node` becomes the tree's.
  template <class T> void move_to(tree_content<T, I, space::device>& t) && {
    t.root = root;
    t.pool = std::move(pool);
    t.items = std::move(items);
    t.by_column = std::move(by_column);
    t.row_tasks = std::move(row_tasks);
    t.column_tasks = std::move(column_tasks);
    t.row_sums = row_sums;
    t.column_sums = column_sums;
  }
};
/// Of leaves all is there but values and coordinates: entries, runs, zeros elsewhere. Waits once,
/// for numbers of tasks and the pool's bytes.
template <class I>
device_frame<I> make_device_frame(const device_context& ctx, index<I> extent, int bits,
                                  std::int64_t value_bytes, const device_leaves<I>& leaves);

using positions = array<std::uint32_t, space::device>;

/// 0, 1, …
inline positions count_up(const device_context& ctx, std::int64_t n) {
  positions all(ctx, n);
  for_each(ctx, n, "block_tree: positions",
           [to = all.data()] __device__(std::int64_t k) { to[k] = static_cast<std::uint32_t>(k); });
  return all;
}
/// Bits of numbers up to `last`.
inline int bits_up_to(std::int64_t last) {
  return std::bit_width(static_cast<std::uint64_t>(last));
}

template <class Word, class Key>
void reorder_by_words(const device_context& ctx, positions& order, int bits, const Key& key) {
  const std::int64_t n = order.size();
  array<Word, space::device> words(ctx, n), other_words(ctx, n);
  positions other(ctx, n);
  for_each(ctx, n, "block_tree: keys",
           [key, words = words.data(), order = order.data()] __device__(std::int64_t k) {
             words[k] = static_cast<Word>(key(std::int64_t{order[k]}));
           });
  if (sort_stably<Word, std::uint32_t>(ctx, {words.data(), other_words.data()},
                                       {order.data(), other.data()}, n, 0, bits) == 1)
    order.swap(other);
}
/// Sorts positions by key(position), which has so many bits; equal ones keep their order.
template <class Key>
void reorder(const device_context& ctx, positions& order, int bits, const Key& key) {
  if (order.size() < 2 || bits == 0) return;
  if (bits <= 32)
    reorder_by_words<std::uint32_t>(ctx, order, bits, key);
  else
    reorder_by_words<std::uint64_t>(ctx, order, bits, key);
}
/// By row(position), then by column(position).
template <class Row, class Col>
void reorder_by_place(const device_context& ctx, positions& order, int row_bits, const Row& row,
                      int col_bits, const Col& col) {
  if (row_bits + col_bits > 64) {
    reorder(ctx, order, col_bits, col);
    return reorder(ctx, order, row_bits, row);
  }
  reorder(ctx, order, row_bits + col_bits, [=] __device__(std::int64_t k) {
    return static_cast<std::uint64_t>(row(k)) << col_bits | static_cast<std::uint64_t>(col(k));
  });
}

/// groups[k]: groups that begin before k, where head(k) tells that one begins at k, as at 0; of n +
/// 1 elements. The group of k is groups[k + 1] - 1.
template <class Head>
array<std::int64_t, space::device> number_groups(const device_context& ctx, std::int64_t n,
                                                 const Head& head) {
  array<char, space::device> begins(ctx, n);
  for_each(ctx, n, "block_tree: groups", [head, begins = begins.data()] __device__(std::int64_t k) {
    begins[k] = k == 0 || head(k) ? 1 : 0;
  });
  array<std::int64_t, space::device> groups(ctx, n + 1);
  exclusive_sums(ctx, n, begins.data(), groups.data());
  return groups;
}
/// Sums of value(k) over k before each of [0, n].
template <class Value>
array<std::int64_t, space::device> sums_before(const device_context& ctx, std::int64_t n,
                                               const Value& value) {
  array<std::int64_t, space::device> values(ctx, n), sums(ctx, n + 1);
  for_each(ctx, n, "block_tree: counts",
           [value, values = values.data()] __device__(std::int64_t k) { values[k] = value(k); });
  exclusive_sums(ctx, n, values.data(), sums.data());
  return sums;
}

} // namespace lacuna::detail::gpu
