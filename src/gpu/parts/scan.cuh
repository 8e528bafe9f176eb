// Running sums and partitions over the device.
#pragma once

#include <lacuna/core/array.hpp>

namespace lacuna::detail::gpu {

/// sums[i] = counts[0] + … + counts[i - 1] for i in [0, n]; sums has one element more than counts.
/// Sums: std::int64_t, or std::int32_t if all of them fit.
template <class Count, class Sum>
void exclusive_sums(const device_context& ctx, std::int64_t n, const Count* counts, Sum* sums);

/// maxima[i] = the largest of from[0] … from[i], none of which is negative.
void running_maxima(const device_context& ctx, std::int64_t n, const std::int64_t* from,
                    std::int64_t* maxima);

/// Elements with a flag to the front, in their order, then the others, the last of them first.
/// Returns the number of the first; waits for it.
template <class I>
std::int64_t partition(const device_context& ctx, std::int64_t n, const I* from, const char* flags,
                       I* to);

} // namespace lacuna::detail::gpu
