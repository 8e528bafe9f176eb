// Internal: prolongators of smoothed aggregation, row by row; see amg_rows.hpp.
#pragma once

#include "solver/amg_rows.hpp"

namespace lacuna::detail::amg_rows {

/// -omega / d of each row, where d is the diagonal of A with its weak entries added to it: row sums
/// stay. Where little of the diagonal would remain it is used as it is.
template <class T> struct smoothing_factors {
  matrix<T> a;
  const unsigned char* strong;
  T omega;
  T* factor;
  T* filtered; ///< that diagonal
  LACUNA_BOTH void operator()(std::int64_t i) const {
    T d{0}, weak{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      if (a.colind[k] == i)
        d = a.values[k];
      else if (!strong[k])
        weak += a.values[k];
    }
    const T sum = d + weak;
    const T used = absolute(sum) >= T(0.05) * absolute(d) ? sum : d;
    filtered[i] = used;
    factor[i] = absolute(used) > T{0} ? -omega / used : T{0};
  }
};

/// The aggregates of a row and its strong neighbours, ascending: columns of P's row. The list has
/// room for a number per entry of A, and one more.
struct prolongator_columns {
  const int* rowptr;
  const int* colind;
  const unsigned char* strong;
  const int* aggregate;
  int* list_at;
  int* list;
  int* count;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int at = rowptr[i] + static_cast<int>(i);
    list_at[i] = at;
    distinct_list columns(list + at);
    if (aggregate[i] >= 0) {
      columns.offer(aggregate[i]);
      for (int k = rowptr[i]; k < rowptr[i + 1]; ++k)
        if (strong[k] && aggregate[colind[k]] >= 0) columns.offer(aggregate[colind[k]]);
    }
    count[i] = columns.finish();
  }
};
/// Values of P = (I - omega D^-1 A) T where T has one entry a row: the near-null vector's.
template <class T> struct prolongator_values {
  matrix<T> a;
  const unsigned char* strong;
  const int* aggregate;
  const T* vector; ///< null: ones
  const T* factor;
  const T* filtered;
  const int* rowptr;
  const int* colind;
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int first = rowptr[i], size = rowptr[i + 1] - first;
    for (int k = 0; k < size; ++k) values[first + k] = T{0};
    if (size == 0) return;
    const auto add = [&](int column, T v) {
      int at = 0;
      if (size > 8)
        at = place_of(colind + first, size, column);
      else
        while (colind[first + at] < column) ++at;
      values[first + at] += v;
    };
    const auto of = [&](std::int64_t row) { return vector == nullptr ? T{1} : vector[row]; };
    add(aggregate[i], (T{1} + factor[i] * filtered[i]) * of(i));
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const int j = a.colind[k];
      if (strong[k] && aggregate[j] >= 0) add(aggregate[j], factor[i] * a.values[k] * of(j));
    }
  }
};

// ---- Several vectors, or several unknowns a node -----------------------------------------------

/// Strong entries and the diagonal.
struct count_smoothing {
  const int* rowptr;
  const unsigned char* strong;
  int* count;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int sum = 1;
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k) sum += strong[k] != 0 ? 1 : 0;
    count[i] = sum;
  }
};
/// I - omega D^-1 A with strong entries alone. Columns are written if `colind` is not null.
template <class T> struct smoothing_matrix {
  matrix<T> a;
  const unsigned char* strong;
  const T* factor;
  const T* filtered;
  const int* rowptr;
  int* colind;
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int to = rowptr[i];
    bool done = false;
    const auto put = [&](int column, T v) {
      if (colind != nullptr) colind[to] = column;
      values[to++] = v;
    };
    const auto diagonal = [&] {
      put(static_cast<int>(i), T{1} + factor[i] * filtered[i]);
      done = true;
    };
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      if (a.colind[k] >= i && !done) diagonal();
      if (strong[k]) put(a.colind[k], factor[i] * a.values[k]);
    }
    if (!done) diagonal();
  }
};
/// Entries of a row of the tentative prolongator: one per vector, or none.
struct tentative_counts {
  int unknowns, vectors;
  const int* aggregate; ///< of nodes
  int* count;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    count[i] = aggregate[static_cast<int>(i) / unknowns] >= 0 ? vectors : 0;
  }
};
/// Columns, and the near-null vectors (a column of `near` each) as values.
template <class T> struct tentative_entries {
  int unknowns, vectors;
  std::int64_t rows;
  const int* aggregate;
  const T* near;
  const int* rowptr;
  int* colind;
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int mine = aggregate[static_cast<int>(i) / unknowns];
    if (mine < 0) return;
    for (int v = 0; v < vectors; ++v) {
      colind[rowptr[i] + v] = mine * vectors + v;
      values[rowptr[i] + v] = near[v * rows + i];
    }
  }
};
/// A row per node, an entry in the column of its aggregate: transposed, lists of members.
template <class T> struct membership {
  const int* rowptr;
  const int* aggregate;
  int* colind;
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    if (aggregate[i] < 0) return;
    colind[rowptr[i]] = aggregate[i];
    values[rowptr[i]] = T{1};
  }
};
struct is_member {
  const int* aggregate;
  int* count;
  LACUNA_BOTH void operator()(std::int64_t i) const { count[i] = aggregate[i] >= 0 ? 1 : 0; }
};
/// QR of an aggregate's rows (Gram-Schmidt, twice): Q in place, R the coarse vectors. A vector that
/// depends on those before it becomes 0.
template <class T> struct orthonormal_vectors {
  int unknowns, vectors;
  const int* first_member;
  const int* members;
  const int* rowptr; ///< of the tentative prolongator
  T* values;
  T* coarse; ///< vectors columns of coarse_rows
  std::int64_t coarse_rows;

  template <class F> LACUNA_BOTH void for_each_row(std::int64_t aggregate, const F& f) const {
    for (int m = first_member[aggregate]; m < first_member[aggregate + 1]; ++m)
      for (int u = 0; u < unknowns; ++u) f(values + rowptr[members[m] * unknowns + u]);
  }
  LACUNA_BOTH double product(std::int64_t aggregate, int p, int q) const {
    double sum = 0;
    for_each_row(aggregate, [&](const T* row) {
      sum += static_cast<double>(row[p]) * static_cast<double>(row[q]);
    });
    return sum;
  }
  LACUNA_BOTH static double root(double v) {
#ifdef __CUDA_ARCH__
    return sqrt(v);
#else
    return __builtin_sqrt(v);
#endif
  }
  LACUNA_BOTH void operator()(std::int64_t aggregate) const {
    T* const r = coarse + aggregate * vectors; // R(p, q) is at q * coarse_rows + p
    for (int q = 0; q < vectors; ++q) {
      for (int p = 0; p < vectors; ++p) r[q * coarse_rows + p] = T{0};
      const double before = root(product(aggregate, q, q));
      for (int pass = 0; pass < 2; ++pass)
        for (int p = 0; p < q; ++p) {
          const double along = product(aggregate, p, q);
          for_each_row(aggregate, [&](T* row) {
            row[q] = static_cast<T>(static_cast<double>(row[q]) - along * row[p]);
          });
          r[q * coarse_rows + p] += static_cast<T>(along);
        }
      const double length = root(product(aggregate, q, q));
      const bool is_new = length > (sizeof(T) == 4 ? 1e-4 : 1e-9) * before;
      r[q * coarse_rows + q] = is_new ? static_cast<T>(length) : T{0};
      for_each_row(aggregate, [&](T* row) {
        row[q] = is_new ? static_cast<T>(static_cast<double>(row[q]) / length) : T{0};
      });
    }
  }
};

} // namespace lacuna::detail::amg_rows
