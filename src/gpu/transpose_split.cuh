// The kernels of transpose_csr.cu.
//
// A stable split deals entries out to bins by some bits of their column. Each block takes a tile of
// entries, in order: it knows from counts and a scan where its entries of each bin begin, and ranks
// them within the tile. The order is that of the entries, whatever the timing.
#pragma once

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::gpu {

/// Bits of a bin at most: a block counts 2 bytes for each bin and warp in shared memory.
constexpr int split_bits = 12;
constexpr int split_items_per_thread = 12;
constexpr int split_warps = block_threads / 32;
constexpr int split_run = 32 * split_items_per_thread; ///< consecutive entries of a warp
constexpr int split_round = split_warps * split_run;   ///< entries ranked together
/// Entries of a tile: large enough that 2^11 counts a tile are few beside them.
constexpr int split_tile = 5 * split_round;

/// An entry between two splits: the first bin is known by where it is.
template <class T, class I> struct alignas(sizeof(I) == 4 || sizeof(T) == 4 ? 16 : 8) split_record {
  I row;
  std::uint32_t bin;
  T value;
};

/// In one access of 16 bytes where that is its size: records go to places of their own.
template <class R> __device__ void store_record(R* to, const R& r) {
  if constexpr (sizeof(R) == sizeof(uint4) && alignof(R) == alignof(uint4)) {
    uint4 words;
    memcpy(&words, &r, sizeof words);
    *reinterpret_cast<uint4*>(to) = words;
  } else {
    *to = r;
  }
}
template <class R> __device__ R load_record(const R* from) {
  if constexpr (sizeof(R) == sizeof(uint4) && alignof(R) == alignof(uint4)) {
    const uint4 words = *reinterpret_cast<const uint4*>(from);
    R r;
    memcpy(&r, &words, sizeof words);
    return r;
  } else {
    return *from;
  }
}

/// The entries of A, by the low bits of their columns.
template <class T, class I, class O, class P> struct first_split {
  const O* rowptr;
  const I* col;
  const T* value;
  std::int64_t rows, entries;
  int low_bits;
  /// Either the next split's records, or, if one split is all, the result.
  split_record<T, I>* records;
  I* to_row;
  T* to_value;

  __device__ void tile(std::int64_t t, P& begin, P& end) const {
    begin = static_cast<P>(min(t * split_tile, entries));
    end = static_cast<P>(min((t + 1) * split_tile, entries));
  }
  __device__ unsigned bin(P k) const {
    return static_cast<unsigned>(load_once(col + k) & ((I{1} << low_bits) - 1));
  }

  /// Rows of a warp's run of entries [begin, end): found for the ends, then between them.
  struct run {
    std::int64_t row, last;
    __device__ run(const first_split& s, P begin, P end) {
      const std::int64_t mine = row_of(
          s.rowptr, s.rows, static_cast<std::int64_t>(threadIdx.x % 2 == 0 ? begin : end - 1));
      row = __shfl_sync(0xffffffffu, mine, 0);
      last = __shfl_sync(0xffffffffu, mine, 1);
    }
  };
  __device__ void move(run& r, P k, P to) const {
    std::int64_t high = r.last + 1;
    while (high - r.row > 1) { // k ascends from call to call
      const std::int64_t middle = (r.row + high) / 2;
      if (static_cast<std::int64_t>(rowptr[middle]) <= static_cast<std::int64_t>(k))
        r.row = middle;
      else
        high = middle;
    }
    const T v = load_once(value + k);
    if (records != nullptr) {
      const auto high_bits = static_cast<std::uint32_t>(col[k] >> low_bits);
      store_record(records + to, split_record<T, I>{static_cast<I>(r.row), high_bits, v});
    } else {
      to_row[to] = static_cast<I>(r.row);
      to_value[to] = v;
    }
  }
};

/// The records of the first split, by their bins. Tiles do not cross bins of the first split, so
/// that the scanned counts hold where each column begins.
template <class T, class I, class P> struct second_split {
  const split_record<T, I>* records;
  const P* bin_begin;         ///< of the first split's bins, `stride` apart
  std::int64_t stride;        ///< tiles of the first split
  const unsigned* tile_begin; ///< first tile of each of those bins, and the end
  int first_bins;
  std::int64_t entries;
  I* to_row;
  T* to_value;

  __device__ void tile(std::int64_t t, P& begin, P& end) const {
    begin = end = 0;
    if (t >= tile_begin[first_bins]) return;
    int low = 0, high = first_bins; // tile_begin[low] <= t < tile_begin[high]
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (tile_begin[middle] <= t)
        low = middle;
      else
        high = middle;
    }
    const P last = low + 1 == first_bins ? static_cast<P>(entries) : bin_begin[(low + 1) * stride];
    begin = bin_begin[low * stride] + static_cast<P>(t - tile_begin[low]) * split_tile;
    end = min(static_cast<P>(begin + split_tile), last);
  }
  __device__ unsigned bin(P k) const { return records[k].bin; }
  struct run {
    __device__ run(const second_split&, P, P) {}
  };
  __device__ void move(run&, P k, P to) const {
    const split_record<T, I> r = load_record(records + k);
    to_row[to] = r.row;
    to_value[to] = r.value;
  }
};

/// counts[bin * tiles + tile]; tiles of no entries leave theirs as they are.
template <class Split, class P>
__global__ void __launch_bounds__(block_threads)
    count_bins_kernel(const Split s, int bins, std::int64_t tiles, P* counts) {
  extern __shared__ unsigned bin_counts[];
  P begin, end;
  s.tile(blockIdx.x, begin, end);
  if (begin >= end) return;
  for (int b = threadIdx.x; b < bins; b += block_threads) bin_counts[b] = 0;
  __syncthreads();
  for (P k = begin + threadIdx.x; k < end; k += block_threads) atomicAdd(&bin_counts[s.bin(k)], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += block_threads)
    counts[b * tiles + blockIdx.x] = bin_counts[b];
}

/// Lanes of `active` with the same bin as this one.
__device__ inline unsigned same_bin(unsigned active, unsigned bin, int bits) {
  unsigned same = active;
  for (int b = 0; b < bits; ++b) {
    const bool set = (bin >> b & 1u) != 0;
    const unsigned with = __ballot_sync(0xffffffffu, set);
    same &= set ? with : ~with;
  }
  return same;
}

/// Moves every entry to where the scanned counts and its rank say.
template <class Split, class P>
__global__ void __launch_bounds__(block_threads, 3)
    split_kernel(const Split s, int bits, std::int64_t tiles, const P* first) {
  extern __shared__ __align__(16) unsigned char split_shared[];
  const int bins = 1 << bits;
  P* const base = reinterpret_cast<P*>(split_shared); // where the next round's entries begin
  auto* const ranks = reinterpret_cast<std::uint16_t*>(base + bins); // [warp][bin]
  P begin, end;
  s.tile(blockIdx.x, begin, end);
  if (begin >= end) return;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  std::uint16_t* const own = ranks + warp * bins;
  for (int b = thread; b < bins; b += block_threads) base[b] = first[b * tiles + blockIdx.x];

  for (; begin < end; begin += split_round) {
    for (int b = thread; b < bins * split_warps / 2; b += block_threads)
      reinterpret_cast<std::uint32_t*>(ranks)[b] = 0;
    __syncthreads();
    const P run_begin = min(static_cast<P>(begin + warp * split_run), end);
    const P run_end = min(static_cast<P>(run_begin + split_run), end);
    std::uint32_t placed[split_items_per_thread]; // bin above, rank within the warp below
#pragma unroll
    for (int u = 0; u < split_items_per_thread; ++u) {
      const P k = run_begin + u * 32 + lane;
      placed[u] = k < run_end ? s.bin(k) : 0u;
    }
#pragma unroll
    for (int u = 0; u < split_items_per_thread; ++u) {
      const bool inside = run_begin + u * 32 + lane < run_end;
      const unsigned active = __ballot_sync(0xffffffffu, inside);
      const unsigned bin = placed[u];
      const unsigned same = same_bin(active, bin, bits);
      const unsigned before = __popc(same & ((1u << lane) - 1));
      unsigned seen = 0;
      if (inside) seen = own[bin];
      __syncwarp();
      if (inside && before == 0) own[bin] = static_cast<std::uint16_t>(seen + __popc(same));
      __syncwarp();
      placed[u] = bin << 16 | (seen + before);
    }
    __syncthreads();
    // ranks becomes the distance of the warp's first entry from the end of the round's.
    for (int b = thread; b < bins; b += block_threads) {
      unsigned left = 0;
      for (int w = split_warps - 1; w >= 0; --w) {
        left += ranks[w * bins + b];
        ranks[w * bins + b] = static_cast<std::uint16_t>(left);
      }
      base[b] += left;
    }
    __syncthreads();
    if (run_begin < run_end) {
      typename Split::run rows(s, run_begin, run_end);
#pragma unroll
      for (int u = 0; u < split_items_per_thread; ++u) {
        const P k = run_begin + u * 32 + lane;
        const unsigned bin = placed[u] >> 16;
        if (k < run_end) s.move(rows, k, base[bin] - own[bin] + (placed[u] & 0xffffu));
      }
    }
    __syncthreads();
  }
}

/// Tiles of the second split for each bin of the first; one block.
template <class P>
__global__ void __launch_bounds__(block_threads)
    number_tiles_kernel(const P* bin_begin, std::int64_t stride, int bins, std::int64_t entries,
                        unsigned* tile_begin) {
  __shared__ unsigned sums[block_threads];
  const int each = (bins + block_threads - 1) / block_threads;
  const int from = min(static_cast<int>(threadIdx.x) * each, bins), to = min(from + each, bins);
  const auto tiles_of = [&](int b) {
    const P last = b + 1 == bins ? static_cast<P>(entries) : bin_begin[(b + 1) * stride];
    return static_cast<unsigned>((last - bin_begin[b * stride] + split_tile - 1) / split_tile);
  };
  unsigned sum = 0;
  for (int b = from; b < to; ++b) sum += tiles_of(b);
  sums[threadIdx.x] = sum;
  __syncthreads();
  unsigned before = 0;
  for (unsigned t = 0; t < threadIdx.x; ++t) before += sums[t];
  for (int b = from; b < to; ++b) {
    tile_begin[b] = before;
    before += tiles_of(b);
  }
  if (to == bins && from < to) tile_begin[bins] = before;
}

/// B = A^T where A's pattern is symmetric: B has A's columns, and a value is found by looking for
/// its mirror. Sets `differs` where there is none.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mirror_kernel(const O* __restrict__ rowptr, const I* __restrict__ col,
                  const T* __restrict__ value, std::int64_t rows, std::int64_t entries,
                  I* __restrict__ to_col, T* __restrict__ to_value, int* differs) {
  constexpr int rounds = 8;
  if (*static_cast<volatile int*>(differs) != 0) return;
  const std::int64_t begin = thread_index() / 32 * (32 * rounds);
  const std::int64_t end = min(begin + 32 * rounds, entries);
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
    const I j = col[k];
    O at = rowptr[j], stop = rowptr[std::int64_t{j} + 1];
    const O row_end = stop;
    while (at < stop) {
      const O middle = at + (stop - at) / 2;
      if (col[middle] < row)
        at = middle + 1;
      else
        stop = middle;
    }
    if (at == row_end || col[at] != row) {
      *differs = 1;
      return;
    }
    to_col[k] = j;
    to_value[k] = value[at];
  }
}

} // namespace lacuna::gpu
