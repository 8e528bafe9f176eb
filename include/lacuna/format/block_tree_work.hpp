// What a device needs besides a block tree's nodes to multiply without decoding them one after the
// other: the entries cut into tiles, once for products with the matrix and once for those with its
// transpose. Made by the first product in that direction, and kept with the tree; a host has none.
// Values may change, the structure not.
//
// A tile is a thread block's work: the entries of neighbouring lines (rows of the product), or a
// part of long ones: of a single row, or of 16 columns, so that what is read of a leaf's rows lies
// together. In a tile entries stand in slots, in the order of the leaves' bytes, so
// that what is read lies together; each has a place in the order of the lines. 32 slots are a
// window. A piece is a row of neighbouring slots: entries of one row of a leaf that follow one
// another. A segment, pieces that follow one another in a leaf.
//
//   product with   bytes                                            read from the tree
//   the matrix     16 per window, 2 per piece, 32 per segment       values, columns
//   its transpose  16 per window, 8 per piece, 2 per entry          values
//   both           32 per tile, 2 per line
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include <lacuna/core/array.hpp>

namespace lacuna::detail {

/// All of these are loaded whole.
struct alignas(16) tree_tile {
  std::uint32_t first_window, first_piece, first_segment;
  std::uint32_t first_line, first_begin;
  std::uint16_t slots, lines; ///< lines: 0 if it is a part of a single line
  std::int32_t waiting;       ///< parts of lines: where the sum of the first waits; -1: whole lines
  std::uint32_t parts;        ///< of a line: its sums that wait lie together
};
struct alignas(16) tree_window {
  std::uint32_t pieces, segments;               ///< slots in which one begins
  std::uint16_t pieces_before, segments_before; ///< of the tile's
};
/// Places are those of slot 0, had it been the segment's.
struct alignas(16) tree_segment {
  std::int64_t values;  ///< bytes
  std::int64_t columns; ///< bytes; unused where columns follow one another
  std::int64_t first;   ///< column * 16 + kind
};
/// Kinds of segments: bytes of a coordinate, how far columns are apart in coordinates.
enum class tree_columns : int { one, one_of_two, two, two_of_two, four, four_of_two, following };
/// Bytes from a column to the next.
constexpr int step_of(tree_columns kind) {
  const int number = static_cast<int>(kind);
  return kind == tree_columns::following ? 0 : 1 << (number / 2 + number % 2);
}
/// Of a transposed product: places are those of slot 0, modulo 2^32.
struct alignas(8) tree_piece {
  std::uint32_t value; ///< counted in values
  std::uint32_t row;
};
/// A line of several tiles.
struct tree_long_line {
  std::uint32_t line;
  std::uint32_t first, count; ///< sums that wait
};

/// In `begins`: the line is in tiles of its own.
inline constexpr std::uint16_t tree_long_bit = 0x8000;

template <class Tiles, class Windows, class Segments, class Shifts, class Pieces, class Places,
          class Begins, class Lines>
struct tree_work_parts {
  int capacity = 0;
  std::int64_t waiting = 0; ///< sums of parts of lines
  Tiles tiles;
  Windows windows;
  Segments segments; ///< of products with the matrix
  Shifts shifts;     ///< likewise: of each piece, from slots to places
  Pieces pieces;     ///< of products with the transpose
  Places places;     ///< likewise, of each slot
  Begins begins;     ///< the place where each line begins; then those of long lines' tiles
  Lines long_lines;
};
template <space S>
using tree_work_view =
    tree_work_parts<vector_view<const tree_tile, S>, vector_view<const tree_window, S>,
                    vector_view<const tree_segment, S>, vector_view<const std::int16_t, S>,
                    vector_view<const tree_piece, S>, vector_view<const std::uint16_t, S>,
                    vector_view<const std::uint16_t, S>, vector_view<const tree_long_line, S>>;

template <space S>
struct tree_work
    : tree_work_parts<array<tree_tile, S>, array<tree_window, S>, array<tree_segment, S>,
                      array<std::int16_t, S>, array<tree_piece, S>, array<std::uint16_t, S>,
                      array<std::uint16_t, S>, array<tree_long_line, S>> {
  [[nodiscard]] tree_work_view<S> view() const {
    return {this->capacity,         this->waiting,         this->tiles.view(),
            this->windows.view(),   this->segments.view(), this->shifts.view(),
            this->pieces.view(),    this->places.view(),   this->begins.view(),
            this->long_lines.view()};
  }
  [[nodiscard]] std::size_t bytes() const {
    return this->tiles.bytes() + this->windows.bytes() + this->segments.bytes() +
           this->shifts.bytes() + this->pieces.bytes() + this->places.bytes() +
           this->begins.bytes() + this->long_lines.bytes();
  }
};
/// The work of both directions. Its memory is of the context that made the tree, as the nodes are,
/// whichever context multiplies first: so that all of a tree is freed behind one stream.
template <space S> class kept_tree_work {
public:
  explicit kept_tree_work(const context<S>& maker) : maker_(maker) {}
  /// That of a direction; where there is none yet, what make(the tree's context) returns, complete
  /// on the device.
  template <class F> tree_work_view<S> get(bool transposed, F&& make) {
    const std::lock_guard guard(mutex_);
    auto& work = transposed ? columns_ : rows_;
    if (!work) work = make(maker_);
    return work->view();
  }
  [[nodiscard]] std::size_t bytes() const {
    const std::lock_guard guard(mutex_);
    return (rows_ ? rows_->bytes() : 0) + (columns_ ? columns_->bytes() : 0);
  }

private:
  context<S> maker_;
  mutable std::mutex mutex_;
  std::optional<tree_work<S>> rows_, columns_;
};

} // namespace lacuna::detail
