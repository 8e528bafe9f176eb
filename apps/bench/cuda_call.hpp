// Errors of CUDA's runtime as exceptions.
#pragma once

#include <cuda_runtime_api.h>
#include <string>

#include <lacuna/core/error.hpp>

namespace lacuna::bench {

/// Throws device_error with the name of the call that failed.
inline void require(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    throw device_error(std::string(call) + ": " + cudaGetErrorString(status));
}

} // namespace lacuna::bench
