// B = A^T. Entries of one column keep the order of A's rows.
//
// A square matrix with sorted, unique rows is first taken to have a symmetric pattern: B has A's
// columns then, and values are found by binary search. The first entry without a mirror ends that.
// Otherwise a stable radix sort of A's columns, with entries' numbers; rows and values are fetched
// by those. Splitting the entries themselves in two stable passes moved fewer bytes and took 1.4
// to 2.4 times as long.
//
// Bytes an entry, 4-byte indices and 8-byte values: symmetric 28; sorted 20 and 16 for every 8 bits
// of the columns, and what is fetched: 12, or whole sectors of 64. Scratch 16. The least is 24.
#include <bit>

#include <cub/device/device_radix_sort.cuh>

#include "gpu/parts/reduce.cuh"
#include "gpu/parts/sort.cuh"
#include <lacuna/op/transpose.hpp>

namespace lacuna::gpu {
namespace {

template <class T, class I, class O> using device_view = csr_view<const T, I, O, space::device>;
template <class T, class I, class O> using device_result = csr_view<T, I, O, space::device>;

/// Entries that a lane looks at.
constexpr int entries_of_lane = 8;
inline unsigned blocks_for_entries(std::int64_t entries) {
  return blocks_for((entries + entries_of_lane - 1) / entries_of_lane + 31);
}

/// Calls f(entry, row) for the entries of this warp until it returns false.
template <class O, class F>
__device__ void for_entries_of_warp(const O* rowptr, std::int64_t rows, std::int64_t entries,
                                    const F& f) {
  const std::int64_t begin = thread_index() / 32 * (32 * entries_of_lane);
  const std::int64_t end = min(begin + 32 * entries_of_lane, entries);
  if (begin >= end) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t found = row_of(rowptr, rows, lane % 2 == 0 ? begin : end - 1);
  std::int64_t row = __shfl_sync(0xffffffffu, found, 0);
  const std::int64_t last = __shfl_sync(0xffffffffu, found, 1);
  for (std::int64_t k = begin + lane; k < end; k += 32) {
    std::int64_t high = last + 1;
    while (high - row > 1) {
      const std::int64_t middle = (row + high) / 2;
      if (static_cast<std::int64_t>(rowptr[middle]) <= k)
        row = middle;
      else
        high = middle;
    }
    if (!f(k, row)) return;
  }
}

/// Where (column, row) is, for an entry (row, column); -1 if it is nowhere.
template <class I, class O>
__device__ std::int64_t mirror_of(const O* rowptr, const I* col, std::int64_t row, I column) {
  O at = rowptr[column], stop = rowptr[std::int64_t{column} + 1];
  const O end = stop;
  while (at < stop) {
    const O middle = at + (stop - at) / 2;
    if (col[middle] < row)
      at = middle + 1;
    else
      stop = middle;
  }
  return at == end || col[at] != row ? std::int64_t{-1} : static_cast<std::int64_t>(at);
}

/// Looks at a few entries, all over A: most patterns that are not symmetric are found out here.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    sample_mirrors_kernel(const O* rowptr, const I* col, std::int64_t rows, std::int64_t entries,
                          int* differs) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t k = thread_index() * ((entries + threads - 1) / threads);
  if (k < entries && mirror_of(rowptr, col, row_of(rowptr, rows, k), col[k]) < 0) *differs = 1;
}

/// B = A^T where A's pattern is symmetric: B has A's columns, and a value is found by looking for
/// its mirror. Sets `differs` where there is none.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mirror_kernel(const O* __restrict__ rowptr, const I* __restrict__ col,
                  const T* __restrict__ value, std::int64_t rows, std::int64_t entries,
                  I* __restrict__ to_col, T* __restrict__ to_value, int* differs) {
  if (*static_cast<volatile int*>(differs) != 0) return;
  for_entries_of_warp(rowptr, rows, entries, [&](std::int64_t k, std::int64_t row) {
    const I j = col[k];
    const std::int64_t at = mirror_of(rowptr, col, row, j);
    if (at < 0) {
      *differs = 1;
      return false;
    }
    to_col[k] = j;
    to_value[k] = value[at];
    return true;
  });
}

/// Whether the pattern was symmetric, and B is done; waits. B's arrays may have been written in any
/// case.
template <class T, class I, class O>
bool mirrored(const device_context& ctx, device_view<T, I, O> a, device_result<T, I, O> b,
              array<int, space::device>& differs) {
  check(cudaMemsetAsync(differs.data(), 0, differs.bytes(), ctx.stream()), "transpose: memset");
  const std::int64_t entries = a.size(), rows = a.shape().row;
  sample_mirrors_kernel<<<4, block_threads, 0, ctx.stream()>>>(a.rowptr().data(), a.colind().data(),
                                                               rows, entries, differs.data());
  check_launch("sample_mirrors_kernel");
  mirror_kernel<<<blocks_for_entries(entries), block_threads, 0, ctx.stream()>>>(
      a.rowptr().data(), a.colind().data(), a.values().data(), rows, entries, b.colind().data(),
      b.values().data(), differs.data());
  check_launch("mirror_kernel");
  int found = 0;
  read_back(ctx, &found, differs.data(), 1);
  if (found != 0) return false;
  check(cudaMemcpyAsync(b.rowptr().data(), a.rowptr().data(),
                        (static_cast<std::size_t>(rows) + 1) * sizeof(O), cudaMemcpyDeviceToDevice,
                        ctx.stream()),
        "transpose: rowptr");
  return true;
}

template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    number_rows_kernel(const O* rowptr, std::int64_t rows, std::int64_t entries, I* row_of_entry) {
  for_entries_of_warp(rowptr, rows, entries, [&](std::int64_t k, std::int64_t row) {
    row_of_entry[k] = static_cast<I>(row);
    return true;
  });
}

/// A's columns in order; its scratch is allocated before anything is written.
template <class P, class I> class column_sort {
public:
  using key = std::make_unsigned_t<I>;
  column_sort(const device_context& ctx, std::int64_t columns, std::int64_t entries)
      : bits_(
            std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(columns - 1))))),
        keys_{array<key, space::device>(ctx, entries), array<key, space::device>(ctx, entries)},
        positions_{array<P, space::device>(ctx, entries), array<P, space::device>(ctx, entries)} {
    std::size_t bytes = 0;
    check(sort(ctx, nullptr, bytes), "transpose: sort");
    scratch_ = array<char, space::device>(ctx, static_cast<std::int64_t>(bytes));
  }

  template <class T, class O>
  void run(const device_context& ctx, device_view<T, I, O> a, device_result<T, I, O> b) {
    const std::int64_t rows = a.shape().row, columns = a.shape().col, entries = a.size();
    for_each(ctx, entries, "transpose: keys",
             [from = a.colind().data(), keys = keys_[0].data(),
              positions = positions_[0].data()] __device__(std::int64_t k) {
               keys[k] = static_cast<key>(from[k]);
               positions[k] = static_cast<P>(k);
             });
    std::size_t bytes = scratch_.bytes();
    check(sort(ctx, scratch_.data(), bytes), "transpose: sort");
    for_each(ctx, columns + 1, "transpose: rowptr",
             [keys = sorted_keys_, entries, columns,
              rowptr = b.rowptr().data()] __device__(std::int64_t c) {
               rowptr[c] = static_cast<O>(
                   c == columns ? entries : lower_bound(keys, entries, static_cast<key>(c)));
             });
    I* const row_of_entry = reinterpret_cast<I*>(free_keys_);
    number_rows_kernel<<<blocks_for_entries(entries), block_threads, 0, ctx.stream()>>>(
        a.rowptr().data(), rows, entries, row_of_entry);
    check_launch("number_rows_kernel");
    for_each(ctx, entries, "transpose: entries",
             [positions = sorted_positions_, row_of_entry, from = a.values().data(),
              colind = b.colind().data(), values = b.values().data()] __device__(std::int64_t k) {
               const auto at = static_cast<std::int64_t>(positions[k]);
               colind[k] = row_of_entry[at];
               values[k] = from[at];
             });
  }

private:
  cudaError_t sort(const device_context& ctx, void* scratch, std::size_t& bytes) {
    cub::DoubleBuffer<key> keys(keys_[0].data(), keys_[1].data());
    cub::DoubleBuffer<P> positions(positions_[0].data(), positions_[1].data());
    const cudaError_t status = cub::DeviceRadixSort::SortPairs(
        scratch, bytes, keys, positions, keys_[0].size(), 0, bits_, ctx.stream());
    sorted_keys_ = keys.Current();
    free_keys_ = keys.Alternate();
    sorted_positions_ = positions.Current();
    return status;
  }

  int bits_;
  array<key, space::device> keys_[2];
  array<P, space::device> positions_[2];
  array<char, space::device> scratch_;
  key *sorted_keys_ = nullptr, *free_keys_ = nullptr;
  P* sorted_positions_ = nullptr;
};

} // namespace

template <class T, class I, class O>
void transpose_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                   csr_view<T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  const std::int64_t columns = a.shape().col;
  if (a.size() == 0) {
    if (b.rowptr().data() != nullptr)
      check(cudaMemsetAsync(b.rowptr().data(), 0,
                            (static_cast<std::size_t>(columns) + 1) * sizeof(O), ctx.stream()),
            "transpose: memset");
    return;
  }
  with_position_type(a.size(), [&](auto position) {
    column_sort<decltype(position), I> sort(ctx, columns, a.size());
    if (a.shape().row == columns && a.order().sorted && a.order().unique) {
      array<int, space::device> differs(ctx, 1);
      if (mirrored(ctx, a, b, differs)) return;
    }
    sort.run(ctx, a, b);
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void transpose_csr<T, I, O>(const device_context&,                                      \
                                       csr_view<const T, I, O, space::device>,                     \
                                       csr_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
