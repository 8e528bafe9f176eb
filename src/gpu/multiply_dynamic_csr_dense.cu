// Y = alpha A X + beta Z on the device, A a dynamic CSR, X with several columns: a row's lanes are
// some along the columns of X, where a row of X is one read if it is row-major, times some along
// the entries of the row. Long rows, which the matrix lists, are shared by blocks. No atomics; sums
// in a fixed order.
#include "gpu/multiply_dynamic_csr_dense.cuh"

#include "gpu/parts/cuda.cuh"
#include <lacuna/core/array.hpp>
#include <lacuna/core/checked.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O> struct dynamic_dense_product {
  dynamic_csr_view<const T, I, O, space::device> a;
  T alpha, beta;
  const T *x, *z; // z is not read if beta is 0
  T* y;
  std::int64_t vectors;
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column; // strides

  __device__ T finished(std::int64_t row, std::int64_t vector, T sum) const {
    return beta == T{0} ? alpha * sum : alpha * sum + beta * z[row * z_row + vector * z_column];
  }
  __device__ void store(std::int64_t row, std::int64_t vector, T result) const {
    y[row * y_row + vector * y_column] = result;
  }
  /// Products of places first, first + step, … below end with a column of X.
  __device__ T sum_of(std::int64_t first, std::int64_t end, int step, const T* column) const {
    T sum{0};
#pragma unroll 4
    for (std::int64_t k = first; k < end; k += step)
      sum += __ldg(a.values + k) *
             __ldg(column + static_cast<std::int64_t>(__ldg(a.colind + k)) * x_row);
    return sum;
  }
};

/// Rows of at most long_row entries. blockIdx.y counts blocks of vector_lanes vectors.
template <int vector_lanes, int entry_lanes, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    multiply_segments_dense(const dynamic_dense_product<T, I, O> p) {
  constexpr int lanes = vector_lanes * entry_lanes;
  static_assert(lanes <= 32);
  const std::int64_t row = thread_index() / lanes;
  if (row >= p.a.extent.row) return; // the lanes of a row leave together
  if (p.a.long_row_count > 0 && p.a.row_size(row) > long_row) return;
  const int lane = static_cast<int>(threadIdx.x) % lanes, entry = lane / vector_lanes;
  const std::int64_t vector = std::int64_t{blockIdx.y} * vector_lanes + lane % vector_lanes;
  const bool inside = vector < p.vectors;
  const T* const column = p.x + (inside ? vector : 0) * p.x_column;
  T sum{0};
  const int count = p.a.segment_count(row);
  for (int s = 0; s < count; ++s)
    sum +=
        p.sum_of(p.a.segment_begin(row, s) + entry, p.a.segment_end(row, s), entry_lanes, column);
  const unsigned group = (0xffffffffu >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
  for (int step = lanes / 2; step >= vector_lanes; step /= 2)
    sum += __shfl_xor_sync(group, sum, step);
  if (entry == 0 && inside) p.store(row, vector, p.finished(row, vector, sum));
}

/// Blocks that share a long row: each has a part of every segment.
constexpr int long_dense_parts = 16;

/// blockIdx.z counts blocks of vector_lanes vectors. Of partial, those of a row's part lie
/// together.
template <int vector_lanes, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    sum_long_rows_dense(const dynamic_dense_product<T, I, O> p, T* partial) {
  constexpr int entry_lanes = block_threads / vector_lanes;
  const std::int64_t row = p.a.long_rows[blockIdx.x];
  if (p.a.row_size(row) <= long_row) return; // it was one
  __shared__ T sums[block_threads];
  const int thread = static_cast<int>(threadIdx.x), entry = thread / vector_lanes;
  const std::int64_t vector = std::int64_t{blockIdx.z} * vector_lanes + thread % vector_lanes;
  const bool inside = vector < p.vectors;
  const T* const column = p.x + (inside ? vector : 0) * p.x_column;
  T sum{0};
  for (int s = 0; s < p.a.segment_count(row); ++s) {
    const std::int64_t begin = p.a.segment_begin(row, s);
    const std::int64_t length = p.a.segment_end(row, s) - begin;
    const std::int64_t first = begin + length * blockIdx.y / long_dense_parts;
    const std::int64_t end = begin + length * (blockIdx.y + 1) / long_dense_parts;
    sum += p.sum_of(first + entry, end, entry_lanes, column);
  }
  sums[thread] = sum;
  for (int step = block_threads / 2; step >= vector_lanes; step /= 2) {
    __syncthreads();
    if (thread < step) sums[thread] += sums[thread + step];
  }
  if (thread < vector_lanes && inside)
    partial[(std::int64_t{blockIdx.x} * long_dense_parts + blockIdx.y) * p.vectors + vector] =
        sums[thread];
}
template <int vector_lanes, class T, class I, class O>
void multiply_long_rows_dense(const device_context& ctx, const dynamic_dense_product<T, I, O>& p) {
  const std::int64_t rows = p.a.long_row_count;
  array<T, space::device> partial(ctx, checked_mul(rows * long_dense_parts, p.vectors));
  T* const sums = partial.data();
  const auto blocks = static_cast<unsigned>((p.vectors + vector_lanes - 1) / vector_lanes);
  sum_long_rows_dense<vector_lanes><<<dim3(static_cast<unsigned>(rows), long_dense_parts, blocks),
                                      block_threads, 0, ctx.stream()>>>(p, sums);
  check_launch("sum_long_rows_dense");
  // A row may be listed twice, and Z may be Y: all is read before any is written.
  for_each(ctx, rows * p.vectors, "sum_long_rows_dense", [=] __device__(std::int64_t i) {
    const std::int64_t place = i / p.vectors, vector = i % p.vectors;
    const std::int64_t row = p.a.long_rows[place];
    if (p.a.row_size(row) <= long_row) return;
    T* const parts = sums + place * long_dense_parts * p.vectors + vector;
    T total = parts[0];
    for (int part = 1; part < long_dense_parts; ++part) total += parts[part * p.vectors];
    parts[0] = p.finished(row, vector, total);
  });
  for_each(ctx, rows * p.vectors, "sum_long_rows_dense", [=] __device__(std::int64_t i) {
    const std::int64_t place = i / p.vectors, vector = i % p.vectors;
    const std::int64_t row = p.a.long_rows[place];
    if (p.a.row_size(row) > long_row)
      p.store(row, vector, sums[place * long_dense_parts * p.vectors + vector]);
  });
}

template <int vector_lanes, int entry_lanes, class T, class I, class O>
void launch_segments_dense(const device_context& ctx, const dynamic_dense_product<T, I, O>& p) {
  const auto blocks = static_cast<unsigned>((p.vectors + vector_lanes - 1) / vector_lanes);
  const std::int64_t threads = std::int64_t{p.a.extent.row} * vector_lanes * entry_lanes;
  multiply_segments_dense<vector_lanes, entry_lanes>
      <<<dim3(blocks_for(threads), blocks), block_threads, 0, ctx.stream()>>>(p);
  check_launch("multiply_segments_dense");
  if (p.a.long_row_count > 0) multiply_long_rows_dense<vector_lanes>(ctx, p);
}

} // namespace

template <class T, class I, class O>
void multiply_dynamic_dense(const device_context& ctx, T alpha,
                            dynamic_csr_view<const T, I, O, space::device> a,
                            dense_view<const T, space::device> x, T beta,
                            dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const dynamic_dense_product<T, I, O> p{a,
                                         alpha,
                                         beta,
                                         x.data(),
                                         z.data(),
                                         y.data(),
                                         y.shape().col,
                                         x.row_stride(),
                                         x.col_stride(),
                                         z.row_stride(),
                                         z.col_stride(),
                                         y.row_stride(),
                                         y.col_stride()};
  // Lanes along entries where rows have work for them; reasoned, not measured.
  const bool longer = a.nnz >= 8 * std::int64_t{a.extent.row};
  if (p.vectors > 16)
    launch_segments_dense<32, 1>(ctx, p);
  else if (p.vectors > 8)
    launch_segments_dense<16, 2>(ctx, p);
  else if (p.vectors > 4)
    longer ? launch_segments_dense<8, 4>(ctx, p) : launch_segments_dense<8, 1>(ctx, p);
  else
    longer ? launch_segments_dense<4, 8>(ctx, p) : launch_segments_dense<4, 2>(ctx, p);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_dynamic_dense<T, I, O>(                                                   \
      const device_context&, T, dynamic_csr_view<const T, I, O, space::device>,                    \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
