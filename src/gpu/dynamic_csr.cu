// Batches into a dynamic CSR on the device. A batch is sorted by row and column (CUB), every entry
// is looked up by one thread, and new entries are counted by row. Then each row that is hit asks
// for its places of the pool; only if all get theirs, entries are written: short rows by a thread,
// others by blocks. One wait, at the end.
//
// Where rows get their places is a matter of which block was first; what they hold and in which
// order is not.
#include "op/dynamic_rows.hpp"

#include <bit>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Entries up to which a row is changed by one thread.
constexpr std::int64_t thread_row = 64;
/// Entries that one block moves.
constexpr std::int64_t part_entries = 4096;
constexpr int part_blocks = 132 * 8;

struct batch_state {
  unsigned long long needed; // places that rows asked for
  unsigned long long changed;
  unsigned long long outside; // the first entry outside; ~0: none
  std::int64_t inserted;
  unsigned long long long_rows;
  int segments;
  unsigned parts; // of rows that blocks work on
};

/// A part of a row that a block works on.
struct row_part {
  unsigned row; // of those that are hit, or of the matrix
  unsigned part;
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
  std::int64_t* row_places; // in the pool, of rows that are hit
  row_change* changes;
  row_part* parts;
  batch_state* state;

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
  __device__ bool refused() const {
    return state->outside != ~0ull ||
           limits.used + static_cast<std::int64_t>(state->needed) > limits.capacity;
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
  struct hit {
    std::int64_t row, first_new, added;
    row_decision decision;
    std::int64_t place;
  };
  /// What is to become of row number t of those that are hit; `decided` already.
  __device__ hit hit_at(std::int64_t t) const {
    const std::int64_t from = first[t], to = first[t + 1], before = new_before(from);
    const std::int64_t row = row_at(from), added = new_before(to) - before;
    row_decision decision{changes[t], 0};
    const std::int64_t size = m.sizes[row];
    if (decision.change == row_change::new_segment)
      decision.places = added + limits.slack.of(added, size + added);
    if (decision.change == row_change::rewritten)
      decision.places = size + added + limits.slack.of(size + added, size + added);
    return {row, before, added, decision, row_places[t]};
  }
};

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

template <class I>
__global__ void __launch_bounds__(block_threads)
    make_keys(const I* rows, const I* cols, std::int64_t n, std::int64_t row_limit,
              std::int64_t col_limit, int col_bits, std::uint64_t* keys, std::uint32_t* positions,
              batch_state* state) {
  const std::int64_t i = thread_index();
  if (i >= n) return;
  const std::int64_t row = rows[i], col = cols[i];
  const bool outside = row < 0 || row >= row_limit || col < 0 || col >= col_limit;
  if (outside) atomicMin(&state->outside, static_cast<unsigned long long>(i));
  if (keys != nullptr)
    keys[i] =
        outside ? 0 : static_cast<std::uint64_t>(row) << col_bits | static_cast<std::uint64_t>(col);
  positions[i] = static_cast<std::uint32_t>(i);
}

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) look_up(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  if (i >= p.n) return;
  if (p.state->outside != ~0ull) {
    p.counts[i] = 0;
    return;
  }
  const std::int64_t row = p.row_at(i);
  const bool row_head = i == 0 || p.row_at(i - 1) != row;
  std::int64_t place = -1;
  if (p.rule != batch_rule::append)
    place = i > 0 && p.same_entry(i, i - 1) ? -2 : p.m.find(row, p.col_at(i));
  p.places[i] = static_cast<O>(place);
  const bool is_new = place == -1 && p.rule != batch_rule::touch;
  p.counts[i] = (std::int64_t{row_head} << 32) + (is_new ? 1 : 0);
}

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) collect_new(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  if (i >= p.n) return;
  const std::int64_t count = p.counts[i];
  if (count >> 32 != 0) p.first[p.sums[i] >> 32] = static_cast<std::uint32_t>(i);
  if (i == p.n - 1) {
    p.first[p.hit_rows()] = static_cast<std::uint32_t>(p.n);
    p.state->inserted = p.new_before(p.n);
  }
  if ((count & 1) != 0) {
    p.new_columns[p.new_before(i)] = p.col_at(i);
    p.new_values[p.new_before(i)] = p.combined_from(i);
  }
}

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) decide_rows(const batch_arguments<T, I, O> p) {
  const std::int64_t t = thread_index();
  const bool hit = t < p.hit_rows();
  row_decision decision;
  std::int64_t entries = 0; // that are moved or written
  if (hit) {
    const std::int64_t from = p.first[t], to = p.first[t + 1], row = p.row_at(from);
    const std::int64_t added = p.new_before(to) - p.new_before(from);
    bool changes = false;
    if (p.limits.frozen > 0 && p.rule != batch_rule::keep)
      for (std::int64_t i = from; i < to && !changes; ++i) changes = p.places[i] >= 0;
    decision = decide_row(p.m, row, added, changes, p.limits);
    if (decision.change == row_change::in_place) {
      const int s = p.m.counts[row] - 1;
      entries = added + p.m.last(s, row) - p.m.first(s, row);
    } else if (decision.change != row_change::none) {
      entries = added + (decision.change == row_change::rewritten ? p.m.sizes[row] : 0);
    }
  }
  std::int64_t total = 0;
  __shared__ std::int64_t base;
  const std::int64_t before = sum_before(decision.places, total);
  if (threadIdx.x == 0)
    base = total == 0 ? 0
                      : static_cast<std::int64_t>(
                            atomicAdd(&p.state->needed, static_cast<unsigned long long>(total)));
  __syncthreads();
  if (!hit) return;
  p.changes[t] = decision.change;
  p.row_places[t] = p.limits.used + base + before;
  if (entries > thread_row) {
    const auto count = static_cast<unsigned>((entries + part_entries - 1) / part_entries);
    const unsigned at = atomicAdd(&p.state->parts, count);
    for (unsigned part = 0; part < count; ++part)
      p.parts[at + part] = {static_cast<unsigned>(t), part};
  }
}

/// New values for entries that are there. moved: rows may have been rewritten since.
template <bool moved, class T, class I, class O>
__global__ void __launch_bounds__(block_threads) change_values(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  bool changed = false;
  if (i < p.n && !p.refused() && p.places[i] >= 0) {
    const std::int64_t place =
        moved ? p.m.find(p.row_at(i), p.col_at(i)) : std::int64_t{p.places[i]};
    p.m.values[place] = combined(p.rule, p.m.values[place], p.combined_from(i));
    changed = true;
  }
  const int count = __syncthreads_count(changed);
  if (threadIdx.x == 0 && count > 0)
    atomicAdd(&p.state->changed, static_cast<unsigned long long>(count));
}

/// The table of a row that was hit, once its entries are written.
template <class T, class I, class O>
__device__ void finish_hit(const batch_arguments<T, I, O>& p,
                           const typename batch_arguments<T, I, O>::hit& h) {
  const std::int64_t before = p.m.sizes[h.row];
  finish_row(p.m, h.row, h.decision, h.added, h.place);
  if (before <= long_row && before + h.added > long_row) {
    const std::int64_t at =
        p.limits.long_rows + static_cast<std::int64_t>(atomicAdd(&p.state->long_rows, 1ull));
    if (at < p.limits.long_row_capacity) p.m.long_rows[at] = static_cast<I>(h.row);
  }
  const int count = p.m.counts[h.row];
  if (count > *static_cast<volatile int*>(&p.state->segments)) atomicMax(&p.state->segments, count);
}

/// Short rows, one thread each.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    write_short_rows(const batch_arguments<T, I, O> p) {
  const std::int64_t t = thread_index();
  if (t >= p.hit_rows() || p.refused()) return;
  const row_change change = p.changes[t];
  if (change == row_change::none) return;
  const auto h = p.hit_at(t);
  const dynamic_rows<T, I, O>& m = p.m;
  const I* const columns = p.new_columns + h.first_new;
  const T* const values = p.new_values + h.first_new;
  if (change == row_change::new_segment) {
    if (h.added > thread_row) return;
    for (std::int64_t j = 0; j < h.added; ++j) {
      m.colind[h.place + j] = columns[j];
      m.values[h.place + j] = values[j];
    }
  } else if (change == row_change::in_place) {
    const int s = m.counts[h.row] - 1;
    const std::int64_t begin = m.first(s, h.row), end = m.last(s, h.row);
    if (end - begin + h.added > thread_row) return;
    std::int64_t from = end - 1, to = from + h.added;
    for (std::int64_t j = h.added - 1; j >= 0; --to) {
      const I before = from >= begin ? m.colind[from] : I{-1}, column = columns[j];
      const bool old = before > column;
      m.colind[to] = old ? before : column;
      m.values[to] = old ? m.values[from] : values[j];
      if (old)
        --from;
      else
        --j;
    }
  } else {
    if (m.sizes[h.row] + h.added > thread_row) return;
    // Segments one after the other, each merged from its end on into what is there; then the batch.
    std::int64_t length = 0;
    for (int s = 0; s <= m.counts[h.row]; ++s) {
      const bool batch = s == m.counts[h.row];
      const std::int64_t begin = batch ? 0 : std::int64_t{m.first(s, h.row)};
      std::int64_t j = (batch ? h.added : std::int64_t{m.last(s, h.row)}) - 1;
      const I* const more = batch ? columns : m.colind;
      const T* const more_values = batch ? values : m.values;
      std::int64_t from = length - 1, to = from + (j - begin + 1);
      length = to + 1;
      for (; j >= begin; --to) {
        const I before = from >= 0 ? m.colind[h.place + from] : I{-1}, column = more[j];
        const bool old = before > column;
        m.colind[h.place + to] = old ? before : column;
        m.values[h.place + to] = old ? m.values[h.place + from] : more_values[j];
        if (old)
          --from;
        else
          --j;
      }
    }
  }
  finish_hit(p, h);
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

/// Longer rows, one block per part of 4096 entries.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) write_long_rows(const batch_arguments<T, I, O> p) {
  if (p.refused()) return;
  __shared__ I old_columns[most_in_place];
  __shared__ T old_values[most_in_place];
  const dynamic_rows<T, I, O>& m = p.m;
  const unsigned parts = p.state->parts;
  for (unsigned work = blockIdx.x; work < parts; work += gridDim.x) {
    const row_part item = p.parts[work];
    const auto h = p.hit_at(item.row);
    const I* const columns = p.new_columns + h.first_new;
    const T* const values = p.new_values + h.first_new;
    const std::int64_t begin = item.part * part_entries;
    if (h.decision.change == row_change::new_segment) {
      const std::int64_t end = min(begin + part_entries, h.added);
      for (std::int64_t j = begin + threadIdx.x; j < end; j += block_threads) {
        m.colind[h.place + j] = columns[j];
        m.values[h.place + j] = values[j];
      }
    } else if (h.decision.change == row_change::rewritten) {
      const std::int64_t end = min(begin + part_entries, m.sizes[h.row] + h.added);
      merge_entries(m, h.row, begin, end, columns, values, h.added, m.colind + h.place,
                    m.values + h.place, static_cast<int>(threadIdx.x), block_threads);
    } else {
      const int s = m.counts[h.row] - 1;
      const std::int64_t from = m.first(s, h.row), length = m.last(s, h.row) - from;
      for (std::int64_t e = threadIdx.x; e < length; e += block_threads) {
        old_columns[e] = m.colind[from + e];
        old_values[e] = m.values[from + e];
      }
      __syncthreads();
      for (std::int64_t e = threadIdx.x; e < length; e += block_threads) {
        const std::int64_t to = from + e + lower_bound(columns, h.added, old_columns[e]);
        m.colind[to] = old_columns[e];
        m.values[to] = old_values[e];
      }
      for (std::int64_t j = threadIdx.x; j < h.added; j += block_threads) {
        const std::int64_t to = from + j + not_above(old_columns, length, columns[j]);
        m.colind[to] = columns[j];
        m.values[to] = values[j];
      }
      __syncthreads(); // before the next row's entries
    }
  }
}

/// The rows that blocks have written.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    finish_long_rows(const batch_arguments<T, I, O> p) {
  if (p.refused()) return;
  const std::int64_t parts = p.state->parts;
  for (std::int64_t work = thread_index(); work < parts; work += gridDim.x * block_threads)
    if (p.parts[work].part == 0) finish_hit(p, p.hit_at(p.parts[work].row));
}

/// Keys are the indices at the positions; those outside count as 0.
template <class I>
void key_by_index(const device_context& ctx, const I* index, const std::uint32_t* position,
                  std::uint64_t* key, std::int64_t n) {
  for_each(ctx, n, "batch", [=] __device__(std::int64_t i) {
    const I value = index[position[i]];
    key[i] = value < 0 ? 0 : static_cast<std::uint64_t>(value);
  });
}

/// Batches of up to so many entries, whose keys fit a block's shared memory, are sorted by two
/// launches of our own, for CUB's nine take longer than all the rest.
constexpr std::int64_t small_batch = 16384;
constexpr int chunk = 512;

/// Keys and positions in order within chunks, one block each: a bitonic sort of pairs.
template <class I>
__global__ void __launch_bounds__(chunk / 2)
    sort_chunks(const I* rows, const I* cols, std::int64_t n, std::int64_t row_limit,
                std::int64_t col_limit, int col_bits, std::uint64_t* keys, std::uint32_t* positions,
                batch_state* state) {
  __shared__ std::uint64_t key[chunk];
  __shared__ std::uint32_t position[chunk];
  const std::int64_t first = std::int64_t{blockIdx.x} * chunk;
  for (int e = static_cast<int>(threadIdx.x); e < chunk; e += chunk / 2) {
    const std::int64_t i = first + e;
    key[e] = ~std::uint64_t{0};
    position[e] = static_cast<std::uint32_t>(i);
    if (i >= n) continue;
    const std::int64_t row = rows[i], col = cols[i];
    const bool outside = row < 0 || row >= row_limit || col < 0 || col >= col_limit;
    if (outside) atomicMin(&state->outside, static_cast<unsigned long long>(i));
    key[e] =
        outside ? 0 : static_cast<std::uint64_t>(row) << col_bits | static_cast<std::uint64_t>(col);
  }
  for (int run = 2; run <= chunk; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      const int t = static_cast<int>(threadIdx.x);
      const int a = 2 * t - (t & (step - 1)), b = a + step;
      const bool ascending = (a & run) == 0;
      const bool above = key[a] > key[b] || (key[a] == key[b] && position[a] > position[b]);
      if (above == ascending) {
        const std::uint64_t k = key[a];
        key[a] = key[b];
        key[b] = k;
        const std::uint32_t p = position[a];
        position[a] = position[b];
        position[b] = p;
      }
    }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < chunk && first + e < n; e += chunk / 2) {
    keys[first + e] = key[e];
    positions[first + e] = position[e];
  }
}
/// Keys that a block of merge_chunks puts in place, by four lanes each.
constexpr int merged_keys = block_threads / 4;

/// Each key to its place among all chunks, which are brought to shared memory: those of earlier
/// chunks come before their equals. A key's four lanes search every fourth chunk.
__global__ void __launch_bounds__(block_threads)
    merge_chunks(const std::uint64_t* keys, const std::uint32_t* positions, int n,
                 std::uint64_t* to_keys, std::uint32_t* to_positions) {
  extern __shared__ std::uint64_t all[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += block_threads) all[i] = keys[i];
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 4;
  const int i = static_cast<int>(blockIdx.x) * merged_keys + static_cast<int>(threadIdx.x) / 4;
  const std::uint64_t key = i < n ? all[i] : 0;
  const int own = i / chunk;
  int rank = 0;
  for (int c = lane; c * chunk < n; c += 4) {
    if (c == own) continue;
    const int length = min(chunk, n - c * chunk);
    rank += static_cast<int>(c < own ? not_above(all + c * chunk, length, key)
                                     : lower_bound(all + c * chunk, length, key));
  }
  rank += __shfl_xor_sync(0xffffffffu, rank, 1);
  rank += __shfl_xor_sync(0xffffffffu, rank, 2);
  if (i >= n || lane != 0) return;
  rank += i % chunk;
  to_keys[rank] = key;
  to_positions[rank] = positions[i];
}

/// sums[i] = counts[0] + … + counts[i - 1], i up to n, by one block: each warp has a run of them.
constexpr int sum_threads = 1024;
__global__ void __launch_bounds__(sum_threads)
    sum_counts(const std::int64_t* counts, int n, std::int64_t* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int each = (n + sum_threads - 1) / sum_threads * 32;
  const int first = warp * each, last = min(first + each, n);
  std::int64_t own = 0;
#pragma unroll 8
  for (int i = first + lane; i < last; i += 32) own += counts[i];
  std::int64_t total = 0;
  std::int64_t before = sum_before<sum_threads>(own, total); // of earlier warps and lanes
  before = __shfl_sync(0xffffffffu, before, 0);
#pragma unroll 4
  for (int i = first + lane; i - lane < last; i += 32) {
    const std::int64_t count = i < last ? counts[i] : 0;
    std::int64_t sum = count;
    for (int step = 1; step < 32; step *= 2) {
      const std::int64_t other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    if (i < last) sums[i] = before + sum - count;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  if (threadIdx.x == 0) sums[n] = total;
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

/// Arrays that sorting takes.
struct sort_buffers {
  std::uint64_t* keys[2];
  std::uint32_t* positions[2];
};

/// Puts a batch in order: p's keys and positions are there then.
template <class T, class I, class O>
void sort_batch(const device_context& ctx, const sort_buffers& to, batch_arguments<T, I, O>& p) {
  const std::int64_t n = p.n;
  const batch_state start{0, 0, ~0ull, 0, 0, 0, 0};
  check(cudaMemcpyAsync(p.state, &start, sizeof start, cudaMemcpyHostToDevice, ctx.stream()),
        "batch");
  const auto bits = [](std::int64_t limit) {
    return limit <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(limit - 1));
  };
  p.col_bits = bits(p.m.cols);
  const int all_bits = bits(p.m.rows) + p.col_bits;
  const auto make = [&](std::uint64_t* keys) {
    make_keys<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(
        p.rows, p.cols, n, p.m.rows, p.m.cols, p.col_bits, keys, to.positions[0], p.state);
    check_launch("make_keys");
  };
  int sorted = 0;
  if (all_bits > 62) {
    // Indices of so many bits are sorted one after the other: stably, the rows last.
    make(nullptr);
    const auto sort_by = [&](const I* index) {
      std::uint32_t* const positions[2] = {to.positions[sorted], to.positions[1 - sorted]};
      key_by_index(ctx, index, positions[0], to.keys[0], n);
      if (sort_stably<std::uint64_t, std::uint32_t>(ctx, to.keys, positions, n,
                                                    8 * sizeof(I) - 1) == 1)
        sorted = 1 - sorted;
    };
    sort_by(p.cols);
    sort_by(p.rows);
    p.keys = nullptr;
    p.positions = to.positions[sorted];
    return;
  }
  if (n <= small_batch) {
    sort_chunks<<<static_cast<unsigned>((n + chunk - 1) / chunk), chunk / 2, 0, ctx.stream()>>>(
        p.rows, p.cols, n, p.m.rows, p.m.cols, p.col_bits, to.keys[0], to.positions[0], p.state);
    check_launch("sort_chunks");
    const auto bytes = static_cast<int>(n * static_cast<std::int64_t>(sizeof(std::uint64_t)));
    check(cudaFuncSetAttribute(merge_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(small_batch * sizeof(std::uint64_t))),
          "merge_chunks");
    merge_chunks<<<static_cast<unsigned>((n + merged_keys - 1) / merged_keys), block_threads, bytes,
                   ctx.stream()>>>(to.keys[0], to.positions[0], static_cast<int>(n), to.keys[1],
                                   to.positions[1]);
    check_launch("merge_chunks");
    sorted = 1;
  } else {
    make(to.keys[0]);
    sorted = sort_stably<std::uint64_t, std::uint32_t>(ctx, to.keys, to.positions, n, all_bits);
  }
  p.keys = to.keys[sorted];
  p.positions = to.positions[sorted];
}
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
batch_state wait_for(const device_context& ctx, const batch_state* state) {
  batch_state result;
  read_back(ctx, &result, state, 1);
  return result;
}

/// Whether a bit is set.
struct bit_set {
  const unsigned* bits;
  __device__ bool operator[](std::int64_t k) const { return (bits[k / 32] >> (k % 32) & 1) != 0; }
};
/// Entries that go: by their place, or by their column.
struct marked_places {
  bit_set marks;
  template <class I> __device__ bool operator()(I, std::int64_t place) const {
    return marks[place];
  }
};
struct marked_columns {
  bit_set marks;
  template <class I> __device__ bool operator()(I column, std::int64_t) const {
    return marks[column];
  }
};

/// Takes entries out of a row; returns how many.
template <class T, class I, class O, class Gone>
__device__ std::int64_t thin_row(const dynamic_rows<T, I, O>& m, std::int64_t row, Gone gone) {
  std::int64_t erased = 0;
  const int count = m.counts[row];
  for (int s = 0; s < count; ++s) {
    const O begin = m.first(s, row), end = m.last(s, row);
    O kept = begin;
    for (O k = begin; k < end; ++k) {
      const I column = m.colind[k];
      if (gone(column, k)) continue;
      if (kept != k) {
        m.colind[kept] = column;
        m.values[kept] = m.values[k];
      }
      ++kept;
    }
    m.last(s, row) = kept;
    erased += end - kept;
    if (s == count - 1) m.room[row] += end - kept;
  }
  m.sizes[row] -= static_cast<O>(erased);
  return erased;
}

/// The same by a block, 256 entries at a time.
template <class T, class I, class O, class Gone>
__global__ void __launch_bounds__(block_threads)
    thin_long_rows(dynamic_rows<T, I, O> m, const row_part* list, batch_state* state, Gone gone) {
  for (unsigned work = blockIdx.x; work < state->parts; work += gridDim.x) {
    const std::int64_t row = list[work].row;
    std::int64_t erased = 0;
    const int count = m.counts[row];
    for (int s = 0; s < count; ++s) {
      const std::int64_t begin = m.first(s, row), end = m.last(s, row);
      std::int64_t kept = begin;
      for (std::int64_t k = begin; k < end; k += block_threads) {
        const std::int64_t at = k + threadIdx.x;
        const bool inside = at < end;
        const I column = inside ? m.colind[at] : I{0};
        const T value = inside ? m.values[at] : T{0};
        const bool stays = inside && !gone(column, at);
        std::int64_t total = 0;
        const std::int64_t to = kept + sum_before(stays ? 1 : 0, total); // all have read
        if (stays) {
          m.colind[to] = column;
          m.values[to] = value;
        }
        kept += total;
        __syncthreads();
      }
      erased += end - kept;
      if (threadIdx.x == 0) {
        m.last(s, row) = static_cast<O>(kept);
        if (s == count - 1) m.room[row] += static_cast<O>(end - kept);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      m.sizes[row] -= static_cast<O>(erased);
      atomicAdd(&state->changed, static_cast<unsigned long long>(erased));
    }
    __syncthreads();
  }
}

/// Marks all places that hold an entry of the batch.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mark_entries(const batch_arguments<T, I, O> p, unsigned* marks) {
  const std::int64_t i = thread_index();
  if (i >= p.n || p.state->outside != ~0ull || (i > 0 && p.same_entry(i, i - 1))) return;
  const std::int64_t row = p.row_at(i);
  const I column = p.col_at(i);
  for (int s = 0; s < p.m.counts[row]; ++s) {
    const O end = p.m.last(s, row);
    for (O k = p.m.lower(p.m.first(s, row), end, column); k < end && p.m.colind[k] == column; ++k)
      atomicOr(marks + k / 32, 1u << (k % 32));
  }
}
/// The rows of a batch; long ones are left to blocks.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    thin_hit_rows(const batch_arguments<T, I, O> p, marked_places gone) {
  const std::int64_t i = thread_index();
  std::int64_t erased = 0;
  if (i < p.n && p.state->outside == ~0ull && (i == 0 || p.row_at(i - 1) != p.row_at(i))) {
    const std::int64_t row = p.row_at(i);
    if (p.m.sizes[row] <= thread_row)
      erased = thin_row(p.m, row, gone);
    else
      p.parts[atomicAdd(&p.state->parts, 1u)] = {static_cast<unsigned>(row), 0};
  }
  std::int64_t total = 0;
  (void)sum_before(erased, total);
  if (threadIdx.x == 0 && total > 0)
    atomicAdd(&p.state->changed, static_cast<unsigned long long>(total));
}
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    thin_all_rows(dynamic_rows<T, I, O> m, row_part* list, batch_state* state,
                  marked_columns gone) {
  const std::int64_t row = thread_index();
  std::int64_t erased = 0;
  if (row < m.rows) {
    if (m.sizes[row] <= thread_row)
      erased = thin_row(m, row, gone);
    else
      list[atomicAdd(&state->parts, 1u)] = {static_cast<unsigned>(row), 0};
  }
  std::int64_t total = 0;
  (void)sum_before(erased, total);
  if (threadIdx.x == 0 && total > 0)
    atomicAdd(&state->changed, static_cast<unsigned long long>(total));
}

/// Lanes that gather a row.
constexpr int gather_lanes = 8;

/// Rows from starts[i] on, columns ascending; parts of long ones are left to blocks.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    gather_short(dynamic_rows<T, I, O> m, const O* starts, I* colind, T* values, row_part* list,
                 batch_state* state) {
  const std::int64_t row = thread_index() / gather_lanes;
  const int lane = static_cast<int>(threadIdx.x) % gather_lanes;
  if (row >= m.rows) return;
  const std::int64_t size = m.sizes[row], to = starts[row];
  if (size > part_entries / 8) {
    if (lane != 0) return;
    const auto count = static_cast<unsigned>((size + part_entries - 1) / part_entries);
    const unsigned at = atomicAdd(&state->parts, count);
    for (unsigned part = 0; part < count; ++part)
      list[at + part] = {static_cast<unsigned>(row), part};
  } else if (m.counts[row] == 1) {
    const std::int64_t from = m.first(0, row);
    for (std::int64_t e = lane; e < size; e += gather_lanes) {
      colind[to + e] = m.colind[from + e];
      values[to + e] = m.values[from + e];
    }
  } else {
    merge_entries<T, I, O>(m, row, 0, size, nullptr, nullptr, 0, colind + to, values + to, lane,
                           gather_lanes);
  }
}
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    gather_long(dynamic_rows<T, I, O> m, const O* starts, I* colind, T* values,
                const row_part* list, const batch_state* state) {
  for (unsigned work = blockIdx.x; work < state->parts; work += gridDim.x) {
    const std::int64_t row = list[work].row, to = starts[row];
    const std::int64_t begin = list[work].part * part_entries;
    const std::int64_t end = min(begin + part_entries, std::int64_t{m.sizes[row]});
    merge_entries<T, I, O>(m, row, begin, end, nullptr, nullptr, 0, colind + to, values + to,
                           static_cast<int>(threadIdx.x), block_threads);
  }
}

array<batch_state, space::device> new_state(const device_context& ctx) {
  array<batch_state, space::device> state(ctx, 1);
  check(cudaMemsetAsync(state.data(), 0, sizeof(batch_state), ctx.stream()), "state");
  return state;
}

} // namespace

template <class T, class I, class O>
batch_outcome apply_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O, space::device> batch, batch_rule rule,
                          const batch_limits& limits) {
  const device_guard guard(ctx.device());
  const std::int64_t n = batch.size();
  batch_arguments<T, I, O> p = arguments_of(m, batch);
  p.rule = rule;
  p.limits = limits;
  sort_buffers buffers{};
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.state, 1);
    for (auto*& keys : buffers.keys) take(keys, n);
    for (auto*& positions : buffers.positions) take(positions, n);
    take(p.places, n);
    take(p.counts, n);
    take(p.sums, n + 1);
    take(p.first, n + 1);
    take(p.new_columns, n);
    take(p.new_values, n);
    take(p.row_places, n);
    take(p.changes, n);
    take(p.parts, n + (limits.used + n) / part_entries + 1);
  });
  sort_batch(ctx, buffers, p);
  const unsigned blocks = blocks_for(n);
  const auto launch = [&](auto kernel, unsigned grid, const char* name) {
    kernel<<<grid, block_threads, 0, ctx.stream()>>>(p);
    check_launch(name);
  };
  const bool frozen = limits.frozen > 0;
  const bool changes_values = rule == batch_rule::add || rule == batch_rule::replace;
  launch(look_up<T, I, O>, blocks, "look_up");
  if (n <= small_batch) {
    sum_counts<<<1, sum_threads, 0, ctx.stream()>>>(p.counts, static_cast<int>(n), p.sums);
    check_launch("sum_counts");
  } else {
    exclusive_sums<std::int64_t, std::int64_t>(ctx, n, p.counts, p.sums);
  }
  launch(collect_new<T, I, O>, blocks, "collect_new");
  launch(decide_rows<T, I, O>, blocks, "decide_rows");
  if (changes_values && !frozen) launch(change_values<false, T, I, O>, blocks, "change_values");
  launch(write_short_rows<T, I, O>, blocks, "write_short_rows");
  launch(write_long_rows<T, I, O>, part_blocks, "write_long_rows");
  launch(finish_long_rows<T, I, O>, part_blocks / 8, "finish_long_rows");
  if (changes_values && frozen) launch(change_values<true, T, I, O>, blocks, "change_values");
  const batch_state state = wait_for(ctx, p.state);
  batch_outcome outcome;
  outcome.inserted = state.inserted;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.used = limits.used + static_cast<std::int64_t>(state.needed);
  outcome.outside = state.outside == ~0ull ? -1 : static_cast<std::int64_t>(state.outside);
  outcome.long_rows = limits.long_rows + static_cast<std::int64_t>(state.long_rows);
  outcome.segments = state.segments;
  return outcome;
}

template <class T, class I, class O>
batch_outcome erase_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O, space::device> batch, std::int64_t used) {
  const device_guard guard(ctx.device());
  const std::int64_t n = batch.size(), words = used / 32 + 1;
  batch_arguments<T, I, O> p = arguments_of(m, batch);
  sort_buffers buffers{};
  unsigned* marks = nullptr;
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.state, 1);
    for (auto*& keys : buffers.keys) take(keys, n);
    for (auto*& positions : buffers.positions) take(positions, n);
    take(p.parts, n);
    take(marks, words);
  });
  check(cudaMemsetAsync(marks, 0, static_cast<std::size_t>(words) * sizeof *marks, ctx.stream()),
        "erase");
  sort_batch(ctx, buffers, p);
  const marked_places gone{{marks}};
  mark_entries<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(p, marks);
  check_launch("mark_entries");
  thin_hit_rows<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(p, gone);
  check_launch("thin_hit_rows");
  thin_long_rows<<<part_blocks, block_threads, 0, ctx.stream()>>>(m, p.parts, p.state, gone);
  check_launch("thin_long_rows");
  const batch_state state = wait_for(ctx, p.state);
  batch_outcome outcome;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.outside = state.outside == ~0ull ? -1 : static_cast<std::int64_t>(state.outside);
  return outcome;
}

template <class T, class I, class O>
std::int64_t erase_columns(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                           vector_view<const I, space::device> columns) {
  if (m.rows == 0) return 0;
  const device_guard guard(ctx.device());
  array<unsigned, space::device> marks(ctx, m.cols / 32 + 1);
  check(cudaMemsetAsync(marks.data(), 0, marks.bytes(), ctx.stream()), "erase_columns");
  array<row_part, space::device> parts(ctx, m.rows);
  auto state = new_state(ctx);
  unsigned* const bits = marks.data();
  const I* const list = columns.data();
  for_each(ctx, columns.size(), "erase_columns",
           [=] __device__(std::int64_t i) { atomicOr(bits + list[i] / 32, 1u << (list[i] % 32)); });
  const marked_columns gone{{bits}};
  thin_all_rows<<<blocks_for(m.rows), block_threads, 0, ctx.stream()>>>(m, parts.data(),
                                                                        state.data(), gone);
  check_launch("thin_all_rows");
  thin_long_rows<<<part_blocks, block_threads, 0, ctx.stream()>>>(m, parts.data(), state.data(),
                                                                  gone);
  check_launch("thin_long_rows");
  return static_cast<std::int64_t>(wait_for(ctx, state.data()).changed);
}

template <class T, class I, class O>
std::int64_t erase_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                        vector_view<const I, space::device> rows) {
  const device_guard guard(ctx.device());
  auto state = new_state(ctx);
  batch_state* const total = state.data();
  const I* const list = rows.data();
  using word = std::conditional_t<sizeof(O) == 4, unsigned, unsigned long long>;
  for_each(ctx, rows.size(), "erase_rows", [=] __device__(std::int64_t i) {
    const I row = list[i];
    // A row that is listed twice is counted once.
    const word size = atomicExch(reinterpret_cast<word*>(m.sizes + row), word{0});
    m.room[row] = 0;
    m.counts[row] = 0;
    atomicAdd(&total->changed, static_cast<unsigned long long>(size));
  });
  return static_cast<std::int64_t>(wait_for(ctx, state.data()).changed);
}

template <class T, class I, class O>
void scale_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                vector_view<const T, space::device> factors) {
  const device_guard guard(ctx.device());
  const T* const factor = factors.data();
  for_each(ctx, m.rows * gather_lanes, "scale_rows", [=] __device__(std::int64_t i) {
    const std::int64_t row = i / gather_lanes;
    for (int s = 0; s < m.counts[row]; ++s)
      for (std::int64_t k = m.first(s, row) + i % gather_lanes; k < m.last(s, row);
           k += gather_lanes)
        m.values[k] *= factor[row];
  });
}

template <class O>
std::int64_t place_rows(const device_context& ctx, const O* sizes, std::int64_t rows, O* starts) {
  const device_guard guard(ctx.device());
  exclusive_sums<O, O>(ctx, rows, sizes, starts);
  O total = 0;
  read_back(ctx, &total, starts + rows, 1);
  return total;
}

template <class T, class I, class O>
void set_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m, const O* starts,
              const O* sizes) {
  const device_guard guard(ctx.device());
  for_each(ctx, m.rows + 1, "set_rows", [=] __device__(std::int64_t row) {
    const O start = starts[row];
    m.first(0, row) = start;
    if (row == m.rows) return;
    const O next = starts[row + 1], size = sizes == nullptr ? next - start : sizes[row];
    m.last(0, row) = start + size;
    m.sizes[row] = size;
    m.room[row] = next - start - size;
    m.counts[row] = next > start ? 1 : 0;
  });
}

template <class T, class I, class O>
void gather_rows(const device_context& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                 I* colind, T* values, std::int64_t entries) {
  if (from.rows == 0) return;
  const device_guard guard(ctx.device());
  // A row that is left to blocks has more than an eighth of a part.
  array<row_part, space::device> parts(ctx, entries / (part_entries / 8) + 1);
  auto state = new_state(ctx);
  gather_short<<<blocks_for(from.rows * gather_lanes), block_threads, 0, ctx.stream()>>>(
      from, starts, colind, values, parts.data(), state.data());
  check_launch("gather_short");
  gather_long<<<part_blocks, block_threads, 0, ctx.stream()>>>(from, starts, colind, values,
                                                               parts.data(), state.data());
  check_launch("gather_long");
}

template <class I, class O>
std::int64_t find_long_rows(const device_context& ctx, const O* sizes, std::int64_t rows,
                            I* long_rows, std::int64_t capacity, std::int64_t* counter) {
  const device_guard guard(ctx.device());
  check(cudaMemsetAsync(counter, 0, sizeof *counter, ctx.stream()), "find_long_rows");
  for_each(ctx, rows, "find_long_rows", [=] __device__(std::int64_t row) {
    if (sizes[row] <= long_row) return;
    const auto at =
        static_cast<std::int64_t>(atomicAdd(reinterpret_cast<unsigned long long*>(counter), 1ull));
    if (at < capacity) long_rows[at] = static_cast<I>(row);
  });
  std::int64_t count = 0;
  read_back(ctx, &count, counter, 1);
  return count;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_outcome apply_batch<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, \
                                              coo_view<const T, I, O, space::device>, batch_rule,  \
                                              const batch_limits&);                                \
  template batch_outcome erase_batch<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, \
                                              coo_view<const T, I, O, space::device>,              \
                                              std::int64_t);                                       \
  template std::int64_t erase_columns<T, I, O>(                                                    \
      const device_context&, const dynamic_rows<T, I, O>&, vector_view<const I, space::device>);   \
  template std::int64_t erase_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,   \
                                            vector_view<const I, space::device>);                  \
  template void scale_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,           \
                                    vector_view<const T, space::device>);                          \
  template void set_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, const O*,   \
                                  const O*);                                                       \
  template void gather_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,          \
                                     const O*, I*, T*, std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#define LACUNA_INSTANTIATE_INDEX(I, O)                                                             \
  template std::int64_t find_long_rows<I, O>(const device_context&, const O*, std::int64_t, I*,    \
                                             std::int64_t, std::int64_t*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE_INDEX)
template std::int64_t place_rows(const device_context&, const std::int32_t*, std::int64_t,
                                 std::int32_t*);
template std::int64_t place_rows(const device_context&, const std::int64_t*, std::int64_t,
                                 std::int64_t*);

} // namespace lacuna::detail::gpu
