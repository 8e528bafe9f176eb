// Vectors that go to a device and back again and again, from host memory that is not pinned:
//
//   staging through(ctx);                4 MiB of pinned memory, whatever is copied
//   through.send(x, x_there);            queued; x may change when it returns
//   multiply(ctx, a, x_there, y_there);
//   through.fetch(y_there, y);           waits until y is there
//
// Copies go in pieces: while the device moves one, the host fills or empties the next.
#pragma once

#include <memory>

#include <lacuna/op/operand.hpp>

namespace lacuna {

/// For one thread at a time, on the stream of its context.
class staging {
public:
  /// Throws out_of_memory, device_error.
  LACUNA_GPU_EXPORT explicit staging(const device_context& ctx);
  LACUNA_GPU_EXPORT staging(staging&&) noexcept;
  LACUNA_GPU_EXPORT staging& operator=(staging&&) noexcept;
  /// Waits for copies that still run.
  LACUNA_GPU_EXPORT ~staging();

  template <class X, class T> void send(const X& from, vector_view<T, space::device> to) {
    const vector_view<const T> v = detail::const_view(from);
    detail::require_same_size("send", "elements of the source", v.size(), "elements of the target",
                              to.size());
    send_bytes(to.data(), v.data(), static_cast<std::size_t>(v.size()) * sizeof(T));
  }
  template <class T, class Y> void fetch(vector_view<const T, space::device> from, Y&& to) {
    const vector_view<T> v = detail::mutable_view(std::forward<Y>(to));
    detail::require_same_size("fetch", "elements of the source", from.size(),
                              "elements of the target", v.size());
    fetch_bytes(v.data(), from.data(), static_cast<std::size_t>(v.size()) * sizeof(T));
  }
  template <class X, class T> void send(const X& from, array<T, space::device>& to) {
    send(from, to.view());
  }
  template <class T, class Y> void fetch(const array<T, space::device>& from, Y&& to) {
    fetch(from.view(), std::forward<Y>(to));
  }

private:
  struct state;
  LACUNA_GPU_EXPORT void send_bytes(void* to, const void* from, std::size_t bytes);
  LACUNA_GPU_EXPORT void fetch_bytes(void* to, const void* from, std::size_t bytes);
  std::unique_ptr<state> state_;
};

} // namespace lacuna
