// Words that threads of different blocks hand to each other: read and written in L2, one word at a
// time, without an order among different words. A word that is its own flag needs no more.
#pragma once

#include <cstdint>

namespace lacuna::detail::gpu {

__device__ inline std::uint32_t load_relaxed(const std::uint32_t* p) {
  std::uint32_t v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_relaxed(std::uint32_t* p, std::uint32_t v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}
__device__ inline unsigned long long load_relaxed(const unsigned long long* p) {
  unsigned long long v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_relaxed(unsigned long long* p, unsigned long long v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(p), "l"(v) : "memory");
}
/// What the writer wrote before the word is seen by who has read it.
__device__ inline std::uint32_t load_acquire(const std::uint32_t* p) {
  std::uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_release(std::uint32_t* p, std::uint32_t v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

// Values whose bits are all ones are not there yet: a NaN that arithmetic does not yield, and that
// publish() does not write.
__device__ inline float load_if_there(const float* p) {
  return __uint_as_float(load_relaxed(reinterpret_cast<const std::uint32_t*>(p)));
}
__device__ inline double load_if_there(const double* p) {
  const auto bits = load_relaxed(reinterpret_cast<const unsigned long long*>(p));
  return __longlong_as_double(static_cast<long long>(bits));
}
__device__ inline bool is_there(float v) { return __float_as_uint(v) != 0xffffffffu; }
__device__ inline bool is_there(double v) { return __double_as_longlong(v) != -1ll; }
__device__ inline void publish(float* p, float v) {
  const std::uint32_t bits = is_there(v) ? __float_as_uint(v) : 0x7fffffffu;
  store_relaxed(reinterpret_cast<std::uint32_t*>(p), bits);
}
__device__ inline void publish(double* p, double v) {
  const unsigned long long bits = is_there(v)
                                      ? static_cast<unsigned long long>(__double_as_longlong(v))
                                      : 0x7fffffffffffffffull;
  store_relaxed(reinterpret_cast<unsigned long long*>(p), bits);
}

/// Numbers of work items, in order, one to each warp that asks: who holds a number may wait for
/// smaller ones, whose warps are running. counters[0] and [1] are 0 before the launch and after it.
class warp_tickets {
public:
  __device__ explicit warp_tickets(std::uint32_t* counters)
      : counters_(counters), lane_(threadIdx.x % 32) {}
  /// By all lanes.
  __device__ std::uint32_t next() const {
    std::uint32_t ticket = 0;
    if (lane_ == 0) ticket = atomicAdd(counters_, 1u);
    return __shfl_sync(0xffffffffu, ticket, 0);
  }
  /// Once by every warp of the launch, when it takes no more.
  __device__ void leave() const {
    if (lane_ != 0) return;
    const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
    if (atomicAdd(counters_ + 1, 1u) == warps - 1) {
      counters_[0] = 0;
      counters_[1] = 0;
    }
  }

private:
  std::uint32_t* counters_;
  unsigned lane_;
};

} // namespace lacuna::detail::gpu
