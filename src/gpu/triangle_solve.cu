// x = inv(T) b for a kept triangle: runs of wide levels by rows that wait for the values they need,
// runs of narrow ones inside one block (op/triangular_schedule.cpp says why, with the costs).
//
// Both work on x by slots, private to the solve: columns of a level's rows lie near each other, x
// may be b, and a value can be its own flag. A row's entries go to its lanes in turn, each lane
// adds its own in order, lanes are added pairwise: the same bits whichever kernel solves it.
#include <lacuna/op/triangular_solve.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/relaxed.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int held_entries = 4;      // of a row, by each lane, in registers
constexpr int waiting_threads = 128; // a block
constexpr int narrow_threads = 256;  // a block: a level's lanes, else it takes more than one pass
constexpr int ring_slots = 1024;     // of x, kept in shared memory: 32 kB for 4 columns of double
constexpr int columns_at_once = 4;   // of b

template <class T> struct triangle_task {
  const std::int32_t* order;
  const std::int32_t* start;
  const std::int32_t* column;
  const T* entries;
  const T* inverse; ///< null: the diagonal is 1
  T alpha, beta, over_alpha;
  const T* b;
  std::int64_t b_row, b_col;
  T* x;
  std::int64_t x_row, x_col;
  int columns;
  T* by_slot; ///< `width` values a slot, one such array after another
  std::int64_t rows;
  std::int32_t first_slot, last_slot; ///< of this launch
};

/// What a lane holds of a row: entries first, first + lanes, …, of which `held` are in registers.
template <class T, int lanes, int width> struct held_row {
  std::int32_t slot, row;
  std::int32_t at, end; ///< the first entry that is held, and the row's end
  std::int32_t column[held_entries];
  T entry[held_entries];
  T sum[width];
  T b[width], inverse;

  /// Everything that can be read before x is known.
  __device__ void open(const triangle_task<T>& t, std::int32_t s, bool has_row, int lane,
                       int first_column) {
    slot = s;
    at = 0;
    end = 0;
    row = 0;
    inverse = T{1};
#pragma unroll
    for (int j = 0; j < width; ++j) sum[j] = b[j] = T{0};
    if (has_row) {
      at = t.start[s] + lane % lanes;
      end = t.start[s + 1];
      row = t.order[s];
      if (t.inverse != nullptr) inverse = t.inverse[s] * t.over_alpha;
      if (lane % lanes == 0) {
#pragma unroll
        for (int j = 0; j < width; ++j)
          if (first_column + j < t.columns)
            b[j] = t.b[row * t.b_row + (first_column + j) * t.b_col];
      }
    }
    fetch(t);
  }
  /// The entries from `at` on; a column of -1 is none.
  __device__ void fetch(const triangle_task<T>& t) {
#pragma unroll
    for (int u = 0; u < held_entries; ++u) {
      const std::int32_t k = at + u * lanes;
      column[u] = k < end ? t.column[k] : -1;
      entry[u] = k < end ? t.entries[k] : T{0};
    }
  }
  /// Sums over the row's lanes. By all lanes of the warp.
  __device__ void add_up() {
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2)
#pragma unroll
      for (int j = 0; j < width; ++j) sum[j] += __shfl_xor_sync(whole_warp, sum[j], step);
  }
  __device__ T solved(const triangle_task<T>& t, int j) const {
    const T rest = fma(t.beta, b[j], -(t.alpha * sum[j]));
    return t.inverse != nullptr ? rest * inverse : rest;
  }
  __device__ void write(const triangle_task<T>& t, int j, int first_column, T value) const {
    if (first_column + j < t.columns) t.x[row * t.x_row + (first_column + j) * t.x_col] = value;
  }
};

/// A warp takes 32 / lanes rows that follow each other in the order of levels, with the next
/// ticket. Rows of a warp may need one another, so no lane waits in a loop of its own: all go round
/// until every row is written.
template <class T, int lanes, int width>
__global__ void __launch_bounds__(waiting_threads)
    triangle_waiting_kernel(triangle_task<T> t, int groups, std::uint32_t* counters) {
  constexpr int warp_rows = 32 / lanes;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned my_lanes = (lanes == 32 ? ~0u : (1u << lanes) - 1u) << (lane / lanes * lanes);
  const warp_tickets tickets(counters);
  for (;;) {
    const std::uint32_t ticket = tickets.next();
    const std::int64_t base = t.first_slot + std::int64_t{ticket / groups} * warp_rows;
    if (base >= t.last_slot) break;
    const int group = static_cast<int>(ticket % groups);
    T* const by_slot = t.by_slot + group * t.rows * width;
    const std::int64_t slot = base + lane / lanes;
    const bool has_row = slot < t.last_slot;
    held_row<T, lanes, width> r;
    r.open(t, static_cast<std::int32_t>(slot), has_row, lane, group * width);
    int next = 0; // of those held; the ones before are in the sum
    bool written = !has_row;
    while (true) {
      T found[held_entries][width];
#pragma unroll
      for (int u = 0; u < held_entries; ++u)
        if (u >= next && r.column[u] >= 0) {
          const T* const needed = by_slot + std::int64_t{r.column[u]} * width;
#pragma unroll
          for (int j = 0; j < width; ++j) found[u][j] = load_if_there(needed + j);
        }
#pragma unroll
      for (int u = 0; u < held_entries; ++u)
        if (u == next) {
          bool there = true;
          if (r.column[u] >= 0) {
#pragma unroll
            for (int j = 0; j < width; ++j) there = there && is_there(found[u][j]);
            if (there) {
#pragma unroll
              for (int j = 0; j < width; ++j) r.sum[j] = fma(r.entry[u], found[u][j], r.sum[j]);
            }
          }
          if (there) ++next;
        }
      bool done = next == held_entries;
      if (done && r.at + held_entries * lanes < r.end) {
        r.at += held_entries * lanes;
        r.fetch(t);
        next = 0;
        done = false;
      }
      const unsigned ready = __ballot_sync(whole_warp, done);
      const bool finishes = !written && (ready & my_lanes) == my_lanes;
      if (__any_sync(whole_warp, finishes)) {
        held_row<T, lanes, width> total = r; // sums of unfinished rows must stay
        total.add_up();
        if (finishes && lane % lanes == 0) {
#pragma unroll
          for (int j = 0; j < width; ++j) {
            const T value = total.solved(t, j);
            publish(by_slot + slot * width + j, value);
            total.write(t, j, group * width, value);
          }
        }
        written = written || finishes;
      }
      if (__all_sync(whole_warp, written)) break;
    }
  }
  tickets.leave();
}

/// One block a group of columns, level after level. The last slots of x are in shared memory as
/// well; while a level is solved, the next one's entries, and those of x that it needs from before,
/// are on their way.
template <class T, int lanes, int width>
__global__ void __launch_bounds__(narrow_threads)
    triangle_narrow_kernel(triangle_task<T> t, const std::int32_t* level_begin,
                           std::int32_t first_level, std::int32_t last_level) {
  constexpr int block_rows = narrow_threads / lanes;
  __shared__ T ring[ring_slots * width];
  const int thread = static_cast<int>(threadIdx.x), group = static_cast<int>(blockIdx.x);
  T* const by_slot = t.by_slot + group * t.rows * width;
  // Slots from `kept` on are in the ring: those that this launch wrote and that the level which
  // ends at `end` does not overwrite.
  const auto read = [&](std::int32_t slot, std::int32_t end, T(&value)[width]) {
    const std::int32_t kept = max(t.first_slot, end - ring_slots);
#pragma unroll
    for (int j = 0; j < width; ++j)
      value[j] = slot >= kept ? ring[(slot % ring_slots) * width + j]
                              : by_slot[std::int64_t{slot} * width + j];
  };
  held_row<T, lanes, width> r;
  T early[held_entries][width];
  std::int32_t begin = level_begin[first_level], end = level_begin[first_level + 1];
  std::int32_t known = begin; // columns below were read already
  const auto prepare = [&](std::int32_t row_base, std::int32_t row_end, std::int32_t final_end,
                           std::int32_t window_end) {
    const std::int32_t slot = row_base + thread / lanes;
    r.open(t, slot, slot < row_end, thread % 32, group * width);
#pragma unroll
    for (int u = 0; u < held_entries; ++u)
      if (r.column[u] >= 0 && r.column[u] < final_end) read(r.column[u], window_end, early[u]);
  };
  prepare(begin, end, begin, begin);
  for (std::int32_t level = first_level; level < last_level; ++level) {
    const std::int32_t after = level + 1 < last_level ? level_begin[level + 2] : end;
    for (std::int32_t base = begin; base < end; base += block_rows) {
      if (base != begin) {
        prepare(base, end, begin, end);
        known = begin;
      }
#pragma unroll
      for (int u = 0; u < held_entries; ++u)
        if (r.column[u] >= 0) {
          if (r.column[u] >= known) read(r.column[u], end, early[u]);
#pragma unroll
          for (int j = 0; j < width; ++j) r.sum[j] = fma(r.entry[u], early[u][j], r.sum[j]);
        }
      for (std::int32_t k = r.at + held_entries * lanes; k < r.end; k += lanes) {
        const T entry = t.entries[k];
        T value[width];
        read(t.column[k], end, value);
#pragma unroll
        for (int j = 0; j < width; ++j) r.sum[j] = fma(entry, value[j], r.sum[j]);
      }
      __syncwarp();
      r.add_up();
      if (thread % lanes == 0 && r.slot < end) {
#pragma unroll
        for (int j = 0; j < width; ++j) {
          const T value = r.solved(t, j);
          // Of a level wider than the ring only the end: no two of its rows share a place.
          if (r.slot >= end - ring_slots) ring[(r.slot % ring_slots) * width + j] = value;
          publish(by_slot + std::int64_t{r.slot} * width + j, value);
          r.write(t, j, group * width, value);
        }
      }
    }
    known = begin;
    if (level + 1 < last_level) prepare(end, after, begin, end);
    begin = end;
    end = after;
    __syncthreads();
  }
}

/// Blocks of waiting rows: enough that some levels ahead are being fetched, few enough that those
/// who wait do not fill L2 with polls.
unsigned waiting_blocks(const device_context& ctx, const level_run& run, int lanes, int groups) {
  const double width = static_cast<double>(run.last_slot - run.first_slot) /
                       static_cast<double>(run.last_level - run.first_level);
  const double ahead = 6; // levels: 3 us, in which a ticket, the row, its entries are fetched
  const double wanted = ahead * width * lanes * groups / waiting_threads + 8;
  const double most = 8.0 * ctx.properties().multiprocessors;
  return static_cast<unsigned>(std::min(wanted, most));
}

template <class T, int lanes, int width>
void run_triangle(const device_context& ctx, const detail::triangle_pattern<space::device>& p,
                  triangle_task<T> t, std::uint32_t* counters) {
  const int groups = (t.columns + width - 1) / width;
  for (const level_run& run : p.runs) {
    t.first_slot = run.first_slot;
    t.last_slot = run.last_slot;
    if (run.kind == level_run::one_worker)
      triangle_narrow_kernel<T, lanes, width>
          <<<static_cast<unsigned>(groups), narrow_threads, 0, ctx.stream()>>>(
              t, p.level_begin.data(), run.first_level, run.last_level);
    else
      triangle_waiting_kernel<T, lanes, width>
          <<<waiting_blocks(ctx, run, lanes, groups), waiting_threads, 0, ctx.stream()>>>(t, groups,
                                                                                          counters);
    check_launch("triangular_solve");
  }
}

} // namespace

template <class T>
std::int64_t gather_triangle(const device_context& ctx,
                             const detail::triangle_pattern<space::device>& p, const T* values,
                             detail::triangle_values<T, space::device>& to, bool check_diagonal) {
  const device_guard guard(ctx.device());
  const char* const what = "triangular_solve: values";
  for_each(ctx, p.from.size(), what,
           [values, from = p.from.data(), entries = to.entries.data()] __device__(std::int64_t k) {
             entries[k] = values[from[k]];
           });
  if (p.unit) return -1;
  using row_number = unsigned long long;
  array<row_number, space::device> first;
  if (check_diagonal) {
    first = array<row_number, space::device>(ctx, 1);
    check(cudaMemsetAsync(first.data(), 0xff, first.bytes(), ctx.stream()), what);
  }
  for_each(ctx, p.order.size(), what,
           [=, order = p.order.data(), diagonal = p.diagonal.data(),
            start = p.diagonal_start.empty() ? nullptr : p.diagonal_start.data(),
            inverse = to.inverse.data(), first = first.data()] __device__(std::int64_t slot) {
             const std::int64_t begin = start != nullptr ? start[slot] : slot;
             const std::int64_t end = start != nullptr ? start[slot + 1] : slot + 1;
             T sum = 0;
             for (std::int64_t k = begin; k < end; ++k)
               if (diagonal[k] != detail::no_entry) sum += values[diagonal[k]];
             const T inverted = T{1} / sum;
             inverse[slot] = inverted;
             if (check_diagonal && isinf(inverted))
               atomicMin(first, static_cast<row_number>(order[slot]));
           });
  if (!check_diagonal) return -1;
  row_number missing = 0;
  read_back(ctx, &missing, std::as_const(first).data(), 1);
  return missing == ~row_number{0} ? -1 : static_cast<std::int64_t>(missing);
}

template <class T>
detail::triangle_scratch<T, space::device>
make_triangle_scratch(const device_context& ctx, std::int64_t rows, std::int64_t columns) {
  const device_guard guard(ctx.device());
  const std::int64_t padded =
      columns <= 1 ? columns : (columns + columns_at_once - 1) / columns_at_once * columns_at_once;
  detail::triangle_scratch<T, space::device> s;
  s.x = array<T, space::device>(ctx, checked_mul(rows, padded));
  s.tickets = array<std::uint32_t, space::device>(ctx, 2);
  check(cudaMemsetAsync(s.tickets.data(), 0, s.tickets.bytes(), ctx.stream()), "triangular_solve");
  return s;
}

template <class T>
void solve_triangle(const device_context& ctx, const detail::triangle_pattern<space::device>& p,
                    const detail::triangle_values<T, space::device>& v, T alpha, T beta,
                    dense_view<const T, space::device> b, dense_view<T, space::device> x,
                    const detail::triangle_scratch<T, space::device>& scratch) {
  const std::int64_t columns = x.shape().col;
  if (p.order.empty() || columns == 0) return;
  const device_guard guard(ctx.device());
  triangle_task<T> t{};
  t.order = p.order.data();
  t.start = p.start.data();
  t.column = p.column.data();
  t.entries = v.entries.data();
  t.inverse = p.unit ? nullptr : v.inverse.data();
  t.alpha = alpha;
  t.beta = beta;
  t.over_alpha = T{1} / alpha;
  t.b = b.data();
  t.b_row = b.row_stride();
  t.b_col = b.col_stride();
  t.x = x.data();
  t.x_row = x.row_stride();
  t.x_col = x.col_stride();
  t.columns = detail::integer<std::int32_t>(columns, "right-hand sides");
  t.by_slot = const_cast<T*>(scratch.x.data()); // one solve at a time
  t.rows = p.order.size();
  auto* const counters = const_cast<std::uint32_t*>(scratch.tickets.data());
  check(cudaMemsetAsync(t.by_slot, 0xff, scratch.x.bytes(), ctx.stream()), "triangular_solve");
  const auto run = [&](auto lanes) {
    if (columns == 1)
      run_triangle<T, lanes.value, 1>(ctx, p, t, counters);
    else
      run_triangle<T, lanes.value, columns_at_once>(ctx, p, t, counters);
  };
  switch (p.lanes) {
  case 1: return run(std::integral_constant<int, 1>{});
  case 4: return run(std::integral_constant<int, 4>{});
  default: return run(std::integral_constant<int, 16>{});
  }
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template std::int64_t gather_triangle<T>(                                                        \
      const device_context&, const detail::triangle_pattern<space::device>&, const T*,             \
      detail::triangle_values<T, space::device>&, bool);                                           \
  template detail::triangle_scratch<T, space::device> make_triangle_scratch<T>(                    \
      const device_context&, std::int64_t, std::int64_t);                                          \
  template void solve_triangle<T>(                                                                 \
      const device_context&, const detail::triangle_pattern<space::device>&,                       \
      const detail::triangle_values<T, space::device>&, T, T, dense_view<const T, space::device>,  \
      dense_view<T, space::device>, const detail::triangle_scratch<T, space::device>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
