// Columns of a row of C in shared memory of a warp, 32 to a word: those of several unknowns per
// node and those of bands stand side by side, so words are few. The place of a column in C's row is
// a look at a word and a popcount; nothing is sorted but words.
#pragma once

#include "gpu/spgemm_twins.cuh"
#include "gpu/spgemm_walk.cuh"

namespace lacuna::detail::gpu {

/// The slot of a key that is there.
__device__ inline unsigned known_slot(const std::int32_t* keys, int shift, std::int32_t key) {
  const unsigned mask = (0xffffffffu >> shift) >> 2;
  for (unsigned bucket = hash_of(key, shift) >> 2;; bucket = (bucket + 1) & mask) {
    const int4 stored = *reinterpret_cast<const int4*>(keys + 4 * bucket);
    if (stored.x == key) return 4 * bucket;
    if (stored.y == key) return 4 * bucket + 1;
    if (stored.z == key) return 4 * bucket + 2;
    if (stored.w == key || stored.w == -1) return 4 * bucket + 3;
  }
}
__device__ inline unsigned known_slot(const std::int64_t* keys, int shift, std::int64_t key) {
  const unsigned mask = 0xffffffffu >> shift;
  unsigned slot = hash_of(key, shift);
  while (keys[slot] != key && keys[slot] != -1) slot = (slot + 1) & mask;
  return slot;
}

/// A word as it is kept in memory.
template <class I> struct kept_word {
  I key;
  unsigned mask;
};

/// A table of words, owned by one warp; all of its lanes make the same calls.
template <class I> struct column_words {
  I* keys;                      // columns / 32
  unsigned* masks;              // which of the 32 are there
  std::uint16_t *before, *list; // entries of smaller words; slots as they were taken
  int slots, words = 0;         // slots: a power of two, 32 at least

  static constexpr std::size_t bytes(int slots) {
    return static_cast<std::size_t>(slots) * (sizeof(I) + sizeof(unsigned) + 4);
  }
  __device__ column_words(unsigned char* shared, int its_slots)
      : keys(reinterpret_cast<I*>(shared)), masks(reinterpret_cast<unsigned*>(keys + its_slots)),
        before(reinterpret_cast<std::uint16_t*>(masks + its_slots)), list(before + its_slots),
        slots(its_slots) {}

  /// Takes the rows of B of those entries [begin, end) of A for which `counts` says so. False if
  /// there are more words than slots.
  template <class O, class Counts>
  __device__ bool gather(const spgemm_factors<I, O>& f, O begin, O end, const Counts& counts) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned up_to_lane = whole_warp >> (31 - lane);
    clear();
    words = 0;
    bool fits = true;
    const int shift = __clz(slots) + 1;
    walk_flat(
        f, columns_only{}, begin, static_cast<O>(end - begin),
        [&](O k) {
          return counts(k) ? whole_row(f, columns_only{}, k) : b_segment<int, O>{0, 0, 0};
        },
        [&](bool present, I column, int) {
          // The first lane of a run of columns within a word puts in the whole run.
          const I last = __shfl_up_sync(whole_warp, column, 1);
          const bool starts = present && (lane == 0 || column != last + 1 || (column & 31) == 0);
          const unsigned votes = __ballot_sync(whole_warp, starts);
          const int all = __popc(__ballot_sync(whole_warp, present));
          fits = fits && words + __popc(votes) < slots;
          found_slot found{0, false};
          if (fits && starts) {
            const unsigned later = votes & ~up_to_lane;
            const int length = (later != 0 ? __ffs(static_cast<int>(later)) - 1 : all) - lane;
            const unsigned run = (whole_warp >> (32 - length)) << static_cast<int>(column & 31);
            found = find_slot(keys, shift, static_cast<I>(column >> 5));
            if ((masks[found.slot] & run) != run) atomicOr(masks + found.slot, run);
          }
          const unsigned fresh = __ballot_sync(whole_warp, found.is_new);
          if (found.is_new)
            list[words + __popc(fresh & (up_to_lane >> 1))] =
                static_cast<std::uint16_t>(found.slot);
          words += __popc(fresh);
        });
    __syncwarp();
    return fits;
  }
  __device__ void clear() const {
    for (int s = static_cast<int>(threadIdx.x) % 32; s < slots; s += 32) {
      keys[s] = no_key<I>;
      masks[s] = 0;
    }
    __syncwarp();
  }
  /// Keeps up to 32 words, ascending.
  __device__ void keep(kept_word<I>* to) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned slot = lane < words ? list[lane] : 0;
    const I key = keys[slot];
    int smaller = 0;
#pragma unroll 4
    for (int k = 0; k < words; ++k) smaller += __shfl_sync(whole_warp, key, k) < key ? 1 : 0;
    if (lane < words) to[smaller] = {key, masks[slot]};
    __syncwarp();
  }
  /// Takes words that were kept, in order.
  __device__ void restore(const kept_word<I>* from, int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    kept_word<I> mine{0, 0};
    if (lane < count) mine = from[lane];
    clear();
    words = count;
    const int entries = __popc(mine.mask);
    int sum = entries;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(whole_warp, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane < count) {
      const unsigned slot = find_slot(keys, __clz(slots) + 1, mine.key).slot;
      masks[slot] = mine.mask;
      before[slot] = static_cast<std::uint16_t>(sum - entries);
      list[lane] = static_cast<std::uint16_t>(slot);
    }
    __syncwarp();
  }
  /// How many columns there are.
  __device__ int count() const {
    int sum = 0;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < words; i += 32)
      sum += __popc(masks[list[i]]);
    __syncwarp();
    return warp_sum(sum);
  }
  /// Puts words in order: after it columns have places.
  __device__ void order() const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int first = 0; first < words; first += 32) {
      const bool mine = first + lane < words;
      const unsigned slot = mine ? list[first + lane] : 0;
      const I key = keys[slot];
      int sum = 0; // of entries in smaller words
      for (int base = 0; base < words; base += 32) {
        const unsigned other = base + lane < words ? list[base + lane] : 0;
        const I its_key = keys[other];
        const int entries = __popc(masks[other]), count = min(32, words - base);
#pragma unroll 4
        for (int k = 0; k < count; ++k) {
          const int its_entries = __shfl_sync(whole_warp, entries, k);
          if (__shfl_sync(whole_warp, its_key, k) < key) sum += its_entries;
        }
      }
      if (mine) before[slot] = static_cast<std::uint16_t>(sum);
    }
    __syncwarp();
  }
  /// Of a column that is there.
  __device__ int place(I column) const {
    const unsigned slot = known_slot(keys, __clz(slots) + 1, static_cast<I>(column >> 5));
    return before[slot] + __popc(masks[slot] & ((1u << static_cast<int>(column & 31)) - 1));
  }
  /// All of them, in order: a word a lane.
  __device__ void write(I* columns) const {
    for (int i = static_cast<int>(threadIdx.x) % 32; i < words; i += 32) {
      const unsigned slot = list[i];
      const I base = 32 * keys[slot];
      I* to = columns + before[slot];
      for (unsigned mask = masks[slot]; mask != 0; mask &= mask - 1)
        *to++ = base + static_cast<I>(__ffs(static_cast<int>(mask)) - 1);
    }
    __syncwarp();
  }
};

/// Of a group's row of A: whether entry k is the first of those that one group of B's rows serves.
template <class I> struct begins_run {
  const I* colind;
  const unsigned char* b_leads;
  template <class P> __device__ bool operator()(P k, P row_begin) const {
    const I j = colind[k];
    return k == row_begin || colind[k - 1] + 1 != j || b_leads[j] != 0;
  }
};

/// Rows of the group that begins at `leader`; all lanes of a warp.
__device__ inline int rows_of_group(const unsigned char* leads, std::int64_t rows,
                                    std::int64_t leader) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool stops =
      lane >= most_twins || leader + lane >= rows || (lane > 0 && leads[leader + lane] != 0);
  return __ffs(static_cast<int>(__ballot_sync(whole_warp, stops))) - 1;
}

} // namespace lacuna::detail::gpu
