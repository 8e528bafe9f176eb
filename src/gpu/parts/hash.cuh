// Tables in shared memory that one group of a warp's lanes owns.
#pragma once

#include <cstdint>

#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {

/// Keys are columns, so no key is -1.
template <class I> inline constexpr I no_key = -1;

/// Fibonacci hashing: columns of a run, and of runs at any regular distance, spread evenly.
__device__ inline unsigned hash_of(std::int32_t key, int shift) {
  return (static_cast<unsigned>(key) * 2654435769u) >> shift;
}
__device__ inline unsigned hash_of(std::int64_t key, int shift) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(key) * 11400714819323198485ull) >> 32) >>
         shift;
}
__device__ inline std::int64_t swap_key(std::int64_t* at, std::int64_t expected, std::int64_t key) {
  return static_cast<std::int64_t>(atomicCAS(reinterpret_cast<unsigned long long*>(at),
                                             static_cast<unsigned long long>(expected),
                                             static_cast<unsigned long long>(key)));
}

struct found_slot {
  unsigned slot;
  bool is_new;
};
/// The slot of a key, which is put in if it is missing. The table has 2^(32 - shift) slots, 4 at
/// least, and one is free. Four are looked at in one load: a warp waits for the lane that looks
/// longest.
__device__ inline found_slot find_slot(std::int32_t* keys, int shift, std::int32_t key) {
  const unsigned mask = (0xffffffffu >> shift) >> 2;
  unsigned bucket = hash_of(key, shift) >> 2;
  for (;;) {
    const int4 stored = *reinterpret_cast<const int4*>(keys + 4 * bucket);
    if (stored.x == key) return {4 * bucket, false};
    if (stored.y == key) return {4 * bucket + 1, false};
    if (stored.z == key) return {4 * bucket + 2, false};
    if (stored.w == key) return {4 * bucket + 3, false};
    const unsigned free = stored.x == -1   ? 0u
                          : stored.y == -1 ? 1u
                          : stored.z == -1 ? 2u
                          : stored.w == -1 ? 3u
                                           : 4u;
    if (free == 4) {
      bucket = (bucket + 1) & mask;
      continue;
    }
    const std::int32_t before = atomicCAS(keys + 4 * bucket + free, -1, key);
    if (before == -1) return {4 * bucket + free, true};
    if (before == key) return {4 * bucket + free, false};
  }
}
__device__ inline found_slot find_slot(std::int64_t* keys, int shift, std::int64_t key) {
  const unsigned mask = 0xffffffffu >> shift;
  unsigned slot = hash_of(key, shift);
  for (;;) {
    std::int64_t stored = keys[slot];
    if (stored == -1) {
      stored = swap_key(keys + slot, -1, key);
      if (stored == -1) return {slot, true};
    }
    if (stored == key) return {slot, false};
    slot = (slot + 1) & mask;
  }
}

/// A warp's lanes in groups of `size`, a power of two. All lanes of the warp must make the same
/// calls, whatever their groups have left to do: groups that went their own ways would run one
/// after another.
struct lane_group {
  int size, lane; // lane: within the group
  __device__ explicit lane_group(int lanes)
      : size(lanes), lane(static_cast<int>(threadIdx.x) & (lanes - 1)) {}
  template <class V> __device__ V from(V value, int source) const {
    return __shfl_sync(whole_warp, value, source, size);
  }
  template <class V> __device__ V sum(V value) const {
    for (int step = size / 2; step > 0; step /= 2)
      value += __shfl_xor_sync(whole_warp, value, step, size);
    return value;
  }
  /// Bit l: the condition holds in the group's lane l.
  __device__ unsigned ballot(bool condition) const {
    const unsigned votes = __ballot_sync(whole_warp, condition);
    return (votes >> (threadIdx.x & 31 & ~static_cast<unsigned>(size - 1))) &
           (whole_warp >> (32 - size));
  }
};

} // namespace lacuna::detail::gpu
