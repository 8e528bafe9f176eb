// The emulator's device side: fibers, warps, shared memory, launches.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace emu {

struct block_state;
struct late_copy {
  void* to;
  const void* from;
  unsigned bytes;
};
enum class fiber_state { not_begun, runnable, at_barrier, in_warp, ended };
struct fiber {
  void* sp = nullptr;
  uint3 thread{};
  block_state* block = nullptr;
  unsigned linear = 0, lane = 0, warp = 0, ticks = 0;
  char* stack = nullptr;
  fiber_state state = fiber_state::not_begun;
  const void* where = nullptr;
  std::vector<late_copy> copies, committed;
};
extern __thread fiber* self __attribute__((tls_model("initial-exec")));

/// What lanes of a warp do together.
// clang-format off
enum class warp_call {
  sync, shfl, shfl_up, shfl_down, shfl_xor, ballot, any, all, match_any,
  reduce_add, reduce_min, reduce_max, reduce_and, reduce_or, reduce_xor
};
// clang-format on
/// Lanes that meet in one call.
struct warp_group {
  unsigned mask = 0, arrived = 0, votes = 0;
  int left = 0, size = 0;
  warp_call kind{};
  alignas(16) char value[32][16];
};
struct block_state {
  uint3 index{};
  dim3 grid, block;
  char* dynamic = nullptr;
  std::size_t dynamic_bytes = 0;
  void** slots = nullptr;
  int slot_count = 0;
};

// ---- Shared memory -----------------------------------------------------------------------------
/// One for each __shared__ variable of a kernel; blocks number their memory by it.
struct slot {
  std::atomic<int> id{0};
};
void* shared_slow(slot& s, std::size_t bytes, std::size_t align);
template <class T> T& shared(slot& s) {
  block_state* b = self->block;
  const int id = s.id.load(std::memory_order_relaxed);
  if (id != 0 && id < b->slot_count && b->slots[id] != nullptr)
    return *static_cast<T*>(b->slots[id]);
  return *static_cast<T*>(shared_slow(s, sizeof(T), alignof(T)));
}
template <class T> T* dynamic_shared() { return reinterpret_cast<T*>(self->block->dynamic); }

// ---- Waiting -----------------------------------------------------------------------------------
void block_barrier(int votes_or, int votes_and, int count, int* result_or, int* result_and,
                   int* result_count);
warp_group* arrive(unsigned mask, warp_call kind, const void* value, unsigned size, bool vote);
void release(warp_group* g);
inline void leave(warp_group* g) {
  if (--g->left == 0) release(g);
}
void yield_now();
/// Loads that may wait for another thread, and atomics, let others run now and then.
inline void spin() {
  if ((++self->ticks & 7) == 0) yield_now();
}
inline void tick() {
  if ((++self->ticks & 63) == 0) yield_now();
}
template <class T> T spin_load(const T* p) {
  spin();
  T v;
  __atomic_load(const_cast<T*>(p), &v, __ATOMIC_ACQUIRE);
  return v;
}
template <class T> void release_store(T* p, T v) { __atomic_store(p, &v, __ATOMIC_RELEASE); }

// ---- Launches ----------------------------------------------------------------------------------
struct config {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false, armed = false;
};
void configure(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = nullptr,
               bool cooperative = false);
void submit(const char* name, int most_threads, const void* closure, std::size_t bytes,
            void (*invoke)(const void*));
/// What a kernel does when it is called: f for every thread of what was configured.
template <class F> void kernel(const char* name, int most_threads, F f) {
  submit(name, most_threads, &f, sizeof f, [](const void* p) {
    F mine = *static_cast<const F*>(p);
    mine();
  });
}
/// Work of the host's in a stream: at once, or when the graph is launched.
void host_task(cudaStream_t stream, const char* name, std::function<void()> f);
} // namespace emu

#define threadIdx (emu::self->thread)
#define blockIdx (emu::self->block->index)
#define blockDim (emu::self->block->block)
#define gridDim (emu::self->block->grid)
constexpr int warpSize = 32;

namespace cuda { // cuda::std is ours
namespace std = ::std;
}
