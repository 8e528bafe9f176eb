// The sum of two block trees on the device: what its parts hand to one another. Blocks of the
// lowest level alone: every leaf of both trees lies in one row and one column of blocks.
#pragma once

#include "gpu/block_tree.cuh"
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::detail::gpu {

/// A block that A or B has, or both. Rows and columns of blocks count from 0; a, b: the leaves'
/// numbers among the items, -1 if there is none. A pair of none is room that was not needed.
template <class I> struct leaf_pair {
  I row, col;
  std::int32_t a, b;
  [[nodiscard]] __device__ bool is_none() const { return a < 0 && b < 0; }
};

/// A leaf of the sum.
struct sum_leaf {
  std::int32_t entries, bytes;
  std::uint16_t runs;
  tree_node type;
  std::uint8_t queue;
  bool copied; ///< byte by byte the leaf of the one that has it
};

/// Pairs in the order of their rows, room for as many as both trees have leaves.
template <class T, class I> struct sum_leaves {
  tree_operand<T, I, space::device> a, b;
  index<I> extent;
  const leaf_pair<I>* pairs;
  sum_leaf* leaves;
  std::int64_t room;
};

/// Entries, runs, types, bytes.
template <class T, class I>
void count_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum);
/// Writes all bytes of the leaves; nodes: their pointers.
template <class T, class I>
void fill_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum,
                     const std::uint64_t* nodes, unsigned char* pool);

} // namespace lacuna::detail::gpu
