// Internal: classical AMG, row by row: PMIS coarsening (De Sterck, Yang, Heys 2006), direct and
// extended+i interpolation (De Sterck, Falgout, Nolting, Yang 2008); see amg_rows.hpp.
#pragma once

#include "solver/amg_rows.hpp"

namespace lacuna::detail::amg_rows {

struct count_strong {
  const int* rowptr;
  const unsigned char* strong;
  int* count;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int sum = 0;
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k) sum += strong[k] != 0 ? 1 : 0;
    count[i] = sum;
  }
};
/// Strong entries as a matrix of ones.
template <class T> struct strong_pattern {
  const int* from_rowptr;
  const int* from_colind;
  const unsigned char* strong;
  const int* rowptr;
  int* colind;
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int to = rowptr[i];
    for (int k = from_rowptr[i]; k < from_rowptr[i + 1]; ++k)
      if (strong[k]) {
        colind[to] = from_colind[k];
        values[to++] = T{1};
      }
  }
};

/// State (0 fine, 1 undecided, 2 coarse), how many rows depend on this one, pseudo-random bits,
/// row.
struct pmis_start {
  const int* depend; ///< row pointers of S^T
  std::uint64_t* keys;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const std::uint64_t all = static_cast<std::uint64_t>(depend[i + 1] - depend[i]);
    const std::uint64_t many = all < 16383 ? all : 16383, row = static_cast<std::uint64_t>(i);
    keys[i] = (std::uint64_t{all > 0 ? 1u : 0u} << 62) | (many << 48) |
              ((mixed(row) & 0xffffull) << 32) | row;
  }
};
/// Coarse becomes who has the largest key among the undecided around it.
struct pmis_pick {
  const int* rowptr; ///< of S
  const int* colind;
  const int* t_rowptr; ///< of S^T
  const int* t_colind;
  const std::uint64_t* keys;
  unsigned char* picked;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const std::uint64_t own = keys[i];
    bool is = state_of(own) == 1;
    for (int k = rowptr[i]; k < rowptr[i + 1] && is; ++k)
      is = state_of(keys[colind[k]]) != 1 || keys[colind[k]] < own;
    for (int k = t_rowptr[i]; k < t_rowptr[i + 1] && is; ++k)
      is = state_of(keys[t_colind[k]]) != 1 || keys[t_colind[k]] < own;
    picked[i] = is ? 1 : 0;
  }
};
/// Fine becomes who depends on a coarse row.
struct pmis_settle {
  const int* rowptr;
  const int* colind;
  const unsigned char* picked;
  std::uint64_t* keys;
  int* undecided;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    constexpr std::uint64_t rest = (std::uint64_t{1} << 62) - 1;
    if (state_of(keys[i]) != 1) return;
    if (picked[i]) {
      keys[i] = (std::uint64_t{2} << 62) | (keys[i] & rest);
      return;
    }
    bool fine = false;
    for (int k = rowptr[i]; k < rowptr[i + 1] && !fine; ++k) fine = picked[colind[k]] != 0;
    if (fine)
      keys[i] &= rest;
    else
      raise_flag(undecided);
  }
};

/// The number of coarse rows, -1 of others.
struct coarse_numbers {
  const int* coarse;
  const int* number;
  int* to;
  LACUNA_BOTH void operator()(std::int64_t i) const { to[i] = coarse[i] ? number[i] : -1; }
};

/// Room for the candidates of a row: the coarse rows it depends on, and with `far` those that the
/// fine rows it depends on depend on.
struct interpolation_room {
  const int* rowptr; ///< of S
  const int* colind;
  const int* coarse; ///< 1: coarse
  bool far;
  int* room;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int sum = 0;
    for (int k = rowptr[i]; k < rowptr[i + 1] && !coarse[i]; ++k) {
      const int j = colind[k];
      if (coarse[j])
        ++sum;
      else if (far)
        for (int l = rowptr[j]; l < rowptr[j + 1]; ++l) sum += coarse[colind[l]];
    }
    room[i] = coarse[i] ? 1 : sum;
  }
};
/// The candidates, ascending, and their number.
struct interpolation_candidates {
  const int* rowptr;
  const int* colind;
  const int* coarse;
  bool far;
  const int* list_at;
  int* list;
  int* count;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    distinct_list rows(list + list_at[i]);
    if (coarse[i]) rows.offer(static_cast<int>(i));
    for (int k = rowptr[i]; k < rowptr[i + 1] && !coarse[i]; ++k) {
      const int j = colind[k];
      if (coarse[j]) {
        rows.offer(j);
      } else if (far) {
        for (int l = rowptr[j]; l < rowptr[j + 1]; ++l)
          if (coarse[colind[l]]) rows.offer(colind[l]);
      }
    }
    count[i] = rows.finish();
  }
};
/// Weights of the candidates. Fine rows that a row depends on strongly are interpolated themselves
/// (extended+i), or their entries count as the coarse rows' (direct); weak ones join the diagonal.
template <class T> struct interpolation_weights {
  matrix<T> a;
  const T* diagonals;
  const unsigned char* strong;
  const int* coarse;
  bool far;
  const int* list_at;
  const int* list;
  const int* count;
  T* weights; ///< in the list's places

  LACUNA_BOTH int find(const int* rows, int size, int row) const {
    if (!coarse[row]) return -1; // most are fine: no search
    const int at = place_of(rows, size, row);
    return at < size && rows[at] == row ? at : -1;
  }
  LACUNA_BOTH void direct(std::int64_t i, const int* rows, int size, T* w) const {
    T d{0}, all_down{0}, all_up{0}, down{0}, up{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k)
      if (a.colind[k] == i) d = a.values[k];
    const T sign = d < T{0} ? T{-1} : T{1};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      if (a.colind[k] == i) continue;
      const T v = sign * a.values[k];
      const bool used = strong[k] && find(rows, size, a.colind[k]) >= 0;
      (v < T{0} ? all_down : all_up) += v;
      if (used) (v < T{0} ? down : up) += v;
    }
    T diagonal = sign * d;
    if (up == T{0}) diagonal += all_up;
    if (down == T{0}) diagonal += all_down;
    const T by_down = down == T{0} ? T{0} : all_down / down,
            by_up = up == T{0} ? T{0} : all_up / up;
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const int at = a.colind[k] != i && strong[k] ? find(rows, size, a.colind[k]) : -1;
      if (at < 0 || diagonal == T{0}) continue;
      const T v = sign * a.values[k];
      w[at] = -(v < T{0} ? by_down : by_up) * v / diagonal;
    }
  }
  LACUNA_BOTH void extended(std::int64_t i, const int* rows, int size, T* w) const {
    T diagonal{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const int j = a.colind[k];
      const T v = a.values[k];
      const int at = j == i ? -1 : find(rows, size, j);
      if (j == i) {
        diagonal += v;
      } else if (at >= 0) {
        w[at] += v;
      } else if (strong[k] && !coarse[j]) {
        // a_jl against j's diagonal alone: others would make weights of the wrong sign.
        const T d = diagonals[j];
        T sum{0};
        for (int l = a.rowptr[j]; l < a.rowptr[j + 1]; ++l)
          if (a.colind[l] != j && a.values[l] * d < T{0} &&
              (a.colind[l] == i || find(rows, size, a.colind[l]) >= 0))
            sum += a.values[l];
        if (sum == T{0}) {
          diagonal += v;
          continue;
        }
        for (int l = a.rowptr[j]; l < a.rowptr[j + 1]; ++l) {
          if (a.colind[l] == j || !(a.values[l] * d < T{0})) continue;
          const T share = v * a.values[l] / sum;
          const int to = find(rows, size, a.colind[l]);
          if (a.colind[l] == i)
            diagonal += share;
          else if (to >= 0)
            w[to] += share;
        }
      } else {
        diagonal += v;
      }
    }
    for (int k = 0; k < size; ++k) w[k] = diagonal == T{0} ? T{0} : -w[k] / diagonal;
  }
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int* const rows = list + list_at[i];
    T* const w = weights + list_at[i];
    const int size = count[i];
    for (int k = 0; k < size; ++k) w[k] = T{0};
    if (size == 0) return;
    if (coarse[i])
      w[0] = T{1};
    else if (far)
      extended(i, rows, size, w);
    else
      direct(i, rows, size, w);
  }
};
/// Marks the `most` largest weights above `least` times the largest of a row, and counts them.
template <class T> struct truncate_weights {
  int most;
  T least;
  const int* list_at;
  const int* count;
  const T* weights;
  unsigned char* keep;
  int* kept;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const T* const w = weights + list_at[i];
    const int size = count[i];
    T largest{0};
    for (int k = 0; k < size; ++k) largest = larger_of(largest, absolute(w[k]));
    int left = 0;
    for (int k = 0; k < size; ++k) {
      // Its rank: how many are larger, or as large and before it.
      int above = 0;
      const T y = absolute(w[k]);
      for (int l = 0; l < size && above < most; ++l)
        above += absolute(w[l]) > y || (absolute(w[l]) == y && l < k) ? 1 : 0;
      const bool is = above < most && y > least * largest;
      left += is ? 1 : 0;
      keep[list_at[i] + k] = is ? 1 : 0;
    }
    kept[i] = left;
  }
};
/// P's columns: the numbers of the coarse rows that were kept.
struct interpolation_columns {
  const int* list_at;
  const int* list;
  const int* count;
  const unsigned char* keep;
  const int* number;
  const int* rowptr;
  int* colind;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int to = rowptr[i];
    for (int k = list_at[i]; k < list_at[i] + count[i]; ++k)
      if (keep[k]) colind[to++] = number[list[k]];
  }
};
/// P's values: the weights of its columns, scaled so that their sum is that of all candidates.
template <class T> struct interpolation_values {
  const int* list_at;
  const int* list;
  const int* count;
  const T* weights;
  const int* number;
  const int* rowptr;
  const int* colind;
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int first = rowptr[i], size = rowptr[i + 1] - first;
    T all{0}, kept{0};
    int at = 0;
    for (int k = 0; k < count[i]; ++k) {
      const int row = list[list_at[i] + k];
      const T w = weights[list_at[i] + k];
      all += w;
      if (at < size && colind[first + at] == number[row]) {
        values[first + at++] = w;
        kept += w;
      }
    }
    const T by = kept == T{0} || all == kept ? T{1} : all / kept;
    if (by != T{1})
      for (int k = 0; k < size; ++k) values[first + k] *= by;
  }
};

} // namespace lacuna::detail::amg_rows
