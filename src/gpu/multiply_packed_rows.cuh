// X copied into rows of whole packets, for the row tiles of multiply_csr_dense.cu, and a look at A
// that tells whether the copy pays.
#pragma once

#include "gpu/multiply_csr.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {

/// Whether neighbouring rows read neighbouring elements of a column of X so often that reading it
/// as it is moves less than copying it into packets: 32-byte sectors an entry against an element
/// and its share of the copy, which goes through memory. One block of 32 warps, each with 32 rows.
template <class T, class I, class O>
__global__ void __launch_bounds__(1024)
    look_at_columns_kernel(const multiply_arguments<T, I, O> p, std::int64_t columns,
                           int* __restrict__ alike) {
  constexpr int looked_at = 8; // entries of a row
  __shared__ int warp_sectors[32], warp_entries[32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  // Somewhere in each 32nd of the rows: at equal distances grids show nothing but borders.
  const std::int64_t stretch = p.rows / 32;
  const std::int64_t row =
      warp * stretch + (stretch > 32 ? warp * 2654435761u % (stretch - 31) : 0) + lane;
  O first{0}, last{0};
  if (row < p.rows) {
    first = p.rowptr[row];
    last = p.rowptr[row + 1];
  }
  I column[looked_at];
#pragma unroll
  for (int e = 0; e < looked_at; ++e)
    column[e] = first + e < last ? __ldg(p.colind + first + e) : I{-1};
  int sectors = 0, entries = 0;
#pragma unroll
  for (int e = 0; e < looked_at; ++e) {
    const bool inside = column[e] >= 0;
    const std::int64_t sector = inside ? column[e] / static_cast<int>(32 / sizeof(T)) : -1;
    const std::int64_t before = __shfl_up_sync(whole_warp, sector, 1);
    entries += inside;
    sectors += inside && (lane == 0 || before != sector);
  }
  sectors = warp_sum(sectors);
  entries = warp_sum(entries);
  if (lane == 0) {
    warp_sectors[warp] = sectors;
    warp_entries[warp] = entries;
  }
  __syncthreads();
  if (warp > 0) return;
  sectors = warp_sum(warp_sectors[lane]);
  entries = warp_sum(warp_entries[lane]);
  const double copied = 3 * static_cast<double>(columns) / static_cast<double>(p.entries);
  if (lane == 0) *alike = 32.0 * sectors <= (1 + copied) * sizeof(T) * entries;
}

/// Rows of X in packets: scratch[i * width_of_row + j] = X(i, j), 0 past the last vector. A block
/// takes `rows` rows of X and `columns` of scratch, pack_rounds times. Nothing where *alike is not
/// 0; alike may be null.
constexpr int pack_rounds = 4;
template <int rows, int columns, class T>
__global__ void __launch_bounds__(block_threads)
    pack_rows_kernel(const T* __restrict__ x, std::int64_t x_row, std::int64_t x_column,
                     std::int64_t count, std::int64_t vectors, int width_of_row,
                     const int* __restrict__ alike, T* __restrict__ scratch) {
  constexpr int steps = rows * columns / block_threads;
  static_assert(rows * columns % block_threads == 0);
  if (alike != nullptr && *alike != 0) return;
  __shared__ T kept[rows][columns + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first_column = std::int64_t{blockIdx.y} * columns;
  for (int round = 0; round < pack_rounds; ++round) {
    const std::int64_t first_row = (std::int64_t{blockIdx.x} * pack_rounds + round) * rows;
    if (first_row >= count) return;
    T own[steps];
#pragma unroll
    for (int u = 0; u < steps; ++u) {
      const int i = (thread + u * block_threads) % rows, j = (thread + u * block_threads) / rows;
      const bool inside = first_row + i < count && first_column + j < vectors;
      own[u] = inside ? __ldg(x + (first_row + i) * x_row + (first_column + j) * x_column) : T{0};
    }
    if (round > 0) __syncthreads();
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
}

} // namespace lacuna::detail::gpu
