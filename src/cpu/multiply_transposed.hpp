// Internal: y = alpha A^T x + beta z on the host without a transposed copy, for any matrix that is
// stored by rows: each thread scatters its rows into sums of its own, which are added up in the
// order of the threads.
//
// Where beta is 0, y's elements are sums too: each thread's own range of them, where its rows
// mostly have their columns, as a band's do; a row that leaves it goes to sums beside y. Where rows
// have no such range all of y is the first thread's.
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
  column_range room;                  // of its sums beside y
  column_range in_y;                  // of room: columns whose sums are y's elements
  column_range before_y, y, behind_y; // those that rows came near: zeroed, and added to
  std::int64_t place = 0;             // where its sums begin among all windows' sums
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
      w.in_y = {w.room.first, w.room.first};
      w.place = total;
      total += w.room.last - w.room.first;
    }
    if (parts == 1 || total <= allowed) return windows;
  }
}

/// Gives each window a range of y, the columns from the middle of its first row to the middle of
/// the next window's, if most rows of a sample lie in them, and those that do not are neighbours,
/// as a band's are: where rows leave at random, as a circuit's do, nothing predicts which one will,
/// and asking takes longer than sums beside y. Else all of y to the first window.
template <class Rows> void share_y(const Rows& a, std::vector<column_window>& windows) {
  windows.front().in_y = windows.front().room;
  if (!a.sorted || windows.size() == 1) return;
  std::vector<std::int64_t> begins(windows.size() + 1, 0);
  begins.back() = a.columns();
  for (std::size_t i = 1; i < windows.size(); ++i) {
    std::int64_t middle = begins[i - 1];
    const std::int64_t row = windows[i].first_row;
    a.for_each_segment(row, std::min(row + 1, a.rows()),
                       [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                         if (begin < end) middle = a.colind[begin + (end - begin) / 2];
                       });
    begins[i] = std::max(begins[i - 1], middle);
  }
  constexpr int sampled = 32;     // rows of a window
  constexpr int most_changes = 4; // of a window: two at each end
  std::int64_t inside = 0, seen = 0, changes = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    bool was_inside = true;
    for (int k = 0; k < sampled; ++k) {
      const column_window& w = windows[i];
      if (w.first_row == w.last_row) continue;
      const std::int64_t row = w.first_row + (w.last_row - w.first_row) * k / sampled;
      a.for_each_segment(row, row + 1, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        const bool is_inside = a.colind[begin] >= begins[i] && a.colind[end - 1] < begins[i + 1];
        ++seen;
        inside += is_inside ? 1 : 0;
        changes += is_inside != was_inside ? 1 : 0;
        was_inside = is_inside;
      });
    }
  }
  if (4 * inside < 3 * seen || changes > most_changes * std::ssize(windows)) return;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const column_range& room = windows[i].room;
    const std::int64_t first = std::clamp(begins[i], room.first, room.last);
    windows[i].in_y = {first, std::clamp(begins[i + 1], first, room.last)};
  }
}

/// Sums of some columns, zeroed when rows first come near them.
template <class T> struct column_sums {
  T* of_column; // where column 0's would be
  column_range room, reached;

  void reach(std::int64_t first, std::int64_t last) {
    constexpr std::int64_t near = 512; // columns zeroed at once: 4 KiB of doubles
    first = std::max(first / near * near, room.first);
    last = std::min(last / near * near + near, room.last);
    if (reached.first == reached.last) reached = {first, first};
    if (first < reached.first) std::fill(of_column + first, of_column + reached.first, T{0});
    if (last > reached.last) std::fill(of_column + reached.last, of_column + last, T{0});
    reached = {std::min(first, reached.first), std::max(last, reached.last)};
  }
  void reach_all() {
    std::fill(of_column + room.first, of_column + room.last, T{0});
    reached = room;
  }
};

/// Scatters the rows of a window into y and into sums, which begin with the window's first column;
/// notes the columns it came near.
template <class T, class Rows>
void scatter_rows(const Rows& a, column_window& w, vector_view<const T> x, T* sums, T* y) {
  T* const beside = sums - w.room.first;
  column_sums<T> before{beside, {w.room.first, w.in_y.first}, {}}, in_y{y, w.in_y, {}},
      behind{beside, {w.in_y.last, w.room.last}, {}};
  if (!a.sorted) before.reach_all(), in_y.reach_all(), behind.reach_all();
  column_sums<T>& most = w.in_y.first < w.in_y.last ? in_y : behind;
  const auto* const colind = a.colind;
  const T* const values = a.values;
  const auto add = [&](T* of_column, std::int64_t begin, std::int64_t end, T factor) {
    for (std::int64_t k = begin; k < end; ++k) of_column[colind[k]] += values[k] * factor;
  };
  const auto add_near = [&](column_sums<T>& to, std::int64_t begin, std::int64_t end, T factor) {
    if (begin == end) return;
    to.reach(colind[begin], colind[end - 1]);
    add(to.of_column, begin, end, factor);
  };
  a.for_each_segment(
      w.first_row, w.last_row, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        if (a.sorted && (colind[begin] < most.reached.first ||
                         colind[end - 1] >= most.reached.last)) [[unlikely]] {
          const auto place_of = [&](std::int64_t column) {
            return std::lower_bound(colind + begin, colind + end, column) - colind;
          };
          const std::int64_t from = place_of(w.in_y.first), to = place_of(w.in_y.last);
          add_near(before, begin, from, x[row]);
          add_near(in_y, from, to, x[row]);
          add_near(behind, to, end, x[row]);
          return;
        }
        add(most.of_column, begin, end, x[row]);
      });
  w.before_y = before.reached;
  w.y = in_y.reached;
  w.behind_y = behind.reached;
}

template <class T, class Rows>
void multiply_transposed(const host_context& ctx, T alpha, const Rows& a, vector_view<const T> x,
                         T beta, vector_view<const T> z, vector_view<T> y) {
  auto windows = make_windows(ctx, a);
  if (beta == T{0}) share_y(a, windows);
  const column_window& first = windows.front();
  const column_window& end = windows.back();
  const bool first_in_y =
      first.in_y.first == first.room.first && first.in_y.last == first.room.last;
  const std::int64_t sums_begin = first_in_y ? first.room.last - first.room.first : 0;
  array<T> sums(ctx, end.place + end.room.last - end.room.first - sums_begin);
  const auto sums_of = [&](const column_window& w) {
    return first_in_y && &w == &first ? y.data() + w.room.first // not used
                                      : sums.data() + (w.place - sums_begin);
  };
  for_each_part(ctx, static_cast<std::int64_t>(windows.size()), 1, [&](int part, int) {
    column_window& w = windows[static_cast<std::size_t>(part)];
    scatter_rows(a, w, x, sums_of(w), y.data());
  });

  const int threads = part_count(ctx, y.size(), entry_grain);
  const int ranges = threads == 1 ? 1 : 8 * threads; // where sums are y's there is nothing to do
  for_each_dynamic(threads, ranges, [&](int range) {
    constexpr std::int64_t block = 2048; // stays in L1 while windows are added
    T total[block];
    const std::int64_t last = part_begin(y.size(), range + 1, ranges);
    for (std::int64_t begin = part_begin(y.size(), range, ranges); begin < last; begin += block) {
      const std::int64_t count = std::min(block, last - begin);
      const auto meets = [&](const column_range& r) {
        return r.first < begin + count && begin < r.last;
      };
      int others = 0;
      bool is_sum = false; // y's elements are one window's sums already
      for (const column_window& w : windows) {
        is_sum = is_sum || (w.y.first <= begin && begin + count <= w.y.last);
        others += (meets(w.before_y) ? 1 : 0) + (meets(w.y) ? 1 : 0) + (meets(w.behind_y) ? 1 : 0);
      }
      if (is_sum && others == 1 && alpha == T{1}) continue;
      std::fill_n(total, count, T{0});
      const auto add = [&](const column_range& reached, const T* of_column) {
        const std::int64_t from = std::max(begin, reached.first);
        const std::int64_t to = std::min(begin + count, reached.last);
        for (std::int64_t c = from; c < to; ++c) total[c - begin] += of_column[c];
      };
      for (const column_window& w : windows) {
        const T* const beside = sums_of(w) - w.room.first;
        add(w.before_y, beside);
        add(w.y, y.data());
        add(w.behind_y, beside);
      }
      for (std::int64_t c = 0; c < count; ++c)
        y[begin + c] = beta == T{0} ? alpha * total[c] : alpha * total[c] + beta * z[begin + c];
    }
  });
}

} // namespace lacuna::detail::cpu
