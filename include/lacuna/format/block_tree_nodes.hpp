// The nodes of a block tree: how a pointer says where a node is and what it is, what a node's bytes
// mean, and the flat lists that every operation on trees walks.
//
// A pointer is 64 bits: the node's place in the pool in bytes, a multiple of 16, with its type in
// the four lowest bits, and in the 16 highest its entries (an inner node: its children) less one,
// where those fit. 0 is no node. Places are relative to the pool's beginning, so that a pool can be
// copied or moved to another memory as it is; it may have 2^48 bytes.
//
//   type         bytes, in this order, padded to a multiple of 16
//   inner        children: pointers; 2-byte coordinates (row * 256 + column), ascending
//   inner_dense  pointers of all places, by rows; places without a child are 0
//   dense        values by rows: every place inside the matrix is an entry
//   masked       values by rows, 0 where there is no entry; a bit for each place, by rows
//   coo1, coo2   one, two values; their coordinates: a byte for the row, one for the column
//   coo4         values, padded to a multiple of 4; coordinates likewise
//   rows         values; runs - 1 in 2 bytes; runs of entries of one row: their rows, their lengths
//                less one; columns; a byte each
//   coo_16, _32  16 bytes: entries, runs (8 and 4 bytes); then as coo4, rows, with coordinates of 2
//   rows_16, _32 or 4 bytes
//
// Entries of a leaf are by rows, and in a row by columns, each once.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <lacuna/format/common.hpp>

namespace lacuna {

enum class tree_node : std::uint8_t {
  none,
  inner,
  inner_dense,
  dense,
  masked,
  coo1,
  coo2,
  coo4,
  rows,
  coo_16,
  rows_16,
  coo_32,
  rows_32
};
inline constexpr int tree_node_types = 13;
/// "inner", "coo4", …
LACUNA_EXPORT const char* to_string(tree_node type);

/// What a pool consists of.
struct alignas(16) tree_unit {
  unsigned char bytes[16];
};

/// A leaf, as lists hold it: its first row and column in the stored matrix.
template <class I> struct tree_item {
  std::uint64_t node;
  I row, col;
};

/// Work for one thread, or one thread block: the items [first, the next task's first) of a stripe,
/// and with them its lines [begin, end), which no other stripe's leaves touch. Lines are rows in
/// the list by rows and columns in the one by columns. Where a stripe has very many entries its
/// items are dealt out to `parts` tasks, always the same whatever runs them.
template <class I> struct tree_task {
  std::int64_t first;
  std::int64_t slot; ///< lines of tasks with parts > 1 before this one: where its sums wait
  I begin, end;
  std::int32_t part, parts;
};

namespace detail {

inline constexpr std::uint64_t tree_place_mask = 0x0000'FFFF'FFFF'FFF0;

constexpr tree_node type_of(std::uint64_t node) { return static_cast<tree_node>(node & 15); }
constexpr std::int64_t place_of(std::uint64_t node) {
  return static_cast<std::int64_t>(node & tree_place_mask);
}
/// Of a node whose pointer says it.
constexpr std::int64_t count_of(std::uint64_t node) {
  return static_cast<std::int64_t>(node >> 48) + 1;
}
constexpr bool is_inner(std::uint64_t node) {
  return type_of(node) == tree_node::inner || type_of(node) == tree_node::inner_dense;
}
/// Bytes of a coordinate in a leaf.
constexpr int coordinate_bytes(tree_node type) {
  return type >= tree_node::coo_32 ? 4 : type >= tree_node::coo_16 ? 2 : 1;
}
/// Whether the leaf begins with its entries and runs.
constexpr bool has_header(tree_node type) { return type >= tree_node::coo_16; }
constexpr bool is_rows(tree_node type) {
  return type == tree_node::rows || type == tree_node::rows_16 || type == tree_node::rows_32;
}
constexpr bool is_coo(tree_node type) {
  return (type >= tree_node::coo1 && type <= tree_node::coo4) || type == tree_node::coo_16 ||
         type == tree_node::coo_32;
}
constexpr std::int64_t padded_entries(tree_node type, std::int64_t entries) {
  return type == tree_node::coo1 || type == tree_node::coo2 ? entries : (entries + 3) / 4 * 4;
}
constexpr std::int64_t to_units(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }
constexpr std::uint64_t tree_pointer(tree_node type, std::int64_t place, std::int64_t entries) {
  return static_cast<std::uint64_t>(place) | static_cast<std::uint64_t>(type) |
         (has_header(type) ? 0 : static_cast<std::uint64_t>(entries - 1) << 48);
}

/// Bytes of a leaf with these entries, in so many runs, over so many rows and columns.
constexpr std::int64_t leaf_bytes(tree_node type, std::int64_t value_bytes, std::int64_t entries,
                                  std::int64_t runs, std::int64_t rows, std::int64_t cols) {
  const std::int64_t w = coordinate_bytes(type), head = has_header(type) ? 16 : 0;
  if (type == tree_node::dense) return to_units(rows * cols * value_bytes);
  if (type == tree_node::masked) return to_units(rows * cols * value_bytes + (rows * cols + 7) / 8);
  if (is_rows(type))
    return to_units(head + (head == 0 ? 2 : 0) + entries * (value_bytes + w) + 2 * w * runs);
  return to_units(head + padded_entries(type, entries) * (value_bytes + 2 * w));
}
constexpr std::int64_t inner_bytes(tree_node type, std::int64_t children, std::int64_t rows,
                                   std::int64_t cols) {
  return to_units(type == tree_node::inner_dense ? 8 * rows * cols : 10 * children);
}
/// The inner node that takes the fewest bytes.
constexpr tree_node smallest_inner(std::int64_t children, std::int64_t rows, std::int64_t cols) {
  return 8 * rows * cols <= 10 * children ? tree_node::inner_dense : tree_node::inner;
}

struct leaf_choice {
  tree_node type;
  std::int64_t bytes;
};
/// The leaf that takes the fewest bytes. extent: rows and columns that its coordinates must reach;
/// single: whether it may be dense, as those of the lowest level.
constexpr leaf_choice smallest_leaf(std::int64_t value_bytes, std::int64_t entries,
                                    std::int64_t runs, std::int64_t extent, bool single,
                                    std::int64_t rows, std::int64_t cols) {
  leaf_choice best{tree_node::none, 0};
  const auto offer = [&](tree_node type) {
    const std::int64_t bytes = leaf_bytes(type, value_bytes, entries, runs, rows, cols);
    if (best.type == tree_node::none || bytes < best.bytes) best = {type, bytes};
  };
  if (extent <= 256) {
    if (single && entries == rows * cols) offer(tree_node::dense);
    offer(entries == 1 ? tree_node::coo1 : entries == 2 ? tree_node::coo2 : tree_node::coo4);
    offer(tree_node::rows);
    if (single && entries < rows * cols) offer(tree_node::masked);
  } else if (extent <= 65536) {
    offer(tree_node::rows_16);
    offer(tree_node::coo_16);
  } else {
    offer(tree_node::rows_32);
    offer(tree_node::coo_32);
  }
  return best;
}
/// Queues, by type and entries: 1, up to 32, more. In a task leaves are in the order of their
/// queues, so that neighbours do like work.
constexpr int queue_of(std::uint64_t node) {
  const std::int64_t n = has_header(type_of(node)) ? 33 : count_of(node);
  return 3 * static_cast<int>(node & 15) + (n > 32 ? 2 : n > 1 ? 1 : 0);
}

/// Where the parts of a leaf are that lists its entries: coo or rows. T may be const.
template <class T, class C> struct leaf_lists {
  std::int64_t entries, runs;
  T* values;
  like<T, C>* first;   ///< coo: (row, column), …; rows: the runs' rows
  like<T, C>* lengths; ///< rows: less one
  like<T, C>* columns; ///< rows
};
template <class C, class T>
leaf_lists<T, C> lists_of(like<T, unsigned char>* leaf, std::uint64_t node) {
  using byte = like<T, unsigned char>;
  const tree_node type = type_of(node);
  leaf_lists<T, C> l{};
  byte* p = leaf;
  if (has_header(type)) {
    std::uint64_t entries;
    std::uint32_t runs;
    std::memcpy(&entries, p, 8);
    std::memcpy(&runs, p + 8, 4);
    l.entries = static_cast<std::int64_t>(entries);
    l.runs = runs;
    p += 16;
  } else {
    l.entries = count_of(node);
  }
  l.values = reinterpret_cast<T*>(p);
  p += (is_rows(type) ? l.entries : padded_entries(type, l.entries)) *
       static_cast<std::int64_t>(sizeof(T));
  if (is_rows(type) && !has_header(type)) {
    std::uint16_t less;
    std::memcpy(&less, p, 2);
    l.runs = std::int64_t{less} + 1;
    p += 2;
  }
  l.first = reinterpret_cast<like<T, C>*>(p);
  l.lengths = l.first + l.runs;
  l.columns = l.lengths + l.runs;
  return l;
}
/// Calls f(lists) with the coordinates' type; the leaf is coo or rows.
template <class T, class F>
void with_lists(like<T, unsigned char>* leaf, std::uint64_t node, F&& f) {
  switch (coordinate_bytes(type_of(node))) {
  case 1: return f(lists_of<std::uint8_t, T>(leaf, node));
  case 2: return f(lists_of<std::uint16_t, T>(leaf, node));
  default: return f(lists_of<std::uint32_t, T>(leaf, node));
  }
}
/// Whether place k of a masked leaf is an entry; mask: behind its values.
inline bool has_place(const unsigned char* mask, std::int64_t k) {
  return (mask[k / 8] >> (k % 8) & 1) != 0;
}

/// Calls f(row, column, value) with each entry of a leaf, by rows; row and column count from the
/// leaf's first. rows, cols: how far it reaches, inside of the matrix. T may be const.
template <class T, class F>
void for_each_entry(like<T, unsigned char>* pool, std::uint64_t node, std::int64_t rows,
                    std::int64_t cols, F&& f) {
  auto* const leaf = pool + place_of(node);
  const tree_node type = type_of(node);
  if (type == tree_node::dense || type == tree_node::masked) {
    T* const values = reinterpret_cast<T*>(leaf);
    const auto* const mask = leaf + rows * cols * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c)
        if (type == tree_node::dense || has_place(mask, r * cols + c))
          f(r, c, values[r * cols + c]);
    return;
  }
  with_lists<T>(leaf, node, [&](const auto& l) {
    if (is_coo(type)) {
      for (std::int64_t k = 0; k < l.entries; ++k)
        f(std::int64_t{l.first[2 * k]}, std::int64_t{l.first[2 * k + 1]}, l.values[k]);
      return;
    }
    std::int64_t k = 0;
    for (std::int64_t run = 0; run < l.runs; ++run)
      for (std::int64_t end = k + l.lengths[run] + 1; k < end; ++k)
        f(std::int64_t{l.first[run]}, std::int64_t{l.columns[k]}, l.values[k]);
  });
}

/// Calls f(row, column, child) with each child of an inner node, by rows; rows and columns count
/// the node's places.
template <class F>
void for_each_child(const unsigned char* pool, std::uint64_t node, std::int64_t rows,
                    std::int64_t cols, F&& f) {
  const auto* const children = reinterpret_cast<const std::uint64_t*>(pool + place_of(node));
  if (type_of(node) == tree_node::inner_dense) {
    for (std::int64_t k = 0; k < rows * cols; ++k)
      if (children[k] != 0) f(k / cols, k % cols, children[k]);
    return;
  }
  const std::int64_t count = count_of(node);
  const auto* const coordinates = reinterpret_cast<const std::uint16_t*>(children + count);
  for (std::int64_t k = 0; k < count; ++k)
    f(std::int64_t{coordinates[k]} >> 8, std::int64_t{coordinates[k]} & 255, children[k]);
}

} // namespace detail
} // namespace lacuna
