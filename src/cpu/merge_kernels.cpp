// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/merge_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include <hwy/highway.h>

#include "cpu/merge_kernels.hpp"
#include <lacuna/core/types.hpp>

#ifndef LACUNA_MERGE_KERNELS_ONCE
#define LACUNA_MERGE_KERNELS_ONCE
namespace lacuna::detail::cpu {
/// places[mask][lane]: which of the entries that go to the lanes set in `mask`, one after the
/// other, goes to this lane; 0 where the mask is not set.
inline constexpr auto places = [] {
  std::array<std::array<std::uint8_t, 8>, 256> result{};
  for (unsigned mask = 0; mask < 256; ++mask)
    for (unsigned lane = 0, next = 0; lane < 8; ++lane)
      if ((mask >> lane & 1U) != 0) result[mask][lane] = static_cast<std::uint8_t>(next++);
  return result;
}();
/// set_lanes[mask][k]: the k-th lane that is set in `mask`.
inline constexpr auto set_lanes = [] {
  std::array<std::array<std::uint8_t, 8>, 256> result{};
  for (unsigned mask = 0; mask < 256; ++mask)
    for (unsigned lane = 0, next = 0; lane < 8; ++lane)
      if ((mask >> lane & 1U) != 0) result[mask][next++] = static_cast<std::uint8_t>(lane);
  return result;
}();
#define LACUNA_SLOT(T, I, O) std::tuple<merge_kernels<T, I, O>>{},
using merge_kernel_table =
    decltype(std::tuple_cat(LACUNA_FOR_EACH_TYPE(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

namespace {

/// Entries of each matrix that are merged at a time: bits for all fit a word.
constexpr std::int64_t most_merged = 32;

/// Which entries of C come from A and which from B.
struct origins {
  std::uint64_t a, b;
};

constexpr std::uint64_t ones(std::int64_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Each of B's columns is placed by counting A's below it, a vector of them at a time: a step of a
/// merge waits for the one before it, these do not. Up to `most_merged` of A's columns and one more
/// are read behind a.
template <class I>
HWY_INLINE origins merge(const I* HWY_RESTRICT a, std::int64_t a_size, const I* HWY_RESTRICT b,
                         std::int64_t b_size) {
  const hn::CappedTag<I, most_merged> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (a_size == b_size && a_size > 0 && a[0] == b[0] && a[a_size - 1] == b[b_size - 1] &&
      std::equal(a, a + a_size, b))
    return {ones(a_size), ones(a_size)};
  std::uint64_t of_b = 0, of_b_alone = 0;
  std::int64_t j = 0, both = 0;
  for (std::int64_t i = 0; i < a_size; i += lanes) {
    const std::int64_t size = std::min(lanes, a_size - i);
    const auto block =
        hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(size)), hn::LoadU(d, a + i),
                       hn::Set(d, std::numeric_limits<I>::max()));
    const bool is_last = i + lanes >= a_size;
    const I last = a[i + size - 1];
    for (; j < b_size && (is_last || b[j] <= last); ++j) {
      const auto below =
          static_cast<std::int64_t>(hn::CountTrue(d, hn::Lt(block, hn::Set(d, b[j]))));
      const std::uint64_t bit = std::uint64_t{1} << (i + below + j - both);
      const bool met = (below < size) & (a[i + below] == b[j]);
      of_b |= bit;
      of_b_alone |= met ? 0 : bit;
      both += met ? 1 : 0;
    }
  }
  if (a_size == 0) of_b = of_b_alone = ones(b_size);
  return {ones(a_size + b_size - both) & ~of_b_alone, of_b};
}

/// Whether columns are another row's moved by `distance`. As many columns may be read behind both
/// as a vector has.
template <class I>
HWY_INLINE bool are_moved(const I* HWY_RESTRICT col, const I* HWY_RESTRICT other, std::int64_t size,
                          I distance) {
  const hn::CappedTag<I, most_merged> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto all = hn::Set(d, distance);
  std::int64_t k = 0;
  for (; k + lanes < size; k += lanes)
    if (!hn::AllTrue(d, hn::Eq(hn::Sub(hn::LoadU(d, col + k), hn::LoadU(d, other + k)), all)))
      return false;
  const auto differs = hn::Ne(hn::Sub(hn::LoadU(d, col + k), hn::LoadU(d, other + k)), all);
  return hn::AllFalse(d, hn::And(differs, hn::FirstN(d, static_cast<std::size_t>(size - k))));
}

/// How many of the first entries of a row's rest can be merged at a time: none that are left may
/// come before one that is taken.
template <class I> HWY_INLINE std::int64_t up_to(const I* col, std::int64_t size, I last) {
  return std::upper_bound(col, col + size, last) - col;
}

/// Lane k of the result is lane place[k] of v.
template <class D, class V, class P> HWY_INLINE V spread(D d, V v, P place) {
  const hn::RebindToUnsigned<D> d_place;
  const hn::Rebind<std::uint32_t, D> d32;
  if constexpr (sizeof(hn::TFromD<D>) == 8)
    return hn::TableLookupLanes(
        v, hn::IndicesFromVec(d, hn::PromoteTo(d_place, hn::PromoteTo(d32, place))));
  else
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::PromoteTo(d_place, place)));
}

/// By a rule that takes a missing entry for 0. Highway's Ne does not hold for NaN: Not(Eq) does.
template <class D, class V> HWY_INLINE V combined(merge_rule rule, D d, V x, V y) {
  switch (rule) {
  case merge_rule::minimum:
    return hn::IfThenElse(hn::Or(hn::Lt(y, x), hn::Not(hn::Eq(y, y))), y, x);
  case merge_rule::maximum:
    return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::Not(hn::Eq(y, y))), y, x);
  case merge_rule::not_equal: return hn::IfThenElseZero(hn::Not(hn::Eq(x, y)), hn::Set(d, 1));
  case merge_rule::less: return hn::IfThenElseZero(hn::Lt(x, y), hn::Set(d, 1));
  default: return hn::Add(x, y);
  }
}

template <bool all, class T, class I, class O>
std::int64_t merged(merge_rule rule, const factor<T, I, O>& a_is, const factor<T, I, O>& b_is,
                    std::int64_t row, std::int64_t row_end, std::int64_t at, std::int64_t limit,
                    I* HWY_RESTRICT col, T* HWY_RESTRICT value, std::int64_t* HWY_RESTRICT ends) {
  // As many lanes for values as for columns, 8 at most: places has bits for those.
  using wider = std::conditional_t<(sizeof(T) > sizeof(I)), T, I>;
  const hn::CappedTag<wider, 8> dw;
  const hn::Rebind<T, decltype(dw)> dt;
  const hn::Rebind<I, decltype(dw)> di;
  const hn::Rebind<std::uint8_t, decltype(dw)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dw));
  const auto a = a_is, b = b_is; // copies that nothing written can change
  const auto alpha = hn::Set(dt, a.alpha), beta = hn::Set(dt, b.alpha);
  constexpr std::int64_t behind = most_merged + 1; // entries that may be read behind a row
  const std::int64_t first = row;
  // How the last row that fitted was merged: stencils, bands and finite elements have rows whose
  // columns are those of the row before moved by a constant, in both matrices.
  origins before{};
  std::int64_t i_before = 0, j_before = 0, i_size_before = 0, j_size_before = 0;
  row_end = std::min(row_end, row + merged_rows);
  for (; row < row_end; ++row) {
    std::int64_t i = a.rowptr[row], j = b.rowptr[row];
    const std::int64_t i_end = a.rowptr[row + 1], j_end = b.rowptr[row + 1];
    if (i_end + behind > a.entries || j_end + behind > b.entries ||
        at + (i_end - i) + (j_end - j) + lanes > limit)
      break;
    while (i < i_end || j < j_end) {
      std::int64_t i_size = std::min(most_merged, i_end - i),
                   j_size = std::min(most_merged, j_end - j);
      if (i_size < i_end - i || j_size < j_end - j) {
        const I i_last = i_size > 0 ? a.col[i + i_size - 1] : I{0};
        const I j_last = j_size > 0 ? b.col[j + j_size - 1] : I{0};
        if (i_size < i_end - i && (j_size > 0 && i_last < j_last))
          j_size = up_to(b.col + j, j_size, i_last);
        else if (j_size < j_end - j && (i_size > 0 && j_last < i_last))
          i_size = up_to(a.col + i, i_size, j_last);
      }
      const I* const a_col = a.col + i;
      const I* const b_col = b.col + j;
      const bool is_moved =
          i_size == i_size_before && j_size == j_size_before && i_size > 0 && j_size > 0 &&
          a_col[0] - a.col[i_before] == b_col[0] - b.col[j_before] &&
          are_moved(a_col, a.col + i_before, i_size, static_cast<I>(a_col[0] - a.col[i_before])) &&
          are_moved(b_col, b.col + j_before, j_size, static_cast<I>(a_col[0] - a.col[i_before]));
      const origins from = is_moved ? before : merge(a_col, i_size, b_col, j_size);
      before = from;
      i_before = i;
      j_before = j;
      i_size_before = i_size;
      j_size_before = j_size;
      const std::int64_t size = std::bit_width(from.a | from.b);
      for (std::int64_t k = 0; k < size; k += lanes) {
        const std::uint64_t lane_bits = ones(lanes);
        const std::uint64_t in_a = from.a >> k & lane_bits, in_b = from.b >> k & lane_bits;
        const auto* const a_bits = reinterpret_cast<const std::uint8_t*>(&in_a);
        const auto* const b_bits = reinterpret_cast<const std::uint8_t*>(&in_b);
        const auto a_place = hn::LoadU(d8, places[in_a].data());
        const auto b_place = hn::LoadU(d8, places[in_b].data());
        const auto columns = hn::IfThenElse(hn::LoadMaskBits(di, a_bits),
                                            spread(di, hn::LoadU(di, a.col + i), a_place),
                                            spread(di, hn::LoadU(di, b.col + j), b_place));
        const auto x = spread(dt, hn::Mul(alpha, hn::LoadU(dt, a.value + i)), a_place);
        const auto y = spread(dt, hn::Mul(beta, hn::LoadU(dt, b.value + j)), b_place);
        const auto from_a = hn::LoadMaskBits(dt, a_bits), from_b = hn::LoadMaskBits(dt, b_bits);
        i += std::popcount(in_a);
        j += std::popcount(in_b);
        if constexpr (all) {
          hn::StoreU(columns, di, col + at);
          hn::StoreU(hn::IfThenElse(from_a, hn::IfThenElse(from_b, hn::Add(x, y), x), y), dt,
                     value + at);
          at += std::min(lanes, size - k);
        } else {
          // Lanes behind the last entry are of neither, so 0.
          const auto result =
              combined(rule, dt, hn::IfThenElseZero(from_a, x), hn::IfThenElseZero(from_b, y));
          std::uint64_t keep = 0;
          hn::StoreMaskBits(dt, hn::Not(hn::Eq(result, hn::Zero(dt))),
                            reinterpret_cast<std::uint8_t*>(&keep));
          const auto kept = hn::LoadU(d8, set_lanes[keep].data());
          hn::StoreU(spread(di, columns, kept), di, col + at);
          hn::StoreU(spread(dt, result, kept), dt, value + at);
          at += std::popcount(keep);
        }
      }
    }
    ends[row - first] = at;
  }
  return row - first;
}

merge_kernel_table make_merge_kernels() {
  merge_kernel_table table;
#define LACUNA_FILL(T, I, O)                                                                       \
  std::get<merge_kernels<T, I, O>>(table) = {merged<true, T, I, O>, merged<false, T, I, O>};
  LACUNA_FOR_EACH_TYPE(LACUNA_FILL)
  return table;
}

} // namespace
} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_merge_kernels);

template <class T, class I, class O> const merge_kernels<T, I, O>& best_merge_kernels() {
  static const merge_kernel_table table = HWY_DYNAMIC_DISPATCH(make_merge_kernels)();
  return std::get<merge_kernels<T, I, O>>(table);
}
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template const merge_kernels<T, I, O>& best_merge_kernels<T, I, O>();
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
#endif
