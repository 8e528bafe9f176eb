// Walks over the products of a row of C: the entries of A's row in their order, each with its row
// of B. All lanes of a warp make the same calls.
#pragma once

#include "gpu/parts/hash.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::detail::gpu {

/// For walks that look at columns alone.
struct columns_only {
  using scalar_type = int;
  static constexpr bool has_values = false;
  template <class P> __device__ int factor(P) const { return 0; }
  template <class P> __device__ int value(P) const { return 0; }
};

/// Calls take(column, product) for each product of `left` entries of A from `begin` on, in their
/// order, each group those of its own row; its lanes lie along one row of B at a time, so no two
/// hold one column.
template <class I, class O, class Values, class Take>
__device__ void walk_along(const spgemm_factors<I, O>& f, const Values& v, const lane_group& g,
                           O begin, O left, const Take& take) {
  using T = typename Values::scalar_type;
  for (; __any_sync(whole_warp, left > 0); left -= g.size, begin += g.size) {
    O b = 0, length = 0;
    T factor{0};
    if (g.lane < left) {
      const I j = f.a_colind[begin + g.lane];
      factor = v.factor(begin + g.lane);
      b = f.b_rowptr[j];
      length = f.b_rowptr[j + 1] - b;
    }
    const int count = __reduce_max_sync(
        whole_warp, static_cast<int>(max(O{0}, min(static_cast<O>(g.size), left))));
    // Of the next row of B: what this lane has first is on its way before this row is used.
    O next = 0, next_left = 0; // next_left: entries from this lane's first on
    I column = 0;
    T value{0};
    const auto ask = [&](int t) {
      next = g.from(b, t) + g.lane;
      next_left = g.from(length, t) - g.lane;
      if (next_left <= 0) return;
      column = __ldg(f.b_colind + next);
      value = v.value(next);
    };
    ask(0);
    for (int t = 0; t < count; ++t) {
      T scale{0};
      if constexpr (Values::has_values) scale = g.from(factor, t);
      O at = next, current_left = next_left;
      I current_column = column;
      T current_value = value;
      if (t + 1 < count) ask(t + 1);
      while (__any_sync(whole_warp, current_left > 0)) {
        const I now = current_column;
        const T product = rounded_product(scale, current_value);
        if (current_left > g.size) {
          at += g.size;
          current_column = __ldg(f.b_colind + at);
          current_value = v.value(at);
        }
        if (current_left > 0) take(now, product);
        current_left -= g.size;
      }
      __syncwarp(); // the next row of B finds these sums
    }
  }
}

/// The place of the n-th of a mask's bits, n from 0 on; 31 if there are not so many.
__device__ inline int place_of_bit(unsigned mask, int n) {
  int place = 0;
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    if (__popc(mask & ((1u << (place + step)) - 1)) <= n) place += step;
  return place;
}

/// What an entry of A contributes: entries of B from `begin` on, and a factor.
template <class T, class O> struct b_segment {
  O begin;
  O length;
  T factor;
};
/// Entry k of A with its whole row of B.
template <class I, class O, class Values>
__device__ b_segment<typename Values::scalar_type, O> whole_row(const spgemm_factors<I, O>& f,
                                                                const Values& v, O k) {
  const I j = f.a_colind[k];
  const O b = f.b_rowptr[j];
  return {b, f.b_rowptr[j + 1] - b, v.factor(k)};
}

/// The same for a whole warp: 32 products at a time, whatever the lengths of B's rows, of `left`
/// entries of A from `begin` on, each of which has segment_of(entry); fewer than 2^31 products.
/// take(present, column, product) is called by all lanes; the products of a call are in A's order,
/// too, and may hold one column more than once.
template <class I, class O, class Values, class SegmentOf, class Take>
__device__ void walk_flat(const spgemm_factors<I, O>& f, const Values& v, O begin, O left,
                          const SegmentOf& segment_of, const Take& take) {
  using T = typename Values::scalar_type;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned up_to_lane = whole_warp >> (31 - lane);
  for (; left > 0; left -= 32, begin += 32) {
    b_segment<T, O> mine{0, 0, T{0}};
    if (lane < left) mine = segment_of(static_cast<O>(begin + lane));
    O b = mine.begin;
    T factor = mine.factor;
    int length = static_cast<int>(mine.length);
    // Empty rows of B are left out: entries begin at places that differ.
    const unsigned some = __ballot_sync(whole_warp, length > 0);
    if ((some & (some + 1)) != 0) {
      const int from = place_of_bit(some, lane);
      b = __shfl_sync(whole_warp, b, from);
      if constexpr (Values::has_values) factor = __shfl_sync(whole_warp, factor, from);
      length = __shfl_sync(whole_warp, length, from);
      if (lane >= __popc(some)) length = 0;
    }
    int start = length; // of this entry's products among those of all 32
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(whole_warp, start, step);
      if (lane >= step) start += other;
    }
    const int total = __shfl_sync(whole_warp, start, 31);
    start -= length;
    const O origin = b - start; // product p of this entry is B's entry origin + p

    int before = 0; // entries of A that begin before what is asked for next
    I column = 0;
    T value{0}, scale{0};
    const auto ask = [&](int base) {
      const unsigned at = static_cast<unsigned>(start - base);
      const unsigned begins = __reduce_or_sync(whole_warp, length > 0 && at < 32u ? 1u << at : 0u);
      const int owner = before + __popc(begins & up_to_lane) - 1;
      before += __popc(begins);
      const O place = __shfl_sync(whole_warp, origin, owner) + base + lane;
      if constexpr (Values::has_values) scale = __shfl_sync(whole_warp, factor, owner);
      if (base + lane >= total) return;
      column = __ldg(f.b_colind + place);
      value = v.value(place);
    };
    if (total > 0) ask(0);
    for (int base = 0; base < total; base += 32) {
      const I now = column;
      const T product = rounded_product(scale, value);
      if (base + 32 < total) ask(base + 32); // on its way before this is used
      take(base + lane < total, now, product);
    }
  }
}

/// Adds the values of lanes that are `present` to their slots, those of one slot in the lanes'
/// order: the first lane of a slot begins with first(value), adds the others in a register and
/// gives the sum to last(sum). Called by all lanes of the warp; slots of lanes that are not present
/// differ from all others.
template <class T, class First, class Last>
__device__ void add_in_order(bool present, unsigned slot, T value, const First& first,
                             const Last& last) {
  const unsigned same = __match_any_sync(whole_warp, slot);
  const unsigned up_to_lane = whole_warp >> (31 - threadIdx.x % 32);
  unsigned others = same & ~up_to_lane;
  const bool leads = present && (same & (up_to_lane >> 1)) == 0;
  T sum = leads ? first(value) : value;
  // Four values are on their way before the first is added.
  constexpr int at_once = 4;
  for (int left = __reduce_max_sync(whole_warp, __popc(others)); left > 0; left -= at_once) {
    T other[at_once];
    unsigned valid = 0;
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
      other[u] = __shfl_sync(whole_warp, value, __ffs(static_cast<int>(others)) - 1);
      valid |= others != 0 ? 1u << u : 0u;
      others &= others - 1;
    }
#pragma unroll
    for (int u = 0; u < at_once; ++u)
      if ((valid >> u & 1u) != 0) sum += other[u];
  }
  if (leads) last(sum);
  __syncwarp(); // the next find these sums
}

/// Calls take(column - base) for the products of A's entries [begin, end) that fall on columns
/// [base, base + width), by a whole block in any order, until `done` says so. `cut`: B's rows may
/// begin before `base`. `flat`: they are short, and fewer than 2^31 products in all.
template <class I, class O, class Take, class Done>
__device__ void walk_window(const spgemm_factors<I, O>& f, O begin, O end, bool flat, bool cut,
                            std::int64_t base, std::int64_t width, const Take& take,
                            const Done& done) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const std::int64_t at_once = flat ? 32 : 1;
  for (std::int64_t a = begin + at_once * warp; a < end; a += at_once * warps) {
    if (flat) {
      walk_flat(
          f, columns_only{}, static_cast<O>(a), static_cast<O>(min(at_once, end - a)),
          [&](O k) {
            auto row = whole_row(f, columns_only{}, k);
            const O last = row.begin + row.length;
            if (cut) row.begin = first_from(f.b_colind, row.begin, last, base);
            row.length = first_from(f.b_colind, row.begin, last, base + width) - row.begin;
            return row;
          },
          [&](bool present, I column, int) {
            if (present) take(column - base);
          });
    } else {
      const I j = f.a_colind[a];
      O b = f.b_rowptr[j];
      const O e = f.b_rowptr[j + 1];
      if (cut) b = first_from(f.b_colind, b, e, base);
      for (std::int64_t k = std::int64_t{b} + lane; k < e; k += 32) {
        const std::int64_t at = f.b_colind[k] - base;
        if (at >= width) break;
        take(at);
      }
    }
    __syncwarp();
    if (done()) break;
  }
}

} // namespace lacuna::detail::gpu
