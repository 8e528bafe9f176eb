// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/block_tree_product_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <algorithm>
#include <cstdint>
#include <tuple>

#include <hwy/highway.h>

#include "cpu/block_tree_product_kernels.hpp"

#ifndef LACUNA_BLOCK_TREE_PRODUCT_KERNELS_ONCE
#define LACUNA_BLOCK_TREE_PRODUCT_KERNELS_ONCE
namespace lacuna::detail::cpu {
using tree_product_table = std::tuple<tree_product_kernels<float>, tree_product_kernels<double>>;
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// A dense product: `depth` columns of up to four rows of A, and as many rows of B.
template <class T> struct small_product {
  const T* a;
  std::int64_t a_stride;
  const T* b;
  std::int64_t b_stride;
  std::int64_t depth;
  T* sums;
  std::int64_t stride;
};

/// The first `count` lanes, 0 behind them: what follows may be outside of the pool.
template <class D, class M, class T>
HWY_INLINE auto load_first(D d, [[maybe_unused]] M mask, [[maybe_unused]] std::size_t count,
                           const T* from) {
#if HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_AVX2 // whose loads of 32 and 64 bits do not
  if (count == hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN T loaded[HWY_MAX_BYTES / sizeof(T)] = {};
  for (std::size_t l = 0; l < count; ++l) loaded[l] = from[l];
  return hn::Load(d, loaded);
#else
  return hn::MaskedLoad(mask, d, from);
#endif
}

/// Columns [0, lanes) of `rows` rows, if `two`, and `count` of the next vector, all in registers
/// while k goes through A's columns.
template <int rows, bool two, class T, class D>
HWY_INLINE void multiply_columns(D d, const small_product<T>& p, const T* b, T* c,
                                 std::size_t count) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto tail = hn::FirstN(d, count);
  T* const c1 = rows > 1 ? c + p.stride : c;
  T* const c2 = rows > 2 ? c1 + p.stride : c;
  T* const c3 = rows > 3 ? c2 + p.stride : c;
  const std::int64_t last = two ? lanes : 0; // where the vector is that may be cut
  const auto old0 = hn::LoadU(d, c + last), old1 = hn::LoadU(d, c1 + last);
  const auto old2 = hn::LoadU(d, c2 + last), old3 = hn::LoadU(d, c3 + last);
  auto s0 = old0, s1 = old1, s2 = old2, s3 = old3;
  auto f0 = hn::LoadU(d, c), f1 = hn::LoadU(d, c1), f2 = hn::LoadU(d, c2), f3 = hn::LoadU(d, c3);
  const T* a = p.a;
  for (std::int64_t k = 0; k < p.depth; ++k, ++a, b += p.b_stride) {
    const auto y = load_first(d, tail, count, b + last);
    const auto x = two ? hn::LoadU(d, b) : y;
    const auto step = [&](std::int64_t row, auto& full, auto& cut) HWY_ATTR {
      const auto s = hn::Set(d, a[row * p.a_stride]);
      if constexpr (two) full = hn::Add(full, hn::Mul(s, x));
      cut = hn::Add(cut, hn::Mul(s, y));
    };
    step(0, f0, s0);
    if constexpr (rows > 1) step(1, f1, s1);
    if constexpr (rows > 2) step(2, f2, s2);
    if constexpr (rows > 3) step(3, f3, s3);
  }
  const auto put = [&](T* to, auto full, auto cut, auto old) HWY_ATTR {
    if constexpr (two) hn::StoreU(full, d, to);
    hn::StoreU(hn::IfThenElse(tail, cut, old), d, to + last);
  };
  put(c, f0, s0, old0);
  if constexpr (rows > 1) put(c1, f1, s1, old1);
  if constexpr (rows > 2) put(c2, f2, s2, old2);
  if constexpr (rows > 3) put(c3, f3, s3, old3);
}

template <int rows, class T>
HWY_INLINE void multiply_rows(const small_product<T>& p, const column_segment* segments,
                              std::int64_t count) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t s = 0; s < count; ++s) {
    const T* b = p.b + segments[s].at;
    T* c = p.sums + segments[s].first;
    std::int64_t left = segments[s].count;
    for (; left > lanes; left -= 2 * lanes, b += 2 * lanes, c += 2 * lanes)
      multiply_columns<rows, true>(d, p, b, c,
                                   static_cast<std::size_t>(std::min(left - lanes, lanes)));
    if (left > 0) multiply_columns<rows, false>(d, p, b, c, static_cast<std::size_t>(left));
  }
}

template <class T>
void multiply_leaves(const leaf_panel<T>* a, std::int64_t count, const panel_rows<T>& b, T* sums,
                     std::int64_t stride, std::uint64_t* mask) {
  for (std::int64_t i = 0; i < count; ++i) {
    const leaf_panel<T>& left = a[i];
    std::uint64_t met[4] = {};
    for (std::int64_t k = 0; k < left.cols;) {
      const std::int32_t row = left.columns[k];
      if (b.panel_of[row] == no_panel) {
        ++k;
        continue;
      }
      const leaf_panel<T>& right = b.panels[b.panel_of[row]];
      // Columns of A that follow one another, as long as B's rows are of the panel.
      const std::int64_t most = std::min<std::int64_t>(right.row + right.rows - row, left.cols - k);
      std::int64_t depth = 1;
      if (left.columns[k + most - 1] == row + most - 1)
        depth = most;
      else
        while (left.columns[k + depth] == row + depth) ++depth;
      for (int w = 0; w < 4; ++w) met[w] |= right.mask[w];
      const column_segment* const segments = b.segments + right.segment;
      small_product<T> p{
          left.values + k, left.cols, right.values + std::int64_t{row - right.row} * right.cols,
          right.cols,      depth,     sums + left.row * stride,
          stride};
      std::int64_t rows = left.rows;
      for (; rows >= 4; rows -= 4) {
        multiply_rows<4>(p, segments, right.segments);
        p.a += 4 * p.a_stride;
        p.sums += 4 * stride;
      }
      if (rows == 3) multiply_rows<3>(p, segments, right.segments);
      if (rows == 2) multiply_rows<2>(p, segments, right.segments);
      if (rows == 1) multiply_rows<1>(p, segments, right.segments);
      k += depth;
    }
    for (std::int64_t r = left.row; r < left.row + left.rows; ++r)
      for (int w = 0; w < 4; ++w) mask[4 * r + w] |= met[w];
  }
}

tree_product_table make_product_table() {
  return {{multiply_leaves<float>}, {multiply_leaves<double>}};
}

} // namespace
} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_product_table);

template <class T> const tree_product_kernels<T>& best_tree_product_kernels() {
  static const tree_product_table table = HWY_DYNAMIC_DISPATCH(make_product_table)();
  return std::get<tree_product_kernels<T>>(table);
}
template const tree_product_kernels<float>& best_tree_product_kernels<float>();
template const tree_product_kernels<double>& best_tree_product_kernels<double>();

} // namespace lacuna::detail::cpu
#endif
