#include <lacuna/plan/density.hpp>

#include <vector>

#include "cpu/rows.hpp"

namespace lacuna {
namespace {

/// The cell of a row or column. By a product: a division each would cost more than the memory.
/// Cells may differ by one row or column in what they cover.
class cell_of {
public:
  cell_of(std::int64_t size, std::int64_t cells)
      : ratio_(static_cast<double>(cells) / static_cast<double>(size)), last_(cells - 1) {}
  std::int64_t operator()(std::int64_t i) const {
    // + 0.5: the first index of a cell must not fall to the one before by rounding.
    return std::min(static_cast<std::int64_t>((static_cast<double>(i) + 0.5) * ratio_), last_);
  }

private:
  double ratio_;
  std::int64_t last_;
};

} // namespace

template <class T, class I, class O>
density_grid density(const host_context& ctx, csr_view<const T, I, O> a, std::int64_t height,
                     std::int64_t width) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  if (rows == 0 || cols == 0) return {};
  density_grid grid;
  grid.height = std::min(rows, height);
  grid.width = std::min(cols, width);
  grid.count = array<std::int64_t>(ctx, checked_mul(grid.height, grid.width));
  std::fill(grid.count.begin(), grid.count.end(), 0);
  if (a.size() == 0) return grid;

  const cell_of y_of(rows, grid.height), x_of(cols, grid.width);
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const int parts = detail::cpu::part_count(ctx, a.size(), detail::cpu::entry_grain);
  // A part counts in lines of its own: those its rows fall on. Neighbours share one line at most.
  std::vector<std::int64_t> first_line, line_count;
  std::int64_t lines = 0;
  for (int part = 0; part < parts; ++part) {
    const std::int64_t begin = detail::cpu::part_begin(a.size(), part, parts);
    const std::int64_t end = detail::cpu::part_begin(a.size(), part + 1, parts);
    const std::int64_t top = y_of(detail::cpu::row_of_entry(rowptr, rows, begin));
    first_line.push_back(top);
    line_count.push_back(y_of(detail::cpu::row_of_entry(rowptr, rows, end - 1)) - top + 1);
    lines += line_count.back();
  }
  array<std::int64_t> counts(ctx, checked_mul(lines, grid.width));
  std::vector<std::int64_t*> own;
  for (std::int64_t* next = counts.data(); const std::int64_t each : line_count) {
    own.push_back(next);
    next += each * grid.width;
  }
  detail::cpu::for_each_part(ctx, parts, 1, [&](int part, int) {
    const auto p = static_cast<std::size_t>(part);
    std::fill_n(own[p], line_count[p] * grid.width, 0);
    detail::cpu::for_each_row_piece(rowptr, rows, detail::cpu::part_begin(a.size(), part, parts),
                                    detail::cpu::part_begin(a.size(), part + 1, parts),
                                    [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                                      std::int64_t* const line =
                                          own[p] + (y_of(row) - first_line[p]) * grid.width;
                                      for (std::int64_t k = first; k < last; ++k)
                                        ++line[x_of(colind[k])];
                                    });
  });
  for (std::size_t p = 0; p < own.size(); ++p) {
    std::int64_t* const to = grid.count.data() + first_line[p] * grid.width;
    for (std::int64_t k = 0; k < line_count[p] * grid.width; ++k) to[k] += own[p][k];
  }
  return grid;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template density_grid density(const host_context&, csr_view<const T, I, O>, std::int64_t,        \
                                std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna
