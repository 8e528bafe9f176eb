// Internal: work in parts, each in a context of its own: who waits for whom, and what travels
// between the places where parts are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <lacuna/core/error.hpp>
#include <lacuna/op/copy.hpp>

namespace lacuna::detail {

namespace gpu {
/// What `later` queues from now on waits for what `earlier` has queued so far.
LACUNA_GPU_EXPORT void put_in_order(const device_context& earlier, const device_context& later);
/// Queued on ctx's stream; between two devices, or on one.
LACUNA_GPU_EXPORT void copy_between(const device_context& ctx, void* to, int to_device,
                                    const void* from, int from_device, std::size_t bytes);
} // namespace gpu

template <space S> void put_in_order(const context<S>& earlier, const context<S>& later) {
  if constexpr (S == space::device) gpu::put_in_order(earlier, later);
}
/// Whether what one context has can be read by the other.
template <space S> bool same_place(const context<S>& a, const context<S>& b) {
  if constexpr (S == space::device)
    return a.device() == b.device();
  else
    return true;
}
/// Queued on ctx, between the places of two contexts.
template <class E, space S>
void copy_between(const context<S>& ctx, E* to, const context<S>& there, const E* from,
                  const context<S>& here, std::int64_t n) {
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(E);
  if constexpr (S == space::device)
    gpu::copy_between(ctx, to, there.device(), from, here.device(), bytes);
  else
    copy_bytes(ctx, to, from, bytes, S);
}

/// What parts do from here on comes after what the caller has queued; what the caller does after
/// join, or after the scope, comes after what they did. Memory that they use is the caller's, made
/// before and freed after.
template <space S> class fork {
public:
  fork(const context<S>& ctx, const std::vector<context<S>>& parts) : ctx_(ctx), parts_(parts) {
    for (const auto& part : parts_) put_in_order(ctx_, part);
  }
  fork(const fork&) = delete;
  fork& operator=(const fork&) = delete;
  ~fork() {
    if (joined_) return;
    try {
      join();
    } catch (const error&) { // another one is on its way
    }
  }
  void join() {
    joined_ = true;
    for (const auto& part : parts_) put_in_order(part, ctx_);
  }

private:
  const context<S>& ctx_;
  const std::vector<context<S>>& parts_;
  bool joined_ = false;
};

/// Parts on devices wait for their outcome, so each gets a thread, if it has a stream of its own;
/// on the host a part uses all threads.
int threads_for(const std::vector<host_context>& parts);
int threads_for(const std::vector<device_context>& parts);
/// Calls f(p) for each part. Throws what the first that failed threw, when all are done.
void for_each_part(int threads, int parts, const std::function<void(int)>& f);

} // namespace lacuna::detail
