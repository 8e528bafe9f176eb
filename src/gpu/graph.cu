// CUDA graphs of work that is queued again and again, and memory that the host reads meanwhile.
#include "gpu/parts/cuda.cuh"
#include "solver/mirror.hpp"
#include <lacuna/core/error.hpp>
#include <lacuna/core/repeated.hpp>

namespace lacuna {

using detail::gpu::check;

struct repeated<space::device>::state {
  device_context ctx;
  std::function<void()> f;
  bool record;
  bool called = false;
  cudaGraphExec_t graph = nullptr;

  state(const device_context& c, std::function<void()> work, bool may_record)
      : ctx(c), f(std::move(work)),
        record(may_record && c.stream() != nullptr && c.stream() != cudaStreamLegacy) {}
  ~state() {
    if (graph != nullptr) (void)cudaGraphExecDestroy(graph); // after what is running
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  /// Whether f was recorded. If not, nothing of it has run.
  bool try_to_record() {
    // Other threads may use the device meanwhile: a plan in the background.
    if (cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
      (void)cudaGetLastError();
      return false;
    }
    bool queued = true;
    try {
      f();
    } catch (...) { // called again, it throws again what is not the recording's fault
      queued = false;
    }
    cudaGraph_t recorded = nullptr;
    const bool ended = cudaStreamEndCapture(ctx.stream(), &recorded) == cudaSuccess;
    const bool made = queued && ended && recorded != nullptr &&
                      cudaGraphInstantiateWithFlags(&graph, recorded, 0) == cudaSuccess;
    if (recorded != nullptr) (void)cudaGraphDestroy(recorded);
    if (!made) graph = nullptr;
    (void)cudaGetLastError();
    return made;
  }
};

repeated<space::device>::repeated(const device_context& ctx, std::function<void()> f, bool record)
    : state_(std::make_unique<state>(ctx, std::move(f), record)) {}
repeated<space::device>::repeated(repeated&&) noexcept = default;
repeated<space::device>& repeated<space::device>::operator=(repeated&&) noexcept = default;
repeated<space::device>::~repeated() = default;

void repeated<space::device>::operator()() {
  state& s = *state_;
  const detail::gpu::device_guard guard(s.ctx.device());
  // The first call loads kernels, which a recording might not survive.
  if (s.record && s.called && s.graph == nullptr && !s.try_to_record()) s.record = false;
  s.called = true;
  if (s.graph == nullptr) return s.f();
  check(cudaGraphLaunch(s.graph, s.ctx.stream()), "cudaGraphLaunch");
}

bool repeated<space::device>::recorded() const { return state_->graph != nullptr; }

namespace detail {

struct mirror<space::device>::state {
  static constexpr int marks = 16;
  device_context ctx;
  double* data = nullptr;
  cudaEvent_t events[marks] = {};
  std::int64_t marked = 0, passed = 0;

  explicit state(const device_context& c) : ctx(c) {}
  ~state() {
    if (data != nullptr) {
      try {
        ctx.synchronize();
      } catch (const error&) { // nothing runs that could write to it
      }
      (void)cudaFreeHost(data);
    }
    for (cudaEvent_t e : events)
      if (e != nullptr) (void)cudaEventDestroy(e);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
};

mirror<space::device>::mirror(const device_context& ctx, std::int64_t size)
    : state_(std::make_unique<state>(ctx)) {
  const gpu::device_guard guard(ctx.device());
  const std::size_t bytes = static_cast<std::size_t>(size < 1 ? 1 : size) * sizeof(double);
  void* made = nullptr;
  check(cudaHostAlloc(&made, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "cudaHostAlloc");
  state_->data = static_cast<double*>(made);
  std::memset(made, 0, bytes);
  for (cudaEvent_t& e : state_->events)
    check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreate");
}
mirror<space::device>::~mirror() = default;
double* mirror<space::device>::data() const { return state_->data; }
void mirror<space::device>::mark() {
  state& s = *state_;
  const gpu::device_guard guard(s.ctx.device());
  if (s.marked - s.passed == state::marks) wait(state::marks - 1); // its event is still in use
  check(cudaEventRecord(s.events[s.marked % state::marks], s.ctx.stream()), "cudaEventRecord");
  ++s.marked;
}
void mirror<space::device>::wait(int behind) {
  state& s = *state_;
  const gpu::device_guard guard(s.ctx.device());
  for (; s.marked - s.passed > behind; ++s.passed)
    check(cudaEventSynchronize(s.events[s.passed % state::marks]), "cudaEventSynchronize");
}

} // namespace detail
} // namespace lacuna
