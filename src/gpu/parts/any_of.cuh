#pragma once

#include "gpu/parts/cuda.cuh"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::gpu {

template <class F> struct set_flag_if {
  F holds;
  int* flag;
  __device__ void operator()(std::int64_t i) const {
    if (holds(i)) *flag = 1;
  }
};

/// Whether holds(i) for some i in [0, n). Waits. The flag is not the stream's scratch: it lasts for
/// several calls, between which another thread may queue work on the same stream.
template <class F>
bool any_of(const device_context& ctx, std::int64_t n, const char* what, F holds) {
  array<int, space::device> flag(ctx, 1);
  check(cudaMemsetAsync(flag.data(), 0, sizeof(int), ctx.stream()), what);
  for_each(ctx, n, what, set_flag_if<F>{holds, flag.data()});
  int result = 0;
  read_back(ctx, &result, std::as_const(flag).data(), 1);
  return result != 0;
}

} // namespace lacuna::detail::gpu
