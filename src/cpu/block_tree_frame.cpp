// Inner nodes and lists of a block tree, from its leaves.
#include "cpu/block_tree_frame.hpp"

#include <vector>

#include "cpu/parallel_sort.hpp"

namespace lacuna::detail::cpu {
namespace {

/// A child of an inner node to be; by parent, then by rows.
template <class I> struct tree_child {
  I parent_row, parent_col;
  std::uint32_t coordinate;
  std::uint64_t node;
  friend bool operator<(const tree_child& a, const tree_child& b) {
    return std::tie(a.parent_row, a.parent_col, a.coordinate) <
           std::tie(b.parent_row, b.parent_col, b.coordinate);
  }
  [[nodiscard]] bool has_parent_of(const tree_child& other) const {
    return parent_row == other.parent_row && parent_col == other.parent_col;
  }
};

/// The inner nodes of one level.
template <class I> struct inner_level {
  array<tree_child<I>> children;
  array<tree_child<I>> nodes; ///< as children of the level above; node is set when placed
};

/// A level's nodes from those below, `place` being where the pool has come to.
template <class I>
inner_level<I> make_level(const host_context& ctx, index<I> extent, int bits, int level,
                          const array<tree_leaf<I>>& leaves, const inner_level<I>* below,
                          std::int64_t& place) {
  const std::int64_t d = std::int64_t{1} << bits;
  const int shift = bits * level;
  std::int64_t count = below == nullptr ? 0 : below->nodes.size();
  for (const auto& leaf : leaves) count += leaf.level == level - 1 ? 1 : 0;
  inner_level<I> made{array<tree_child<I>>(ctx, count), {}};
  std::int64_t at = 0;
  if (below != nullptr)
    for (const auto& node : below->nodes) made.children[at++] = node;
  for (const auto& leaf : leaves)
    if (leaf.level == level - 1) {
      const std::int64_t r = shifted(leaf.row, shift), c = shifted(leaf.col, shift);
      made.children[at++] = {static_cast<I>(r >> bits), static_cast<I>(c >> bits),
                             static_cast<std::uint32_t>((r & (d - 1)) << 8 | (c & (d - 1))),
                             leaf.node};
    }
  parallel_sort(ctx, made.children.data(), count);
  std::int64_t nodes = 0;
  for (std::int64_t k = 0; k < count; ++k)
    nodes += k == 0 || !made.children[k].has_parent_of(made.children[k - 1]) ? 1 : 0;
  made.nodes = array<tree_child<I>>(ctx, nodes);
  const std::int64_t block_rows = shifted(std::int64_t{extent.row} - 1, shift) + 1;
  const std::int64_t block_cols = shifted(std::int64_t{extent.col} - 1, shift) + 1;
  nodes = 0;
  for (std::int64_t first = 0, end = 0; first < count; first = end) {
    const auto& child = made.children[first];
    while (end < count && made.children[end].has_parent_of(child)) ++end;
    const std::int64_t r = child.parent_row, c = child.parent_col;
    const std::int64_t rows = std::min(d, block_rows - r * d),
                       cols = std::min(d, block_cols - c * d);
    const tree_node type = smallest_inner(end - first, rows, cols);
    made.nodes[nodes++] = {static_cast<I>(r >> bits), static_cast<I>(c >> bits),
                           static_cast<std::uint32_t>((r & (d - 1)) << 8 | (c & (d - 1))),
                           tree_pointer(type, place, end - first)};
    place += inner_bytes(type, end - first, rows, cols);
  }
  return made;
}

template <class I>
void write_level(const inner_level<I>& level, index<I> extent, int bits, int number,
                 unsigned char* pool) {
  const std::int64_t d = std::int64_t{1} << bits;
  const std::int64_t block_cols = shifted(std::int64_t{extent.col} - 1, bits * number) + 1;
  const std::int64_t block_rows = shifted(std::int64_t{extent.row} - 1, bits * number) + 1;
  std::int64_t k = 0;
  for (const auto& node : level.nodes) {
    const auto& first = level.children[k];
    const std::int64_t rows = std::min(d, block_rows - first.parent_row * d);
    const std::int64_t cols = std::min(d, block_cols - first.parent_col * d);
    const std::int64_t count = count_of(node.node);
    unsigned char* const at = pool + place_of(node.node);
    std::memset(at, 0,
                static_cast<std::size_t>(inner_bytes(type_of(node.node), count, rows, cols)));
    auto* const pointers = reinterpret_cast<std::uint64_t*>(at);
    auto* const coordinates = reinterpret_cast<std::uint16_t*>(pointers + count);
    for (std::int64_t i = 0; i < count; ++i, ++k) {
      const auto& child = level.children[k];
      if (type_of(node.node) == tree_node::inner_dense) {
        pointers[(child.coordinate >> 8) * cols + (child.coordinate & 255)] = child.node;
      } else {
        pointers[i] = child.node;
        coordinates[i] = static_cast<std::uint16_t>(child.coordinate);
      }
    }
  }
}

/// Where stripes begin among leaves whose lines [line(k), line(k) + extent(k)) ascend: no leaf of a
/// stripe reaches into another. Ends with the number of leaves.
template <class Line, class Extent>
array<std::int64_t> find_stripes(const host_context& ctx, std::int64_t leaves, Line line,
                                 Extent extent) {
  std::int64_t stripes = 0, reached = -1;
  for (std::int64_t k = 0; k < leaves; ++k) {
    stripes += line(k) >= reached ? 1 : 0;
    reached = std::max(reached, line(k) + extent(k));
  }
  array<std::int64_t> first(ctx, stripes + 1);
  stripes = 0;
  reached = -1;
  for (std::int64_t k = 0; k < leaves; ++k) {
    if (line(k) >= reached) first[stripes++] = k;
    reached = std::max(reached, line(k) + extent(k));
  }
  first[stripes] = leaves;
  return first;
}

/// The tasks of stripes [first[s], first[s + 1]); lines: of the matrix.
template <class I, class Line, class Extent, class Entries>
array<tree_task<I>> make_tasks(const host_context& ctx, const array<std::int64_t>& first,
                               std::int64_t lines, Line line, Extent extent, Entries entries) {
  const std::int64_t stripes = first.size() - 1;
  const auto for_each_task = [&](auto emit) {
    std::int64_t slot = 0;
    for (std::int64_t s = 0; s < stripes; ++s) {
      std::int64_t begin = line(first[s]), end = begin, total = 0;
      for (std::int64_t k = first[s]; k < first[s + 1]; ++k) {
        begin = std::min(begin, line(k));
        end = std::max(end, line(k) + extent(k));
        total += entries(k);
      }
      end = std::min(end, lines);
      const std::int32_t parts = task_parts(total, end - begin);
      std::int64_t k = first[s], before = 0;
      for (std::int32_t part = 0; part < parts; ++part) {
        emit(tree_task<I>{k, slot, static_cast<I>(begin), static_cast<I>(end), part, parts});
        slot += parts > 1 ? end - begin : 0;
        while (k < first[s + 1] && (part + 1 == parts || before < total / parts * (part + 1)))
          before += entries(k++);
      }
    }
    emit(tree_task<I>{first[stripes], slot, static_cast<I>(lines), static_cast<I>(lines), 0, 1});
  };
  std::int64_t count = 0;
  for_each_task([&](const tree_task<I>&) { ++count; });
  array<tree_task<I>> tasks(ctx, count);
  count = 0;
  for_each_task([&](const tree_task<I>& task) { tasks[count++] = task; });
  return tasks;
}

template <class I> tree_sums sums_of(const array<tree_task<I>>& tasks) {
  tree_sums sums{0, tasks[tasks.size() - 1].slot};
  for (std::int64_t t = 0; t + 1 < tasks.size(); ++t)
    sums.widest = std::max<std::int64_t>(sums.widest, tasks[t].end - tasks[t].begin);
  return sums;
}

template <class I> struct by_column_key {
  I col, row;
  std::int64_t leaf;
  friend bool operator<(const by_column_key& a, const by_column_key& b) {
    return std::tie(a.col, a.row) < std::tie(b.col, b.row);
  }
};

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
make_frame(const host_context& ctx, index<I> extent, int bits, array<tree_leaf<I>>& leaves) {
  using content = tree_content<T, I, space::host>;
  auto result = std::make_shared<content>();
  content& t = *result;
  t.extent = extent;
  t.bits = bits;
  t.levels = level_count(bits, extent.row, extent.col);
  const std::int64_t count = leaves.size();
  const auto extent_of = [&](std::int64_t k) { return block_extent(bits, leaves[k].level); };

  // In the order of the items: by rows, in stripes by queue.
  const auto less = [](const tree_leaf<I>& a, const tree_leaf<I>& b) {
    return std::tie(a.row, a.col) < std::tie(b.row, b.col);
  };
  if (!std::is_sorted(leaves.begin(), leaves.end(), less))
    std::sort(leaves.begin(), leaves.end(), less);
  const auto row_of = [&](std::int64_t k) { return std::int64_t{leaves[k].row}; };
  const auto stripes = find_stripes(ctx, count, row_of, extent_of);
  for_each_range(ctx, stripes.size() - 1, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s)
      std::sort(leaves.begin() + stripes[s], leaves.begin() + stripes[s + 1],
                [](const tree_leaf<I>& a, const tree_leaf<I>& b) {
                  const int p = queue_of(tree_pointer(a.type, 0, a.entries));
                  const int q = queue_of(tree_pointer(b.type, 0, b.entries));
                  return std::tie(p, a.col, a.row) < std::tie(q, b.col, b.row);
                });
  });
  std::int64_t place = 16;
  for (auto& leaf : leaves) {
    leaf.node = tree_pointer(leaf.type, place, leaf.entries);
    place = checked_add(place, leaf.bytes);
    t.nnz += leaf.entries;
  }
  t.entries = t.nnz;

  std::vector<inner_level<I>> levels;
  levels.reserve(static_cast<std::size_t>(t.levels));
  if (count > 0)
    for (int level = 1; level < t.levels; ++level)
      levels.push_back(make_level(ctx, extent, bits, level, leaves,
                                  levels.empty() ? nullptr : &levels.back(), place));
  const bool single = levels.empty() || levels.back().nodes.empty(); // one leaf has all of it
  if (count > 0) t.root = single ? leaves[0].node : levels.back().nodes[0].node;

  t.items = array<tree_item<I>>(ctx, count);
  for (std::int64_t k = 0; k < count; ++k)
    t.items[k] = {leaves[k].node, leaves[k].row, leaves[k].col};
  const auto entries_of = [&](std::int64_t k) { return leaves[k].entries; };
  t.row_tasks = make_tasks<I>(ctx, stripes, extent.row, row_of, extent_of, entries_of);
  t.row_sums = sums_of(t.row_tasks);

  array<by_column_key<I>> keys(ctx, count);
  for (std::int64_t k = 0; k < count; ++k) keys[k] = {leaves[k].col, leaves[k].row, k};
  parallel_sort(ctx, keys.data(), count);
  const auto columns = find_stripes(
      ctx, count, [&](std::int64_t k) { return std::int64_t{keys[k].col}; },
      [&](std::int64_t k) { return extent_of(keys[k].leaf); });
  t.by_column = array<std::int64_t>(ctx, count);
  for (std::int64_t k = 0; k < count; ++k) t.by_column[k] = keys[k].leaf;
  for_each_range(ctx, columns.size() - 1, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s)
      std::sort(t.by_column.begin() + columns[s], t.by_column.begin() + columns[s + 1],
                [&](std::int64_t i, std::int64_t j) {
                  const auto &a = leaves[i], &b = leaves[j];
                  const int p = queue_of(a.node), q = queue_of(b.node);
                  return std::tie(p, a.row, a.col) < std::tie(q, b.row, b.col);
                });
  });
  const auto leaf_at = [&](std::int64_t k) { return t.by_column[k]; };
  t.column_tasks = make_tasks<I>(
      ctx, columns, extent.col,
      [&](std::int64_t k) { return std::int64_t{leaves[leaf_at(k)].col}; },
      [&](std::int64_t k) { return extent_of(leaf_at(k)); },
      [&](std::int64_t k) { return leaves[leaf_at(k)].entries; });
  t.column_sums = sums_of(t.column_tasks);

  t.pool = array<tree_unit>(ctx, place / 16);
  unsigned char* const pool = t.arrays().bytes();
  std::memset(pool, 0, 16);
  for (int level = 1; level < t.levels && count > 0; ++level)
    write_level(levels[static_cast<std::size_t>(level - 1)], extent, bits, level, pool);
  for_each_range(ctx, count, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      start_leaf<T>(leaves[k], pool + place_of(leaves[k].node));
  });
  return result;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::host>> make_frame<T, I>(                      \
      const host_context&, index<I>, int, array<tree_leaf<I>>&);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
