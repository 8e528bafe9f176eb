// Values moved through a kept map, and stamps of patterns. The map itself is transpose_csr.cu's.
#include <lacuna/op/kept_pattern.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int thread_gathers = 8;
constexpr std::int64_t block_gathers = std::int64_t{block_threads} * thread_gathers;

/// Eight entries of a thread are on their way before the first is written.
template <class T, class O>
__global__ void __launch_bounds__(block_threads)
    gather_values_kernel(const T* __restrict__ values, const O* __restrict__ from, std::int64_t n,
                         T* __restrict__ to) {
  const std::int64_t begin = blockIdx.x * block_gathers + threadIdx.x;
  O at[thread_gathers];
  T value[thread_gathers];
#pragma unroll
  for (int u = 0; u < thread_gathers; ++u) {
    const std::int64_t k = begin + u * block_threads;
    at[u] = k < n ? from[k] : O{0};
  }
#pragma unroll
  for (int u = 0; u < thread_gathers; ++u) value[u] = values[at[u]];
#pragma unroll
  for (int u = 0; u < thread_gathers; ++u)
    if (const std::int64_t k = begin + u * block_threads; k < n) to[k] = value[u];
}

/// Sums of whole numbers: the order of the additions does not matter.
template <class X>
__global__ void __launch_bounds__(block_threads)
    stamp_kernel(const X* __restrict__ x, std::int64_t n, std::uint64_t first,
                 unsigned long long* sum) {
  unsigned long long mine = 0;
  for (std::int64_t k = thread_index(); k < n; k += std::int64_t{gridDim.x} * blockDim.x)
    mine += static_cast<unsigned long long>(x[k]) *
            detail::stamp_weight(first + static_cast<std::uint64_t>(k));
  __syncwarp();
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

template <class X>
void stamp_array(const device_context& ctx, vector_view<const X, space::device> x,
                 std::uint64_t first, unsigned long long* sum) {
  if (x.empty()) return;
  const std::int64_t wanted = (x.size() + block_threads - 1) / block_threads;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(wanted, std::int64_t{8} * ctx.properties().multiprocessors));
  stamp_kernel<<<blocks, block_threads, 0, ctx.stream()>>>(x.data(), x.size(), first, sum);
  check_launch("stamp_kernel");
}

} // namespace

template <class T, class O>
void gather_values(const device_context& ctx, const T* values,
                   vector_view<const O, space::device> from, T* to) {
  if (from.empty()) return;
  const device_guard guard(ctx.device());
  const auto blocks = static_cast<unsigned>((from.size() + block_gathers - 1) / block_gathers);
  gather_values_kernel<<<blocks, block_threads, 0, ctx.stream()>>>(values, from.data(), from.size(),
                                                                   to);
  check_launch("gather_values_kernel");
}

template <class I, class O>
detail::stamp_pair stamp_patterns(const device_context& ctx,
                                  detail::pattern_arrays<I, O, space::device> a,
                                  detail::pattern_arrays<I, O, space::device> b) {
  const device_guard guard(ctx.device());
  array<unsigned long long, space::device> sums(ctx, 2);
  check(cudaMemsetAsync(sums.data(), 0, sums.bytes(), ctx.stream()), "stamp_patterns");
  // Of A A it is the same pattern twice.
  const bool is_same = a.colind.data() == b.colind.data() && a.colind.size() == b.colind.size() &&
                       a.rowptr.data() == b.rowptr.data() && a.rowptr.size() == b.rowptr.size();
  for (const auto& [pattern, sum] : {std::pair{&a, sums.data()}, std::pair{&b, sums.data() + 1}}) {
    if (is_same && pattern == &b) continue;
    stamp_array(ctx, pattern->colind, 0, sum);
    stamp_array(ctx, pattern->rowptr, detail::rowptr_weights, sum);
  }
  unsigned long long stamps[2] = {};
  read_back(ctx, stamps, std::as_const(sums).data(), 2);
  return {stamps[0], is_same ? stamps[0] : stamps[1]};
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template detail::stamp_pair stamp_patterns(const device_context&,                                \
                                             detail::pattern_arrays<I, O, space::device>,          \
                                             detail::pattern_arrays<I, O, space::device>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
/// Offsets have the types that columns have.
#define LACUNA_INSTANTIATE_PAIR(T, O)                                                              \
  template void gather_values(const device_context&, const T*,                                     \
                              vector_view<const O, space::device>, T*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE_PAIR)

} // namespace lacuna::detail::gpu
