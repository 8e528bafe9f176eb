// What the rivals' device code shares: launches over a range, and CUB's calls with their scratch.
#pragma once

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "bench/cuda_call.hpp"
#include <lacuna/op/copy.hpp>

namespace lacuna::bench {

template <class T> using device_array = array<T, space::device>;

template <class F> __global__ void for_each_index_kernel(std::int64_t n, F f) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
/// f(i) for i in [0, n), queued.
template <class F> void for_each_index(const device_context& ctx, std::int64_t n, F f) {
  constexpr int threads = 256;
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
  for_each_index_kernel<<<blocks, threads, 0, ctx.stream()>>>(n, f);
  require(cudaGetLastError(), "for_each_index_kernel");
}

/// Asks for an algorithm's scratch, allocates it, calls again.
template <class F> void call_cub(const device_context& ctx, const char* what, F algorithm) {
  std::size_t bytes = 0;
  require(algorithm(nullptr, bytes), what);
  device_array<char> scratch(ctx, static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)));
  require(algorithm(scratch.data(), bytes), what);
}

/// One number from the device; waits.
template <class T> T fetched(const device_context& ctx, const T* from) {
  T value{};
  require(cudaMemcpyAsync(&value, from, sizeof(T), cudaMemcpyDeviceToHost, ctx.stream()),
          "cudaMemcpyAsync");
  ctx.synchronize();
  return value;
}

/// First i in [0, n) with keys[i] >= value; n: there is none.
template <class Key>
__device__ std::int64_t first_not_below(const Key* keys, std::int64_t n, Key value) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (keys[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Bits of numbers below `limit`.
inline int bits_below(std::int64_t limit) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(limit - 1, 1)));
}

} // namespace lacuna::bench
