#include "gpu/parts/tiles.cuh"

#include <lacuna/core/types.hpp>

namespace lacuna::detail::gpu {

template <class I, class O>
array<tile_start<I, O>, space::device> find_tiles(const device_context& ctx, const O* rowptr,
                                                  std::int64_t rows, std::int64_t entries,
                                                  tile_shape shape) {
  const std::int64_t tiles = tile_count(rows, entries, shape);
  array<tile_start<I, O>, space::device> starts(ctx, tiles + 1);
  for_each(ctx, tiles + 1, "find_tiles", [=, starts = starts.data()] __device__(std::int64_t tile) {
    if (tile == tiles) {
      starts[tile] = {static_cast<I>(rows), static_cast<O>(entries)};
      return;
    }
    // The first row whose end is past d; the rows before it have ended. Whole rows: the
    // first that begins at d or past it. The first tile begins with row 0, though light
    // rows may end at d = 0.
    const std::int64_t d = tile * shape.share;
    std::int64_t low = 0, high = tile == 0 ? 0 : rows;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const std::int64_t next = shape.split ? middle + 1 : middle;
      const std::int64_t reached = rowptr[next] + next / shape.rows_per_item;
      if (shape.split ? reached <= d : reached < d)
        low = middle + 1;
      else
        high = middle;
    }
    const std::int64_t entry = shape.split ? min(d - low / shape.rows_per_item, entries)
                                           : static_cast<std::int64_t>(rowptr[low]);
    starts[tile] = {static_cast<I>(low), static_cast<O>(entry)};
  });
  return starts;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template array<tile_start<I, O>, space::device> find_tiles<I, O>(                                \
      const device_context&, const O*, std::int64_t, std::int64_t, tile_shape);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
