// The ELL part on the device: one thread per row.
#include "bench/hyb/hyb.hpp"

#include <cuda_runtime.h>

#include <lacuna/core/error.hpp>

namespace lacuna::bench {
namespace {

constexpr int block_threads = 256;
/// Places whose loads are all in flight before the first is used.
constexpr int unroll = 4;

template <class T>
__global__ void __launch_bounds__(block_threads)
    multiply_ell_kernel(const index_t* __restrict__ columns, const T* __restrict__ values,
                        std::int64_t rows, std::int64_t width, std::int64_t stride,
                        const T* __restrict__ x, T* __restrict__ y) {
  const std::int64_t row = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row >= rows) return;
  columns += row;
  values += row;
  T sum{0};
  for (std::int64_t left = width; left > 0; left -= unroll) {
    index_t column[unroll];
    T value[unroll], gathered[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const bool inside = u < left; // the same in all threads
      column[u] = inside ? columns[u * stride] : index_t{-1};
      value[u] = inside ? values[u * stride] : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) gathered[u] = column[u] >= 0 ? x[column[u]] : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * gathered[u];
    columns += unroll * stride;
    values += unroll * stride;
  }
  y[row] = sum;
}

} // namespace

template <class T>
void multiply_ell(const device_context& ctx, const hyb<T, space::device>& a,
                  vector_view<const T, space::device> x, vector_view<T, space::device> y) {
  const std::int64_t rows = a.shape.row;
  if (rows == 0) return;
  const auto blocks = static_cast<unsigned>((rows + block_threads - 1) / block_threads);
  multiply_ell_kernel<<<blocks, block_threads, 0, ctx.stream()>>>(
      a.columns.data(), a.values.data(), rows, a.width, a.stride, x.data(), y.data());
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    throw device_error(std::string("multiply_ell_kernel: ") + cudaGetErrorString(status));
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void multiply_ell<T>(const device_context&, const hyb<T, space::device>&,               \
                                vector_view<const T, space::device>,                               \
                                vector_view<T, space::device>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::bench
