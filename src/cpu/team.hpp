// Threads that work at the same time and wait for each other.
#pragma once

#include <atomic>
#include <thread>

#include <omp.h>

namespace lacuna::detail::cpu {

/// Where the members of a team meet. Who waits spins, and after a while lets others run: there may
/// be more members than cores.
class team_barrier {
public:
  void wait(int members) noexcept {
    const unsigned phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == members - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins)
      if (spins > 2000) std::this_thread::yield();
  }

private:
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<unsigned> phase_{0};
};

/// Calls f(member, members) at the same time for every member of a team of up to `threads`, which
/// may therefore wait for each other at a team_barrier.
template <class F> void for_each_member(int threads, F&& f) {
  if (threads == 1) return f(0, 1);
#pragma omp parallel num_threads(threads)
  f(omp_get_thread_num(), omp_get_num_threads());
}

} // namespace lacuna::detail::cpu
