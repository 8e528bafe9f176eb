// Y = alpha A X + beta Z, X in rows of whole 16-byte packets: the kernels of multiply_csr_dense.cu.
// A block takes a tile of neighbouring entries, brings them to shared memory and deals its rows to
// groups of lanes, each lane with packets of a row of X. Groups share a row where rows are long.
//
// Where X has to be copied into packets first, a look at neighbouring rows may find that they read
// neighbouring elements of a column: then the tile's rows go to lanes and X is read as it is.
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

/// A tile in shared memory. Its last segment is what it has of a row that ends in another tile;
/// that may be nothing.
template <class Shape, class T, class I> struct shared_tile {
  static constexpr row_tile_shape shape = Shape::value;
  static constexpr int warps = shape.threads / 32;

  T value[shape.share];
  I column[shape.share];
  int segment_end[shape.share + 1];
  packets<T, shape.per_lane> warp_sums[warps][shape.lanes];
  int long_rows[shape.share / shape.long_row()];
  int very_long_rows[shape.share / shape.very_long_row() + 1];
  int long_count, very_long_count;

  __device__ int begin_of(int segment) const { return segment == 0 ? 0 : segment_end[segment - 1]; }
};

/// Where a tile's sums go: to Y, or to its carry.
template <class T, class I> struct tile_results {
  std::int64_t tile, first_row;
  int rows;
  I* carry_row;
  T* carry_sum;
};

/// A tile's rows by groups of lanes; blockIdx.y counts blocks of lanes * per_lane packets.
template <class Shape, class T, class I, class O>
__device__ void multiply_tile_by_packets(const multiply_arguments<T, I, O>& p,
                                         const row_strides& strides, shared_tile<Shape, T, I>& own,
                                         const tile_results<T, I>& to) {
  constexpr row_tile_shape shape = Shape::value;
  constexpr int lanes = shape.lanes, per_lane = shape.per_lane;
  constexpr int width = packet<T>::size, warps = own.warps, groups = shape.groups();
  using sums = packets<T, per_lane>;
  const int thread = static_cast<int>(threadIdx.x), segments = to.rows + 1;
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
          a[u] = own.value[k + u * step];
          const std::int64_t offset =
              static_cast<std::int64_t>(own.column[k + u * step]) * strides.x_row;
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
    const std::int64_t row = to.first_row + s;
#pragma unroll
    for (int v = 0; v < per_lane; ++v) {
      const std::int64_t vector = vector_of(v);
      if (vector >= p.vectors) continue;
      if (s == to.rows) {
#pragma unroll
        for (int w = 0; w < width; ++w)
          if (vector + w < p.vectors)
            to.carry_sum[to.tile * p.vectors + vector + w] = sum.of[v].v[w];
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
  // Groups that share a row, so that few have more than one round of loads.
  const int mean = own.segment_end[to.rows] / segments;
  int sharing = 1;
  while (sharing < groups && 2 * mean > 3 * shape.unroll * sharing) sharing *= 2;
  const int dealt = (warp * groups + group) / sharing, part = group % sharing;
  // All lanes make the same number of rounds: the shuffles need every one of them.
  for (int base = 0; base < segments; base += warps * groups / sharing) {
    const int s = base + dealt;
    int begin = 0, end = 0;
    if (s < segments) {
      begin = own.begin_of(s);
      end = own.segment_end[s];
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
        own.long_rows[atomicAdd(&own.long_count, 1)] = s;
      else
        own.very_long_rows[atomicAdd(&own.very_long_count, 1)] = s;
    }
  }
  __syncthreads();

  const auto sum_of_warp = [&](int begin, int end, int step) {
    sums sum{};
    add_products(sum, begin, end, step);
#pragma unroll
    for (int distance = lanes; distance < 32; distance *= 2) sum.add_shuffled(distance);
    return sum;
  };
  for (int i = warp; i < own.long_count; i += warps) {
    const int s = own.long_rows[i];
    const sums sum = sum_of_warp(own.begin_of(s) + group, own.segment_end[s], groups);
    if (group == 0) store(s, sum);
  }
  for (int i = 0; i < own.very_long_count; ++i) {
    const int s = own.very_long_rows[i];
    sums sum =
        sum_of_warp(own.begin_of(s) + warp * groups + group, own.segment_end[s], warps * groups);
    if (group == 0) own.warp_sums[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && group == 0) {
      for (int other = 1; other < warps; ++other)
#pragma unroll
        for (int v = 0; v < per_lane; ++v)
#pragma unroll
          for (int w = 0; w < width; ++w) sum.of[v].v[w] += own.warp_sums[other][lane].of[v].v[w];
      store(s, sum);
    }
    __syncthreads();
  }
}

/// A tile's rows by lanes, `per_pass` columns of X at a time: x is X by columns. For short rows;
/// others are left to warps.
template <int per_pass, class Shape, class T, class I, class O>
__device__ void multiply_tile_by_columns(const multiply_arguments<T, I, O>& p,
                                         const row_strides& strides, const T* __restrict__ x,
                                         shared_tile<Shape, T, I>& own,
                                         const tile_results<T, I>& to) {
  constexpr int warps = own.warps, longest = 64;
  static_assert(Shape::value.long_row() <= longest);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const auto add_products = [&](T(&sum)[per_pass], std::int64_t first, int k, int end, int step) {
    const T* of[per_pass]; // passes past the last vector repeat it
#pragma unroll
    for (int j = 0; j < per_pass; ++j) of[j] = x + min(first + j, p.vectors - 1) * p.x_stride;
    for (; k < end; k += 2 * step) {
      const bool second = k + step < end;
      const I column = own.column[k], next_column = second ? own.column[k + step] : column;
      const T value = own.value[k], next_value = second ? own.value[k + step] : T{0};
      T element[per_pass], next[per_pass];
#pragma unroll
      for (int j = 0; j < per_pass; ++j) {
        element[j] = __ldg(of[j] + column);
        next[j] = second ? __ldg(of[j] + next_column) : T{0};
      }
#pragma unroll
      for (int j = 0; j < per_pass; ++j) {
        sum[j] += value * element[j];
        sum[j] += next_value * next[j];
      }
    }
  };
  const auto store = [&](int s, std::int64_t first, const T(&sum)[per_pass]) {
    const std::int64_t row = to.first_row + s;
#pragma unroll
    for (int j = 0; j < per_pass; ++j) {
      const std::int64_t vector = first + j;
      if (vector >= p.vectors) continue;
      if (s == to.rows)
        to.carry_sum[to.tile * p.vectors + vector] = sum[j];
      else
        p.y[row * strides.y_row + vector * strides.y_column] =
            finish(p.alpha, sum[j], p.beta, p.z, row * strides.z_row + vector * strides.z_column);
    }
  };
  // Warps take 32 rows and a pass at a time, and then a long row and a pass.
  const int segments = to.rows + 1, warps_of_rows = (segments + 31) / 32;
  const std::int64_t passes = (p.vectors + per_pass - 1) / per_pass;
  for (std::int64_t item = warp; item < warps_of_rows * passes; item += warps) {
    const int s = static_cast<int>(item % warps_of_rows) * 32 + lane;
    const std::int64_t first = item / warps_of_rows * per_pass;
    if (s >= segments) continue;
    const int begin = own.begin_of(s), end = own.segment_end[s];
    if (end - begin > longest) {
      if (first == 0) own.long_rows[atomicAdd(&own.long_count, 1)] = s;
      continue;
    }
    T sum[per_pass] = {};
    add_products(sum, first, begin, end, 1);
    store(s, first, sum);
  }
  __syncthreads();
  for (std::int64_t item = warp; item < own.long_count * passes; item += warps) {
    const int s = own.long_rows[item / passes];
    const std::int64_t first = item % passes * per_pass;
    T sum[per_pass] = {};
    add_products(sum, first, own.begin_of(s) + lane, own.segment_end[s], 32);
#pragma unroll
    for (T& one : sum) one = warp_sum(one);
    if (lane == 0) store(s, first, sum);
  }
}

/// A block a tile. two_ways: columns_alike says which way; columns of X are at x_columns, p.x is
/// their copy in packets.
template <class Shape, bool two_ways, class T, class I, class O>
__global__ void __launch_bounds__(Shape::value.threads, Shape::value.blocks)
    row_tiles_kernel(const multiply_arguments<T, I, O> p, const row_strides strides,
                     const T* __restrict__ x_columns, const int* __restrict__ columns_alike,
                     const tile_start<I, O>* __restrict__ starts, I* __restrict__ carry_row,
                     T* __restrict__ carry_sum) {
  __shared__ shared_tile<Shape, T, I> own;
  const std::int64_t tile = blockIdx.x;
  const tile_start<I, O> begin = starts[tile], end = starts[tile + 1];
  bool by_columns = false;
  if constexpr (two_ways) by_columns = *columns_alike != 0;
  if (by_columns && blockIdx.y > 0) return; // the first takes all vectors
  const tile_results<T, I> to{tile, begin.row, static_cast<int>(end.row - begin.row), carry_row,
                              carry_sum};
  if (threadIdx.x == 0) {
    own.long_count = own.very_long_count = 0;
    if (blockIdx.y == 0) carry_row[tile] = static_cast<I>(end.row);
  }
  stage_tile<Shape::value.share, Shape::value.threads>(p, begin, to.rows,
                                                       static_cast<int>(end.entry - begin.entry),
                                                       own.value, own.column, own.segment_end);
  __syncthreads();
  if constexpr (two_ways)
    if (by_columns) return multiply_tile_by_columns<4>(p, strides, x_columns, own, to);
  multiply_tile_by_packets(p, strides, own, to);
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

} // namespace lacuna::detail::gpu
