// Internal: passes of smoothers and cycles over vectors; see amg_rows.hpp.
#pragma once

#include "solver/amg_rows.hpp"

namespace lacuna::detail::amg_rows {

/// x = d r: a sweep of Jacobi from 0.
template <class T> struct jacobi_first {
  const T* scale;
  const T* r;
  T* x;
  LACUNA_BOTH void operator()(std::int64_t i) const { x[i] = scale[i] * r[i]; }
};
/// x += d r.
template <class T> struct jacobi_next {
  const T* scale;
  const T* r;
  T* x;
  LACUNA_BOTH void operator()(std::int64_t i) const { x[i] += scale[i] * r[i]; }
};
/// p' = beta p + alpha d r; x += p'.
template <class T> struct chebyshev_step {
  const T* scale;
  const T* r;
  T alpha, beta;
  bool from_zero; ///< x is only written
  const T* p;     ///< null: the first step; may be x
  T* next;        ///< p'; null: nobody wants it
  T* x;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    T step = alpha * scale[i] * r[i];
    if (p != nullptr) step += beta * p[i];
    if (next != nullptr) next[i] = step;
    x[i] = from_zero ? step : x[i] + step;
  }
};
/// A sweep of Gauss-Seidel over rows of one colour.
template <class T> struct relax_rows {
  matrix<T> a;
  const int* rows;
  const T* inverse; ///< of the diagonal
  const T* b;
  T* x;
  LACUNA_BOTH void operator()(std::int64_t at) const {
    const int i = rows[at];
    T sum = b[i];
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) sum -= a.values[k] * x[a.colind[k]];
    x[i] += inverse[i] * sum;
  }
};
/// A greedy colouring's round: undecided rows whose key is the largest around take the smallest
/// colour that no neighbour has. Colours of neighbours are read from the round before.
struct colour_round {
  const int* rowptr;
  const int* colind;
  const int* before; ///< -1: none yet
  int* colour;
  int* undecided;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    if (before[i] >= 0) {
      colour[i] = before[i];
      return;
    }
    const std::uint64_t own = set_key(1, static_cast<std::uint64_t>(i));
    std::uint64_t taken = 0;
    bool first = true;
    for (int k = rowptr[i]; k < rowptr[i + 1]; ++k) {
      const int j = colind[k];
      if (j == i) continue;
      if (before[j] < 0)
        first &= set_key(1, static_cast<std::uint64_t>(j)) < own;
      else if (before[j] < 64)
        taken |= std::uint64_t{1} << before[j];
    }
    int mine = -1;
    if (first) {
      mine = 0;
      while (mine < 64 && ((taken >> mine) & 1u) != 0) ++mine;
      // Beyond 64 colours: one above all that are near.
      if (mine == 64)
        for (int k = rowptr[i]; k < rowptr[i + 1]; ++k)
          if (colind[k] != i && before[colind[k]] >= mine) mine = before[colind[k]] + 1;
    } else {
      raise_flag(undecided);
    }
    colour[i] = mine;
  }
};

// ---- K-cycles: two steps of flexible CG, whose scalars stay where the vectors are --------------

/// r = r - (s[1] / s[0]) v, with s[0] = c.v and s[1] = c.r.
template <class T> struct krylov_residual {
  const T* s;
  const T* r;
  const T* v;
  T* to;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    const T step = s[0] > T{0} ? s[1] / s[0] : T{0};
    to[i] = r[i] - step * v[i];
  }
};
/// x = a c + e d, with s[2] = d.v, s[3] = d.w, s[4] = d.r'.
template <class T> struct krylov_solution {
  const T* s;
  const T* c;
  const T* d;
  T* x;
  LACUNA_BOTH void operator()(std::int64_t i) const {
    T first{1}, second{0};
    if (s[0] > T{0}) {
      first = s[1] / s[0];
      const T left = s[3] - s[2] * s[2] / s[0];
      if (left > T{0}) {
        second = s[4] / left;
        first -= s[2] * second / s[0];
      }
    }
    x[i] = first * c[i] + second * d[i];
  }
};

} // namespace lacuna::detail::amg_rows
