// For kernels whose warps must know which of them is last.
#pragma once

#include <cstdint>

#include <lacuna/core/context.hpp>

namespace lacuna::detail {

/// Counters in device memory that a kernel finds 0 and leaves 0, and as many doubles. Kernels on
/// one stream run one after another and share them.
struct stream_scratch {
  static constexpr std::int64_t count = 1 << 16;
  static unsigned* tickets(const device_context& ctx) noexcept;
  static double* partial_sums(const device_context& ctx) noexcept;
};

} // namespace lacuna::detail
