// Leaves of block trees, walked by a warp.
#pragma once

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/format/block_tree.hpp>

namespace lacuna::detail::gpu {

/// The sum of the values of lanes before this one, and of all 32, which call it together.
template <class Number> __device__ Number sums_before_lane(Number value, Number& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Number sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const Number other = __shfl_up_sync(whole_warp, sum, step);
    if (lane >= step) sum += other;
  }
  total = __shfl_sync(whole_warp, sum, 31);
  return sum - value;
}

/// A leaf, or some entries of a flat one: if it is by rows, with the first of the 32 runs that they
/// are of, and the entries before that run.
struct leaf_piece {
  std::int64_t leaf;       ///< -1: none
  std::int64_t first, end; ///< of dense and masked leaves places
  std::int64_t run, run_first;
};

/// A leaf's entries by rows, up to 32 at a time, one for each lane; all lanes of a warp call it
/// together. T is const where values are only read.
template <class T> class leaf_walk {
public:
  using byte = like<T, unsigned char>;
  /// A lane whose place is past the leaf's end has this row; in blocks of 2^32 an entry may, too.
  static constexpr std::uint32_t no_row = 0xffffffffu;

  /// rows, cols: how far the leaf reaches inside of the matrix, where it is dense.
  __device__ void begin(byte* pool, std::uint64_t node, int rows, int cols) {
    byte* p = pool + place_of(node);
    type_ = type_of(node);
    width_ = coordinate_bytes(type_);
    at_ = 0;
    end_ = count_of(node);
    if (has_header(type_)) {
      end_ = *reinterpret_cast<const std::int64_t*>(p);
      runs_ = *reinterpret_cast<const std::uint32_t*>(p + 8);
      p += 16;
    }
    values_ = reinterpret_cast<T*>(p);
    if (is_full()) {
      end_ = rows * cols;
      cols_ = cols;
      row_ = lane() / cols;
      col_ = lane() % cols;
      list_ = p + end_ * static_cast<std::int64_t>(sizeof(T));
    } else if (is_coo(type_)) {
      list_ = p + padded_entries(type_, end_) * static_cast<std::int64_t>(sizeof(T));
    } else {
      p += end_ * static_cast<std::int64_t>(sizeof(T));
      if (!has_header(type_)) {
        runs_ = static_cast<std::uint32_t>(p[0] | p[1] << 8) + 1;
        p += 2;
      }
      list_ = p;
      run_ = chunk_end_ = 0;
    }
  }
  [[nodiscard]] __device__ bool done() const { return at_ >= end_; }
  /// The next entries: their row and column, counted from the leaf's first, and where the value is.
  /// False: this lane has none. A lane may have a place without an entry, whose row and column are
  /// in order. Leaves that are not done().
  __device__ bool next(std::uint32_t& row, std::uint32_t& col, T*& value) {
    const std::int64_t k = at_ + lane();
    value = values_ + k;
    bool inside = k < end_;
    row = no_row;
    col = 0;
    if (is_rows(type_)) {
      const std::int64_t end = step_through_runs(row);
      inside = k < end;
      if (inside) col = coordinate(2 * std::int64_t{runs_} + k);
      row = inside ? row : no_row;
      at_ = end;
      return inside;
    }
    if (inside && is_coo(type_)) {
      row = coordinate(2 * k);
      col = coordinate(2 * k + 1);
    } else if (inside) {
      row = row_;
      col = col_;
      if (type_ == tree_node::masked) inside = has_place_at(k);
      for (col_ += 32; col_ >= cols_; col_ -= cols_) ++row_;
    }
    at_ += 32;
    return inside;
  }
  /// Goes to a piece, after begin(). Returns the row of the entry before it, if that may be the
  /// piece's first row, too; else -1.
  __device__ std::int64_t begin_piece(const leaf_piece& piece) {
    at_ = piece.first;
    end_ = piece.end;
    if (is_coo(type_)) {
      if (at_ > 0) return coordinate(2 * (at_ - 1));
    } else if (is_rows(type_)) {
      run_ = piece.run;
      at_ = piece.run_first;
      load_runs();
      at_ = piece.first;
      begun_ = __popc(__ballot_sync(whole_warp, length_ > 0 && start_ < at_));
      const int row = __shfl_sync(whole_warp, row_, begun_ == 0 ? 0 : begun_ - 1);
      if (begun_ > 0) return static_cast<std::uint32_t>(row);
    }
    return -1;
  }
  /// Of the leaf, places of a dense or masked one.
  [[nodiscard]] __device__ std::int64_t entries() const { return end_; }
  /// Flat leaves are cut into chunks: those by rows into 32 runs each, lists into so many entries.
  [[nodiscard]] __device__ std::int64_t chunks(std::int64_t most) const {
    if (!has_header(type_)) return 1;
    return is_rows(type_) ? (std::int64_t{runs_} + 31) / 32 : (end_ + most - 1) / most;
  }
  /// All lanes add up the lengths of runs.
  [[nodiscard]] __device__ std::int64_t entries_of_chunk(std::int64_t chunk,
                                                         std::int64_t most) const {
    if (!has_header(type_)) return end_;
    if (!is_rows(type_)) return min(most, end_ - chunk * most);
    const std::int64_t run = 32 * chunk, runs = min(std::int64_t{32}, runs_ - run);
    const std::uint32_t less = lane() < runs ? coordinate(runs_ + run + lane()) : 0;
    return runs + __reduce_add_sync(whole_warp, less & 0xffff) +
           (std::int64_t{__reduce_add_sync(whole_warp, less >> 16)} << 16);
  }
  /// Entries of a chunk that are a piece.
  [[nodiscard]] __device__ std::int64_t entries_of_piece(std::int64_t most) const {
    return has_header(type_) ? most : end_;
  }

private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ bool is_full() const {
    return type_ == tree_node::dense || type_ == tree_node::masked;
  }
  __device__ std::uint32_t coordinate(std::int64_t k) const {
    if (width_ == 1) return load_once(static_cast<const std::uint8_t*>(list_) + k);
    if (width_ == 2) return load_once(reinterpret_cast<const std::uint16_t*>(list_) + k);
    return load_once(reinterpret_cast<const std::uint32_t*>(list_) + k);
  }
  __device__ bool has_place_at(std::int64_t k) const { return (list_[k / 8] >> (k % 8) & 1) != 0; }

  /// Lanes hold 32 runs, where each begins.
  __device__ void load_runs() {
    const std::int64_t run = run_ + lane();
    const bool has = run < runs_;
    length_ = has ? std::int64_t{coordinate(runs_ + run)} + 1 : 0;
    row_ = has ? static_cast<int>(coordinate(run)) : 0;
    std::int64_t up_to_here = length_;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::int64_t other = __shfl_up_sync(whole_warp, up_to_here, step);
      if (lane() >= step) up_to_here += other;
    }
    start_ = at_ + up_to_here - length_;
    chunk_end_ = at_ + __shfl_sync(whole_warp, up_to_here, 31);
    run_ += 32;
    begun_ = 0;
  }
  /// The row of this lane's entry; returns where the entries end that are given together.
  __device__ std::int64_t step_through_runs(std::uint32_t& row) {
    if (at_ == chunk_end_) load_runs();
    const std::int64_t from = start_ - at_;
    const unsigned begins =
        __reduce_or_sync(whole_warp, length_ > 0 && from >= 0 && from < 32 ? 1u << from : 0u);
    const int own = begun_ + __popc(begins & (0xffffffffu >> (31 - lane()))) - 1;
    row = static_cast<std::uint32_t>(__shfl_sync(whole_warp, row_, own < 0 ? 0 : own % 32));
    begun_ += __popc(begins);
    return min(at_ + 32, min(chunk_end_, end_));
  }

  tree_node type_ = tree_node::none;
  int width_ = 1;
  T* values_ = nullptr;
  const unsigned char* list_ = nullptr; // coordinates; of masked leaves the mask
  std::int64_t at_ = 0, end_ = 0;
  int row_ = 0, col_ = 0, cols_ = 1; // dense: this lane's next place; rows: row_ is its run's
  std::uint32_t runs_ = 0;
  std::int64_t run_ = 0, chunk_end_ = 0; // rows: runs that lanes have held, where those end
  std::int64_t start_ = 0, length_ = 0;  // of this lane's run
  int begun_ = 0;                        // of the lanes' runs, before at_
};

/// The tree's nodes, byte by byte.
template <class T, class I>
__host__ __device__ like<T, unsigned char>* pool_of(const tree_arrays<T, I, space::device>& a) {
  return reinterpret_cast<like<T, unsigned char>*>(a.pool.data());
}
/// Begins with an item's leaf.
template <class T, class U, class I>
__device__ void begin_item(leaf_walk<T>& walk, const tree_arrays<U, I, space::device>& a,
                           const tree_item<I>& item) {
  walk.begin(pool_of(a), item.node, static_cast<int>(a.rows_from(item.row)),
             static_cast<int>(a.cols_from(item.col)));
}

template <class F> __global__ void for_each_leaf_kernel(std::int64_t leaves, F f) {
  const std::int64_t k = thread_index() / 32;
  if (k < leaves) f(k);
}
/// Calls f(k) for k in [0, leaves), by all lanes of a warp.
template <class F>
void for_each_leaf(const device_context& ctx, std::int64_t leaves, const char* what, const F& f) {
  if (leaves == 0) return;
  for_each_leaf_kernel<<<blocks_for(checked_mul(leaves, 32)), block_threads, 0, ctx.stream()>>>(
      leaves, f);
  check_launch(what);
}

} // namespace lacuna::detail::gpu
