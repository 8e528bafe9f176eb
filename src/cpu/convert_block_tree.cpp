// A block tree back to CSR, given new values, checked and counted.
#include <algorithm>

#include <fmt/format.h>

#include "cpu/block_tree_frame.hpp"
#include "cpu/rows.hpp"
#include "cpu/scatter.hpp"

namespace lacuna {

const char* to_string(tree_node type) {
  constexpr const char* names[tree_node_types] = {
      "none", "inner", "inner_dense", "dense",   "masked", "coo1",   "coo2",
      "coo4", "rows",  "coo_16",      "rows_16", "coo_32", "rows_32"};
  return names[static_cast<int>(type)];
}

namespace detail::cpu {
namespace {

/// Calls f(first task, last task) for each stripe, shared out.
template <class I, class F>
void for_each_stripe_of(const host_context& ctx, vector_view<const tree_task<I>> tasks, F f) {
  const std::int64_t count = tasks.size() - 1;
  const int parts = static_cast<int>(std::min<std::int64_t>(count, 32LL * ctx.threads()));
  for_each_dynamic(ctx.threads(), parts, [&](int part) {
    for (std::int64_t t = part_begin(count, part, parts); t < part_begin(count, part + 1, parts);
         ++t)
      if (tasks[t].part == 0) f(t, t + tasks[t].parts);
  });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> tree_to_csr(const host_context& ctx, block_tree_view<const T, I, O> view) {
  const auto& a = view.stored();
  const bool transposed = view.is_transposed();
  const T scale = view.scale();
  csr<T, I, O> result(ctx, view.shape(), checked_cast<O>(a.nnz, "the number of entries"),
                      {true, true});
  const std::int64_t rows = view.shape().row;
  O* const rowptr = result.rowptr().data();
  std::fill_n(rowptr, rows + 1, O{0});
  if (a.nnz == 0) return result;
  const auto tasks = transposed ? a.column_tasks : a.row_tasks;
  array<std::int64_t> order(ctx, a.items.size()); // of a stripe's leaves, along the lines
  array<O> next(ctx, rows);
  array<std::int64_t> sums(ctx, part_count(ctx, rows, entry_grain));
  const auto for_each = [&](std::int64_t first, std::int64_t last, auto f) {
    for (std::int64_t k = first; k < last; ++k) {
      const tree_item<I>& item = a.items[order[k]];
      for_each_entry<const T>(a.bytes(), item.node, a.rows_from(item.row), a.cols_from(item.col),
                              [&](std::int64_t r, std::int64_t c, const T& v) {
                                const std::int64_t row = item.row + r, col = item.col + c;
                                f(transposed ? col : row, transposed ? row : col, v);
                              });
    }
  };
  for_each_stripe_of<I>(ctx, tasks, [&](std::int64_t t, std::int64_t end) {
    const std::int64_t first = tasks[t].first, last = tasks[end].first;
    for (std::int64_t k = first; k < last; ++k) order[k] = transposed ? a.by_column[k] : k;
    std::sort(order.begin() + first, order.begin() + last, [&](std::int64_t i, std::int64_t j) {
      return transposed ? a.items[i].row < a.items[j].row : a.items[i].col < a.items[j].col;
    });
    for_each(first, last, [&](std::int64_t line, std::int64_t, const T&) { ++rowptr[line + 1]; });
  });
  inclusive_scan(ctx, rowptr, rows, sums);
  std::copy_n(rowptr, rows, next.data());
  for_each_stripe_of<I>(ctx, tasks, [&](std::int64_t t, std::int64_t end) {
    for_each(tasks[t].first, tasks[end].first,
             [&](std::int64_t line, std::int64_t across, const T& v) {
               const O k = next[line]++;
               result.colind()[k] = static_cast<I>(across);
               result.values()[k] = scale == T{1} ? v : scale * v;
             });
  });
  return result;
}

template <class T, class I>
void place_in_tree(const host_context& ctx, const tree_source<T, I>& a,
                   tree_arrays<T, I, space::host> to) {
  for_each_range(ctx, to.items.size(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const tree_item<I>& item = to.items[i];
      std::int64_t row = -1, k = 0, last = 0;
      for_each_entry<T>(to.bytes(), item.node, to.rows_from(item.row), to.cols_from(item.col),
                        [&](std::int64_t r, std::int64_t c, T& value) {
                          if (r != row) { // a row's entries in a leaf follow one another in A
                            row = r;
                            last = a.rowptr[item.row + r + 1];
                            k = std::lower_bound(a.col + a.rowptr[item.row + r], a.col + last,
                                                 static_cast<I>(item.col + c)) -
                                a.col;
                          }
                          if (k < last) value = a.value(k++); // else A has another pattern
                        });
    }
  });
}

namespace {

[[noreturn]] void fail(const std::string& what) { throw bad_input("block_tree: " + what); }

template <class T, class I> class tree_checker {
public:
  explicit tree_checker(const tree_arrays<const T, I, space::host>& a) : a_(a) {}

  void check() {
    const auto [rows, cols] = a_.extent;
    if (rows < 0 || cols < 0 || a_.nnz < 0) throw_bad_shape("block_tree", rows, cols, a_.nnz);
    if (a_.pool.empty() && rows == 0 && cols == 0 && a_.nnz == 0) return; // moved from
    if (a_.bits < 4 || a_.bits > 8) fail(fmt::format("blocks of {} rows", 1 << a_.bits));
    if (a_.levels != level_count(a_.bits, rows, cols))
      fail(fmt::format("{} levels for {} x {}", a_.levels, rows, cols));
    if (a_.root != 0) check_node(a_.root, a_.levels - 1, 0, 0);
    if (entries_ != a_.nnz) fail(fmt::format("leaves have {} entries, not {}", entries_, a_.nnz));
    if (leaves_ != a_.items.size() || leaves_ != a_.by_column.size())
      fail(fmt::format("{} leaves, lists have {} and {}", leaves_, a_.items.size(),
                       a_.by_column.size()));
    check_list(a_.row_tasks, a_.row_sums, rows, false);
    check_list(a_.column_tasks, a_.column_sums, cols, true);
  }

private:
  void require_inside(std::uint64_t node, std::int64_t bytes) const {
    const std::int64_t place = place_of(node);
    if (place < 16 || place + bytes > 16 * a_.pool.size())
      fail(fmt::format("a node at {} of {} bytes is outside of the pool's {}", place, bytes,
                       16 * a_.pool.size()));
  }
  void check_node(std::uint64_t node, int level, std::int64_t row, std::int64_t col) {
    if (type_of(node) == tree_node::none || static_cast<int>(node & 15) >= tree_node_types)
      fail(fmt::format("a pointer at row {}, column {} has no type", row, col));
    if (!is_inner(node)) return check_leaf(node, level, row, col);
    if (level == 0) fail(fmt::format("an inner node is at the lowest level, row {}", row));
    const std::int64_t d = std::int64_t{1} << a_.bits, step = block_extent(a_.bits, level - 1);
    const std::int64_t rows = std::min(d, (a_.extent.row - row + step - 1) / step);
    const std::int64_t cols = std::min(d, (a_.extent.col - col + step - 1) / step);
    require_inside(node, inner_bytes(type_of(node), count_of(node), rows, cols));
    std::int64_t last = -1, children = 0;
    for_each_child(a_.bytes(), node, rows, cols,
                   [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                     if (r >= rows || c >= cols || r * 256 + c <= last)
                       fail(fmt::format("children of the node at row {}, column {} do not ascend "
                                        "inside of the matrix: ({}, {})",
                                        row, col, r, c));
                     last = r * 256 + c;
                     ++children;
                     check_node(child, level - 1, row + r * step, col + c * step);
                   });
    if (children != count_of(node))
      fail(fmt::format("the node at row {}, column {} has {} children, not {}", row, col, children,
                       count_of(node)));
  }
  void check_leaf(std::uint64_t node, int level, std::int64_t row, std::int64_t col) {
    const tree_node type = type_of(node);
    const std::int64_t extent = block_extent(a_.bits, level);
    const std::int64_t rows = std::min(extent, a_.extent.row - row);
    const std::int64_t cols = std::min(extent, a_.extent.col - col);
    const auto bad = [&](const std::string& what) {
      fail(fmt::format("the {} leaf at row {}, column {} {}", to_string(type), row, col, what));
    };
    const int width = flat_width(extent);
    const bool dense = type == tree_node::dense || type == tree_node::masked;
    if (coordinate_bytes(type) != width || (dense && level > 0))
      bad(fmt::format("is none for blocks of {} rows", extent));
    std::int64_t entries = dense ? rows * cols : count_of(node), runs = 0;
    if (has_header(type)) require_inside(node, 16);
    if (!dense) {
      require_inside(node, leaf_bytes(type, sizeof(T), has_header(type) ? 0 : entries, 0, 0, 0));
      with_lists<const T>(a_.bytes() + place_of(node), node, [&](const auto& l) {
        entries = l.entries;
        runs = l.runs;
      });
      if ((type == tree_node::coo1 && entries != 1) || (type == tree_node::coo2 && entries != 2) ||
          entries < 1)
        bad(fmt::format("has {} entries", entries));
    }
    require_inside(node, leaf_bytes(type, sizeof(T), entries, runs, rows, cols));
    if (is_rows(type)) {
      std::int64_t in_runs = runs;
      with_lists<const T>(a_.bytes() + place_of(node), node, [&](const auto& l) {
        for (std::int64_t run = 0; run < l.runs; ++run) in_runs += l.lengths[run];
      });
      if (in_runs != entries)
        bad(fmt::format("has {} entries in its runs, not {}", in_runs, entries));
    }
    std::int64_t last_row = -1, last_col = -1, found = 0;
    for_each_entry<const T>(
        a_.bytes(), node, rows, cols, [&](std::int64_t r, std::int64_t c, const T&) {
          if (r >= rows || c >= cols || r < last_row || (r == last_row && c <= last_col))
            bad(fmt::format("has entries that do not ascend inside of the matrix: ({}, {})", r, c));
          last_row = r;
          last_col = c;
          ++found;
        });
    if (found != (dense ? count_of(node) : entries)) bad(fmt::format("has {} entries", found));
    entries_ += found;
    ++leaves_;
  }
  /// The leaf of the tree that has this block; 0: there is none.
  std::uint64_t find(std::int64_t row, std::int64_t col) const {
    std::uint64_t node = a_.root;
    for (int level = a_.levels - 1; node != 0 && is_inner(node); --level) {
      const std::int64_t extent = block_extent(a_.bits, level);
      const std::int64_t step = block_extent(a_.bits, level - 1);
      const std::int64_t first_row = row / extent * extent, first_col = col / extent * extent;
      const std::int64_t d = std::int64_t{1} << a_.bits;
      std::uint64_t found = 0;
      for_each_child(a_.bytes(), node, std::min(d, (a_.extent.row - first_row + step - 1) / step),
                     std::min(d, (a_.extent.col - first_col + step - 1) / step),
                     [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                       if (first_row + r * step == row / step * step &&
                           first_col + c * step == col / step * step)
                         found = child;
                     });
      node = found;
    }
    return node;
  }
  void check_list(vector_view<const tree_task<I>> tasks, const tree_sums& sums, std::int64_t lines,
                  bool by_column) const {
    const char* const list = by_column ? "columns" : "rows";
    if (tasks.empty() || tasks[0].first != 0 || tasks[tasks.size() - 1].first != a_.items.size())
      fail(fmt::format("tasks by {} do not have all leaves", list));
    std::int64_t widest = 0, slots = 0;
    for (std::int64_t t = 0; t + 1 < tasks.size(); ++t) {
      const auto &task = tasks[t], &next = tasks[t + 1];
      widest = std::max<std::int64_t>(widest, task.end - task.begin);
      if (task.parts > 1 && task.slot != slots)
        fail(fmt::format("sums of task {} by {} wait at {}, not {}", t, list, task.slot, slots));
      slots += task.parts > 1 ? task.end - task.begin : 0;
      if (task.begin >= task.end || task.end > lines || task.first > next.first ||
          (next.part == 0 ? next.begin < task.end : next.begin != task.begin))
        fail(fmt::format("task {} by {} has lines {} to {}", t, list, task.begin, task.end));
      for (std::int64_t k = task.first; k < next.first; ++k) {
        const std::int64_t leaf = by_column ? a_.by_column[k] : k;
        if (leaf < 0 || leaf >= a_.items.size()) fail(fmt::format("there is no leaf {}", leaf));
        const tree_item<I>& item = a_.items[leaf];
        const std::int64_t line = by_column ? item.col : item.row;
        if (line < task.begin || line >= task.end ||
            (!by_column && find(item.row, item.col) != item.node))
          fail(fmt::format("leaf {} by {} is not the one at row {}, column {}", k, list, item.row,
                           item.col));
        if (k == task.first) continue;
        const tree_item<I>& before = a_.items[by_column ? a_.by_column[k - 1] : k - 1];
        const auto key = [&](const tree_item<I>& i) {
          return by_column ? std::tuple(queue_of(i.node), i.row, i.col)
                           : std::tuple(queue_of(i.node), i.col, i.row);
        };
        if (key(item) <= key(before))
          fail(fmt::format("leaves of task {} by {} do not ascend", t, list));
      }
    }
    if (sums.widest != widest || sums.slots != slots || tasks[tasks.size() - 1].slot != slots)
      fail(fmt::format("tasks by {} are said to have up to {} lines, and {} slots: {} and {}", list,
                       sums.widest, sums.slots, widest, slots));
  }

  tree_arrays<const T, I, space::host> a_;
  std::int64_t entries_ = 0, leaves_ = 0;
};

template <class I, class A>
void count_inner(const A& a, std::uint64_t node, int level, std::int64_t row, std::int64_t col,
                 tree_statistics& s) {
  if (node == 0 || !is_inner(node)) return;
  const std::int64_t d = std::int64_t{1} << a.bits, step = block_extent(a.bits, level - 1);
  const std::int64_t rows = std::min(d, (a.extent.row - row + step - 1) / step);
  const std::int64_t cols = std::min(d, (a.extent.col - col + step - 1) / step);
  auto& kind = s.of[node & 15];
  ++kind.nodes;
  kind.entries += count_of(node);
  kind.bytes += inner_bytes(type_of(node), count_of(node), rows, cols);
  if (level > 1)
    for_each_child(a.bytes(), node, rows, cols,
                   [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                     count_inner<I>(a, child, level - 1, row + r * step, col + c * step, s);
                   });
}

} // namespace

template <class T, class I> void check_tree(const tree_arrays<const T, I, space::host>& a) {
  tree_checker<T, I>(a).check();
}

template <class T, class I>
tree_statistics tree_nodes(const tree_content<T, I, space::host>& content) {
  const auto a = content.arrays();
  tree_statistics s;
  s.block = 1 << a.bits;
  s.levels = a.levels;
  s.bytes = static_cast<std::int64_t>(content.stored_bytes());
  s.list_bytes = s.bytes - static_cast<std::int64_t>(content.pool.bytes());
  count_inner<I>(a, a.root, a.levels - 1, 0, 0, s);
  for (const tree_item<I>& item : a.items) {
    auto& kind = s.of[item.node & 15];
    const tree_node type = type_of(item.node);
    std::int64_t entries = has_header(type) ? 0 : count_of(item.node), runs = 0;
    if (is_rows(type) || is_coo(type))
      with_lists<const T>(a.bytes() + place_of(item.node), item.node, [&](const auto& l) {
        entries = l.entries;
        runs = l.runs;
      });
    ++kind.nodes;
    kind.entries += entries;
    kind.bytes +=
        leaf_bytes(type, sizeof(T), entries, runs, a.rows_from(item.row), a.cols_from(item.col));
  }
  return s;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void place_in_tree<T, I>(const host_context&, const tree_source<T, I>&,                 \
                                    tree_arrays<T, I, space::host>);                               \
  template void check_tree<T, I>(const tree_arrays<const T, I, space::host>&);                     \
  template tree_statistics tree_nodes<T, I>(const tree_content<T, I, space::host>&);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> tree_to_csr<T, I, O>(const host_context&, block_tree_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace detail::cpu
} // namespace lacuna
