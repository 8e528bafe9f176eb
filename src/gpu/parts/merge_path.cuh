// Merge path: rows and entries of a CSR matrix laid out as one list, so that equal shares of the
// list are equal shares of work whatever the rows look like (Merrill and Garland 2016).
//
// The list merges the row ends rowptr[1..rows] with the entry numbers 0..nnz-1: diagonal d of the
// path has consumed `row` row ends and d - row entries.
#pragma once

#include <cstdint>

namespace lacuna::gpu {

/// Rows consumed on diagonal d: the first row r with row_end(r) > d - 1 - r, by bisection.
/// row_end(r) = entries in rows 0..r; entries are numbered from 0.
template <class RowEnd>
__device__ std::int64_t merge_path_row(std::int64_t d, std::int64_t rows, std::int64_t entries,
                                       RowEnd row_end) {
  std::int64_t low = d > entries ? d - entries : 0;
  std::int64_t high = d < rows ? d : rows;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (row_end(middle) <= d - 1 - middle) low = middle + 1;
    else high = middle;
  }
  return low;
}

} // namespace lacuna::gpu
