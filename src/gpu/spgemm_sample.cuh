// Internal: how many products fall on an entry of C, by a sample of rows.
#pragma once

#include "gpu/spgemm.cuh"

namespace lacuna::detail::gpu {

/// Products for each entry of C, predicted; the same for the same patterns. Waits.
template <class I, class O>
double sampled_compression(const device_context& ctx, const spgemm_factors<I, O>& f,
                           const known_rows<I, O>& known);

} // namespace lacuna::detail::gpu
