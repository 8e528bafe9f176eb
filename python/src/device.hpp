// Arrays in device memory, Lacuna's and other libraries', and the streams that work on them runs
// on.
#pragma once

#include <array>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <lacuna/core/array.hpp>
#include <lacuna/core/context.hpp>

namespace lacuna::python {

namespace nb = nanobind;

/// TypeError: "lacuna: …".
[[noreturn]] void throw_type(const char* format, ...);

/// The calling thread's stream, if it is one of this device's, else the device's legacy default
/// stream. RuntimeError that says what is missing where there is no such device.
device_context device_context_on(int device);

/// The calling thread's context on the same device, behind what is queued on `last` by now.
device_context same_place(const device_context& last);

/// A vector or a matrix in device memory, which it keeps alive. In Python the base of device_array.
class device_array {
public:
  static constexpr int most_dimensions = 2;

  void* data = nullptr;
  int ndim = 1;
  std::array<std::int64_t, most_dimensions> shape = {0, 1}, stride = {1, 1}; // in elements
  nb::dlpack::dtype type;
  device_context
      written_on;   ///< the stream that last wrote it, or that its writer was made to precede
  nb::object owner; ///< of the memory
  bool read_only = false;

  /// Of memory of Lacuna's: a vector, or a matrix by rows or by columns without gaps.
  template <class T>
  device_array(const device_context& ctx, array<T, space::device> a, int dimensions,
               std::int64_t rows, std::int64_t cols, bool by_columns = false)
      : data(a.data()),
        ndim(dimensions), shape{rows, cols}, stride{by_columns || dimensions == 1 ? 1 : cols,
                                                    by_columns ? rows : 1},
        type(nb::dtype<T>()), written_on(ctx) {
    auto* const kept = new array<T, space::device>(std::move(a));
    owner = nb::capsule(kept,
                        [](void* p) noexcept { delete static_cast<array<T, space::device>*>(p); });
  }
  /// Memory of somebody else's; ndim, shape and stride are the caller's to set.
  device_array(const device_context& ctx, void* memory, nb::dlpack::dtype t, nb::object keeper)
      : data(memory), type(t), written_on(ctx), owner(std::move(keeper)) {}

  [[nodiscard]] int device() const { return written_on.device(); }
  [[nodiscard]] std::int64_t size() const { return ndim == 1 ? shape[0] : shape[0] * shape[1]; }
  [[nodiscard]] std::int64_t item_bytes() const { return type.bits / 8; }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(size() * item_bytes());
  }
  [[nodiscard]] bool has_rows_without_gaps() const;
  [[nodiscard]] bool has_columns_without_gaps() const;
  template <class T> [[nodiscard]] bool holds() const { return type == nb::dtype<T>(); }
  /// What runs on ctx from now on finds it written.
  void settle_on(const device_context& ctx) const;
};

/// Lacuna's, or any object with __dlpack__ or __cuda_array_interface__ in device memory: no copy,
/// and settled on the calling thread's stream. TypeError, which names it, for others.
device_array device_array_of(nb::handle object, const char* name);

/// As an object of Python's, a lacuna.device_array.
nb::object to_python(device_array a);
/// A vector of Lacuna's.
template <class T> nb::object to_python(const device_context& ctx, array<T, space::device> a) {
  const std::int64_t size = a.size();
  return to_python(device_array(ctx, std::move(a), 1, size, 1));
}

/// f() while other threads of Python run.
template <class F>
  requires(std::is_invocable_v<F&>)
auto without_gil(F f) {
  const nb::gil_scoped_release released;
  return f();
}

} // namespace lacuna::python
