// The entries of two CSR matrices with ascending rows in one sequence, row by row and by column
// within rows, dealt out evenly: a row may be cut (Green, McColl and Bader 2012, merge path).
#pragma once

#include <lacuna/format/csr.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

/// Before entry a of A and entry b of B, both in row `row` or at its end.
struct path_cut {
  std::int64_t row, a, b;
};

/// The patterns of A and B, of the same shape.
template <class I, class O> struct pattern_pair {
  std::int64_t rows;
  const O *a_rowptr, *b_rowptr;
  const I *a_col, *b_col;

  template <class T>
  pattern_pair(csr_view<const T, I, O> a, csr_view<const T, I, O> b)
      : rows(a.shape().row), a_rowptr(a.rowptr().data()), b_rowptr(b.rowptr().data()),
        a_col(a.colind().data()), b_col(b.colind().data()) {}

  /// Rows and entries before a row.
  [[nodiscard]] std::int64_t before(std::int64_t row) const {
    return row + a_rowptr[row] + b_rowptr[row];
  }

  /// Where part `part` begins when rows and entries are dealt out evenly. Entries of A and B with
  /// one coordinate are never parted. O(log rows + log length of a row).
  [[nodiscard]] path_cut cut(int part, int parts) const {
    if (rows == 0) return {0, 0, 0};
    if (part == parts) return {rows, a_rowptr[rows], b_rowptr[rows]};
    const std::int64_t target = part_begin(before(rows), part, parts);
    std::int64_t low = 0, high = rows; // before(low) <= target
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (before(middle) <= target ? low : high) = middle;
    }
    const I* const a = a_col + a_rowptr[low];
    const I* const b = b_col + b_rowptr[low];
    const std::int64_t a_size = a_rowptr[low + 1] - a_rowptr[low];
    const std::int64_t b_size = b_rowptr[low + 1] - b_rowptr[low];
    const std::int64_t taken = std::min(target - before(low), a_size + b_size);
    std::int64_t first = std::max<std::int64_t>(0, taken - b_size);
    std::int64_t last = std::min(taken, a_size);
    while (first < last) { // of equal columns A's comes first
      const std::int64_t middle = first + (last - first) / 2;
      if (a[middle] <= b[taken - 1 - middle])
        first = middle + 1;
      else
        last = middle;
    }
    std::int64_t b_taken = taken - first;
    if (first > 0 && b_taken < b_size && a[first - 1] == b[b_taken]) ++b_taken;
    return {low, a_rowptr[low] + first, b_rowptr[low] + b_taken};
  }

  /// Calls f(row, a, a_end, b, b_end, ends) for the rows between two cuts, and for a part of the
  /// row that the last one cuts; `ends`: the row ends here.
  template <class F> void for_each_row(path_cut from, path_cut to, F f) const {
    for (; from.row < to.row; ++from.row) {
      const std::int64_t a_end = a_rowptr[from.row + 1], b_end = b_rowptr[from.row + 1];
      f(from.row, from.a, a_end, from.b, b_end, true);
      from.a = a_end;
      from.b = b_end;
    }
    if (from.a < to.a || from.b < to.b) f(from.row, from.a, to.a, from.b, to.b, false);
  }

  /// Calls f, as for_each_row does, for the rest of a row that `from` cuts and that ends before
  /// `to`; returns where the next row begins, `from` if there is no such row.
  template <class F> [[nodiscard]] path_cut finish_row(path_cut from, path_cut to, F f) const {
    if (from.row == to.row || (from.a == a_rowptr[from.row] && from.b == b_rowptr[from.row]))
      return from;
    const path_cut next{from.row + 1, a_rowptr[from.row + 1], b_rowptr[from.row + 1]};
    for_each_row(from, next, f);
    return next;
  }
  /// Where a row begins.
  [[nodiscard]] path_cut begin_of(std::int64_t row) const {
    return {row, a_rowptr[row], b_rowptr[row]};
  }
};

} // namespace lacuna::detail::cpu
