// Internal: what a warp does that makes 32 rows of C = A B from the diagonals of A and B. Each
// diagonal of A (column - row) meets each of B's on the diagonal that is their sum. C's are cut
// into windows of neighbours, whose sums a lane has in registers; a step is what one diagonal of A
// brings to a window: diagonals of B that follow each other. Steps of a window go by A's diagonals,
// ascending, so every entry of C is summed in the order of A's row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/spgemm.hpp"

namespace lacuna::detail::gpu {

/// Of A or B: a row's diagonals are bits of one word.
inline constexpr int most_diagonals = 64;
/// Rows of a slice: a warp has one in each lane.
inline constexpr int diagonal_slice_rows = 32;
/// Sums of a window.
inline constexpr int narrow_window = 5, wide_window = 8;
/// Entries of a row that are staged before they are written: all of a short row, so that those of a
/// slice go out as one run; of a longer one fewer, so that more warps fit a multiprocessor.
inline constexpr int most_of_whole_rows = 32, most_together = 16;

struct alignas(16) slice_step {
  std::int64_t diagonal; // of A
  std::int32_t values;   // from a row of B's values in its slice to that which meets sum 0
  std::uint32_t packed;  // bytes: which sums take a product, and the three below

  LACUNA_BOTH unsigned sums() const { return packed & 0xff; }    // a bit for each
  LACUNA_BOTH unsigned a() const { return packed >> 8 & 0xff; }  // place of A's diagonal
  LACUNA_BOTH unsigned b() const { return packed >> 16 & 0xff; } // of the first of B's
  LACUNA_BOTH unsigned first() const { return packed >> 24; }    // the sum that takes that
};
struct alignas(16) slice_window {
  std::int32_t first;   // the place of its first sum's diagonal among C's
  std::int32_t end;     // of its steps, which begin where the last window's end
  std::int32_t is_last; // of windows that are written together
};
/// An entry that waits to be written: its row in the slice and the place of its diagonal.
using slice_code = std::uint16_t;
inline constexpr int most_diagonals_of_c = 65536 / diagonal_slice_rows;

struct slice_plan {
  int width = narrow_window;     // sums of a window, at most
  int staged = 0;                // entries of a row that are written together, at most
  bool at_once = false;          // they are all of a row
  std::vector<std::int64_t> c;   // diagonals of C, ascending
  std::vector<slice_step> steps; // one more than there are: a step is read ahead
  std::vector<slice_window> windows;
};

/// From sorted diagonals, some in each. Rows of C are written whole if they have up
/// to `at_once` entries, else up to `staged` of them together, 32 at most.
/// O(products of diagonals).
inline slice_plan plan_slices(const std::vector<std::int64_t>& a,
                              const std::vector<std::int64_t>& b, int at_once = most_of_whole_rows,
                              int staged = most_together) {
  slice_plan plan;
  std::vector<std::int64_t>& c = plan.c;
  c.reserve(a.size() * b.size());
  for (const std::int64_t d : a)
    for (const std::int64_t e : b) c.push_back(d + e);
  std::sort(c.begin(), c.end());
  c.erase(std::unique(c.begin(), c.end()), c.end());
  const auto run_end = [](const std::vector<std::int64_t>& of, std::size_t from, std::size_t most) {
    std::size_t end = from + 1;
    while (end < of.size() && end - from < most && of[end] == of[end - 1] + 1) ++end;
    return end;
  };
  const auto diagonals = static_cast<int>(c.size());
  plan.at_once = diagonals <= at_once;
  if (plan.at_once) staged = diagonals;
  for (std::size_t from = 0; from < c.size(); from = run_end(c, from, c.size()))
    if (run_end(c, from, c.size()) - from > narrow_window) plan.width = wide_window;
  int together = 0;
  for (std::size_t from = 0, end = 0; from < c.size(); from = end) {
    end = run_end(c, from, static_cast<std::size_t>(plan.width));
    for (std::size_t k = 0; k < a.size(); ++k) {
      const std::int64_t low = c[from] - a[k], high = c[end - 1] - a[k];
      auto at = static_cast<std::size_t>(std::lower_bound(b.begin(), b.end(), low) - b.begin());
      while (at < b.size() && b[at] <= high) {
        const auto most = static_cast<std::size_t>(high - b[at] + 1);
        const std::size_t next = run_end(b, at, most);
        const auto first = static_cast<int>(b[at] - low), count = static_cast<int>(next - at);
        const unsigned sums = ((1u << count) - 1) << first;
        plan.steps.push_back({a[k], diagonal_slice_rows * (static_cast<std::int32_t>(at) - first),
                              sums | static_cast<unsigned>(k) << 8 |
                                  static_cast<unsigned>(at) << 16 |
                                  static_cast<unsigned>(first) << 24});
        at = next;
      }
    }
    const auto width = static_cast<int>(end - from);
    if (together + width > staged) {
      plan.windows.back().is_last = 1;
      together = 0;
    }
    together += width;
    plan.staged = std::max(plan.staged, together);
    plan.windows.push_back(
        {static_cast<std::int32_t>(from), static_cast<std::int32_t>(plan.steps.size()), 0});
  }
  plan.windows.back().is_last = 1;
  plan.steps.push_back({});
  return plan;
}

} // namespace lacuna::detail::gpu
