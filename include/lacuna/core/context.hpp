// A context says where and how work runs: on the host with some threads, or on one device and
// stream. It is a cheap handle: copies share the stream and the pool; arrays keep it alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <lacuna/core/export.hpp>
#include <lacuna/core/space.hpp>

struct CUstream_st; // cudaStream_t is CUstream_st*

namespace lacuna {

template <space S> class context;
namespace detail {
struct stream_scratch; // the GPU part's
}

struct host_options {
  int threads = 0; ///< 0: OMP_NUM_THREADS if set, else all cores
};

template <> class LACUNA_EXPORT context<space::host> {
public:
  static constexpr space memory_space = space::host;
  /// Throws bad_input if options.threads is negative.
  explicit context(host_options options = {});
  [[nodiscard]] int threads() const noexcept { return threads_; }

  /// Uninitialised, 64-byte aligned (2 MiB and huge pages asked for from 4 MiB on). Throws
  /// out_of_memory.
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  void deallocate(void* p, std::size_t bytes) const noexcept;
  /// Does nothing: host operations have finished when they return.
  void synchronize() const noexcept {}
  /// Gives memory back that was freed but is kept for the next large arrays: at most 1 GiB, and a
  /// sixteenth of the machine's.
  void trim() const noexcept;

private:
  int threads_;
};

struct device_properties {
  std::string name;
  int compute_capability = 0; ///< 90 for Hopper
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_block = 0; ///< the opt-in maximum
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
};

struct device_options {
  int device = 0;
  CUstream_st* stream =
      nullptr;                ///< a stream of the caller's, who keeps it alive; nullptr: a new one
  bool legacy_stream = false; ///< run on CUDA's legacy default stream instead
  /// Freed memory goes back to the device at each wait where the pool holds more than this, used
  /// memory counted. For processes that share one.
  std::size_t kept_bytes = std::numeric_limits<std::size_t>::max();
};

/// Work is queued on the context's stream; only operations that return a value to the host wait.
/// Memory comes from a stream-ordered pool of the device's that keeps what it has, within
/// options.kept_bytes, until `trim`.
template <> class LACUNA_EXPORT context<space::device> {
public:
  static constexpr space memory_space = space::device;
  /// Throws device_error if the device is not there, unsupported in a build without CUDA.
  explicit context(device_options options = {});
  [[nodiscard]] int device() const noexcept;
  [[nodiscard]] CUstream_st* stream() const noexcept;
  [[nodiscard]] const device_properties& properties() const noexcept;
  /// Waits for all work queued so far; throws device_error if any of it failed.
  void synchronize() const;
  /// Gives unused pool memory back to the device.
  void trim() const;

  /// Ordered on the stream. Throws out_of_memory.
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  void deallocate(void* p, std::size_t bytes) const noexcept;

private:
  friend struct detail::stream_scratch;
  struct state;
  std::shared_ptr<const state> state_;
};

using host_context = context<space::host>;
using device_context = context<space::device>;

/// Devices that can be used; 0 without a driver, without a device, or in a build without CUDA.
LACUNA_EXPORT int device_count() noexcept;
/// A context with a stream of its own for each device of the list; a device may be there twice.
/// Throws bad_input if the list is empty, device_error if a device is not there.
LACUNA_EXPORT std::vector<device_context> contexts_on(const std::vector<int>& devices);
/// Whether this build has the GPU part.
LACUNA_EXPORT bool built_with_cuda() noexcept;
/// The instruction set that host kernels use on this machine, by Highway's name: "AVX3", "NEON".
LACUNA_EXPORT const char* simd_target() noexcept;

/// The context of calls that name none. Host: all threads. Device: device 0 on CUDA's legacy
/// default stream, so that a caller's own cudaMemcpy is ordered behind it.
template <space S> const context<S>& default_context();
template <> LACUNA_EXPORT const host_context& default_context<space::host>();
template <> LACUNA_EXPORT const device_context& default_context<space::device>();

namespace detail {
template <class C> inline constexpr bool is_context = false;
template <space S> inline constexpr bool is_context<context<S>> = true;
} // namespace detail

} // namespace lacuna
