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
#include "cpu/stream.hpp"
#include "cpu/tile_kernels.hpp"
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

/// Entries of a row's second segment up to which no branch asks for their number, which no
/// processor could foresee.
template <class T> HWY_INLINE std::int64_t short_segment() {
  return static_cast<std::int64_t>(hn::Lanes(row_tag<T>()));
}

/// The sum of `count` entries, short_segment at most; there are places for so many, which hold
/// anything.
template <class T, class I>
HWY_INLINE T sum_short(const T* values, const I* columns, std::int64_t count, const T* x) {
  const row_tag<T> d;
  const hn::CappedTag<I, 32 / sizeof(T)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(di));
  HWY_ALIGN I own[hn::MaxLanes(d)];
  for (std::int64_t k = 0; k < short_segment<T>(); k += lanes) {
    const auto left = static_cast<std::size_t>(std::clamp<std::int64_t>(count - k, 0, lanes));
    hn::Store(hn::IfThenElseZero(hn::FirstN(di, left), hn::LoadU(di, columns + k)), di, own + k);
  }
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
  const auto product = hn::Mul(hn::LoadU(d, values), pick(d, x, own));
  return hn::GetLane(hn::SumOfLanes(d, hn::IfThenElseZero(mask, product)));
}

/// Rows of a block that have several segments, whose second ones are asked for.
template <class T, class I, class O> struct block_list {
  static constexpr std::int64_t rows = 64;
  std::int64_t row[rows], size = 0;

  HWY_INLINE void fill(const row_arguments<T, I, O>& p, const segment_table<O>& t,
                       std::int64_t first, std::int64_t last) {
    size = 0;
    for (; first < last; ++first) {
      row[size] = first;
      size += t.counts[first] > 1 ? 1 : 0;
    }
    const O* const begin = t.begin + t.pitch;
    const std::int64_t end = short_segment<T>() - 1;
    for (std::int64_t i = 0; i < size; ++i) {
      const I* const columns = p.colind + begin[row[i]];
      const T* const values = p.values + begin[row[i]];
      __builtin_prefetch(columns);
      __builtin_prefetch(columns + end);
      __builtin_prefetch(values);
      __builtin_prefetch(values + end);
    }
  }
};

/// First segments by blocks of rows, then what else these rows have; that of the next block is
/// asked for before.
template <class T, class I, class O>
void segmented_rows(const row_arguments<T, I, O>& p, const segment_table<O>& t, std::int64_t first,
                    std::int64_t last) {
  const auto for_each_row = [&](auto store) HWY_ATTR {
    const O *const begin = t.begin, *const end = t.end;
    const std::uint8_t* const counts = t.counts;
    const I* const colind = p.colind;
    const T *const values = p.values, *const x = p.x;
    T* const y = p.y;
    const T alpha = p.alpha;
    const std::int64_t pitch = t.pitch, y_row = p.y_row;
    const std::int64_t most = short_segment<T>(), whole = t.places - most;
    block_list<T, I, O> lists[2];
    const auto block_end = [last](std::int64_t row) {
      return std::min(row + block_list<T, I, O>::rows, last);
    };
    lists[0].fill(p, t, first, block_end(first));
    for (std::int64_t row = first, b = 0; row < last; ++b) {
      const std::int64_t next = block_end(row);
      lists[(b + 1) % 2].fill(p, t, next, block_end(next));
      for (; row < next; ++row) {
        const O from = begin[row], length = end[row] - from; // of rows without segments anything
        store(row, sum_entries(values + from, colind + from, counts[row] > 0 ? length : 0, x));
      }
      const block_list<T, I, O>& list = lists[b % 2];
      for (std::int64_t i = 0; i < list.size; ++i) {
        const std::int64_t r = list.row[i], from = begin[pitch + r], length = end[pitch + r] - from;
        T sum = length <= most && from <= whole
                    ? sum_short(values + from, colind + from, length, x)
                    : sum_entries(values + from, colind + from, length, x);
        for (int s = 2; s < counts[r]; ++s) {
          const std::int64_t k = begin[s * pitch + r];
          sum += sum_entries(values + k, colind + k, end[s * pitch + r] - k, x);
        }
        y[r * y_row] += alpha * sum;
      }
    }
  };
  T* const y = p.y;
  const T* const z = p.z;
  const T alpha = p.alpha, beta = p.beta;
  const std::int64_t y_row = p.y_row, z_row = p.z_row;
  if (beta == T{0})
    for_each_row([=](std::int64_t row, T sum) HWY_ATTR { y[row * y_row] = alpha * sum; });
  else
    for_each_row([=](std::int64_t row, T sum)
                     HWY_ATTR { y[row * y_row] = alpha * sum + beta * z[row * z_row]; });
}

/// What sums of several columns are made of, whatever the type of the offsets.
template <class T, class I> struct dense_factors {
  const I* colind;
  const T* values;
  const T* x;
  std::int64_t x_row;
};

/// Where sums of several columns go: to[r * row + j] = factor times the sum of row r and column j.
template <class T> struct dense_place {
  T factor;
  T* to;
  std::int64_t row;
  bool streams; ///< past the caches: whole vectors, each aligned
};

/// Sums of `rows` rows' entries [begin[r], end[r]) times `vectors` vectors of columns of X, from
/// X's column `column` on, X row-major: each entry scales a row of X. Rows go side by side, as a
/// sum waits for the one before it; rows times vectors is 4 at most. `load` is for the last vector
/// of a row of X; store(r, v, sum) takes the sums.
template <int rows, int vectors, class D, class T, class I, class Load, class Store>
HWY_INLINE void add_dense(D d, const dense_factors<T, I>& p, const std::int64_t* begin,
                          const std::int64_t* end, std::int64_t column, Load load, Store store) {
  static_assert(rows * vectors <= 4 && rows != 3);
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), x_row = p.x_row;
  const I* colind = p.colind;
  const T *values = p.values, *x_column = p.x + column;
  hn::Vec<D> sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  const auto add = [&](std::int64_t k, auto& s0, auto& s1, auto& s2, auto& s3) HWY_ATTR {
    const T* x = x_column + static_cast<std::int64_t>(colind[k]) * x_row;
    const auto a = hn::Set(d, values[k]);
    if constexpr (vectors > 1) s0 = hn::MulAdd(a, hn::LoadU(d, x), s0);
    if constexpr (vectors > 2) s1 = hn::MulAdd(a, hn::LoadU(d, x + lanes), s1);
    if constexpr (vectors > 3) s2 = hn::MulAdd(a, hn::LoadU(d, x + 2 * lanes), s2);
    auto& last = vectors == 1 ? s0 : vectors == 2 ? s1 : vectors == 3 ? s2 : s3;
    last = hn::MulAdd(a, load(x + (vectors - 1) * lanes), last);
  };
  if constexpr (rows == 1) {
    for (std::int64_t k = begin[0]; k < end[0]; ++k) {
      prefetch(values + k, colind + k);
      add(k, sum0, sum1, sum2, sum3);
    }
    store(0, 0, sum0);
    if constexpr (vectors > 1) store(0, 1, sum1);
    if constexpr (vectors > 2) store(0, 2, sum2);
    if constexpr (vectors > 3) store(0, 3, sum3);
  } else if constexpr (rows == 2) {
    const std::int64_t both = std::min(end[0] - begin[0], end[1] - begin[1]);
    for (std::int64_t k = 0; k < both; ++k) {
      prefetch(values + begin[0] + 2 * k, colind + begin[0] + 2 * k);
      add(begin[0] + k, sum0, sum1, sum1, sum1);
      add(begin[1] + k, sum2, sum3, sum3, sum3);
    }
    for (std::int64_t k = begin[0] + both; k < end[0]; ++k) add(k, sum0, sum1, sum1, sum1);
    for (std::int64_t k = begin[1] + both; k < end[1]; ++k) add(k, sum2, sum3, sum3, sum3);
    store(0, 0, sum0);
    store(1, 0, sum2);
    if constexpr (vectors > 1) store(0, 1, sum1);
    if constexpr (vectors > 1) store(1, 1, sum3);
  } else {
    const std::int64_t all = std::min(std::min(end[0] - begin[0], end[1] - begin[1]),
                                      std::min(end[2] - begin[2], end[3] - begin[3]));
    for (std::int64_t k = 0; k < all; ++k) {
      prefetch(values + begin[0] + 4 * k, colind + begin[0] + 4 * k);
      add(begin[0] + k, sum0, sum0, sum0, sum0);
      add(begin[1] + k, sum1, sum1, sum1, sum1);
      add(begin[2] + k, sum2, sum2, sum2, sum2);
      add(begin[3] + k, sum3, sum3, sum3, sum3);
    }
    for (std::int64_t k = begin[0] + all; k < end[0]; ++k) add(k, sum0, sum0, sum0, sum0);
    for (std::int64_t k = begin[1] + all; k < end[1]; ++k) add(k, sum1, sum1, sum1, sum1);
    for (std::int64_t k = begin[2] + all; k < end[2]; ++k) add(k, sum2, sum2, sum2, sum2);
    for (std::int64_t k = begin[3] + all; k < end[3]; ++k) add(k, sum3, sum3, sum3, sum3);
    store(0, 0, sum0);
    store(1, 0, sum1);
    store(2, 0, sum2);
    store(3, 0, sum3);
  }
}

/// The first `count` lanes. What is behind them may be another thread's, or nobody's: elsewhere
/// than on x86 BlendedStore may write it, too, as it was.
template <class D, class V, class T>
HWY_INLINE void store_first(D d, V v, std::int64_t count, T* to) {
#if HWY_ARCH_X86
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
#else
  HWY_ALIGN T all[hn::MaxLanes(d)];
  hn::Store(v, d, all);
  std::copy_n(all, count, to);
#endif
}

/// The same for `count` columns, more than vectors - 1 vectors have. Apart from the loop over rows.
template <int rows, int vectors, class T, class I>
HWY_NOINLINE void dense_columns(const dense_factors<T, I>& p, const std::int64_t* begin,
                                const std::int64_t* end, std::int64_t column, std::int64_t count,
                                const dense_place<T>& place) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, place.factor);
  const auto at = [&](int r, int v) HWY_ATTR { return place.to + r * place.row + v * lanes; };
  if (count == vectors * lanes) {
    const auto load = [&](const T* x) HWY_ATTR { return hn::LoadU(d, x); };
    if (place.streams)
      add_dense<rows, vectors>(d, p, begin, end, column, load,
                               [&](int r, int v, auto sum)
                                   HWY_ATTR { hn::Stream(hn::Mul(factor, sum), d, at(r, v)); });
    else
      add_dense<rows, vectors>(d, p, begin, end, column, load,
                               [&](int r, int v, auto sum)
                                   HWY_ATTR { hn::StoreU(hn::Mul(factor, sum), d, at(r, v)); });
    return;
  }
  // The lanes past the last column are 0, not x: a NaN there must not matter.
  const std::int64_t rest = count - (vectors - 1) * lanes;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(rest));
  add_dense<rows, vectors>(
      d, p, begin, end, column, [&](const T* x) HWY_ATTR { return hn::MaskedLoad(mask, d, x); },
      [&](int r, int v, auto sum) HWY_ATTR {
        if (v == vectors - 1)
          store_first(d, hn::Mul(factor, sum), rest, at(r, v));
        else
          hn::StoreU(hn::Mul(factor, sum), d, at(r, v));
      });
}

/// One row, or a piece of it, and up to four vectors of columns.
template <class T, class I>
HWY_INLINE void dense_row(const dense_factors<T, I>& p, std::int64_t begin, std::int64_t end,
                          std::int64_t column, std::int64_t count, const dense_place<T>& place) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (count <= lanes)
    dense_columns<1, 1>(p, &begin, &end, column, count, place);
  else if (count <= 2 * lanes)
    dense_columns<1, 2>(p, &begin, &end, column, count, place);
  else if (count <= 3 * lanes)
    dense_columns<1, 3>(p, &begin, &end, column, count, place);
  else
    dense_columns<1, 4>(p, &begin, &end, column, count, place);
}

template <class T, class I, class O>
void dense_piece(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last, T* sums) {
  const dense_factors<T, I> factors{p.colind, p.values, p.x, p.x_row};
  const std::int64_t block = 4 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (std::int64_t column = 0; column < p.columns; column += block)
    dense_row(factors, first, last, column, std::min(block, p.columns - column),
              dense_place<T>{T{1}, sums + column, 0, false});
}

/// Rows [row, row + rows), up to four vectors of columns. Long rows piece by piece, in order,
/// and alone.
template <class T, class I, class O>
HWY_NOINLINE void dense_block(const row_arguments<T, I, O>& p, std::int64_t row, std::int64_t rows,
                              std::int64_t column, std::int64_t count, dense_place<T> place) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t most = 4 * static_cast<std::int64_t>(hn::MaxLanes(d));
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const int side_by_side = count <= lanes ? 4 : count <= 2 * lanes ? 2 : 1;
  const dense_factors<T, I> factors{p.colind, p.values, p.x, p.x_row};
  T* const to = place.to;
  std::int64_t begin[4], end[4];
  for (std::int64_t i = 0; i < rows;) {
    const int taken = i + side_by_side <= rows ? side_by_side : 1;
    std::int64_t longest = 0;
    for (int r = 0; r < taken; ++r) {
      begin[r] = p.rowptr[row + i + r];
      end[r] = p.rowptr[row + i + r + 1];
      longest = std::max(longest, end[r] - begin[r]);
    }
    place.to = to + i * place.row;
    if (longest > piece_entries) {
      T sums[most], more[most];
      dense_row(factors, begin[0], std::min(begin[0] + piece_entries, end[0]), column, count,
                {T{1}, sums, 0, false});
      for (std::int64_t k = begin[0] + piece_entries; k < end[0]; k += piece_entries) {
        dense_row(factors, k, std::min(k + piece_entries, end[0]), column, count,
                  {T{1}, more, 0, false});
        for (std::int64_t j = 0; j < count; ++j) sums[j] += more[j];
      }
      for (std::int64_t j = 0; j < count; ++j) place.to[j] = place.factor * sums[j];
      ++i;
      continue;
    }
    if (taken == 4)
      dense_columns<4, 1>(factors, begin, end, column, count, place);
    else if (taken == 2)
      dense_columns<2, 2>(factors, begin, end, column, count, place);
    else
      dense_row(factors, begin[0], end[0], column, count, place);
    i += taken;
  }
}

/// Rows that are worked on together: their entries stay in the first cache for all columns, and Y
/// by columns is written in runs of whole lines.
constexpr std::int64_t tile_rows = 32;

/// Y by rows without an addend is written as it is made, anything else from a tile of sums.
template <class T, class I, class O>
void dense_rows(const row_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t most = 4 * static_cast<std::int64_t>(hn::MaxLanes(d));
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), block = 4 * lanes;
  const bool by_rows = p.y_column == 1 && p.beta == T{0};
  const bool by_columns = p.y_row == 1 && p.beta == T{0};
  const bool streams = p.streams && by_rows && p.columns % lanes == 0 && p.y_row % lanes == 0 &&
                       reinterpret_cast<std::uintptr_t>(p.y) % (lanes * sizeof(T)) == 0;
  const auto& tiles = best_tile_kernels<T>();
  HWY_ALIGN T tile[tile_rows * most];
  for (std::int64_t row = first, rows; row < last; row += rows) {
    rows = std::min(tile_rows - row % tile_rows, last - row);
    for (std::int64_t column = 0; column < p.columns; column += block) {
      const std::int64_t count = std::min(block, p.columns - column);
      if (by_rows) {
        dense_block(p, row, rows, column, count,
                    dense_place<T>{p.alpha, p.y + row * p.y_row + column, p.y_row, streams});
        continue;
      }
      dense_block(p, row, rows, column, count,
                  dense_place<T>{by_columns ? p.alpha : T{1}, tile, count, false});
      if (by_columns) {
        tiles.transpose(tile, count, rows, count, p.y + row + column * p.y_column, p.y_column,
                        p.streams);
        continue;
      }
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < count; ++j)
          store_sum(p, row + i, column + j, tile[i * count + j]);
    }
  }
  if (p.streams) finish_streaming();
}

kernel_table make_table() {
  kernel_table table;
#define LACUNA_FILL(T, I, O)                                                                       \
  std::get<row_kernels<T, I, O>>(table) = {rows<T, I, O>, piece<T, I, O>, segmented_rows<T, I, O>, \
                                           dense_rows<T, I, O>, dense_piece<T, I, O>};
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
