// Block trees that are written to: single entries; leaves that are shared within a tree, and taken
// apart again.
#include <algorithm>

#include <fmt/format.h>

#include <lacuna/op/block_tree_ops.hpp>

#include "cpu/block_tree_frame.hpp"
#include "cpu/parallel_sort.hpp"

namespace lacuna::detail {

void throw_no_tree_entry(std::int64_t row, std::int64_t col, bool inside) {
  throw bad_input(fmt::format("update_entries: the batch has an entry at row {}, column {}, {}",
                              row, col,
                              inside ? "the tree has none there" : "outside of the tree"));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {
namespace {

/// The child of an inner node at (row, column) of its places; 0: there is none.
inline std::uint64_t child_at(const unsigned char* pool, std::uint64_t node, std::int64_t cols,
                              std::int64_t row, std::int64_t col) {
  const auto* const children = reinterpret_cast<const std::uint64_t*>(pool + place_of(node));
  if (type_of(node) == tree_node::inner_dense) return children[row * cols + col];
  const std::int64_t count = count_of(node);
  const auto* const coordinates = reinterpret_cast<const std::uint16_t*>(children + count);
  const auto wanted = static_cast<std::uint16_t>(row << 8 | col);
  const auto* const found = std::lower_bound(coordinates, coordinates + count, wanted);
  return found == coordinates + count || *found != wanted ? 0 : children[found - coordinates];
}

/// Where in the pool the value of an entry is; 0: there is none.
template <class T, class I>
std::int64_t value_place(const tree_arrays<T, I, space::host>& a, std::int64_t row,
                         std::int64_t col) {
  const unsigned char* const pool = a.bytes();
  std::uint64_t node = a.root;
  std::int64_t first_row = 0, first_col = 0;
  int level = a.levels - 1;
  for (; node != 0 && is_inner(node); --level) {
    const std::int64_t step = block_extent(a.bits, level - 1);
    const std::int64_t r = (row - first_row) / step, c = (col - first_col) / step;
    const std::int64_t cols =
        std::min(std::int64_t{1} << a.bits, (a.extent.col - first_col + step - 1) / step);
    node = child_at(pool, node, cols, r, c);
    first_row += r * step;
    first_col += c * step;
  }
  if (node == 0) return 0;
  const unsigned char* const leaf = pool + place_of(node);
  const std::int64_t r = row - first_row, c = col - first_col;
  const T* value = nullptr;
  if (type_of(node) == tree_node::dense || type_of(node) == tree_node::masked) {
    const std::int64_t rows = a.rows_from(first_row), cols = a.cols_from(first_col);
    const std::int64_t k = r * cols + c;
    if (type_of(node) == tree_node::dense ||
        has_place(leaf + rows * cols * static_cast<std::int64_t>(sizeof(T)), k))
      value = reinterpret_cast<const T*>(leaf) + k;
  } else {
    with_lists<const T>(leaf, node, [&](const auto& l) {
      if (is_coo(type_of(node))) {
        std::int64_t low = 0, high = l.entries; // by rows, then columns
        while (low < high) {
          const std::int64_t middle = (low + high) / 2;
          const std::int64_t i = l.first[2 * middle], j = l.first[2 * middle + 1];
          if (i < r || (i == r && j < c))
            low = middle + 1;
          else
            high = middle;
        }
        if (low < l.entries && l.first[2 * low] == r && l.first[2 * low + 1] == c)
          value = l.values + low;
        return;
      }
      std::int64_t k = 0, run = 0;
      while (run < l.runs && l.first[run] < r) k += std::int64_t{l.lengths[run++]} + 1;
      if (run == l.runs || l.first[run] != r) return;
      const auto* const end = l.columns + k + l.lengths[run] + 1;
      const auto* const found = std::lower_bound(l.columns + k, end, c);
      if (found != end && *found == c) value = l.values + (found - l.columns);
    });
  }
  return value == nullptr ? 0 : reinterpret_cast<const unsigned char*>(value) - pool;
}

struct leaf_copy {
  std::uint64_t hash;
  std::uint64_t node;
  std::int64_t bytes;
  std::int64_t same;  ///< the place of the first leaf with these bytes
  std::int64_t place; ///< where it goes
};

std::uint64_t hash_of(const unsigned char* bytes, std::int64_t size, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325 ^ seed; // FNV-1a, by words
  for (std::int64_t k = 0; k < size; k += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + k, 8);
    hash = (hash ^ word) * 0x0000'0100'0000'01B3;
    hash ^= hash >> 29;
  }
  return hash;
}

template <class T, class A>
std::int64_t bytes_of_leaf(const A& a, std::uint64_t node, std::int64_t row, std::int64_t col,
                           std::int64_t& entries, std::int64_t& runs) {
  entries = has_header(type_of(node)) ? 0 : count_of(node);
  runs = 0;
  if (is_rows(type_of(node)) || is_coo(type_of(node)))
    with_lists<const T>(a.bytes() + place_of(node), node, [&](const auto& l) {
      entries = l.entries;
      runs = l.runs;
    });
  return leaf_bytes(type_of(node), sizeof(T), entries, runs, a.rows_from(row), a.cols_from(col));
}

} // namespace

template <class T, class I>
void update_in_tree(const host_context& ctx, vector_view<const I> rows, vector_view<const I> cols,
                    vector_view<const T> values, bool transposed, T scale, bool adds,
                    tree_arrays<T, I, space::host> to) {
  array<std::int64_t> places(ctx, values.size());
  const std::int64_t height = transposed ? to.extent.col : to.extent.row;
  const std::int64_t width = transposed ? to.extent.row : to.extent.col;
  for (std::int64_t k = 0; k < values.size(); ++k) {
    if (rows[k] < 0 || rows[k] >= height || cols[k] < 0 || cols[k] >= width)
      throw_no_tree_entry(rows[k], cols[k], false);
    places[k] = value_place(to, transposed ? cols[k] : rows[k], transposed ? rows[k] : cols[k]);
    if (places[k] == 0) throw_no_tree_entry(rows[k], cols[k], true);
  }
  if (scale != T{1})
    for_each_range(ctx, to.items.size(), 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const tree_item<I>& item = to.items[i];
        for_each_entry<T>(to.bytes(), item.node, to.rows_from(item.row), to.cols_from(item.col),
                          [=](std::int64_t, std::int64_t, T& value) { value *= scale; });
      }
    });
  for (std::int64_t k = 0; k < values.size(); ++k) {
    T& value = *reinterpret_cast<T*>(to.bytes() + places[k]);
    value = adds ? value + values[k] : values[k];
  }
}

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
expand_tree(const host_context& ctx, const tree_content<T, I, space::host>& a) {
  const auto from = a.arrays();
  array<tree_leaf<I>> leaves(ctx, a.items.size());
  std::int64_t at = 0;
  auto add = [&](std::uint64_t node, int level, std::int64_t row, std::int64_t col) {
    std::int64_t entries = 0, runs = 0;
    const std::int64_t bytes = bytes_of_leaf<T>(from, node, row, col, entries, runs);
    leaves[at++] = {
        static_cast<I>(row), static_cast<I>(col), level, type_of(node), entries, runs, bytes,
        place_of(node)};
  };
  for_each_leaf(from, a.root, a.levels - 1, 0, 0, add);
  auto result = make_frame<T, I>(ctx, a.extent, a.bits, leaves);
  result->entries = a.entries;
  unsigned char* const pool = result->arrays().bytes();
  for (const auto& leaf : leaves)
    std::memcpy(pool + place_of(leaf.node), from.bytes() + leaf.from,
                static_cast<std::size_t>(leaf.bytes));
  return result;
}

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
compress_tree(const host_context& ctx, const tree_content<T, I, space::host>& a) {
  using content = tree_content<T, I, space::host>;
  const auto from = a.arrays();
  const std::int64_t count = a.items.size();
  array<leaf_copy> leaves(ctx, count);
  for_each_range(ctx, count, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const tree_item<I>& item = a.items[k];
      std::int64_t entries = 0, runs = 0;
      const std::int64_t bytes =
          bytes_of_leaf<T>(from, item.node, item.row, item.col, entries, runs);
      const unsigned char* const leaf = from.bytes() + place_of(item.node);
      leaves[k] = {hash_of(leaf, bytes, item.node & ~tree_place_mask), item.node, bytes, 0, 0};
    }
  });
  std::sort(leaves.begin(), leaves.end(), [](const leaf_copy& x, const leaf_copy& y) {
    return std::tie(x.hash, x.node) < std::tie(y.hash, y.node);
  });
  std::int64_t first = 0; // of leaves with equal bytes
  const auto same_bytes = [&](const leaf_copy& x, const leaf_copy& y) {
    return x.hash == y.hash && x.bytes == y.bytes && ((x.node ^ y.node) & ~tree_place_mask) == 0 &&
           std::memcmp(from.bytes() + place_of(x.node), from.bytes() + place_of(y.node),
                       static_cast<std::size_t>(x.bytes)) == 0;
  };
  for (std::int64_t k = 0; k < count; ++k) {
    if (!same_bytes(leaves[k], leaves[first])) first = k;
    leaves[k].same = place_of(leaves[first].node);
  }
  std::sort(leaves.begin(), leaves.end(), [](const leaf_copy& x, const leaf_copy& y) {
    return place_of(x.node) < place_of(y.node);
  });
  const auto at = [&](std::int64_t place) {
    return std::lower_bound(
        leaves.begin(), leaves.end(), place,
        [](const leaf_copy& x, std::int64_t wanted) { return place_of(x.node) < wanted; });
  };
  // The first of equal leaves has the lowest place, so it is met before the others.
  std::int64_t place = 16, old_end = 16, different = 0, before = 0;
  for (leaf_copy& leaf : leaves) {
    const std::int64_t own = place_of(leaf.node);
    old_end = std::max(old_end, own + leaf.bytes);
    if (own != leaf.same) {
      leaf.place = at(leaf.same)->place;
    } else if (own == before) {
      leaf.place = at(own)->place; // it has several parents already
    } else {
      leaf.place = place;
      place += leaf.bytes;
      ++different;
    }
    before = own;
  }
  const std::int64_t inner = 16 * a.pool.size() - old_end, moved = old_end - place;
  auto result = std::make_shared<content>(content{
      a.extent, a.nnz, a.entries, a.bits, a.levels, a.root, true, different,
      array<tree_unit>(ctx, (place + inner) / 16), copy_to(ctx, a.items), copy_to(ctx, a.by_column),
      copy_to(ctx, a.row_tasks), copy_to(ctx, a.column_tasks), a.row_sums, a.column_sums});
  unsigned char* const pool = result->arrays().bytes();
  std::memset(pool, 0, 16);
  for (const leaf_copy& leaf : leaves)
    if (place_of(leaf.node) == leaf.same)
      std::memcpy(pool + leaf.place, from.bytes() + leaf.same,
                  static_cast<std::size_t>(leaf.bytes));
  std::memcpy(pool + place, from.bytes() + old_end, static_cast<std::size_t>(inner));
  const auto relocated = [&](std::uint64_t node) {
    if (node == 0) return node;
    const std::int64_t to = is_inner(node) ? place_of(node) - moved : at(place_of(node))->place;
    return (node & ~tree_place_mask) | static_cast<std::uint64_t>(to);
  };
  // Inner nodes are there with their old pointers: each is gone down to, then given new ones.
  const auto relocate = [&](auto& self, std::uint64_t node, int level, std::int64_t row,
                            std::int64_t col) -> void {
    if (node == 0 || !is_inner(node)) return;
    const std::int64_t d = std::int64_t{1} << a.bits, step = block_extent(a.bits, level - 1);
    const std::int64_t rows = std::min(d, (a.extent.row - row + step - 1) / step);
    const std::int64_t cols = std::min(d, (a.extent.col - col + step - 1) / step);
    for_each_child(from.bytes(), node, rows, cols,
                   [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                     self(self, child, level - 1, row + r * step, col + c * step);
                   });
    auto* const pointers = reinterpret_cast<std::uint64_t*>(pool + place_of(node) - moved);
    const std::int64_t places = type_of(node) == tree_node::inner ? count_of(node) : rows * cols;
    for (std::int64_t k = 0; k < places; ++k) pointers[k] = relocated(pointers[k]);
  };
  relocate(relocate, a.root, a.levels - 1, 0, 0);
  result->root = relocated(a.root);
  for (tree_item<I>& item : result->items) item.node = relocated(item.node);
  return result;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void update_in_tree<T, I>(const host_context&, vector_view<const I>,                    \
                                     vector_view<const I>, vector_view<const T>, bool, T, bool,    \
                                     tree_arrays<T, I, space::host>);                              \
  template std::shared_ptr<tree_content<T, I, space::host>> expand_tree<T, I>(                     \
      const host_context&, const tree_content<T, I, space::host>&);                                \
  template std::shared_ptr<tree_content<T, I, space::host>> compress_tree<T, I>(                   \
      const host_context&, const tree_content<T, I, space::host>&);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
