// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/row_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <hwy/highway.h>

#include "cpu/gather-inl.hpp"
#include "cpu/row_kernels.hpp"
#include <lacuna/core/context.hpp>
#include <lacuna/core/types.hpp>

#ifndef LACUNA_ROW_KERNELS_ONCE
#define LACUNA_ROW_KERNELS_ONCE
namespace lacuna::detail::cpu {
#define LACUNA_SLOT(T, I, O) std::tuple<row_kernels<T, I, O>>{},
using kernel_table = decltype(std::tuple_cat(LACUNA_FOR_EACH_TYPE(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Entries that are asked for ahead of their use: the hardware's prefetchers stop at page ends and
/// follow a thread's two streams late. Measured on EPYC, 2 threads: 5-point 32 -> 40 GB/s, 7-point
/// 27 -> 36, rows of 3 31 -> 38; 128 and 512 are within a few percent.
constexpr std::int64_t ahead = 256;

template <class T, class I> HWY_INLINE void prefetch(const T* values, const I* columns) {
  __builtin_prefetch(values + ahead);
  __builtin_prefetch(columns + ahead);
}

/// Four doubles or eight floats: pick() makes no more at once in the time of a load each.
template <class T> using row_tag = hn::CappedTag<T, 32 / sizeof(T)>;

/// Rows of this many entries are gathered by the processor: nothing is as good at keeping many
/// misses under way. Rows of 2500 with scattered x, EPYC, 2 threads: 2.8 against 1.9 GFLOP/s.
constexpr std::int64_t gather_from = 512;

/// Elements of x at `columns` by the processor's gather, which wants indices as wide as the lanes.
template <class D, class T, class I> HWY_INLINE auto gather(D d, const T* x, const I* columns) {
  const hn::RebindToSigned<D> di;
  if constexpr (sizeof(I) == sizeof(T))
    return hn::GatherIndex(d, x, hn::LoadU(di, columns));
  else if constexpr (sizeof(I) < sizeof(T))
    return hn::GatherIndex(d, x,
                           hn::PromoteTo(di, hn::LoadU(hn::Rebind<std::int32_t, D>(), columns)));
  else
    return pick(d, x, columns);
}

/// Entries in vectors, two sums, the last few one by one.
template <bool by_gather, class T, class I>
HWY_INLINE T sum_vectors(const T* values, const I* columns, std::int64_t count, const T* x) {
  const row_tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto multiply = [&](std::int64_t k, auto sum) HWY_ATTR {
    if constexpr (by_gather)
      return hn::MulAdd(hn::LoadU(d, values + k), gather(d, x, columns + k), sum);
    else
      return hn::MulAdd(hn::LoadU(d, values + k), pick(d, x, columns + k), sum);
  };
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  std::int64_t k = 0;
  for (; k + 2 * lanes <= count; k += 2 * lanes) {
    prefetch(values + k, columns + k);
    sum0 = multiply(k, sum0);
    sum1 = multiply(k + lanes, sum1);
  }
  if (k + lanes <= count) {
    sum0 = multiply(k, sum0);
    k += lanes;
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; k < count; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

template <class T, class I>
HWY_INLINE T sum_entries(const T* values, const I* columns, std::int64_t count, const T* x) {
  prefetch(values, columns);
  if (count >= gather_from) return sum_vectors<true>(values, columns, count, x);
  if (count >= 8) return sum_vectors<false>(values, columns, count, x);
  T sum{0};
  for (std::int64_t k = 0; k < count; ++k) sum += values[k] * x[columns[k]];
  return sum;
}

template <class T, class I, class O>
T piece(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  return sum_entries(p.values + first, p.colind + first, last - first, p.x);
}

template <class T, class I, class O>
void rows(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  const O* rowptr = p.rowptr;
  const I* colind = p.colind;
  const T *values = p.values, *x = p.x, *z = p.z;
  T* y = p.y;
  const T alpha = p.alpha, beta = p.beta;
  std::int64_t begin = rowptr[first];
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t end = rowptr[row + 1];
    T sum = sum_entries(values + begin, colind + begin, std::min(end - begin, piece_entries), x);
    for (begin += piece_entries; begin < end; begin += piece_entries)
      sum += sum_entries(values + begin, colind + begin, std::min(end - begin, piece_entries), x);
    begin = end;
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * z[row];
  }
}

/// Columns [column, column + vectors * lanes) of a piece's sums, X row-major: each entry scales a
/// row of X. `take` columns of the last vector are there.
template <int vectors, class D, class T, class I, class O>
HWY_INLINE void dense_columns(D d, const row_arguments<T, I, O>& p, std::int64_t first,
                              std::int64_t last, std::int64_t column, std::int64_t take, T* sums) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(take));
  hn::Vec<D> sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (std::int64_t k = first; k < last; ++k) {
    const T* x = p.x + static_cast<std::int64_t>(p.colind[k]) * p.x_row + column;
    const auto a = hn::Set(d, p.values[k]);
    if constexpr (vectors == 4) {
      sum0 = hn::MulAdd(a, hn::LoadU(d, x), sum0);
      sum1 = hn::MulAdd(a, hn::LoadU(d, x + lanes), sum1);
      sum2 = hn::MulAdd(a, hn::LoadU(d, x + 2 * lanes), sum2);
      sum3 = hn::MulAdd(a, hn::LoadU(d, x + 3 * lanes), sum3);
    } else {
      // The lanes past the last column are 0, not x: a NaN there must not matter.
      sum0 = hn::MulAdd(a, hn::MaskedLoad(mask, d, x), sum0);
    }
  }
  if constexpr (vectors == 4) {
    hn::StoreU(sum0, d, sums + column);
    hn::StoreU(sum1, d, sums + column + lanes);
    hn::StoreU(sum2, d, sums + column + 2 * lanes);
    hn::StoreU(sum3, d, sums + column + 3 * lanes);
  } else
    hn::BlendedStore(sum0, mask, d, sums + column);
}

template <class T, class I, class O>
void dense_piece(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last, T* sums) {
  if (p.x_column == 1) {
    const hn::ScalableTag<T> d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t column = 0;
    for (; column + 4 * lanes <= p.columns; column += 4 * lanes)
      dense_columns<4>(d, p, first, last, column, lanes, sums);
    for (; column < p.columns; column += lanes)
      dense_columns<1>(d, p, first, last, column, std::min(lanes, p.columns - column), sums);
    return;
  }
  // X by columns: four at a time, so that an entry is loaded once for four products.
  for (std::int64_t column = 0; column < p.columns; column += 4) {
    const T* x[4];
    for (std::int64_t j = 0; j < 4; ++j)
      x[j] = p.x + std::min(column + j, p.columns - 1) * p.x_column;
    T sum[4] = {};
    for (std::int64_t k = first; k < last; ++k) {
      const std::int64_t offset = static_cast<std::int64_t>(p.colind[k]) * p.x_row;
      for (int j = 0; j < 4; ++j) sum[j] += p.values[k] * x[j][offset];
    }
    for (std::int64_t j = 0; j < std::min<std::int64_t>(4, p.columns - column); ++j)
      sums[column + j] = sum[j];
  }
}

/// Columns whose sums are held at once, on the stack.
constexpr std::int64_t dense_block = 512;

template <class T, class I, class O>
void dense_rows(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  T sums[dense_block], more[dense_block];
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t begin = p.rowptr[row], end = p.rowptr[row + 1];
    for (std::int64_t column = 0; column < p.columns; column += dense_block) {
      row_arguments<T, I, O> block = p;
      block.columns = std::min(dense_block, p.columns - column);
      block.x += column * p.x_column;
      dense_piece(block, begin, std::min(begin + piece_entries, end), sums);
      for (std::int64_t k = begin + piece_entries; k < end; k += piece_entries) {
        dense_piece(block, k, std::min(k + piece_entries, end), more);
        for (std::int64_t j = 0; j < block.columns; ++j) sums[j] += more[j];
      }
      for (std::int64_t j = 0; j < block.columns; ++j) store_sum(p, row, column + j, sums[j]);
    }
  }
}

kernel_table make_table() {
  kernel_table table;
#define LACUNA_FILL(T, I, O)                                                                       \
  std::get<row_kernels<T, I, O>>(table) = {rows<T, I, O>, piece<T, I, O>, dense_rows<T, I, O>,     \
                                           dense_piece<T, I, O>};
  LACUNA_FOR_EACH_TYPE(LACUNA_FILL)
  return table;
}
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna {
namespace detail::cpu {
HWY_EXPORT(make_table);
HWY_EXPORT(target_name);

template <class T, class I, class O> const row_kernels<T, I, O>& best_row_kernels() {
  static const kernel_table table = HWY_DYNAMIC_DISPATCH(make_table)();
  return std::get<row_kernels<T, I, O>>(table);
}
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template const row_kernels<T, I, O>& best_row_kernels<T, I, O>();
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

const char* best_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

} // namespace detail::cpu

const char* simd_target() noexcept { return detail::cpu::best_target(); }

} // namespace lacuna
#endif
