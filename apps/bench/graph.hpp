// Lacuna's planned product in a CUDA graph. Not there in a build without CUDA.
#pragma once

#include "bench/contestant.hpp"

namespace lacuna::bench {

/// A contestant of spmv on small matrices, where a launch costs as much as the work. It shows that
/// plans can be captured: one that cannot is in trouble.
template <class T> peer<T, space::device> graph_entrant(const device_context& ctx);

} // namespace lacuna::bench
