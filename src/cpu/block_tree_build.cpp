// A block tree from rows that ascend: blocks that have entries are found level by level, each by
// binning the columns of the one below; their bytes are computed; blocks whose tree would take more
// than a flat list become leaves of their level; then entries are written to their leaves.
//
// Reads all columns three times, values once; once more for each level that has blocks which may be
// flat. Scratch: an index per entry, and some 50 bytes per block of d x d.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cpu/block_tree_frame.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail {

int tree_bits(int block, std::int64_t rows, std::int64_t cols) {
  if (std::max(rows, cols) > std::int64_t{1} << 62)
    throw unsupported(
        fmt::format("to_block_tree: {} x {} is more than 2^62 rows or columns", rows, cols));
  for (int bits = 4; bits <= 8; ++bits)
    if (block == 1 << bits) return bits;
  throw bad_input(
      fmt::format("to_block_tree: blocks have 16, 32, 64, 128 or 256 rows, not {}", block));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {
namespace {

/// Sorted rows, of a matrix or of blocks: row i has columns col[rowptr[i]] …
template <class I> struct sorted_rows {
  std::int64_t rows;
  tree_offsets rowptr;
  const I* col;
};

/// Which blocks of 2^shift x 2^shift of those below have entries.
template <class I> struct block_grid {
  std::int64_t rows = 0;
  array<std::int64_t> first; ///< a row of blocks' first block; rows + 1
  array<I> col;              ///< in units of blocks
  array<std::int64_t> entries, runs;
  array<std::int64_t> cost; ///< bytes of the block's tree, its share of lists included
  array<tree_node> type;    ///< of the leaf that is made of it; none: of its children, or its
                            ///< parent's
  array<std::uint64_t> node;
  [[nodiscard]] std::int64_t size() const { return col.size(); }
  [[nodiscard]] sorted_rows<I> as_rows() const {
    return {rows, tree_offsets(first.data()), col.data()};
  }
};

/// Calls f(row of blocks), shared out.
template <class F> void for_each_stripe(const host_context& ctx, std::int64_t rows, F f) {
  const int parts = static_cast<int>(std::min<std::int64_t>(rows, 32LL * ctx.threads()));
  for_each_dynamic(ctx.threads(), parts, [&](int part) {
    const std::int64_t end = part_begin(rows, part + 1, parts);
    for (std::int64_t i = part_begin(rows, part, parts); i < end; ++i) f(i);
  });
}

/// Calls f(block, row, first, last) for runs of entries of one row and block, for the rows of one
/// row of blocks of 2^shift: rows in order, columns ascending.
template <class I, class F>
void for_each_run(const sorted_rows<I>& below, const block_grid<I>& grid, int shift, std::int64_t i,
                  F f) {
  const std::int64_t end = std::min(below.rows, shift >= 62 ? below.rows : (i + 1) << shift);
  for (std::int64_t row = shift >= 62 ? 0 : i << shift; row < end; ++row) {
    std::int64_t block = grid.first[i];
    const std::int64_t last = below.rowptr[row + 1];
    for (std::int64_t k = below.rowptr[row]; k < last;) {
      const auto col = static_cast<I>(shifted(below.col[k], shift));
      if (grid.col[block] != col)
        block = std::lower_bound(grid.col.data() + block + 1, grid.col.data() + grid.first[i + 1],
                                 col) -
                grid.col.data();
      const std::int64_t begin = k;
      do ++k;
      while (k < last && static_cast<I>(shifted(below.col[k], shift)) == col);
      f(block, row, begin, k);
    }
  }
}

/// The blocks that have entries. Each row of blocks collects its columns where the scratch has room
/// for them, less those that the row before had, too.
template <class I>
block_grid<I> find_grid(const host_context& ctx, const sorted_rows<I>& below, int bits) {
  block_grid<I> grid;
  grid.rows = (below.rows + (std::int64_t{1} << bits) - 1) >> bits;
  grid.first = array<std::int64_t>(ctx, grid.rows + 1);
  array<I> found(ctx, below.rows == 0 ? 0 : below.rowptr[below.rows]);
  grid.first[0] = 0;
  for_each_stripe(ctx, grid.rows, [&](std::int64_t i) {
    const std::int64_t first = i << bits,
                       end = std::min(below.rows, first + (std::int64_t{1} << bits));
    I* const begin = found.data() + below.rowptr[first];
    I* to = begin;
    for (std::int64_t row = first; row < end; ++row) {
      std::int64_t before = row == first ? 0 : below.rowptr[row - 1];
      const std::int64_t before_end = row == first ? 0 : below.rowptr[row];
      const std::int64_t last = below.rowptr[row + 1];
      for (std::int64_t k = below.rowptr[row]; k < last;) {
        const auto col = static_cast<I>(below.col[k] >> bits);
        while (before < before_end && static_cast<I>(below.col[before] >> bits) < col) ++before;
        if (before == before_end || static_cast<I>(below.col[before] >> bits) != col) *to++ = col;
        do ++k;
        while (k < last && static_cast<I>(below.col[k] >> bits) == col);
      }
    }
    std::sort(begin, to);
    grid.first[i + 1] = std::unique(begin, to) - begin;
  });
  for (std::int64_t i = 0; i < grid.rows; ++i) grid.first[i + 1] += grid.first[i];
  const std::int64_t size = grid.first[grid.rows];
  grid.col = array<I>(ctx, size);
  for (auto* a : {&grid.entries, &grid.runs, &grid.cost}) *a = array<std::int64_t>(ctx, size);
  grid.type = array<tree_node>(ctx, size);
  grid.node = array<std::uint64_t>(ctx, size);
  for_each_stripe(ctx, grid.rows, [&](std::int64_t i) {
    std::copy_n(found.data() + below.rowptr[i << bits], grid.first[i + 1] - grid.first[i],
                grid.col.data() + grid.first[i]);
    for (std::int64_t b = grid.first[i]; b < grid.first[i + 1]; ++b) {
      grid.entries[b] = grid.runs[b] = grid.cost[b] = 0;
      grid.type[b] = tree_node::none;
    }
  });
  return grid;
}

template <class T, class I> class tree_builder {
public:
  tree_builder(const host_context& ctx, const tree_source<T, I>& a, int bits)
      : ctx_(ctx), a_(a), bits_(bits), rows_{a.shape.row, a.rowptr, a.col} {}

  std::shared_ptr<tree_content<T, I, space::host>> build() {
    const int levels = level_count(bits_, a_.shape.row, a_.shape.col);
    grids_.reserve(static_cast<std::size_t>(levels));
    if (a_.nnz > 0) {
      find_leaves();
      for (int level = 1; level < levels; ++level) find_level(level);
      for (int level = levels - 1; level > 0; --level) take_over(level);
    }
    auto leaves = list_leaves();
    auto result = make_frame<T, I>(ctx_, a_.shape, bits_, leaves);
    for (const auto& leaf : leaves) grid(leaf.level).node[leaf.from] = leaf.node;
    leaves = {};
    for (int level = 0; a_.nnz > 0 && level < levels; ++level) fill(level, result->arrays());
    return result;
  }

private:
  using int64 = std::int64_t;
  block_grid<I>& grid(int level) { return grids_[static_cast<std::size_t>(level)]; }

  int64 rows_of(int level, int64 i) const {
    const int64 e = block_extent(bits_, level);
    return std::min(e, a_.shape.row - i * e);
  }
  int64 cols_of(int level, int64 j) const {
    const int64 e = block_extent(bits_, level);
    return std::min(e, a_.shape.col - j * e);
  }
  leaf_choice leaf_for(int level, int64 i, int64 b) {
    const auto& g = grid(level);
    return smallest_leaf(sizeof(T), g.entries[b], g.runs[b], block_extent(bits_, level), level == 0,
                         rows_of(level, i), cols_of(level, g.col[b]));
  }
  /// Every block of the lowest level would be a leaf.
  void find_leaves() {
    grids_.push_back(find_grid(ctx_, rows_, bits_));
    auto& g = grid(0);
    for_each_stripe(ctx_, g.rows, [&](int64 i) {
      for_each_run(rows_, g, bits_, i, [&](int64 block, int64, int64 first, int64 last) {
        g.entries[block] += last - first;
        ++g.runs[block];
      });
      for (int64 b = g.first[i]; b < g.first[i + 1]; ++b) {
        const leaf_choice leaf = leaf_for(0, i, b);
        g.type[b] = leaf.type;
        g.cost[b] = leaf.bytes + leaf_overhead<I>;
      }
    });
  }
  /// Blocks of a level, and which of them are leaves themselves.
  void find_level(int level) {
    const sorted_rows<I> below = grid(level - 1).as_rows();
    grids_.push_back(find_grid(ctx_, below, bits_));
    auto &g = grid(level), &children = grid(level - 1);
    const int64 extent = block_extent(bits_, level);
    const int width = flat_width(extent);
    array<unsigned char> may_be_flat(ctx_, g.rows);
    for_each_stripe(ctx_, g.rows, [&](int64 i) {
      for_each_run(below, g, bits_, i, [&](int64 block, int64, int64 first, int64 last) {
        for (int64 child = first; child < last; ++child) {
          g.entries[block] += children.entries[child];
          g.cost[block] += children.cost[child];
        }
      });
      may_be_flat[i] = 0;
      for (int64 b = g.first[i]; b < g.first[i + 1]; ++b) {
        g.cost[b] += 10; // its own pointer
        const int64 least = g.entries[b] * (static_cast<int64>(sizeof(T)) + width);
        if (extent <= int64{1} << 32 && g.cost[b] > least) may_be_flat[i] = 1;
      }
    });
    const int shift = bits_ * (level + 1);
    for_each_stripe(ctx_, g.rows, [&](int64 i) {
      if (may_be_flat[i] == 0) return;
      for_each_run(rows_, g, shift, i, [&](int64 block, int64, int64, int64) { ++g.runs[block]; });
      for (int64 b = g.first[i]; b < g.first[i + 1]; ++b) {
        const leaf_choice leaf = leaf_for(level, i, b);
        if (leaf.bytes + leaf_overhead<I> >= g.cost[b]) continue;
        g.type[b] = leaf.type;
        g.cost[b] = leaf.bytes + leaf_overhead<I>;
      }
    });
  }
  /// What is below a leaf is none: it is marked by its cost, -1.
  void take_over(int level) {
    auto &g = grid(level), &children = grid(level - 1);
    const sorted_rows<I> below = children.as_rows();
    for_each_stripe(ctx_, g.rows, [&](int64 i) {
      for_each_run(below, g, bits_, i, [&](int64 block, int64, int64 first, int64 last) {
        if (g.type[block] == tree_node::none && g.cost[block] >= 0) return;
        for (int64 child = first; child < last; ++child) {
          children.type[child] = tree_node::none;
          children.cost[child] = -1;
        }
      });
    });
  }
  array<tree_leaf<I>> list_leaves() {
    int64 count = 0;
    for (const auto& g : grids_)
      for (const tree_node type : g.type) count += type != tree_node::none ? 1 : 0;
    array<tree_leaf<I>> leaves(ctx_, count);
    int64 at = 0;
    for (int level = 0; level < static_cast<int>(grids_.size()); ++level) {
      const auto& g = grid(level);
      const int64 extent = block_extent(bits_, level);
      for (int64 i = 0; i < g.rows; ++i)
        for (int64 b = g.first[i]; b < g.first[i + 1]; ++b) {
          if (g.type[b] == tree_node::none) continue;
          leaves[at++] = {static_cast<I>(i * extent),
                          static_cast<I>(g.col[b] * extent),
                          level,
                          g.type[b],
                          g.entries[b],
                          g.runs[b],
                          g.cost[b] - leaf_overhead<I>,
                          b};
        }
    }
    return leaves;
  }
  /// The entries of a level's leaves. Counts of entries and runs begin again as cursors.
  void fill(int level, const tree_arrays<T, I, space::host>& to) {
    auto& g = grid(level);
    const int64 extent = block_extent(bits_, level);
    unsigned char* const pool = to.bytes();
    for_each_stripe(ctx_, g.rows, [&](int64 i) {
      bool any = false;
      for (int64 b = g.first[i]; b < g.first[i + 1]; ++b) {
        any = any || g.type[b] != tree_node::none;
        g.entries[b] = g.runs[b] = 0;
      }
      if (!any) return;
      const int64 rows = rows_of(level, i);
      for_each_run(rows_, g, bits_ * (level + 1), i,
                   [&](int64 block, int64 row, int64 first, int64 last) {
                     if (g.type[block] == tree_node::none) return;
                     const std::uint64_t node = g.node[block];
                     leaf_cursor at{g.entries[block], g.runs[block]};
                     const I* const col = a_.col + first;
                     const T* const values = a_.values + first;
                     const I base = static_cast<I>(g.col[block] * extent);
                     append_to_leaf<T>(
                         pool + place_of(node), node, at, rows, cols_of(level, g.col[block]),
                         row - i * extent, last - first, [=](int64 k) { return col[k] - base; },
                         [=](int64 k) { return values[k]; });
                     g.entries[block] = at.entry;
                     g.runs[block] = at.run;
                   });
    });
  }

  const host_context& ctx_;
  tree_source<T, I> a_;
  int bits_;
  sorted_rows<I> rows_;
  std::vector<block_grid<I>> grids_;
};

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
build_tree(const host_context& ctx, const tree_source<T, I>& a, std::int64_t entries, int bits) {
  auto result = tree_builder<T, I>(ctx, a, bits).build();
  result->entries = entries;
  return result;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::host>> build_tree<T, I>(                      \
      const host_context&, const tree_source<T, I>&, std::int64_t, int);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
