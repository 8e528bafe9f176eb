// Internal: what one row says about a system, on the host and in device code alike.
#pragma once

#include <cstdint>
#include <limits>

#ifdef __CUDACC__
#define LACUNA_ROW_CODE __host__ __device__
#else
#define LACUNA_ROW_CODE
#endif

namespace lacuna::detail {

/// Counts of one row, or of many.
struct row_findings {
  enum : int { unmatched, unsymmetric, zero, negative, dominant, not_finite, count };
  std::int64_t of[count] = {};
};

template <class T, class I, class O> struct system_arrays {
  const O* rowptr;
  const I* colind;
  const T* values;
  bool sorted;
};

template <class T> LACUNA_ROW_CODE inline T magnitude_of(T v) { return v < 0 ? -v : v; }

template <class T, class I, class O>
LACUNA_ROW_CODE T diagonal_of(const system_arrays<T, I, O>& a, std::int64_t row) {
  T sum = 0;
  for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k)
    if (a.colind[k] == row) sum += a.values[k];
  return sum;
}

/// Where (row, col) is stored; -1: nowhere.
template <class T, class I, class O>
LACUNA_ROW_CODE std::int64_t find_entry(const system_arrays<T, I, O>& a, std::int64_t row,
                                        std::int64_t col) {
  O low = a.rowptr[row], high = a.rowptr[row + 1];
  if (!a.sorted) {
    for (O k = low; k < high; ++k)
      if (a.colind[k] == col) return k;
    return -1;
  }
  while (low < high) {
    const O middle = low + (high - low) / 2;
    if (a.colind[middle] < col)
      low = middle + 1;
    else
      high = middle;
  }
  return low < a.rowptr[row + 1] && a.colind[low] == col ? static_cast<std::int64_t>(low) : -1;
}

template <class T, class I, class O>
LACUNA_ROW_CODE row_findings look_at_row(const system_arrays<T, I, O>& a, const T* diagonal,
                                         std::int64_t row, T epsilon) {
  row_findings f;
  T others = 0;
  for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
    const T v = a.values[k];
    f.of[row_findings::not_finite] += !(v - v == 0);
    const std::int64_t col = a.colind[k];
    if (col == row) continue;
    others += magnitude_of(v);
    const std::int64_t mirror = find_entry(a, col, row);
    if (mirror < 0) {
      f.of[row_findings::unmatched] += 1;
      continue;
    }
    // Rounding of what the entries were assembled from: some of their own size, and of the
    // diagonal's.
    const T w = a.values[mirror];
    const T allowed = 64 * epsilon * (magnitude_of(v) + magnitude_of(w)) +
                      epsilon * (magnitude_of(diagonal[row]) + magnitude_of(diagonal[col]));
    f.of[row_findings::unsymmetric] += !(magnitude_of(v - w) <= allowed);
  }
  const T d = diagonal[row];
  f.of[row_findings::zero] = d == 0;
  f.of[row_findings::negative] = d < 0;
  f.of[row_findings::dominant] = magnitude_of(d) >= others;
  return f;
}

} // namespace lacuna::detail
