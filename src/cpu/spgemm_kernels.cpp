// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/spgemm_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <bit>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "cpu/spgemm_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The marks among 64 bytes as bits; the bytes are cleared.
HWY_INLINE std::uint64_t take_word(std::uint8_t* marks) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto zero = hn::Zero(d);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
    const auto mask = hn::Ne(hn::LoadU(d, marks + i), zero);
#if HWY_TARGET <= HWY_AVX3
    word = static_cast<std::uint64_t>(mask.raw); // 64 lanes: no way through memory
#else
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
    word |= bits << i;
#endif
  }
  if (word != 0)
    for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) hn::StoreU(zero, d, marks + i);
  return word;
}

marked_columns take_marks(std::uint8_t* marks, std::int64_t words, std::uint32_t* place,
                          std::uint64_t* bits) {
  marked_columns marked;
  const auto take = [&](std::int64_t w) HWY_ATTR {
    const std::uint64_t word = take_word(marks + 64 * w);
    place[marked.words] = static_cast<std::uint32_t>(w);
    bits[marked.words] = word;
    marked.words += word != 0 ? 1 : 0;
    marked.count += std::popcount(word);
  };
  for (std::int64_t w = 0; w < words; ++w) take(w);
  return marked;
}

void rank(std::int32_t* keys, std::int64_t count, std::int32_t* rank) {
  const hn::CappedTag<std::int32_t, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < lanes; ++i)
    keys[count + i] = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t i = 0; i < count; i += lanes) {
    const auto key = hn::LoadU(d, keys + i);
    auto below = hn::Zero(d), also_below = hn::Zero(d);
    std::int64_t j = 0;
    for (; j + 2 <= count; j += 2) { // a true lane is -1
      below = hn::Sub(below, hn::VecFromMask(d, hn::Lt(hn::Set(d, keys[j]), key)));
      also_below = hn::Sub(also_below, hn::VecFromMask(d, hn::Lt(hn::Set(d, keys[j + 1]), key)));
    }
    if (j < count) below = hn::Sub(below, hn::VecFromMask(d, hn::Lt(hn::Set(d, keys[j]), key)));
    hn::StoreU(hn::Add(below, also_below), d, rank + i);
  }
}

// A product and a sum, each rounded, never fused: the same bits as one by one.
template <class T> void add_scaled(T* sum, T s, const T* b, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, s);
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, sum + j), hn::Mul(factor, hn::LoadU(d, b + j))), d, sum + j);
  for (; j < count; ++j) sum[j] += s * b[j];
}

template <class T, class I>
void add_four(T* sum, const T* s, const T* b, const I* col, std::int64_t base, std::int64_t count) {
  const hn::CappedTag<T, 4> d;
  const auto lanes = hn::Lanes(d);
  for (std::int64_t k = 0; k < count; ++k) {
    T* const to = sum + 4 * (col[k] - base);
    for (std::size_t r = 0; r < 4; r += lanes)
      hn::StoreU(hn::Add(hn::LoadU(d, to + r), hn::Mul(hn::LoadU(d, s + r), hn::Set(d, b[k]))), d,
                 to + r);
  }
}

template <class T> spgemm_kernels<T> kernels() {
  return {take_marks, rank, add_scaled<T>, add_four<T, std::int32_t>, add_four<T, std::int64_t>};
}
spgemm_kernels<float> float_kernels() { return kernels<float>(); }
spgemm_kernels<double> double_kernels() { return kernels<double>(); }

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);

template <> const spgemm_kernels<float>& best_spgemm_kernels() {
  static const spgemm_kernels<float> best = HWY_DYNAMIC_DISPATCH(float_kernels)();
  return best;
}
template <> const spgemm_kernels<double>& best_spgemm_kernels() {
  static const spgemm_kernels<double> best = HWY_DYNAMIC_DISPATCH(double_kernels)();
  return best;
}
} // namespace lacuna::detail::cpu
#endif
