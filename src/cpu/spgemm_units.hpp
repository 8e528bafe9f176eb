// Internal: how the rows of C = A B are dealt out to threads: in ranges of about equal work, and a
// row that holds most of it by ranges of columns.
#pragma once

#include <atomic>
#include <exception>

#include <lacuna/op/spgemm.hpp>

#include "cpu/rows.hpp"
#include "cpu/spgemm_rows.hpp"

namespace lacuna::detail::cpu {

/// Rows [first, last), or some columns of one row.
struct spgemm_unit {
  std::int64_t first = 0, last = 0;
  column_range columns;
  bool cut = false;
  // What the one-pass product leaves: entries, and where they are.
  std::int64_t entries = 0;
  int part = 0;
  std::int64_t chunk = 0, offset = 0;
};

/// Work below which another thread does not pay: about 100 us.
inline constexpr std::int64_t spgemm_grain = 1 << 15;

struct spgemm_plan {
  spgemm_estimate estimate;
  spgemm_sizes sizes;
  int threads = 1;
  array<spgemm_unit> units;
};

/// Reads B's row pointers once for each entry of A. `heaviest`: units are made; otherwise only the
/// estimate is.
template <class T, class I, class O>
spgemm_plan plan_spgemm(const host_context& ctx, const spgemm_factors<T, I, O>& f, bool units);

/// First and last column of B's rows where their order is not stated and they are `needed`; those
/// of sorted rows are at hand.
template <class T, class I, class O> struct row_bounds {
  array<I> low, high;
  row_bounds(const host_context& ctx, csr_view<const T, I, O> b, spgemm_factors<T, I, O>& f,
             bool needed = true) {
    if (f.b_sorted || !needed) return;
    const std::int64_t rows = b.shape().row;
    low = array<I>(ctx, rows);
    high = array<I>(ctx, rows);
    for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const I *const first = f.b_col + f.b_rowptr[i], *const last = f.b_col + f.b_rowptr[i + 1];
        if (first == last) continue;
        const auto [least, most] = std::minmax_element(first, last);
        low[i] = *least;
        high[i] = *most;
      }
    });
    f.b_low = low.data();
    f.b_high = high.data();
  }
};

/// The threads' accumulators, of spgemm_worker or sorting_worker, allocated together and before
/// anything is written.
template <class Worker> class spgemm_workers {
public:
  spgemm_workers(const host_context& ctx, const spgemm_plan& plan) : ctx_(ctx), plan_(plan) {
    workers_.reserve(static_cast<std::size_t>(plan.threads));
    for (int part = 0; part < plan.threads; ++part) workers_.emplace_back(ctx, plan.sizes);
    ready_.resize(static_cast<std::size_t>(plan.threads));
  }

  /// Calls f(worker, part, unit number) for units that `chosen` picks, each thread taking the next.
  /// The first exception ends the others early and is thrown again here.
  template <class Chosen, class F> void for_each_unit(Chosen chosen, F f) {
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    for_each_part(ctx_, plan_.threads, 1, [&](int part, int) {
      try {
        auto& worker = workers_[static_cast<std::size_t>(part)];
        for (std::int64_t u; (u = next++) < plan_.units.size() && !stop.load();) {
          if (!chosen(plan_.units[u])) continue;
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
  template <class F> void for_each_unit(F f) {
    for_each_unit([](const spgemm_unit&) { return true; }, f);
  }

private:
  const host_context& ctx_;
  const spgemm_plan& plan_;
  std::vector<Worker> workers_;
  std::vector<char> ready_;
};

} // namespace lacuna::detail::cpu
