// Internal: what both engines know of a block tree before it is made: how far blocks of a level
// reach, what a leaf costs beside its bytes, and how stripes are cut into tasks.
#pragma once

#include <lacuna/format/block_tree.hpp>

namespace lacuna::detail {

/// Bytes that a leaf takes beside its own: a child's pointer and coordinates, and the lists.
template <class I> constexpr std::int64_t leaf_overhead = 10 + sizeof(tree_item<I>) + 8;

/// x / 2^bits, for any number of bits.
constexpr std::int64_t shifted(std::int64_t x, int bits) { return bits >= 63 ? 0 : x >> bits; }
/// Rows and columns of a block of a level, as far as 63 bits go.
constexpr std::int64_t block_extent(int bits, int level) {
  const int shift = bits * (level + 1);
  return shift >= 62 ? std::int64_t{1} << 62 : std::int64_t{1} << shift;
}
/// Levels of a tree.
constexpr int level_count(int bits, std::int64_t rows, std::int64_t cols) {
  int levels = 1;
  while (block_extent(bits, levels - 1) < (rows > cols ? rows : cols)) ++levels;
  return levels;
}
/// Bytes of a coordinate in a flat list over blocks of this extent.
constexpr int flat_width(std::int64_t extent) {
  return extent <= 256 ? 1 : extent <= 65536 ? 2 : 4;
}

/// Tasks that share a stripe with so many entries and lines. One with several gives each 2^16
/// entries at least, some 50 us of a thread's work, and four times what its sums take.
constexpr std::int32_t task_parts(std::int64_t entries, std::int64_t lines) {
  constexpr std::int64_t least = std::int64_t{1} << 16;
  const std::int64_t each = least > 4 * lines ? least : 4 * lines;
  if (entries < 2 * each) return 1;
  const std::int64_t parts = entries / each;
  return parts > 1 << 20 ? 1 << 20 : static_cast<std::int32_t>(parts);
}

} // namespace lacuna::detail
