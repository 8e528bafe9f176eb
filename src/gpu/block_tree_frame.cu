// Inner nodes and lists of a block tree, from its leaves, on the device. Leaves are brought into
// order by stable radix sorts; stripes are found by running maxima of how far leaves reach.
#include "gpu/block_tree_frame.cuh"

#include <vector>

namespace lacuna::detail::gpu {
namespace {

/// Of queue_of().
constexpr int queue_bits = 6;
static_assert(3 * tree_node_types <= 1 << queue_bits);

/// Leaves whose lines meet, in an order by lines.
struct device_stripes {
  array<std::uint32_t, space::device> of;        ///< each leaf's
  array<std::int64_t, space::device> first;      ///< how many leaves are before
  array<std::int64_t, space::device> begin, end; ///< lines
  array<std::int64_t, space::device> groups;     ///< its last: their number
};

template <class I>
device_stripes find_device_stripes(const device_context& ctx, const device_leaf<I>* leaves,
                                   const positions& order, int bits, std::int64_t lines,
                                   bool columns) {
  const std::int64_t n = order.size();
  const auto line = [=, order = order.data()] __device__(std::int64_t k) {
    const device_leaf<I>& leaf = leaves[order[k]];
    return std::int64_t{columns ? leaf.col : leaf.row};
  };
  array<std::int64_t, space::device> reach(ctx, n), most(ctx, n);
  for_each(ctx, n, "block_tree: reach",
           [=, order = order.data(), reach = reach.data()] __device__(std::int64_t k) {
             reach[k] = line(k) + min(block_extent(bits, leaves[order[k]].level), lines - line(k));
           });
  running_maxima(ctx, n, reach.data(), most.data());
  device_stripes s{
      array<std::uint32_t, space::device>(ctx, n), array<std::int64_t, space::device>(ctx, n + 1),
      array<std::int64_t, space::device>(ctx, n), array<std::int64_t, space::device>(ctx, n),
      number_groups(ctx, n, [line, most = most.data()] __device__(std::int64_t k) {
        return line(k) >= most[k - 1];
      })};
  for_each(ctx, n, "block_tree: stripes",
           [=, order = order.data(), most = most.data(), groups = s.groups.data(), of = s.of.data(),
            first = s.first.data(), begin = s.begin.data(),
            end = s.end.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1;
             of[order[k]] = static_cast<std::uint32_t>(own);
             if (groups[k] == own) {
               first[own] = k;
               begin[own] = line(k);
             }
             if (k + 1 == n) first[own + 1] = n;
             if (k + 1 == n || groups[k + 2] != own + 1) end[own] = most[k];
           });
  return s;
}

/// Stripes with their leaves in the order of the list, cut into tasks.
struct device_tasks {
  array<std::int64_t, space::device> entries; ///< of leaves before each
  array<std::int64_t, space::device> before;  ///< tasks of stripes before each
  array<std::int64_t, space::device> slots;   ///< likewise lines of tasks that share theirs
};

template <class I>
device_tasks cut_tasks(const device_context& ctx, const device_leaf<I>* leaves,
                       const positions& order, const device_stripes& s,
                       unsigned long long* widest) {
  const std::int64_t n = order.size();
  device_tasks t;
  t.entries = sums_before(ctx, n, [=, order = order.data()] __device__(std::int64_t k) {
    return leaves[order[k]].entries;
  });
  const auto parts = [n, entries = t.entries.data(), first = s.first.data(), begin = s.begin.data(),
                      end = s.end.data(),
                      groups = s.groups.data()] __device__(std::int64_t stripe) {
    if (stripe >= groups[n]) return std::int64_t{0};
    return std::int64_t{task_parts(entries[first[stripe + 1]] - entries[first[stripe]],
                                   end[stripe] - begin[stripe])};
  };
  t.before = sums_before(ctx, n, parts);
  t.slots = sums_before(
      ctx, n, [=, begin = s.begin.data(), end = s.end.data()] __device__(std::int64_t stripe) {
        const std::int64_t count = parts(stripe);
        if (count == 0) return std::int64_t{0};
        atomicMax(widest, static_cast<unsigned long long>(end[stripe] - begin[stripe]));
        return count > 1 ? count * (end[stripe] - begin[stripe]) : 0;
      });
  return t;
}

template <class I>
void write_tasks(const device_context& ctx, const device_stripes& s, const device_tasks& t,
                 std::int64_t lines, array<tree_task<I>, space::device>& tasks) {
  const std::int64_t n = s.of.size(), count = tasks.size() - 1;
  for_each(ctx, n, "block_tree: tasks",
           [n, lines, count, entries = t.entries.data(), before = t.before.data(),
            slots = t.slots.data(), first = s.first.data(), begin = s.begin.data(),
            end = s.end.data(), tasks = tasks.data()] __device__(std::int64_t stripe) {
             if (stripe == 0)
               tasks[count] = {n, slots[n], static_cast<I>(lines), static_cast<I>(lines), 0, 1};
             const auto parts = static_cast<std::int32_t>(before[stripe + 1] - before[stripe]);
             if (parts == 0) return;
             const std::int64_t low = first[stripe], leaves = first[stripe + 1] - low;
             const std::int64_t total = entries[low + leaves] - entries[low];
             const std::int64_t height = end[stripe] - begin[stripe];
             for (std::int32_t part = 0; part < parts; ++part)
               tasks[before[stripe] + part] = {
                   low + lower_bound(entries + low, leaves, entries[low] + total / parts * part),
                   slots[stripe] + (parts > 1 ? part * height : 0),
                   static_cast<I>(begin[stripe]),
                   static_cast<I>(end[stripe]),
                   part,
                   parts};
           });
}

/// Inner nodes of one level: their children, by parents, then by rows.
template <class I> struct device_inner {
  array<I, space::device> row, col; ///< the children's, in blocks of their level
  array<std::uint64_t, space::device> child;
  positions order;
  array<std::int64_t, space::device> groups;
  array<std::int64_t, space::device> first; ///< child of each node, and one more
  array<I, space::device> node_row, node_col;
  array<std::uint64_t, space::device> node;
  [[nodiscard]] std::int64_t size() const { return node.size(); }
};

/// Places of a level that has so many rows or columns of blocks: d, or what is left.
__host__ __device__ inline std::int64_t places_of(int bits, std::int64_t blocks,
                                                  std::int64_t parent) {
  const std::int64_t d = std::int64_t{1} << bits;
  return min(d, blocks - parent * d);
}

/// below: null at level 1. cursors[level]: where the pool's nodes of this level end.
template <class I>
device_inner<I> make_inner(const device_context& ctx, index<I> extent, int bits, int level,
                           const device_leaf<I>* leaves, const std::uint64_t* leaf_nodes,
                           std::int64_t leaf_count, std::int64_t node_count,
                           const device_inner<I>* below, std::int64_t* cursors) {
  const std::int64_t from_below = below == nullptr ? 0 : below->size();
  const std::int64_t n = from_below + leaf_count;
  device_inner<I> made{array<I, space::device>(ctx, n),
                       array<I, space::device>(ctx, n),
                       array<std::uint64_t, space::device>(ctx, n),
                       count_up(ctx, n),
                       {},
                       array<std::int64_t, space::device>(ctx, node_count + 1),
                       array<I, space::device>(ctx, node_count),
                       array<I, space::device>(ctx, node_count),
                       array<std::uint64_t, space::device>(ctx, node_count)};
  I* const row = made.row.data();
  I* const col = made.col.data();
  const int shift = bits * level;
  for_each(ctx, from_below, "block_tree: children",
           [row, col, child = made.child.data(),
            below_row = from_below > 0 ? below->node_row.data() : nullptr,
            below_col = from_below > 0 ? below->node_col.data() : nullptr,
            node = from_below > 0 ? below->node.data() : nullptr] __device__(std::int64_t k) {
             row[k] = below_row[k];
             col[k] = below_col[k];
             child[k] = node[k];
           });
  for_each(ctx, leaf_count, "block_tree: children",
           [=, child = made.child.data()] __device__(std::int64_t k) {
             row[from_below + k] = static_cast<I>(shifted(leaves[k].row, shift));
             col[from_below + k] = static_cast<I>(shifted(leaves[k].col, shift));
             child[from_below + k] = leaf_nodes[k];
           });
  const std::int64_t block_rows = shifted(std::int64_t{extent.row} - 1, shift) + 1;
  const std::int64_t block_cols = shifted(std::int64_t{extent.col} - 1, shift) + 1;
  const auto own_row = [row] __device__(std::int64_t k) { return row[k]; };
  const auto own_col = [col] __device__(std::int64_t k) { return col[k]; };
  const auto parent_row = [row, bits] __device__(std::int64_t k) { return row[k] >> bits; };
  const auto parent_col = [col, bits] __device__(std::int64_t k) { return col[k] >> bits; };
  // Both lists are by rows, each for itself; then children of a parent are by rows, too.
  if (from_below > 0 && leaf_count > 0)
    reorder_by_place(ctx, made.order, bits_up_to(block_rows - 1), own_row,
                     bits_up_to(block_cols - 1), own_col);
  reorder_by_place(ctx, made.order, bits_up_to((block_rows - 1) >> bits), parent_row,
                   bits_up_to((block_cols - 1) >> bits), parent_col);
  made.groups = number_groups(ctx, n, [=, order = made.order.data()] __device__(std::int64_t k) {
    return parent_row(order[k]) != parent_row(order[k - 1]) ||
           parent_col(order[k]) != parent_col(order[k - 1]);
  });
  for_each(ctx, n, "block_tree: inner nodes",
           [=, order = made.order.data(), groups = made.groups.data(), first = made.first.data(),
            node_row = made.node_row.data(),
            node_col = made.node_col.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1;
             if (k + 1 == n) first[own + 1] = n;
             if (groups[k] != own) return;
             first[own] = k;
             node_row[own] = static_cast<I>(parent_row(order[k]));
             node_col[own] = static_cast<I>(parent_col(order[k]));
           });
  const auto rows_of = [=, node_row = made.node_row.data()] __device__(std::int64_t k) {
    return places_of(bits, block_rows, node_row[k]);
  };
  const auto cols_of = [=, node_col = made.node_col.data()] __device__(std::int64_t k) {
    return places_of(bits, block_cols, node_col[k]);
  };
  const auto before =
      sums_before(ctx, node_count, [=, first = made.first.data()] __device__(std::int64_t k) {
        const std::int64_t count = first[k + 1] - first[k];
        return inner_bytes(smallest_inner(count, rows_of(k), cols_of(k)), count, rows_of(k),
                           cols_of(k));
      });
  for_each(ctx, node_count, "block_tree: inner nodes",
           [=, first = made.first.data(), node = made.node.data(),
            before = before.data()] __device__(std::int64_t k) {
             const std::int64_t count = first[k + 1] - first[k];
             node[k] = tree_pointer(smallest_inner(count, rows_of(k), cols_of(k)),
                                    cursors[level - 1] + before[k], count);
           });
  for_each(ctx, 1, "block_tree: inner nodes", [=, before = before.data()] __device__(std::int64_t) {
    cursors[level] = cursors[level - 1] + before[node_count];
  });
  return made;
}

template <class I>
void write_inner(const device_context& ctx, index<I> extent, int bits, int level,
                 const device_inner<I>& in, unsigned char* pool) {
  const std::int64_t block_cols = shifted(std::int64_t{extent.col} - 1, bits * level) + 1;
  for_each(ctx, in.order.size(), "block_tree: inner nodes",
           [=, order = in.order.data(), groups = in.groups.data(), first = in.first.data(),
            row = in.row.data(), col = in.col.data(), child = in.child.data(),
            nodes = in.node.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1, i = k - first[own];
             const std::uint64_t node = nodes[own];
             const std::int64_t last = (std::int64_t{1} << bits) - 1;
             const std::int64_t r = row[order[k]] & last, c = col[order[k]] & last;
             auto* const pointers = reinterpret_cast<std::uint64_t*>(pool + place_of(node));
             if (type_of(node) == tree_node::inner_dense) {
               const std::int64_t cols =
                   places_of(bits, block_cols, std::int64_t{col[order[k]]} >> bits);
               pointers[r * cols + c] = child[order[k]];
             } else {
               pointers[i] = child[order[k]];
               reinterpret_cast<std::uint16_t*>(pointers + count_of(node))[i] =
                   static_cast<std::uint16_t>(r << 8 | c);
             }
           });
}

/// Of leaves what is not entries.
template <class I>
void start_leaves(const device_context& ctx, const array<device_leaf<I>, space::device>& leaves,
                  const std::uint64_t* nodes, std::int64_t value_bytes, unsigned char* pool) {
  for_each(ctx, leaves.size(), "block_tree: leaves",
           [=, leaves = leaves.data()] __device__(std::int64_t k) {
             const device_leaf<I> leaf = leaves[k];
             unsigned char* const at = pool + place_of(nodes[k]);
             if (has_header(leaf.type)) {
               *reinterpret_cast<std::int64_t*>(at) = leaf.entries;
               if (is_rows(leaf.type))
                 *reinterpret_cast<std::uint32_t*>(at + 8) = static_cast<std::uint32_t>(leaf.runs);
             } else if (is_rows(leaf.type)) {
               unsigned char* const to = at + leaf.entries * value_bytes;
               to[0] = static_cast<unsigned char>((leaf.runs - 1) & 255);
               to[1] = static_cast<unsigned char>((leaf.runs - 1) >> 8);
             }
           });
}

/// What the host must know before the pool and the tasks are allocated.
struct frame_needs {
  std::int64_t row_tasks, row_slots, column_tasks, column_slots, pool_bytes;
  unsigned long long row_widest, column_widest;
  std::uint64_t root;
};

} // namespace

template <class I>
device_frame<I> make_device_frame(const device_context& ctx, index<I> extent, int bits,
                                  std::int64_t value_bytes, const device_leaves<I>& of) {
  const std::int64_t n = of.all.size();
  const device_leaf<I>* const leaves = of.all.data();
  const int levels = level_count(bits, extent.row, extent.col);
  const int row_bits = bits_up_to((extent.row - 1) >> bits);
  const int col_bits = bits_up_to((extent.col - 1) >> bits);
  const auto row = [=] __device__(std::int64_t k) { return leaves[k].row >> bits; };
  const auto col = [=] __device__(std::int64_t k) { return leaves[k].col >> bits; };

  positions by_rows = count_up(ctx, n);
  if (of.of_level[0] != n) reorder_by_place(ctx, by_rows, row_bits, row, col_bits, col);
  positions by_cols = copy_to(ctx, by_rows);
  reorder(ctx, by_cols, col_bits, col);
  const device_stripes row_stripes =
      find_device_stripes(ctx, leaves, by_rows, bits, extent.row, false);
  const device_stripes column_stripes =
      find_device_stripes(ctx, leaves, by_cols, bits, extent.col, true);
  // In a stripe by queue, then across it: each list begins in the other's order.
  const auto by_queue = [&](positions& order, const device_stripes& s) {
    reorder(ctx, order, bits_up_to(n - 1) + queue_bits,
            [leaves, stripe = s.of.data()] __device__(std::int64_t k) {
              const int queue = queue_of(tree_pointer(leaves[k].type, 0, leaves[k].entries));
              return std::uint64_t{stripe[k]} << queue_bits | static_cast<std::uint64_t>(queue);
            });
  };
  positions row_order = std::move(by_cols), column_order = std::move(by_rows);
  by_queue(row_order, row_stripes);
  by_queue(column_order, column_stripes);

  device_frame<I> frame;
  frame.items = array<tree_item<I>, space::device>(ctx, n);
  frame.by_column = array<std::int64_t, space::device>(ctx, n);
  frame.node = array<std::uint64_t, space::device>(ctx, n);
  positions number(ctx, n);
  array<std::int64_t, space::device> cursors(ctx, most_levels);
  const auto bytes_before =
      sums_before(ctx, n, [=, order = row_order.data()] __device__(std::int64_t k) {
        return leaves[order[k]].bytes;
      });
  for_each(ctx, n, "block_tree: items",
           [=, order = row_order.data(), before = bytes_before.data(), items = frame.items.data(),
            node = frame.node.data(), number = number.data(),
            cursors = cursors.data()] __device__(std::int64_t k) {
             const std::uint32_t at = order[k];
             const device_leaf<I> leaf = leaves[at];
             node[at] = tree_pointer(leaf.type, 16 + before[k], leaf.entries);
             items[k] = {node[at], leaf.row, leaf.col};
             number[at] = static_cast<std::uint32_t>(k);
             if (k == 0) cursors[0] = 16 + before[n];
           });
  for_each(ctx, n, "block_tree: by columns",
           [order = column_order.data(), number = number.data(),
            to = frame.by_column.data()] __device__(std::int64_t k) { to[k] = number[order[k]]; });

  std::vector<device_inner<I>> inner;
  inner.reserve(static_cast<std::size_t>(levels));
  std::int64_t first_leaf = 0;
  for (int level = 1; level < levels; ++level) {
    const std::int64_t leaf_count = of.of_level[level - 1];
    inner.push_back(make_inner(ctx, extent, bits, level, leaves + first_leaf,
                               frame.node.data() + first_leaf, leaf_count, of.inner[level],
                               inner.empty() ? nullptr : &inner.back(), cursors.data()));
    first_leaf += leaf_count;
  }

  array<frame_needs, space::device> needs(ctx, 1);
  check(cudaMemsetAsync(needs.data(), 0, needs.bytes(), ctx.stream()), "block_tree: memset");
  const device_tasks row_cuts =
      cut_tasks(ctx, leaves, row_order, row_stripes, &needs.data()->row_widest);
  const device_tasks column_cuts =
      cut_tasks(ctx, leaves, column_order, column_stripes, &needs.data()->column_widest);
  const bool single = inner.empty() || inner.back().size() == 0; // one leaf has all of it
  for_each(ctx, 1, "block_tree: needs",
           [n, levels, needs = needs.data(), rows = row_cuts.before.data(),
            row_slots = row_cuts.slots.data(), columns = column_cuts.before.data(),
            column_slots = column_cuts.slots.data(), cursors = cursors.data(),
            root = single ? frame.node.data() : inner.back().node.data()] __device__(std::int64_t) {
             needs->row_tasks = rows[n];
             needs->row_slots = row_slots[n];
             needs->column_tasks = columns[n];
             needs->column_slots = column_slots[n];
             needs->pool_bytes = cursors[levels - 1];
             needs->root = *root;
           });
  frame_needs need{};
  read_back(ctx, &need, needs.data(), 1);

  frame.root = need.root;
  frame.row_sums = {static_cast<std::int64_t>(need.row_widest), need.row_slots};
  frame.column_sums = {static_cast<std::int64_t>(need.column_widest), need.column_slots};
  frame.row_tasks = array<tree_task<I>, space::device>(ctx, need.row_tasks + 1);
  frame.column_tasks = array<tree_task<I>, space::device>(ctx, need.column_tasks + 1);
  frame.pool = array<tree_unit, space::device>(ctx, need.pool_bytes / 16);
  write_tasks(ctx, row_stripes, row_cuts, extent.row, frame.row_tasks);
  write_tasks(ctx, column_stripes, column_cuts, extent.col, frame.column_tasks);
  check(cudaMemsetAsync(frame.pool.data(), 0, frame.pool.bytes(), ctx.stream()),
        "block_tree: memset");
  auto* const pool = reinterpret_cast<unsigned char*>(frame.pool.data());
  for (int level = 1; level < levels; ++level)
    write_inner(ctx, extent, bits, level, inner[static_cast<std::size_t>(level - 1)], pool);
  start_leaves(ctx, of.all, frame.node.data(), value_bytes, pool);
  return frame;
}

#define LACUNA_INSTANTIATE(I)                                                                      \
  template device_frame<I> make_device_frame<I>(const device_context&, index<I>, int,              \
                                                std::int64_t, const device_leaves<I>&);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::gpu
