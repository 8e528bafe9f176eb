// Y = alpha A X + beta Z, X in rows of whole 16-byte packets: the kernels of multiply_csr_dense.cu.
// A block takes a tile of neighbouring entries, brings them to shared memory and deals its rows to
// groups of lanes, each lane with packets of a row of X. Groups share a row where rows are long.
//
// Bytes from memory: A, X and Y once, if caches hold the part of X that neighbours read; from L1
// one row of X an entry.
#pragma once

#include <cstring>

#include "gpu/multiply_csr.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {

/// 16 bytes of a row, one load.
template <class T> struct alignas(16) packet {
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};
template <class T> __device__ packet<T> load_packet(const T* p) {
  const uint4 bytes = __ldg(reinterpret_cast<const uint4*>(p));
  packet<T> result;
  std::memcpy(&result, &bytes, sizeof(bytes));
  return result;
}
/// Past L1, first to leave L2: the caches are kept for X.
template <class T> __device__ void store_packet(T* p, const packet<T>& values) {
  uint4 bytes;
  std::memcpy(&bytes, &values, sizeof(bytes));
  __stcs(reinterpret_cast<uint4*>(p), bytes);
}

/// Strides of Z and Y for element (row, column); X has rows x_row elements apart.
struct row_strides {
  int x_row;
  bool packets; // rows of Y may be stored packet by packet
  std::int64_t z_row, z_column, y_row, y_column;
};

/// How a block goes about its tile.
struct row_tile_shape {
  int lanes;    // of a group
  int per_lane; // packets of a row of X a lane
  int unroll;   // rows of X that a group loads before it uses the first
  int share;    // rows and entries of a tile
  int threads, blocks;

  constexpr int groups() const { return 32 / lanes; }   // of a warp
  constexpr int long_row() const { return 4 * unroll; } // left to a warp if no group shares it
  constexpr int very_long_row() const { return 8 * unroll * groups(); } // left to the block
};

/// The sums of a group.
template <class T, int per_lane> struct packets {
  packet<T> of[per_lane];

  __device__ void add_shuffled(int lane_distance) {
#pragma unroll
    for (auto& p : of)
#pragma unroll
      for (T& sum : p.v) sum += __shfl_xor_sync(whole_warp, sum, lane_distance);
  }
};

/// Brings a tile to shared memory: its entries, and where its rows end among them.
template <int share, int threads, class T, class I, class O>
__device__ void stage_tile(const multiply_arguments<T, I, O>& p, tile_start<I, O> begin, int rows,
                           int entries, T* value, I* column, int* segment_end) {
  constexpr int rounds = (share + threads - 1) / threads;
  const int thread = static_cast<int>(threadIdx.x);
  I own_column[rounds];
  T own_value[rounds];
#pragma unroll
  for (int u = 0; u < rounds; ++u) {
    const int k = thread + u * threads;
    own_column[u] = k < entries ? load_once(p.colind + begin.entry + k) : I{0};
    own_value[u] = k < entries ? load_once(p.values + begin.entry + k) : T{0};
  }
  for (int s = thread; s <= rows; s += threads)
    segment_end[s] =
        s < rows ? static_cast<int>(p.rowptr[begin.row + s + 1] - begin.entry) : entries;
#pragma unroll
  for (int u = 0; u < rounds; ++u) {
    const int k = thread + u * threads;
    if (k < entries) {
      column[k] = own_column[u];
      value[k] = own_value[u];
    }
  }
}

/// A block's work on one tile. Shape::value is a row_tile_shape; blockIdx.y counts blocks of
/// lanes * per_lane packets.
template <class Shape, class T, class I, class O>
__device__ void multiply_row_tile(const multiply_arguments<T, I, O>& p, const row_strides& strides,
                                  const tile_start<I, O>* __restrict__ starts, std::int64_t tile,
                                  I* __restrict__ carry_row, T* __restrict__ carry_sum) {
  constexpr row_tile_shape shape = Shape::value;
  constexpr int lanes = shape.lanes, per_lane = shape.per_lane, threads = shape.threads;
  constexpr int width = packet<T>::size, warps = threads / 32, groups = shape.groups();
  using sums = packets<T, per_lane>;
  __shared__ T value[shape.share];
  __shared__ I column[shape.share];
  __shared__ int segment_end[shape.share + 1];
  __shared__ sums warp_sums[warps][lanes];
  __shared__ int long_rows[shape.share / shape.long_row()];
  __shared__ int very_long_rows[shape.share / shape.very_long_row() + 1];
  __shared__ int long_count, very_long_count;

  const int thread = static_cast<int>(threadIdx.x);
  const tile_start<I, O> begin_of_tile = starts[tile], end_of_tile = starts[tile + 1];
  const std::int64_t first_row = begin_of_tile.row;
  const int rows = static_cast<int>(end_of_tile.row - first_row);
  const int entries = static_cast<int>(end_of_tile.entry - begin_of_tile.entry);
  // The last segment is what the tile has of a row that ends in another; it may be empty.
  const int segments = rows + 1;
  if (thread == 0) long_count = very_long_count = 0;
  stage_tile<shape.share, threads>(p, begin_of_tile, rows, entries, value, column, segment_end);
  __syncthreads();

  const int lane = thread % lanes, warp = thread / 32, group = thread % 32 / lanes;
  const std::int64_t first_vector = (std::int64_t{blockIdx.y} * lanes * per_lane + lane) * width;
  const auto vector_of = [&](int v) { return first_vector + std::int64_t{v} * lanes * width; };
  const T* x[per_lane]; // lanes past the last vector repeat the first
#pragma unroll
  for (int v = 0; v < per_lane; ++v) x[v] = p.x + (vector_of(v) < p.vectors ? vector_of(v) : 0);

  const auto add_products = [&](sums& sum, int k, int end, int step) {
    for (; k < end; k += shape.unroll * step) {
      packet<T> row[shape.unroll][per_lane];
      T a[shape.unroll];
#pragma unroll
      for (int u = 0; u < shape.unroll; ++u) {
        const bool inside = k + u * step < end;
        a[u] = T{0};
#pragma unroll
        for (int v = 0; v < per_lane; ++v) row[u][v] = {};
        if (inside) {
          a[u] = value[k + u * step];
          const std::int64_t offset =
              static_cast<std::int64_t>(column[k + u * step]) * strides.x_row;
#pragma unroll
          for (int v = 0; v < per_lane; ++v) row[u][v] = load_packet(x[v] + offset);
        }
      }
#pragma unroll
      for (int u = 0; u < shape.unroll; ++u)
#pragma unroll
        for (int v = 0; v < per_lane; ++v)
#pragma unroll
          for (int w = 0; w < width; ++w) sum.of[v].v[w] += a[u] * row[u][v].v[w];
    }
  };
  const auto store = [&](int s, const sums& sum) {
    const std::int64_t row = first_row + s;
#pragma unroll
    for (int v = 0; v < per_lane; ++v) {
      const std::int64_t vector = vector_of(v);
      if (vector >= p.vectors) continue;
      if (s == rows) {
#pragma unroll
        for (int w = 0; w < width; ++w)
          if (vector + w < p.vectors) carry_sum[tile * p.vectors + vector + w] = sum.of[v].v[w];
        continue;
      }
      packet<T> result;
#pragma unroll
      for (int w = 0; w < width; ++w)
        if (vector + w < p.vectors)
          result.v[w] = finish(p.alpha, sum.of[v].v[w], p.beta, p.z,
                               row * strides.z_row + (vector + w) * strides.z_column);
      T* const y = p.y + row * strides.y_row + vector * strides.y_column;
      if (strides.packets)
        store_packet(y, result);
      else
#pragma unroll
        for (int w = 0; w < width; ++w)
          if (vector + w < p.vectors) y[w * strides.y_column] = result.v[w];
    }
  };
  const auto begin_of = [&](int s) { return s == 0 ? 0 : segment_end[s - 1]; };

  // Groups that share a row, so that few have more than one round of loads.
  const int mean = entries / segments;
  int sharing = 1;
  while (sharing < groups && 2 * mean > 3 * shape.unroll * sharing) sharing *= 2;
  const int dealt = (warp * groups + group) / sharing, part = group % sharing;
  // All lanes make the same number of rounds: the shuffles need every one of them.
  for (int base = 0; base < segments; base += warps * groups / sharing) {
    const int s = base + dealt;
    int begin = 0, end = 0;
    if (s < segments) {
      begin = begin_of(s);
      end = segment_end[s];
    }
    const bool is_long = end - begin > shape.long_row() * sharing;
    sums sum{};
    if (!is_long) add_products(sum, begin + part, end, sharing);
    for (int step = 1; step < sharing; step *= 2) sum.add_shuffled(step * lanes);
    if (part != 0 || s >= segments) continue;
    if (!is_long)
      store(s, sum);
    else if (lane == 0) {
      if (end - begin <= shape.very_long_row())
        long_rows[atomicAdd(&long_count, 1)] = s;
      else
        very_long_rows[atomicAdd(&very_long_count, 1)] = s;
    }
  }
  if (blockIdx.y == 0 && thread == 0) carry_row[tile] = static_cast<I>(end_of_tile.row);
  __syncthreads();

  const auto sum_of_warp = [&](int begin, int end, int step) {
    sums sum{};
    add_products(sum, begin, end, step);
#pragma unroll
    for (int distance = lanes; distance < 32; distance *= 2) sum.add_shuffled(distance);
    return sum;
  };
  for (int i = warp; i < long_count; i += warps) {
    const int s = long_rows[i];
    const sums sum = sum_of_warp(begin_of(s) + group, segment_end[s], groups);
    if (group == 0) store(s, sum);
  }
  for (int i = 0; i < very_long_count; ++i) {
    const int s = very_long_rows[i];
    sums sum = sum_of_warp(begin_of(s) + warp * groups + group, segment_end[s], warps * groups);
    if (group == 0) warp_sums[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && group == 0) {
      for (int other = 1; other < warps; ++other)
#pragma unroll
        for (int v = 0; v < per_lane; ++v)
#pragma unroll
          for (int w = 0; w < width; ++w) sum.of[v].v[w] += warp_sums[other][lane].of[v].v[w];
      store(s, sum);
    }
    __syncthreads();
  }
}

template <class Shape, class T, class I, class O>
__global__ void __launch_bounds__(Shape::value.threads, Shape::value.blocks)
    row_tiles_kernel(const multiply_arguments<T, I, O> p, const row_strides strides,
                     const tile_start<I, O>* __restrict__ starts, I* __restrict__ carry_row,
                     T* __restrict__ carry_sum) {
  multiply_row_tile<Shape>(p, strides, starts, std::int64_t{blockIdx.x}, carry_row, carry_sum);
}

/// Adds what tiles carried out of their last row to that row, in an order fixed by the number of
/// tiles: a warp for each run of tiles that end in one row, a block where the run is long.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    add_row_carries_kernel(const multiply_arguments<T, I, O> p, const row_strides strides,
                           std::int64_t tiles, int share, const I* __restrict__ carry_row,
                           const T* __restrict__ carry_sum) {
  constexpr int warps = block_threads / 32, long_run = 32;
  __shared__ T warp_sums[warps][32];
  __shared__ std::int64_t run_begin[warps], run_end[warps];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t tile = thread_index() / 32;
  const auto sum_of = [&](std::int64_t begin, std::int64_t end, std::int64_t vector) {
    T sum{0};
#pragma unroll 8
    for (std::int64_t t = begin; t < end; ++t) sum += carry_sum[t * p.vectors + vector];
    return sum;
  };
  const auto add = [&](std::int64_t row, std::int64_t vector, T sum) {
    p.y[row * strides.y_row + vector * strides.y_column] += p.alpha * sum;
  };
  std::int64_t last = tile; // the row closes in the tile that holds its end on the merge list
  if (tile < tiles) {
    const std::int64_t row = carry_row[tile];
    if (row < p.rows && (tile == 0 || carry_row[tile - 1] != row))
      last = (static_cast<std::int64_t>(p.rowptr[row + 1]) + row) / share;
    if (last - tile <= long_run && last > tile)
      for (std::int64_t vector = lane; vector < p.vectors; vector += 32)
        add(row, vector, sum_of(tile, last, vector));
  }
  if (lane == 0) {
    run_begin[warp] = tile;
    run_end[warp] = last;
  }
  __syncthreads();
  for (int run = 0; run < warps; ++run) {
    const std::int64_t begin = run_begin[run], length = run_end[run] - begin;
    if (length <= long_run) continue;
    for (std::int64_t first = 0; first < p.vectors; first += 32) {
      const std::int64_t vector = first + lane;
      if (vector < p.vectors)
        warp_sums[warp][lane] =
            sum_of(begin + length * warp / warps, begin + length * (warp + 1) / warps, vector);
      __syncthreads();
      if (warp == 0 && vector < p.vectors) {
        T sum{0};
        for (int w = 0; w < warps; ++w) sum += warp_sums[w][lane];
        add(carry_row[begin], vector, sum);
      }
      __syncthreads();
    }
  }
}

/// Rows of X in packets: scratch[i * width_of_row + j] = X(i, j), 0 past the last vector. A block
/// takes `rows` rows of X and `columns` of scratch; columns are neighbouring threads' rows.
template <int rows, int columns, class T>
__global__ void __launch_bounds__(block_threads)
    pack_rows_kernel(const T* __restrict__ x, std::int64_t x_row, std::int64_t x_column,
                     std::int64_t count, std::int64_t vectors, int width_of_row,
                     T* __restrict__ scratch) {
  constexpr int steps = rows * columns / block_threads;
  static_assert(rows * columns % block_threads == 0);
  __shared__ T kept[rows][columns + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first_row = std::int64_t{blockIdx.x} * rows;
  const std::int64_t first_column = std::int64_t{blockIdx.y} * columns;
  T own[steps];
#pragma unroll
  for (int u = 0; u < steps; ++u) {
    const int i = (thread + u * block_threads) % rows, j = (thread + u * block_threads) / rows;
    const bool inside = first_row + i < count && first_column + j < vectors;
    own[u] = inside ? load_once(x + (first_row + i) * x_row + (first_column + j) * x_column) : T{0};
  }
#pragma unroll
  for (int u = 0; u < steps; ++u)
    kept[(thread + u * block_threads) % rows][(thread + u * block_threads) / rows] = own[u];
  __syncthreads();
#pragma unroll
  for (int u = 0; u < steps; ++u) {
    const int i = (thread + u * block_threads) / columns,
              j = (thread + u * block_threads) % columns;
    if (first_row + i < count && first_column + j < width_of_row)
      scratch[(first_row + i) * width_of_row + first_column + j] = kept[i][j];
  }
}

} // namespace lacuna::detail::gpu
