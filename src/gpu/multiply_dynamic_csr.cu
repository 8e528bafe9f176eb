// y = alpha A x + beta z on the device, A a dynamic CSR: rows of like many lanes, each segment
// after segment; rows of more than 2048 entries, which the matrix lists, get 16 blocks each. A
// compact matrix is CSR's.
#include <lacuna/format/dynamic_csr.hpp>

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

/// A row by `lanes` neighbouring lanes, segment by segment.
template <int lanes, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    multiply_segments(const dynamic_product<T, I, O> p) {
  const std::int64_t row = thread_index() / lanes;
  if (row >= p.a.extent.row) return; // a group leaves as a whole
  if (p.a.long_row_count > 0 && p.a.sizes[row] > long_row) return;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  // The first segment is read before it is known whether there is one: most rows have it.
  const O begin = p.a.begin[row], end = p.a.end[row];
  const int count = p.a.counts[row];
  T sum = count == 0 ? T{0} : sum_of_segment<2>(p, begin, end, lane, lanes);
  for (int s = 1; s < count; ++s)
    sum += sum_of_segment<1>(p, p.a.begin[s * p.a.pitch + row], p.a.end[s * p.a.pitch + row], lane,
                             lanes);
  const unsigned group = (0xffffffffu >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(group, sum, step, lanes);
  if (lane == 0) p.store(row, sum);
}

/// Blocks that share a long row: each has a part of every segment.
constexpr int long_parts = 16;

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    sum_long_rows(const dynamic_product<T, I, O> p, T* partial) {
  const std::int64_t row = p.a.long_rows[blockIdx.x];
  if (p.a.sizes[row] <= long_row) return; // it was one
  __shared__ T sums[block_threads / 32];
  T sum{0};
  for (int s = 0; s < p.a.counts[row]; ++s) {
    const std::int64_t begin = p.a.begin[s * p.a.pitch + row];
    const std::int64_t length = p.a.end[s * p.a.pitch + row] - begin;
    const auto cut = [&](std::int64_t part) {
      return static_cast<O>(begin + length * part / long_parts);
    };
    sum += sum_of_segment<4>(p, cut(blockIdx.y), cut(blockIdx.y + 1), static_cast<int>(threadIdx.x),
                             block_threads);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  T total = sums[0];
  for (int w = 1; w < block_threads / 32; ++w) total += sums[w];
  partial[blockIdx.x * long_parts + blockIdx.y] = total;
}
template <class T, class I, class O>
void multiply_long_rows(const device_context& ctx, const dynamic_product<T, I, O>& p) {
  const std::int64_t rows = p.a.long_row_count;
  array<T, space::device> partial(ctx, rows * long_parts);
  T* const sums = partial.data();
  sum_long_rows<<<dim3(static_cast<unsigned>(rows), long_parts), block_threads, 0, ctx.stream()>>>(
      p, sums);
  check_launch("sum_long_rows");
  for_each(ctx, rows, "sum_long_rows", [=] __device__(std::int64_t i) {
    const std::int64_t row = p.a.long_rows[i];
    if (p.a.sizes[row] <= long_row) return;
    T total = sums[i * long_parts];
    for (int part = 1; part < long_parts; ++part) total += sums[i * long_parts + part];
    p.store(row, total);
  });
}

template <int lanes, class T, class I, class O>
void launch_segments(const device_context& ctx, const dynamic_product<T, I, O>& p) {
  multiply_segments<lanes>
      <<<blocks_for(std::int64_t{p.a.extent.row} * lanes), block_threads, 0, ctx.stream()>>>(p);
  check_launch("multiply_segments");
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
    const std::int64_t mean = a.nnz / rows;
    if (mean < 4)
      launch_segments<2>(ctx, p);
    else if (mean < 16)
      launch_segments<4>(ctx, p);
    else if (mean < 48)
      launch_segments<8>(ctx, p);
    else
      launch_segments<32>(ctx, p);
    if (a.long_row_count > 0) multiply_long_rows(ctx, p);
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(                                                          \
      const device_context&, T, dynamic_csr_view<const T, I, O, space::device>,                    \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
