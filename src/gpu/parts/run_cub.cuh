// Calls of CUB's device-wide algorithms. CUB takes nvcc 8 s to read, so few sources include it:
// what several need is compiled in scan.cu, sort.cu and row_lengths.cu.
#pragma once

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

} // namespace lacuna::detail::gpu
