// X of several columns, stored by columns, copied by rows: what kernels that scale rows of X want.
#pragma once

#include "cpu/parallel.hpp"
#include <lacuna/core/array.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::detail::cpu {

/// Rows that are copied together: whole lines of X, and what is written stays in a cache meanwhile.
inline constexpr std::int64_t copied_rows = 16;

/// Allocates as much as X holds; reads and writes that much.
template <class T> array<T> copy_by_rows(const host_context& ctx, dense_view<const T> x) {
  const std::int64_t rows = x.shape().row, columns = x.shape().col; // clang 14 captures no bindings
  array<T> result(ctx, checked_mul(rows, columns));
  const std::int64_t blocks = (rows + copied_rows - 1) / copied_rows;
  constexpr std::int64_t grain = std::int64_t{1} << 14; // elements
  const std::int64_t block_grain = 1 + grain / (copied_rows * std::max<std::int64_t>(columns, 1));
  for_each_range(ctx, blocks, block_grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t row = block * copied_rows;
      const std::int64_t count = std::min(copied_rows, rows - row);
      T* to = result.data() + row * columns;
      for (std::int64_t j = 0; j < columns; ++j) {
        const T* from = x.data() + row * x.row_stride() + j * x.col_stride();
        for (std::int64_t i = 0; i < count; ++i) to[i * columns + j] = from[i * x.row_stride()];
      }
    }
  });
  return result;
}

} // namespace lacuna::detail::cpu
