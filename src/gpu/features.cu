// Features on the device: one pass over the row pointers, one block per sampled group of rows, one
// hash table of sampled columns. Only whole numbers are added, so atomics may add in any order.
#include <limits>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "plan/feature_sums.hpp"

namespace lacuna::detail::gpu {
namespace {

using detail::feature_sums;
using detail::hit_counts;

constexpr int block_warps = block_threads / 32;
static_assert(spmv_features::group_rows == 32, "one row per lane");

/// What comes back to the host, in one copy.
struct found_on_device {
  feature_sums sums;
  hit_counts hits;
};

__device__ unsigned long long* bits_of(std::int64_t* p) {
  return reinterpret_cast<unsigned long long*>(p);
}
__device__ void add(std::int64_t& to, std::int64_t value) {
  if (value != 0) atomicAdd(bits_of(&to), static_cast<unsigned long long>(value));
}
__device__ void add(std::uint64_t& to, std::uint64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&to), value);
}
__device__ void raise(std::int64_t& to, std::int64_t value) {
  atomicMax(bits_of(&to), static_cast<unsigned long long>(value));
}
/// Returns the value that *p had before.
__device__ std::int32_t put_if(std::int32_t* p, std::int32_t expected, std::int32_t value) {
  return atomicCAS(p, expected, value);
}
__device__ std::int64_t put_if(std::int64_t* p, std::int64_t expected, std::int64_t value) {
  return static_cast<std::int64_t>(atomicCAS(bits_of(p), static_cast<unsigned long long>(expected),
                                             static_cast<unsigned long long>(value)));
}

/// Over a full warp, the same in every lane.
template <class I> __device__ I warp_min(I least) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    if (const I other = __shfl_xor_sync(whole_warp, least, step); other < least) least = other;
  return least;
}

/// Bits of a number that is not negative.
__device__ int bit_width(std::int64_t n) { return 64 - __clzll(n); }

/// What a block finds in its rows.
struct length_sums {
  std::int64_t class_rows[64], class_entries[64];
  std::int64_t steps, longest;
  std::uint64_t squares_low, squares_high;
};

/// Lengths of all rows. A warp takes one group of rows after another; its lane k keeps the counts
/// of class k and of class k + 32.
template <class O>
__global__ void __launch_bounds__(block_threads)
    add_lengths_kernel(const O* __restrict__ rowptr, std::int64_t rows, feature_sums* sums) {
  __shared__ length_sums block;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  if (thread < 64) block.class_rows[thread] = block.class_entries[thread] = 0;
  if (thread == 0) {
    block.steps = block.longest = 0;
    block.squares_low = block.squares_high = 0;
  }
  __syncthreads();

  std::int64_t rows_low = 0, rows_high = 0, entries_low = 0, entries_high = 0;
  std::int64_t steps = 0, longest = 0; // the same in every lane
  std::uint64_t squares_low = 0, squares_high = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * block_warps;
  for (std::int64_t group = thread_index() / 32; group * 32 < rows; group += stride) {
    const std::int64_t row = group * 32 + lane;
    const bool inside = row < rows;
    const O length = inside ? rowptr[row + 1] - rowptr[row] : O{0};
    const O most = warp_max(length);
    steps += most;
    longest = max(longest, static_cast<std::int64_t>(most));
    const auto square = static_cast<unsigned __int128>(length) * static_cast<std::uint64_t>(length);
    squares_low += detail::low_half(square);
    squares_high += detail::high_half(square);

    const int own = bit_width(length);
    for (unsigned left = __ballot_sync(whole_warp, inside); left != 0;) {
      const int k = __shfl_sync(whole_warp, own, __ffs(left) - 1);
      const unsigned same = __ballot_sync(whole_warp, inside && own == k);
      const O entries = warp_sum(inside && own == k ? length : O{0});
      if (lane == k % 32) {
        (k < 32 ? rows_low : rows_high) += __popc(same);
        (k < 32 ? entries_low : entries_high) += entries;
      }
      left &= ~same;
    }
  }
  add(block.class_rows[lane], rows_low);
  add(block.class_rows[lane + 32], rows_high);
  add(block.class_entries[lane], entries_low);
  add(block.class_entries[lane + 32], entries_high);
  squares_low = warp_sum(squares_low);
  squares_high = warp_sum(squares_high);
  if (lane == 0) {
    add(block.steps, steps);
    add(block.squares_low, squares_low);
    add(block.squares_high, squares_high);
    raise(block.longest, longest);
  }
  __syncthreads();
  spmv_features& f = sums->features;
  if (thread < 64) {
    add(f.length_histogram[thread], block.class_rows[thread]);
    add(f.entries_by_length[thread], block.class_entries[thread]);
  }
  if (thread != 0) return;
  add(f.slice_steps, block.steps);
  add(sums->squares_low, block.squares_low);
  add(sums->squares_high, block.squares_high);
  raise(f.row_length.longest, block.longest);
}

/// A sampled group in shared memory: its rows, cut, and what its block has counted so far.
template <class I, class O> struct row_group {
  O first[32];        // entry of each row
  O whole_length[32]; // 0 past the last row
  int begin[33];      // of each row among the group's entries, and their number
  int steps;

  int width;        // class of the widest step
  unsigned differs; // bit k: row k has another column than row k - 1 in some place that both have
  int sectors_by_row_lane, sectors_by_entry;
  int chunks[3];
  int following;
  /// Different column - lane: a hash table. Every warp stops when `most_diagonals` (520 or less)
  /// are found, each having put in up to 32 more that others do not know of: 776 at most.
  int diagonals;
  static constexpr int slots = 2048;
  I diagonal[slots];
  static constexpr I no_diagonal = std::numeric_limits<I>::min();

  __device__ int length(int lane) const { return begin[lane + 1] - begin[lane]; }
  /// The row that holds entry k of the group.
  __device__ int row_of(int k) const {
    int low = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      if (begin[low + step] <= k) low += step;
    return low;
  }

  /// By the whole block; ends with a barrier.
  __device__ void read(const O* rowptr, std::int64_t rows, std::int64_t first_row) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int k = thread; k < slots; k += block_threads) diagonal[k] = no_diagonal;
    if (thread < 3) chunks[thread] = 0;
    if (thread == 0) {
      width = sectors_by_row_lane = sectors_by_entry = following = diagonals = 0;
      differs = 0;
      begin[0] = 0;
    }
    if (thread < 32) {
      const bool inside = first_row + thread < rows;
      const O from = inside ? rowptr[first_row + thread] : O{0};
      const O whole = inside ? rowptr[first_row + thread + 1] - from : O{0};
      const int cut = static_cast<int>(min(whole, O{spmv_features::longest_cut}));
      int end = cut;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(whole_warp, end, step);
        if (thread >= step) end += before;
      }
      first[thread] = from;
      whole_length[thread] = whole;
      begin[thread + 1] = end;
      const int longest = warp_max(cut);
      if (thread == 0) steps = longest;
    }
    __syncthreads();
  }
};

/// How many different sectors the active lanes of a warp touch, in every lane.
template <int sector_columns, class I> __device__ int count_sectors(bool active, I column) {
  const I sector = active ? column / sector_columns : I{-1};
  const unsigned same = __match_any_sync(whole_warp, sector);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return __popc(__ballot_sync(whole_warp, active && lane == __ffs(same) - 1));
}
/// Largest minus smallest column of the active lanes, of which there is one at least.
template <class I> __device__ std::int64_t column_span(bool active, I least, I most) {
  return warp_max(active ? most : I{0}) - warp_min(active ? least : std::numeric_limits<I>::max());
}

/// Steps are dealt out to the block's warps.
template <int sector_columns, class I, class O>
__device__ void add_steps(row_group<I, O>& group, const I* colind) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int length = group.length(lane), before = lane == 0 ? 0 : group.length(lane - 1);
  const I* const row = colind + group.first[lane];
  int sectors = 0, width = 0;
  bool differs = false;
  for (int j = warp; j < group.steps; j += block_warps) {
    const bool active = j < length;
    const I column = active ? row[j] : I{0};
    const I above = __shfl_up_sync(whole_warp, column, 1);
    differs |= active && j < before && column != above;
    sectors += count_sectors<sector_columns>(active, column);
    width = max(width, detail::width_class(column_span(active, column, column)));
  }
  const unsigned differ = __ballot_sync(whole_warp, differs);
  if (lane != 0) return;
  atomicAdd(&group.sectors_by_row_lane, sectors);
  atomicMax(&group.width, width);
  atomicOr(&group.differs, differ);
}

/// Puts column - row of each active lane into the group's table, if it is not full.
template <class I, class O>
__device__ void add_diagonals(row_group<I, O>& group, bool active, I diagonal) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int known = __shfl_sync(whole_warp, lane == 0 ? atomicAdd(&group.diagonals, 0) : 0, 0);
  if (known >= detail::most_diagonals(group.steps)) return;
  bool added = false;
  if (active) {
    constexpr I none = row_group<I, O>::no_diagonal;
    auto slot = detail::slot_of(diagonal, group.slots);
    I occupant = put_if(group.diagonal + slot, none, diagonal);
    while (occupant != none && occupant != diagonal) {
      slot = (slot + 1) % group.slots;
      occupant = put_if(group.diagonal + slot, none, diagonal);
    }
    added = occupant == none;
  }
  const unsigned all_added = __ballot_sync(whole_warp, added);
  if (lane == 0) atomicAdd(&group.diagonals, __popc(all_added));
}

/// Chunks of 64 entries are dealt out to the block's warps, two entries per lane.
template <int sector_columns, class I, class O>
__device__ void add_entries(row_group<I, O>& group, const I* colind) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int entries = group.begin[32];
  int sectors = 0, following = 0;
  for (int chunk = warp * 64; chunk < entries; chunk += block_warps * 64) {
    I least = std::numeric_limits<I>::max(), most = 0;
    for (int k = chunk + lane; k < chunk + 64; k += 32) {
      const bool active = k < entries;
      const int row = active ? group.row_of(k) : 0;
      const int j = k - group.begin[row];
      const I* const at = colind + group.first[row] + j;
      const I column = active ? *at : I{0};
      if (active) {
        least = min(least, column);
        most = max(most, column);
        following += j > 0 && column - at[-1] == 1 ? 1 : 0;
      }
      sectors += count_sectors<sector_columns>(active, column);
      add_diagonals(group, active, static_cast<I>(column - row));
    }
    const int width = detail::width_class(column_span(chunk + lane < entries, least, most));
    if (lane == 0) atomicAdd(&group.chunks[width], 1);
  }
  following = warp_sum(following);
  if (lane != 0) return;
  atomicAdd(&group.sectors_by_entry, sectors);
  atomicAdd(&group.following, following);
}

template <int sector_columns, class I, class O>
__global__ void __launch_bounds__(block_threads)
    add_group_kernel(const O* __restrict__ rowptr, const I* __restrict__ colind, std::int64_t rows,
                     detail::even_sample sample, feature_sums* sums) {
  __shared__ row_group<I, O> group;
  group.read(rowptr, rows, sample.place(blockIdx.x) * 32);
  add_steps<sector_columns>(group, colind);
  add_entries<sector_columns>(group, colind);
  __syncthreads();

  spmv_features& f = sums->features;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= 32) return;
  const bool twin = thread > 0 && group.whole_length[thread] > 0 &&
                    group.whole_length[thread] == group.whole_length[thread - 1] &&
                    (group.differs >> thread & 1) == 0;
  const int twins = __popc(__ballot_sync(whole_warp, twin));
  if (thread != 0) return;
  add(f.sampled_entries, group.begin[32]);
  add(group.width == 0 ? f.steps_8 : group.width == 1 ? f.steps_16 : f.steps_full, group.steps);
  add(f.diagonal_steps, min(group.diagonals, detail::most_diagonals(group.steps)));
  add(f.sectors_by_row_lane, group.sectors_by_row_lane);
  add(f.sectors_by_entry, group.sectors_by_entry);
  add(f.chunks_8, group.chunks[0]);
  add(f.chunks_16, group.chunks[1]);
  add(f.chunks_full, group.chunks[2]);
  add(f.following_entries, group.following);
  add(f.twin_rows, twins);
}

/// Puts the sampled columns into a hash table, one thread per column; all slots hold column -1
/// before.
template <class I>
__global__ void __launch_bounds__(block_threads)
    put_columns_kernel(const I* __restrict__ colind, detail::even_sample sample, I* columns,
                       int* hits, std::int64_t slots) {
  const std::int64_t m = thread_index();
  const I column = m < sample.size ? colind[sample.place(m)] : I{-1};
  // One lane adds for all lanes that hit the same column: fewer atomics on columns with many hits.
  const unsigned same = __match_any_sync(whole_warp, column);
  if (column < 0 || static_cast<int>(threadIdx.x) % 32 != __ffs(same) - 1) return;
  auto slot = static_cast<std::int64_t>(detail::slot_of(column, slots));
  I occupant = put_if(columns + slot, I{-1}, column);
  while (occupant != -1 && occupant != column) {
    slot = (slot + 1) & (slots - 1);
    occupant = put_if(columns + slot, I{-1}, column);
  }
  atomicAdd(hits + slot, __popc(same));
}

__global__ void __launch_bounds__(block_threads)
    count_hits_kernel(const int* __restrict__ hits, std::int64_t slots, hit_counts* counts) {
  __shared__ int columns[hit_counts::many];
  for (int k = static_cast<int>(threadIdx.x); k < hit_counts::many; k += block_threads)
    columns[k] = 0;
  __syncthreads();
  const std::int64_t stride = std::int64_t{gridDim.x} * block_threads;
  for (std::int64_t slot = thread_index(); slot < slots; slot += stride) {
    const int n = hits[slot];
    if (n < hit_counts::least) continue;
    if (n < hit_counts::many) {
      atomicAdd(columns + n, 1);
    } else {
      add(counts->many_columns, 1);
      add(counts->many_hits, n);
    }
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k < hit_counts::many; k += block_threads)
    add(counts->columns[static_cast<std::size_t>(k)], columns[k]);
}

} // namespace

template <class T, class I, class O>
spmv_features find_features(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col, entries = a.size();
  if (rows == 0) return detail::finish({}, {}, rows, cols, entries);
  const device_guard guard(ctx.device());
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const detail::even_sample groups = detail::sample_groups(rows, entries);
  const detail::even_sample columns = detail::sample_entries(entries);
  const std::int64_t slots = detail::table_slots(columns.size);
  array<found_on_device, space::device> on_device(ctx, 1);
  array<I, space::device> table(ctx, slots);
  array<int, space::device> hits(ctx, slots);
  check(cudaMemsetAsync(on_device.data(), 0, on_device.bytes(), ctx.stream()),
        "find_features: memset");
  check(cudaMemsetAsync(table.data(), 0xff, table.bytes(), ctx.stream()), "find_features: memset");
  check(cudaMemsetAsync(hits.data(), 0, hits.bytes(), ctx.stream()), "find_features: memset");
  feature_sums* const sums = &on_device.data()->sums;

  // Four blocks per multiprocessor: enough to read at full speed, few enough that their last
  // additions, all to the same places, do not queue up.
  const auto most = static_cast<unsigned>(4 * ctx.properties().multiprocessors);
  add_lengths_kernel<<<std::min(blocks_for(rows), most), block_threads, 0, ctx.stream()>>>(
      rowptr, rows, sums);
  check_launch("add_lengths_kernel");
  add_group_kernel<detail::sector_columns<T>>
      <<<static_cast<unsigned>(groups.size), block_threads, 0, ctx.stream()>>>(rowptr, colind, rows,
                                                                               groups, sums);
  check_launch("add_group_kernel");
  if (entries > 0) {
    put_columns_kernel<<<blocks_for(columns.size), block_threads, 0, ctx.stream()>>>(
        colind, columns, table.data(), hits.data(), slots);
    check_launch("put_columns_kernel");
    count_hits_kernel<<<std::min(blocks_for(slots), 64U), block_threads, 0, ctx.stream()>>>(
        hits.data(), slots, &on_device.data()->hits);
    check_launch("count_hits_kernel");
  }
  found_on_device result;
  read_back(ctx, &result, on_device.data(), 1);
  return detail::finish(result.sums, result.hits, rows, cols, entries);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template spmv_features find_features(const device_context&,                                      \
                                       csr_view<const T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
