#include "common/bandwidth.hpp"

#include <algorithm>
#include <memory>

#include "common/cache.hpp"
#include "common/clock.hpp"
#include "common/stream.hpp"
#include <lacuna/op/copy.hpp>

namespace lacuna::app {

bandwidth_probe make_probe(const host_context& ctx) {
  const double array_bytes = std::clamp(last_cache_bytes(), 0x1p25, 0x1p28);
  const auto arrays = std::make_shared<stream_arrays>(
      ctx, pass::triad, static_cast<std::int64_t>(array_bytes / sizeof(double)));
  return {"triad", arrays->bytes(), 1, [arrays] { arrays->run(); }};
}

bandwidth_probe make_probe(const device_context& ctx) {
  constexpr int copies = 10; // so that the wait at the end does not count
  const auto size = static_cast<std::int64_t>(
      std::min<std::size_t>(ctx.properties().memory_bytes / 32, 1U << 29));
  struct buffers {
    array<char, space::device> from, to;
  };
  const auto b = std::make_shared<buffers>(
      buffers{array<char, space::device>(ctx, size), array<char, space::device>(ctx, size)});
  return {"copy", 2.0 * static_cast<double>(size), copies, [ctx, b] {
            for (int i = 0; i < copies; ++i)
              detail::copy_bytes(ctx, b->to.data(), b->from.data(), b->from.bytes(), space::device);
            ctx.synchronize();
          }};
}

template <space S> double measure_bandwidth(const context<S>& ctx) {
  const bandwidth_probe probe = make_probe(ctx);
  std::vector<double> seconds;
  probe.run();
  for (int i = 0; i < 5; ++i) {
    const stopwatch watch;
    probe.run();
    seconds.push_back(watch.seconds());
  }
  return probe.bytes * probe.runs / median(seconds);
}

template double measure_bandwidth(const host_context&);
template double measure_bandwidth(const device_context&);

} // namespace lacuna::app
