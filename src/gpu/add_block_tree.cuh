// The sum of two block trees on the device: what its parts hand to one another. Blocks of the
// lowest level alone: every leaf of both trees lies in one row and one column of blocks.
#pragma once

#include "gpu/block_tree.cuh"
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::detail::gpu {

/// Of both operands, pieces of cut ones counted: twice as many fit numbers of 32 bits.
constexpr std::int64_t most_sum_leaves = 0x3fffffff;

/// Whether all leaves lie in one row and one column of blocks.
template <class T, class I>
bool has_lowest_leaves(const tree_arrays<const T, I, space::device>& a) {
  const std::int64_t d = std::int64_t{1} << a.bits;
  return a.row_sums.widest <= d && a.column_sums.widest <= d;
}

/// A block that A or B has, or both. Rows and columns of blocks count from 0; a, b: the leaves'
/// numbers, -1 if there is none. A pair of none is room that was not needed.
template <class I> struct leaf_pair {
  I row, col;
  std::int32_t a, b;
  [[nodiscard]] __device__ bool is_none() const { return a < 0 && b < 0; }
};

/// A leaf of the sum with more entries is large: several warps write it.
constexpr int most_small_entries = 256;

/// A leaf of the sum.
struct alignas(16) sum_leaf {
  std::int32_t entries, bytes;
  std::uint16_t runs;
  tree_node type;
  std::uint8_t queue;
  bool copied; ///< byte by byte the leaf of the one that has it
  [[nodiscard]] __device__ bool is_large() const { return entries > most_small_entries; }
};

/// An operand whose flat leaves were cut: items of them are left out, pieces follow the others.
template <class I> struct cut_leaves {
  std::int64_t items = 0;
  array<tree_item<I>, space::device> pieces; ///< some have no node
  array<tree_unit, space::device> pool;
  array<std::int32_t, space::device> starts[2];  ///< of rows of blocks, of columns: in `through`
  array<std::int64_t, space::device> through[2]; ///< leaves, in no order within a row
};
/// False if it is not done: other flat leaves than those of the second level of blocks of 64 and
/// 128, very long ones, or more than a fourth of the entries; or too many pieces. Waits once.
template <class T, class I>
bool cut_flat_leaves(const device_context& ctx, const tree_arrays<const T, I, space::device>& a,
                     cut_leaves<I>& cut);

/// An operand's leaves: items, then pieces of those that were cut.
template <class T, class I> struct sum_operand {
  tree_operand<T, I, space::device> tree;
  std::int64_t items;
  const tree_item<I>* pieces;
  const unsigned char* piece_pool;
};

/// Pairs in the order of their rows, room for as many as both operands have leaves.
template <class T, class I> struct sum_leaves {
  sum_operand<T, I> of[2];
  index<I> extent;
  const leaf_pair<I>* pairs;
  sum_leaf* leaves;
  std::int64_t room;
};

/// Entries, runs, types, bytes. large: whether most leaves are.
template <class T, class I>
void count_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum, bool large);
/// Writes all bytes of the leaves of so many pairs, which are large, or small; nodes: pointers of
/// all pairs.
template <class T, class I>
void fill_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum, bool large,
                     const std::int32_t* pairs, std::int64_t count, const std::uint64_t* nodes,
                     unsigned char* pool);

} // namespace lacuna::detail::gpu
