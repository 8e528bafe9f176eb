// Rows of a kept triangle by several threads, level after level.
#pragma once

#include <atomic>
#include <thread>

#include <lacuna/op/triangle.hpp>

#include "cpu/parallel.hpp"

namespace lacuna::detail::cpu {

/// Calls work(pass, begin, end) for slots of `p`, so that all of a run is done before the next one
/// begins; passes one after another. Threads take the next piece of a level when they are done with
/// one, and only when it can begin: who waits holds nothing. One that the system keeps from running
/// holds others up with a piece of some microseconds at most, and one thread alone does all of it.
template <class F>
void for_each_level_piece(const host_context& ctx, const detail::triangle_pattern<space::host>& p,
                          std::int64_t passes, F&& work) {
  const std::int64_t piece = detail::level_piece(p.statistics.mean_row());
  const std::int64_t runs = p.runs.size(), steps = passes * runs;
  const auto pieces_of = [&](std::int64_t step) {
    const level_run& run = p.runs[step % runs];
    const std::int64_t rows = run.last_slot - run.first_slot;
    return run.kind == level_run::side_by_side ? (rows + piece - 1) / piece : 1;
  };
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<std::int64_t> done{0}; // pieces; those of a run follow all before it
  for_each_part(ctx, ctx.threads(), 1, [&](int, int) {
    // `next` lies in this step, or will: steps are passed as it grows.
    std::int64_t step = 0, first = 0, after = steps > 0 ? pieces_of(0) : 0;
    for (int spins = 0; step < steps;) {
      std::int64_t mine = next.load(std::memory_order_relaxed);
      if (mine >= after) {
        first = after;
        if (++step < steps) after += pieces_of(step);
      } else if (done.load(std::memory_order_acquire) < first) {
        if (++spins > 1000) std::this_thread::yield();
      } else if (next.compare_exchange_weak(mine, mine + 1, std::memory_order_relaxed)) {
        const level_run& run = p.runs[step % runs];
        const std::int64_t begin = run.first_slot + (mine - first) * piece;
        const std::int64_t end = run.kind == level_run::side_by_side
                                     ? std::min<std::int64_t>(begin + piece, run.last_slot)
                                     : run.last_slot;
        work(step / runs, begin, end);
        done.fetch_add(1, std::memory_order_acq_rel);
        spins = 0;
      }
    }
  });
}

} // namespace lacuna::detail::cpu
