// Sums, maxima and scans over the device through CUB, which forms them in the same order every time.
#pragma once

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/parts/cuda.cuh"
#include <lacuna/core/array.hpp>

namespace lacuna::gpu {

/// Runs a CUB device-wide algorithm: asks for its scratch, allocates it, calls again.
template <class F> void run_cub(const device_context& ctx, const char* what, F algorithm) {
  std::size_t bytes = 0;
  check(algorithm(nullptr, bytes), what);
  array<char, space::device> scratch(ctx, static_cast<std::int64_t>(bytes < 1 ? 1 : bytes));
  check(algorithm(scratch.data(), bytes), what);
}

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

/// result[i] = f(0) + … + f(i - 1) for i in [0, n]; result has n + 1 elements.
template <class R, class F>
void exclusive_sums(const device_context& ctx, std::int64_t n, F f, R* result) {
  // The scan reads one element past the last: give it 0.
  const auto input = thrust::make_transform_iterator(
      thrust::make_counting_iterator(std::int64_t{0}),
      [f, n] __device__(std::int64_t i) { return i < n ? static_cast<R>(f(i)) : R{0}; });
  run_cub(ctx, "exclusive_sums", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, input, result, n + 1, ctx.stream());
  });
}

} // namespace lacuna::gpu
