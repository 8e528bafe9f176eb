// Y = alpha A X + beta Z on the host, A in block CSR: shares of equal blocks per thread. A block's
// column of b values is multiplied with one element of x, so sums of b rows grow side by side in
// vector registers; blocks that lack entries follow, entry by entry. Memory-bound: b b values and
// an index per block, x and y about once. Compiled once for each instruction set: Highway includes
// this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/multiply_bsr.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <hwy/highway.h>

#include <lacuna/format/bsr.hpp>

#include "cpu/rows.hpp"

#ifndef LACUNA_MULTIPLY_BSR_ONCE
#define LACUNA_MULTIPLY_BSR_ONCE
namespace lacuna::detail::cpu {
/// Row pointers of either width: one of a block row is read for many values.
struct block_offsets {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;
  std::int64_t operator[](std::int64_t i) const {
    return wide != nullptr ? wide[i] : std::int64_t{narrow[i]};
  }
};
template <class T, class I> struct block_arguments {
  block_offsets rowptr;
  const I* colind;
  const T* values;
  const std::uint64_t* masks; // null: every block is full
  std::int64_t rows;
  dense_view<const T> x, z;
  dense_view<T> y;
  T alpha, beta;
};
/// Block rows [first, last), all columns of X.
template <class T, class I>
using block_kernel = void (*)(const block_arguments<T, I>&, std::int64_t first, std::int64_t last);
template <class T, class I> struct block_kernels {
  block_kernel<T, I> of[9]; ///< by the size of blocks, from 2 on
};
#define LACUNA_SLOT(T, I) std::tuple<block_kernels<T, I>>{},
using block_kernel_table =
    decltype(std::tuple_cat(LACUNA_FOR_EACH_PAIR(LACUNA_SLOT) std::tuple<>{}));
#undef LACUNA_SLOT
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Bytes of values that are asked for ahead of their use.
constexpr std::size_t ahead = 2048;

/// Sums of rows [part, part + lanes) of a block row's full blocks times a column of X: two in turn,
/// so that an addition need not wait for the one before it.
template <int b, class D, class T, class I>
HWY_INLINE void sum_blocks(D d, const T* HWY_RESTRICT values, const I* colind, std::int64_t count,
                           const T* x, std::int64_t x_row, int part, T* HWY_RESTRICT sums) {
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(b - part));
  const bool whole = part + static_cast<int>(hn::Lanes(d)) <= b;
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  const auto add = [&](std::int64_t k, auto sum) HWY_ATTR {
    const I stored = colind[k];
    if (stored < 0) return sum; // it lacks entries: below
    const T* const v = values + k * (b * b) + part;
    if (part == 0)
      for (std::size_t byte = 0; byte < b * b * sizeof(T); byte += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(v) + ahead + byte);
    const T* const at = x + stored * std::int64_t{b} * x_row;
    for (int c = 0; c < b; ++c) {
      const auto column = whole ? hn::LoadU(d, v + c * b) : hn::MaskedLoad(mask, d, v + c * b);
      sum = hn::MulAdd(column, hn::Set(d, at[c * x_row]), sum);
    }
    return sum;
  };
  std::int64_t k = 0;
  for (; k + 1 < count; k += 2) {
    sum0 = add(k, sum0);
    sum1 = add(k + 1, sum1);
  }
  if (k < count) sum0 = add(k, sum0);
  hn::StoreU(hn::Add(sum0, sum1), d, sums + part);
}

template <int b, class T, class I>
void multiply_blocks(const block_arguments<T, I>& p, std::int64_t first, std::int64_t last) {
  constexpr int padded = b <= 2 ? 2 : b <= 4 ? 4 : 8;
  const hn::CappedTag<T, padded> d;
  const std::int64_t x_row = p.x.row_stride();
  for (std::int64_t i = first; i < last; ++i)
    for (std::int64_t j = 0; j < p.y.shape().col; ++j) {
      const std::int64_t begin = p.rowptr[i], end = p.rowptr[i + 1];
      const T* const x = p.x.data() + j * p.x.col_stride();
      HWY_ALIGN T sums[padded + 16]; // a vector may be wider than what is left
      for (int part = 0; part < b; part += static_cast<int>(hn::Lanes(d)))
        sum_blocks<b>(d, p.values + begin * (b * b), p.colind + begin, end - begin, x, x_row, part,
                      sums);
      for (std::int64_t k = begin; p.masks != nullptr && k < end; ++k) {
        if (p.colind[k] >= 0) continue;
        const std::int64_t column = ~p.colind[k] * std::int64_t{b};
        for (int e = 0; e < b * b; ++e)
          if ((p.masks[k] >> e & 1) != 0)
            sums[e % b] += p.values[k * (b * b) + e] * x[(column + e / b) * x_row];
      }
      for (int r = 0; r < b && i * b + r < p.rows; ++r) {
        const T sum = p.alpha * sums[r];
        p.y(i * b + r, j) = p.beta == T{0} ? sum : sum + p.beta * p.z(i * b + r, j);
      }
    }
}

block_kernel_table make_block_table() {
  block_kernel_table table;
#define LACUNA_FILL(T, I)                                                                          \
  std::get<block_kernels<T, I>>(table) = {{nullptr, nullptr, multiply_blocks<2, T, I>,             \
                                           multiply_blocks<3, T, I>, multiply_blocks<4, T, I>,     \
                                           multiply_blocks<5, T, I>, multiply_blocks<6, T, I>,     \
                                           multiply_blocks<7, T, I>, multiply_blocks<8, T, I>}};
  LACUNA_FOR_EACH_PAIR(LACUNA_FILL)
#undef LACUNA_FILL
  return table;
}

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_block_table);

template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, bsr_view<const T, I, O> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  static const block_kernel_table table = HWY_DYNAMIC_DISPATCH(make_block_table)();
  if (y.shape().row == 0 || y.shape().col == 0) return;
  block_arguments<T, I> p{
      {},  a.colind().data(), a.values().data(), a.masks().data(), a.shape().row, x, z, y, alpha,
      beta};
  if constexpr (sizeof(O) == 8)
    p.rowptr.wide = a.rowptr().data();
  else
    p.rowptr.narrow = a.rowptr().data();
  const auto kernel = std::get<block_kernels<T, I>>(table).of[a.block()];
  for_each_part(ctx, a.values().size() + a.shape().row, entry_grain, [&](int part, int parts) {
    kernel(p, first_row(a.rowptr().data(), a.block_rows(), part, parts),
           first_row(a.rowptr().data(), a.block_rows(), part + 1, parts));
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(const host_context&, T, bsr_view<const T, I, O>,          \
                                         dense_view<const T>, T, dense_view<const T>,              \
                                         dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
#endif
