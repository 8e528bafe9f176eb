// Internal: the inner loops of CSR multiplication, compiled for several instruction sets by
// Highway; the best this machine has is picked at first use.
#pragma once

#include <cstdint>

namespace lacuna::detail::cpu {

/// Y = alpha A X + beta Z over some rows. Strides in elements; a vector is one column.
template <class T, class I, class O> struct row_arguments {
  const O* rowptr;
  const I* colind;
  const T* values;
  const T* x;
  const T* z; // not read if beta is 0; may be y
  T* y;
  T alpha;
  T beta;
  std::int64_t columns = 1;
  std::int64_t x_row = 1, x_column = 0;
  std::int64_t z_row = 1, z_column = 0;
  std::int64_t y_row = 1, y_column = 0;
  bool streams = false; ///< several columns: Y is written past the caches where it can be
};

/// The table of a dynamic CSR: planes of begins and of ends, of which rows that have fewer segments
/// hold anything.
template <class O> struct segment_table {
  const O *begin, *end;
  const std::uint8_t* counts;
  std::int64_t pitch;
  std::int64_t places; ///< of the pool, which hold entries or anything
};

/// Rows longer than this are summed piece by piece, pieces in order. Threads may share a row only
/// between pieces, so the bits of the result do not depend on how many threads there are.
inline constexpr std::int64_t piece_entries = 1 << 14;

template <class T, class I, class O> struct row_kernels {
  /// Whole rows [first, last), one column; x, y and z without gaps.
  void (*rows)(const row_arguments<T, I, O>&, std::int64_t first, std::int64_t last);
  /// Sum of a x over entries [first, last), at most piece_entries of them, one column.
  T (*piece)(const row_arguments<T, I, O>&, std::int64_t first, std::int64_t last);
  /// Rows [first, last) of segments, one column; x without gaps.
  void (*segmented_rows)(const row_arguments<T, I, O>&, const segment_table<O>&, std::int64_t first,
                         std::int64_t last);
  /// The same for several columns, X row-major (x_column is 1, or there is one column); a piece's
  /// sums are written to sums[0 .. columns).
  void (*dense_rows)(const row_arguments<T, I, O>&, std::int64_t first, std::int64_t last);
  void (*dense_piece)(const row_arguments<T, I, O>&, std::int64_t first, std::int64_t last,
                      T* sums);
};

/// The kernels for this machine.
template <class T, class I, class O> const row_kernels<T, I, O>& best_row_kernels();

/// Column j alone, for the kernels of one column: everything must be stored by columns.
template <class T, class I, class O>
row_arguments<T, I, O> column_of(row_arguments<T, I, O> p, std::int64_t j) {
  p.x += j * p.x_column;
  p.y += j * p.y_column;
  if (p.beta != T{0}) p.z += j * p.z_column;
  p.columns = 1;
  return p;
}

/// alpha sum + beta z.
template <class T, class I, class O>
void store_sum(const row_arguments<T, I, O>& p, std::int64_t row, std::int64_t column, T sum) {
  T& y = p.y[row * p.y_row + column * p.y_column];
  y = p.beta == T{0} ? p.alpha * sum
                     : p.alpha * sum + p.beta * p.z[row * p.z_row + column * p.z_column];
}

} // namespace lacuna::detail::cpu
