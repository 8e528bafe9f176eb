// Sums, maxima and scans over the device through CUB, which forms them in the same order every
// time.
#pragma once

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/parts/cuda.cuh"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::gpu {

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

/// sums[i] = counts[0] + … + counts[i - 1] for i in [0, n]; sums has one element more than counts.
template <class Count>
void exclusive_sums(const device_context& ctx, std::int64_t n, const Count* counts,
                    std::int64_t* sums) {
  // Inclusive sums one place further on: a scan of n + 1 elements would read past the last count.
  check(cudaMemsetAsync(sums, 0, sizeof(std::int64_t), ctx.stream()), "exclusive_sums");
  if (n == 0) return;
  run_cub(ctx, "exclusive_sums", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScanInit(scratch, bytes, counts, sums + 1, cuda::std::plus<>{},
                                              std::int64_t{0}, n, ctx.stream());
  });
}

} // namespace lacuna::detail::gpu
