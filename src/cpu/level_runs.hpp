// Rows of a kept triangle by several threads, level after level.
#pragma once

#include <atomic>
#include <thread>

#include <lacuna/op/triangle.hpp>

#include "cpu/parallel.hpp"

namespace lacuna::detail::cpu {

/// Calls work(pass, begin, end) for slots of `p`, so that all of a run is done before the next one
/// begins; passes one after another. Threads take the next piece of a level when they are done with
/// one, and wait only for pieces that others have begun: one that the system keeps from running
/// holds nobody up, and one thread alone does all of it.
template <class F>
void for_each_level_piece(const host_context& ctx, const detail::triangle_pattern<space::host>& p,
                          std::int64_t passes, F&& work) {
  const std::int64_t piece = detail::level_piece(p.statistics.mean_row());
  const auto pieces_of = [piece](const level_run& run) {
    const std::int64_t rows = run.last_slot - run.first_slot;
    return run.kind == level_run::side_by_side ? (rows + piece - 1) / piece : 1;
  };
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<std::int64_t> done{0}; // pieces; those of a run follow all before it
  for_each_part(ctx, ctx.threads(), 1, [&](int, int) {
    std::int64_t mine = next.fetch_add(1, std::memory_order_relaxed), first = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass)
      for (const level_run& run : p.runs) {
        const std::int64_t after = first + pieces_of(run);
        while (mine < after) {
          for (int spins = 0; done.load(std::memory_order_acquire) < first; ++spins)
            if (spins > 1000) std::this_thread::yield();
          const std::int64_t begin = run.first_slot + (mine - first) * piece;
          const std::int64_t end = run.kind == level_run::side_by_side
                                       ? std::min<std::int64_t>(begin + piece, run.last_slot)
                                       : run.last_slot;
          work(pass, begin, end);
          done.fetch_add(1, std::memory_order_acq_rel);
          mine = next.fetch_add(1, std::memory_order_relaxed);
        }
        first = after;
      }
  });
}

} // namespace lacuna::detail::cpu
