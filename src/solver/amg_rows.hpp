// Internal: what AMG does to each row, written once for both engines. A functor is called with a
// row (or an aggregate) and writes what belongs to it alone, so that any order of rows, on any
// number of threads, gives the same bits. src/cpu/amg.cpp and src/gpu/amg.cu run them.
#pragma once

#include <cstdint>

#include <lacuna/core/context.hpp>

#ifdef __CUDACC__
#define LACUNA_BOTH __host__ __device__
#else
#define LACUNA_BOTH
#endif

namespace lacuna::detail::amg_rows {

/// A CSR matrix as functors read it: sorted, unique rows.
template <class T> struct matrix {
  const int* rowptr = nullptr;
  const int* colind = nullptr;
  const T* values = nullptr;
};

template <class T> LACUNA_BOTH inline T absolute(T v) { return v < T{0} ? -v : v; }
template <class T> LACUNA_BOTH inline T larger_of(T a, T b) { return a < b ? b : a; }

/// The same pseudo-random bits for a number on every machine (splitmix64).
LACUNA_BOTH inline std::uint64_t mixed(std::uint64_t i) {
  i += 0x9e3779b97f4a7c15ull;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9ull;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
  return i ^ (i >> 31);
}

/// Several rows may raise it; nobody reads it before all are done.
LACUNA_BOTH inline void raise_flag(int* flag) {
#ifdef __CUDA_ARCH__
  *flag = 1;
#else
  __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#endif
}

/// First place in sorted[0 .. n) that is not below value.
LACUNA_BOTH inline int place_of(const int* sorted, int n, int value) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// A growing list of distinct numbers in memory that holds as many as will be offered. Short lists
/// are kept sorted; a long one is sorted once, in place, by finish().
class distinct_list {
public:
  LACUNA_BOTH explicit distinct_list(int* at) : at_(at) {}
  LACUNA_BOTH void offer(int value) {
    if (size_ < most_sorted && !loose_) {
      int k = size_;
      while (k > 0 && at_[k - 1] > value) --k;
      if (k > 0 && at_[k - 1] == value) return;
      for (int m = size_; m > k; --m) at_[m] = at_[m - 1];
      at_[k] = value;
    } else {
      loose_ = true;
      at_[size_] = value;
    }
    ++size_;
  }
  LACUNA_BOTH int finish() {
    if (!loose_) return size_;
    for (int k = size_ / 2 - 1; k >= 0; --k) sink(k, size_);
    for (int last = size_ - 1; last > 0; --last) {
      const int top = at_[0];
      at_[0] = at_[last];
      at_[last] = top;
      sink(0, last);
    }
    int kept = 0;
    for (int k = 0; k < size_; ++k)
      if (kept == 0 || at_[kept - 1] != at_[k]) at_[kept++] = at_[k];
    return kept;
  }

private:
  static constexpr int most_sorted = 48; // beyond that insertions cost more than a heap
  LACUNA_BOTH void sink(int k, int size) {
    const int value = at_[k];
    for (int child = 2 * k + 1; child < size; child = 2 * k + 1) {
      if (child + 1 < size && at_[child + 1] > at_[child]) ++child;
      if (at_[child] <= value) break;
      at_[k] = at_[child];
      k = child;
    }
    at_[k] = value;
  }
  int* at_;
  int size_ = 0;
  bool loose_ = false;
};

/// Diagonal, largest off-diagonal size, and sum of |a_ij| / |a_ii| of each row.
template <class T> struct row_facts {
  matrix<T> a;
  bool against_diagonal; ///< only off-diagonal entries of the other sign count as large
  T* diagonal;
  T* largest; ///< of off-diagonal entries; negative where the diagonal outweighs them all
  T* ratio;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    T d{0}, sum{0}, most{0}, most_against{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const T v = a.values[k];
      if (a.colind[k] == i) {
        d = v;
        continue;
      }
      sum += absolute(v);
      most = larger_of(most, absolute(v));
    }
    if (against_diagonal) {
      for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k)
        if (a.colind[k] != i)
          most_against = larger_of(most_against, d < T{0} ? a.values[k] : -a.values[k]);
      if (most_against > T{0}) most = most_against;
    }
    diagonal[i] = d;
    // Half: a row that the smoother alone settles, at least by a half in each sweep.
    const bool settled = sum <= T(0.5) * absolute(d);
    largest[i] = settled && (!against_diagonal || sum == T{0}) ? T{-1} : most;
    ratio[i] = d == T{0} ? T{1} : T{1} + sum / absolute(d);
  }
};

/// |a_ij| >= theta sqrt(|a_ii a_jj|); and the largest entries of every row that its diagonal does
/// not outweigh, so that no such row is left alone (the hub of a star). Symmetric if A is.
template <class T> struct symmetric_strength {
  matrix<T> a;
  T theta;
  const T* diagonal;
  const T* largest;
  unsigned char* strong; ///< per entry
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const T d = absolute(diagonal[i]) * theta * theta;
    const T share(0.9);
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const int j = a.colind[k];
      const T v = absolute(a.values[k]);
      const bool is =
          j != i && v > T{0} &&
          (v * v >= d * absolute(diagonal[j]) || (largest[i] > T{0} && v >= share * largest[i]) ||
           (largest[j] > T{0} && v >= share * largest[j]));
      strong[k] = is ? 1 : 0;
    }
  }
};

/// -a_ij >= theta max_k(-a_ik) (signs as against the diagonal's): i depends strongly on j.
template <class T> struct classical_strength {
  matrix<T> a;
  T theta;
  const T* diagonal;
  const T* largest;
  unsigned char* strong;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    bool against = false;
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k)
      against |= a.colind[k] != i && (diagonal[i] < T{0} ? a.values[k] : -a.values[k]) > T{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const T v = a.values[k];
      const T size = !against ? absolute(v) : diagonal[i] < T{0} ? v : -v;
      strong[k] = a.colind[k] != i && largest[i] > T{0} && size > T{0} && size >= theta * largest[i]
                      ? 1
                      : 0;
    }
  }
};

/// Of a matrix of single unknowns: whether the nodes of an entry's row and column are strongly
/// connected (or the same).
template <class T> struct strength_of_nodes {
  matrix<T> a;
  int unknowns;
  matrix<T> nodes;
  const unsigned char* strong_nodes;
  unsigned char* strong;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int node = static_cast<int>(i) / unknowns;
    const int* const columns = nodes.colind + nodes.rowptr[node];
    const int size = nodes.rowptr[node + 1] - nodes.rowptr[node];
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      const int other = a.colind[k] / unknowns;
      const int at = place_of(columns, size, other);
      strong[k] =
          a.colind[k] != i && (other == node || (at < size && columns[at] == other &&
                                                 strong_nodes[nodes.rowptr[node] + at] != 0))
              ? 1
              : 0;
    }
  }
};

// ---- Aggregates by a maximal independent set of distance 2 (Bell, Dalton, Olson 2012) ----------

/// State (0 out, 1 undecided, 2 in), then pseudo-random bits, then the row: no two are equal.
LACUNA_BOTH inline std::uint64_t set_key(std::uint64_t state, std::uint64_t row) {
  return (state << 62) | ((mixed(row) & 0x3fffffffull) << 32) | row;
}
LACUNA_BOTH inline int state_of(std::uint64_t key) { return static_cast<int>(key >> 62); }

struct set_start {
  const int* rowptr;
  const unsigned char* strong;
  std::uint64_t* keys;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    bool any = false;
    for (int k = rowptr[i]; k < rowptr[i + 1] && !any; ++k) any = strong[k] != 0;
    keys[i] = set_key(any ? 1 : 0, static_cast<std::uint64_t>(i));
  }
};
/// The largest key of a row and its strong neighbours.
struct set_spread {
  const int* rowptr;
  const int* colind;
  const unsigned char* strong;
  const std::uint64_t* keys;
  std::uint64_t* spread;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    std::uint64_t most = keys[i];
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k)
      if (strong[k]) most = larger_of(most, keys[colind[k]]);
    spread[i] = most;
  }
};
/// The largest key within two steps decides: it is this row's (in), or in the set (out).
struct set_decide {
  const int* rowptr;
  const int* colind;
  const unsigned char* strong;
  const std::uint64_t* spread;
  std::uint64_t* keys;
  int* undecided;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const std::uint64_t own = keys[i];
    if (state_of(own) != 1) return;
    std::uint64_t most = spread[i];
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k)
      if (strong[k]) most = larger_of(most, spread[colind[k]]);
    if (most == own)
      keys[i] = set_key(2, static_cast<std::uint64_t>(i));
    else if (state_of(most) == 2)
      keys[i] = set_key(0, static_cast<std::uint64_t>(i));
    else
      raise_flag(undecided);
  }
};
/// 1 for rows of the set.
struct set_members {
  const std::uint64_t* keys;
  int* member;
  LACUNA_BOTH void operator()(std::int64_t i) const { member[i] = state_of(keys[i]) == 2 ? 1 : 0; }
};
/// A root's aggregate for itself and its strong neighbours; -1 for others. Roots are three steps
/// apart, so there is at most one.
struct join_root {
  const int* rowptr;
  const int* colind;
  const unsigned char* strong;
  const std::uint64_t* keys;
  const int* number;
  int* aggregate;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int mine = state_of(keys[i]) == 2 ? number[i] : -1;
    for (int k = rowptr[i]; k < rowptr[i + 1] && mine < 0; ++k)
      if (strong[k] && state_of(keys[colind[k]]) == 2) mine = number[colind[k]];
    aggregate[i] = mine;
  }
};
/// Rows that are left join the aggregate of the neighbour they are tied to most strongly.
template <class T> struct join_neighbour {
  matrix<T> a;
  const unsigned char* strong;
  const int* before;
  int* aggregate;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    int mine = before[i];
    T most{-1};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1] && before[i] < 0; ++k) {
      const T v = absolute(a.values[k]);
      if (strong[k] && before[a.colind[k]] >= 0 && v > most) {
        most = v;
        mine = before[a.colind[k]];
      }
    }
    aggregate[i] = mine;
  }
};

// ---- Small passes over vectors -----------------------------------------------------------------

template <class T> struct square_values {
  const T* from;
  T* to;
  LACUNA_BOTH void operator()(std::int64_t i) const { to[i] = from[i] * from[i]; }
};
template <class T> struct root_values {
  T* values;
  LACUNA_BOTH void operator()(std::int64_t i) const {
#ifdef __CUDA_ARCH__
    values[i] = sqrt(values[i]);
#else
    values[i] = static_cast<T>(__builtin_sqrt(static_cast<double>(values[i])));
#endif
  }
};
/// A matrix with one entry a row: column i / unknowns.
template <class T> struct nodes_of_unknowns {
  int unknowns;
  int* rowptr;
  int* colind;
  T* values;
  std::int64_t rows;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    rowptr[i] = static_cast<int>(i);
    if (i == rows) return;
    colind[i] = static_cast<int>(i) / unknowns;
    values[i] = T{1};
  }
};
/// by / d, and 0 where d is 0 (or NaN).
template <class T> struct inverse_of {
  const T* from;
  T by;
  T* to;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const T d = from[i];
    to[i] = absolute(d) > T{0} ? by / d : T{0};
  }
};
/// 1 / sum_j |a_ij|, with the sign of a_ii: converges for every symmetric positive definite A.
template <class T> struct inverse_l1 {
  matrix<T> a;
  T* to;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    T d{0}, sum{0};
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
      sum += absolute(a.values[k]);
      if (a.colind[k] == i) d = a.values[k];
    }
    to[i] = sum > T{0} ? (d < T{0} ? T{-1} : T{1}) / sum : T{0};
  }
};
/// In [-1, 1).
template <class T> struct random_start {
  T* to;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const auto bits = mixed(static_cast<std::uint64_t>(i) + 0x5851f42dull) >> 11;
    to[i] = static_cast<T>(static_cast<double>(bits) * (1.0 / 4503599627370496.0) - 1.0);
  }
};
/// One step of Lanczos' process for A x = lambda D x: t = s y - c q - e q', w = t / d.
template <class T> struct lanczos_step {
  const T* y;
  const T* q;
  const T* diagonal;
  T s, c, e;
  T* before; ///< q' in, t out
  T* w;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const T t = s * y[i] - c * q[i] - (e == T{0} ? T{0} : e * before[i]);
    const T d = absolute(diagonal[i]);
    const T divisor = d > T{0} ? d : T{1}; // divides always: vectors do
    before[i] = d > T{0} ? t : T{0};
    w[i] = d > T{0} ? t / divisor : T{0};
  }
};
template <class From, class To> struct convert_values {
  const From* from;
  To* to;
  LACUNA_BOTH void operator()(std::int64_t i) const { to[i] = static_cast<To>(from[i]); }
};
struct copy_segments {
  const int* from_at; ///< where row i's begin
  const int* from;
  const int* rowptr;
  int* to;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const int shift = from_at[i];
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k) to[k] = from[shift + k - rowptr[i]];
  }
};

} // namespace lacuna::detail::amg_rows
