// Sums of a range of a heavy row of C in shared memory of a block: for spgemm_fill_heavy.cu, by
// columns, and spgemm_places_heavy.cu, by places.
#pragma once

#include "gpu/parts/load.cuh"
#include "gpu/spgemm_heavy.cuh"
#include "gpu/spgemm_walk.cuh"

namespace lacuna::detail::gpu {

/// What stands in a range's column that no product has fallen on: a NaN that arithmetic, whose NaNs
/// are the canonical one, never makes.
__device__ inline double untouched(double) { return __longlong_as_double(0xfff4c0de5ca1ab1ell); }
__device__ inline bool is_untouched(double v) {
  return __double_as_longlong(v) == static_cast<long long>(0xfff4c0de5ca1ab1ell);
}
__device__ inline float untouched(float) { return __int_as_float(static_cast<int>(0xffa5ca1eu)); }
__device__ inline bool is_untouched(float v) {
  return __float_as_int(v) == static_cast<int>(0xffa5ca1eu);
}

/// Sums of a range's columns, as they are made.
template <class T> struct range_sums {
  T* sums;
  /// A column's sum with another product.
  __device__ T with(int column, T product) const {
    const T sum = sums[column];
    return is_untouched(sum) ? product : sum + product;
  }
  /// No other thread has this column now.
  __device__ void add(int column, T product) const { sums[column] = with(column, product); }
  /// Other threads may have it: nothing is said of the order.
  __device__ void add_relaxed(int column, T product) const {
    if (is_untouched(*static_cast<volatile T*>(sums + column)) && set_first(column, product))
      return;
    atomicAdd(sums + column, product);
  }

private:
  __device__ bool set_first(int column, T product) const {
    if constexpr (sizeof(T) == 8) {
      auto* const at = reinterpret_cast<unsigned long long*>(sums + column);
      const auto none = static_cast<unsigned long long>(__double_as_longlong(untouched(T{})));
      const auto bits = static_cast<unsigned long long>(__double_as_longlong(product));
      return atomicCAS(at, none, bits) == none;
    } else {
      auto* const at = reinterpret_cast<int*>(sums + column);
      const int none = __float_as_int(untouched(T{}));
      return atomicCAS(at, none, __float_as_int(product)) == none;
    }
  }
};

/// Where products fall: at their columns in B, or at places in C's row, which are kept in A's
/// order: there a row of B begins `shift` from where it does in B.
template <class I> struct own_columns {
  static constexpr bool are_shifted = false;
  const I* columns;
  template <class P> __device__ std::int64_t at(P k, std::int64_t) const {
    return __ldg(columns + k);
  }
};
template <class P> struct kept_columns {
  static constexpr bool are_shifted = true;
  const P* places;
  template <class K> __device__ std::int64_t at(K k, std::int64_t shift) const {
    return __ldg(places + (k + shift));
  }
};

/// The parts of B's rows that fall into a block's range, of up to block_threads entries of A, in
/// their order; none is empty.
template <class T, class O, bool are_shifted> struct segment_list {
  std::int64_t shift[are_shifted ? block_threads : 1];
  O begin[block_threads];
  int length[block_threads], start[block_threads]; // start: products before
  T factor[block_threads];
  int of_warp[block_threads / 32], products_of_warp[block_threads / 32];
};
struct list_size {
  int segments, products;
};
/// Fills the list with the segments of all threads; those of length 0 are left out.
template <class T, class O, bool are_shifted>
__device__ list_size make_list(segment_list<T, O, are_shifted>& list, const b_segment<T, O>& mine,
                               std::int64_t shift) {
  constexpr int warps = block_threads / 32;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int length = static_cast<int>(mine.length);
  const unsigned votes = __ballot_sync(whole_warp, length > 0);
  int start = length;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(whole_warp, start, step);
    if (lane >= step) start += other;
  }
  __syncthreads(); // the list before is used up
  if (lane == 31) {
    list.of_warp[warp] = __popc(votes);
    list.products_of_warp[warp] = start;
  }
  __syncthreads();
  start -= length;
  int to = __popc(votes & ((1u << lane) - 1));
  list_size size{0, 0};
  for (int w = 0; w < warps; ++w) {
    if (w < warp) {
      to += list.of_warp[w];
      start += list.products_of_warp[w];
    }
    size.segments += list.of_warp[w];
    size.products += list.products_of_warp[w];
  }
  if (length > 0) {
    list.begin[to] = mine.begin;
    list.length[to] = length;
    list.start[to] = start;
    list.factor[to] = mine.factor;
    if constexpr (are_shifted) list.shift[to] = shift;
  }
  __syncthreads();
  return size;
}

/// All threads along one segment at a time, where those are long.
template <class T, class O, class Columns>
__device__ void add_along(const Columns& columns, const spgemm_values<T>& v,
                          const segment_list<T, O, Columns::are_shifted>& list, int segments,
                          std::int64_t base, const range_sums<T>& sums) {
  const int thread = static_cast<int>(threadIdx.x);
  // What a thread has first of the next segment is on its way before this one is added.
  int left = 0; // entries of the segment from this thread's first on
  O at = 0;
  std::int64_t shift = 0;
  int column = 0;
  T value{0};
  const auto ask = [&](int t) {
    at = list.begin[t] + thread;
    left = list.length[t] - thread;
    if (left <= 0) return;
    if constexpr (Columns::are_shifted) shift = list.shift[t];
    column = static_cast<int>(columns.at(at, shift) - base);
    value = v.value(at);
  };
  if (segments > 0) ask(0);
  for (int t = 0; t < segments; ++t) {
    const T scale = list.factor[t];
    int current_left = left;
    O k = at;
    const std::int64_t current_shift = shift;
    int current_column = column;
    T current_value = value;
    if (t + 1 < segments) ask(t + 1);
    for (; current_left > 0; current_left -= block_threads) {
      sums.add(current_column, rounded_product(scale, current_value));
      if (current_left > block_threads) {
        k += block_threads;
        current_column = static_cast<int>(columns.at(k, current_shift) - base);
        current_value = v.value(k);
      }
    }
    __syncthreads(); // the next segment finds these sums
  }
}

/// Products that are dealt among warps at a time: two per thread.
constexpr int tile_products = 2 * block_threads;
constexpr int tile_words = tile_products / 32;

template <class T> struct product_tile {
  unsigned begins[2][tile_words]; // a bit where a segment begins; the next tile's beside it
  std::uint16_t column[tile_products];
  T product[tile_products];
  int of_warp[block_threads / 32][block_threads / 32]; // owner, dealer: products dealt
};

/// What a thread has of a tile: two products. Those of a warp lie side by side.
template <class T> struct dealt_products {
  bool present[2];
  int column[2];
  T product[2];
};

/// Deals a tile's products to the warps that own their columns, in order; each adds its own. The
/// block's threads pass one barrier before `used_up` is called, and end at no barrier.
template <class T, class UsedUp>
__device__ void deal_and_add(const dealt_products<T>& mine, product_tile<T>& tile, int products,
                             int owner_shift, const range_sums<T>& sums, const UsedUp& used_up) {
  constexpr int warps = block_threads / 32;
  static_assert(warps == 8); // owners have three bits
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  unsigned votes[2], bit[2][3];
  int owner[2];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    owner[u] = mine.column[u] >> owner_shift;
    votes[u] = __ballot_sync(whole_warp, mine.present[u]);
#pragma unroll
    for (int k = 0; k < 3; ++k) bit[u][k] = __ballot_sync(whole_warp, (owner[u] >> k & 1) != 0);
  }
  // Lanes whose product, of either step, goes to a warp.
  const auto dealt_to = [&](int u, int to) {
    unsigned mask = votes[u];
#pragma unroll
    for (int k = 0; k < 3; ++k) mask &= (to >> k & 1) != 0 ? bit[u][k] : ~bit[u][k];
    return mask;
  };
  if (lane < warps)
    tile.of_warp[lane][warp] = __popc(dealt_to(0, lane)) + __popc(dealt_to(1, lane));
  __syncthreads();
  used_up();
  // Where they go: by owner, then by dealer. A lane has two of the 64 numbers.
  const int one = tile.of_warp[lane / 4][2 * lane % 8],
            other = tile.of_warp[lane / 4][2 * lane % 8 + 1];
  int place = one + other;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int others = __shfl_up_sync(whole_warp, place, step);
    if (lane >= step) place += others;
  }
  place -= one + other;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int number = owner[u] * warps + warp;
    const int first = __shfl_sync(whole_warp, place, number / 2),
              half = __shfl_sync(whole_warp, one, number / 2);
    int to =
        first + (number % 2 != 0 ? half : 0) + __popc(dealt_to(u, owner[u]) & ((1u << lane) - 1));
    if (u == 1) to += __popc(dealt_to(0, owner[u]));
    if (!mine.present[u]) continue;
    tile.column[to] = static_cast<std::uint16_t>(mine.column[u]);
    tile.product[to] = mine.product[u];
  }
  const int begin = __shfl_sync(whole_warp, place, warp * warps / 2);
  const int next = __shfl_sync(whole_warp, place, (warp + 1) * warps / 2 % 32);
  const int end = warp + 1 < warps ? next : products;
  __syncthreads();
  for (int k = begin; k < end; k += 32) {
    const bool some = k + lane < end;
    const unsigned slot = some ? tile.column[k + lane] : whole_warp - lane;
    const T value = some ? tile.product[k + lane] : T{0};
    add_in_order(
        some, slot, value, [&](T first) { return sums.with(static_cast<int>(slot), first); },
        [&](T sum) { sums.sums[slot] = sum; });
  }
}

/// Short segments: a tile of their products at a time, found by all threads and dealt to the warps
/// that own their columns. `relaxed`: each thread adds what it found.
template <class T, class O, class Columns>
__device__ void add_tiles(const Columns& columns, const spgemm_values<T>& v,
                          const segment_list<T, O, Columns::are_shifted>& list,
                          const list_size& size, product_tile<T>& tile, std::int64_t base,
                          int owner_shift, const range_sums<T>& sums, bool relaxed) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const unsigned up_to_lane = whole_warp >> (31 - lane);
  const int start = thread < size.segments ? list.start[thread] : size.products;
  const auto mark = [&](int from, unsigned* begins) {
    const int at = start - from;
    if (thread < size.segments && at >= 0 && at < tile_products)
      atomicOr(begins + at / 32, 1u << (at % 32));
  };
  if (thread < 2 * tile_words) tile.begins[thread / tile_words][thread % tile_words] = 0;
  __syncthreads();
  mark(0, tile.begins[0]);
  __syncthreads();
  int before = 0; // segments that begin before the tile
  for (int from = 0, turn = 0; from < size.products; from += tile_products, turn ^= 1) {
    unsigned* const begins = tile.begins[turn];
    int upto = lane < tile_words ? __popc(begins[lane]) : 0; // segments up to a word's end
#pragma unroll
    for (int step = 1; step < tile_words; step *= 2) {
      const int other = __shfl_up_sync(whole_warp, upto, step);
      if (lane >= step) upto += other;
    }
    dealt_products<T> mine;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int word = 2 * warp + u, p = from + 32 * word + lane;
      const unsigned bits = begins[word];
      const int segment = before + __shfl_sync(whole_warp, upto, word) - __popc(bits) +
                          __popc(bits & up_to_lane) - 1;
      mine.present[u] = p < size.products;
      mine.column[u] = 0;
      mine.product[u] = T{0};
      if (mine.present[u]) {
        const O k = list.begin[segment] + static_cast<O>(p - list.start[segment]);
        std::int64_t shift = 0;
        if constexpr (Columns::are_shifted) shift = list.shift[segment];
        mine.column[u] = static_cast<int>(columns.at(k, shift) - base);
        mine.product[u] = rounded_product(list.factor[segment], v.value(k));
      }
    }
    before += __shfl_sync(whole_warp, upto, tile_words - 1);
    mark(from + tile_products, tile.begins[turn ^ 1]);
    const auto used_up = [&] {
      if (thread < tile_words) begins[thread] = 0; // marked again after the next barrier
    };
    if (relaxed) {
#pragma unroll
      for (int u = 0; u < 2; ++u)
        if (mine.present[u]) sums.add_relaxed(mine.column[u], mine.product[u]);
      __syncthreads();
      used_up();
      __syncthreads();
    } else {
      deal_and_add(mine, tile, min(tile_products, size.products - from), owner_shift, sums,
                   used_up);
    }
  }
  __syncthreads();
}

} // namespace lacuna::detail::gpu
