// Incomplete factors on the device. A warp makes a row, taken in the order of levels; it waits for
// the flag of each row it needs, in ascending columns, so that every entry is summed in one order.
#include <lacuna/solver/ilu.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/relaxed.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

using least_row = unsigned long long;

/// The least row in [0, n) with holds(row); -1 if there is none. Waits.
template <class F>
std::int64_t least_row_with(const device_context& ctx, std::int64_t n, const char* what, F holds) {
  array<least_row, space::device> first(ctx, 1);
  check(cudaMemsetAsync(first.data(), 0xff, first.bytes(), ctx.stream()), what);
  for_each(ctx, n, what, [holds, first = first.data()] __device__(std::int64_t row) {
    if (holds(row)) atomicMin(first, static_cast<least_row>(row));
  });
  least_row found = 0;
  read_back(ctx, &found, std::as_const(first).data(), 1);
  return found == ~least_row{0} ? -1 : static_cast<std::int64_t>(found);
}

/// Where `wanted` is in colind[begin, end), which ascends; -1: nowhere.
__device__ inline std::int32_t find_column(const std::int32_t* colind, std::int32_t begin,
                                           std::int32_t end, std::int32_t wanted) {
  const std::int32_t limit = end;
  while (begin < end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    if (colind[middle] < wanted)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < limit && colind[begin] == wanted ? begin : -1;
}

/// Row i less multiples of the rows of U that its lower entries name: lanes share a row of U, whose
/// columns differ, so no two write one entry.
template <class T>
__device__ void ilu_warp_row(const detail::factor_arrays<T>& f, std::int32_t i, int lane,
                             const std::uint32_t* ready) {
  const std::int32_t end = f.rowptr[i + 1], last = f.diagonal[i];
  for (std::int32_t k = f.rowptr[i]; k < last; ++k) {
    const std::int32_t j = f.colind[k];
    while (load_acquire(ready + j) == 0) {
    }
    __syncwarp();
    const std::int32_t pivot = f.diagonal[j], row_end = f.rowptr[j + 1];
    const T multiple = f.values[k] / f.values[pivot];
    __syncwarp(); // all have read entry k
    if (lane == 0) f.values[k] = multiple;
    for (std::int32_t q = pivot + 1 + lane; q < row_end; q += 32) {
      const std::int32_t at = find_column(f.colind, k + 1, end, f.colind[q]);
      if (at >= 0) f.values[at] = fma(-multiple, f.values[q], f.values[at]);
    }
    __syncwarp();
  }
}

template <class T>
__device__ void ic_warp_row(const detail::factor_arrays<T>& f, std::int32_t i, int lane,
                            const std::uint32_t* ready) {
  const std::int32_t first = f.rowptr[i], last = f.diagonal[i];
  T squares = 0; // of this row's factors so far, the same in every lane
  for (std::int32_t k = first; k < last; ++k) {
    const std::int32_t j = f.colind[k];
    while (load_acquire(ready + j) == 0) {
    }
    __syncwarp();
    const std::int32_t pivot = f.diagonal[j];
    T sum = 0;
    for (std::int32_t q = f.rowptr[j] + lane; q < pivot; q += 32) {
      const std::int32_t at = find_column(f.colind, first, k, f.colind[q]);
      if (at >= 0) sum = fma(f.values[at], f.values[q], sum);
    }
    __syncwarp();
    sum = warp_sum(sum);
    const T factor = (f.values[k] - sum) / f.values[pivot];
    __syncwarp(); // all have read entry k
    if (lane == 0) f.values[k] = factor;
    squares = fma(factor, factor, squares);
    __syncwarp();
  }
  if (lane == 0) f.values[last] = sqrt(f.values[last] - squares);
  __syncwarp();
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    factor_rows_kernel(detail::factor_arrays<T> f, bool symmetric, const std::int32_t* order,
                       std::uint32_t* ready, std::uint32_t* counters) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const warp_tickets tickets(counters);
  for (;;) {
    const std::uint32_t slot = tickets.next();
    if (slot >= f.n) break;
    const std::int32_t row = order[slot];
    if (symmetric)
      ic_warp_row(f, row, lane, ready);
    else
      ilu_warp_row(f, row, lane, ready);
    __threadfence(); // every lane's entries, before the flag
    __syncwarp();
    if (lane == 0) store_release(ready + row, 1u);
  }
  tickets.leave();
}

} // namespace

std::int64_t find_diagonals(const device_context& ctx, std::int64_t n, const std::int32_t* rowptr,
                            const std::int32_t* colind, std::int32_t* diagonal) {
  if (n == 0) return -1;
  const device_guard guard(ctx.device());
  return least_row_with(ctx, n, "find_diagonals", [=] __device__(std::int64_t row) {
    const std::int32_t at =
        find_column(colind, rowptr[row], rowptr[row + 1], static_cast<std::int32_t>(row));
    diagonal[row] = at;
    return at < 0;
  });
}

template <class T>
void shift_diagonal(const device_context& ctx, detail::factor_arrays<T> f, T shift) {
  const device_guard guard(ctx.device());
  for_each(ctx, f.n, "shift_diagonal", [=] __device__(std::int64_t row) {
    T largest = 0;
    for (std::int32_t k = f.rowptr[row]; k < f.rowptr[row + 1]; ++k)
      largest = max(largest, abs(f.values[k]));
    T& diagonal = f.values[f.diagonal[row]];
    diagonal += copysign(shift * largest, diagonal);
  });
}

template <class T>
void factor_rows(const device_context& ctx, detail::factor_arrays<T> f, bool symmetric,
                 const detail::triangle_pattern<space::device>& lower, std::uint32_t* ready) {
  if (f.n == 0) return;
  const device_guard guard(ctx.device());
  array<std::uint32_t, space::device> counters(ctx, 2);
  check(cudaMemsetAsync(counters.data(), 0, counters.bytes(), ctx.stream()), "factor_rows");
  check(cudaMemsetAsync(ready, 0, static_cast<std::size_t>(f.n) * sizeof(std::uint32_t),
                        ctx.stream()),
        "factor_rows");
  // Warps for some levels ahead; more would only wait.
  const double wanted = 4 * lower.statistics.mean_width() * 32 / block_threads + 32;
  const double most = 6.0 * ctx.properties().multiprocessors;
  factor_rows_kernel<T>
      <<<static_cast<unsigned>(std::min(wanted, most)), block_threads, 0, ctx.stream()>>>(
          f, symmetric, lower.order.data(), ready, counters.data());
  check_launch("factor_rows_kernel");
}

template <class T>
void guess_factors(const device_context& ctx, detail::factor_arrays<T> f, bool symmetric,
                   const T* a) {
  const device_guard guard(ctx.device());
  for_each(ctx, f.n, "guess_factors", [=] __device__(std::int64_t i) {
    for (std::int32_t k = f.rowptr[i]; k < f.rowptr[i + 1]; ++k) {
      const std::int32_t j = f.colind[k];
      const T pivot = a[f.diagonal[j]];
      if (symmetric)
        f.values[k] = j < i ? a[k] / sqrt(pivot) : j == i ? sqrt(pivot) : a[k];
      else
        f.values[k] = j < i ? a[k] / pivot : a[k];
    }
  });
}

template <class T>
void sweep_factors(const device_context& ctx, detail::factor_arrays<T> f,
                   detail::factor_columns columns, bool symmetric, const T* a, const T* before) {
  if (f.n == 0) return;
  const device_guard guard(ctx.device());
  std::int32_t entries = 0;
  read_back(ctx, &entries, f.rowptr + f.n, 1);
  for_each(ctx, entries, "sweep_factors", [=] __device__(std::int64_t k) {
    const auto i = static_cast<std::int32_t>(row_of(f.rowptr, f.n, k));
    const std::int32_t j = f.colind[k];
    if (symmetric && j > i) {
      f.values[k] = a[k];
      return;
    }
    // Row i against column j of U, or row j of L: columns below both.
    const std::int32_t limit = min(i, j), end = f.rowptr[i + 1];
    const std::int32_t* const other = symmetric ? f.colind : columns.colind;
    const std::int32_t* const begins = symmetric ? f.rowptr : columns.rowptr;
    T sum = 0;
    std::int32_t p = f.rowptr[i];
    for (std::int32_t q = begins[j]; q < begins[j + 1] && other[q] < limit; ++q) {
      while (p < end && f.colind[p] < other[q]) ++p;
      if (p == end) break;
      if (f.colind[p] == other[q])
        sum = fma(before[p], before[symmetric ? q : columns.from[q]], sum);
    }
    const T rest = a[k] - sum;
    if (j < i)
      f.values[k] = rest / before[f.diagonal[j]];
    else
      f.values[k] = symmetric ? sqrt(rest) : rest;
  });
}

template <class T>
std::int64_t find_bad_pivot(const device_context& ctx, detail::factor_arrays<T> f, bool symmetric) {
  if (f.n == 0) return -1;
  const device_guard guard(ctx.device());
  return least_row_with(ctx, f.n, "find_bad_pivot", [=] __device__(std::int64_t row) {
    const T pivot = f.values[f.diagonal[row]];
    return pivot == T{0} || !isfinite(pivot) || (symmetric && pivot < T{0});
  });
}

template <class T>
void sweep_triangle(const device_context& ctx, const detail::triangle_pattern<space::device>& p,
                    const detail::triangle_values<T, space::device>& v, int sweeps,
                    vector_view<const T, space::device> b, vector_view<T, space::device> x,
                    T* scratch) {
  const device_guard guard(ctx.device());
  const std::int64_t n = p.order.size();
  for (int sweep = 0; sweep <= sweeps; ++sweep)
    for_each(ctx, n, "sweep_triangle",
             [=, unit = p.unit, order = p.order.data(), start = p.start.data(),
              column = p.column.data(), entries = v.entries.data(), inverse = v.inverse.data(),
              b = b.data(), x = x.data(), before = scratch + (sweep % 2) * n,
              after = scratch + ((sweep + 1) % 2) * n] __device__(std::int64_t slot) {
               T sum = 0;
               if (sweep > 0)
                 for (std::int32_t k = start[slot]; k < start[slot + 1]; ++k)
                   sum = fma(entries[k], before[column[k]], sum);
               const T rest = b[order[slot]] - sum;
               const T value = unit ? rest : rest * inverse[slot];
               if (sweep == sweeps)
                 x[order[slot]] = value;
               else
                 after[slot] = value;
             });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void shift_diagonal<T>(const device_context&, detail::factor_arrays<T>, T);             \
  template void factor_rows<T>(const device_context&, detail::factor_arrays<T>, bool,              \
                               const detail::triangle_pattern<space::device>&, std::uint32_t*);    \
  template void guess_factors<T>(const device_context&, detail::factor_arrays<T>, bool, const T*); \
  template void sweep_factors<T>(const device_context&, detail::factor_arrays<T>,                  \
                                 detail::factor_columns, bool, const T*, const T*);                \
  template std::int64_t find_bad_pivot<T>(const device_context&, detail::factor_arrays<T>, bool);  \
  template void sweep_triangle<T>(                                                                 \
      const device_context&, const detail::triangle_pattern<space::device>&,                       \
      const detail::triangle_values<T, space::device>&, int, vector_view<const T, space::device>,  \
      vector_view<T, space::device>, T*);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
