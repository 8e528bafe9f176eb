// Internal: what makes the rows of C = alpha A B, one worker per thread.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <vector>

#include "cpu/spgemm_sink.hpp"

namespace lacuna::detail::cpu {

/// Its memory is allocated with it; `ready` touches it, on the thread that will use it.
template <class T, class I, class O> class spgemm_worker {
public:
  virtual ~spgemm_worker() = default;
  virtual void ready() = 0;
  virtual void make(const spgemm_factors<T, I, O>& f, const spgemm_unit& u, spgemm_output what,
                    row_sink<T, I>& out) = 0;
};

/// By accumulators (spgemm_rows.cpp), which need bounds of B's rows where those are not sorted; by
/// sorting (spgemm_sort_rows.cpp). Both throw out_of_memory.
template <class T, class I, class O>
std::unique_ptr<spgemm_worker<T, I, O>> make_accumulators(const host_context& ctx,
                                                          const spgemm_sizes& sizes);
template <class T, class I, class O>
std::unique_ptr<spgemm_worker<T, I, O>> make_sorter(const host_context& ctx,
                                                    const spgemm_sizes& sizes);

template <class T, class I, class O> auto* maker_of(spgemm_method method) {
  return method == spgemm_method::expand_sort ? make_sorter<T, I, O> : make_accumulators<T, I, O>;
}

/// The threads' workers, allocated together and before anything is written.
template <class Worker> class spgemm_workers {
public:
  /// make(ctx, sizes) is a unique_ptr of one.
  template <class Make>
  spgemm_workers(const host_context& ctx, const spgemm_schedule& schedule, Make make)
      : ctx_(ctx), schedule_(schedule) {
    for (int part = 0; part < schedule.threads; ++part)
      workers_.push_back(make(ctx, schedule.sizes));
    ready_.resize(static_cast<std::size_t>(schedule.threads));
  }

  /// Calls f(worker, part, unit number) for units that `chosen` picks, each thread taking the next.
  /// The first exception ends the others early and is thrown again here.
  template <class Chosen, class F> void for_each_unit(Chosen chosen, F f) {
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    for_each_part(ctx_, schedule_.threads, 1, [&](int part, int) {
      try {
        auto& worker = *workers_[static_cast<std::size_t>(part)];
        for (std::int64_t u; (u = next++) < schedule_.units.size() && !stop.load();) {
          if (!chosen(schedule_.units[u])) continue;
          if (!ready_[static_cast<std::size_t>(part)]) worker.ready();
          ready_[static_cast<std::size_t>(part)] = 1;
          f(worker, part, u);
        }
      } catch (...) {
        if (!stop.exchange(true)) failure = std::current_exception();
      }
    });
    if (failure) {
      // The accumulators were left in the middle of a row.
      std::fill(ready_.begin(), ready_.end(), 0);
      std::rethrow_exception(failure);
    }
  }

private:
  const host_context& ctx_;
  const spgemm_schedule& schedule_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<char> ready_;
};

} // namespace lacuna::detail::cpu
