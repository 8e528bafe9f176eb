// How many columns A and B have in common in a part of a merge.
#pragma once

#include <cstring>

#include "cpu/match_kernels.hpp"
#include "cpu/merge_path.hpp"

namespace lacuna::detail::cpu {

/// Shares per thread: some cost more than others, and threads take them one by one.
inline constexpr int parts_per_thread = 8;

template <class I>
bool same_columns(const I* a, std::int64_t a_size, const I* b, std::int64_t b_size) {
  return a_size == b_size && (a_size == 0 || (a[a_size - 1] == b[b_size - 1] && a[0] == b[0] &&
                                              std::memcmp(a, b, a_size * sizeof(I)) == 0));
}

/// Columns that two parts of a row have in common.
template <class I>
std::int64_t count_matches(const I* a, std::int64_t a_size, const I* b, std::int64_t b_size) {
  std::int64_t i = 0, j = 0, count = 0;
  while (i < a_size && j < b_size) {
    const I x = a[i], y = b[j];
    count += x == y ? 1 : 0;
    i += x <= y ? 1 : 0;
    j += y <= x ? 1 : 0;
  }
  return count;
}

/// Those between two cuts: the rest of a row, whole rows, the beginning of one.
template <class I, class O>
std::int64_t count_matches(const pattern_pair<I, O>& pair, path_cut from, path_cut to) {
  const auto in_row = [&](std::int64_t a, std::int64_t a_end, std::int64_t b, std::int64_t b_end) {
    return count_matches(pair.a_col + a, a_end - a, pair.b_col + b, b_end - b);
  };
  if (from.row == to.row) return in_row(from.a, to.a, from.b, to.b);
  const std::int64_t next = from.row + 1;
  std::int64_t matches =
      in_row(from.a, pair.a_rowptr[next], from.b, pair.b_rowptr[next]) +
      best_match_kernels<I, O>().count(pair.a_rowptr, pair.a_col, pair.a_rowptr[pair.rows],
                                       pair.b_rowptr, pair.b_col, next, to.row);
  if (to.row < pair.rows)
    matches += in_row(pair.a_rowptr[to.row], to.a, pair.b_rowptr[to.row], to.b);
  return matches;
}

} // namespace lacuna::detail::cpu
