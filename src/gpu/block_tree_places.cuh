// Places of a leaf's entries, walked by one or several warps. Lanes go along entries: which run an
// entry is of, lanes that hold runs tell those that hold entries. For leaves that lie in one row
// and one column of blocks: a byte holds a coordinate, of those that are wide the lowest.
#pragma once

#include "gpu/block_tree.cuh"

namespace lacuna::detail::gpu {

/// Loads of a lane that are under way at a time.
constexpr int loads_ahead = 2;

/// What a leaf's pointer and its first bytes say. All 0: no leaf, no places.
template <class T> struct leaf_places {
  const T* values;
  const unsigned char* list; ///< coordinates; of masked leaves the mask
  int places;                ///< of values: entries, but of dense and masked leaves all
  int runs, cols;
  int shift; ///< 2^shift bytes a coordinate
  tree_node type;

  [[nodiscard]] __device__ bool is_full() const {
    return type == tree_node::dense || type == tree_node::masked;
  }
  [[nodiscard]] __device__ int coordinate(int k) const { return list[k << shift]; }
};
/// rows, cols: how far the leaf reaches inside of the matrix, where it is dense.
template <class T>
__device__ leaf_places<T> leaf_places_of(const unsigned char* pool, std::uint64_t node, int rows,
                                         int cols) {
  const unsigned char* p = pool + place_of(node);
  leaf_places<T> leaf{};
  leaf.type = type_of(node);
  leaf.cols = cols;
  leaf.shift = coordinate_bytes(leaf.type) / 2;
  leaf.places = leaf.is_full() ? rows * cols : static_cast<int>(count_of(node));
  if (has_header(leaf.type)) {
    leaf.places = static_cast<int>(*reinterpret_cast<const std::int64_t*>(p));
    leaf.runs = static_cast<int>(*reinterpret_cast<const std::uint32_t*>(p + 8));
    p += 16;
  }
  leaf.values = reinterpret_cast<const T*>(p);
  leaf.list = p + (is_coo(leaf.type) ? padded_entries(leaf.type, leaf.places) : leaf.places) *
                      static_cast<std::int64_t>(sizeof(T));
  if (leaf.type == tree_node::rows) {
    leaf.runs = (leaf.list[0] | leaf.list[1] << 8) + 1;
    leaf.list += 2;
  }
  return leaf;
}

/// Calls f(k, row, column) for each entry of a leaf, whose value is values[k], by all threads of
/// `warps` warps, of which this is number `warp`.
template <int warps, class T, class F>
__device__ void for_each_place(const leaf_places<T> leaf, int warp, const F& f) {
  const int lane = static_cast<int>(threadIdx.x) % 32, own = 32 * warp + lane;
  if (leaf.is_full()) {
    int row = own / leaf.cols, col = own % leaf.cols;
#pragma unroll 1
    for (int k = own; k < leaf.places; k += 32 * warps) {
      if (leaf.type == tree_node::dense || (leaf.list[k / 8] >> (k % 8) & 1) != 0) f(k, row, col);
#pragma unroll 1
      for (col += 32 * warps; col >= leaf.cols; col -= leaf.cols) ++row;
    }
    return;
  }
  if (!is_rows(leaf.type)) {
#pragma unroll 2
    for (int k = own; k < leaf.places; k += 32 * warps)
      f(k, leaf.coordinate(2 * k), leaf.coordinate(2 * k + 1));
    return;
  }
  // Each warp has every so many runs, up to 32 at a time; it passes over those of the others.
  const int at_a_time = min(32, (leaf.runs + warps - 1) / warps);
  int before = 0;
  for (int first = 0, turn = 0; first < leaf.runs; first += at_a_time, ++turn) {
    const int run = first + lane;
    const bool has = lane < at_a_time && run < leaf.runs;
    const int length = has ? leaf.coordinate(leaf.runs + run) + 1 : 0;
    if (turn % warps != warp) {
      before += __reduce_add_sync(whole_warp, length);
      continue;
    }
    const int row = has ? leaf.coordinate(run) : 0;
    int total, begun = 0;
    const int start = sums_before_lane(length, total);
    const int columns = 2 * leaf.runs + before;
    int next = lane < total ? leaf.coordinate(columns + lane) : 0;
#pragma unroll 1
    for (int from = 0; from < total; from += 32) {
      const int k = from + lane, col = next;
      if (k + 32 < total) next = leaf.coordinate(columns + k + 32);
      const auto at = static_cast<unsigned>(start - from);
      const unsigned begins = __reduce_or_sync(whole_warp, has && at < 32 ? 1u << at : 0u);
      const int of_run = begun + __popc(begins & (0xffffffffu >> (31 - lane))) - 1;
      const int row_of_entry = __shfl_sync(whole_warp, row, of_run);
      begun += __popc(begins);
      if (k < total) f(before + k, row_of_entry, col);
    }
    before += total;
  }
}

} // namespace lacuna::detail::gpu
