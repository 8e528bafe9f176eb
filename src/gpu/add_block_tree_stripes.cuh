// Stripes of a sum of block trees: rows of blocks, and columns. Which pairs of leaves they have,
// and in which order their leaves are. A warp for each stripe.
#pragma once

#include "gpu/add_block_tree.cuh"
#include "op/block_tree_levels.hpp"

namespace lacuna::detail::gpu {

/// Leaves of an operand by rows, or by columns, of the sum.
template <class I> struct stripe_list {
  const tree_item<I>* items;
  const tree_item<I>* pieces;
  std::int64_t item_count;
  const std::int64_t* through; ///< null: items in their order
  const tree_task<I>* tasks;
  std::int64_t task_count; ///< with the last, which ends them; 0: starts are known
  bool item_columns;       ///< lines are the items' columns
  int bits;

  [[nodiscard]] __device__ std::int32_t leaf(std::int64_t k) const {
    return static_cast<std::int32_t>(through == nullptr ? k : through[k]);
  }
  /// The block across the stripe.
  [[nodiscard]] __device__ int across(std::int32_t leaf) const {
    const tree_item<I>& item = leaf < item_count ? items[leaf] : pieces[leaf - item_count];
    return static_cast<int>((item_columns ? item.row : item.col) >> bits);
  }
};
template <class T, class I>
stripe_list<I> list_of(const tree_operand<T, I, space::device>& t, const cut_leaves<I>& cut,
                       bool columns) {
  const bool item_columns = columns != t.transposed, is_cut = cut.items > 0;
  const auto tasks = item_columns ? t.a.column_tasks : t.a.row_tasks;
  const std::int64_t* const by_column = item_columns ? t.a.by_column.data() : nullptr;
  return {t.a.items.data(), cut.pieces.data(),
          t.a.items.size(), is_cut ? cut.through[item_columns].data() : by_column,
          tasks.data(),     is_cut ? 0 : tasks.size(),
          item_columns,     t.a.bits};
}

/// What of a sum is known before leaves are counted. Stripe s: a row of blocks, or column s - rows.
template <class I> struct sum_stripes {
  int rows, cols; ///< of blocks
  int bits;
  index<I> extent;
  stripe_list<I> list[2][2];  ///< of A, B; by rows, by columns
  std::int32_t* starts[2][2]; ///< leaves before each stripe, and one more; as lists
  std::int32_t* counts;       ///< pairs of each stripe
  leaf_pair<I>* pairs;        ///< those of row i from starts[0][0][i] + starts[1][0][i] on
  std::int32_t* crossing;     ///< of columns: rows, then where their pairs are
  const sum_leaf* leaves;
  std::int32_t* order[2];     ///< pairs by rows, by columns, in the order of the lists
  std::int64_t* bytes_before; ///< of a pair: in its row, of those before it in that order
  std::int64_t* totals;       ///< section by section
  std::int64_t* sums;         ///< before each of totals
  unsigned long long* widest; ///< lines of a row's task, a column's

  [[nodiscard]] __device__ bool is_row(int s) const { return s < rows; }
  [[nodiscard]] __device__ int line(int s) const { return s < rows ? s : s - rows; }
  [[nodiscard]] __device__ std::int64_t base(int s) const {
    const int by = s < rows ? 0 : 1, at = line(s);
    return std::int64_t{starts[0][by][at]} + starts[1][by][at];
  }
  [[nodiscard]] __device__ std::int64_t begin(int s) const { return std::int64_t{line(s)} << bits; }
  [[nodiscard]] __device__ std::int64_t end(int s) const {
    const std::int64_t lines = s < rows ? extent.row : extent.col;
    return min(begin(s) + (std::int64_t{1} << bits), lines);
  }
  // Sections of totals: of rows leaves, bytes, entries; of rows and columns tasks, their slots; of
  // columns leaves; of rows large leaves; bytes of inner nodes.
  [[nodiscard]] __host__ __device__ std::int64_t leaves_at() const { return 0; }
  [[nodiscard]] __host__ __device__ std::int64_t bytes_at() const { return std::int64_t{rows}; }
  [[nodiscard]] __host__ __device__ std::int64_t entries_at() const {
    return 2 * std::int64_t{rows};
  }
  [[nodiscard]] __host__ __device__ std::int64_t tasks_at() const { return 3 * std::int64_t{rows}; }
  [[nodiscard]] __host__ __device__ std::int64_t slots_at() const {
    return 4 * std::int64_t{rows} + cols;
  }
  [[nodiscard]] __host__ __device__ std::int64_t column_leaves_at() const {
    return 5 * std::int64_t{rows} + 2 * std::int64_t{cols};
  }
  [[nodiscard]] __host__ __device__ std::int64_t large_at() const {
    return 5 * std::int64_t{rows} + 3 * std::int64_t{cols};
  }
  [[nodiscard]] __host__ __device__ std::int64_t inner_at() const {
    return 6 * std::int64_t{rows} + 3 * std::int64_t{cols};
  }
  /// Totals of a section before element k of it.
  [[nodiscard]] __device__ std::int64_t before(std::int64_t section, std::int64_t k) const {
    return sums[section + k] - sums[section];
  }
  [[nodiscard]] __device__ std::int64_t place_of_pair(std::int32_t pair, int row) const {
    return 16 + before(bytes_at(), row) + bytes_before[pair];
  }
};

/// starts of all four lists, a thread for each task.
template <class I> void find_stripe_starts(const device_context& ctx, const sum_stripes<I>& s) {
  std::int64_t tasks = 0;
  for (const auto& of : s.list)
    for (const auto& list : of) tasks += list.task_count;
  for_each(ctx, tasks, "add: stripes", [s] __device__(std::int64_t t) {
    int of = 0;
    for (; t >= s.list[of / 2][of % 2].task_count; ++of) t -= s.list[of / 2][of % 2].task_count;
    const stripe_list<I>& list = s.list[of / 2][of % 2];
    const tree_task<I> task = list.tasks[t];
    const bool last = t + 1 == list.task_count;
    if (!last && task.part > 0) return;
    const int stripes = of % 2 == 0 ? s.rows : s.cols;
    const int own = last ? stripes : static_cast<int>(task.begin >> s.bits);
    const int before = t == 0 ? -1 : static_cast<int>(list.tasks[t - 1].begin >> s.bits);
    for (int at = before + 1; at <= own; ++at)
      s.starts[of / 2][of % 2][at] = static_cast<std::int32_t>(task.first);
  });
}

constexpr int stripe_warps = 4;
/// Blocks across a stripe that are looked at together: a bit each in shared memory, and 2 bytes for
/// 32. 3 KB a warp let a multiprocessor have all the warps that it can.
constexpr int stripe_window = 16 * 1024;

/// Pairs of each stripe, ascending: where each is comes from the bits before its own.
template <class I>
__global__ void __launch_bounds__(32 * stripe_warps) list_pairs_kernel(const sum_stripes<I> s) {
  constexpr int words = stripe_window / 32;
  __shared__ unsigned all_bits[stripe_warps][words];
  __shared__ std::uint16_t all_before[stripe_warps][words];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned* const bits = all_bits[threadIdx.x / 32];
  std::uint16_t* const before = all_before[threadIdx.x / 32];
  const auto stripe = static_cast<int>(thread_index() / 32);
  if (stripe >= s.rows + s.cols) return;
  const bool is_row = s.is_row(stripe);
  const int line = s.line(stripe), by = is_row ? 0 : 1;
  const std::int64_t base = s.base(stripe);
  const std::int32_t first[2] = {s.starts[0][by][line], s.starts[1][by][line]};
  const std::int32_t end[2] = {s.starts[0][by][line + 1], s.starts[1][by][line + 1]};
  int low = 0x7fffffff, high = -1;
#pragma unroll
  for (int of = 0; of < 2; ++of)
    for (std::int32_t k = first[of] + lane; k < end[of]; k += 32) {
      const stripe_list<I>& list = s.list[of][by];
      const int across = list.across(list.leaf(k));
      low = min(low, across);
      high = max(high, across);
    }
  low = -warp_max(-low);
  high = warp_max(high);
  int found = 0;
  for (std::int64_t window = low; window <= high; window += stripe_window) {
    const int used = static_cast<int>(min(std::int64_t{words}, (high - window) / 32 + 1));
    for (int w = lane; w < used; w += 32) bits[w] = 0;
    __syncwarp();
#pragma unroll
    for (int of = 0; of < 2; ++of)
      for (std::int32_t k = first[of] + lane; k < end[of]; k += 32) {
        const stripe_list<I>& list = s.list[of][by];
        const std::int64_t at = list.across(list.leaf(k)) - window;
        if (at >= 0 && at < stripe_window) atomicOr(bits + at / 32, 1u << (at % 32));
      }
    __syncwarp();
    int in_window = 0;
    for (int w0 = 0; w0 < used; w0 += 32) {
      int total;
      const int own = sums_before_lane(w0 + lane < used ? __popc(bits[w0 + lane]) : 0, total);
      if (w0 + lane < used) before[w0 + lane] = static_cast<std::uint16_t>(in_window + own);
      in_window += total;
    }
    __syncwarp();
#pragma unroll
    for (int of = 0; of < 2; ++of)
      for (std::int32_t k = first[of] + lane; k < end[of]; k += 32) {
        const stripe_list<I>& list = s.list[of][by];
        const std::int32_t leaf = list.leaf(k);
        const int across = list.across(leaf);
        const std::int64_t at = across - window;
        if (at < 0 || at >= stripe_window) continue;
        const std::int64_t to =
            base + found + before[at / 32] + __popc(bits[at / 32] & ((1u << (at % 32)) - 1));
        if (is_row) {
          s.pairs[to].row = static_cast<I>(line);
          s.pairs[to].col = static_cast<I>(across);
          (of == 0 ? s.pairs[to].a : s.pairs[to].b) = leaf;
        } else {
          s.crossing[to] = across;
        }
      }
    found += in_window;
    __syncwarp();
  }
  if (lane == 0) s.counts[stripe] = found;
}

/// The first pair of a row at or after this column.
template <class I>
__device__ std::int64_t pair_at_or_after(const sum_stripes<I>& s, int row, std::int64_t col) {
  std::int64_t low = s.base(row), high = low + s.counts[row];
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (s.pairs[middle].col < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Leaves of each stripe by queue, and what the stripe holds.
template <class I>
__global__ void __launch_bounds__(32 * stripe_warps) order_stripes_kernel(const sum_stripes<I> s) {
  __shared__ int all_queues[stripe_warps][64];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned lower = (1u << lane) - 1;
  int* const queues = all_queues[threadIdx.x / 32];
  const auto stripe = static_cast<int>(thread_index() / 32);
  if (stripe >= s.rows + s.cols) return;
  const bool is_row = s.is_row(stripe);
  const int line = s.line(stripe), count = s.counts[stripe];
  const std::int64_t base = s.base(stripe);
  std::int32_t* const order = s.order[is_row ? 0 : 1] + base;
  queues[lane] = queues[32 + lane] = 0;
  __syncwarp();
  constexpr int no_queue = 63;
  std::int64_t entries = 0;
  int large = 0;
  for (int first = 0; first < count; first += 32) {
    const int k = first + lane;
    int queue = no_queue;
    if (k < count) {
      std::int64_t pair = base + k;
      if (!is_row) {
        pair = pair_at_or_after(s, s.crossing[base + k], line);
        s.crossing[base + k] = static_cast<std::int32_t>(pair);
      }
      const sum_leaf leaf = s.leaves[pair];
      queue = leaf.queue;
      entries += leaf.entries;
      large += leaf.is_large() ? 1 : 0;
    }
    const unsigned same = __match_any_sync(whole_warp, queue);
    if ((same & lower) == 0) queues[queue] += __popc(same);
    __syncwarp();
  }
  entries = warp_sum(entries);
  large = __reduce_add_sync(whole_warp, large);
  int total, total_above;
  const int own = sums_before_lane(queues[lane], total);
  const int above = sums_before_lane(queues[32 + lane], total_above);
  __syncwarp();
  queues[lane] = own;
  queues[32 + lane] = total + above;
  __syncwarp();
  for (int first = 0; first < count; first += 32) {
    const int k = first + lane;
    const std::int32_t pair = k >= count ? 0
                              : is_row   ? static_cast<std::int32_t>(base + k)
                                         : s.crossing[base + k];
    const int queue = k < count ? s.leaves[pair].queue : no_queue;
    const unsigned same = __match_any_sync(whole_warp, queue);
    const int at = queues[queue] + __popc(same & lower);
    __syncwarp();
    if ((same & lower) == 0) queues[queue] += __popc(same);
    if (k < count) order[at] = pair;
    __syncwarp();
  }
  std::int64_t bytes = 0;
  if (is_row)
    for (int first = 0; first < count; first += 32) {
      const int k = first + lane;
      const std::int32_t pair = k < count ? order[k] : 0;
      std::int64_t of_window;
      const std::int64_t before =
          sums_before_lane<std::int64_t>(k < count ? s.leaves[pair].bytes : 0, of_window);
      if (k < count) s.bytes_before[pair] = bytes + before;
      bytes += of_window;
    }
  if (lane != 0) return;
  const std::int64_t lines = s.end(stripe) - s.begin(stripe);
  const std::int64_t parts = count == 0 ? 0 : task_parts(entries, lines);
  if (is_row) {
    s.totals[s.leaves_at() + line] = count;
    s.totals[s.bytes_at() + line] = bytes;
    s.totals[s.entries_at() + line] = entries;
    s.totals[s.large_at() + line] = large;
  } else {
    s.totals[s.column_leaves_at() + line] = count;
  }
  s.totals[s.tasks_at() + stripe] = parts;
  s.totals[s.slots_at() + stripe] = parts > 1 ? parts * lines : 0;
  if (count > 0) atomicMax(s.widest + (is_row ? 0 : 1), static_cast<unsigned long long>(lines));
}

} // namespace lacuna::detail::gpu
