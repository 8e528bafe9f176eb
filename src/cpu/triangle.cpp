// Kept triangles on the host. Rows of a level are shared out among threads, levels that are too
// narrow for that run together on one; each row is summed in stored
// order, so that neither schedule nor threads change a bit.
#include <cmath>

#include <lacuna/op/triangular_solve.hpp>

#include "cpu/level_runs.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Level of every row, entries of the triangle, entries of the diagonal beyond one a row.
struct triangle_counts {
  array<std::int32_t> level; ///< from 0
  std::int64_t levels = 0, entries = 0;
  bool several_diagonals = false;
};

template <class I, class O>
triangle_counts count_triangle(const host_context& ctx, const O* rowptr, const I* colind,
                               std::int64_t n, bool upper) {
  triangle_counts c;
  c.level = array<std::int32_t>(ctx, n);
  std::int32_t* const level = c.level.data();
  std::int32_t deepest = -1;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t row = upper ? n - 1 - step : step;
    std::int32_t above = -1;
    int diagonals = 0;
    for (O k = rowptr[row]; k < rowptr[row + 1]; ++k) {
      const I col = colind[k];
      if (col == row) {
        ++diagonals;
      } else if ((col > row) == upper) {
        above = std::max(above, level[col]);
        ++c.entries;
      }
    }
    c.several_diagonals |= diagonals > 1;
    level[row] = above + 1;
    deepest = std::max(deepest, above + 1);
  }
  c.levels = deepest + 1;
  return c;
}

template <class I, class O> struct triangle_filler {
  const O* rowptr;
  const I* colind;
  const O* through;
  bool upper;
  std::uint32_t place(O k) const { return static_cast<std::uint32_t>(through ? through[k] : k); }
  void fill(detail::triangle_pattern<space::host>& p, std::int64_t slot, std::int32_t& entry,
            std::int32_t& diagonal) const {
    const std::int64_t row = p.order[slot];
    const bool several = !p.diagonal_start.empty();
    p.start[slot] = entry;
    if (several) p.diagonal_start[slot] = diagonal;
    if (!p.unit && !several) p.diagonal[slot] = detail::no_entry;
    for (O k = rowptr[row]; k < rowptr[row + 1]; ++k) {
      const I col = colind[k];
      if (col == row) {
        if (p.unit) continue;
        p.diagonal[several ? diagonal++ : slot] = place(k);
      } else if ((col > row) == upper) {
        p.column[entry] = static_cast<std::int32_t>(col);
        p.from[entry++] = place(k);
      }
    }
  }
};

/// Entries of the diagonal, all rows together.
template <class I, class O>
std::int64_t count_diagonal(const O* rowptr, const I* colind, std::int64_t n) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < n; ++row)
    for (O k = rowptr[row]; k < rowptr[row + 1]; ++k) count += colind[k] == row;
  return count;
}

/// `width` right-hand sides of those from `first` on; b and x may be the same.
template <class T, int width>
void solve_slots(const detail::triangle_pattern<space::host>& p,
                 const detail::triangle_values<T, space::host>& v, T alpha, T beta, T over_alpha,
                 dense_view<const T> b, dense_view<T> x, std::int64_t first, std::int64_t begin,
                 std::int64_t end) {
  const std::int32_t* const order = p.order.data();
  const std::int32_t* const start = p.start.data();
  const std::int32_t* const column = p.column.data();
  const T* const entries = v.entries.data();
  const T* const inverse = p.unit ? nullptr : v.inverse.data();
  const std::int64_t b_row = b.row_stride(), x_row = x.row_stride();
  const std::int64_t b_col = b.col_stride(), x_col = x.col_stride();
  const T* const from = b.data() + first * b_col;
  T* const to = x.data() + first * x_col;
  // A row often needs the one before it: from that x to this one lie a product, a difference, a
  // product; all else is done before it is known.
  for (std::int64_t slot = begin; slot < end; ++slot) {
    const std::int64_t row = order[slot];
    T rest[width];
    for (int j = 0; j < width; ++j) rest[j] = beta * from[row * b_row + j * b_col];
    for (std::int32_t k = start[slot]; k < start[slot + 1]; ++k) {
      const T entry = alpha * entries[k];
      const T* const solved = to + column[k] * x_row;
      for (int j = 0; j < width; ++j) rest[j] -= entry * solved[j * x_col];
    }
    const T factor = inverse != nullptr ? inverse[slot] * over_alpha : T{1};
    for (int j = 0; j < width; ++j) to[row * x_row + j * x_col] = rest[j] * factor;
  }
}

} // namespace

template <class I, class O>
detail::triangle_pattern<space::host>
analyse_triangle(const host_context& ctx, detail::pattern_arrays<I, O, space::host> a,
                 const O* through, bool upper, bool unit, triangular_schedule schedule) {
  const std::int64_t n = std::max<std::int64_t>(a.rowptr.size() - 1, 0);
  const O* const rowptr = a.rowptr.data();
  const I* const colind = a.colind.data();
  detail::triangle_pattern<space::host> p;
  p.upper = upper;
  p.unit = unit;
  triangle_counts counts = count_triangle(ctx, rowptr, colind, n, upper);
  array<std::int32_t> begin(ctx, counts.levels + 1);
  std::fill(begin.begin(), begin.end(), 0);
  for (std::int64_t row = 0; row < n; ++row) ++begin[counts.level[row] + 1];
  std::int64_t widest = 0;
  for (std::int64_t level = 0; level < counts.levels; ++level) {
    widest = std::max<std::int64_t>(widest, begin[level + 1]);
    begin[level + 1] += begin[level];
  }
  p.statistics = {n, counts.entries, counts.levels, widest};
  p.schedule = schedule == triangular_schedule::automatic
                   ? choose_triangular_schedule(p.statistics, ctx.threads())
                   : schedule;
  const bool serial = p.schedule == triangular_schedule::serial;
  if (!serial) p.schedule = triangular_schedule::levels;
  auto most = p.schedule; // of the rows; the schedule stays what it is
  if (!serial)
    p.runs = detail::cut_levels(ctx, false, std::as_const(begin).view(), p.statistics.mean_row(), 1,
                                triangular_schedule::levels, most);
  p.order = array<std::int32_t>(ctx, n);
  p.start = array<std::int32_t>(ctx, n + 1);
  p.column = array<std::int32_t>(ctx, counts.entries);
  p.from = array<std::uint32_t>(ctx, counts.entries);
  if (!unit) {
    p.diagonal =
        array<std::uint32_t>(ctx, counts.several_diagonals ? count_diagonal(rowptr, colind, n) : n);
    if (counts.several_diagonals) p.diagonal_start = array<std::int32_t>(ctx, n + 1);
  }
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t row = upper ? n - 1 - step : step;
    p.order[serial ? step : begin[counts.level[row]]++] = static_cast<std::int32_t>(row);
  }
  const triangle_filler<I, O> filler{rowptr, colind, through, upper};
  std::int32_t entry = 0, diagonal = 0;
  for (std::int64_t slot = 0; slot < n; ++slot) filler.fill(p, slot, entry, diagonal);
  p.start[n] = entry;
  if (!p.diagonal_start.empty()) p.diagonal_start[n] = diagonal;
  return p;
}

template <class T>
std::int64_t gather_triangle(const host_context& ctx,
                             const detail::triangle_pattern<space::host>& p, const T* values,
                             detail::triangle_values<T, space::host>& to) {
  constexpr std::int64_t grain = 16384;
  for_each_range(ctx, p.from.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) to.entries[k] = values[p.from[k]];
  });
  if (p.unit) return -1;
  std::atomic<std::int64_t> missing{p.order.size()};
  const bool several = !p.diagonal_start.empty();
  for_each_range(ctx, p.order.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slot = begin; slot < end; ++slot) {
      const std::int64_t first = several ? p.diagonal_start[slot] : slot;
      const std::int64_t last = several ? p.diagonal_start[slot + 1] : slot + 1;
      T diagonal = 0;
      for (std::int64_t k = first; k < last; ++k)
        if (p.diagonal[k] != detail::no_entry) diagonal += values[p.diagonal[k]];
      to.inverse[slot] = T{1} / diagonal;
      if (std::isinf(to.inverse[slot])) {
        const std::int64_t row = p.order[slot];
        std::int64_t seen = missing.load();
        while (row < seen && !missing.compare_exchange_weak(seen, row)) {
        }
      }
    }
  });
  return missing.load() == p.order.size() ? -1 : missing.load();
}

template <class T>
void solve_triangle(const host_context& ctx, const detail::triangle_pattern<space::host>& p,
                    const detail::triangle_values<T, space::host>& v, T alpha, T beta,
                    dense_view<const T> b, dense_view<T> x,
                    const detail::triangle_scratch<T, space::host>&) {
  const T over_alpha = T{1} / alpha;
  const std::int64_t n = p.order.size(), columns = x.shape().col;
  constexpr int block = 4; // right-hand sides that share a pass over the triangle
  const auto solve = [&](std::int64_t first, std::int64_t begin, std::int64_t end) {
    if (columns - first >= block)
      return solve_slots<T, block>(p, v, alpha, beta, over_alpha, b, x, first, begin, end);
    for (; first < columns; ++first)
      solve_slots<T, 1>(p, v, alpha, beta, over_alpha, b, x, first, begin, end);
  };
  const std::int64_t blocks = (columns + block - 1) / block;
  if (p.schedule == triangular_schedule::serial) { // threads share the right-hand sides
    for_each_range(ctx, blocks, 1, [&](std::int64_t first, std::int64_t last) {
      for (; first < last; ++first) solve(first * block, 0, n);
    });
    return;
  }
  for_each_level_piece(ctx, p, blocks,
                       [&](std::int64_t pass, std::int64_t begin, std::int64_t end) {
                         solve(pass * block, begin, end);
                       });
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template detail::triangle_pattern<space::host> analyse_triangle<I, O>(                           \
      const host_context&, detail::pattern_arrays<I, O, space::host>, const O*, bool, bool,        \
      triangular_schedule);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T)                                                                      \
  template std::int64_t gather_triangle<T>(const host_context&,                                    \
                                           const detail::triangle_pattern<space::host>&, const T*, \
                                           detail::triangle_values<T, space::host>&);              \
  template void solve_triangle<T>(                                                                 \
      const host_context&, const detail::triangle_pattern<space::host>&,                           \
      const detail::triangle_values<T, space::host>&, T, T, dense_view<const T>, dense_view<T>,    \
      const detail::triangle_scratch<T, space::host>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::cpu
