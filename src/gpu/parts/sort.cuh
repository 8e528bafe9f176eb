// Stable sorting of index arrays by CUB's radix sort, only the bits that are needed. Values never
// travel through the sort: it orders positions, and the caller gathers by them.
#pragma once

#include <cstdint>

#include "gpu/parts/cuda.cuh"
#include <lacuna/core/array.hpp>

namespace lacuna::detail::gpu {

/// Keys in ascending order, and where each stood before.
template <class Key, class Position> struct sorted_keys {
  array<Key, space::device> keys;
  array<Position, space::device> positions;
};

/// Sorts keys in [0, limit) stably, moving positions along. Scratch: as much again.
template <class Key, class Position>
sorted_keys<Key, Position> sort_stably(const device_context& ctx,
                                       sorted_keys<Key, Position> unsorted, std::int64_t limit);

/// The same in buffers of the caller's, by bits [first_bit, end_bit) of the keys: from [0] to the
/// one that is returned.
template <class Key, class Position>
int sort_stably(const device_context& ctx, Key* const (&keys)[2], Position* const (&positions)[2],
                std::int64_t n, int first_bit, int end_bit);

/// Calls f with a value of the narrowest unsigned type that can number n entries: uint32_t, or
/// uint64_t beyond the narrow limit.
template <class F> void with_position_type(std::int64_t n, F&& f) {
  if (n <= detail::narrow_limit())
    f(std::uint32_t{});
  else
    f(std::uint64_t{});
}

/// First i in [0, n) with sorted[i] >= value; n if there is none.
template <class Key>
__device__ std::int64_t lower_bound(const Key* sorted, std::int64_t n, Key value) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Sorts indices in [0, limit) stably, with the places where they stood.
template <class Position, class I>
sorted_keys<std::make_unsigned_t<I>, Position>
sort_indices(const device_context& ctx, const I* indices, std::int64_t n, std::int64_t limit) {
  using key = std::make_unsigned_t<I>;
  sorted_keys<key, Position> order{array<key, space::device>(ctx, n),
                                   array<Position, space::device>(ctx, n)};
  for_each(ctx, n, "sort_indices",
           [indices, keys = order.keys.data(),
            positions = order.positions.data()] __device__(std::int64_t k) {
             keys[k] = static_cast<key>(indices[k]);
             positions[k] = static_cast<Position>(k);
           });
  return sort_stably(ctx, std::move(order), limit);
}

/// starts[i]: of n sorted keys, those below i; starts has one element more than there are lines.
template <class Key, class O>
void find_starts(const device_context& ctx, const Key* sorted, std::int64_t n,
                 vector_view<O, space::device> starts) {
  const std::int64_t lines = starts.size() - 1;
  for_each(ctx, lines + 1, "find_starts",
           [sorted, n, lines, starts = starts.data()] __device__(std::int64_t i) {
             starts[i] =
                 static_cast<O>(i == lines ? n : lower_bound(sorted, n, static_cast<Key>(i)));
           });
}

/// The last i in [0, n) with holds(i), which is so for 0 and up to some i. By all lanes of a warp,
/// which look at 32 places at a time: a fifth of the round trips of a binary search.
template <class Holds> __device__ std::int64_t last_of_warp(std::int64_t n, const Holds& holds) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::int64_t low = 0, high = n; // holds(low), not holds(high)
  while (high - low > 1) {
    const std::int64_t step = (high - low + 31) / 32, at = low + lane * step;
    const unsigned votes = __ballot_sync(0xffffffffu, lane == 0 || (at < high && holds(at)));
    low += (31 - __clz(static_cast<int>(votes))) * step;
    high = min(high, low + step);
  }
  return low;
}

/// The row that entry k belongs to: the last row that begins at or before it.
template <class O>
__device__ std::int64_t row_of(const O* rowptr, std::int64_t rows, std::int64_t k) {
  std::int64_t low = 0, high = rows; // rowptr[low] <= k < rowptr[high]
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (rowptr[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

} // namespace lacuna::detail::gpu
