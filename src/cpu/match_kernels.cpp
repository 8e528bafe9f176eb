// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <algorithm>
#include <cstdint>
#include <tuple>

#include <hwy/highway.h>

#include "cpu/match_kernels.hpp"
#include <lacuna/core/types.hpp>

#ifndef LACUNA_MATCH_KERNELS_ONCE
#define LACUNA_MATCH_KERNELS_ONCE
namespace lacuna::detail::cpu {
#define LACUNA_SLOT(I, O) std::tuple<match_kernels<I, O>>{},
using match_kernel_table =
    decltype(std::tuple_cat(LACUNA_FOR_EACH_INDEX(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of A's columns is compared with one of B's at a time: a step of a merge waits for the
/// one before it, these do not.
template <class I, class O>
std::int64_t count(const O* a_rowptr, const I* a_col, std::int64_t a_entries, const O* b_rowptr,
                   const I* b_col, std::int64_t row, std::int64_t row_end) {
  const hn::ScalableTag<I> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto nowhere = hn::Set(d, I{-1});
  std::int64_t matches = 0;
  auto of_lane = hn::Zero(d); // no overflow: a lane matches once for `lanes` entries of A
  for (; row < row_end; ++row) {
    std::int64_t a = a_rowptr[row], b = b_rowptr[row];
    const std::int64_t a_end = a_rowptr[row + 1], b_end = b_rowptr[row + 1];
    for (; a < a_end && b < b_end; a += lanes) {
      if (a + lanes > a_entries) { // at the end of A's array
        for (; a < a_end && b < b_end;) {
          const I x = a_col[a], y = b_col[b];
          matches += x == y ? 1 : 0;
          a += x <= y ? 1 : 0;
          b += y <= x ? 1 : 0;
        }
        break;
      }
      const auto all = hn::LoadU(d, a_col + a);
      if (a + lanes < a_end) {
        const I last = a_col[a + lanes - 1];
        for (; b < b_end && b_col[b] <= last; ++b)
          of_lane = hn::Sub(of_lane, hn::VecFromMask(d, hn::Eq(hn::Set(d, b_col[b]), all)));
      } else { // others' columns are behind this row's
        const auto own = hn::FirstN(d, static_cast<std::size_t>(a_end - a));
        const auto own_columns = hn::IfThenElse(own, all, nowhere);
        for (; b < b_end; ++b)
          of_lane = hn::Sub(of_lane, hn::VecFromMask(d, hn::Eq(hn::Set(d, b_col[b]), own_columns)));
      }
    }
  }
  return matches + static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(d, of_lane)));
}

match_kernel_table make_match_kernels() {
  match_kernel_table table;
#define LACUNA_FILL(I, O) std::get<match_kernels<I, O>>(table) = {count<I, O>};
  LACUNA_FOR_EACH_INDEX(LACUNA_FILL)
  return table;
}

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_match_kernels);

template <class I, class O> const match_kernels<I, O>& best_match_kernels() {
  static const match_kernel_table table = HWY_DYNAMIC_DISPATCH(make_match_kernels)();
  return std::get<match_kernels<I, O>>(table);
}
#define LACUNA_INSTANTIATE(I, O) template const match_kernels<I, O>& best_match_kernels<I, O>();
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
#endif
