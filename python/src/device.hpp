// Arrays in device memory, Lacuna's and other libraries', and the streams that work on them runs
// on.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <lacuna/core/array.hpp>
#include <lacuna/core/context.hpp>
#include <lacuna/core/streams.hpp>

namespace lacuna::python {

namespace nb = nanobind;

/// TypeError: "lacuna: …".
[[noreturn]] void throw_type(const char* format, ...);

/// The device of the calling thread's stream; 0 if none was chosen.
int current_device();
/// RuntimeError that says what is missing where there is no such device.
void require_device(int device);

/// Streams as __cuda_array_interface__ and DLPack write them: 1 is the legacy default stream, 2
/// that of the thread, which CUDA itself knows by this number.
inline CUstream_st* stream_from(std::uintptr_t number) {
  return number == 1 ? nullptr : reinterpret_cast<CUstream_st*>(number);
}
inline std::uintptr_t number_of(CUstream_st* stream) {
  return stream == nullptr ? 1 : reinterpret_cast<std::uintptr_t>(stream);
}

/// The calling thread's stream, if it is one of this device's, else the device's legacy default
/// stream. Throws as require_device.
device_context device_context_on(int device);

/// Which streams one piece of device memory was written and read on. Queued on the streams, never
/// waited for: readers come behind the last writer, a writer behind all, and the free behind all.
class stream_uses {
public:
  explicit stream_uses(device_context writer) : writer_(std::move(writer)) {}
  void before_reading_on(const device_context& ctx);
  void before_writing_on(const device_context& ctx);
  /// Of memory that was allocated on this context.
  void before_freeing(const device_context& allocated_on) noexcept;
  /// The stream that a library must wait for which may read the memory, and write it.
  [[nodiscard]] CUstream_st* before_sharing();

private:
  void put_before(const device_context& ctx) const;

  std::mutex mutex_;
  device_context writer_;
  std::vector<CUstream_st*> readers_; // of the writer's device
};

/// A vector or a matrix in device memory, which it keeps alive. In Python the base of device_array.
class device_array {
public:
  static constexpr int most_dimensions = 2;

  void* data = nullptr;
  int ndim = 1;
  std::array<std::int64_t, most_dimensions> shape = {0, 1}, stride = {1, 1}; // in elements
  nb::dlpack::dtype type;
  int device = 0;
  std::shared_ptr<stream_uses> uses; ///< those of all arrays over the same memory
  nb::object owner;                  ///< of the memory
  bool read_only = false;

  /// Of memory of Lacuna's, made on ctx: a vector, or a matrix by rows or by columns without gaps.
  template <class T>
  device_array(const device_context& ctx, array<T, space::device> a, int dimensions,
               std::int64_t rows, std::int64_t cols, bool by_columns = false)
      : device_array(ctx, a.data(), nb::dtype<T>(), nb::object()) {
    ndim = dimensions;
    shape = {rows, cols};
    stride = {by_columns || dimensions == 1 ? 1 : cols, by_columns ? rows : 1};
    struct kept_array {
      array<T, space::device> memory;
      std::shared_ptr<stream_uses> uses;
      device_context allocated_on;
      ~kept_array() { uses->before_freeing(allocated_on); }
    };
    owner = nb::capsule(new kept_array{std::move(a), uses, ctx},
                        [](void* p) noexcept { delete static_cast<kept_array*>(p); });
  }
  /// Memory of somebody else's, written on ctx or before; ndim, shape and stride are the caller's
  /// to set.
  device_array(const device_context& ctx, void* memory, nb::dlpack::dtype t, nb::object keeper)
      : data(memory), type(t), device(ctx.device()), uses(std::make_shared<stream_uses>(ctx)),
        owner(std::move(keeper)) {}

  [[nodiscard]] std::int64_t size() const { return ndim == 1 ? shape[0] : shape[0] * shape[1]; }
  [[nodiscard]] std::int64_t item_bytes() const { return type.bits / 8; }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(size() * item_bytes());
  }
  [[nodiscard]] bool has_rows_without_gaps() const;
  [[nodiscard]] bool has_columns_without_gaps() const;
  template <class T> [[nodiscard]] bool holds() const { return type == nb::dtype<T>(); }
};

/// Lacuna's, or any object with __dlpack__ or __cuda_array_interface__ in device memory: no copy,
/// and ready on the calling thread's stream. TypeError, which names it, for others.
device_array device_array_of(nb::handle object, const char* name);

/// As an object of Python's, a lacuna.device_array.
nb::object to_python(device_array a);
/// A vector of Lacuna's.
template <class T> nb::object to_python(const device_context& ctx, array<T, space::device> a) {
  const std::int64_t size = a.size();
  return to_python(device_array(ctx, std::move(a), 1, size, 1));
}

/// The calling thread's context where an object's own is.
inline device_context callers_context(const device_context& own) {
  return device_context_on(own.device());
}
/// At the end of its life, also where something is thrown: `later` waits for what `earlier`, on the
/// same device, has queued.
struct ordered_at_end {
  device_context earlier, later;
  ~ordered_at_end() {
    try {
      order_streams(later.device(), earlier.stream(), later.stream());
    } catch (const std::exception&) { // the device has failed, and says so at the next call
    }
  }
};
/// f() on a stream that an object keeps for all it does: behind what the caller's has queued by
/// now, and before what that queues later.
template <class F>
auto on_own_stream(const device_context& callers, const device_context& own, F f) {
  order_streams(own.device(), callers.stream(), own.stream());
  const ordered_at_end back{own, callers};
  return f();
}

/// f() while other threads of Python run.
template <class F>
  requires(std::is_invocable_v<F&>)
auto without_gil(F f) {
  const nb::gil_scoped_release released;
  return f();
}

} // namespace lacuna::python
