// What changes to a dynamic CSR on the device share: a batch and its scratch, how rows are merged.
#pragma once

#include "op/dynamic_rows.hpp"

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {

/// Lanes that change a short row together, and the entries up to which a row is short.
constexpr int row_lanes = 4;
constexpr std::int64_t short_row = 64;
/// Entries that one block moves.
constexpr std::int64_t part_entries = 4096;
constexpr int part_blocks = 132 * 8;

/// All 0 at first.
struct batch_state {
  unsigned long long needed; // places that rows asked for
  unsigned long long changed;
  unsigned long long outside; // ~ of the first entry outside; 0: none
  std::int64_t inserted;
  unsigned long long mid_rows, long_rows;
  int segments;
  unsigned parts;     // of rows that are not short
  unsigned listed[3]; // see rows_to_thin
  unsigned arrived;   // blocks at a barrier
  unsigned too_full;  // see batch_order
  unsigned above_32;  // some row that was set has more entries
};

/// A part of a row that a block works on.
struct row_part {
  unsigned row; // of those that are hit, or of the matrix
  unsigned part;
};

/// What is to become of a row that is hit.
template <class I, class O> struct alignas(16) row_job {
  std::int64_t place; // in the pool
  O from;             // where its last segment begins
  O length;           // of that segment; of the row, if it is rewritten
  O size;             // of the row afterwards
  O room;             // after its last segment afterwards
  I row;
  std::uint32_t first_new, added; // of the batch's new entries
  row_change change;
  std::uint8_t segments; // before
};

template <class T, class I, class O> struct batch_arguments {
  dynamic_rows<T, I, O> m;
  const I *rows, *cols;
  const T* batch_values;
  const std::uint64_t* keys; // row and column in order; null: only `positions` are
  const std::uint32_t* positions;
  int col_bits;
  std::int64_t n;
  batch_rule rule;
  batch_limits limits;
  O* places;            // of entries that are there; -1: not; -2: the same as the one before
  std::int64_t* counts; // 1 for a new entry, 2^32 for the first of a row
  std::int64_t* sums;   // of counts, before each
  std::uint32_t* first; // entry of each row that is hit
  I* new_columns;
  T* new_values;
  row_job<I, O>* jobs; // of rows that are hit
  row_part* parts;
  batch_state* state;

  /// Of the entry at place i of the order.
  __device__ std::int64_t row_at(std::int64_t i) const {
    return keys != nullptr ? static_cast<std::int64_t>(keys[i] >> col_bits)
                           : static_cast<std::int64_t>(rows[positions[i]]);
  }
  __device__ I col_at(std::int64_t i) const {
    return keys != nullptr ? static_cast<I>(keys[i] & ((std::uint64_t{1} << col_bits) - 1))
                           : cols[positions[i]];
  }
  __device__ bool same_entry(std::int64_t i, std::int64_t j) const {
    return keys != nullptr ? keys[i] == keys[j] : row_at(i) == row_at(j) && col_at(i) == col_at(j);
  }
  /// Rows and columns at hand are not the batch's.
  __device__ bool unsorted() const { return state->outside != 0 || state->too_full != 0; }
  __device__ bool refused() const {
    return unsorted() || limits.used + static_cast<std::int64_t>(state->needed) > limits.capacity;
  }
  __device__ std::int64_t hit_rows() const { return sums[n] >> 32; }
  __device__ std::int64_t new_before(std::int64_t i) const { return sums[i] & 0xffffffff; }
  /// The value of a batch's entry and those after it that are the same.
  __device__ T combined_from(std::int64_t i) const {
    T value = batch_values[positions[i]];
    if (rule != batch_rule::append)
      for (std::int64_t j = i + 1; j < n && same_entry(i, j); ++j)
        value = combined(rule, value, batch_values[positions[j]]);
    return value;
  }
};

/// A row is one segment of `size` entries from `start` on, with free places up to `end`.
template <class T, class I, class O>
__device__ void set_row(const dynamic_rows<T, I, O>& m, std::int64_t row, O start, O end, O size) {
  m.last(0, row) = start + size;
  m.sizes[row] = size;
  m.room[row] = end - start - size;
  m.counts[row] = end > start ? 1 : 0;
}
/// Puts the rows of a block's threads on the lists of middle and long rows, whose counts are the
/// state's, by one atomic each: they would wait for one another. A thread without a row has size 0.
/// By all threads of a block.
template <class T, class I, class O>
__device__ void list_rows_of_block(const dynamic_rows<T, I, O>& m, std::int64_t row, O size,
                                   batch_state* state) {
  __shared__ unsigned counts[2];
  __shared__ unsigned long long bases[2];
  if (__syncthreads_or(size > 32 ? 1 : 0) == 0) return;
  if (threadIdx.x < 2) counts[threadIdx.x] = 0;
  __syncthreads();
  const unsigned mid = size > mid_row ? atomicAdd(counts, 1u) : 0;
  const unsigned longer = size > long_row ? atomicAdd(counts + 1, 1u) : 0;
  __syncthreads();
  if (threadIdx.x == 0) state->above_32 = 1;
  if (threadIdx.x < 2 && counts[threadIdx.x] > 0)
    bases[threadIdx.x] = atomicAdd(threadIdx.x == 0 ? &state->mid_rows : &state->long_rows,
                                   static_cast<unsigned long long>(counts[threadIdx.x]));
  __syncthreads();
  if (size > mid_row) m.mid_rows[bases[0] + mid] = static_cast<I>(row);
  if (size > long_row) m.long_rows[bases[1] + longer] = static_cast<I>(row);
}

/// The sum over a block of what threads before this one have; `total`: of all of them.
template <int threads = block_threads>
__device__ std::int64_t sum_before(std::int64_t value, std::int64_t& total) {
  __shared__ std::int64_t warps[threads / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  std::int64_t sum = value;
  for (int step = 1; step < 32; step *= 2) {
    const std::int64_t other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  std::int64_t before = 0;
  total = 0;
  for (int w = 0; w < threads / 32; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  __syncthreads();
  return before + sum - value;
}

/// Elements of [0, count) that are not above a value; they ascend.
template <class I>
__device__ std::int64_t not_above(const I* columns, std::int64_t count, I column) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (columns[middle] <= column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Where an entry of a row goes if its segments, and `added` entries of a batch behind them, become
/// one run: after those that are below, and after equal ones of earlier segments. `own`: its
/// segment, the row's count for the batch; `e`: its place there.
template <class T, class I, class O>
__device__ std::int64_t merged_place(const dynamic_rows<T, I, O>& m, std::int64_t row, int own,
                                     std::int64_t e, I column, const I* columns,
                                     std::int64_t added) {
  const int count = m.counts[row];
  std::int64_t place = e;
  for (int s = 0; s < count; ++s) {
    const std::int64_t begin = m.first(s, row), length = m.last(s, row) - begin;
    if (s < own)
      place += not_above<I>(m.colind + begin, length, column);
    else if (s > own)
      place += lower_bound<I>(m.colind + begin, length, column);
  }
  return own < count && added > 0 ? place + lower_bound<I>(columns, added, column) : place;
}
/// Entries [begin, end) of a row's segments, counted through, to one run at `to`; of a batch's
/// entries behind them, too. By `threads` threads.
template <class T, class I, class O>
__device__ void merge_entries(const dynamic_rows<T, I, O>& m, std::int64_t row, std::int64_t begin,
                              std::int64_t end, const I* columns, const T* values,
                              std::int64_t added, I* to_columns, T* to_values, int thread,
                              int threads) {
  std::int64_t before = 0; // entries of earlier segments
  const int count = m.counts[row];
  for (int s = 0; s <= count; ++s) {
    const bool batch = s == count;
    const std::int64_t first = batch ? 0 : std::int64_t{m.first(s, row)};
    const std::int64_t length = batch ? added : m.last(s, row) - first;
    const I* const from = batch ? columns : m.colind + first;
    const T* const from_values = batch ? values : m.values + first;
    const std::int64_t last = min(length, end - before);
    for (std::int64_t e = max(begin - before, std::int64_t{0}) + thread; e < last; e += threads) {
      const I column = from[e];
      const std::int64_t place = merged_place(m, row, s, e, column, columns, added);
      to_columns[place] = column;
      to_values[place] = from_values[e];
    }
    before += length;
  }
}

/// Marks on the entries of a tile, and how many come before each. All of it in shared memory.
template <int entries> struct tile_marks {
  unsigned bits[entries / 32];
  int before[entries / 32];

  __device__ void clear() {
    for (int w = static_cast<int>(threadIdx.x); w < entries / 32; w += block_threads) bits[w] = 0;
  }
  __device__ void set(int e) { atomicOr(bits + e / 32, 1u << (e % 32)); }
  /// By all threads of a block, between two barriers.
  __device__ void count() {
    constexpr int each = entries / 1024;
    if (threadIdx.x >= 32) return;
    int own[each], sum = 0;
    for (int w = 0; w < each; ++w) {
      own[w] = sum;
      sum += __popc(bits[threadIdx.x * each + w]);
    }
    int all = sum;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, all, step);
      if (threadIdx.x >= step) all += other;
    }
    for (int w = 0; w < each; ++w) before[threadIdx.x * each + w] = all - sum + own[w];
  }
  __device__ bool at(int e) const { return (bits[e / 32] >> (e % 32) & 1) != 0; }
  __device__ int marked_before(int e) const {
    return before[e / 32] + __popc(bits[e / 32] & ((1u << (e % 32)) - 1));
  }
};

/// One cut per warp of the grid, up to `last`: the last i in [0, n) with holds(cut, i), which is so
/// for 0. Blocks that find their cuts made need not look for them, which takes four waits for
/// memory.
template <class Holds>
__global__ void __launch_bounds__(block_threads)
    find_cuts(std::int64_t last, std::int64_t n, std::int64_t* cuts, Holds holds) {
  const std::int64_t cut = thread_index() / 32;
  if (cut > last) return;
  const std::int64_t found = last_of_warp(n, [&](std::int64_t i) { return holds(cut, i); });
  if (threadIdx.x % 32 == 0) cuts[cut] = found;
}
template <class Holds>
void launch_cuts(const device_context& ctx, std::int64_t last, std::int64_t n, std::int64_t* cuts,
                 Holds holds) {
  find_cuts<<<blocks_for((last + 1) * 32), block_threads, 0, ctx.stream()>>>(last, n, cuts, holds);
  check_launch("find_cuts");
}

/// Scratch in one piece: f names each array to take(pointer, size), twice.
template <class F> array<char, space::device> lay_out(const device_context& ctx, F f) {
  const auto rounded = [](std::int64_t n, std::size_t size) {
    return (n * static_cast<std::int64_t>(size) + 255) / 256 * 256;
  };
  std::int64_t bytes = 0;
  f([&]<class E>(E*&, std::int64_t n) { bytes += rounded(n, sizeof(E)); });
  array<char, space::device> memory(ctx, bytes);
  char* at = memory.data();
  f([&]<class E>(E*& pointer, std::int64_t n) {
    pointer = reinterpret_cast<E*>(at);
    at += rounded(n, sizeof(E));
  });
  return memory;
}

/// Lanes of the warp that change a row with this one.
__device__ inline unsigned row_group() {
  return ((1u << row_lanes) - 1) << (threadIdx.x % 32 / row_lanes * row_lanes);
}

/// A batch of up to so many entries goes in by one launch, if no snapshot is to be kept. The
/// state's too_full: one block would have too much to do, and nothing was changed. Waits.
constexpr std::int64_t most_at_once = 24576;
template <class T, class I, class O>
batch_state apply_at_once(const device_context& ctx, batch_arguments<T, I, O> p);

/// How a batch is put in order. by_prefix: faster than by_key, and gives up (state->too_full) where
/// very many entries are near each other in one row. roughly: by the keys' first bits alone.
enum class batch_order { by_prefix, by_key, roughly };

/// Puts a batch in order: p's keys, positions and state are there then, in the memory that is
/// returned. The state is set to 0 before.
template <class T, class I, class O>
array<char, space::device> sort_batch(const device_context& ctx, batch_arguments<T, I, O>& p,
                                      batch_order order);
/// sums[i] = counts[0] + … + counts[i - 1], i up to n.
void sum_batch(const device_context& ctx, const std::int64_t* counts, std::int64_t n,
               std::int64_t* sums);

template <class T, class I, class O>
batch_arguments<T, I, O> arguments_of(const dynamic_rows<T, I, O>& m,
                                      coo_view<const T, I, O, space::device> batch) {
  if (batch.size() > std::numeric_limits<std::int32_t>::max())
    throw unsupported("a batch has at most 2^31 - 1 entries; use several");
  batch_arguments<T, I, O> p{};
  p.m = m;
  p.rows = batch.rowind().data();
  p.cols = batch.colind().data();
  p.batch_values = batch.values().data();
  p.n = batch.size();
  return p;
}
inline batch_state wait_for(const device_context& ctx, const batch_state* state) {
  batch_state result;
  read_back(ctx, &result, state, 1);
  return result;
}
inline std::int64_t outside_of(const batch_state& state) {
  return state.outside == 0 ? -1 : static_cast<std::int64_t>(~state.outside);
}

inline array<char, space::device> new_state(const device_context& ctx) {
  array<char, space::device> state(ctx, sizeof(batch_state));
  check(cudaMemsetAsync(state.data(), 0, sizeof(batch_state), ctx.stream()), "state");
  return state;
}
inline batch_state* state_of(const array<char, space::device>& state) {
  return reinterpret_cast<batch_state*>(const_cast<char*>(state.data()));
}

} // namespace lacuna::detail::gpu
