// y = alpha A x + beta z on the device, A a dynamic CSR. Rows are in three bins: up to 64 entries,
// some lanes each, in the order of the matrix; up to 2048, a warp each; beyond, 2 to 16 blocks. The
// matrix lists the rows of the latter two. All go in one launch. A compact matrix is CSR's.
#include <lacuna/format/dynamic_csr.hpp>

#include "gpu/multiply_csr.cuh"
#include "gpu/multiply_dynamic_csr_dense.cuh"
#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/core/array.hpp>
#include <lacuna/op/multiply.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O> struct dynamic_product {
  dynamic_csr_view<const T, I, O, space::device> a;
  T alpha, beta;
  const T *x, *z; // z is not read if beta is 0
  T* y;
  std::int64_t x_row, z_row, y_row; // strides

  __device__ void store(std::int64_t row, T sum) const {
    y[row * y_row] = beta == T{0} ? alpha * sum : alpha * sum + beta * z[row * z_row];
  }
};

/// The products of entries [begin, end) that a thread out of `threads` has.
template <int unroll, class T, class I, class O>
__device__ T sum_of_segment(const dynamic_product<T, I, O>& p, O begin, O end, int thread,
                            int threads) {
  T sum{0};
  for (std::int64_t k = std::int64_t{begin} + thread; k < end; k += unroll * threads) {
    I column[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t at = k + u * threads;
      column[u] = at < end ? __ldg(p.a.colind + at) : I{-1};
      value[u] = at < end ? __ldg(p.a.values + at) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      if (column[u] >= 0) sum += value[u] * __ldg(p.x + column[u] * p.x_row);
  }
  return sum;
}

/// What a lane out of `lanes` has of a row. The first two segments are one run to them; their ends
/// are read before it is known whether there are two.
template <int lanes, class T, class I, class O>
__device__ T sum_of_row(const dynamic_product<T, I, O>& p, std::int64_t row, int lane) {
  constexpr int unroll = 4;
  const O begin = p.a.begin[row], end = p.a.end[row];
  const std::int64_t second = p.a.segments > 1 ? p.a.pitch + row : row;
  const O next = p.a.begin[second], next_end = p.a.end[second];
  const int count = p.a.counts[row];
  const O length = count > 0 ? end - begin : 0;
  const O all = length + (count > 1 ? next_end - next : 0);
  const O jump = next - length; // from a place in the run to one of the second segment
  T sum{0};
  for (O e = static_cast<O>(lane); e < all; e += unroll * lanes) {
    I column[unroll];
    T value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const O at = e + static_cast<O>(u * lanes);
      const O k = at < length ? begin + at : jump + at;
      column[u] = at < all ? __ldg(p.a.colind + k) : I{-1};
      value[u] = at < all ? __ldg(p.a.values + k) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      if (column[u] >= 0) sum += value[u] * __ldg(p.x + column[u] * p.x_row);
  }
  for (int s = 2; s < count; ++s)
    sum += sum_of_segment<1>(p, p.a.begin[s * p.a.pitch + row], p.a.end[s * p.a.pitch + row], lane,
                             lanes);
  return sum;
}
/// A row by `lanes` neighbouring lanes.
template <int lanes, class T, class I, class O>
__device__ void multiply_short_row(const dynamic_product<T, I, O>& p, std::int64_t row, int lane) {
  T sum = sum_of_row<lanes>(p, row, lane);
  const unsigned group = (0xffffffffu >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(group, sum, step, lanes);
  if (lane == 0) p.store(row, sum);
}
/// One of the middle rows that the matrix lists, by a warp.
template <class T, class I, class O>
__device__ void multiply_mid_row(const dynamic_product<T, I, O>& p, std::int64_t i, int lane) {
  if (i >= p.a.mid_row_count) return;
  const std::int64_t row = p.a.mid_rows[i];
  if (p.a.sizes[row] <= mid_row || p.a.sizes[row] > long_row) return; // it was one
  const T sum = warp_sum(sum_of_row<32>(p, row, lane));
  if (lane == 0) p.store(row, sum);
}
/// Blocks that share a long row, each with a part of every segment: many where there are few.
inline int parts_of_long_rows(std::int64_t rows) {
  return rows > 1024 ? 2 : rows > 512 ? 4 : rows > 256 ? 8 : 16;
}

template <class T, class I, class O>
__device__ void sum_long_row(const dynamic_product<T, I, O>& p, std::int64_t i, int part,
                             int long_parts, T* partial) {
  const std::int64_t row = p.a.long_rows[i];
  if (p.a.sizes[row] <= long_row) return; // it was one
  __shared__ T sums[block_threads / 32];
  T sum{0};
  for (int s = 0; s < p.a.counts[row]; ++s) {
    const std::int64_t begin = p.a.begin[s * p.a.pitch + row];
    const std::int64_t length = p.a.end[s * p.a.pitch + row] - begin;
    const auto cut = [&](int at) { return static_cast<O>(begin + length * at / long_parts); };
    sum += sum_of_segment<4>(p, cut(part), cut(part + 1), static_cast<int>(threadIdx.x),
                             block_threads);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  T total = sums[0];
  for (int w = 1; w < block_threads / 32; ++w) total += sums[w];
  partial[i * long_parts + part] = total;
}

/// Blocks for long rows come first, then those for middle ones, then the others.
template <int lanes, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    multiply_segments(const dynamic_product<T, I, O> p, std::int64_t mid_blocks, int long_parts,
                      T* partial) {
  const std::int64_t long_blocks = p.a.long_row_count * long_parts;
  const std::int64_t block = std::int64_t{blockIdx.x} - long_blocks;
  if (block < 0)
    return sum_long_row(p, blockIdx.x / long_parts, static_cast<int>(blockIdx.x % long_parts),
                        long_parts, partial);
  const int thread = static_cast<int>(threadIdx.x);
  if (block < mid_blocks)
    return multiply_mid_row(p, block * (block_threads / 32) + thread / 32, thread % 32);
  const std::int64_t row =
      ((block - mid_blocks) * block_threads + static_cast<std::int64_t>(threadIdx.x)) / lanes;
  if (row >= p.a.extent.row) return; // a group leaves as a whole
  if (p.a.mid_row_count > 0 && p.a.sizes[row] > mid_row) return;
  multiply_short_row<lanes>(p, row, thread % lanes);
}

template <int lanes, class T, class I, class O>
void launch_segments(const device_context& ctx, const dynamic_product<T, I, O>& p) {
  const std::int64_t long_rows = p.a.long_row_count;
  const int long_parts = parts_of_long_rows(long_rows);
  const std::int64_t mid_blocks = blocks_for(p.a.mid_row_count * 32);
  array<T, space::device> partial(ctx, long_rows * long_parts);
  T* const sums = partial.data();
  const std::int64_t blocks =
      long_rows * long_parts + mid_blocks + blocks_for(std::int64_t{p.a.extent.row} * lanes);
  multiply_segments<lanes><<<blocks_for(blocks * block_threads), block_threads, 0, ctx.stream()>>>(
      p, mid_blocks, long_parts, sums);
  check_launch("multiply_segments");
  for_each(ctx, long_rows, "sum_long_rows", [=] __device__(std::int64_t i) {
    const std::int64_t row = p.a.long_rows[i];
    if (p.a.sizes[row] <= long_row) return;
    T total = sums[i * long_parts];
    for (int part = 1; part < long_parts; ++part) total += sums[i * long_parts + part];
    p.store(row, total);
  });
}

} // namespace

template <class T, class I, class O>
void multiply_format(const device_context& ctx, T alpha,
                     dynamic_csr_view<const T, I, O, space::device> a,
                     dense_view<const T, space::device> x, T beta,
                     dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const std::int64_t rows = a.extent.row;
  if (rows == 0) return;
  if (a.compact) {
    const csr_view<const T, I, O, space::device> rows_of(a.values, a.begin, a.colind, a.extent,
                                                         a.nnz);
    if (a.tiles.count > 0 && y.shape().col > 0 && are_vectors(x, beta, z, y)) {
      const device_guard guard(ctx.device());
      const tile_kind kind = a.tiles.longest == 0    ? tile_kind::split
                             : a.tiles.longest <= 32 ? tile_kind::short_rows
                                                     : tile_kind::whole_rows;
      return multiply_tiles<T, I, O>(
          ctx, make_arguments<T, I, O>(alpha, rows_of, x.data(), beta, z.data(), y.data()), kind,
          {a.tiles.starts, a.tiles.count + 1});
    }
    return multiply_format<T, I, O>(ctx, alpha, inspected_csr<T, I, O, space::device>{rows_of}, x,
                                    beta, z, y);
  }
  const device_guard guard(ctx.device());
  if (y.shape().col > 1) return multiply_dynamic_dense<T, I, O>(ctx, alpha, a, x, beta, z, y);
  for (std::int64_t j = 0; j < y.shape().col; ++j) {
    const dynamic_product<T, I, O> p{a,
                                     alpha,
                                     beta,
                                     x.data() + j * x.col_stride(),
                                     beta == T{0} ? nullptr : z.data() + j * z.col_stride(),
                                     y.data() + j * y.col_stride(),
                                     x.row_stride(),
                                     beta == T{0} ? 0 : z.row_stride(),
                                     y.row_stride()};
    // Where middle and long rows have much of the entries, the others are shorter than the mean.
    const std::int64_t mean = a.nnz / rows / (a.mid_row_count > a.nnz / 512 ? 4 : 1);
    if (mean < 4)
      launch_segments<2>(ctx, p);
    else if (mean < 16)
      launch_segments<4>(ctx, p);
    else if (mean < 48)
      launch_segments<8>(ctx, p);
    else
      launch_segments<32>(ctx, p);
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(                                                          \
      const device_context&, T, dynamic_csr_view<const T, I, O, space::device>,                    \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
