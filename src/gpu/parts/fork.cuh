// Launches that need not wait for each other.
#pragma once

#include "gpu/parts/cuda.cuh"

namespace lacuna::detail::gpu {

/// Streams for launches that may run at once, beginning after what the context's stream has so far;
/// join makes that stream wait for them. Memory that they use is allocated before, and freed after.
class launch_fork {
public:
  launch_fork(const device_context& ctx, int launches);
  launch_fork(const launch_fork&) = delete;
  launch_fork& operator=(const launch_fork&) = delete;
  /// Joins unless join() was called: an exception is on its way.
  ~launch_fork();
  /// The stream for the next launch; the context's own for the first.
  [[nodiscard]] cudaStream_t next();
  void join();

private:
  static constexpr int most = 5;
  struct side_streams;
  static side_streams& sides(int device);

  cudaStream_t main_;
  side_streams* sides_ = nullptr; // null: one launch, or none
  int streams_, given_ = 0;
  bool joined_ = false;
};

} // namespace lacuna::detail::gpu
