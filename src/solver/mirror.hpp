// Internal: memory through which the host follows what a stream does.
#pragma once

#include <cstdint>
#include <memory>

#include <lacuna/core/context.hpp>

namespace lacuna {

namespace detail {

/// Memory that kernels write and the host reads meanwhile, and marks in the stream to wait for.
template <space S> class mirror;
template <> class mirror<space::host> {
public:
  mirror(const host_context& ctx, std::int64_t size);
  mirror(const mirror&) = delete;
  mirror& operator=(const mirror&) = delete;
  ~mirror();
  [[nodiscard]] double* data() const { return data_; }
  void mark() {}
  void wait(int) {}

private:
  host_context ctx_;
  double* data_;
  std::int64_t size_;
};
template <> class mirror<space::device> {
public:
  LACUNA_GPU_EXPORT mirror(const device_context& ctx, std::int64_t size);
  mirror(const mirror&) = delete;
  mirror& operator=(const mirror&) = delete;
  /// Waits for the stream: kernels may still write.
  LACUNA_GPU_EXPORT ~mirror();
  [[nodiscard]] LACUNA_GPU_EXPORT double* data() const;
  LACUNA_GPU_EXPORT void mark();
  /// Until at most `behind` marks are still to be passed; at most 15.
  LACUNA_GPU_EXPORT void wait(int behind);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace detail
} // namespace lacuna
