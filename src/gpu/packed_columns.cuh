// Columns of a packed matrix on the device, one by one: stands in for a pointer to CSR's columns.
#pragma once

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/format/packed_csr.hpp>

namespace lacuna::detail::gpu {

/// The columns from some entry on. May point past the last one, where it must not be read.
template <class I, class O> struct packed_columns {
  using word = std::make_unsigned_t<I>;
  const packed_chunk<I>* chunks;
  const word* words; // the distances
  std::make_unsigned_t<O> entry = 0;

  __device__ packed_columns operator+(O n) const {
    return {chunks, words, entry + static_cast<std::make_unsigned_t<O>>(n)};
  }
  __device__ packed_columns& operator+=(O n) { return *this = *this + n; }
};

template <class T, class I, class O>
packed_columns<I, O> columns_of(packed_csr_view<const T, I, O, space::device> a) {
  return {a.chunks().data(), reinterpret_cast<const std::make_unsigned_t<I>*>(a.columns().data())};
}

/// Loads if `inside`, else gives 0. By a predicate, never by a branch: a column takes two loads,
/// one after the other, and those of several columns are to be in flight together.
__device__ inline packed_chunk<std::int32_t> load_head_if(bool inside,
                                                          const packed_chunk<std::int32_t>* p) {
  std::int32_t base = 0, place = 0;
  asm("{.reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.nc.v2.s32 {%0, %1}, [%3];}"
      : "+r"(base), "+r"(place)
      : "r"(static_cast<int>(inside)), "l"(p));
  return {base, static_cast<std::uint32_t>(place)};
}
__device__ inline packed_chunk<std::int64_t> load_head_if(bool inside,
                                                          const packed_chunk<std::int64_t>* p) {
  std::int64_t base = 0, place = 0;
  asm("{.reg .pred q; setp.ne.s32 q, %2, 0; @q ld.global.nc.v2.s64 {%0, %1}, [%3];}"
      : "+l"(base), "+l"(place)
      : "r"(static_cast<int>(inside)), "l"(p));
  return {base, static_cast<std::uint64_t>(place)};
}
template <bool once> __device__ std::uint32_t load_word_if(bool inside, const std::uint32_t* p) {
  std::uint32_t v = 0;
  if constexpr (once)
    asm("{.reg .pred q; setp.ne.s32 q, %1, 0; @q ld.global.nc.L1::no_allocate.u32 %0, [%2];}"
        : "+r"(v)
        : "r"(static_cast<int>(inside)), "l"(p));
  else
    asm("{.reg .pred q; setp.ne.s32 q, %1, 0; @q ld.global.nc.u32 %0, [%2];}"
        : "+r"(v)
        : "r"(static_cast<int>(inside)), "l"(p));
  return v;
}
template <bool once> __device__ std::uint64_t load_word_if(bool inside, const std::uint64_t* p) {
  std::uint64_t v = 0;
  if constexpr (once)
    asm("{.reg .pred q; setp.ne.s32 q, %1, 0; @q ld.global.nc.L1::no_allocate.u64 %0, [%2];}"
        : "+l"(v)
        : "r"(static_cast<int>(inside)), "l"(p));
  else
    asm("{.reg .pred q; setp.ne.s32 q, %1, 0; @q ld.global.nc.u64 %0, [%2];}"
        : "+l"(v)
        : "r"(static_cast<int>(inside)), "l"(p));
  return v;
}

/// The first column, or -1. All widths alike: the word that holds the distance is loaded, then
/// shifted and masked. Heads go through the cache, as 64 entries share one.
template <bool once, class I, class O>
__device__ I unpack_column_if(bool inside, packed_columns<I, O> from) {
  using word = std::make_unsigned_t<I>;
  constexpr unsigned word_bits = 8 * sizeof(word);
  const packed_chunk<I> head = load_head_if(inside, from.chunks + from.entry / chunk_entries);
  const unsigned bits = 8u << head.log_width();
  const unsigned bit = static_cast<unsigned>(from.entry % chunk_entries) * bits;
  const word* words = from.words + (head.place >> 2) * std::size_t{chunk_entries / sizeof(word)};
  const word distances = load_word_if<once>(inside, words + bit / word_bits);
  const word mask = static_cast<word>(-1) >> (word_bits - bits);
  const word distance = (distances >> (bit % word_bits)) & mask;
  return inside ? static_cast<I>(static_cast<word>(head.base) + distance) : I{-1};
}
template <class I, class O>
__device__ I load_cached_if(bool inside, packed_columns<I, O> columns, int distance) {
  return unpack_column_if<false>(inside, columns + distance);
}
template <class I, class O>
__device__ I load_once_if(bool inside, packed_columns<I, O> columns, int distance) {
  return unpack_column_if<true>(inside, columns + distance);
}

/// All columns of a matrix; queued.
template <class T, class I, class O>
array<I, space::device> unpack_columns(const device_context& ctx,
                                       packed_csr_view<const T, I, O, space::device> a) {
  array<I, space::device> result(ctx, a.size());
  for_each(ctx, a.size(), "unpack_columns",
           [from = columns_of(a), to = result.data()] __device__(std::int64_t k) {
             to[k] = unpack_column_if<false>(true, from + static_cast<O>(k));
           });
  return result;
}

} // namespace lacuna::detail::gpu
