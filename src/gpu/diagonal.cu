// The diagonal, by a search in sorted rows; rows times factors and columns times factors by entry.
#include "gpu/parts/entries.cuh"
#include <lacuna/op/diagonal.hpp>

namespace lacuna::detail::gpu {
namespace {

constexpr int diagonal_warps = block_threads / 32;
static_assert(block_threads == 1 << 8);
/// Rows that are not sorted and longer than this are summed by a whole block. Reasoned: a warp
/// takes 128 steps for as many entries.
constexpr std::int64_t diagonal_long_row = 4096;

template <class T, class I>
__device__ T diagonal_share(const I* colind, const T* values, std::int64_t row, std::int64_t first,
                            std::int64_t last, int step) {
  T sum = 0;
  for (std::int64_t k = first; k < last; k += step)
    if (colind[k] == row) sum += values[k];
  return sum;
}

/// A group of 2^log_lanes lanes per row, a block for each long one. Lanes' sums are added up in a
/// fixed order.
template <class T, class I>
__global__ void diagonal_kernel(read_offsets rowptr, const I* colind, const T* values,
                                std::int64_t rows, int log_lanes, T* d) {
  const int lanes = 1 << log_lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) << (8 - log_lanes);
  const std::int64_t row = first_row + (threadIdx.x >> log_lanes);
  std::int64_t first = 0, last = 0;
  if (row < rows) {
    first = rowptr[row];
    last = rowptr[row + 1];
  }
  const bool is_long = last - first > diagonal_long_row;
  T sum = is_long ? T{0} : diagonal_share(colind, values, row, first + lane, last, lanes);
  for (int step = lanes / 2; step > 0; step /= 2)
    sum += __shfl_xor_sync(whole_warp, sum, step, lanes);
  if (row < rows && lane == 0 && !is_long) d[row] = sum;
  if (__syncthreads_or(is_long) == 0) return;

  __shared__ T sums[diagonal_warps];
  const std::int64_t end = min(first_row + (block_threads >> log_lanes), rows);
  for (std::int64_t r = first_row; r < end; ++r) {
    const std::int64_t begin = rowptr[r], stop = rowptr[r + 1];
    if (stop - begin <= diagonal_long_row) continue; // alike in all threads
    const T part =
        warp_sum(diagonal_share(colind, values, r, begin + threadIdx.x, stop, block_threads));
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x == 0) {
      T total = 0;
      for (const T s : sums) total += s;
      d[r] = total;
    }
    __syncthreads();
  }
}

template <class T, class I>
void find_diagonal(const device_context& ctx, read_offsets rowptr, const I* colind, const T* values,
                   std::int64_t entries, std::int64_t matrix_rows, bool sorted,
                   vector_view<T, space::device> d) {
  const std::int64_t rows = d.size();
  if (rows == 0) return;
  if (sorted)
    return for_each(ctx, rows, "diagonal", [=, d = d.data()] __device__(std::int64_t row) {
      const std::int64_t first = rowptr[row], last = rowptr[row + 1];
      std::int64_t k = first + lower_bound(colind + first, last - first, static_cast<I>(row));
      T sum = 0;
      for (; k < last && colind[k] == row; ++k) sum += values[k];
      d[row] = sum;
    });
  int log_lanes = 0;
  while (log_lanes < 5 && (std::int64_t{2} << log_lanes) * matrix_rows <= entries) ++log_lanes;
  diagonal_kernel<T, I><<<blocks_for(rows << log_lanes), block_threads, 0, ctx.stream()>>>(
      rowptr, colind, values, rows, log_lanes, d.data());
  check_launch("diagonal");
}

template <class T>
void multiply_rows(const device_context& ctx, read_offsets rowptr, std::int64_t rows,
                   std::int64_t entries, T* values, const T* factors) {
  for_each_entry(ctx, rowptr, rows, 0, entries, "scale_rows",
                 [=] __device__(bool inside, std::int64_t row, std::int64_t k) {
                   if (inside) values[k] *= factors[row];
                 });
}
template <class T, class I>
void multiply_by_columns(const device_context& ctx, const I* colind, std::int64_t entries,
                         T* values, const T* factors) {
  for_each(ctx, entries, "scale_columns",
           [=] __device__(std::int64_t k) { values[k] *= factors[colind[k]]; });
}

} // namespace

template <class T, class I, class O>
void csr_diagonal(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                  vector_view<T, space::device> d) {
  const device_guard guard(ctx.device());
  find_diagonal<T, I>(ctx, a.rowptr().data(), a.colind().data(), a.values().data(), a.size(),
                      a.shape().row, a.order().sorted, d);
}

template <class T, class I, class O>
void scale_csr_rows(const device_context& ctx, csr_view<T, I, O, space::device> a,
                    vector_view<const T, space::device> factors) {
  const device_guard guard(ctx.device());
  multiply_rows<T>(ctx, a.rowptr().data(), a.shape().row, a.size(), a.values().data(),
                   factors.data());
}

template <class T, class I, class O>
void scale_csr_columns(const device_context& ctx, csr_view<T, I, O, space::device> a,
                       vector_view<const T, space::device> factors) {
  const device_guard guard(ctx.device());
  multiply_by_columns<T, I>(ctx, a.colind().data(), a.size(), a.values().data(), factors.data());
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void csr_diagonal<T, I, O>(const device_context&,                                       \
                                      csr_view<const T, I, O, space::device>,                      \
                                      vector_view<T, space::device>);                              \
  template void scale_csr_rows<T, I, O>(const device_context&, csr_view<T, I, O, space::device>,   \
                                        vector_view<const T, space::device>);                      \
  template void scale_csr_columns<T, I, O>(const device_context&,                                  \
                                           csr_view<T, I, O, space::device>,                       \
                                           vector_view<const T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
