// On the CPU: runs are timed by the clock; the limit is STREAM's triad with as many threads.
#include <fmt/format.h>

#include "bench/engines.hpp"
#include "bench/peers/peers.hpp"
#include "bench/suites.hpp"
#include "common/cache.hpp"
#include "common/stream.hpp"

namespace lacuna::bench {
namespace {

using app::pass;

class stream_probe : public prepared {
public:
  stream_probe(const host_context& ctx, pass what, std::int64_t size) : arrays_(ctx, what, size) {}
  void run() override { arrays_.run(); }

private:
  app::stream_arrays arrays_;
};

/// One run; if it is over within 20 ms, others back to back for about two, which count instead:
/// threads have woken up, and what fits the caches is there, whoever ran before.
double time_runs(prepared& entrant) {
  constexpr double brief = 20e-3, queue = 2e-3;
  app::stopwatch watch;
  entrant.run();
  entrant.forget();
  const double once = watch.seconds();
  if (once > brief) return once;
  const int length = std::clamp(static_cast<int>(queue / std::max(once, 1e-6)), 1, 200);
  watch = {};
  for (int i = 0; i < length; ++i) {
    entrant.run();
    entrant.forget();
  }
  return watch.seconds() / length;
}

} // namespace

bool run_on_host(const settings& s, const std::string& why) {
  const bool spgemm = s.what == suite::spgemm || s.what == suite::paper_001;
  const bool small = spgemm || changes_matrix(s.what);
  const auto sources = choose_matrices(s, small ? size_class::small : size_class::medium);
  const host_context ctx({s.threads});
  report out(s, fmt::format("CPU, {} thread{}", ctx.threads(), ctx.threads() == 1 ? "" : "s"), why);
  const double cache = app::last_cache_bytes();
  // Arrays of four times the cache each, at least 128 MiB and at most 1 GiB.
  const auto size =
      static_cast<std::int64_t>(std::clamp(4 * cache, 0x1p27, 0x1p30) / sizeof(double));
  rig<space::host> r{ctx, cache, s.repeat > 0 ? s.repeat : 21, time_runs, {}};
  const bool paper = s.what >= suite::paper_001 && s.what <= suite::paper_004;
  if (paper && s.repeat == 0 && s.size == size_class::small)
    r.most_seconds = 1; // its tables are done within a minute
  else if (spgemm && s.repeat == 0)
    r.most_seconds = 4;
  const auto elements = static_cast<double>(size);
  const auto make = [&ctx, size](pass what) {
    return [&ctx, size, what] { return std::make_unique<stream_probe>(ctx, what, size); };
  };
  r.probes.push_back({"triad", 24 * elements, make(pass::triad)});
  r.probes.push_back({"copy", 16 * elements, make(pass::copy)});
  const peer_settings wanted{ctx.threads(), s.mkl, s.what};
  const peer_lists<space::host> peers{host_peers<double>(wanted), host_peers<float>(wanted)};
  run_suite(r, ctx, s, sources, peers, out);
  return out.finish();
}

} // namespace lacuna::bench
