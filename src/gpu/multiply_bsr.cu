// Y = alpha A X + beta Z on the device, A in block CSR. One warp per block row. Its lanes take
// neighbouring places of neighbouring blocks, so that values are read in order and each lane keeps
// to one place (r, c) of its blocks; lanes of one row are added up at the end, in a fixed order.
// Memory-bound: b b values and an index per block.
#include <lacuna/format/bsr.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/offsets.cuh"

namespace lacuna::detail::gpu {
namespace {

template <class T, class I> struct block_multiply_arguments {
  read_offsets rowptr;
  const I* colind;
  const T* values;
  const std::uint64_t* masks;
  std::int64_t block_rows, rows;
  const T* x;
  const T* z;
  T* y;
  T alpha, beta;
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column;
  int vectors; ///< columns of X, those of this launch
};

/// How the places of blocks are dealt out to 32 lanes: `blocks` blocks at a time, and of each
/// `rows` rows, in `passes` passes.
template <int b> struct block_lanes {
  static constexpr int blocks = b * b <= 32 ? 32 / (b * b) : 1;
  static constexpr int passes = b * b <= 32 ? 1 : (b + 32 / b - 1) / (32 / b);
  static constexpr int rows = (b + passes - 1) / passes;
  static constexpr int used = blocks * rows * b;
};

template <int b, int vectors, class T, class I>
__global__ void __launch_bounds__(block_threads)
    multiply_blocks_kernel(const block_multiply_arguments<T, I> p) {
  using deal = block_lanes<b>;
  constexpr int places = deal::rows * b;
  const std::int64_t i = thread_index() / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (i >= p.block_rows) return;
  const int of_block = lane / places, place = lane % places;
  const int c = place / deal::rows, r = place % deal::rows; // neighbours are in one column
  const bool works = lane < deal::used;
  T sums[deal::passes][vectors] = {};
  const std::int64_t end = p.rowptr[i + 1];
  // Measured on an H200 against columns held by lanes and shuffled: fem3d 40 x 3 51 us, with those
  // 76.
#pragma unroll 4
  for (std::int64_t k = p.rowptr[i] + of_block; works && k < end; k += deal::blocks) {
    const I stored = p.colind[k];
    const std::int64_t column = (stored < 0 ? ~stored : stored) * std::int64_t{b} + c;
    const std::uint64_t mask = stored < 0 ? p.masks[k] : ~std::uint64_t{0};
#pragma unroll
    for (int pass = 0; pass < deal::passes; ++pass) {
      const int row = pass * deal::rows + r;
      if (row >= b) continue;
      const int e = c * b + row;
      const T value = load_once(p.values + k * (b * b) + e);
      if ((mask >> e & 1) == 0) continue;
#pragma unroll
      for (int j = 0; j < vectors; ++j)
        if (j < p.vectors) sums[pass][j] += value * p.x[column * p.x_row + j * p.x_column];
    }
  }
#pragma unroll
  for (int pass = 0; pass < deal::passes; ++pass)
#pragma unroll
    for (int j = 0; j < vectors; ++j) {
      // Column after column of a block, block after block.
      T sum = __shfl_sync(whole_warp, sums[pass][j], r);
#pragma unroll
      for (int of = 1; of < deal::blocks * b; ++of)
        sum += __shfl_sync(whole_warp, sums[pass][j], of / b * places + of % b * deal::rows + r);
      const std::int64_t row = i * b + pass * deal::rows + r;
      if (lane >= deal::rows || pass * deal::rows + r >= b || row >= p.rows || j >= p.vectors)
        continue;
      T* const y = p.y + row * p.y_row + j * p.y_column;
      *y = p.beta == T{0} ? p.alpha * sum
                          : p.alpha * sum + p.beta * p.z[row * p.z_row + j * p.z_column];
    }
}

template <int b, class T, class I>
void run_blocks(const device_context& ctx, block_multiply_arguments<T, I> p, std::int64_t vectors) {
  constexpr int together = 4;
  const unsigned blocks = blocks_for(32 * p.block_rows);
  for (std::int64_t j = 0; j < vectors; j += together) {
    p.vectors = static_cast<int>(min(vectors - j, std::int64_t{together}));
    if (p.vectors == 1)
      multiply_blocks_kernel<b, 1><<<blocks, block_threads, 0, ctx.stream()>>>(p);
    else
      multiply_blocks_kernel<b, together><<<blocks, block_threads, 0, ctx.stream()>>>(p);
    check_launch("multiply_blocks_kernel");
    p.x += together * p.x_column;
    p.z += together * p.z_column;
    p.y += together * p.y_column;
  }
}

} // namespace

template <class T, class I, class O>
void multiply_format(const device_context& ctx, T alpha, bsr_view<const T, I, O, space::device> a,
                     dense_view<const T, space::device> x, T beta,
                     dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const auto [rows, vectors] = y.shape();
  if (rows == 0 || vectors == 0) return;
  const device_guard guard(ctx.device());
  if (beta == T{0}) z = {};
  const block_multiply_arguments<T, I> p{a.rowptr().data(),
                                         a.colind().data(),
                                         a.values().data(),
                                         a.masks().data(),
                                         a.block_rows(),
                                         rows,
                                         x.data(),
                                         z.data(),
                                         y.data(),
                                         alpha,
                                         beta,
                                         x.row_stride(),
                                         x.col_stride(),
                                         z.row_stride(),
                                         z.col_stride(),
                                         y.row_stride(),
                                         y.col_stride(),
                                         0};
  switch (a.block()) {
  case 2: return run_blocks<2>(ctx, p, vectors);
  case 3: return run_blocks<3>(ctx, p, vectors);
  case 4: return run_blocks<4>(ctx, p, vectors);
  case 5: return run_blocks<5>(ctx, p, vectors);
  case 6: return run_blocks<6>(ctx, p, vectors);
  case 7: return run_blocks<7>(ctx, p, vectors);
  default: return run_blocks<8>(ctx, p, vectors);
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(                                                          \
      const device_context&, T, bsr_view<const T, I, O, space::device>,                            \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
