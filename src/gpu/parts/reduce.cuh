// Sums and maxima over the device through CUB, which forms them in the same order every time.
#pragma once

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/parts/run_cub.cuh"

namespace lacuna::detail::gpu {

/// op over f(0) .. f(n - 1), starting from init; waits for the value.
template <class R, class F, class Op>
R reduce(const device_context& ctx, std::int64_t n, F f, Op op, R init) {
  if (n == 0) return init;
  const auto input =
      thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), f);
  array<R, space::device> result(ctx, 1);
  run_cub(ctx, "reduce", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(scratch, bytes, input, result.data(), n, op, init,
                                     ctx.stream());
  });
  R value{};
  read_back(ctx, &value, result.data(), 1);
  return value;
}

} // namespace lacuna::detail::gpu
