// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/slice_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <cstdint>
#include <tuple>

#include <hwy/highway.h>

#include "cpu/gather-inl.hpp"
#include "cpu/slice_kernels.hpp"
#include <lacuna/core/types.hpp>

#ifndef LACUNA_SLICE_KERNELS_ONCE
#define LACUNA_SLICE_KERNELS_ONCE
namespace lacuna::detail::cpu {
#define LACUNA_SLOT(T, I) std::tuple<slice_kernels<T, I>>{},
using slice_kernel_table =
    decltype(std::tuple_cat(LACUNA_FOR_EACH_PAIR(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T> using tag = hn::CappedTag<T, 16>;
template <class T> constexpr int lanes_of = static_cast<int>(hn::MaxLanes(tag<T>{}));
template <class T> constexpr int vectors_of = slice_lanes / lanes_of<T>;

/// Bytes of values that are asked for ahead of their use.
constexpr std::int64_t ahead = 2048;

/// Which of the lanes of vector v a step has.
template <class D> HWY_INLINE auto mask_of(D d, std::uint64_t mask, int v) {
  const int lanes = lanes_of<hn::TFromD<D>>;
  const std::uint32_t bits =
      static_cast<std::uint32_t>(mask >> (v * lanes)) & ((std::uint32_t{1} << lanes) - 1);
  std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8)};
  return hn::LoadMaskBits(d, bytes);
}

/// x[d[0]], x[d[1]], … for distances of 32 or 64 bits, no wider than T.
template <class D, class T, class Distance>
HWY_INLINE auto gather(D d, const T* x, const Distance* distance) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<Distance, D> narrow;
  const hn::Rebind<std::make_signed_t<Distance>, D> as_signed;
  const auto distances = hn::BitCast(as_signed, hn::LoadU(narrow, distance));
  if constexpr (sizeof(Distance) == sizeof(T))
    return hn::GatherIndex(d, x, distances);
  else
    return hn::GatherIndex(d, x, hn::PromoteTo(di, distances));
}

/// x for vector v of a step, by the packing. Lanes that the step has not are 0 in the masked form.
struct diagonal {
  static constexpr int bytes = 0;
  template <class D, class T>
  static HWY_INLINE auto load(D d, const T* x, const unsigned char*, int v) {
    return hn::LoadU(d, x + v * lanes_of<T>);
  }
  template <class D, class T>
  static HWY_INLINE auto load_masked(D d, std::uint64_t mask, const T* x, const unsigned char*,
                                     int v) {
#if HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_AVX2 // whose loads of 32 and 64 bits do not
    HWY_ALIGN T loaded[lanes_of<T>] = {};             // some of base + lane may be outside of x
    for (int l = 0; l < lanes_of<T>; ++l)
      if ((mask >> (v * lanes_of<T> + l) & 1) != 0) loaded[l] = x[v * lanes_of<T> + l];
    return hn::Load(d, loaded);
#else
    return hn::MaskedLoad(mask_of(d, mask, v), d, x + v * lanes_of<T>);
#endif
  }
};
template <class Distance> struct packed {
  static constexpr int bytes = slice_lanes * sizeof(Distance);
  template <class D, class T>
  static HWY_INLINE auto load(D d, const T* x, const unsigned char* columns, int v) {
    const auto* distance = reinterpret_cast<const Distance*>(columns) + v * lanes_of<T>;
    // Columns that fit few bits are near each other, and so are what they point at, in a cache. Far
    // ones miss it, and the processor's gather keeps more misses under way: uniform 3.3 against
    // 2.1 GFLOP/s, while mesh and stencil slices of 16 bits make 8.9 with pick() against 6.8.
    if constexpr (sizeof(Distance) <= 2 || sizeof(Distance) > sizeof(T))
      return pick(d, x, distance);
    else
      return gather(d, x, distance);
  }
  template <class D, class T>
  static HWY_INLINE auto load_masked(D d, std::uint64_t mask, const T* x,
                                     const unsigned char* columns, int v) {
    return hn::IfThenElseZero(mask_of(d, mask, v), load(d, x, columns, v));
  }
};

/// The sums of all lanes, handed to take(v, sum) vector by vector.
template <class Packing, class T, class I, class Take>
HWY_INLINE void sum_lanes(const slice_arguments<T, I>& p, std::int64_t slice, const Take& take) {
  constexpr int vectors = vectors_of<T>;
  const tag<T> d;
  const std::int64_t end = p.slices[slice + 1].step;
  const unsigned char* columns = p.columns + p.slices[slice].first_byte();
  hn::Vec<tag<T>> sum[vectors];
  for (int v = 0; v < vectors; ++v) sum[v] = hn::Zero(d);
  for (std::int64_t k = p.slices[slice].step; k < end; ++k, columns += Packing::bytes) {
    const ell_step<I> step = p.steps[k];
    const T* const values = p.values + slice_lanes * k;
    const T* const x = p.x + step.base;
    for (std::size_t b = 0; b < slice_lanes * sizeof(T); b += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(values) + ahead + b);
    if (Packing::bytes >= 64) __builtin_prefetch(columns + ahead / 2);
    if (static_cast<std::uint32_t>(step.mask) == 0xffffffffu)
      for (int v = 0; v < vectors; ++v)
        sum[v] = hn::MulAdd(hn::LoadU(d, values + v * lanes_of<T>), Packing::load(d, x, columns, v),
                            sum[v]);
    else
      for (int v = 0; v < vectors; ++v)
        sum[v] = hn::MulAdd(hn::LoadU(d, values + v * lanes_of<T>),
                            Packing::load_masked(d, step.mask, x, columns, v), sum[v]);
  }
  for (int v = 0; v < vectors; ++v) take(v, sum[v]);
}
template <class T, class I, class Take>
HWY_INLINE void sum_slice(const slice_arguments<T, I>& p, std::int64_t slice, const Take& take) {
  switch (p.slices[slice].kind()) {
  case packing::diagonal: return sum_lanes<diagonal>(p, slice, take);
  case packing::bits8: return sum_lanes<packed<std::uint8_t>>(p, slice, take);
  case packing::bits16: return sum_lanes<packed<std::uint16_t>>(p, slice, take);
  case packing::full: break;
  }
  sum_lanes<packed<std::make_unsigned_t<I>>>(p, slice, take);
}

template <class T, class I>
void rows(const slice_arguments<T, I>& p, std::int64_t first, std::int64_t last) {
  const tag<T> d;
  const auto alpha = hn::Set(d, p.alpha), beta = hn::Set(d, p.beta);
  for (std::int64_t s = first; s < last; ++s) {
    const std::int64_t place = (s - p.pieces) * slice_lanes;
    if (p.rows == nullptr && place + slice_lanes <= p.row_count) {
      sum_slice(p, s, [&](int v, auto sum) HWY_ATTR {
        const std::int64_t at = place + v * lanes_of<T>;
        const auto scaled = hn::Mul(alpha, sum);
        hn::StoreU(p.beta == T{0} ? scaled : hn::Add(scaled, hn::Mul(beta, hn::LoadU(d, p.z + at))),
                   d, p.y + at);
      });
      continue;
    }
    HWY_ALIGN T sums[slice_lanes];
    sum_slice(p, s, [&](int v, auto sum) HWY_ATTR { hn::Store(sum, d, sums + v * lanes_of<T>); });
    const int lanes = p.slices[s].row_lanes();
    for (int g = 0; g < slice_lanes / lanes; ++g) {
      const std::int64_t row = p.rows != nullptr ? std::int64_t{p.rows[place + g]} : place + g;
      if (row < 0 || row >= p.row_count) continue;
      T sum = sums[g * lanes];
      for (int l = 1; l < lanes; ++l) sum += sums[g * lanes + l];
      p.y[row] = p.beta == T{0} ? p.alpha * sum : p.alpha * sum + p.beta * p.z[row];
    }
  }
}

template <class T, class I> T piece(const slice_arguments<T, I>& p, std::int64_t slice) {
  const tag<T> d;
  auto total = hn::Zero(d);
  sum_slice(p, slice, [&](int, auto sum) HWY_ATTR { total = hn::Add(total, sum); });
  return hn::GetLane(hn::SumOfLanes(d, total));
}

slice_kernel_table make_slice_table() {
  slice_kernel_table table;
#define LACUNA_FILL(T, I) std::get<slice_kernels<T, I>>(table) = {rows<T, I>, piece<T, I>};
  LACUNA_FOR_EACH_PAIR(LACUNA_FILL)
  return table;
}

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_slice_table);

template <class T, class I> const slice_kernels<T, I>& best_slice_kernels() {
  static const slice_kernel_table table = HWY_DYNAMIC_DISPATCH(make_slice_table)();
  return std::get<slice_kernels<T, I>>(table);
}
#define LACUNA_INSTANTIATE(T, I) template const slice_kernels<T, I>& best_slice_kernels<T, I>();
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
#endif
