// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/packed_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <algorithm>
#include <tuple>

#include <hwy/highway.h>

#include "cpu/gather-inl.hpp"
#include "cpu/packed_kernels.hpp"
#include "cpu/row_kernels.hpp"

#ifndef LACUNA_PACKED_KERNELS_ONCE
#define LACUNA_PACKED_KERNELS_ONCE
namespace lacuna::detail::cpu {
#define LACUNA_SLOT(T, I, O) std::tuple<packed_kernels<T, I, O>>{},
using packed_table = decltype(std::tuple_cat(LACUNA_FOR_EACH_TYPE(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace { // some names are row_kernels.cpp's, too
namespace hn = hwy::HWY_NAMESPACE;

/// Entries, and chunks, that are asked for ahead of their use, as in row_kernels.cpp; 16 chunks
/// are no better.
constexpr std::int64_t ahead = 256;
constexpr std::int64_t chunks_ahead = 8;
/// Entries from which rows have two sums, as in row_kernels.cpp.
constexpr std::int64_t two_sums_from = 64;
/// Chunks that are unpacked together. Zen 4, one thread, 5-point stencil in double: 0.61 ns an
/// entry with 3 or 4; with 2 floats lose a tenth; with 6 it is 0.69, as so many stores wait behind
/// those of y, which miss the caches.
constexpr std::int64_t window_chunks = 4;

/// Distances, widened to the lanes of d.
template <class D, class U> HWY_INLINE auto load_widened(D d, const U* distances) {
  const hn::Rebind<U, D> narrow;
  if constexpr (sizeof(U) == sizeof(hn::TFromD<D>))
    return hn::LoadU(d, distances);
  else if constexpr (sizeof(hn::TFromD<D>) == 8 && sizeof(U) < 4) { // Highway goes 4 times at most
    const hn::Rebind<std::uint32_t, D> middle;
    return hn::PromoteTo(d, hn::PromoteTo(middle, hn::LoadU(narrow, distances)));
  } else
    return hn::PromoteTo(d, hn::LoadU(narrow, distances));
}

template <class U, class I>
HWY_INLINE void unpack_chunk(I base, const std::uint8_t* columns, I* result) {
  using word = std::make_unsigned_t<I>;
  const hn::ScalableTag<word> d;
  const auto* distances = reinterpret_cast<const U*>(columns);
  const auto first = hn::Set(d, static_cast<word>(base));
  for (std::size_t line = 0; line < sizeof(U); ++line)
    __builtin_prefetch(columns + 64 * (chunks_ahead * sizeof(U) + line));
  for (std::size_t j = 0; j < chunk_entries; j += hn::Lanes(d))
    hn::StoreU(hn::Add(first, load_widened(d, distances + j)), d,
               reinterpret_cast<word*>(result) + j);
}

template <class I>
HWY_INLINE void unpack(const packed_chunk<I>* chunks, const std::uint8_t* columns,
                       std::int64_t first, std::int64_t last, I* result) {
  for (std::int64_t c = first; c < last; ++c, result += chunk_entries) {
    const packed_chunk<I> chunk = chunks[c];
    const std::uint8_t* from = columns + chunk.first_byte();
    switch (chunk.log_width()) {
    case 0: unpack_chunk<std::uint8_t>(chunk.base, from, result); break;
    case 1: unpack_chunk<std::uint16_t>(chunk.base, from, result); break;
    case 2: unpack_chunk<std::uint32_t>(chunk.base, from, result); break;
    default:
      if constexpr (sizeof(I) == 8) unpack_chunk<std::uint64_t>(chunk.base, from, result);
    }
  }
}

/// Columns of neighbouring entries, unpacked when they are asked for.
template <class I> class column_window {
public:
  template <class Arguments>
  explicit column_window(const Arguments& p)
      : chunks_(p.chunks), packed_(p.columns), count_(p.chunk_count) {}

  /// Unpacks from entry k on: 192 entries at least, or all there are.
  HWY_NOINLINE void move_to(std::int64_t k) {
    const std::int64_t first = k / chunk_entries, last = std::min(first + window_chunks, count_);
    unpack(chunks_, packed_, first, last, columns_);
    base_ = first * chunk_entries;
    ready_ = last * chunk_entries;
  }
  /// The first entry that is unpacked.
  HWY_INLINE std::int64_t first() const { return base_; }
  /// One past the last entry that is unpacked.
  HWY_INLINE std::int64_t ready() const { return ready_; }
  /// The column of entry k and those after it.
  HWY_INLINE const I* at(std::int64_t k) const { return columns_ + (k - base_); }

private:
  // A vector may reach past the last entry that is unpacked: there are columns, too, or zeros.
  static constexpr std::size_t places =
      window_chunks * chunk_entries + hn::MaxLanes(hn::ScalableTag<float>());
  alignas(64) I columns_[places] = {};
  const packed_chunk<I>* chunks_;
  const std::uint8_t* packed_;
  std::int64_t count_; // chunks there are
  std::int64_t base_ = 0, ready_ = 0;
};

/// Rows from `row` on that have `count` entries each and are unpacked, in a loop without branches
/// but its own; returns the row after them.
template <int count, class T, class I, class O>
HWY_INLINE std::int64_t equal_rows(const packed_arguments<T, I, O>& p, const I* columns,
                                   std::int64_t ready, std::int64_t row, std::int64_t last) {
  const O* rowptr = p.rowptr;
  std::int64_t end = rowptr[row] + count;
  const T* values = p.values + rowptr[row];
  const T *x = p.x, *z = p.z;
  T* y = p.y;
  const T alpha = p.alpha, beta = p.beta;
  do {
    __builtin_prefetch(values + ahead);
    T sum{0};
#pragma GCC unroll 8
    for (int k = 0; k < count; ++k) sum += values[k] * x[columns[k]];
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * z[row];
    values += count;
    columns += count;
    end += count;
    ++row;
  } while (row < last && end <= ready && rowptr[row + 1] == end);
  return row;
}

/// As sum_entries in row_kernels.cpp: the same products, added in the same order.
template <class T, class I>
HWY_INLINE T sum_entries(column_window<I>& window, const T* values, std::int64_t first,
                         std::int64_t last, const T* x) {
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), count = last - first;
  std::int64_t k = first;
  if (count < 8) {
    T sum{0};
    while (k < last) {
      if (k >= window.ready()) window.move_to(k);
      const std::int64_t stop = std::min(window.ready(), last);
      for (const I* columns = window.at(k); k < stop; ++k) sum += values[k] * x[*columns++];
    }
    return sum;
  }
  const std::int64_t whole = first + ((count - 1) & -lanes); // one lane at least is left
  auto sum = hn::Zero(d);
  if (first >= window.ready()) window.move_to(first);
  if (count >= two_sums_from) {
    auto other = hn::Zero(d);
    for (;;) {
      const std::int64_t stop = std::min(window.ready(), whole) - 2 * lanes;
      const I* columns = window.at(k);
      for (; k <= stop; k += 2 * lanes, columns += 2 * lanes) {
        __builtin_prefetch(values + k + ahead);
        sum = hn::MulAdd(hn::LoadU(d, values + k), pick(d, x, columns), sum);
        other = hn::MulAdd(hn::LoadU(d, values + k + lanes), pick(d, x, columns + lanes), other);
      }
      if (whole <= window.ready()) break;
      window.move_to(k);
    }
    sum = hn::Add(sum, other);
  }
  for (; k < whole; k += lanes) {
    if (k + lanes > window.ready()) window.move_to(k);
    sum = hn::MulAdd(hn::LoadU(d, values + k), pick(d, x, window.at(k)), sum);
  }
  // The last vector ends where the row does: lanes that were added before are left out.
  const auto added = hn::FirstN(d, static_cast<std::size_t>(whole + lanes - last));
  k = last - lanes;
  if (last > window.ready() || k < window.first()) window.move_to(k);
  const auto rest = hn::Mul(hn::LoadU(d, values + k), pick(d, x, window.at(k)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, hn::IfThenZeroElse(added, rest))));
}

template <class T, class I, class O>
T piece(const packed_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  column_window<I> window(p);
  return sum_entries(window, p.values, first, last, p.x);
}

template <class T, class I, class O>
void rows(const packed_arguments<T, I, O>& p, std::int64_t first, std::int64_t last) {
  column_window<I> window(p);
  for (std::int64_t row = first; row < last;) {
    const std::int64_t begin = p.rowptr[row], end = p.rowptr[row + 1];
    if (end - begin < 8) {
      if (end > window.ready()) window.move_to(begin);
      const I* columns = window.at(begin);
      const std::int64_t ready = window.ready();
      switch (end - begin) {
      case 0: row = equal_rows<0>(p, columns, ready, row, last); break;
      case 1: row = equal_rows<1>(p, columns, ready, row, last); break;
      case 2: row = equal_rows<2>(p, columns, ready, row, last); break;
      case 3: row = equal_rows<3>(p, columns, ready, row, last); break;
      case 4: row = equal_rows<4>(p, columns, ready, row, last); break;
      case 5: row = equal_rows<5>(p, columns, ready, row, last); break;
      case 6: row = equal_rows<6>(p, columns, ready, row, last); break;
      default: row = equal_rows<7>(p, columns, ready, row, last); break;
      }
      continue;
    }
    T sum = sum_entries(window, p.values, begin, std::min(end, begin + piece_entries), p.x);
    for (std::int64_t k = begin + piece_entries; k < end; k += piece_entries)
      sum += sum_entries(window, p.values, k, std::min(end, k + piece_entries), p.x);
    p.y[row] = p.beta == T{0} ? p.alpha * sum : p.alpha * sum + p.beta * p.z[row];
    ++row;
  }
}

packed_table make_packed_table() {
  packed_table table;
#define LACUNA_FILL(T, I, O)                                                                       \
  std::get<packed_kernels<T, I, O>>(table) = {rows<T, I, O>, piece<T, I, O>};
  LACUNA_FOR_EACH_TYPE(LACUNA_FILL)
  return table;
}

void unpack_32(const packed_chunk<std::int32_t>* chunks, const std::uint8_t* columns,
               std::int64_t first, std::int64_t last, std::int32_t* result) {
  unpack(chunks, columns, first, last, result);
}
void unpack_64(const packed_chunk<std::int64_t>* chunks, const std::uint8_t* columns,
               std::int64_t first, std::int64_t last, std::int64_t* result) {
  unpack(chunks, columns, first, last, result);
}

} // namespace
} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_packed_table);
HWY_EXPORT(unpack_32);
HWY_EXPORT(unpack_64);

template <class T, class I, class O> const packed_kernels<T, I, O>& best_packed_kernels() {
  static const packed_table table = HWY_DYNAMIC_DISPATCH(make_packed_table)();
  return std::get<packed_kernels<T, I, O>>(table);
}
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template const packed_kernels<T, I, O>& best_packed_kernels<T, I, O>();
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

template <>
void unpack_chunks(const packed_chunk<std::int32_t>* chunks, const std::uint8_t* columns,
                   std::int64_t first, std::int64_t last, std::int32_t* result) {
  HWY_DYNAMIC_DISPATCH(unpack_32)(chunks, columns, first, last, result);
}
template <>
void unpack_chunks(const packed_chunk<std::int64_t>* chunks, const std::uint8_t* columns,
                   std::int64_t first, std::int64_t last, std::int64_t* result) {
  HWY_DYNAMIC_DISPATCH(unpack_64)(chunks, columns, first, last, result);
}

} // namespace lacuna::detail::cpu
#endif
