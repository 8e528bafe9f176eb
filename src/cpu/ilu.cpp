// Incomplete factors on the host. Each row is made by one thread, entries in ascending columns: the
// same bits for any number of threads.
#include <atomic>
#include <cmath>

#include <lacuna/solver/ilu.hpp>

#include "cpu/level_runs.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t row_grain = 1024;

/// The least row in [0, n) with holds(row); -1 if there is none.
template <class F> std::int64_t first_row(const host_context& ctx, std::int64_t n, F&& holds) {
  std::atomic<std::int64_t> first{n};
  for_each_range(ctx, n, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      if (holds(row)) {
        std::int64_t seen = first.load();
        while (row < seen && !first.compare_exchange_weak(seen, row)) {
        }
        return;
      }
  });
  return first.load() == n ? -1 : first.load();
}

/// Row i less multiples of the rows of U that its lower entries name.
template <class T> void ilu_row(const detail::factor_arrays<T>& f, std::int64_t i) {
  const std::int32_t end = f.rowptr[i + 1];
  for (std::int32_t k = f.rowptr[i]; k < f.diagonal[i]; ++k) {
    const std::int32_t j = f.colind[k];
    const T multiple = f.values[k] / f.values[f.diagonal[j]];
    f.values[k] = multiple;
    std::int32_t at = k + 1;
    for (std::int32_t q = f.diagonal[j] + 1; q < f.rowptr[j + 1]; ++q) {
      while (at < end && f.colind[at] < f.colind[q]) ++at;
      if (at == end) break;
      if (f.colind[at] == f.colind[q]) f.values[at] -= multiple * f.values[q];
    }
  }
}

/// The sum of products of two rows' entries in columns below `limit`.
template <class T>
T dot_rows(const detail::factor_arrays<T>& f, const T* values, std::int64_t i, std::int64_t j,
           std::int32_t limit) {
  T sum = 0;
  std::int32_t k = f.rowptr[i];
  const std::int32_t end = f.rowptr[i + 1];
  for (std::int32_t q = f.rowptr[j]; q < f.rowptr[j + 1] && f.colind[q] < limit; ++q) {
    while (k < end && f.colind[k] < f.colind[q]) ++k;
    if (k == end) break;
    if (f.colind[k] == f.colind[q]) sum += values[k] * values[q];
  }
  return sum;
}

template <class T> void ic_row(const detail::factor_arrays<T>& f, std::int64_t i) {
  for (std::int32_t k = f.rowptr[i]; k < f.diagonal[i]; ++k) {
    const std::int32_t j = f.colind[k];
    f.values[k] = (f.values[k] - dot_rows(f, f.values, i, j, j)) / f.values[f.diagonal[j]];
  }
  T squares = 0;
  for (std::int32_t k = f.rowptr[i]; k < f.diagonal[i]; ++k) squares += f.values[k] * f.values[k];
  f.values[f.diagonal[i]] = std::sqrt(f.values[f.diagonal[i]] - squares);
}

} // namespace

std::int64_t find_diagonals(const host_context& ctx, std::int64_t n, const std::int32_t* rowptr,
                            const std::int32_t* colind, std::int32_t* diagonal) {
  return first_row(ctx, n, [=](std::int64_t row) {
    const std::int32_t* const end = colind + rowptr[row + 1];
    const std::int32_t* const at = std::lower_bound(colind + rowptr[row], end, row);
    diagonal[row] = static_cast<std::int32_t>(at - colind);
    return at == end || *at != row;
  });
}

template <class T>
void shift_diagonal(const host_context& ctx, detail::factor_arrays<T> f, T shift) {
  for_each_range(ctx, f.n, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      T largest = 0;
      for (std::int32_t k = f.rowptr[row]; k < f.rowptr[row + 1]; ++k)
        largest = std::max(largest, std::abs(f.values[k]));
      T& diagonal = f.values[f.diagonal[row]];
      diagonal += std::copysign(shift * largest, diagonal);
    }
  });
}

template <class T>
void factor_rows(const host_context& ctx, detail::factor_arrays<T> f, bool symmetric,
                 const detail::triangle_pattern<space::host>& lower, std::uint32_t*) {
  const auto rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t slot = begin; slot < end; ++slot)
      symmetric ? ic_row(f, lower.order[slot]) : ilu_row(f, lower.order[slot]);
  };
  if (lower.schedule == triangular_schedule::serial) return rows(0, f.n);
  for_each_level_piece(
      ctx, lower, 1, [&](std::int64_t, std::int64_t begin, std::int64_t end) { rows(begin, end); });
}

template <class T>
void guess_factors(const host_context& ctx, detail::factor_arrays<T> f, bool symmetric,
                   const T* a) {
  for_each_range(ctx, f.n, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int32_t k = f.rowptr[i]; k < f.rowptr[i + 1]; ++k) {
        const std::int32_t j = f.colind[k];
        const T pivot = a[f.diagonal[j]];
        if (symmetric)
          f.values[k] = j < i ? a[k] / std::sqrt(pivot) : j == i ? std::sqrt(pivot) : a[k];
        else
          f.values[k] = j < i ? a[k] / pivot : a[k];
      }
  });
}

template <class T>
void sweep_factors(const host_context& ctx, detail::factor_arrays<T> f,
                   detail::factor_columns columns, bool symmetric, const T* a, const T* before) {
  // sum of l_ik u_kj, k < min(i, j): row i against column j
  const auto row_times_column = [&](std::int64_t i, std::int32_t j) {
    const auto limit = static_cast<std::int32_t>(std::min<std::int64_t>(i, j));
    T sum = 0;
    std::int32_t k = f.rowptr[i];
    const std::int32_t end = f.rowptr[i + 1];
    for (std::int32_t q = columns.rowptr[j]; q < columns.rowptr[j + 1]; ++q) {
      const std::int32_t row = columns.colind[q];
      if (row >= limit) break;
      while (k < end && f.colind[k] < row) ++k;
      if (k == end) break;
      if (f.colind[k] == row) sum += before[k] * before[columns.from[q]];
    }
    return sum;
  };
  for_each_range(ctx, f.n, row_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int32_t k = f.rowptr[i]; k < f.rowptr[i + 1]; ++k) {
        const std::int32_t j = f.colind[k];
        if (symmetric && j > i) {
          f.values[k] = a[k];
          continue;
        }
        const T rest = a[k] - (symmetric ? dot_rows(f, before, i, j, j) : row_times_column(i, j));
        if (j < i)
          f.values[k] = rest / before[f.diagonal[j]];
        else
          f.values[k] = symmetric ? std::sqrt(rest) : rest;
      }
  });
}

template <class T>
std::int64_t find_bad_pivot(const host_context& ctx, detail::factor_arrays<T> f, bool symmetric) {
  return first_row(ctx, f.n, [&](std::int64_t row) {
    const T pivot = f.values[f.diagonal[row]];
    return pivot == T{0} || !std::isfinite(pivot) || (symmetric && pivot < T{0});
  });
}

template <class T>
void sweep_triangle(const host_context& ctx, const detail::triangle_pattern<space::host>& p,
                    const detail::triangle_values<T, space::host>& v, int sweeps,
                    vector_view<const T> b, vector_view<T> x, T* scratch) {
  const std::int64_t n = p.order.size();
  for (int sweep = 0; sweep <= sweeps; ++sweep) {
    const T* const before = scratch + (sweep % 2) * n;
    T* const after = sweep == sweeps ? x.data() : scratch + ((sweep + 1) % 2) * n;
    for_each_range(ctx, n, row_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t slot = begin; slot < end; ++slot) {
        T sum = 0;
        if (sweep > 0)
          for (std::int32_t k = p.start[slot]; k < p.start[slot + 1]; ++k)
            sum += v.entries[k] * before[p.column[k]];
        const T rest = b[p.order[slot]] - sum;
        after[p.order[slot]] = p.unit ? rest : rest * v.inverse[slot];
      }
    });
  }
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void shift_diagonal<T>(const host_context&, detail::factor_arrays<T>, T);               \
  template void factor_rows<T>(const host_context&, detail::factor_arrays<T>, bool,                \
                               const detail::triangle_pattern<space::host>&, std::uint32_t*);      \
  template void guess_factors<T>(const host_context&, detail::factor_arrays<T>, bool, const T*);   \
  template void sweep_factors<T>(const host_context&, detail::factor_arrays<T>,                    \
                                 detail::factor_columns, bool, const T*, const T*);                \
  template std::int64_t find_bad_pivot<T>(const host_context&, detail::factor_arrays<T>, bool);    \
  template void sweep_triangle<T>(const host_context&,                                             \
                                  const detail::triangle_pattern<space::host>&,                    \
                                  const detail::triangle_values<T, space::host>&, int,             \
                                  vector_view<const T>, vector_view<T>, T*);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::cpu
