// Vector operations whose factors and sums are scalars in device memory: one launch each. Blocks
// leave their sums in memory, the last one to finish adds them up, in the order of the blocks, and
// runs the program. At most 1024 blocks a column, so that they are all on the device at once (an
// H200 holds 1056 of 256 threads); how many there are depends on the length alone.
#include "core/scalar_program.hpp"
#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int scalars_unroll = 4; // loads of each vector in flight per thread
constexpr std::int64_t scalars_tile = block_threads * scalars_unroll;

dim3 scalars_grid(std::int64_t rows, std::int64_t columns) {
  const std::int64_t tiles = (rows + scalars_tile - 1) / scalars_tile;
  const std::int64_t blocks =
      tiles < 1 ? 1 : (tiles > scalar_block::most_blocks ? scalar_block::most_blocks : tiles);
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(columns));
}

/// In thread 0: the sum over the block, in a fixed order. `scratch` is one double per warp.
__device__ double sum_over_block(double sum, double* scratch) {
  sum = warp_sum(sum);
  __syncthreads(); // who read scratch before is done
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < block_threads / 32; ++w) sum += scratch[w];
  return sum;
}

/// Leaves this block's sums in memory. In the last block to come here: true, and in its thread 0
/// `sums` are those of all blocks.
template <int Sums>
__device__ bool sum_over_grid(double (&sums)[Sums], double* partials, unsigned* ticket) {
  __shared__ double scratch[block_threads / 32];
  __shared__ bool last;
#pragma unroll
  for (int k = 0; k < Sums; ++k) {
    const double sum = sum_over_block(sums[k], scratch);
    if (threadIdx.x == 0) partials[k * scalar_block::most_blocks + blockIdx.x] = sum;
  }
  if (threadIdx.x == 0) {
    __threadfence();                                          // the sums are seen before the ticket
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1; // the last one leaves 0
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int k = 0; k < Sums; ++k) {
    double sum = 0;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += block_threads)
      sum += __ldcg(partials + k * scalar_block::most_blocks + b);
    sums[k] = sum_over_block(sum, scratch);
  }
  return true;
}

/// By a whole block, once: slots go to shared memory, where a step takes tens of cycles.
template <int Sums>
__device__ void run_column_program(const scalar_block& s, std::int64_t column, const int* slot,
                                   const double (&sums)[Sums], const scalar_program& then) {
  __shared__ double local[scalar_block::most_slots];
  double* const slots = s.slots + column * s.per_column;
  for (int k = static_cast<int>(threadIdx.x); k < s.per_column; k += blockDim.x)
    local[k] = __ldcg(slots + k);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (slot != nullptr) {
#pragma unroll
      for (int k = 0; k < Sums; ++k) local[slot[k]] = sums[k];
    }
    run_steps(then, s.may_stop, local, s.history + column * s.capacity, s.capacity);
    if (s.may_stop && s.mirror != nullptr && then.count > 0)
      show_column(local, s.mirror + column * scalar_block::mirrored);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < s.per_column; k += blockDim.x)
    slots[k] = local[k];
}

/// Every block reads the phase before it takes a ticket, and it changes only behind the last one.
__device__ bool is_column_done(const scalar_block& s, std::int64_t column) {
  return s.may_stop && __ldcg(s.slots + column * s.per_column + rule_slot::phase) == 2;
}

template <int Count, class T>
__global__ void __launch_bounds__(block_threads)
    dots_kernel(const __grid_constant__ scalar_block s, const __grid_constant__ dots_arguments<T> a,
                const __grid_constant__ scalar_program then) {
  const std::int64_t column = blockIdx.y;
  if (is_column_done(s, column)) return;
  double sums[Count] = {};
  for (std::int64_t tile = blockIdx.x; tile * scalars_tile < a.rows; tile += gridDim.x) {
    const std::int64_t first = tile * scalars_tile + threadIdx.x;
    T left[Count][scalars_unroll], right[Count][scalars_unroll];
#pragma unroll
    for (int k = 0; k < Count; ++k)
#pragma unroll
      for (int u = 0; u < scalars_unroll; ++u) {
        const std::int64_t i = first + u * block_threads;
        const bool inside = i < a.rows;
        left[k][u] = inside ? a.left[k].data[column * a.left[k].ld + i] : T{0};
        right[k][u] = inside ? a.right[k].data[column * a.right[k].ld + i] : T{0};
      }
#pragma unroll
    for (int k = 0; k < Count; ++k)
#pragma unroll
      for (int u = 0; u < scalars_unroll; ++u)
        sums[k] += static_cast<double>(left[k][u]) * static_cast<double>(right[k][u]);
  }
  double* const partials =
      s.partials + column * (scalar_block::most_sums * scalar_block::most_blocks);
  if (sum_over_grid(sums, partials, s.tickets + column))
    run_column_program(s, column, a.slot, sums, then);
}

/// The terms of output O; Terms 0: as many as the arguments say. All loads are written before the
/// sums, so that they are in flight together.
template <int O, int Terms, bool Known, bool Whole, class T>
__device__ void sum_terms(const combine_arguments<T>& a, std::int64_t column, std::int64_t first,
                          const T (&factor)[most_terms], T (&v)[scalars_unroll]) {
  constexpr int most = Known ? Terms : most_terms;
  if constexpr (most > 0) {
    T in[most][scalars_unroll];
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const T* const p = a.in[O][k].data + column * a.in[O][k].ld + first;
#pragma unroll
      for (int u = 0; u < scalars_unroll; ++u)
        in[k][u] = (Known || k < a.terms[O]) && (Whole || first + u * block_threads < a.rows)
                       ? p[u * block_threads]
                       : T{0};
    }
#pragma unroll
    for (int u = 0; u < scalars_unroll; ++u) {
      v[u] = factor[0] * in[0][u];
#pragma unroll
      for (int k = 1; k < most; ++k)
        if (Known || k < a.terms[O]) v[u] += factor[k] * in[k][u];
    }
  }
}

template <int O, class T>
__device__ void load_factors(const combine_arguments<T>& a, const double* slots,
                             T (&factor)[most_terms]) {
#pragma unroll
  for (int k = 0; k < most_terms; ++k)
    factor[k] = static_cast<T>(k >= a.terms[O]     ? 0.0
                               : a.slot[O][k] >= 0 ? a.constant[O][k] * __ldcg(slots + a.slot[O][k])
                                                   : a.constant[O][k]);
}

/// One tile; Whole: all of it lies within the vectors.
template <int First, int Second, int Sums, bool Whole, class T>
__device__ void combine_tile(const combine_arguments<T>& a, std::int64_t column, std::int64_t first,
                             const T (&factor_0)[most_terms], const T (&factor_1)[most_terms],
                             double (&sums)[Sums > 0 ? Sums : 1]) {
  constexpr bool known = First > 0;
  const bool two = known ? Second > 0 : a.terms[1] > 0;
  // All is read before anything is written: outputs may be among the inputs.
  T v0[scalars_unroll] = {}, v1[scalars_unroll] = {}, with[scalars_unroll] = {};
  sum_terms<0, First, known, Whole>(a, column, first, factor_0, v0);
  if (two) sum_terms<1, Second, known, Whole>(a, column, first, factor_1, v1);
  if constexpr (Sums > 1) {
#pragma unroll
    for (int u = 0; u < scalars_unroll; ++u)
      if (Whole || first + u * block_threads < a.rows)
        with[u] = a.with.data[column * a.with.ld + first + u * block_threads];
  }
#pragma unroll
  for (int u = 0; u < scalars_unroll; ++u) {
    const std::int64_t i = first + u * block_threads;
    if (Whole || i < a.rows) {
      a.out[0].data[column * a.out[0].ld + i] = v0[u];
      if (two) a.out[1].data[column * a.out[1].ld + i] = v1[u];
    }
    const double value = static_cast<double>(two ? v1[u] : v0[u]);
    if constexpr (Sums > 0) sums[0] += value * value;
    if constexpr (Sums > 1) sums[1] += value * static_cast<double>(with[u]);
  }
}

/// Terms known to the compiler; First 0: by the arguments.
template <int First, int Second, int Sums, class T>
__global__ void __launch_bounds__(block_threads)
    combine_kernel(const __grid_constant__ scalar_block s,
                   const __grid_constant__ combine_arguments<T> a,
                   const __grid_constant__ scalar_program then) {
  const std::int64_t column = blockIdx.y;
  if (is_column_done(s, column)) return;
  T factor_0[most_terms], factor_1[most_terms];
  load_factors<0>(a, s.slots + column * s.per_column, factor_0);
  load_factors<1>(a, s.slots + column * s.per_column, factor_1);
  double sums[Sums > 0 ? Sums : 1] = {};
  for (std::int64_t tile = blockIdx.x; tile * scalars_tile < a.rows; tile += gridDim.x) {
    const std::int64_t first = tile * scalars_tile + threadIdx.x;
    if ((tile + 1) * scalars_tile <= a.rows)
      combine_tile<First, Second, Sums, true>(a, column, first, factor_0, factor_1, sums);
    else
      combine_tile<First, Second, Sums, false>(a, column, first, factor_0, factor_1, sums);
  }
  if constexpr (Sums > 0) {
    double* const partials =
        s.partials + column * (scalar_block::most_sums * scalar_block::most_blocks);
    if (sum_over_grid(sums, partials, s.tickets + column))
      run_column_program(s, column, a.sum_slot, sums, then);
  }
}

/// Four vectors of the basis for each row of blocks.
template <class T>
__global__ void __launch_bounds__(block_threads)
    project_kernel(const __grid_constant__ basis_arguments<T> a,
                   const __grid_constant__ scalar_block s) {
  constexpr int group = scalar_block::most_sums;
  const int begin = static_cast<int>(blockIdx.y) * group;
  double sums[group] = {};
  for (std::int64_t tile = blockIdx.x; tile * scalars_tile < a.rows; tile += gridDim.x) {
    const std::int64_t first = tile * scalars_tile + threadIdx.x;
#pragma unroll
    for (int u = 0; u < scalars_unroll; ++u) {
      const std::int64_t i = first + u * block_threads;
      if (i >= a.rows) continue;
      const double w = static_cast<double>(a.w[i]);
#pragma unroll
      for (int k = 0; k < group; ++k)
        if (begin + k < a.vectors) sums[k] += w * static_cast<double>(a.v[(begin + k) * a.ld + i]);
    }
  }
  double* const partials =
      s.partials + std::int64_t{blockIdx.y} * (scalar_block::most_sums * scalar_block::most_blocks);
  if (!sum_over_grid(sums, partials, s.tickets + blockIdx.y) || threadIdx.x != 0) return;
#pragma unroll
  for (int k = 0; k < group; ++k)
    if (begin + k < a.vectors) {
      a.h[begin + k] = sums[k];
      if (a.h_seen != nullptr) a.h_seen[begin + k] = sums[k];
    }
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    expand_kernel(const __grid_constant__ basis_arguments<T> a,
                  const __grid_constant__ scalar_block s) {
  double sums[1] = {};
  for (std::int64_t tile = blockIdx.x; tile * scalars_tile < a.rows; tile += gridDim.x) {
    const std::int64_t first = tile * scalars_tile + threadIdx.x;
    T v[scalars_unroll] = {};
#pragma unroll
    for (int u = 0; u < scalars_unroll; ++u) {
      const std::int64_t i = first + u * block_threads;
      if (i < a.rows) v[u] = a.w[i];
    }
    for (int k = 0; k < a.vectors; ++k) {
      const T factor = static_cast<T>(a.factor * a.h[k]);
#pragma unroll
      for (int u = 0; u < scalars_unroll; ++u) {
        const std::int64_t i = first + u * block_threads;
        if (i < a.rows) v[u] += factor * a.v[k * a.ld + i];
      }
    }
#pragma unroll
    for (int u = 0; u < scalars_unroll; ++u) {
      const std::int64_t i = first + u * block_threads;
      if (i < a.rows) a.w[i] = v[u];
      sums[0] += static_cast<double>(v[u]) * static_cast<double>(v[u]);
    }
  }
  if (!sum_over_grid(sums, s.partials, s.tickets) || threadIdx.x != 0) return;
  a.h[a.vectors] = sums[0];
  if (a.h_seen != nullptr) a.h_seen[a.vectors] = sums[0];
}

__global__ void run_scalars_kernel(const __grid_constant__ scalar_block s,
                                   const __grid_constant__ scalar_program program) {
  if (is_column_done(s, blockIdx.x)) return;
  const double none[1] = {};
  run_column_program(s, blockIdx.x, nullptr, none, program);
}

template <class T>
using combine_kernel_pointer = void (*)(scalar_block, combine_arguments<T>, scalar_program);
/// Those that solvers use are compiled for their terms; see src/cpu/scalars.cpp.
template <class T> combine_kernel_pointer<T> find_combine_kernel(const combine_arguments<T>& a) {
  switch (100 * a.terms[0] + 10 * a.terms[1] + a.sums) {
  case 100: return combine_kernel<1, 0, 0, T>;
  case 200: return combine_kernel<2, 0, 0, T>;
  case 201: return combine_kernel<2, 0, 1, T>;
  case 220: return combine_kernel<2, 2, 0, T>;
  case 300: return combine_kernel<3, 0, 0, T>;
  case 301: return combine_kernel<3, 0, 1, T>;
  case 322: return combine_kernel<3, 2, 2, T>;
  case 430: return combine_kernel<4, 3, 0, T>;
  default: break;
  }
  if (a.sums == 0) return combine_kernel<0, 0, 0, T>;
  return a.sums == 1 ? combine_kernel<0, 0, 1, T> : combine_kernel<0, 0, 2, T>;
}

} // namespace

template <class T>
void dots(const device_context& ctx, const scalar_block& s, const dots_arguments<T>& a,
          const scalar_program& then) {
  if (s.columns == 0) return;
  const device_guard guard(ctx.device());
  const dim3 grid = scalars_grid(a.rows, s.columns);
  const auto launch = [&](auto kernel) {
    kernel<<<grid, block_threads, 0, ctx.stream()>>>(s, a, then);
    check_launch("dots");
  };
  switch (a.count) {
  case 1: return launch(dots_kernel<1, T>);
  case 2: return launch(dots_kernel<2, T>);
  case 3: return launch(dots_kernel<3, T>);
  default: launch(dots_kernel<4, T>);
  }
}

template <class T>
void combine(const device_context& ctx, const scalar_block& s, const combine_arguments<T>& a,
             const scalar_program& then) {
  if (s.columns == 0) return;
  const device_guard guard(ctx.device());
  const auto kernel = find_combine_kernel(a);
  kernel<<<scalars_grid(a.rows, s.columns), block_threads, 0, ctx.stream()>>>(s, a, then);
  check_launch("combine");
  if (a.sums == 0 && then.count > 0) detail::gpu::run_scalars(ctx, s, then);
}

template <class T>
void project(const device_context& ctx, const basis_arguments<T>& a, const scalar_block& s) {
  if (a.vectors == 0) return;
  const device_guard guard(ctx.device());
  const std::int64_t groups = (a.vectors + scalar_block::most_sums - 1) / scalar_block::most_sums;
  project_kernel<<<scalars_grid(a.rows, groups), block_threads, 0, ctx.stream()>>>(a, s);
  check_launch("project");
}

template <class T>
void expand(const device_context& ctx, const basis_arguments<T>& a, const scalar_block& s) {
  const device_guard guard(ctx.device());
  expand_kernel<<<scalars_grid(a.rows, 1), block_threads, 0, ctx.stream()>>>(a, s);
  check_launch("expand");
}

void run_scalars(const device_context& ctx, const scalar_block& s, const scalar_program& program) {
  if (s.columns == 0) return;
  const device_guard guard(ctx.device());
  run_scalars_kernel<<<static_cast<unsigned>(s.columns), 64, 0, ctx.stream()>>>(s, program);
  check_launch("run_scalars");
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void dots<T>(const device_context&, const scalar_block&, const dots_arguments<T>&,      \
                        const scalar_program&);                                                    \
  template void combine<T>(const device_context&, const scalar_block&,                             \
                           const combine_arguments<T>&, const scalar_program&);                    \
  template void project<T>(const device_context&, const basis_arguments<T>&, const scalar_block&); \
  template void expand<T>(const device_context&, const basis_arguments<T>&, const scalar_block&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
