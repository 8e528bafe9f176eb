// Places of a leaf's entries, without their values.
#pragma once

#include "gpu/block_tree.cuh"

namespace lacuna::detail::gpu {

/// Loads of a lane that are under way at a time.
constexpr int loads_ahead = 4;

/// Calls f(row, column) for each entry of a leaf, by all lanes of a warp: of a leaf by rows each
/// lane has runs of its own.
template <class T, class F>
__device__ void for_each_place(const unsigned char* pool, std::uint64_t node, int rows, int cols,
                               const F& f) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const tree_node type = type_of(node);
  if (has_header(type)) {
    leaf_walk<const T> walk;
    walk.begin(pool, node, rows, cols);
    while (!walk.done()) {
      std::uint32_t row, col;
      const T* value;
      if (walk.next(row, col, value)) f(static_cast<int>(row), static_cast<int>(col));
    }
    return;
  }
  const unsigned char* const leaf = pool + place_of(node);
  const int entries = static_cast<int>(count_of(node));
  if (type == tree_node::dense || type == tree_node::masked) {
    const int places = rows * cols;
    const unsigned char* const mask = leaf + places * static_cast<int>(sizeof(T));
    int row = lane / cols, col = lane % cols;
    for (int k = lane; k < places; k += 32) {
      if (type == tree_node::dense || (mask[k / 8] >> (k % 8) & 1) != 0) f(row, col);
      for (col += 32; col >= cols; col -= cols) ++row;
    }
    return;
  }
  if (is_coo(type)) {
    const auto* const list = reinterpret_cast<const uchar2*>(
        leaf + padded_entries(type, entries) * static_cast<int>(sizeof(T)));
    for (int first = lane; first < entries; first += 32 * loads_ahead) {
      uchar2 at[loads_ahead];
#pragma unroll
      for (int u = 0; u < loads_ahead; ++u) at[u] = list[min(first + 32 * u, entries - 1)];
#pragma unroll
      for (int u = 0; u < loads_ahead; ++u)
        if (first + 32 * u < entries) f(int{at[u].x}, int{at[u].y});
    }
    return;
  }
  const unsigned char* const list = leaf + entries * static_cast<int>(sizeof(T));
  const int runs = (list[0] | list[1] << 8) + 1;
  const unsigned char* columns = list + 2 + 2 * runs;
  for (int first = 0; first < runs; first += 32) {
    const int run = first + lane;
    const int row = run < runs ? list[2 + run] : 0;
    const int length = run < runs ? list[2 + runs + run] + 1 : 0;
    int total;
    const unsigned char* const own = columns + sums_before_lane(length, total);
    for (int k = 0; k < length; k += loads_ahead) {
      unsigned char col[loads_ahead];
#pragma unroll
      for (int u = 0; u < loads_ahead; ++u) col[u] = own[min(k + u, length - 1)];
#pragma unroll
      for (int u = 0; u < loads_ahead; ++u)
        if (k + u < length) f(row, int{col[u]});
    }
    columns += total;
  }
}

} // namespace lacuna::detail::gpu
