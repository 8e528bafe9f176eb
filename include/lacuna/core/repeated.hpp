// repeated(ctx, f): what f queues, again and again. On a device the second call records it as a
// CUDA graph, and every call from then on is one launch: 0.5 us for each kernel instead of 2 to 5.
//
//   repeated<S> iterate(ctx, [&] { multiply(ctx, a, p, q); … });
//   for (…) iterate();
//
// f must queue the same work, on the same memory, whenever it is called, and wait for nothing;
// operations that Lacuna documents as queued are such work, and memory that they allocate on the
// way becomes the graph's. What cannot be recorded (a wait in f, CUDA's legacy stream) is called.
// On the host f is called.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <lacuna/core/context.hpp>

namespace lacuna {

template <space S> class repeated;

template <> class repeated<space::host> {
public:
  explicit repeated(const host_context&, std::function<void()> f, bool = true) : f_(std::move(f)) {}
  void operator()() { f_(); }
  /// Whether calls are launches of a graph by now.
  [[nodiscard]] bool recorded() const { return false; }

private:
  std::function<void()> f_;
};

template <> class repeated<space::device> {
public:
  /// record false: f is called every time.
  LACUNA_GPU_EXPORT explicit repeated(const device_context& ctx, std::function<void()> f,
                                      bool record = true);
  LACUNA_GPU_EXPORT repeated(repeated&&) noexcept;
  LACUNA_GPU_EXPORT repeated& operator=(repeated&&) noexcept;
  /// Launches that are queued still run.
  LACUNA_GPU_EXPORT ~repeated();
  /// Throws device_error, and what f throws.
  LACUNA_GPU_EXPORT void operator()();
  [[nodiscard]] LACUNA_GPU_EXPORT bool recorded() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace lacuna
