// The sum of two block trees on the device whose leaves are all of the lowest level. A row of
// blocks of the sum has the blocks that A or B has there: they are merged stripe by stripe, from
// the lists that are kept with the trees, as are columns of blocks. A warp counts what each block
// will hold; then stripes bring their leaves into the order of the items, one scan gives places to
// leaves, tasks and inner nodes, and everything is written. Some 20 launches, one wait.
//
// What is made is byte by byte what the host makes.
#include <vector>

#include "gpu/add_block_tree.cuh"
#include "gpu/parts/scan.cuh"
#include "op/block_tree_levels.hpp"

namespace lacuna::detail::gpu {
namespace {

using device_numbers = array<std::int32_t, space::device>;

/// Leaves of an operand by rows, or by columns, of the sum.
template <class I> struct stripe_list {
  const tree_item<I>* items;
  const std::int64_t* through; ///< null: items in their order
  const tree_task<I>* tasks;
  std::int64_t task_count; ///< with the last, which ends them
  bool item_columns;       ///< lines are the items' columns
  int bits;

  [[nodiscard]] __device__ std::int32_t item(std::int64_t k) const {
    return static_cast<std::int32_t>(through == nullptr ? k : through[k]);
  }
  /// The block across the stripe.
  [[nodiscard]] __device__ int across(std::int32_t item) const {
    return static_cast<int>((item_columns ? items[item].row : items[item].col) >> bits);
  }
};
template <class T, class I>
stripe_list<I> list_of(const tree_operand<T, I, space::device>& t, bool columns) {
  const bool item_columns = columns != t.transposed;
  const auto tasks = item_columns ? t.a.column_tasks : t.a.row_tasks;
  return {t.a.items.data(), item_columns ? t.a.by_column.data() : nullptr,
          tasks.data(),     tasks.size(),
          item_columns,     t.a.bits};
}

/// What of a sum is known before leaves are counted. Stripe s: a row of blocks, or column s - rows.
template <class I> struct sum_stripes {
  int rows, cols; ///< of blocks
  int bits;
  index<I> extent;
  stripe_list<I> list[2][2];  ///< of A, B; by rows, by columns
  std::int32_t* starts[2][2]; ///< leaves before each stripe, and one more
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
  // columns leaves; bytes of inner nodes.
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
  [[nodiscard]] __host__ __device__ std::int64_t inner_at() const {
    return 5 * std::int64_t{rows} + 3 * std::int64_t{cols};
  }
  /// Totals of a section before element k of it.
  [[nodiscard]] __device__ std::int64_t before(std::int64_t section, std::int64_t k) const {
    return sums[section + k] - sums[section];
  }
  [[nodiscard]] __device__ std::int64_t place_of_pair(std::int32_t pair, int row) const {
    return 16 + before(bytes_at(), row) + bytes_before[pair];
  }
};

/// Inner nodes of one level: a dense grid of places for them.
struct inner_grid {
  std::int64_t rows, cols; ///< of blocks that they have
  std::int64_t first;      ///< among those of all levels
  std::int64_t child_rows, child_cols;
};

template <class Number> __device__ Number sums_before_lane(Number value, Number& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Number sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const Number other = __shfl_up_sync(whole_warp, sum, step);
    if (lane >= step) sum += other;
  }
  total = __shfl_sync(whole_warp, sum, 31);
  return sum - value;
}

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
/// Blocks across a stripe that are looked at together: a bit each in shared memory.
constexpr int stripe_window = 32 * 1024;

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
  const int room = end[0] - first[0] + end[1] - first[1];
  if (is_row)
    for (int k = lane; k < room; k += 32) s.pairs[base + k] = {static_cast<I>(line), 0, -1, -1};
  int low = 0x7fffffff, high = -1;
#pragma unroll
  for (int of = 0; of < 2; ++of)
    for (std::int32_t k = first[of] + lane; k < end[of]; k += 32) {
      const stripe_list<I>& list = s.list[of][by];
      const int across = list.across(list.item(k));
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
        const std::int64_t at = list.across(list.item(k)) - window;
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
        const std::int32_t item = list.item(k);
        const int across = list.across(item);
        const std::int64_t at = across - window;
        if (at < 0 || at >= stripe_window) continue;
        const std::int64_t to =
            base + found + before[at / 32] + __popc(bits[at / 32] & ((1u << (at % 32)) - 1));
        if (is_row) {
          s.pairs[to].col = static_cast<I>(across);
          (of == 0 ? s.pairs[to].a : s.pairs[to].b) = item;
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
  for (int first = 0; first < count; first += 32) {
    const int k = first + lane;
    int queue = no_queue;
    if (k < count) {
      std::int64_t pair = base + k;
      if (!is_row) {
        pair = pair_at_or_after(s, s.crossing[base + k], line);
        s.crossing[base + k] = static_cast<std::int32_t>(pair);
      }
      queue = s.leaves[pair].queue;
      entries += s.leaves[pair].entries;
    }
    const unsigned same = __match_any_sync(whole_warp, queue);
    if ((same & lower) == 0) queues[queue] += __popc(same);
    __syncwarp();
  }
  entries = warp_sum(entries);
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
  } else {
    s.totals[s.column_leaves_at() + line] = count;
  }
  s.totals[s.tasks_at() + stripe] = parts;
  s.totals[s.slots_at() + stripe] = parts > 1 ? parts * lines : 0;
  if (count > 0) atomicMax(s.widest + (is_row ? 0 : 1), static_cast<unsigned long long>(lines));
}

/// Calls f(child's column in the node, k) for the children in one row of an inner node: pairs k, or
/// nodes k of the level below.
template <class I> struct inner_children {
  sum_stripes<I> stripes;
  inner_grid grid, below;
  int level;
  const std::int32_t* counts; ///< children of each node

  template <class F>
  __device__ void in_row(std::int64_t row, std::int64_t col, int at, const F& f) const {
    const std::int64_t child_row = (row << stripes.bits) + at, first = col << stripes.bits;
    if (child_row >= grid.child_rows) return;
    const std::int64_t end = min(first + (std::int64_t{1} << stripes.bits), grid.child_cols);
    if (level > 1) {
      for (std::int64_t c = first; c < end; ++c) {
        const std::int64_t k = below.first + child_row * below.cols + c;
        if (counts[k] > 0) f(static_cast<int>(c - first), k);
      }
      return;
    }
    const auto stripe = static_cast<int>(child_row);
    const std::int64_t last = stripes.base(stripe) + stripes.counts[stripe];
    for (std::int64_t k = pair_at_or_after(stripes, stripe, first);
         k < last && stripes.pairs[k].col < end; ++k)
      f(static_cast<int>(stripes.pairs[k].col - first), k);
  }
  [[nodiscard]] __device__ std::int64_t rows_of(std::int64_t row) const {
    return min(std::int64_t{1} << stripes.bits, grid.child_rows - (row << stripes.bits));
  }
  [[nodiscard]] __device__ std::int64_t cols_of(std::int64_t col) const {
    return min(std::int64_t{1} << stripes.bits, grid.child_cols - (col << stripes.bits));
  }
};

/// The pointer to a node of a level's grid.
template <class I>
__device__ std::uint64_t inner_pointer(const sum_stripes<I>& s, const inner_grid& grid,
                                       const std::int32_t* counts, std::int64_t k) {
  const std::int64_t at = k - grid.first, d = std::int64_t{1} << s.bits;
  const std::int64_t row = at / grid.cols, col = at % grid.cols;
  const tree_node type = smallest_inner(counts[k], min(d, grid.child_rows - row * d),
                                        min(d, grid.child_cols - col * d));
  const std::int64_t place = 16 + s.before(s.bytes_at(), s.rows) + s.before(s.inner_at(), k);
  return tree_pointer(type, place, counts[k]);
}

/// Sums of a block's threads before each; all of them call it.
__device__ inline int sums_before_thread(int value, int& total) {
  __shared__ int of_warps[32];
  int own;
  const int before = sums_before_lane(value, own);
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[warp] = own;
  __syncthreads();
  int below = 0;
  total = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) below += of_warps[w];
    total += of_warps[w];
  }
  return below + before;
}

/// A block for each place of the grid, a thread for each of its rows.
template <class I>
__global__ void count_inner_kernel(const inner_children<I> in, std::int32_t* counts) {
  const std::int64_t row = blockIdx.x / in.grid.cols, col = blockIdx.x % in.grid.cols;
  int own = 0, total;
  in.in_row(row, col, static_cast<int>(threadIdx.x), [&](int, std::int64_t) { ++own; });
  (void)sums_before_thread(own, total);
  if (threadIdx.x != 0) return;
  const std::int64_t k = in.grid.first + blockIdx.x, rows = in.rows_of(row), cols = in.cols_of(col);
  counts[k] = total;
  in.stripes.totals[in.stripes.inner_at() + k] =
      total == 0 ? 0 : inner_bytes(smallest_inner(total, rows, cols), total, rows, cols);
}

template <class I>
__global__ void write_inner_kernel(const inner_children<I> in, const std::uint64_t* nodes,
                                   unsigned char* pool) {
  const std::int64_t row = blockIdx.x / in.grid.cols, col = blockIdx.x % in.grid.cols;
  const std::int64_t k = in.grid.first + blockIdx.x;
  if (in.counts[k] == 0) return;
  const int at = static_cast<int>(threadIdx.x);
  const std::uint64_t node = inner_pointer(in.stripes, in.grid, in.counts, k);
  const bool dense = type_of(node) == tree_node::inner_dense;
  auto* const pointers = reinterpret_cast<std::uint64_t*>(pool + place_of(node));
  const std::int64_t cols = in.cols_of(col);
  const std::int64_t bytes = inner_bytes(type_of(node), in.counts[k], in.rows_of(row), cols);
  auto* const units = reinterpret_cast<uint4*>(pointers);
  for (std::int64_t i = dense ? at : bytes / 16 - 1 + at; i < bytes / 16; i += blockDim.x)
    units[i] = {0, 0, 0, 0};
  int own = 0, total;
  in.in_row(row, col, at, [&](int, std::int64_t) { ++own; });
  int to = sums_before_thread(own, total); // waits for the zeros, too
  auto* const coordinates = reinterpret_cast<std::uint16_t*>(pointers + total);
  in.in_row(row, col, at, [&](int c, std::int64_t child) {
    const std::uint64_t pointer =
        in.level == 1 ? nodes[child] : inner_pointer(in.stripes, in.below, in.counts, child);
    if (dense) {
      pointers[at * cols + c] = pointer;
    } else {
      pointers[to] = pointer;
      coordinates[to++] = static_cast<std::uint16_t>(at << 8 | c);
    }
  });
}

/// The tasks of a stripe, by a warp.
template <class I>
__device__ void write_stripe_tasks(const sum_stripes<I>& s, int stripe, std::int64_t first,
                                   const std::int32_t* order, tree_task<I>* tasks) {
  const int lane = static_cast<int>(threadIdx.x) % 32, count = s.counts[stripe];
  // Tasks and slots of columns are behind those of rows.
  const std::int64_t section = s.is_row(stripe) ? 0 : s.rows;
  const auto before = [&](std::int64_t at) { return s.sums[at + stripe] - s.sums[at + section]; };
  const auto parts =
      static_cast<std::int32_t>(s.sums[s.tasks_at() + stripe + 1] - s.sums[s.tasks_at() + stripe]);
  const auto begin = static_cast<I>(s.begin(stripe)), end = static_cast<I>(s.end(stripe));
  tree_task<I>* const to = tasks + before(s.tasks_at());
  const std::int64_t slot = before(s.slots_at());
  if (parts == 1 && lane == 0) to[0] = {first, slot, begin, end, 0, 1};
  if (parts < 2) return;
  std::int64_t total = 0;
  for (int k = lane; k < count; k += 32) total += s.leaves[order[k]].entries;
  total = warp_sum(total);
  const std::int64_t step = total / parts;
  std::int64_t entries = 0, last = 0; // before the window, before its first's neighbour
  for (int from = 0; from <= count; from += 32) {
    const int k = from + lane;
    std::int64_t of_window;
    const std::int64_t own = entries + sums_before_lane<std::int64_t>(
                                           k < count ? s.leaves[order[k]].entries : 0, of_window);
    std::int64_t before_own = __shfl_up_sync(whole_warp, own, 1);
    if (lane == 0) before_own = last;
    if (k <= count)
      for (std::int64_t part = k == 0 ? 0 : before_own / step + 1;
           part <= min(own / step, std::int64_t{parts} - 1); ++part)
        to[part] = {first + k, slot + part * (end - begin),     begin,
                    end,       static_cast<std::int32_t>(part), parts};
    last = __shfl_sync(whole_warp, own, 31);
    entries += of_window;
  }
}

template <class I> struct sum_lists {
  tree_item<I>* items;
  std::int64_t* by_column;
  tree_task<I>* tasks[2];
  std::int32_t* numbers; ///< of pairs: their items
  std::uint64_t* nodes;  ///< of pairs
};

/// Items and tasks; columns after rows.
template <class I>
__global__ void __launch_bounds__(32 * stripe_warps)
    write_lists_kernel(const sum_stripes<I> s, const sum_lists<I> to, bool columns) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t at = thread_index() / 32;
  if (at >= (columns ? s.cols : s.rows)) return;
  const auto line = static_cast<int>(at);
  const int stripe = columns ? s.rows + line : line, count = s.counts[stripe];
  const std::int32_t* const order = s.order[columns ? 1 : 0] + s.base(stripe);
  const std::int64_t first = s.before(columns ? s.column_leaves_at() : s.leaves_at(), line);
  for (int k = lane; k < count; k += 32) {
    const std::int32_t pair = order[k];
    if (columns) {
      to.by_column[first + k] = to.numbers[pair];
      continue;
    }
    const sum_leaf leaf = s.leaves[pair];
    const std::uint64_t node = tree_pointer(leaf.type, s.place_of_pair(pair, line), leaf.entries);
    to.items[first + k] = {node, static_cast<I>(s.begin(stripe)),
                           static_cast<I>(std::int64_t{s.pairs[pair].col} << s.bits)};
    to.numbers[pair] = static_cast<std::int32_t>(first + k);
    to.nodes[pair] = node;
  }
  write_stripe_tasks(s, stripe, first, order, to.tasks[columns ? 1 : 0]);
  if (line != 0 || lane != 0) return;
  const std::int64_t from = columns ? s.rows : 0, end = from + (columns ? s.cols : s.rows);
  const I lines = columns ? s.extent.col : s.extent.row;
  const auto all = [&](std::int64_t section) {
    return s.sums[section + end] - s.sums[section + from];
  };
  to.tasks[columns ? 1 : 0][all(s.tasks_at())] = {
      s.before(s.leaves_at(), s.rows), all(s.slots_at()), lines, lines, 0, 1};
}

/// What the host must know before results are allocated.
struct sum_needs {
  unsigned long long widest[2];
  std::int64_t leaves, entries, tasks[2], slots[2], pool_bytes;
  std::uint64_t root;
};

} // namespace

/// Whether all leaves lie in one row and one column of blocks, and blocks are of a size whose flat
/// leaves have coordinates of two bytes at least.
template <class T, class I>
bool has_lowest_leaves(const tree_arrays<const T, I, space::device>& a) {
  const std::int64_t d = std::int64_t{1} << a.bits;
  return a.bits >= 5 && a.items.size() > 0 && a.row_sums.widest <= d && a.column_sums.widest <= d;
}

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::device>>
add_trees(const device_context& ctx, const tree_operand<T, I, space::device>& a,
          const tree_operand<T, I, space::device>& b) {
  const device_guard guard(ctx.device());
  if (!has_lowest_leaves(a.a) || !has_lowest_leaves(b.a)) return nullptr;
  const int bits = a.a.bits;
  const index<I> extent{static_cast<I>(a.rows()), static_cast<I>(a.cols())};
  const int levels = level_count(bits, extent.row, extent.col);
  const std::int64_t room = a.a.items.size() + b.a.items.size();
  const auto blocks_of = [&](std::int64_t lines, int level) {
    return shifted(lines - 1, bits * (level + 1)) + 1;
  };
  std::vector<inner_grid> grids; // of level 1, 2, …
  std::int64_t inner = 0;
  const std::int64_t most = 64 * room + 65536; // empty rows of blocks cost as much as leaves
  for (int level = 1; level < levels; ++level) {
    const std::int64_t rows = blocks_of(extent.row, level), cols = blocks_of(extent.col, level);
    if (rows > most || cols > most || rows * cols > most) return nullptr;
    grids.push_back(
        {rows, cols, inner, blocks_of(extent.row, level - 1), blocks_of(extent.col, level - 1)});
    inner += rows * cols;
  }
  const std::int64_t rows = blocks_of(extent.row, 0), cols = blocks_of(extent.col, 0);
  if (rows + cols > most || most > 0x7fffffff || room > 0x3fffffff) return nullptr;

  const auto stripes = rows + cols;
  device_numbers starts(ctx, 2 * (stripes + 2)), counts(ctx, stripes), crossing(ctx, room),
      order(ctx, 2 * room), numbers(ctx, room), children(ctx, inner);
  array<leaf_pair<I>, space::device> pairs(ctx, room);
  array<sum_leaf, space::device> leaves(ctx, room);
  array<std::int64_t, space::device> bytes_before(ctx, room);
  array<std::uint64_t, space::device> nodes(ctx, room);
  array<sum_needs, space::device> needs(ctx, 1);
  sum_stripes<I> s{};
  s.rows = static_cast<int>(rows);
  s.cols = static_cast<int>(cols);
  s.bits = bits;
  s.extent = extent;
  const tree_operand<T, I, space::device>* const operands[2] = {&a, &b};
  for (int of = 0; of < 2; ++of)
    for (int by = 0; by < 2; ++by) {
      s.list[of][by] = list_of(*operands[of], by == 1);
      s.starts[of][by] = starts.data() + of * (stripes + 2) + by * (rows + 1);
    }
  s.counts = counts.data();
  s.pairs = pairs.data();
  s.crossing = crossing.data();
  s.leaves = leaves.data();
  s.order[0] = order.data();
  s.order[1] = order.data() + room;
  s.bytes_before = bytes_before.data();
  array<std::int64_t, space::device> totals(ctx, s.inner_at() + inner),
      sums(ctx, s.inner_at() + inner + 1);
  s.totals = totals.data();
  s.sums = sums.data();
  s.widest = needs.data()->widest;
  check(cudaMemsetAsync(needs.data(), 0, needs.bytes(), ctx.stream()), "add: memset");

  const auto stripe_blocks = [](std::int64_t count) {
    return static_cast<unsigned>((count + stripe_warps - 1) / stripe_warps);
  };
  find_stripe_starts(ctx, s);
  list_pairs_kernel<<<stripe_blocks(stripes), 32 * stripe_warps, 0, ctx.stream()>>>(s);
  check_launch("list_pairs_kernel");
  const sum_leaves<T, I> sum{a, b, extent, pairs.data(), leaves.data(), room};
  count_sum_leaves(ctx, sum);
  order_stripes_kernel<<<stripe_blocks(stripes), 32 * stripe_warps, 0, ctx.stream()>>>(s);
  check_launch("order_stripes_kernel");
  const auto children_of = [&](int level) {
    const auto own = static_cast<std::size_t>(level - 1);
    return inner_children<I>{s, grids[own], level > 1 ? grids[own - 1] : inner_grid{}, level,
                             children.data()};
  };
  const auto grid_blocks = [&](int level) {
    const inner_grid& grid = grids[static_cast<std::size_t>(level - 1)];
    return static_cast<unsigned>(grid.rows * grid.cols);
  };
  for (int level = 1; level < levels; ++level) {
    count_inner_kernel<<<grid_blocks(level), 1 << bits, 0, ctx.stream()>>>(children_of(level),
                                                                           children.data());
    check_launch("count_inner_kernel");
  }
  exclusive_sums(ctx, totals.size(), totals.data(), sums.data());
  const inner_grid top = grids.empty() ? inner_grid{} : grids.back();
  for_each(ctx, 1, "add: needs",
           [s, top, levels, inner, needs = needs.data(),
            children = children.data()] __device__(std::int64_t) {
             needs->leaves = s.before(s.leaves_at(), s.rows);
             needs->entries = s.before(s.entries_at(), s.rows);
             needs->tasks[0] = s.before(s.tasks_at(), s.rows);
             needs->tasks[1] = s.before(s.tasks_at() + s.rows, s.cols);
             needs->slots[0] = s.before(s.slots_at(), s.rows);
             needs->slots[1] = s.before(s.slots_at() + s.rows, s.cols);
             needs->pool_bytes =
                 16 + s.before(s.bytes_at(), s.rows) + s.before(s.inner_at(), inner);
             if (levels > 1) {
               needs->root = inner_pointer(s, top, children, top.first);
             } else {
               const sum_leaf leaf = s.leaves[0];
               needs->root = tree_pointer(leaf.type, 16, leaf.entries);
             }
           });
  sum_needs need{};
  read_back(ctx, &need, needs.data(), 1);

  auto result = std::make_shared<tree_content<T, I, space::device>>();
  auto& t = *result;
  t.extent = extent;
  t.nnz = t.entries = need.entries;
  t.bits = bits;
  t.levels = levels;
  t.root = need.root;
  t.pool = array<tree_unit, space::device>(ctx, need.pool_bytes / 16);
  t.items = array<tree_item<I>, space::device>(ctx, need.leaves);
  t.by_column = array<std::int64_t, space::device>(ctx, need.leaves);
  t.row_tasks = array<tree_task<I>, space::device>(ctx, need.tasks[0] + 1);
  t.column_tasks = array<tree_task<I>, space::device>(ctx, need.tasks[1] + 1);
  t.row_sums = {static_cast<std::int64_t>(need.widest[0]), need.slots[0]};
  t.column_sums = {static_cast<std::int64_t>(need.widest[1]), need.slots[1]};
  auto* const pool = reinterpret_cast<unsigned char*>(t.pool.data());
  check(cudaMemsetAsync(pool, 0, 16, ctx.stream()), "add: memset");
  const sum_lists<I> lists{t.items.data(),
                           t.by_column.data(),
                           {t.row_tasks.data(), t.column_tasks.data()},
                           numbers.data(),
                           nodes.data()};
  for (const bool columns : {false, true}) {
    write_lists_kernel<<<stripe_blocks(columns ? cols : rows), 32 * stripe_warps, 0,
                         ctx.stream()>>>(s, lists, columns);
    check_launch("write_lists_kernel");
  }
  fill_sum_leaves(ctx, sum, nodes.data(), pool);
  for (int level = 1; level < levels; ++level) {
    write_inner_kernel<<<grid_blocks(level), 1 << bits, 0, ctx.stream()>>>(children_of(level),
                                                                           nodes.data(), pool);
    check_launch("write_inner_kernel");
  }
  return result;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::device>> add_trees<T, I>(                     \
      const device_context&, const tree_operand<T, I, space::device>&,                             \
      const tree_operand<T, I, space::device>&);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
