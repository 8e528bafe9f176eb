// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/product_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <cstdint>
#include <tuple>

#include <hwy/highway.h>

#include "cpu/product_kernels.hpp"
#include <lacuna/core/types.hpp>

#ifndef LACUNA_PRODUCT_KERNELS_ONCE
#define LACUNA_PRODUCT_KERNELS_ONCE
namespace lacuna::detail::cpu {
#define LACUNA_SLOT(T, I, O) std::tuple<product_kernels<T, I, O>>{},
using product_kernel_table =
    decltype(std::tuple_cat(LACUNA_FOR_EACH_TYPE(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A column of B is compared with a vector of A's at a time, as in match_kernels.cpp. Whether they
/// meet is a branch: mostly they do not, or in a pattern that repeats.
template <class T, class I, class O>
HWY_INLINE std::int64_t multiply(const factor<T, I, O>& a, std::int64_t i, std::int64_t i_end,
                                 const factor<T, I, O>& b, std::int64_t j, std::int64_t j_end,
                                 bool keep_zeros, I* col, T* value) {
  const hn::ScalableTag<I> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t at = 0;
  const auto put = [&](std::int64_t in_a, std::int64_t in_b) {
    const T product = (a.alpha * a.value[in_a]) * (b.alpha * b.value[in_b]);
    col[at] = b.col[in_b];
    value[at] = product;
    at += (keep_zeros | (product != 0)) ? 1 : 0;
  };
  const std::int64_t size = i_end - i;
  if (size > 0 && size == j_end - j && a.col[i] == b.col[j] &&
      a.col[i_end - 1] == b.col[j_end - 1]) {
    std::int64_t k = 0; // the same columns in both, mostly
    while (k < size && a.col[i + k] == b.col[j + k]) ++k;
    for (std::int64_t n = 0; n < k; ++n) put(i + n, j + n);
    i += k;
    j += k;
  }
  for (; i + lanes < i_end && j < j_end; i += lanes) {
    const auto columns = hn::LoadU(d, a.col + i);
    const I last = a.col[i + lanes - 1];
    for (; j < j_end && b.col[j] <= last; ++j) {
      const auto match = hn::Eq(hn::Set(d, b.col[j]), columns);
      if (!hn::AllFalse(d, match))
        put(i + static_cast<std::int64_t>(hn::FindKnownFirstTrue(d, match)), j);
    }
  }
  if (i < i_end && i + lanes <= a.entries) { // others' columns are behind this row's
    const auto own = hn::FirstN(d, static_cast<std::size_t>(i_end - i));
    const auto columns = hn::IfThenElse(own, hn::LoadU(d, a.col + i), hn::Set(d, I{-1}));
    const I last = a.col[i_end - 1];
    for (; j < j_end && b.col[j] <= last; ++j) {
      const auto match = hn::Eq(hn::Set(d, b.col[j]), columns);
      if (!hn::AllFalse(d, match))
        put(i + static_cast<std::int64_t>(hn::FindKnownFirstTrue(d, match)), j);
    }
    return at;
  }
  while (i < i_end && j < j_end) { // at the end of A's array
    const I x = a.col[i], y = b.col[j];
    if (x == y) put(i, j);
    i += x <= y ? 1 : 0;
    j += y <= x ? 1 : 0;
  }
  return at;
}

template <class T, class I, class O>
std::int64_t piece(const factor<T, I, O>& a, std::int64_t i, std::int64_t i_end,
                   const factor<T, I, O>& b, std::int64_t j, std::int64_t j_end, bool keep_zeros,
                   I* col, T* value) {
  return multiply(a, i, i_end, b, j, j_end, keep_zeros, col, value);
}

template <class T, class I, class O>
std::int64_t rows(const factor<T, I, O>& a, const factor<T, I, O>& b, std::int64_t row,
                  std::int64_t row_end, bool keep_zeros, std::int64_t at, O* rowptr, I* col,
                  T* value) {
  const factor<T, I, O> left = a, right = b; // copies that nothing written can change
  for (; row < row_end; ++row) {
    at += multiply(left, left.rowptr[row], left.rowptr[row + 1], right, right.rowptr[row],
                   right.rowptr[row + 1], keep_zeros, col + at, value + at);
    rowptr[row + 1] = static_cast<O>(at);
  }
  return at;
}

product_kernel_table make_product_kernels() {
  product_kernel_table table;
#define LACUNA_FILL(T, I, O)                                                                       \
  std::get<product_kernels<T, I, O>>(table) = {piece<T, I, O>, rows<T, I, O>};
  LACUNA_FOR_EACH_TYPE(LACUNA_FILL)
  return table;
}

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_product_kernels);

template <class T, class I, class O> const product_kernels<T, I, O>& best_product_kernels() {
  static const product_kernel_table table = HWY_DYNAMIC_DISPATCH(make_product_kernels)();
  return std::get<product_kernels<T, I, O>>(table);
}
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template const product_kernels<T, I, O>& best_product_kernels<T, I, O>();
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
#endif
