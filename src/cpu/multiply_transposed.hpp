// Internal: y = alpha A^T x + beta z on the host without a transposed copy, for any matrix that is
// stored by rows: each thread scatters its rows into a window of y of its own; windows are added up
// in the order of the threads.
//
// The windows cover the columns a thread's rows touch. Where they are long, fewer threads work, so
// that zeroing and adding windows never costs more than the multiplication itself.
//
// Rows: rows(), columns(), entries(), first_row(part, parts),
// for_each_segment(first, last, f(row, begin, end)), colind, values, sorted: whether columns ascend
// in every segment.
#pragma once

#include <vector>

#include "cpu/rows.hpp"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::cpu {

struct column_window {
  std::int64_t first_row = 0, last_row = 0;
  std::int64_t first_column = 0, last_column = 0;
  std::int64_t place = 0; // where it begins among all windows
};

/// Columns that rows of the window touch; all of them if the rows are not sorted.
template <class Rows> void find_columns(const Rows& a, column_window& w) {
  w.first_column = a.sorted ? a.columns() : 0;
  w.last_column = a.sorted ? 0 : a.columns();
  if (!a.sorted) return;
  const auto widen = [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    w.first_column = std::min<std::int64_t>(w.first_column, a.colind[begin]);
    w.last_column = std::max<std::int64_t>(w.last_column, a.colind[end - 1] + 1);
  };
  a.for_each_segment(w.first_row, w.last_row, widen);
  w.first_column = std::min(w.first_column, w.last_column);
}

template <class Rows>
std::vector<column_window> make_windows(const host_context& ctx, const Rows& a) {
  const std::int64_t allowed = a.columns() + a.entries() / 2;
  for (int parts = part_count(ctx, a.rows() + a.entries(), entry_grain);; parts = parts * 3 / 4) {
    std::vector<column_window> windows(static_cast<std::size_t>(parts));
    for_each_part(ctx, parts, 1, [&](int part, int) {
      column_window& w = windows[static_cast<std::size_t>(part)];
      w.first_row = a.first_row(part, parts);
      w.last_row = a.first_row(part + 1, parts);
      find_columns(a, w);
    });
    std::int64_t total = 0;
    for (column_window& w : windows) {
      w.place = total;
      total += w.last_column - w.first_column;
    }
    if (parts == 1 || total <= allowed) return windows;
  }
}

template <class T, class Rows>
void multiply_transposed(const host_context& ctx, T alpha, const Rows& a, vector_view<const T> x,
                         T beta, vector_view<const T> z, vector_view<T> y) {
  const auto windows = make_windows(ctx, a);
  const column_window& end = windows.back();
  array<T> sums(ctx, end.place + end.last_column - end.first_column);
  for_each_part(ctx, static_cast<std::int64_t>(windows.size()), 1, [&](int part, int) {
    const column_window& w = windows[static_cast<std::size_t>(part)];
    std::fill_n(sums.data() + w.place, w.last_column - w.first_column, T{0});
    T* const mine = sums.data() + w.place - w.first_column;
    const auto* const colind = a.colind;
    const T* const values = a.values;
    const auto scatter = [&](std::int64_t row, std::int64_t begin, std::int64_t last) {
      const T factor = x[row];
      for (std::int64_t k = begin; k < last; ++k) mine[colind[k]] += values[k] * factor;
    };
    a.for_each_segment(w.first_row, w.last_row, scatter);
  });
  for_each_range(ctx, y.size(), entry_grain, [&](std::int64_t first, std::int64_t last) {
    constexpr std::int64_t block = 2048; // stays in L1 while windows are added
    T total[block];
    for (std::int64_t begin = first; begin < last; begin += block) {
      const std::int64_t count = std::min(block, last - begin);
      std::fill_n(total, count, T{0});
      for (const column_window& w : windows) {
        const std::int64_t from = std::max(begin, w.first_column);
        const std::int64_t to = std::min(begin + count, w.last_column);
        const T* theirs = sums.data() + w.place - w.first_column;
        for (std::int64_t c = from; c < to; ++c) total[c - begin] += theirs[c];
      }
      for (std::int64_t c = 0; c < count; ++c)
        y[begin + c] = beta == T{0} ? alpha * total[c] : alpha * total[c] + beta * z[begin + c];
    }
  });
}

} // namespace lacuna::detail::cpu
