// AMG's passes on the device (solver/amg_rows.hpp): a thread per row.
#include "solver/amg_engine.hpp"

#include <lacuna/core/checked.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int amg_dot_threads = 256;
constexpr int amg_dot_blocks = static_cast<int>(amg_dots_scratch / 3);

/// Sums of three values over the block, in a fixed order; thread 0 has them.
__device__ void amg_block_sums(double (&sums)[3]) {
  __shared__ double shared[3][amg_dot_threads / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int which = 0; which < 3; ++which) {
    for (int step = 16; step > 0; step /= 2)
      sums[which] += __shfl_down_sync(0xffffffffu, sums[which], step);
    if (lane == 0) shared[which][warp] = sums[which];
  }
  __syncthreads();
  if (threadIdx.x == 0)
    for (int which = 0; which < 3; ++which) {
      sums[which] = 0;
      for (int w = 0; w < amg_dot_threads / 32; ++w) sums[which] += shared[which][w];
    }
}

template <class T>
__global__ void amg_dots_parts(std::int64_t n, const T* x, const T* y0, const T* y1, const T* y2,
                               double* parts) {
  double sums[3] = {0, 0, 0};
  for (std::int64_t i = thread_index(); i < n; i += std::int64_t{gridDim.x} * blockDim.x) {
    const double v = static_cast<double>(x[i]);
    if (y0 != nullptr) sums[0] += v * static_cast<double>(y0[i]);
    if (y1 != nullptr) sums[1] += v * static_cast<double>(y1[i]);
    if (y2 != nullptr) sums[2] += v * static_cast<double>(y2[i]);
  }
  amg_block_sums(sums);
  if (threadIdx.x == 0)
    for (int which = 0; which < 3; ++which) parts[3 * blockIdx.x + which] = sums[which];
}
/// One block, a thread per part.
template <class T>
__global__ void amg_dots_join(int parts, const double* from, bool first, bool second, bool third,
                              T* to) {
  double sums[3] = {0, 0, 0};
  if (static_cast<int>(threadIdx.x) < parts)
    for (int which = 0; which < 3; ++which) sums[which] = from[3 * threadIdx.x + which];
  amg_block_sums(sums);
  if (threadIdx.x != 0) return;
  if (first) to[0] = static_cast<T>(sums[0]);
  if (second) to[1] = static_cast<T>(sums[1]);
  if (third) to[2] = static_cast<T>(sums[2]);
}

/// A block for 32 rows: lanes along a column, warps take columns in turn and are summed in order.
template <class T> __global__ void amg_dense_kernel(int n, const T* m, const T* r, T* z) {
  constexpr int warps = amg_dot_threads / 32;
  __shared__ T shared[warps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = static_cast<int>(blockIdx.x) * 32 + lane;
  T sum{0};
  if (row < n) {
#pragma unroll 4
    for (int j = warp; j < n; j += warps) sum += m[static_cast<std::int64_t>(j) * n + row] * r[j];
  }
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || row >= n) return;
  for (int w = 1; w < warps; ++w) sum += shared[w][lane];
  z[row] = sum;
}

} // namespace

template <class F> void amg_each(const device_context& ctx, std::int64_t n, const F& f) {
  const device_guard guard(ctx.device());
  for_each(ctx, n, "amg", f);
}

std::int64_t amg_sums(const device_context& ctx, std::int64_t n, const int* counts, int* sums) {
  const device_guard guard(ctx.device());
  // In 64 bits first: a sum that does not fit is to be named, not to wrap around.
  array<std::int64_t, space::device> wide(ctx, n + 1);
  exclusive_sums(ctx, n, counts, wide.data());
  for_each(ctx, n + 1, "amg_sums", [from = wide.data(), sums] __device__(std::int64_t i) {
    sums[i] = static_cast<int>(from[i]);
  });
  std::int64_t all = 0;
  read_back(ctx, &all, std::as_const(wide).data() + n, 1);
  checked_cast<int>(all, "entries of a prolongator");
  return all;
}

template <class T>
void amg_dots(const device_context& ctx, std::int64_t n, const T* x, const T* y0, const T* y1,
              const T* y2, double* scratch, T* to) {
  const device_guard guard(ctx.device());
  // Blocks by the length alone.
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(
      (n + 4 * amg_dot_threads - 1) / (4 * amg_dot_threads), 1, amg_dot_blocks));
  amg_dots_parts<T><<<blocks, amg_dot_threads, 0, ctx.stream()>>>(n, x, y0, y1, y2, scratch);
  check_launch("amg_dots");
  amg_dots_join<T><<<1, amg_dot_threads, 0, ctx.stream()>>>(
      static_cast<int>(blocks), scratch, y0 != nullptr, y1 != nullptr, y2 != nullptr, to);
  check_launch("amg_dots");
}

template <class T>
void amg_dense(const device_context& ctx, std::int64_t n, const T* m, const T* r, T* z) {
  const device_guard guard(ctx.device());
  if (n == 0) return;
  amg_dense_kernel<T><<<static_cast<unsigned>((n + 31) / 32), amg_dot_threads, 0, ctx.stream()>>>(
      static_cast<int>(n), m, r, z);
  check_launch("amg_dense");
}

#define LACUNA_AMG_PLAIN(F)                                                                        \
  template void amg_each(const device_context&, std::int64_t, const amg_rows::F&);
#define LACUNA_AMG_VALUED(F, T)                                                                    \
  template void amg_each(const device_context&, std::int64_t, const amg_rows::F<T>&);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_FOR_EACH_AMG_VALUED(LACUNA_AMG_VALUED, T)                                                 \
  template void amg_dots(const device_context&, std::int64_t, const T*, const T*, const T*,        \
                         const T*, double*, T*);                                                   \
  template void amg_dense(const device_context&, std::int64_t, const T*, const T*, T*);
LACUNA_FOR_EACH_AMG_PLAIN(LACUNA_AMG_PLAIN)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
template void amg_each(const device_context&, std::int64_t,
                       const amg_rows::convert_values<double, float>&);
template void amg_each(const device_context&, std::int64_t,
                       const amg_rows::convert_values<float, double>&);
#undef LACUNA_AMG_PLAIN
#undef LACUNA_AMG_VALUED

} // namespace lacuna::detail::gpu
