// Internal: y = alpha A^T x + beta z on the host without a transposed copy, for any matrix that is
// stored by rows: each thread scatters its rows into sums of its own, which are added up in the
// order of the threads. Where beta is 0 the first thread's are y itself.
//
// A thread's sums cover all columns. Where that is more than the multiplication itself costs, rows
// are looked at first, and sums cover a window, the columns between the first and the last one that
// the thread's rows touch; where windows are long, too, fewer threads work. Columns are zeroed when
// rows first come near them: a band's are still in the cache when they are added to.
//
// Rows: rows(), columns(), entries(), first_row(part, parts),
// for_each_segment(first, last, f(row, begin, end)), colind, values, sorted: whether columns ascend
// in every segment.
#pragma once

#include <vector>

#include "cpu/rows.hpp"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::cpu {

/// Columns [first, last).
struct column_range {
  std::int64_t first = 0, last = 0;
};

/// The share of a thread: its rows, and the sums that it has room for.
struct column_window {
  std::int64_t first_row = 0, last_row = 0;
  column_range room;
  column_range reached;   // those that rows came near: zeroed, and added to
  std::int64_t place = 0; // where its sums begin among all windows' sums
};

/// Columns that rows of the window touch; all of them if the rows are not sorted.
template <class Rows> column_range find_columns(const Rows& a, const column_window& w) {
  if (!a.sorted) return {0, a.columns()};
  column_range found{a.columns(), 0};
  const auto widen = [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    found.first = std::min<std::int64_t>(found.first, a.colind[begin]);
    found.last = std::max<std::int64_t>(found.last, a.colind[end - 1] + 1);
  };
  a.for_each_segment(w.first_row, w.last_row, widen);
  return {std::min(found.first, found.last), found.last};
}

template <class Rows>
std::vector<column_window> make_windows(const host_context& ctx, const Rows& a) {
  const std::int64_t allowed = a.columns() + a.entries() / 2;
  for (int parts = part_count(ctx, a.rows() + a.entries(), entry_grain);; parts = parts * 3 / 4) {
    const bool all_columns = parts * a.columns() <= allowed;
    std::vector<column_window> windows(static_cast<std::size_t>(parts));
    for_each_part(ctx, all_columns ? 1 : parts, 1, [&](int part, int ways) {
      for (; part < parts; part += ways) {
        column_window& w = windows[static_cast<std::size_t>(part)];
        w.first_row = a.first_row(part, parts);
        w.last_row = a.first_row(part + 1, parts);
        w.room = all_columns ? column_range{0, a.columns()} : find_columns(a, w);
      }
    });
    std::int64_t total = 0;
    for (column_window& w : windows) {
      w.place = total;
      total += w.room.last - w.room.first;
    }
    if (parts == 1 || total <= allowed) return windows;
  }
}

/// Scatters the rows of a window into sums, which begin with the window's first column; returns
/// the columns it came near.
template <class T, class Rows>
column_range scatter_rows(const Rows& a, const column_window& w, vector_view<const T> x, T* sums) {
  constexpr std::int64_t near = 512; // columns zeroed at once: 4 KiB of doubles
  T* const of_column = sums - w.room.first;
  column_range reached = a.sorted ? column_range{} : w.room;
  const auto reach = [&](std::int64_t first, std::int64_t last) {
    first = std::max(first / near * near, w.room.first);
    last = std::min(last / near * near + near, w.room.last);
    if (reached.first == reached.last) reached = {first, first};
    if (first < reached.first) std::fill(of_column + first, of_column + reached.first, T{0});
    if (last > reached.last) std::fill(of_column + reached.last, of_column + last, T{0});
    reached = {std::min(first, reached.first), std::max(last, reached.last)};
  };
  std::fill(of_column + reached.first, of_column + reached.last, T{0});
  const auto* const colind = a.colind;
  const T* const values = a.values;
  a.for_each_segment(
      w.first_row, w.last_row, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        if (colind[begin] < reached.first || colind[end - 1] >= reached.last) [[unlikely]]
          if (a.sorted) reach(colind[begin], colind[end - 1]);
        const T factor = x[row];
        for (std::int64_t k = begin; k < end; ++k) of_column[colind[k]] += values[k] * factor;
      });
  return reached;
}

template <class T, class Rows>
void multiply_transposed(const host_context& ctx, T alpha, const Rows& a, vector_view<const T> x,
                         T beta, vector_view<const T> z, vector_view<T> y) {
  auto windows = make_windows(ctx, a);
  // Where y is only written, the first window's sums are y's elements.
  const bool in_y = beta == T{0};
  const std::int64_t in_sums_from = in_y && windows.size() > 1 ? windows[1].place : 0;
  const column_window& end = windows.back();
  const std::int64_t total_room = end.place + end.room.last - end.room.first;
  array<T> sums(ctx, in_y && windows.size() == 1 ? 0 : total_room - in_sums_from);
  const auto sums_of = [&](const column_window& w) {
    return in_y && &w == windows.data() ? y.data() + w.room.first
                                        : sums.data() + (w.place - in_sums_from);
  };
  for_each_part(ctx, static_cast<std::int64_t>(windows.size()), 1, [&](int part, int) {
    column_window& w = windows[static_cast<std::size_t>(part)];
    w.reached = scatter_rows(a, w, x, sums_of(w));
  });

  const int threads = part_count(ctx, y.size(), entry_grain);
  const int ranges = threads == 1 ? 1 : 8 * threads; // where sums are y's there is nothing to do
  for_each_dynamic(threads, ranges, [&](int range) {
    constexpr std::int64_t block = 2048; // stays in L1 while windows are added
    T total[block];
    const std::int64_t last = part_begin(y.size(), range + 1, ranges);
    for (std::int64_t begin = part_begin(y.size(), range, ranges); begin < last; begin += block) {
      const std::int64_t count = std::min(block, last - begin);
      const column_range& first_reached = windows.front().reached;
      bool of_first_alone = in_y && alpha == T{1} && first_reached.first <= begin &&
                            begin + count <= first_reached.last;
      for (std::size_t i = 1; i < windows.size() && of_first_alone; ++i)
        of_first_alone =
            windows[i].reached.last <= begin || begin + count <= windows[i].reached.first;
      if (of_first_alone) continue;
      std::fill_n(total, count, T{0});
      for (const column_window& w : windows) {
        const std::int64_t from = std::max(begin, w.reached.first);
        const std::int64_t to = std::min(begin + count, w.reached.last);
        const T* const theirs = sums_of(w) - w.room.first;
        for (std::int64_t c = from; c < to; ++c) total[c - begin] += theirs[c];
      }
      for (std::int64_t c = 0; c < count; ++c)
        y[begin + c] = beta == T{0} ? alpha * total[c] : alpha * total[c] + beta * z[begin + c];
    }
  });
}

} // namespace lacuna::detail::cpu
