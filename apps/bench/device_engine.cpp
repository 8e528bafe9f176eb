// On a CUDA device: work is queued back to back and a queue is timed by events; the limit is a copy
// within the device's memory.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "bench/cuda_call.hpp"
#include "bench/engines.hpp"
#include "bench/graph.hpp"
#include "bench/peers/peers.hpp"
#include "bench/suites.hpp"
#include "common/clock.hpp"

namespace lacuna::bench {
namespace {

class event {
public:
  event() { require(cudaEventCreate(&e_), "cudaEventCreate"); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { (void)cudaEventDestroy(e_); }
  [[nodiscard]] cudaEvent_t get() const { return e_; }

private:
  cudaEvent_t e_ = nullptr;
};

constexpr int queue_length = 30;

/// Seconds of one run, from up to 30 of them queued back to back: as many as fill `seconds`, or all
/// if that is 0.
class queue_timer {
public:
  queue_timer(const device_context& ctx, double seconds) : ctx_(ctx), seconds_(seconds) {}
  double operator()(prepared& entrant) const {
    const cudaStream_t stream = ctx_.stream();
    // A first one outside, so that the queue starts while the device is busy.
    const app::stopwatch watch;
    entrant.run();
    entrant.forget();
    int length = queue_length;
    if (seconds_ > 0) {
      ctx_.synchronize();
      const double once = watch.seconds();
      if (once > seconds_) return once;
      length = std::clamp(static_cast<int>(seconds_ / once), 2, queue_length);
    }
    require(cudaEventRecord(begin_->get(), stream), "cudaEventRecord");
    for (int i = 0; i < length; ++i) {
      entrant.run();
      entrant.forget();
    }
    require(cudaEventRecord(end_->get(), stream), "cudaEventRecord");
    require(cudaEventSynchronize(end_->get()), "cudaEventSynchronize");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin_->get(), end_->get()),
            "cudaEventElapsedTime");
    return milliseconds * 1e-3 / length;
  }

private:
  device_context ctx_;
  double seconds_;
  std::shared_ptr<event> begin_ = std::make_shared<event>(), end_ = std::make_shared<event>();
};

class copy_probe : public prepared {
public:
  copy_probe(const device_context& ctx, std::int64_t bytes)
      : stream_(ctx.stream()), from_(ctx, bytes), to_(ctx, bytes) {
    require(cudaMemsetAsync(from_.data(), 1, from_.bytes(), stream_), "cudaMemsetAsync");
  }
  void run() override {
    require(
        cudaMemcpyAsync(to_.data(), from_.data(), from_.bytes(), cudaMemcpyDeviceToDevice, stream_),
        "cudaMemcpyAsync");
  }

private:
  cudaStream_t stream_;
  array<char, space::device> from_, to_;
};

} // namespace

bool run_on_device(const settings& s, int device, const std::string& why) {
  const auto sources = choose_matrices(s, s.what == suite::spmm || s.what == suite::trisolve ||
                                                  changes_matrix(s.what)
                                              ? size_class::medium
                                              : size_class::large);
  // This program and the library may each have a CUDA runtime of their own; both use the device's
  // primary context, which this makes current for cuSPARSE too.
  require(cudaSetDevice(device), "cudaSetDevice");
  const device_context ctx({.device = device});
  const device_properties& properties = ctx.properties();
  report out(s, fmt::format("cuda:{} {}", device, properties.name), why);

  const bool makes_matrices = makes_matrix(s.what);
  rig<space::device> r{ctx,
                       static_cast<double>(properties.l2_bytes),
                       s.repeat > 0 ? s.repeat : 11,
                       queue_timer(ctx, makes_matrices || changes_matrix(s.what) ? 10e-3 : 0),
                       {}};
  if (makes_matrices && s.repeat == 0) r.most_seconds = 8;
  // Far beyond the L2, and never a large share of the memory.
  const auto bytes =
      static_cast<std::int64_t>(std::min<std::size_t>(properties.memory_bytes / 16, 1u << 30));
  r.probes.push_back({"copy", 2 * static_cast<double>(bytes),
                      [&ctx, bytes] { return std::make_unique<copy_probe>(ctx, bytes); }});
  peer_lists<space::device> peers;
  peers.f64.push_back(found_or_why<peer<double, space::device>>(
      "cuSPARSE", [&] { return cusparse_peer<double>(ctx); }));
  peers.f32.push_back(found_or_why<peer<float, space::device>>(
      "cuSPARSE", [&] { return cusparse_peer<float>(ctx); }));
  if (s.what == suite::spmv) {
    peers.f64.push_back(graph_entrant<double>(ctx));
    peers.f32.push_back(graph_entrant<float>(ctx));
  }
  run_suite(r, host_context({s.threads}), s, sources, peers, out);
  return out.finish();
}

} // namespace lacuna::bench
