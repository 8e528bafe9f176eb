#include <algorithm>
#include <map>
#include <memory>

#include "gpu/parts/fork.cuh"

namespace lacuna::detail::gpu {

/// A host thread's own streams on a device, made once: making one takes longer than many products.
struct launch_fork::side_streams {
  cudaEvent_t begun = nullptr;
  cudaStream_t stream[most] = {}; // [0] stays null: the context's
  cudaEvent_t done[most] = {};

  side_streams() {
    check(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming), "cudaEventCreate");
    for (int i = 1; i < most; ++i) {
      check(cudaStreamCreateWithFlags(stream + i, cudaStreamNonBlocking), "cudaStreamCreate");
      check(cudaEventCreateWithFlags(done + i, cudaEventDisableTiming), "cudaEventCreate");
    }
  }
  side_streams(const side_streams&) = delete;
  side_streams& operator=(const side_streams&) = delete;
  // The process may be past the driver's own shutdown: failures here have nobody to tell.
  ~side_streams() {
    (void)cudaEventDestroy(begun);
    for (int i = 1; i < most; ++i) {
      (void)cudaStreamDestroy(stream[i]);
      (void)cudaEventDestroy(done[i]);
    }
  }
};

launch_fork::side_streams& launch_fork::sides(int device) {
  static thread_local std::map<int, std::unique_ptr<side_streams>> of_device;
  auto& streams = of_device[device];
  if (streams == nullptr) streams = std::make_unique<side_streams>();
  return *streams;
}

launch_fork::launch_fork(const device_context& ctx, int launches)
    : main_(ctx.stream()), streams_(std::clamp(launches, 1, most)) {
  if (streams_ == 1) return;
  sides_ = &sides(ctx.device());
  check(cudaEventRecord(sides_->begun, main_), "cudaEventRecord");
}

cudaStream_t launch_fork::next() {
  const int i = given_++ % streams_;
  if (i == 0) return main_;
  const cudaStream_t side = sides_->stream[i];
  if (given_ <= streams_) check(cudaStreamWaitEvent(side, sides_->begun, 0), "cudaStreamWaitEvent");
  return side;
}

void launch_fork::join() {
  joined_ = true;
  for (int i = 1; i < std::min(given_, streams_); ++i) {
    check(cudaEventRecord(sides_->done[i], sides_->stream[i]), "cudaEventRecord");
    check(cudaStreamWaitEvent(main_, sides_->done[i], 0), "cudaStreamWaitEvent");
  }
}

launch_fork::~launch_fork() {
  if (joined_) return;
  for (int i = 1; i < std::min(given_, streams_); ++i)
    (void)cudaStreamSynchronize(sides_->stream[i]);
}

} // namespace lacuna::detail::gpu
