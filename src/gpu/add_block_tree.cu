// The sum of two block trees on the device whose leaves are all of the lowest level; some flat ones
// are cut first (cut_block_tree.cu). A row of blocks of the sum has the blocks that A or B has
// there: they are merged stripe by stripe, from the lists that are kept with the trees, as are
// columns of blocks. Warps count what each block will hold; then stripes bring their leaves into
// the order of the items, one scan gives places to leaves, tasks and inner nodes, and everything is
// written. Some 20 launches, one wait.
//
// What is made is byte by byte what the host makes, unless leaves were cut.
#include <vector>

#include "gpu/add_block_tree_stripes.cuh"
#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {
namespace {

using device_numbers = array<std::int32_t, space::device>;

/// Inner nodes of one level: a dense grid of places for them.
struct inner_grid {
  std::int64_t rows, cols; ///< of blocks that they have
  std::int64_t first;      ///< among those of all levels
  std::int64_t child_rows, child_cols;
};

/// Calls f(child's column in the node, k) for the children in one row of an inner node: pairs k, or
/// nodes k of the level below.
template <class I> struct inner_children {
  sum_stripes<I> stripes;
  inner_grid grid, below;
  int level;
  const std::int32_t* counts; ///< children of each node

  [[nodiscard]] __device__ std::int64_t row_of(std::int64_t row, int at) const {
    return (row << stripes.bits) + at;
  }
  [[nodiscard]] __device__ std::int64_t col_of(std::int64_t col, int at) const {
    return (col << stripes.bits) + at;
  }
  /// What in_row goes on from.
  [[nodiscard]] __device__ std::int64_t first_in_row(std::int64_t row, std::int64_t col,
                                                     int at) const {
    const std::int64_t child_row = row_of(row, at);
    if (child_row >= grid.child_rows) return 0;
    return level > 1 ? below.first + child_row * below.cols + col_of(col, 0)
                     : pair_at_or_after(stripes, static_cast<int>(child_row), col_of(col, 0));
  }
  template <class F>
  __device__ void in_row(std::int64_t row, std::int64_t col, int at, std::int64_t first,
                         const F& f) const {
    const std::int64_t child_row = row_of(row, at);
    if (child_row >= grid.child_rows) return;
    if (level > 1) {
      const auto cols = static_cast<int>(cols_of(col));
      for (int c = 0; c < cols; c += 16) {
        unsigned has = 0; // all loaded before the first is used
#pragma unroll
        for (int u = 0; u < 16; ++u)
          if (c + u < cols && counts[first + c + u] > 0) has |= 1u << u;
        for (; has != 0; has &= has - 1) {
          const int child = c + __ffs(static_cast<int>(has)) - 1;
          f(child, first + child);
        }
      }
      return;
    }
    const auto stripe = static_cast<int>(child_row);
    const std::int64_t last = stripes.base(stripe) + stripes.counts[stripe];
    const std::int64_t begin = col_of(col, 0), end = begin + cols_of(col);
    for (std::int64_t k = first; k < last && stripes.pairs[k].col < end; ++k)
      f(static_cast<int>(stripes.pairs[k].col - begin), k);
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
                                       const std::int32_t* counts, std::int64_t row,
                                       std::int64_t col) {
  const std::int64_t k = grid.first + row * grid.cols + col, d = std::int64_t{1} << s.bits;
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
  const auto grid_cols = static_cast<unsigned>(in.grid.cols);
  const std::int64_t row = blockIdx.x / grid_cols, col = blockIdx.x % grid_cols;
  const int at = static_cast<int>(threadIdx.x);
  int own = 0, total;
  in.in_row(row, col, at, in.first_in_row(row, col, at), [&](int, std::int64_t) { ++own; });
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
  const auto grid_cols = static_cast<unsigned>(in.grid.cols);
  const std::int64_t row = blockIdx.x / grid_cols, col = blockIdx.x % grid_cols;
  const std::int64_t k = in.grid.first + blockIdx.x;
  if (in.counts[k] == 0) return;
  const int at = static_cast<int>(threadIdx.x);
  const std::uint64_t node = inner_pointer(in.stripes, in.grid, in.counts, row, col);
  const bool dense = type_of(node) == tree_node::inner_dense;
  auto* const pointers = reinterpret_cast<std::uint64_t*>(pool + place_of(node));
  const std::int64_t cols = in.cols_of(col);
  const std::int64_t bytes = inner_bytes(type_of(node), in.counts[k], in.rows_of(row), cols);
  auto* const units = reinterpret_cast<uint4*>(pointers);
  for (std::int64_t i = dense ? at : bytes / 16 - 1 + at; i < bytes / 16; i += blockDim.x)
    units[i] = {0, 0, 0, 0};
  int own = 0, total;
  const std::int64_t first = in.first_in_row(row, col, at);
  in.in_row(row, col, at, first, [&](int, std::int64_t) { ++own; });
  int to = sums_before_thread(own, total); // waits for the zeros, too
  auto* const coordinates = reinterpret_cast<std::uint16_t*>(pointers + total);
  in.in_row(row, col, at, first, [&](int c, std::int64_t child) {
    const std::uint64_t pointer =
        in.level == 1
            ? nodes[child]
            : inner_pointer(in.stripes, in.below, in.counts, in.row_of(row, at), in.col_of(col, c));
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
  std::int32_t* pairs;   ///< those of small leaves, then those of large ones
};

/// The leaves of a row of blocks, by a warp.
template <class I>
__device__ void write_stripe_leaves(const sum_stripes<I>& s, int line, std::int64_t first,
                                    const std::int32_t* order, const sum_lists<I>& to) {
  const int lane = static_cast<int>(threadIdx.x) % 32, count = s.counts[line];
  const std::int64_t all_large = s.before(s.large_at(), s.rows);
  std::int64_t large = s.before(s.large_at(), line), small = first - large;
  large += s.before(s.leaves_at(), s.rows) - all_large;
  for (int from = 0; from < count; from += 32) {
    const int k = from + lane;
    const std::int32_t pair = k < count ? order[k] : 0;
    const sum_leaf leaf = s.leaves[pair];
    const unsigned larges = __ballot_sync(whole_warp, k < count && leaf.is_large());
    if (k < count) {
      const std::uint64_t node = tree_pointer(leaf.type, s.place_of_pair(pair, line), leaf.entries);
      to.items[first + k] = {node, static_cast<I>(s.begin(line)),
                             static_cast<I>(std::int64_t{s.pairs[pair].col} << s.bits)};
      to.numbers[pair] = static_cast<std::int32_t>(first + k);
      to.nodes[pair] = node;
      const int before = __popc(larges & ((1u << lane) - 1));
      to.pairs[leaf.is_large() ? large + before : small + lane - before] = pair;
    }
    large += __popc(larges);
    small += 32 - __popc(larges);
  }
}

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
  if (columns)
    for (int k = lane; k < count; k += 32) to.by_column[first + k] = to.numbers[order[k]];
  else
    write_stripe_leaves(s, line, first, order, to);
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
  std::int64_t leaves, large_leaves, entries, tasks[2], slots[2], pool_bytes;
  std::uint64_t root;
};

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::device>>
add_trees(const device_context& ctx, const tree_operand<T, I, space::device>& a,
          const tree_operand<T, I, space::device>& b) {
  const device_guard guard(ctx.device());
  // With blocks of 16 a flat leaf looks as one of the lowest level.
  const std::int64_t fewest = std::min(a.a.items.size(), b.a.items.size()),
                     items = std::max(a.a.items.size(), b.a.items.size());
  if (a.a.bits < 5 || fewest == 0 || items > most_sum_leaves) return nullptr;
  const bool is_twice = a.a.pool.data() == b.a.pool.data();
  cut_leaves<I> cuts[2];
  if (!has_lowest_leaves(a.a) && !cut_flat_leaves<T, I>(ctx, a.a, cuts[0])) return nullptr;
  if (!is_twice && !has_lowest_leaves(b.a) && !cut_flat_leaves<T, I>(ctx, b.a, cuts[1]))
    return nullptr;
  cut_leaves<I>* const cut[2] = {&cuts[0], is_twice ? &cuts[0] : &cuts[1]};
  const int bits = a.a.bits;
  const index<I> extent{static_cast<I>(a.rows()), static_cast<I>(a.cols())};
  const int levels = level_count(bits, extent.row, extent.col);
  const std::int64_t room =
      a.a.items.size() + cut[0]->pieces.size() + b.a.items.size() + cut[1]->pieces.size();
  const auto blocks_of = [&](std::int64_t lines, int level) {
    return shifted(lines - 1, bits * (level + 1)) + 1;
  };
  std::vector<inner_grid> grids; // of level 1, 2, …
  std::int64_t inner = 0;
  // Empty rows of blocks cost as much as leaves; 2^27 places of inner nodes take 3 GB.
  const std::int64_t most = std::min<std::int64_t>(64 * room + 65536, std::int64_t{1} << 27);
  for (int level = 1; level < levels; ++level) {
    const std::int64_t rows = blocks_of(extent.row, level), cols = blocks_of(extent.col, level);
    if (rows > most || cols > most || rows * cols > most) return nullptr;
    grids.push_back(
        {rows, cols, inner, blocks_of(extent.row, level - 1), blocks_of(extent.col, level - 1)});
    inner += rows * cols;
  }
  const std::int64_t rows = blocks_of(extent.row, 0), cols = blocks_of(extent.col, 0);
  if (rows + cols > most || room > most_sum_leaves) return nullptr;

  const auto stripes = rows + cols;
  device_numbers starts(ctx, 2 * (stripes + 2)), counts(ctx, stripes), crossing(ctx, room),
      order(ctx, 2 * room), numbers(ctx, room), work(ctx, room), children(ctx, inner);
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
      const stripe_list<I>& list = s.list[of][by] = list_of(*operands[of], *cut[of], by == 1);
      s.starts[of][by] = list.task_count > 0 ? starts.data() + of * (stripes + 2) + by * (rows + 1)
                                             : cut[of]->starts[list.item_columns].data();
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
  check(cudaMemsetAsync(pairs.data(), 0xff, pairs.bytes(), ctx.stream()), "add: memset"); // none

  const auto stripe_blocks = [](std::int64_t count) {
    return static_cast<unsigned>((count + stripe_warps - 1) / stripe_warps);
  };
  find_stripe_starts(ctx, s);
  list_pairs_kernel<<<stripe_blocks(stripes), 32 * stripe_warps, 0, ctx.stream()>>>(s);
  check_launch("list_pairs_kernel");
  const auto leaves_of = [&](int of) {
    return sum_operand<T, I>{*operands[of], operands[of]->a.items.size(), cut[of]->pieces.data(),
                             reinterpret_cast<const unsigned char*>(cut[of]->pool.data())};
  };
  const sum_leaves<T, I> sum{
      {leaves_of(0), leaves_of(1)}, extent, pairs.data(), leaves.data(), room};
  count_sum_leaves(ctx, sum, (a.a.nnz + b.a.nnz) / room > most_small_entries / 2);
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
             needs->large_leaves = s.before(s.large_at(), s.rows);
             needs->entries = s.before(s.entries_at(), s.rows);
             needs->tasks[0] = s.before(s.tasks_at(), s.rows);
             needs->tasks[1] = s.before(s.tasks_at() + s.rows, s.cols);
             needs->slots[0] = s.before(s.slots_at(), s.rows);
             needs->slots[1] = s.before(s.slots_at() + s.rows, s.cols);
             needs->pool_bytes =
                 16 + s.before(s.bytes_at(), s.rows) + s.before(s.inner_at(), inner);
             if (levels > 1) {
               needs->root = inner_pointer(s, top, children, 0, 0);
             } else {
               const sum_leaf leaf = s.leaves[0];
               needs->root = tree_pointer(leaf.type, 16, leaf.entries);
             }
           });
  sum_needs need{};
  read_back(ctx, &need, needs.data(), 1);

  auto result = std::make_shared<tree_content<T, I, space::device>>();
  auto& t = *result;
  t.work = std::make_shared<kept_tree_work<space::device>>(ctx);
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
  const sum_lists<I> lists{
      t.items.data(), t.by_column.data(), {t.row_tasks.data(), t.column_tasks.data()},
      numbers.data(), nodes.data(),       work.data()};
  for (const bool columns : {false, true}) {
    write_lists_kernel<<<stripe_blocks(columns ? cols : rows), 32 * stripe_warps, 0,
                         ctx.stream()>>>(s, lists, columns);
    check_launch("write_lists_kernel");
  }
  const std::int64_t small_leaves = need.leaves - need.large_leaves;
  fill_sum_leaves(ctx, sum, false, work.data(), small_leaves, nodes.data(), pool);
  fill_sum_leaves(ctx, sum, true, work.data() + small_leaves, need.large_leaves, nodes.data(),
                  pool);
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
