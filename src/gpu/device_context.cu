#include <limits>
#include <memory>

#include "core/memory.hpp"
#include "gpu/parts/cuda.cuh"
#include "gpu/parts/stream_scratch.cuh"
#include <lacuna/core/context.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/streams.hpp>
#include <lacuna/op/copy.hpp>

namespace lacuna {

namespace detail::gpu {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError(); // a failed call must not be reported again by the next one
  const std::string message =
      std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  if (status == cudaErrorMemoryAllocation) throw out_of_memory(message, 0);
  throw device_error(message);
}

unsigned blocks_for(std::int64_t threads) {
  const std::int64_t blocks = (threads + block_threads - 1) / block_threads;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw unsupported("a launch of " + std::to_string(threads) + " threads is beyond CUDA's grid");
  return static_cast<unsigned>(blocks);
}

} // namespace detail::gpu

using detail::gpu::check;

namespace {
// The process may be past the driver's own shutdown: failures here have nobody to tell.
struct destroy_stream {
  void operator()(cudaStream_t stream) const { (void)cudaStreamDestroy(stream); }
};
struct destroy_pool {
  void operator()(cudaMemPool_t pool) const { (void)cudaMemPoolDestroy(pool); }
};
struct free_device {
  void operator()(double* p) const { (void)cudaFree(p); }
};
} // namespace

/// Owns the stream (if it made it) and the pool; arrays hold a reference, so it outlives them.
struct device_context::state {
  int device = 0;
  std::unique_ptr<CUstream_st, destroy_stream> own_stream;
  cudaStream_t stream = nullptr;
  std::unique_ptr<std::remove_pointer_t<cudaMemPool_t>, destroy_pool> pool;
  std::unique_ptr<double, free_device> partial_sums; // and the tickets behind them
  device_properties properties;

  explicit state(const device_options& options) : device(options.device) {
    const int count = device_count();
    if (device < 0 || device >= count)
      throw device_error("device " + std::to_string(device) +
                         " is not there: " + std::to_string(count) + " found");
    const detail::gpu::device_guard guard(device);
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
    int clock_khz = 0;
    check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device),
          "cudaDeviceGetAttribute");
    properties = {p.name,
                  10 * p.major + p.minor,
                  p.multiProcessorCount,
                  p.totalGlobalMem,
                  static_cast<std::size_t>(p.l2CacheSize),
                  p.sharedMemPerBlockOptin,
                  clock_khz,
                  p.memoryBusWidth};

    cudaMemPoolProps pool_properties{};
    pool_properties.allocType = cudaMemAllocationTypePinned;
    pool_properties.location = {cudaMemLocationTypeDevice, device};
    cudaMemPool_t made = nullptr;
    check(cudaMemPoolCreate(&made, &pool_properties), "cudaMemPoolCreate");
    pool.reset(made);
    // Keep what was mapped: with the default threshold 0 every wait gives it back, and mapping it
    // again costs 1.4 ms per GB (measured on an H200).
    std::uint64_t keep = options.kept_bytes;
    check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep),
          "cudaMemPoolSetAttribute");
    stream = options.stream;
    if (stream == nullptr && !options.legacy_stream) {
      // Ordered with CUDA's legacy default stream, where calls without a context run.
      check(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), "cudaStreamCreate");
      own_stream.reset(stream);
    }
    constexpr std::size_t bytes =
        detail::stream_scratch::count * (sizeof(double) + sizeof(unsigned));
    double* made_sums = nullptr;
    check(cudaMalloc(&made_sums, bytes), "cudaMalloc");
    partial_sums.reset(made_sums);
    // On the stream itself: one of the caller's may not be ordered with the legacy default stream.
    check(cudaMemsetAsync(made_sums, 0, bytes, stream), "cudaMemsetAsync");
  }
};

double* detail::stream_scratch::partial_sums(const device_context& ctx) noexcept {
  return ctx.state_->partial_sums.get();
}
unsigned* detail::stream_scratch::tickets(const device_context& ctx) noexcept {
  return reinterpret_cast<unsigned*>(partial_sums(ctx) + count);
}

int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

device_context::context(device_options options) : state_(std::make_shared<state>(options)) {}
int device_context::device() const noexcept { return state_->device; }
CUstream_st* device_context::stream() const noexcept { return state_->stream; }
const device_properties& device_context::properties() const noexcept { return state_->properties; }

void device_context::synchronize() const {
  const detail::gpu::device_guard guard(state_->device);
  check(cudaStreamSynchronize(state_->stream), "synchronize");
}

void device_context::trim() const {
  synchronize();
  check(cudaMemPoolTrimTo(state_->pool.get(), 0), "cudaMemPoolTrimTo");
}

void* device_context::allocate(std::size_t bytes) const {
  if (bytes == 0) return nullptr;
  if (!detail::allocation_allowed(space::device, bytes))
    detail::throw_out_of_memory(space::device, bytes);
  const detail::gpu::device_guard guard(state_->device);
  void* p = nullptr;
  if (cudaMallocFromPoolAsync(&p, bytes, state_->pool.get(), state_->stream) != cudaSuccess) {
    // Other streams' frees may not have run yet, and fragments may be in the way: settle both,
    // once.
    (void)cudaGetLastError();
    trim();
    if (cudaMallocFromPoolAsync(&p, bytes, state_->pool.get(), state_->stream) != cudaSuccess) {
      (void)cudaGetLastError();
      detail::throw_out_of_memory(space::device, bytes);
    }
  }
  detail::note_allocated(space::device, bytes);
  return p;
}

void device_context::deallocate(void* p, std::size_t bytes) const noexcept {
  if (p == nullptr) return;
  try { // default streams are those of the current device
    const detail::gpu::device_guard guard(state_->device);
    (void)cudaFreeAsync(p, state_->stream);
  } catch (const error&) { // the process is past the driver's shutdown, or a forked child
  }
  detail::note_freed(space::device, bytes);
}

void order_streams(int device, CUstream_st* earlier, CUstream_st* later) {
  if (earlier == later) return;
  const detail::gpu::device_guard guard(device);
  cudaEvent_t reached = nullptr;
  check(cudaEventCreateWithFlags(&reached, cudaEventDisableTiming), "cudaEventCreate");
  cudaError_t status = cudaEventRecord(reached, earlier);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(later, reached, 0);
  (void)cudaEventDestroy(reached); // goes when it has been reached
  check(status, "order_streams");
}

int device_of(const void* data) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, data), "device_of");
  const bool on_device =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_device ? attributes.device : -1;
}

template <> const device_context& default_context<space::device>() {
  static const device_context ctx({.device = 0, .stream = nullptr, .legacy_stream = true});
  return ctx;
}

namespace detail {
namespace {
/// Of device memory, and of pinned memory that a device reads.
int device_holding(const void* data) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, data), "copy_to host");
  return attributes.device;
}
} // namespace

void copy_bytes(const host_context&, void* to, const void* from, std::size_t bytes,
                space from_space) {
  if (bytes == 0) return;
  if (from_space == space::host) {
    std::memcpy(to, from, bytes);
    return;
  }
  // A pool's memory is its own device's alone.
  const detail::gpu::device_guard guard(device_holding(from));
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy_to host");
}

void wait_for_device_of(const void* data) {
  if (data == nullptr) return;
  // A view does not say which stream last wrote it: wait for all of them.
  const detail::gpu::device_guard guard(device_holding(data));
  check(cudaDeviceSynchronize(), "copy_to host");
}

void copy_bytes(const device_context& ctx, void* to, const void* from, std::size_t bytes,
                space from_space) {
  if (bytes == 0) return;
  const detail::gpu::device_guard guard(ctx.device());
  check(
      cudaMemcpyAsync(to, from, bytes,
                      from_space == space::host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice,
                      ctx.stream()),
      "copy_to device");
}

} // namespace detail
} // namespace lacuna
