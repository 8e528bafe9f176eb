// Internal: parts of a block tree as sorted lists of entries, and leaves made of such lists.
#pragma once

#include <algorithm>

#include "cpu/block_tree_frame.hpp"

namespace lacuna::detail::cpu {

/// A place in a block: row and column in one number, so that places by rows ascend.
constexpr std::uint64_t place_key(std::int64_t row, std::int64_t col) {
  return static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(col);
}
template <class T> struct tree_entry {
  std::uint64_t key;
  T value;
};

/// Children of an inner node, in the order of the operand.
struct child_ref {
  std::uint32_t coordinate; ///< row * 256 + column
  std::uint64_t node;
};

/// A node of an operand. Rows and columns are the operand's: exchanged if it is transposed.
template <class T, class I> class operand_nodes {
public:
  explicit operand_nodes(const tree_operand<T, I>& t) : t_(t) {}
  [[nodiscard]] std::uint64_t root() const { return t_.a.root; }
  [[nodiscard]] int levels() const { return t_.a.levels; }
  /// Whether the operand's leaves are the tree's, byte by byte.
  [[nodiscard]] bool as_stored() const { return !t_.transposed && t_.alpha == T{1}; }
  [[nodiscard]] const unsigned char* pool() const { return t_.a.bytes(); }
  [[nodiscard]] bool transposed() const { return t_.transposed; }
  [[nodiscard]] T alpha() const { return t_.alpha; }

  array<child_ref> children(const host_context& ctx, std::uint64_t node, int level,
                            std::int64_t row, std::int64_t col) const {
    array<child_ref> result(ctx, count_of(node));
    std::int64_t at = 0;
    for_each_child_of(node, level, row, col, [&](std::int64_t r, std::int64_t c, std::uint64_t n) {
      result[at++] = {static_cast<std::uint32_t>(r << 8 | c), n};
    });
    if (t_.transposed)
      std::sort(result.begin(), result.end(),
                [](const child_ref& x, const child_ref& y) { return x.coordinate < y.coordinate; });
    return result;
  }
  /// f(row, column, node), rows and columns of the operand; not in its order if it is transposed.
  template <class F>
  void for_each_child_of(std::uint64_t node, int level, std::int64_t row, std::int64_t col,
                         F f) const {
    const std::int64_t d = std::int64_t{1} << t_.a.bits, step = block_extent(t_.a.bits, level - 1);
    const std::int64_t first_row = t_.transposed ? col : row, first_col = t_.transposed ? row : col;
    const auto places = [=](std::int64_t extent, std::int64_t first) {
      return std::min(d, (extent - first + step - 1) / step);
    };
    for_each_child(t_.a.bytes(), node, places(t_.a.extent.row, first_row),
                   places(t_.a.extent.col, first_col),
                   [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                     f(t_.transposed ? c : r, t_.transposed ? r : c, child);
                   });
  }

  [[nodiscard]] std::int64_t entries(std::uint64_t node, int level, std::int64_t row,
                                     std::int64_t col) const {
    if (node == 0) return 0;
    if (is_inner(node)) {
      const std::int64_t step = block_extent(t_.a.bits, level - 1);
      std::int64_t sum = 0;
      for_each_child_of(node, level, row, col,
                        [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                          sum += entries(child, level - 1, row + r * step, col + c * step);
                        });
      return sum;
    }
    if (!has_header(type_of(node))) return count_of(node);
    std::uint64_t count;
    std::memcpy(&count, t_.a.bytes() + place_of(node), 8);
    return static_cast<std::int64_t>(count);
  }
  /// The entries of a node, by rows, each times alpha; places count from (row, col). They are in
  /// `to` or in `spare`, which have as much room. count: their number.
  const tree_entry<T>* load(std::uint64_t node, int level, std::int64_t row, std::int64_t col,
                            tree_entry<T>* to, tree_entry<T>* spare, std::int64_t& count) const {
    count = 0;
    if (node == 0) return to;
    count = append(node, level, row, col, 0, 0, to) - to;
    if (!is_inner(node) && !t_.transposed) return to;
    if (!is_inner(node) && block_extent(t_.a.bits, level) <= 256) {
      sort_by_row(to, count, spare);
      return spare;
    }
    std::sort(to, to + count,
              [](const tree_entry<T>& x, const tree_entry<T>& y) { return x.key < y.key; });
    return to;
  }

private:
  tree_entry<T>* append(std::uint64_t node, int level, std::int64_t row, std::int64_t col,
                        std::int64_t base_row, std::int64_t base_col, tree_entry<T>* to) const {
    if (is_inner(node)) {
      const std::int64_t step = block_extent(t_.a.bits, level - 1);
      for_each_child_of(node, level, row, col,
                        [&](std::int64_t r, std::int64_t c, std::uint64_t child) {
                          to = append(child, level - 1, row + r * step, col + c * step,
                                      base_row + r * step, base_col + c * step, to);
                        });
      return to;
    }
    const T alpha = t_.alpha;
    const auto put = [&](std::int64_t r, std::int64_t c, const T& value) {
      const std::int64_t i = t_.transposed ? c : r, j = t_.transposed ? r : c;
      *to++ = {place_key(base_row + i, base_col + j), alpha * value};
    };
    const std::int64_t first_row = t_.transposed ? col : row, first_col = t_.transposed ? row : col;
    for_each_entry<const T>(t_.a.bytes(), node, t_.a.rows_from(first_row),
                            t_.a.cols_from(first_col), put);
    return to;
  }
  /// By counting; columns ascend in each row already.
  static void sort_by_row(const tree_entry<T>* list, std::int64_t count, tree_entry<T>* to) {
    std::int32_t first[257] = {};
    for (std::int64_t k = 0; k < count; ++k) ++first[(list[k].key >> 32) + 1];
    for (int i = 0; i < 256; ++i) first[i + 1] += first[i];
    for (std::int64_t k = 0; k < count; ++k) to[first[list[k].key >> 32]++] = list[k];
  }

  tree_operand<T, I> t_;
};

template <class T> std::int64_t count_runs(const tree_entry<T>* list, std::int64_t count) {
  std::int64_t runs = 0;
  for (std::int64_t k = 0; k < count; ++k)
    runs += k == 0 || list[k].key >> 32 != list[k - 1].key >> 32 ? 1 : 0;
  return runs;
}

/// Writes a leaf of the list, all of its bytes.
template <class T, class I>
void write_leaf(const tree_leaf<I>& leaf, const tree_entry<T>* list, std::int64_t rows,
                std::int64_t cols, unsigned char* to) {
  start_leaf<T>(leaf, to);
  const std::uint64_t node = tree_pointer(leaf.type, 0, leaf.entries);
  if (leaf.type == tree_node::dense || leaf.type == tree_node::masked) {
    leaf_cursor at;
    for (std::int64_t k = 0; k < leaf.entries; ++k)
      append_to_leaf<T>(
          to, node, at, rows, cols, static_cast<std::int64_t>(list[k].key >> 32), 1,
          [=](std::int64_t) { return static_cast<std::int64_t>(list[k].key & 0xFFFF'FFFF); },
          [=](std::int64_t) { return list[k].value; });
    return;
  }
  with_lists<T>(to, node, [&]<class C>(const leaf_lists<T, C>& l) {
    if (is_coo(leaf.type)) {
      for (std::int64_t k = 0; k < leaf.entries; ++k) {
        l.values[k] = list[k].value;
        l.first[2 * k] = static_cast<C>(list[k].key >> 32);
        l.first[2 * k + 1] = static_cast<C>(list[k].key);
      }
      return;
    }
    for (std::int64_t k = 0, run = -1, begin = 0; k < leaf.entries; ++k) {
      l.values[k] = list[k].value;
      l.columns[k] = static_cast<C>(list[k].key);
      if (k == 0 || list[k].key >> 32 != list[k - 1].key >> 32) {
        l.first[++run] = static_cast<C>(list[k].key >> 32);
        begin = k;
      }
      l.lengths[run] = static_cast<C>(k - begin);
    }
  });
}

} // namespace lacuna::detail::cpu
