// Loads that say what the caches are to do with them, sums and maxima over a warp.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace lacuna::detail::gpu {

/// Loads what no other thread reads, past L1: the cache is kept for x.
__device__ inline float load_once(const float* p) {
  float v;
  asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
__device__ inline double load_once(const double* p) {
  double v;
  asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}
__device__ inline std::int32_t load_once(const std::int32_t* p) {
  std::int32_t v;
  asm("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
__device__ inline std::int64_t load_once(const std::int64_t* p) {
  std::int64_t v;
  asm("ld.global.nc.L1::no_allocate.s64 %0, [%1];" : "=l"(v) : "l"(p));
  return v;
}
__device__ inline std::uint8_t load_once(const std::uint8_t* p) {
  std::uint16_t v;
  asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(v) : "l"(p));
  return static_cast<std::uint8_t>(v);
}
__device__ inline std::uint16_t load_once(const std::uint16_t* p) {
  std::uint16_t v;
  asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
  return v;
}
__device__ inline std::uint32_t load_once(const std::uint32_t* p) {
  return static_cast<std::uint32_t>(load_once(reinterpret_cast<const std::int32_t*>(p)));
}
__device__ inline std::uint64_t load_once(const std::uint64_t* p) {
  return static_cast<std::uint64_t>(load_once(reinterpret_cast<const std::int64_t*>(p)));
}

/// Loads what does not change meanwhile, by as few instructions as its alignment lets.
template <class S> __device__ inline S load_whole(const S* p) {
  static_assert(alignof(S) == 8 || alignof(S) == 16);
  using word = std::conditional_t<alignof(S) == 16, int4, int2>;
  constexpr int words = sizeof(S) / sizeof(word);
  word all[words];
#pragma unroll
  for (int w = 0; w < words; ++w) all[w] = __ldg(reinterpret_cast<const word*>(p) + w);
  S s;
  memcpy(&s, all, sizeof s);
  return s;
}

/// All lanes, for instructions that take a mask of them.
constexpr unsigned whole_warp = 0xffffffffu;

/// Over a full warp, the same in every lane.
template <class T> __device__ T warp_sum(T sum) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(whole_warp, sum, step);
  return sum;
}
template <class T> __device__ T warp_max(T largest) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    largest = max(largest, __shfl_xor_sync(whole_warp, largest, step));
  return largest;
}

} // namespace lacuna::detail::gpu
