#pragma once

#include <map>
#include <mutex>

#include "gpu/parts/cuda.cuh"

namespace lacuna::detail::gpu {

/// Lets a kernel have more than 48 KB of shared memory. The limit is the kernel's on its device,
/// not a launch's, so it only grows: another thread may be about to launch with more.
template <class Kernel> void allow_shared(Kernel* kernel, std::size_t bytes) {
  static std::mutex lock;
  static std::map<std::pair<int, const void*>, std::size_t> allowed; // by device and kernel
  if (bytes <= 48 * 1024) return;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const std::lock_guard<std::mutex> guard(lock);
  std::size_t& most = allowed[{device, reinterpret_cast<const void*>(kernel)}];
  if (bytes <= most) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
  most = bytes;
}

} // namespace lacuna::detail::gpu
