// Scratch of one launch whose warps must know which of them is last.
#pragma once

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/stream_scratch.cuh"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::gpu {

/// Room for `count` sums, and as many counters that a kernel finds 0 and leaves 0: the stream's
/// own, which cost nothing, unless they are too few. A graph that a stream records may run beside
/// the stream's later work, so it gets its own as well.
template <class T> class launch_scratch {
public:
  launch_scratch(const device_context& ctx, std::int64_t count)
      : sums_(reinterpret_cast<T*>(stream_scratch::partial_sums(ctx))),
        tickets_(stream_scratch::tickets(ctx)) {
    if (count == 0 || (count <= stream_scratch::count && !is_capturing(ctx.stream()))) return;
    own_sums_ = array<T, space::device>(ctx, count);
    own_tickets_ = array<unsigned, space::device>(ctx, count);
    check(cudaMemsetAsync(own_tickets_.data(), 0, own_tickets_.bytes(), ctx.stream()),
          "cudaMemsetAsync");
    sums_ = own_sums_.data();
    tickets_ = own_tickets_.data();
  }
  [[nodiscard]] T* sums() const { return sums_; }
  [[nodiscard]] unsigned* tickets() const { return tickets_; }

private:
  static bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

  array<T, space::device> own_sums_;
  array<unsigned, space::device> own_tickets_;
  T* sums_;
  unsigned* tickets_;
};

} // namespace lacuna::detail::gpu
