// Errors, launches and the current device, in one place.
#pragma once

#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

#include <lacuna/core/context.hpp>

namespace lacuna::detail::gpu {

/// Throws device_error (out_of_memory where that is the cause) naming what was tried.
void check(cudaError_t status, const char* what);

/// Call after every launch: reports a bad configuration at once, not at some later wait.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

/// Makes the context's device current; restores the caller's on leaving.
class device_guard {
public:
  explicit device_guard(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != device) check(cudaSetDevice(device), "cudaSetDevice");
    changed_ = before_ != device;
  }
  ~device_guard() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

private:
  int before_ = 0;
  bool changed_ = false;
};

constexpr int block_threads = 256;

/// Blocks of block_threads that have at least `threads` threads. Throws unsupported beyond
/// the grid's 2^31 - 1 blocks.
unsigned blocks_for(std::int64_t threads);

/// The calling thread's place in a one-dimensional grid.
__device__ inline std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Runs f(i) for i in [0, n), one thread per i, on the context's stream.
template <class F> __global__ void for_each_kernel(std::int64_t n, F f) {
  const std::int64_t i = thread_index();
  if (i < n) f(i);
}
template <class F> void for_each(const device_context& ctx, std::int64_t n, const char* what, F f) {
  if (n == 0) return;
  for_each_kernel<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(n, f);
  check_launch(what);
}

/// This thread's own host memory, for a few values, that a device can write directly.
class pinned_page {
public:
  static constexpr std::size_t bytes = 4096;
  pinned_page() { check(cudaMallocHost(&page_, bytes), "cudaMallocHost"); }
  ~pinned_page() { (void)cudaFreeHost(page_); }
  pinned_page(const pinned_page&) = delete;
  pinned_page& operator=(const pinned_page&) = delete;
  [[nodiscard]] void* data() const { return page_; }

private:
  void* page_ = nullptr;
};

/// Half of it is for read_back, half for read_ahead.
inline char* own_pinned_page() {
  static thread_local const pinned_page page;
  return static_cast<char*>(page.data());
}

/// Copies n elements from the device; waits for the stream.
template <class T> void read_back(const device_context& ctx, T* to, const T* from, std::int64_t n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
  void* const first = bytes <= pinned_page::bytes / 2 ? own_pinned_page() : static_cast<void*>(to);
  check(cudaMemcpyAsync(first, from, bytes, cudaMemcpyDeviceToHost, ctx.stream()), "read_back");
  ctx.synchronize();
  if (first != to) std::memcpy(to, first, bytes);
}

/// A value that is on its way from the device: work may be queued behind it before it is waited
/// for. A thread has one at a time.
template <class T> class read_ahead {
public:
  static_assert(sizeof(T) <= pinned_page::bytes / 2);
  read_ahead(cudaStream_t stream, const T* from)
      : page_(own_pinned_page() + pinned_page::bytes / 2) {
    check(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "read_ahead");
    cudaError_t status = cudaMemcpyAsync(page_, from, sizeof(T), cudaMemcpyDeviceToHost, stream);
    if (status == cudaSuccess) status = cudaEventRecord(arrived_, stream);
    if (status != cudaSuccess) (void)cudaEventDestroy(arrived_);
    check(status, "read_ahead");
  }
  read_ahead(const read_ahead&) = delete;
  read_ahead& operator=(const read_ahead&) = delete;
  ~read_ahead() {
    (void)cudaEventSynchronize(arrived_); // the page is the next one's
    (void)cudaEventDestroy(arrived_);
  }
  [[nodiscard]] T get() const {
    check(cudaEventSynchronize(arrived_), "read_ahead");
    T value;
    std::memcpy(&value, page_, sizeof(T));
    return value;
  }

private:
  char* page_;
  cudaEvent_t arrived_ = nullptr;
};

} // namespace lacuna::detail::gpu
