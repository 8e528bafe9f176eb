// Levels of a triangle: every row waits for the levels of the rows it needs, which are their own
// flags; then rows are sorted by level, and the triangle is written in that order. Whole numbers:
// nothing depends on timing.
#include <lacuna/op/triangular_solve.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/relaxed.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

template <class I, class O> struct triangle_source {
  const O* rowptr;
  const I* colind;
  const O* through;
  std::int64_t n;
  bool upper;
  /// Whether entry k of this row lies in the triangle, beside the diagonal.
  __device__ bool holds(std::int64_t row, O k) const {
    const I col = colind[k];
    return col != row && (col > row) == upper;
  }
  /// The first entry from k on that does.
  __device__ O next(std::int64_t row, O k, O end) const {
    while (k < end && !holds(row, k)) ++k;
    return k;
  }
  __device__ std::uint32_t place(O k) const {
    return static_cast<std::uint32_t>(through != nullptr ? through[k] : k);
  }
};

/// level[row] = 1 + the largest of those it needs; 0: not known yet. A thread takes a row, a warp
/// 32 that follow each other, so rows of a warp may need one another: no lane ever waits in a loop
/// of its own, all go round together, and what a lane of the warp knows is handed over in
/// registers.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    triangle_levels_kernel(triangle_source<I, O> a, std::uint32_t* level, std::uint32_t* counters) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const warp_tickets tickets(counters);
  for (;;) {
    const std::int64_t base = std::int64_t{tickets.next()} * 32;
    if (base >= a.n) break;
    const std::int64_t step = base + lane;
    const bool has_row = step < a.n;
    const std::int64_t row = a.upper ? a.n - 1 - step : step;
    const O end = has_row ? a.rowptr[row + 1] : O{0};
    O k = has_row ? a.next(row, a.rowptr[row], end) : O{0};
    std::uint32_t above = 0, mine = has_row ? 0 : 1;
    while (true) {
      const bool waits = k < end;
      const std::int64_t col = waits ? std::int64_t{a.colind[k]} : 0;
      const std::int64_t needed = a.upper ? a.n - 1 - col : col; // its step
      const bool inside = waits && needed >= base;
      const std::uint32_t neighbour =
          __shfl_sync(whole_warp, mine, inside ? static_cast<int>(needed - base) : lane);
      std::uint32_t found = 0;
      if (waits) found = inside ? neighbour : load_relaxed(level + col);
      if (found != 0) {
        above = max(above, found);
        k = a.next(row, k + 1, end);
      }
      if (k >= end && mine == 0) {
        mine = above + 1;
        store_relaxed(level + row, mine);
      }
      if (__all_sync(whole_warp, mine != 0)) break;
      if (!__any_sync(whole_warp, found != 0)) __nanosleep(50); // leave L2 to others
    }
  }
  tickets.leave();
}

} // namespace

template <class I, class O>
detail::triangle_pattern<space::device>
analyse_triangle(const device_context& ctx, detail::pattern_arrays<I, O, space::device> a,
                 const O* through, bool upper, bool unit, triangular_schedule schedule) {
  using narrow = std::int32_t;
  using narrow_array = array<narrow, space::device>;
  const device_guard guard(ctx.device());
  const char* const what = "triangular_solve_inspect";
  const std::int64_t n = std::max<std::int64_t>(a.rowptr.size() - 1, 0);
  const triangle_source<I, O> source{a.rowptr.data(), a.colind.data(), through, n, upper};
  const host_context& host = default_context<space::host>();
  detail::triangle_pattern<space::device> p;
  p.upper = upper;
  p.unit = unit;
  p.statistics.rows = n;
  p.start = narrow_array(ctx, n + 1);
  if (n == 0) {
    check(cudaMemsetAsync(p.start.data(), 0, p.start.bytes(), ctx.stream()), what);
    return p;
  }

  sorted_keys<std::uint32_t, std::uint32_t> rows{array<std::uint32_t, space::device>(ctx, n),
                                                 array<std::uint32_t, space::device>(ctx, n)};
  array<std::uint32_t, space::device> counters(ctx, 2);
  check(cudaMemsetAsync(rows.keys.data(), 0, rows.keys.bytes(), ctx.stream()), what);
  check(cudaMemsetAsync(counters.data(), 0, counters.bytes(), ctx.stream()), what);
  {
    // As many rows under way as fit: rows come in their own order, where those of a level are far
    // apart.
    const std::int64_t resident = std::int64_t{ctx.properties().multiprocessors} * 2048;
    triangle_levels_kernel<I, O>
        <<<blocks_for(std::min(n, resident)), block_threads, 0, ctx.stream()>>>(
            source, rows.keys.data(), counters.data());
    check_launch("triangle_levels_kernel");
  }
  for_each(ctx, n, what,
           [keys = rows.keys.data(), positions = rows.positions.data()] __device__(std::int64_t i) {
             keys[i] -= 1;
             positions[i] = static_cast<std::uint32_t>(i);
           });
  rows = sort_stably(ctx, std::move(rows), n);
  std::uint32_t last_level = 0;
  read_back(ctx, &last_level, std::as_const(rows.keys).data() + (n - 1), 1);
  const std::int64_t levels = std::int64_t{last_level} + 1;
  p.level_begin = narrow_array(ctx, levels + 1);
  p.order = narrow_array(ctx, n);
  narrow_array slot_of(ctx, n), length(ctx, n), diagonals(ctx, n);
  array<std::uint32_t, space::device> several(ctx, 1);
  check(cudaMemsetAsync(several.data(), 0, sizeof(std::uint32_t), ctx.stream()), what);
  for_each(ctx, n, what,
           [=, keys = rows.keys.data(), positions = rows.positions.data(),
            begin = p.level_begin.data(), order = p.order.data(), slot_of = slot_of.data(),
            length = length.data(), diagonals = diagonals.data(),
            several = several.data()] __device__(std::int64_t slot) {
             if (slot == 0 || keys[slot] != keys[slot - 1]) begin[keys[slot]] = narrow(slot);
             if (slot == n - 1) begin[levels] = narrow(n);
             const auto row = static_cast<narrow>(positions[slot]);
             order[slot] = row;
             slot_of[row] = narrow(slot);
             narrow count = 0, on_diagonal = 0;
             for (O k = source.rowptr[row]; k < source.rowptr[row + 1]; ++k) {
               count += source.holds(row, k);
               on_diagonal += source.colind[k] == row;
             }
             length[slot] = count;
             diagonals[slot] = on_diagonal;
             if (on_diagonal > 1) *several = 1;
           });
  exclusive_sums<narrow, narrow>(ctx, n, length.data(), p.start.data());
  narrow entries = 0;
  std::uint32_t has_several = 0;
  read_back(ctx, &entries, std::as_const(p.start).data() + n, 1);
  read_back(ctx, &has_several, std::as_const(several).data(), 1);
  if (!unit) {
    std::int64_t places = n;
    if (has_several != 0) {
      p.diagonal_start = narrow_array(ctx, n + 1);
      exclusive_sums<narrow, narrow>(ctx, n, diagonals.data(), p.diagonal_start.data());
      narrow all = 0;
      read_back(ctx, &all, std::as_const(p.diagonal_start).data() + n, 1);
      places = all;
    }
    p.diagonal = array<std::uint32_t, space::device>(ctx, places);
  }
  p.column = narrow_array(ctx, entries);
  p.from = array<std::uint32_t, space::device>(ctx, entries);
  for_each(ctx, n, what,
           [=, order = p.order.data(), start = p.start.data(), slot_of = slot_of.data(),
            column = p.column.data(), from = p.from.data(), diagonal = p.diagonal.data(),
            diagonal_start = p.diagonal_start.data(),
            several = has_several != 0] __device__(std::int64_t slot) {
             const narrow row = order[slot];
             narrow entry = start[slot];
             std::int64_t place = !unit && several ? diagonal_start[slot] : slot;
             if (!unit && !several) diagonal[slot] = detail::no_entry;
             for (O k = source.rowptr[row]; k < source.rowptr[row + 1]; ++k) {
               if (source.holds(row, k)) {
                 column[entry] = slot_of[source.colind[k]];
                 from[entry++] = source.place(k);
               } else if (!unit && source.colind[k] == row) {
                 diagonal[place] = source.place(k);
                 place += several ? 1 : 0;
               }
             }
           });

  array<narrow> begin(host, levels + 1);
  read_back(ctx, begin.data(), std::as_const(p.level_begin).data(), levels + 1);
  std::int64_t widest = 0;
  for (std::int64_t level = 0; level < levels; ++level)
    widest = std::max<std::int64_t>(widest, begin[level + 1] - begin[level]);
  p.statistics = {n, entries, levels, widest};
  p.lanes = detail::choose_triangular_lanes(p.statistics.mean_row());
  p.runs = detail::cut_levels(host, true, std::as_const(begin).view(), p.statistics.mean_row(),
                              p.lanes, schedule, p.schedule);
  return p;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template detail::triangle_pattern<space::device> analyse_triangle<I, O>(                         \
      const device_context&, detail::pattern_arrays<I, O, space::device>, const O*, bool, bool,    \
      triangular_schedule);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
