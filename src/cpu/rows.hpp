// How the rows of a CSR matrix, or its entries, are dealt out to threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/parallel.hpp"

namespace lacuna::detail::cpu {

/// Entries (or rows) below which another thread does not pay.
inline constexpr std::int64_t entry_grain = std::int64_t{1} << 14;

/// The number of parts that for_each_part would make, for those who need scratch for each of them;
/// for_each_part(ctx, parts, 1, f) then makes that many.
inline int part_count(const host_context& ctx, std::int64_t size, std::int64_t grain) {
  return static_cast<int>(std::clamp<std::int64_t>(size / grain, 1, ctx.threads()));
}

/// First row of a part when rows and entries together are dealt out evenly. O(log rows).
template <class O> std::int64_t first_row(const O* rowptr, std::int64_t rows, int part, int parts) {
  if (part == 0 || rows == 0) return 0;
  if (part == parts) return rows;
  const std::int64_t target = part_begin(rows + rowptr[rows], part, parts);
  std::int64_t low = 0, high = rows;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (middle + rowptr[middle] < target)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// The row that holds entry k; skips empty rows.
template <class O> std::int64_t row_of_entry(const O* rowptr, std::int64_t rows, std::int64_t k) {
  return std::upper_bound(rowptr, rowptr + rows + 1, k) - rowptr - 1;
}

/// Calls f(row, first, last) for the rows that entries [begin, end) belong to, cut at both ends:
/// a row longer than a thread's share is shared.
template <class O, class F>
void for_each_row_piece(const O* rowptr, std::int64_t rows, std::int64_t begin, std::int64_t end,
                        F&& f) {
  if (begin == end) return;
  for (std::int64_t row = row_of_entry(rowptr, rows, begin); begin < end; ++row) {
    const std::int64_t last = std::min<std::int64_t>(rowptr[row + 1], end);
    if (begin < last) f(row, begin, last);
    begin = std::max(begin, last);
  }
}

} // namespace lacuna::detail::cpu
