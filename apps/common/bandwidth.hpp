// The bandwidth that a product is measured against, in this process and beside it.
#pragma once

#include <functional>

#include <lacuna/core/context.hpp>

namespace lacuna::app {

struct bandwidth_probe {
  const char* name; ///< "triad" (host), "copy" (device)
  double bytes;     ///< moved by one run
  int runs;         ///< that one call of `run` makes
  std::function<void()> run;
};

/// STREAM's triad, as in lacuna-bench. Holds three arrays that together are three times the caches,
/// 96 MiB at least and 768 MiB at most.
bandwidth_probe make_probe(const host_context& ctx);
/// A copy within the device's memory; run() waits for the copies it has queued. Holds two arrays of
/// up to 512 MiB.
bandwidth_probe make_probe(const device_context& ctx);

/// Bytes per second: the median of a few runs, about a quarter of a second on a host.
template <space S> double measure_bandwidth(const context<S>& ctx);

} // namespace lacuna::app
