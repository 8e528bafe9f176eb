// Kernels of spgemm_slices.cuh: diagonals of a matrix, which of them each row has, values by
// diagonal, entries of C's rows, C.
#pragma once

#include "gpu/parts/hash.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/offsets.cuh"
#include "gpu/spgemm.cuh"
#include "gpu/spgemm_slice_steps.hpp"

namespace lacuna::detail::gpu {

/// The diagonals of a matrix: made from zeros.
struct found_diagonals {
  std::int64_t of[most_diagonals]; // in any order
  unsigned count;                  // more than most_diagonals: too many to be kept
  unsigned is_unsorted;            // a row's columns do not ascend
  unsigned is_incomplete;          // a row has one that was not found in the sample
};
/// Slots of a table of keys, each 2 (column - row) + 1, 0 where none is.
inline constexpr int diagonal_slots = 2 * most_diagonals;

/// Neighbouring numbers far apart: samples are at no fixed distance, which might be that of a
/// grid's lines.
__device__ inline unsigned scattered(std::int64_t number) {
  return static_cast<unsigned>(number) * 2654435761u >> 8;
}

__device__ inline unsigned long long diagonal_key(std::int64_t column, std::int64_t row) {
  return 2 * static_cast<unsigned long long>(column - row) + 1;
}
/// Whether the key is new in a table of zeros that has room, or there is none.
__device__ inline bool add_diagonal(unsigned long long* keys, unsigned long long key) {
  constexpr int shift = 25;
  static_assert(1u << (32 - shift) == diagonal_slots);
  unsigned slot = hash_of(static_cast<std::int64_t>(key), shift);
  for (int tried = 0; tried < diagonal_slots; ++tried) {
    unsigned long long stored = *static_cast<volatile unsigned long long*>(keys + slot);
    if (stored == 0) {
      stored = atomicCAS(keys + slot, 0ull, key);
      if (stored == 0) return true;
    }
    if (stored == key) return false;
    slot = (slot + 1) % diagonal_slots;
  }
  return true;
}

/// Threads of a block that looks at patterns, and columns of a slice that a warp of it stages:
/// those of longer rows are read where they are.
inline constexpr int pattern_threads = 128, staged_columns = 33 * 32;

/// Columns of rows [first, last), side by side in A, for a warp whose lanes take a row each.
template <class I, class O>
__device__ const I* stage_columns(const I* colind, std::int64_t begin, std::int64_t end,
                                  I* staged) {
  const std::int64_t count = end - begin;
  if (count > staged_columns) return colind + begin;
#pragma unroll 4
  for (int k = static_cast<int>(threadIdx.x) % 32; k < count; k += 32)
    staged[k] = load_once(colind + begin + k);
  __syncwarp();
  return staged;
}

/// A warp for each 32 rows, of those of every so many slices that lie side by side one. Of a row
/// that has the pattern of the one before, one column on, nothing is new. Rows need not be sorted;
/// one with more entries than diagonals may be has too many.
template <class I, class O>
__global__ void __launch_bounds__(pattern_threads)
    find_diagonals_kernel(const O* rowptr, const I* colind, std::int64_t rows, unsigned every,
                          unsigned long long* all_keys, found_diagonals* found) {
  __shared__ I staged[pattern_threads / 32][staged_columns];
  __shared__ unsigned long long keys[diagonal_slots];
  __shared__ unsigned count;
  static_assert(diagonal_slots <= pattern_threads);
  keys[threadIdx.x % diagonal_slots] = 0;
  if (threadIdx.x == 0) count = *static_cast<volatile unsigned*>(&found->count);
  __syncthreads();
  const bool has_room = count <= most_diagonals;
  __syncthreads();
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (!has_room) return;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  for (std::int64_t warp = thread_index() / 32; warp * every * 32 < rows; warp += stride) {
    const std::int64_t first = (warp * every + scattered(warp) % every) * 32;
    if (first >= rows) break;
    const std::int64_t row = first + threadIdx.x % 32;
    const std::int64_t from = rowptr[first > 0 ? first - 1 : 0];
    const I* const columns =
        stage_columns<I, O>(colind, from, rowptr[min(first + 32, rows)], staged[threadIdx.x / 32]);
    if (row < rows) {
      const std::int64_t begin = rowptr[row] - from, end = rowptr[row + 1] - from;
      const std::int64_t length = end - begin;
      const bool is_like = row > 0 && rowptr[row] - rowptr[row - 1] == length;
      if (length > most_diagonals) atomicMax(&count, most_diagonals + 1u);
      for (std::int64_t k = begin; k < end && length <= most_diagonals; ++k) {
        const I column = columns[k];
        if (is_like && columns[k - length] == column - 1) continue;
        if (add_diagonal(keys, diagonal_key(column, row))) atomicAdd(&count, 1u);
      }
    }
    __syncwarp();
    if (__any_sync(whole_warp, *static_cast<volatile unsigned*>(&count) > most_diagonals)) break;
  }
  __syncthreads();
  if (count > most_diagonals) {
    if (threadIdx.x == 0) atomicMax(&found->count, most_diagonals + 1u);
  } else if (threadIdx.x < diagonal_slots && keys[threadIdx.x] != 0) {
    const unsigned long long key = keys[threadIdx.x];
    if (!add_diagonal(all_keys, key)) return;
    const unsigned place = atomicAdd(&found->count, 1u);
    if (place < most_diagonals) found->of[place] = static_cast<std::int64_t>(key) >> 1;
  }
}

/// masks[row]: bit k, whether the row has the k-th of those diagonals in ascending order. A warp
/// for each 32 rows.
template <class I, class O>
__global__ void __launch_bounds__(pattern_threads)
    mask_rows_kernel(const O* rowptr, const I* colind, std::int64_t rows, found_diagonals* found,
                     unsigned long long* masks) {
  __shared__ I staged[pattern_threads / 32][staged_columns];
  __shared__ std::int64_t sorted[most_diagonals];
  const unsigned count = found->count;
  if (count > most_diagonals) return;
  if (threadIdx.x < count) {
    const std::int64_t own = found->of[threadIdx.x];
    unsigned smaller = 0;
    for (unsigned k = 0; k < count; ++k) smaller += found->of[k] < own ? 1 : 0;
    sorted[smaller] = own;
  }
  __syncthreads();
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  bool ascends = true, is_complete = true;
  for (std::int64_t row = thread_index(); row - threadIdx.x % 32 < rows; row += stride) {
    const std::int64_t first = row - threadIdx.x % 32, from = rowptr[first];
    const I* const columns =
        stage_columns<I, O>(colind, from, rowptr[min(first + 32, rows)], staged[threadIdx.x / 32]);
    if (row < rows) {
      const std::int64_t end = rowptr[row + 1] - from;
      unsigned long long mask = 0;
      unsigned place = 0; // of the first diagonal that may be the next entry's
      std::int64_t last = -1;
      for (std::int64_t k = rowptr[row] - from; ascends && is_complete && k < end; ++k) {
        const std::int64_t column = columns[k];
        while (place < count && sorted[place] < column - row) ++place;
        ascends = column > last;
        is_complete = !ascends || (place < count && sorted[place] == column - row);
        if (ascends && is_complete) mask |= 1ull << place++;
        last = column;
      }
      masks[row] = mask;
    }
    __syncwarp();
  }
  if (!ascends) found->is_unsorted = 1;
  if (!is_complete) found->is_incomplete = 1;
}

/// Values slice by slice, in each diagonal by diagonal, in each row by row; 0 where none is. One
/// warp per slice.
template <class T, class O>
__global__ void __launch_bounds__(128)
    slice_values_kernel(const O* rowptr, const unsigned long long* masks, std::int64_t rows,
                        int diagonals, const T* values, T* sliced) {
  extern __shared__ __align__(16) unsigned char shared[];
  const std::int64_t first = thread_index() / diagonal_slice_rows * diagonal_slice_rows;
  if (first >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % diagonal_slice_rows;
  const int places = diagonal_slice_rows * diagonals;
  T* const staged =
      reinterpret_cast<T*>(shared) + static_cast<int>(threadIdx.x) / diagonal_slice_rows * places;
  const std::int64_t row = min(first + lane, rows);
  const std::int64_t begin = rowptr[first];
  const auto count =
      static_cast<int>(min(std::int64_t{rowptr[min(first + diagonal_slice_rows, rows)]} - begin,
                           static_cast<std::int64_t>(places)));
#pragma unroll 4
  for (int k = lane; k < count; k += diagonal_slice_rows) staged[k] = load_once(values + begin + k);
  __syncwarp();
  const unsigned long long mask = row < rows ? masks[row] : 0;
  // Within what is staged also where rows have entries twice: what is made of those is dropped.
  auto at = static_cast<int>(
      min(std::int64_t{rowptr[row]} - begin, static_cast<std::int64_t>(places - __popcll(mask))));
  T* const to = sliced + first * diagonals + lane;
  for (int k = 0; k < diagonals; ++k)
    to[k * diagonal_slice_rows] = (mask >> k & 1) != 0 ? staged[at++] : T{0};
}

/// What counting and filling read of the factors.
struct sliced_pattern {
  const slice_step* steps;
  const slice_window* windows;
  const std::int64_t* c; // diagonals of C
  int window_count;
  std::int64_t rows;               // of A and C
  const unsigned long long *a, *b; // masks
  const unsigned* full; // of each slice: rows that lack nothing, nor those of B they meet
};

/// Diagonals of A, B and C.
struct diagonal_counts {
  int a, b, c;
};

template <class T> struct sliced_values {
  const T *a, *b;
  T alpha;
  bool pattern; // no value is read, those of C are 1
  int a_diagonals, b_diagonals;
};

/// One slice of C: a lane has a row. `whole`: no mask is looked at. Without columns: C has them.
template <int width, bool whole, bool columns, class T, class I>
__device__ void fill_slice(const sliced_pattern& p, const sliced_values<T>& v, std::int64_t first,
                           int staged, bool at_once, read_offsets rowptr,
                           const fill_target<T, I>& c, int* wrong, T* values, slice_code* codes) {
  constexpr int lanes = diagonal_slice_rows;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t row = first + lane;
  const bool is_full = whole || (p.full[first / lanes] >> lane & 1u) != 0;
  const unsigned long long mask = is_full ? ~0ull : row < p.rows ? p.a[row] : 0;
  const T* const a = v.a + first * v.a_diagonals + lane;
  const int b_slice = lanes * v.b_diagonals;
  std::int64_t to = rowptr[whole ? row : min(row, p.rows)];
  const std::int64_t begin = __shfl_sync(whole_warp, to, 0);
  const int own = at_once ? static_cast<int>(to - begin) : lane * staged;
  const auto put = [&](std::int64_t to_place, int k) {
    if (columns) {
      const slice_code code = codes[k];
      c.put_column(to_place, static_cast<I>(first + code % lanes + p.c[code / lanes]), wrong);
    }
    c.values[to_place] = values[k];
  };
  int at = own, step = 0;
  slice_step next = load_whole(p.steps);
  for (int w = 0; w < p.window_count; ++w) {
    const slice_window window = p.windows[w];
    T sums[width];
#pragma unroll
    for (int u = 0; u < width; ++u) sums[u] = no_product<T>();
    unsigned made = 0;
    for (; step < window.end; ++step) {
      const slice_step s = next;
      next = load_whole(p.steps + step + 1);
      const std::int64_t j = row + s.diagonal; // a row of B's, if A has an entry there
      const bool is_met = whole || (mask >> s.a() & 1) != 0;
      unsigned has = s.sums();
      if (!is_full) has = is_met ? static_cast<unsigned>(p.b[j] >> s.b()) << s.first() & has : 0;
      made |= has;
      const bool is_read = is_met && !v.pattern;
      const T factor = is_read ? a[lanes * s.a()] * v.alpha : T{0};
      const T* const b =
          v.b + std::int64_t{static_cast<int>(j >> 5)} * b_slice + s.values + (j & (lanes - 1));
      T of_b[width];
#pragma unroll
      for (int u = 0; u < width; ++u)
        of_b[u] = is_read && (s.sums() >> u & 1) != 0 ? b[lanes * u] : T{0};
#pragma unroll
      for (int u = 0; u < width; ++u)
        if ((has >> u & 1) != 0) sums[u] += rounded_product(factor, of_b[u]);
    }
#pragma unroll
    for (int u = 0; u < width; ++u)
      if ((made >> u & 1) != 0) {
        if (columns) codes[at] = static_cast<slice_code>(lane + lanes * (window.first + u));
        values[at++] = v.pattern ? T{1} : sums[u];
      }
    if (window.is_last == 0) continue;
    __syncwarp();
    if (at_once) {
      const int count = __shfl_sync(whole_warp, at, lanes - 1);
      for (int k = lane; k < count; k += lanes) put(begin + k, k);
      return;
    }
    const int across = staged > lanes / 2 + 1 ? lanes : lanes / 2, k = lane % across;
    for (int r = lane / across; r < lanes; r += lanes / across) {
      const int count = __shfl_sync(whole_warp, at - own, r);
      const std::int64_t of_row = __shfl_sync(whole_warp, to, r);
      if (k < count) put(of_row + k, r * staged + k);
    }
    __syncwarp();
    to += at - own;
    at = own;
  }
}

/// One warp per slice.
template <int width, bool columns, class T, class I>
__global__ void __launch_bounds__(128, width <= narrow_window ? 9 : 7) // 56, 72 registers
    fill_slices_kernel(const sliced_pattern p, const sliced_values<T> v, int staged, bool at_once,
                       read_offsets rowptr, const fill_target<T, I> c, int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  const std::int64_t slice = thread_index() / diagonal_slice_rows;
  const std::int64_t first = slice * diagonal_slice_rows;
  if (first >= p.rows) return;
  const int entries = diagonal_slice_rows * staged;
  const int warp = static_cast<int>(threadIdx.x) / diagonal_slice_rows;
  const int warps = static_cast<int>(blockDim.x) / diagonal_slice_rows;
  T* const values = reinterpret_cast<T*>(shared) + warp * entries;
  slice_code* const codes =
      reinterpret_cast<slice_code*>(reinterpret_cast<T*>(shared) + warps * entries) +
      warp * entries;
  if (p.full[slice] == whole_warp)
    fill_slice<width, true, columns>(p, v, first, staged, at_once, rowptr, c, wrong, values, codes);
  else
    fill_slice<width, false, columns>(p, v, first, staged, at_once, rowptr, c, wrong, values,
                                      codes);
}

} // namespace lacuna::detail::gpu
