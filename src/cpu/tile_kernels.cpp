// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/tile_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <cstdint>

#include <hwy/highway.h>

#include "cpu/tile_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// 4 x 4 elements, in vectors of four: 16 bytes of floats, 32 of doubles.
template <bool streams, class D, class T>
HWY_INLINE void transpose_block(D d, const T* from, std::int64_t from_stride, T* to,
                                std::int64_t to_stride) {
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride), e = hn::LoadU(d, from + 3 * from_stride);
  // Within 16 bytes each: of floats the first two columns, of doubles the first and the third.
  const auto ab_low = hn::InterleaveLower(d, a, b), ab_high = hn::InterleaveUpper(d, a, b);
  const auto ce_low = hn::InterleaveLower(d, c, e), ce_high = hn::InterleaveUpper(d, c, e);
  const auto first = hn::ConcatLowerLower(d, ce_low, ab_low);
  const auto other = hn::ConcatUpperUpper(d, ce_low, ab_low);
  const auto third = hn::ConcatLowerLower(d, ce_high, ab_high);
  const auto fourth = hn::ConcatUpperUpper(d, ce_high, ab_high);
  const auto store = [&](auto v, std::int64_t line) HWY_ATTR {
    if constexpr (streams)
      hn::Stream(v, d, to + line * to_stride);
    else
      hn::StoreU(v, d, to + line * to_stride);
  };
  store(first, 0);
  store(sizeof(T) == 4 ? other : third, 1);
  store(sizeof(T) == 4 ? third : other, 2);
  store(fourth, 3);
}

/// Whole blocks of four. Lines that are far apart are gone along first: those of a power of two's
/// distance would drive each other out of the cache.
template <bool streams, class D, class T>
HWY_INLINE void transpose_blocks(D d, const T* from, std::int64_t from_stride, std::int64_t rows,
                                 std::int64_t cols, T* to, std::int64_t to_stride) {
  const auto block = [&](std::int64_t r, std::int64_t c) HWY_ATTR {
    transpose_block<streams>(d, from + r * from_stride + c, from_stride, to + c * to_stride + r,
                             to_stride);
  };
  if (from_stride > to_stride)
    for (std::int64_t r = 0; r + 4 <= rows; r += 4)
      for (std::int64_t c = 0; c + 4 <= cols; c += 4) block(r, c);
  else
    for (std::int64_t c = 0; c + 4 <= cols; c += 4)
      for (std::int64_t r = 0; r + 4 <= rows; r += 4) block(r, c);
}
#endif

template <class T>
void transpose(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t cols, T* to,
               std::int64_t to_stride, [[maybe_unused]] bool streams) {
  std::int64_t r_done = 0, c_done = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 4> d;
  if constexpr (hn::MaxLanes(d) == 4) {
    if (hn::Lanes(d) == 4) {
      r_done = rows & ~std::int64_t{3};
      c_done = cols & ~std::int64_t{3};
      if (streams && reinterpret_cast<std::uintptr_t>(to) % (4 * sizeof(T)) == 0 &&
          to_stride % 4 == 0)
        transpose_blocks<true>(d, from, from_stride, rows, cols, to, to_stride);
      else
        transpose_blocks<false>(d, from, from_stride, rows, cols, to, to_stride);
    }
  }
#endif
  for (std::int64_t c = 0; c < cols; ++c)
    for (std::int64_t r = c < c_done ? r_done : 0; r < rows; ++r)
      to[c * to_stride + r] = from[r * from_stride + c];
}

tile_kernels<float> float_tiles() { return {transpose<float>}; }
tile_kernels<double> double_tiles() { return {transpose<double>}; }

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(float_tiles);
HWY_EXPORT(double_tiles);

template <> const tile_kernels<float>& best_tile_kernels() {
  static const tile_kernels<float> best = HWY_DYNAMIC_DISPATCH(float_tiles)();
  return best;
}
template <> const tile_kernels<double>& best_tile_kernels() {
  static const tile_kernels<double> best = HWY_DYNAMIC_DISPATCH(double_tiles)();
  return best;
}
} // namespace lacuna::detail::cpu
#endif
