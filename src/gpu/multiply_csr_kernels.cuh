// The kernels of multiply_csr.cu. `Columns` is where columns come from: a pointer to CSR's, or what
// stands in for one (packed_columns.cuh).
#pragma once

#include "gpu/multiply_csr.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/core/checked.hpp>

namespace lacuna::detail::gpu {

/// Columns of X that one block multiplies its tile with before the next block takes over.
constexpr int vectors_per_block = 8;
/// Products that a whole block sums together; shorter rows are left to a warp or a few lanes.
constexpr int very_long_row = 512;

/// The column at a distance, or -1 where that is not inside: through the cache, for columns that
/// threads read close together, and past it.
template <class I> __device__ I load_cached_if(bool inside, const I* columns, int distance) {
  return inside ? __ldg(columns + distance) : I{-1};
}
template <class I> __device__ I load_once_if(bool inside, const I* columns, int distance) {
  return inside ? load_once(columns + distance) : I{-1};
}

/// A row by `lanes` neighbouring lanes. `unroll` entries a lane are loaded before the first is
/// used: the loads in flight, not the arithmetic, set the speed.
template <int lanes, int unroll, class T, class I, class O, class Columns>
__global__ void __launch_bounds__(block_threads)
    multiply_rows_kernel(const multiply_arguments<T, I, O, Columns> p) {
  const std::int64_t row = thread_index() / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  if (row >= p.rows) return; // a group leaves as a whole
  const O begin = p.rowptr[row];
  // Counts down what is left of the row, so that nothing overflows near 2^31 entries.
  O left = p.rowptr[row + 1] - begin - lane;
  Columns columns = p.colind + begin + lane;
  const T* values = p.values + begin + lane;
  T sum{0};
  for (; left > 0; left -= lanes * unroll, columns += lanes * unroll, values += lanes * unroll) {
    I column[unroll];
    T value[unroll], gathered[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const bool inside = left > u * lanes;
      column[u] = load_cached_if(inside, columns, u * lanes);
      value[u] = inside ? __ldg(values + u * lanes) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) gathered[u] = column[u] >= 0 ? __ldg(p.x + column[u]) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * gathered[u];
  }
  const unsigned group = (0xffffffffu >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(group, sum, step, lanes);
  if (lane == 0) p.y[row] = finish(p.alpha, sum, p.beta, p.z, row);
}

template <int lanes, int unroll, class T, class I, class O, class Columns>
void launch_rows(const device_context& ctx, const multiply_arguments<T, I, O, Columns>& p) {
  multiply_rows_kernel<lanes, unroll>
      <<<blocks_for(p.rows * lanes), block_threads, 0, ctx.stream()>>>(p);
  check_launch("multiply_rows_kernel");
}

/// Where product k of a tile is kept: one gap every 128 bytes, so that lanes that walk rows of 8,
/// 16 or 32 entries do not all meet in one bank.
template <class T> __device__ constexpr int padded(int k) {
  return k + k / static_cast<int>(128 / sizeof(T));
}

/// Blocks of tiles that an SM is to hold: as many as have registers without spilling.
template <class Columns, bool several> inline constexpr int tile_blocks = several ? 3 : 4;
template <class I, bool several>
inline constexpr int tile_blocks<const I*, several> = sizeof(I) == 4 && !several ? 5 : 4;

/// A tile of neighbouring entries a block: products go to shared memory, then each row's are
/// summed by a few lanes. `mixed` tiles may hold long rows, left to a warp or to the whole block.
template <tile_kind kind, bool several, class T, class I, class O, class Columns>
__global__ void __launch_bounds__(block_threads, (tile_blocks<Columns, several>))
    multiply_tiles_kernel(const multiply_arguments<T, I, O, Columns> p,
                          const tile_start<I, O>* __restrict__ starts, std::int64_t tiles,
                          I* __restrict__ carry_row, T* __restrict__ carry_sum) {
  constexpr bool split = kind == tile_kind::split, mixed = kind != tile_kind::short_rows;
  constexpr int warps = block_threads / 32;
  __shared__ T products[padded<T>(tile_capacity)];
  __shared__ T warp_sums[warps];
  __shared__ int long_rows[tile_capacity / 32], very_long_rows[tile_capacity / very_long_row];
  __shared__ int long_count, very_long_count;

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tile = blockIdx.x;
  const tile_start<I, O> begin_of_tile = starts[tile], end_of_tile = starts[tile + 1];
  const std::int64_t first_row = begin_of_tile.row;
  const O first_entry = begin_of_tile.entry;
  const int rows = static_cast<int>(end_of_tile.row - first_row);
  const int entries = static_cast<int>(end_of_tile.entry - first_entry);
  if (mixed && thread == 0) long_count = very_long_count = 0;

  I column[tile_items_per_thread];
  T value[tile_items_per_thread];
#pragma unroll
  for (int u = 0; u < tile_items_per_thread; ++u) {
    const int k = thread + u * block_threads;
    column[u] = load_once_if(k < entries, p.colind + first_entry, k);
    value[u] = k < entries ? load_once(p.values + first_entry + k) : T{0};
  }

  // A split tile ends inside one more row, whose sum is carried to the tile where it ends.
  const int segments = split ? rows + 1 : rows;
  const O* rowptr = p.rowptr + first_row;
  const auto segment_begin = [&](int s) {
    return split && s == 0 ? 0 : static_cast<int>(rowptr[s] - first_entry);
  };
  const auto segment_end = [&](int s) {
    return split && s == rows ? entries : static_cast<int>(rowptr[s + 1] - first_entry);
  };
  const int mean = entries / max(segments, 1);
  const int lanes = mean < 20 ? 1 : mean < 96 ? 2 : 8;
  const int lane = thread % lanes, warp_lane = thread % 32, warp = thread / 32;

  const std::int64_t first_vector = several ? std::int64_t{blockIdx.y} * vectors_per_block : 0;
  const std::int64_t last_vector = several ? min(p.vectors, first_vector + vectors_per_block) : 1;
  for (std::int64_t j = first_vector; j < last_vector; ++j) {
    const auto store = [&](int s, T sum) {
      if (!split || s < rows)
        p.y[j * p.y_stride + first_row + s] =
            finish(p.alpha, sum, p.beta, p.z + j * p.z_stride, first_row + s);
      else {
        carry_sum[j * tiles + tile] = sum;
        carry_row[tile] = end_of_tile.row;
      }
    };
    const T* x = p.x + j * p.x_stride;
#pragma unroll
    for (int u = 0; u < tile_items_per_thread; ++u)
      if (column[u] >= 0)
        products[padded<T>(thread + u * block_threads)] = value[u] * __ldg(x + column[u]);
    __syncthreads();

    // All lanes make the same number of rounds: the shuffles need every one of them.
    for (int base = 0; base < segments; base += block_threads / lanes) {
      const int s = base + thread / lanes;
      int begin = 0, end = 0;
      if (s < segments) {
        begin = segment_begin(s);
        end = segment_end(s);
      }
      const bool is_long = mixed && end - begin > 32 * lanes;
      T sum{0};
      if (!is_long)
        for (int k = begin + lane; k < end; k += lanes) sum += products[padded<T>(k)];
      for (int step = lanes / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane == 0 && s < segments) {
        if (!is_long)
          store(s, sum);
        else if (end - begin <= very_long_row)
          long_rows[atomicAdd(&long_count, 1)] = s;
        else
          very_long_rows[atomicAdd(&very_long_count, 1)] = s;
      }
    }
    if constexpr (mixed) {
      __syncthreads();
      for (int i = warp; i < long_count; i += warps) {
        const int s = long_rows[i], end = segment_end(s);
        T sum{0};
        for (int k = segment_begin(s) + warp_lane; k < end; k += 32) sum += products[padded<T>(k)];
        sum = warp_sum(sum);
        if (warp_lane == 0) store(s, sum);
      }
      for (int i = 0; i < very_long_count; ++i) {
        const int s = very_long_rows[i], end = segment_end(s);
        T sum{0};
        for (int k = segment_begin(s) + thread; k < end; k += block_threads)
          sum += products[padded<T>(k)];
        sum = warp_sum(sum);
        if (warp_lane == 0) warp_sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
          sum = warp_sum(warp_lane < warps ? warp_sums[warp_lane] : T{0});
          if (warp_lane == 0) store(s, sum);
        }
        __syncthreads();
      }
    }
    if (j + 1 < last_vector) {
      __syncthreads(); // the next vector overwrites products and lists
      if (mixed && thread == 0) long_count = very_long_count = 0;
    }
  }
}

/// Adds the open sums of tiles to the rows they belong to: a warp for each run of tiles that end
/// in the same row, each lane in tile order.
template <class T, class I, class O, class Columns>
__global__ void add_carries_kernel(const multiply_arguments<T, I, O, Columns> p, std::int64_t tiles,
                                   const I* __restrict__ carry_row,
                                   const T* __restrict__ carry_sum) {
  const std::int64_t tile = thread_index() / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (tile >= tiles) return;
  const I row = carry_row[tile];
  if (row >= p.rows || (tile > 0 && carry_row[tile - 1] == row)) return;
  for (std::int64_t j = 0; j < p.vectors; ++j) {
    T sum{0};
    for (std::int64_t t = tile + lane; t < tiles && carry_row[t] == row; t += 32)
      sum += carry_sum[j * tiles + t];
    sum = warp_sum(sum);
    if (lane == 0) p.y[j * p.y_stride + row] += p.alpha * sum;
  }
}

template <class T, class I, class O, class Columns>
void run_rows(const device_context& ctx, const multiply_arguments<T, I, O, Columns>& p, int lanes) {
  switch (lanes) {
  case 1: return launch_rows<1, 4>(ctx, p);
  case 2: return launch_rows<2, 4>(ctx, p);
  case 4: return launch_rows<4, 4>(ctx, p);
  case 8: return launch_rows<8, 4>(ctx, p);
  case 16: return launch_rows<16, 4>(ctx, p);
  default: return launch_rows<32, 4>(ctx, p);
  }
}

/// `starts` has one element more than there are tiles.
template <class T, class I, class O, class Columns>
void run_tiles(const device_context& ctx, const multiply_arguments<T, I, O, Columns>& p,
               tile_kind kind, vector_view<const tile_start<I, O>, space::device> starts) {
  if (p.vectors == 0) return;
  const std::int64_t tiles = starts.size() - 1;
  const dim3 grid(blocks_for(tiles * block_threads),
                  static_cast<unsigned>((p.vectors + vectors_per_block - 1) / vectors_per_block));
  const auto launch = [&](auto kind_constant, auto several, I* carry_row, T* carry_sum) {
    multiply_tiles_kernel<kind_constant(), several()>
        <<<grid, block_threads, 0, ctx.stream()>>>(p, starts.data(), tiles, carry_row, carry_sum);
    check_launch("multiply_tiles_kernel");
  };
  using short_rows = std::integral_constant<tile_kind, tile_kind::short_rows>;
  using whole_rows = std::integral_constant<tile_kind, tile_kind::whole_rows>;
  using split_rows = std::integral_constant<tile_kind, tile_kind::split>;
  if (kind == tile_kind::short_rows && p.vectors == 1)
    return launch(short_rows{}, std::false_type{}, nullptr, nullptr);
  if (kind == tile_kind::whole_rows && p.vectors == 1)
    return launch(whole_rows{}, std::false_type{}, nullptr, nullptr);
  if (kind != tile_kind::split) return launch(whole_rows{}, std::true_type{}, nullptr, nullptr);

  array<I, space::device> carry_row(ctx, tiles);
  array<T, space::device> carry_sum(ctx, checked_mul(tiles, p.vectors));
  if (p.vectors == 1)
    launch(split_rows{}, std::false_type{}, carry_row.data(), carry_sum.data());
  else
    launch(split_rows{}, std::true_type{}, carry_row.data(), carry_sum.data());
  add_carries_kernel<<<blocks_for(tiles * 32), block_threads, 0, ctx.stream()>>>(
      p, tiles, carry_row.data(), carry_sum.data());
  check_launch("add_carries_kernel");
}

} // namespace lacuna::detail::gpu
