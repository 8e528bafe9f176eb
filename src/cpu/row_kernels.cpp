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

/// Four doubles or eight floats: pick() makes no more at once in the time of one load per element.
template <class T> using row_tag = hn::CappedTag<T, 32 / sizeof(T)>;

/// Rows of this many entries are gathered by the processor: nothing is as good at keeping many
/// misses under way. Rows of 2500 with scattered x, Zen 4, 2 threads: 2.8 against 1.9 GFLOP/s.
/// Where x is in a cache, as it is for most matrices with shorter rows, it loses (Zen 3: rows of
/// 792 0.6 against 0.4 ns per entry).
constexpr std::int64_t gather_from = 2048;

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

/// Rows from this many entries on are summed in vectors; no vector has more lanes.
constexpr std::int64_t vectors_from = 8;

/// From here on with two sums and half the prefetches. In shorter rows a branch for the odd vector,
/// which no processor can foresee, costs more than that gains.
constexpr std::int64_t two_sums_from = 64;

/// Entries in vectors. The last vector ends where the row does: those of its lanes that were added
/// before are left out. Without a loop over the last few entries, whose number no processor can
/// foresee either, rows of uneven length take three quarters of the time (Zen 3: ca-AstroPh 0.98 ->
/// 0.76 ns per entry).
template <bool two_sums, bool by_gather, class T, class I>
HWY_INLINE T sum_vectors(const T* values, const I* columns, std::int64_t count, const T* x) {
  const row_tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto pick_x = [&](std::int64_t k) HWY_ATTR {
    if constexpr (by_gather)
      return gather(d, x, columns + k);
    else
      return pick(d, x, columns + k);
  };
  const std::int64_t whole = (count - 1) & -lanes; // one lane at least is left
  auto sum = hn::Zero(d);
  std::int64_t k = 0;
  if constexpr (two_sums) {
    auto other = hn::Zero(d);
    for (; k + 2 * lanes <= whole; k += 2 * lanes) {
      prefetch(values + k, columns + k);
      sum = hn::MulAdd(hn::LoadU(d, values + k), pick_x(k), sum);
      other = hn::MulAdd(hn::LoadU(d, values + k + lanes), pick_x(k + lanes), other);
    }
    sum = hn::Add(sum, other);
  }
  for (; k < whole; k += lanes) {
    prefetch(values + k, columns + k);
    sum = hn::MulAdd(hn::LoadU(d, values + k), pick_x(k), sum);
  }
  const auto added = hn::FirstN(d, static_cast<std::size_t>(whole + lanes - count));
  k = count - lanes;
  const auto last = hn::Mul(hn::LoadU(d, values + k), pick_x(k));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, hn::IfThenZeroElse(added, last))));
}

template <class T, class I>
HWY_INLINE T sum_entries(const T* values, const I* columns, std::int64_t count, const T* x);

/// A long row's pieces in order. Apart from the loop over rows, which stays small.
template <class T, class I>
HWY_NOINLINE T sum_pieces(const T* values, const I* columns, std::int64_t count, const T* x) {
  T sum = sum_vectors<true, true>(values, columns, std::min(count, piece_entries), x);
  for (std::int64_t first = piece_entries; first < count; first += piece_entries) {
    const std::int64_t length = std::min(count - first, piece_entries);
    sum += sum_entries(values + first, columns + first, length, x);
  }
  return sum;
}

template <class T, class I>
HWY_INLINE T sum_entries(const T* values, const I* columns, std::int64_t count, const T* x) {
  prefetch(values, columns);
  if (count < vectors_from) [[likely]] {
    T sum{0};
    // Unrolled: a branch for each length is foreseen better than one that closes a loop.
    HWY_UNROLL(8)
    for (std::int64_t k = 0; k < vectors_from - 1; ++k) {
      if (k == count) break;
      sum += values[k] * x[columns[k]];
    }
    return sum;
  }
  if (count < two_sums_from) return sum_vectors<false, false>(values, columns, count, x);
  if (count < gather_from) return sum_vectors<true, false>(values, columns, count, x);
  return sum_pieces(values, columns, count, x);
}

template <class T, class I, class O>
T piece(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  return sum_entries(p.values + first, p.colind + first, last - first, p.x);
}

template <class T, class I, class O>
void rows(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  const auto for_each_row = [&](auto store) HWY_ATTR {
    const O* rowptr = p.rowptr;
    const I* colind = p.colind;
    const T *values = p.values, *x = p.x;
    std::int64_t begin = rowptr[first];
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t end = rowptr[row + 1];
      store(row, sum_entries(values + begin, colind + begin, end - begin, x));
      begin = end;
    }
  };
  T* y = p.y;
  const T* z = p.z;
  const T alpha = p.alpha, beta = p.beta;
  if (beta == T{0})
    for_each_row([=](std::int64_t row, T sum) HWY_ATTR { y[row] = alpha * sum; });
  else
    for_each_row([=](std::int64_t row, T sum) HWY_ATTR { y[row] = alpha * sum + beta * z[row]; });
}

/// Sums of entries [first, last) times `vectors` vectors of columns of X, from X's column `column`
/// on, X row-major: each entry scales a row of X. `take` columns of the last vector are there.
template <int vectors, class D, class T, class I, class O>
HWY_INLINE void dense_columns(D d, const row_arguments<T, I, O>& p, std::int64_t first,
                              std::int64_t last, std::int64_t column, std::int64_t take, T* sums) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), x_row = p.x_row;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(take));
  const I* colind = p.colind;
  const T *values = p.values, *x_column = p.x + column;
  hn::Vec<D> sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  const auto add = [&](auto load) HWY_ATTR {
    for (std::int64_t k = first; k < last; ++k) {
      const T* x = x_column + static_cast<std::int64_t>(colind[k]) * x_row;
      const auto a = hn::Set(d, values[k]);
      if constexpr (vectors > 1) sum0 = hn::MulAdd(a, hn::LoadU(d, x), sum0);
      if constexpr (vectors > 2) sum1 = hn::MulAdd(a, hn::LoadU(d, x + lanes), sum1);
      if constexpr (vectors > 3) sum2 = hn::MulAdd(a, hn::LoadU(d, x + 2 * lanes), sum2);
      auto& sum = vectors == 1 ? sum0 : vectors == 2 ? sum1 : vectors == 3 ? sum2 : sum3;
      sum = hn::MulAdd(a, load(x + (vectors - 1) * lanes), sum);
    }
  };
  // The lanes past the last column are 0, not x: a NaN there must not matter.
  if (take == lanes)
    add([&](const T* x) HWY_ATTR { return hn::LoadU(d, x); });
  else
    add([&](const T* x) HWY_ATTR { return hn::MaskedLoad(mask, d, x); });
  if constexpr (vectors > 1) hn::StoreU(sum0, d, sums);
  if constexpr (vectors > 2) hn::StoreU(sum1, d, sums + lanes);
  if constexpr (vectors > 3) hn::StoreU(sum2, d, sums + 2 * lanes);
  const auto last_sum = vectors == 1 ? sum0 : vectors == 2 ? sum1 : vectors == 3 ? sum2 : sum3;
  hn::BlendedStore(last_sum, mask, d, sums + (vectors - 1) * lanes);
}

/// The same for `count` columns, at most four vectors of them.
template <class D, class T, class I, class O>
HWY_INLINE void dense_block(D d, const row_arguments<T, I, O>& p, std::int64_t first,
                            std::int64_t last, std::int64_t column, std::int64_t count, T* sums) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (count <= lanes)
    dense_columns<1>(d, p, first, last, column, count, sums);
  else if (count <= 2 * lanes)
    dense_columns<2>(d, p, first, last, column, count - lanes, sums);
  else if (count <= 3 * lanes)
    dense_columns<3>(d, p, first, last, column, count - 2 * lanes, sums);
  else
    dense_columns<4>(d, p, first, last, column, count - 3 * lanes, sums);
}

template <class T, class I, class O>
void dense_piece(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last, T* sums) {
  const hn::ScalableTag<T> d;
  const std::int64_t block = 4 * static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t column = 0; column < p.columns; column += block)
    dense_block(d, p, first, last, column, std::min(block, p.columns - column), sums + column);
}

/// Rows whose sums wait to be written: Y by columns is then written in runs of whole lines.
constexpr std::int64_t tile_rows = 32;

template <class T, class I, class O>
void dense_rows(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t most = 4 * static_cast<std::int64_t>(hn::MaxLanes(d));
  const std::int64_t block = 4 * static_cast<std::int64_t>(hn::Lanes(d));
  T tile[tile_rows * most], more[most];
  for (std::int64_t row = first; row < last; row += tile_rows) {
    const std::int64_t rows = std::min(tile_rows, last - row);
    for (std::int64_t column = 0; column < p.columns; column += block) {
      const std::int64_t count = std::min(block, p.columns - column);
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t begin = p.rowptr[row + i], end = p.rowptr[row + i + 1];
        T* sums = tile + i * count;
        dense_block(d, p, begin, std::min(begin + piece_entries, end), column, count, sums);
        for (std::int64_t k = begin + piece_entries; k < end; k += piece_entries) {
          dense_block(d, p, k, std::min(k + piece_entries, end), column, count, more);
          for (std::int64_t j = 0; j < count; ++j) sums[j] += more[j];
        }
      }
      if (p.y_column == 1) {
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < count; ++j)
            store_sum(p, row + i, column + j, tile[i * count + j]);
      } else {
        for (std::int64_t j = 0; j < count; ++j)
          for (std::int64_t i = 0; i < rows; ++i)
            store_sum(p, row + i, column + j, tile[i * count + j]);
      }
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
