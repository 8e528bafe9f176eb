// Cutting a CSR matrix into tiles of equal work, whatever its rows look like: merge path (Merrill
// and Garland 2016), with rows that may weigh less than entries.
#pragma once

#include "gpu/parts/cuda.cuh"
#include <lacuna/op/inspection.hpp>

namespace lacuna::detail::gpu {

struct tile_shape {
  /// The most entries that a tile holds, plus one for every rows_per_item rows. Tiles of whole rows
  /// may hold more, by less than the longest row.
  std::int64_t share;
  std::int64_t rows_per_item;
  /// Split tiles may begin and end within a row; others begin with the first row past the share.
  bool split = true;
};

/// At least one.
inline std::int64_t tile_count(std::int64_t rows, std::int64_t entries, tile_shape shape) {
  const std::int64_t items = entries + rows / shape.rows_per_item;
  return items <= shape.share ? 1 : (items + shape.share - 1) / shape.share;
}

/// Writes the starts of those tiles that begin at a row, as find_tiles has them, by one thread per
/// row and one more for the row past the last. before, begin, next: where the row before it, it and
/// the next one begin; `before` is read where tiles have whole rows, `next` where they are split.
/// Shape::value is a constant.
template <class Shape, class I, class O>
__device__ void tiles_at_row(std::int64_t row, std::int64_t rows, O before, O begin, O next,
                             std::int64_t tiles, tile_start<I, O>* starts) {
  constexpr tile_shape shape = Shape::value; // so that nothing is divided by a variable
  if (row == 0) starts[0] = {I{0}, O{0}};
  if (row == rows) starts[tiles] = {static_cast<I>(rows), begin};
  const auto reached = [&](std::int64_t r, O at) { return at + r / shape.rows_per_item; };
  const auto first_at_or_past = [&](std::int64_t d) { return (d + shape.share - 1) / shape.share; };
  if constexpr (shape.split) {
    if (row == rows) return;
    const std::int64_t end = min(first_at_or_past(reached(row + 1, next)), tiles);
    for (std::int64_t t = max(first_at_or_past(reached(row, begin)), std::int64_t{1}); t < end; ++t)
      starts[t] = {static_cast<I>(row),
                   static_cast<O>(t * shape.share - row / shape.rows_per_item)};
  } else if (row > 0) {
    const std::int64_t end = min(reached(row, begin) / shape.share + 1, tiles);
    for (std::int64_t t = max(reached(row - 1, before) / shape.share + 1, std::int64_t{1}); t < end;
         ++t)
      starts[t] = {static_cast<I>(row), begin};
  }
}

/// Where each tile begins; one more than tiles, and at least one tile. O(tiles log rows).
template <class I, class O>
array<tile_start<I, O>, space::device> find_tiles(const device_context& ctx, const O* rowptr,
                                                  std::int64_t rows, std::int64_t entries,
                                                  tile_shape shape);

} // namespace lacuna::detail::gpu
