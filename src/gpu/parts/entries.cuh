// Entry by entry, with the row of each: work is dealt out by entries, so that a long row is shared.
#pragma once

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/offsets.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {

/// Entries that a warp takes. Reasoned: it searches all rows once, and each step from the row
/// before it; with 512 the search is a tenth of the loads.
constexpr std::int64_t entries_per_warp = 512;

/// The row of entry k, at or after row `low`, which begins at or before k. O(log rows between).
__device__ inline std::int64_t row_at_or_after(const read_offsets& starts, std::int64_t rows,
                                               std::int64_t low, std::int64_t k) {
  std::int64_t step = 1, high = low + 1;
  while (high < rows && starts[high] <= k) {
    low = high;
    step *= 2;
    high = low + step;
  }
  high = min(high, rows); // starts[low] <= k < starts[high]
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (starts[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

template <class F>
__global__ void for_each_entry_kernel(read_offsets starts, std::int64_t rows, std::int64_t begin,
                                      std::int64_t end, F f) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::int64_t k = begin + thread_index() / 32 * entries_per_warp;
  if (k >= end) return; // all lanes
  std::int64_t row = last_of_warp(rows, [&](std::int64_t r) { return starts[r] <= k; });
  const std::int64_t stop = min(k + entries_per_warp, end);
  for (; k < stop; k += 32) {
    const std::int64_t own = min(k + lane, end - 1);
    const std::int64_t own_row = row_at_or_after(starts, rows, row, own);
    f(k + lane < end, own_row, own);
    row = __shfl_sync(whole_warp, own_row, 31);
  }
}
/// Calls f(inside, row, k) for k in [begin, end); row i holds the entries from starts[i] on, and
/// starts has rows + 1 elements. All lanes of a warp call f together with entries that follow one
/// another, lane 0 with one at a multiple of 32 from `begin`; past the end, with the last entry and
/// `inside` false.
template <class F>
void for_each_entry(const device_context& ctx, read_offsets starts, std::int64_t rows,
                    std::int64_t begin, std::int64_t end, const char* what, F f) {
  if (begin == end) return;
  const std::int64_t warps = (end - begin + entries_per_warp - 1) / entries_per_warp;
  for_each_entry_kernel<<<blocks_for(warps * 32), block_threads, 0, ctx.stream()>>>(starts, rows,
                                                                                    begin, end, f);
  check_launch(what);
}

} // namespace lacuna::detail::gpu
