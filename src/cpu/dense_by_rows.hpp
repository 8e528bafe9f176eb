// X of several columns, stored by columns, copied by rows: what kernels that scale rows of X want.
#pragma once

#include "cpu/parallel.hpp"
#include "cpu/stream.hpp"
#include "cpu/tile_kernels.hpp"
#include <lacuna/core/array.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::detail::cpu {

/// Rows that are copied together: whole lines of X, and what is written stays in a cache meanwhile.
inline constexpr std::int64_t copied_rows = 32;
/// Columns up to which such rows are put together in a tile, to be streamed in whole lines.
inline constexpr std::int64_t streamed_columns = 64;
template <class T> struct alignas(64) copied_tile { T elements[copied_rows * streamed_columns]; };

/// Allocates as much as X holds; reads and writes that much. X by columns.
template <class T> array<T> copy_by_rows(const host_context& ctx, dense_view<const T> x) {
  const std::int64_t rows = x.shape().row, columns = x.shape().col; // clang 14 captures no bindings
  array<T> result(ctx, checked_mul(rows, columns));
  const auto& kernels = best_tile_kernels<T>();
  const std::int64_t blocks = (rows + copied_rows - 1) / copied_rows;
  constexpr std::int64_t grain = std::int64_t{1} << 14; // elements
  const std::int64_t block_grain = 1 + grain / (copied_rows * std::max<std::int64_t>(columns, 1));
  const bool streams = columns <= streamed_columns &&
                       columns % (64 / std::int64_t{sizeof(T)}) == 0 &&
                       result.bytes() >= streamed_bytes;
  for_each_range(ctx, blocks, block_grain, [&](std::int64_t first, std::int64_t last) {
    copied_tile<T> tile;
    const tile_writer writer(streams);
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t row = block * copied_rows, count = std::min(copied_rows, rows - row);
      T* const to = result.data() + row * columns;
      kernels.transpose(x.data() + row, x.col_stride(), columns, count,
                        streams ? tile.elements : to, columns, false);
      if (streams) writer.write(tile.elements, count * columns, to);
    }
  });
  return result;
}

} // namespace lacuna::detail::cpu
