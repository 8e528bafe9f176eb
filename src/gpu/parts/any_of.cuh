#pragma once

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/launch_scratch.cuh"

namespace lacuna::detail::gpu {

template <class F> struct set_flag_if {
  F holds;
  int* flag;
  __device__ void operator()(std::int64_t i) const {
    if (holds(i)) *flag = 1;
  }
};

/// Whether holds(i) for some i in [0, n). Waits; allocates nothing.
template <class F>
bool any_of(const device_context& ctx, std::int64_t n, const char* what, F holds) {
  const launch_scratch<int> scratch(ctx, 1);
  int* const flag = scratch.sums();
  check(cudaMemsetAsync(flag, 0, sizeof(int), ctx.stream()), what);
  for_each(ctx, n, what, set_flag_if<F>{holds, flag});
  int result = 0;
  read_back(ctx, &result, flag, 1);
  return result != 0;
}

} // namespace lacuna::detail::gpu
