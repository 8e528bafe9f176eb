// Which levels of a triangle are solved how: pure functions of the levels' widths, and what infos
// say of them.
//
// Costs on a device, counted in latencies (H200; measured elsewhere: a flag through L2 takes 0.7 us
// with a fence between value and flag, a queued kernel 4.7 us alone and about 3 us behind another):
//   waiting       A value is its own flag: it replaces a NaN that no sum yields, so there is no
//                 fence. A store reaches L2 in about 0.2 us and the next poll brings it in 0.2 to
//                 0.4: half a microsecond a level, whatever its width, until bandwidth counts.
//                 Measured: 0.7 to 0.9.
//   one worker    A level inside one block: a read of shared memory, the sum, a barrier, 0.12 us;
//                 but the next level's entries are asked for only one level ahead, and come by
//                 three reads that need each other. Measured: 2.2 us, so waiting wins.
//   side by side  A launch for a level: 3 us, and nobody polls, so the whole bandwidth is there.
#include <cmath>

#include <fmt/format.h>

#include <lacuna/op/triangular_solve.hpp>

namespace lacuna::detail {
namespace {

struct level_costs {
  double by_kind[3]; // of level_run::kind_t
};

/// Microseconds for a level of `width` rows of `mean_row` entries.
level_costs device_costs(double width, double mean_row, int lanes) {
  const double bytes = width * (12 * mean_row + 40); // entries; b, x twice, row, start, diagonal
  const double passes = std::ceil(width * lanes / 256);
  return {{2.2 + 0.05 * (passes - 1) + bytes / 6e4, 3.0 + bytes / 3.5e6, 0.8 + bytes / 2.5e6}};
}
constexpr double device_switch = 3.0; // one more launch

/// Nanoseconds for a row of a serial solve, measured on an EPYC with two stencils, a 27-point one
/// and blocks of 3: 4.3, 4.6, 7.8, 20.
double serial_cost(double mean_row) { return 3.3 + 0.47 * mean_row; }
/// The same row by levels. Beyond a core's cache, where `large`, rows of a level lie far apart in b
/// and x: 25 and 29 instead of 4.3 and 4.6 with one thread.
double level_cost(double mean_row, bool large) {
  return large ? 24.0 + 0.8 * mean_row : 4.0 + 0.55 * mean_row;
}
constexpr std::int64_t rows_in_cache = 65536; // of b and x in double: 1 MiB

/// From one level to the next: two counters that threads share, and the slowest of a level is
/// waited for.
double step_cost(int threads) { return 300.0 + 100.0 * threads; }
constexpr double least_gain = 1.25;

class run_list {
public:
  run_list(const host_context& ctx, vector_view<const std::int32_t> begin)
      : begin_(begin), runs_(ctx, begin.size()) {}
  /// Levels [first, last) of one kind: one run, or one each where levels need a barrier.
  void add(std::int64_t first, std::int64_t last, level_run::kind_t kind) {
    const bool each = kind == level_run::side_by_side;
    for (std::int64_t level = first; level < last; level = each ? level + 1 : last) {
      const std::int64_t end = each ? level + 1 : last;
      runs_[count_++] = {static_cast<std::int32_t>(level), static_cast<std::int32_t>(end),
                         begin_[level], begin_[end], kind};
    }
  }
  array<level_run> finish(const host_context& ctx) const {
    array<level_run> exact(ctx, count_);
    std::copy_n(runs_.begin(), count_, exact.begin());
    return exact;
  }

private:
  vector_view<const std::int32_t> begin_;
  array<level_run> runs_;
  std::int64_t count_ = 0;
};

/// The cheapest sequence of kinds, a switch costing device_switch: dynamic programming over levels.
/// kinds[level] is set.
void cheapest_kinds(const host_context& ctx, vector_view<const std::int32_t> begin, double mean_row,
                    int lanes, vector_view<char> kinds) {
  const std::int64_t levels = begin.size() - 1;
  array<char> best_before(ctx, 3 * levels); // the kind before, where this level is of kind 0, 1, 2
  double total[3] = {0, 0, 0};
  for (std::int64_t level = 0; level < levels; ++level) {
    const auto costs = device_costs(begin[level + 1] - begin[level], mean_row, lanes);
    double next[3];
    for (int kind = 0; kind < 3; ++kind) {
      int from = kind;
      double least = total[kind];
      for (int other = 0; other < 3; ++other)
        if (other != kind && total[other] + device_switch < least) {
          least = total[other] + device_switch;
          from = other;
        }
      next[kind] = least + costs.by_kind[kind];
      best_before[3 * level + kind] = static_cast<char>(from);
    }
    std::copy(next, next + 3, total);
  }
  auto kind = static_cast<char>(std::min_element(total, total + 3) - total);
  for (std::int64_t level = levels; level-- > 0;) {
    kinds[level] = kind;
    kind = best_before[3 * level + kind];
  }
}

} // namespace

std::int64_t level_piece(double mean_row) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(1500 / level_cost(mean_row, false)), 16,
                                  1024);
}

triangular_schedule choose_triangular_schedule(const level_statistics& s, int threads) {
  if (threads < 2 || s.levels == 0) return triangular_schedule::serial;
  const auto rows = static_cast<double>(s.rows), levels = static_cast<double>(s.levels);
  const double by_levels = rows * level_cost(s.mean_row(), s.rows > rows_in_cache) / threads +
                           levels * step_cost(threads) + 5000; // the team
  return least_gain * by_levels < rows * serial_cost(s.mean_row()) ? triangular_schedule::levels
                                                                   : triangular_schedule::serial;
}

int choose_triangular_lanes(double mean_row) { return mean_row <= 4 ? 1 : mean_row <= 24 ? 4 : 16; }

array<level_run> cut_levels(const host_context& ctx, bool on_device,
                            vector_view<const std::int32_t> level_begin, double mean_row, int lanes,
                            triangular_schedule schedule, triangular_schedule& chosen) {
  const std::int64_t levels = level_begin.size() - 1;
  run_list runs(ctx, level_begin);
  array<char> kinds(ctx, levels);
  const auto width = [&](std::int64_t level) {
    return static_cast<double>(level_begin[level + 1] - level_begin[level]);
  };
  if (on_device && schedule == triangular_schedule::automatic) {
    cheapest_kinds(ctx, level_begin, mean_row, lanes, kinds.view());
  } else {
    for (std::int64_t level = 0; level < levels; ++level) {
      bool narrow = schedule == triangular_schedule::serial;
      if (schedule == triangular_schedule::levels || !on_device)
        narrow =
            narrow || (on_device ? width(level) * lanes <= 256
                                 : width(level) < 2 * static_cast<double>(level_piece(mean_row)));
      const auto wide = on_device && schedule == triangular_schedule::waiting
                            ? level_run::waiting
                            : level_run::side_by_side;
      kinds[level] = static_cast<char>(narrow ? level_run::one_worker : wide);
    }
  }
  double rows[3] = {0, 0, 0};
  for (std::int64_t first = 0; first < levels;) {
    std::int64_t last = first;
    while (last < levels && kinds[last] == kinds[first]) rows[int{kinds[first]}] += width(last++);
    runs.add(first, last, static_cast<level_run::kind_t>(kinds[first]));
    first = last;
  }
  constexpr triangular_schedule of_kind[] = {
      triangular_schedule::serial, triangular_schedule::levels, triangular_schedule::waiting};
  chosen = of_kind[std::max_element(rows, rows + 3) - rows];
  return runs.finish(ctx);
}

std::string explain_triangle(const level_statistics& s, bool on_device,
                             triangular_schedule schedule, int lanes, const array<level_run>& runs,
                             bool values_stay, std::size_t bytes) {
  std::int64_t rows[3] = {0, 0, 0}, levels[3] = {0, 0, 0}, count[3] = {0, 0, 0};
  for (const level_run& r : runs) {
    rows[r.kind] += r.last_slot - r.first_slot;
    levels[r.kind] += r.last_level - r.first_level;
    ++count[r.kind];
  }
  std::string how;
  const auto say = [&](level_run::kind_t kind, const char* what) {
    if (count[kind] == 0) return;
    how += fmt::format("{}{} rows in {} levels {}", how.empty() ? "" : ", ", rows[kind],
                       levels[kind], what);
  };
  if (on_device) {
    say(level_run::waiting, "wait for the values they need");
    say(level_run::side_by_side, "by a launch each");
    say(level_run::one_worker, "inside one block");
    how += fmt::format("; {} lane{} a row, {} launches", lanes, lanes == 1 ? "" : "s", runs.size());
  } else if (schedule == triangular_schedule::serial) {
    how = "one thread, row after row";
  } else {
    say(level_run::side_by_side, "by all threads");
    say(level_run::one_worker, "by one thread");
  }
  return fmt::format("{} rows, {} entries beside the diagonal, {} levels, the widest of {} rows, "
                     "{:.1f} on average: {}; {} bytes are kept, values are {}",
                     s.rows, s.entries, s.levels, s.widest, s.mean_width(), how, bytes,
                     values_stay ? "among them" : "fetched in every solve");
}

void throw_no_diagonal(std::int64_t row) {
  throw bad_input(fmt::format(
      "triangular_solve: the diagonal of row {} is not stored or is 0, so A has no inverse", row));
}
void throw_other_triangle() {
  throw bad_input("triangular_solve: the info was made for the other triangle, or the other kind "
                  "of diagonal");
}

} // namespace lacuna::detail
