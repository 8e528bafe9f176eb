// Where the entries of a matrix are, on a coarse grid: what pictures are drawn from.
#pragma once

#include <cstdint>

#include <lacuna/format/csr.hpp>

namespace lacuna {

/// Entries in each cell, row by row. A cell covers rows / height x cols / width coordinates.
struct density_grid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  array<std::int64_t> count;

  [[nodiscard]] std::int64_t at(std::int64_t y, std::int64_t x) const {
    return count[y * width + x];
  }
  [[nodiscard]] std::int64_t largest() const {
    return count.empty() ? 0 : *std::max_element(count.begin(), count.end());
  }
};

/// The grid has at most height x width cells, and never more than the matrix has rows or columns;
/// it is empty if the matrix is. O(entries + cells), in parallel; the same for any number of
/// threads. Scratch: the grid once more, and a row of it for each thread.
template <class T, class I, class O>
LACUNA_EXPORT density_grid density(const host_context& ctx, csr_view<const T, I, O> a,
                                   std::int64_t height, std::int64_t width);

} // namespace lacuna
