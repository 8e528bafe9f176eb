// Copies through a ring of pinned pieces.
#include <algorithm>
#include <cstring>

#include "core/memory.hpp"
#include "gpu/parts/cuda.cuh"
#include <lacuna/op/staging.hpp>

namespace lacuna {

using detail::gpu::check;

struct staging::state {
  static constexpr int pieces = 4;
  /// A piece takes 20 us at PCIe 5's 50 GB/s, several times what queueing it takes.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
  static constexpr std::size_t ring_bytes = pieces * piece_bytes;

  device_context ctx;
  char* ring = nullptr;
  cudaEvent_t copied[pieces] = {}; ///< by the device, each piece
  std::size_t next = 0;            ///< piece

  explicit state(const device_context& c) : ctx(c) {
    if (!detail::allocation_allowed(space::host, ring_bytes))
      detail::throw_out_of_memory(space::host, ring_bytes);
  }
  ~state() {
    for (cudaEvent_t e : copied) {
      if (e == nullptr) continue;
      (void)cudaEventSynchronize(e);
      (void)cudaEventDestroy(e);
    }
    if (ring == nullptr) return;
    (void)cudaFreeHost(ring);
    detail::note_freed(space::host, ring_bytes);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  char* piece(std::size_t k) const { return ring + k % pieces * piece_bytes; }
  void record(std::size_t k) const {
    check(cudaEventRecord(copied[k % pieces], ctx.stream()), "staging");
  }
  void wait_for(std::size_t k) const { check(cudaEventSynchronize(copied[k % pieces]), "staging"); }
};

staging::staging(const device_context& ctx) : state_(std::make_unique<state>(ctx)) {
  const detail::gpu::device_guard guard(ctx.device());
  void* made = nullptr;
  check(cudaMallocHost(&made, state::ring_bytes), "cudaMallocHost");
  state_->ring = static_cast<char*>(made);
  detail::note_allocated(space::host, state::ring_bytes);
  for (cudaEvent_t& e : state_->copied)
    check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreate");
}
staging::staging(staging&&) noexcept = default;
staging& staging::operator=(staging&&) noexcept = default;
staging::~staging() = default;

void staging::send_bytes(void* to, const void* from, std::size_t bytes) {
  state& s = *state_;
  const detail::gpu::device_guard guard(s.ctx.device());
  for (std::size_t at = 0; at < bytes; at += state::piece_bytes, ++s.next) {
    const std::size_t n = std::min(state::piece_bytes, bytes - at);
    s.wait_for(s.next); // what was in it is on the device
    std::memcpy(s.piece(s.next), static_cast<const char*>(from) + at, n);
    check(cudaMemcpyAsync(static_cast<char*>(to) + at, s.piece(s.next), n, cudaMemcpyHostToDevice,
                          s.ctx.stream()),
          "staging: send");
    s.record(s.next);
  }
}

void staging::fetch_bytes(void* to, const void* from, std::size_t bytes) {
  state& s = *state_;
  const detail::gpu::device_guard guard(s.ctx.device());
  const std::size_t count = (bytes + state::piece_bytes - 1) / state::piece_bytes;
  const auto bytes_of = [&](std::size_t k) {
    return std::min(state::piece_bytes, bytes - k * state::piece_bytes);
  };
  const std::size_t first = s.next;
  const auto queue = [&](std::size_t k) { // behind what the stream still reads from the piece
    check(cudaMemcpyAsync(s.piece(first + k),
                          static_cast<const char*>(from) + k * state::piece_bytes, bytes_of(k),
                          cudaMemcpyDeviceToHost, s.ctx.stream()),
          "staging: fetch");
    s.record(first + k);
  };
  for (std::size_t k = 0; k < std::min<std::size_t>(count, state::pieces); ++k) queue(k);
  for (std::size_t k = 0; k < count; ++k) {
    s.wait_for(first + k);
    std::memcpy(static_cast<char*>(to) + k * state::piece_bytes, s.piece(first + k), bytes_of(k));
    if (k + state::pieces < count) queue(k + state::pieces);
  }
  s.next = first + count;
}

} // namespace lacuna
