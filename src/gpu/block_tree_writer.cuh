// Leaves of the lowest level while sums and products of block trees write them.
#pragma once

#include "gpu/add_block_tree.cuh"

namespace lacuna::detail::gpu {

/// Where a leaf's entries go, by rows.
template <class T> struct leaf_writer {
  sum_leaf leaf;
  unsigned char* at;
  int cols; ///< inside of the matrix, where it is dense

  [[nodiscard]] __device__ bool is_full() const {
    return leaf.type == tree_node::dense || leaf.type == tree_node::masked;
  }
  [[nodiscard]] __device__ T* values() const { return reinterpret_cast<T*>(at); }
  [[nodiscard]] __device__ unsigned char* list() const {
    return at + (is_rows(leaf.type) ? leaf.entries : padded()) * static_cast<int>(sizeof(T));
  }
  [[nodiscard]] __device__ int padded() const {
    return static_cast<int>(padded_entries(leaf.type, leaf.entries));
  }
  /// Zeros where no entry writes: of a masked leaf everywhere, else the last bytes. By so many
  /// threads, of which this is number `at_thread`; they wait before they write anything else.
  __device__ void clear(int at_thread, int threads) const {
    const int units = leaf.bytes / 16;
    auto* const to = reinterpret_cast<uint4*>(at);
    for (int i = leaf.type == tree_node::masked ? at_thread : units - 1 + at_thread; i < units;
         i += threads)
      to[i] = {0, 0, 0, 0};
  }
  /// What is not entries, by the first warp.
  __device__ void begin(int lane) const {
    if (is_rows(leaf.type) && lane == 0) {
      list()[0] = static_cast<unsigned char>((leaf.runs - 1) & 255);
      list()[1] = static_cast<unsigned char>((leaf.runs - 1) >> 8);
    }
    if (is_coo(leaf.type) && leaf.entries + lane < padded()) {
      values()[leaf.entries + lane] = T{0};
      reinterpret_cast<uchar2*>(list())[leaf.entries + lane] = {0, 0};
    }
  }
  __device__ void begin_run(int run, int row, int length) const {
    if (!is_rows(leaf.type)) return;
    list()[2 + run] = static_cast<unsigned char>(row);
    list()[2 + leaf.runs + run] = static_cast<unsigned char>(length - 1);
  }
  __device__ void write(int k, int row, int col, T value) const {
    if (is_full()) {
      values()[row * cols + col] = value;
      return;
    }
    values()[k] = value;
    if (is_rows(leaf.type))
      list()[2 + 2 * leaf.runs + k] = static_cast<unsigned char>(col);
    else
      reinterpret_cast<uchar2*>(list())[k] = {static_cast<unsigned char>(row),
                                              static_cast<unsigned char>(col)};
  }
  /// 32 columns of a row of a masked leaf.
  __device__ void write_mask(int row, int rows, int col, unsigned marks) const {
    if (leaf.type != tree_node::masked || marks == 0) return;
    auto* const mask = reinterpret_cast<unsigned*>(values() + rows * cols);
    const int place = row * cols + col, shift = place % 32;
    if (cols % 32 == 0) {
      mask[place / 32] = marks;
      return;
    }
    atomicOr(mask + place / 32, marks << shift);
    if (shift > 0 && marks >> (32 - shift) != 0)
      atomicOr(mask + place / 32 + 1, marks >> (32 - shift));
  }
};

} // namespace lacuna::detail::gpu
