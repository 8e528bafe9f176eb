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

/// Where each tile begins; one more than tiles, and at least one tile. O(tiles log rows).
template <class I, class O>
array<tile_start<I, O>, space::device> find_tiles(const device_context& ctx, const O* rowptr,
                                                  std::int64_t rows, std::int64_t entries,
                                                  tile_shape shape);

} // namespace lacuna::detail::gpu
