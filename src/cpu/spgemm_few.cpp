// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/spgemm_few.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <bit>
#include <cstdint>
#include <tuple>

#include <hwy/highway.h>

#include "core/kernel_offsets.hpp"
#include "cpu/spgemm_few.hpp"

#ifndef LACUNA_SPGEMM_FEW_ONCE
#define LACUNA_SPGEMM_FEW_ONCE
namespace lacuna::detail::cpu {
#define LACUNA_SLOT(T, I, O) std::tuple<few_rows_kernels<T, I, O>>{},
using few_rows_table =
    decltype(std::tuple_cat(LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_SLOT) std::tuple<>{}));
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Products of rows, one behind the other.
template <class T, class I> struct gathered {
  std::uint8_t counts[few_rows<T, I>::most_rows];
  I col[few_rows<T, I>::most_products + few_products];
  T value[few_rows<T, I>::most_products + few_products];
};

/// Rows from `row` on whose products are gathered together; B's rows that they meet are asked for.
template <class T, class I, class O>
HWY_INLINE int choose_rows(const spgemm_factors<T, I, O>& f, std::int64_t row, std::int64_t end,
                           std::int64_t most_products, std::uint8_t* counts) {
  const O* const a_rowptr = f.a_rowptr + row;
  const O* const b_rowptr = f.b_rowptr;
  const I *const a_col = f.a_col, *const b_col = f.b_col;
  const T* const b_value = f.b_value;
  const auto most = static_cast<int>(std::min<std::int64_t>(end - row, few_rows<T, I>::most_rows));
  std::int64_t left = few_rows<T, I>::most_products, k = a_rowptr[0];
  for (int rows = 0; rows < most; ++rows) {
    std::int64_t count = 0;
    for (const std::int64_t last = a_rowptr[rows + 1]; k < last && count <= most_products; ++k) {
      const std::int64_t first = b_rowptr[a_col[k]];
      count += b_rowptr[a_col[k] + 1] - first;
      __builtin_prefetch(b_col + first);
      __builtin_prefetch(b_value + first);
    }
    left -= count;
    if (count > most_products || left < 0) return rows;
    counts[rows] = static_cast<std::uint8_t>(count);
  }
  return most;
}

/// Entries of B are copied by fours: what is too much is written over.
constexpr std::int64_t step = 4;

template <bool values, class T, class I>
HWY_INLINE void gather_entries(const I* col, const T* value, std::int64_t count, T s, I* to_col,
                               T* to_value) {
  const hn::CappedTag<I, step> di;
  const hn::CappedTag<T, step> dt;
  const auto columns = static_cast<std::int64_t>(hn::Lanes(di));
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dt));
  const auto factor = hn::Set(dt, s);
  for (std::int64_t l = 0; l < count; l += step) {
    for (std::int64_t n = l; n < l + step; n += columns)
      hn::StoreU(hn::LoadU(di, col + n), di, to_col + n);
    if constexpr (values)
      for (std::int64_t n = l; n < l + step; n += lanes)
        hn::StoreU(hn::Mul(factor, hn::LoadU(dt, value + n)), dt, to_value + n);
  }
}

/// The same at the end of B's arrays.
template <bool values, class T, class I>
HWY_NOINLINE void gather_last(const I* col, const T* value, std::int64_t count, T s, I* to_col,
                              T* to_value) {
  for (std::int64_t l = 0; l < count; ++l) {
    to_col[l] = col[l];
    if constexpr (values) to_value[l] = s * value[l];
  }
}

/// Products of A's entries [k, last).
template <bool values, class T, class I, class O>
HWY_INLINE void gather(const spgemm_factors<T, I, O>& f, std::int64_t k, std::int64_t last,
                       I* to_col, T* to_value) {
  const O* const b_rowptr = f.b_rowptr;
  const I *const a_col = f.a_col, *const b_col = f.b_col;
  const T *const a_value = f.a_value, *const b_value = f.b_value;
  const T alpha = f.alpha;
  const std::int64_t whole = f.b_entries - step;
  for (; k < last; ++k) {
    const std::int64_t first = b_rowptr[a_col[k]], end = b_rowptr[a_col[k] + 1];
    const std::int64_t count = end - first;
    const T s = values ? alpha * a_value[k] : T{1};
    if (end <= whole)
      gather_entries<values>(b_col + first, b_value + first, count, s, to_col, to_value);
    else
      gather_last<values>(b_col + first, b_value + first, count, s, to_col, to_value);
    to_col += count;
    to_value += count;
  }
}

/// A bit for each lane.
template <class D, class M> HWY_INLINE std::uint64_t bits_of(D d, M mask) {
#if HWY_TARGET <= HWY_AVX3
  (void)d;
  return static_cast<std::uint64_t>(mask.raw);
#else
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
#endif
}

/// Columns of a row are compared in up to four vectors.
template <class I> using column_tag = hn::CappedTag<I, few_products / 4>;
template <class I> HWY_INLINE int column_lanes() {
  return static_cast<int>(hn::Lanes(column_tag<I>()));
}

/// Puts a row's products, which fit so many vectors, in order; those of one column are added up in
/// the order in which they are. Each column is compared with all: its place is the number of
/// different ones below. Returns how many there are.
template <int vectors, bool values, class T, class I>
HWY_INLINE int order_row(const I* col, const T* value, int count, I* to_col, T* to_value) {
  const column_tag<I> d;
  const int lanes = column_lanes<I>();
  const std::uint64_t own = ~std::uint64_t{0} >> (64 - count);
  std::uint64_t firsts = 0, below[few_products];
  for (int j = 0; j < count; ++j) {
    const auto column = hn::Set(d, col[j]);
    std::uint64_t equal = 0, less = 0;
    for (int v = 0; v < vectors; ++v) {
      const auto all = hn::LoadU(d, col + v * lanes);
      equal |= bits_of(d, hn::Eq(all, column)) << (v * lanes);
      less |= bits_of(d, hn::Lt(all, column)) << (v * lanes);
    }
    equal &= own;
    firsts |= equal & (~equal + 1);
    below[j] = less;
  }
  const auto put = [&](int j, std::uint64_t columns) HWY_ATTR {
    const int at = std::popcount(below[j] & columns);
    to_col[at] = col[j];
    if constexpr (values) to_value[at] = value[j];
  };
  if (firsts == own) { // a branch that is foreseen: nothing waits for `firsts` then
    for (int j = 0; j < count; ++j) put(j, own);
    return count;
  }
  for (int j = count - 1; j >= 0; --j) put(j, firsts); // the first of a column is what stays
  if constexpr (values)
    for (std::uint64_t others = own & ~firsts; others != 0; others &= others - 1) {
      const int j = std::countr_zero(others);
      to_value[std::popcount(below[j] & firsts)] += value[j];
    }
  return std::popcount(firsts);
}

template <bool values, class T, class I, class O>
HWY_INLINE void make(const spgemm_factors<T, I, O>& f, std::int64_t row, std::int64_t end,
                     few_rows<T, I>& made) {
  const int lanes = column_lanes<I>();
  gathered<T, I> products;
  made.rows = choose_rows(f, row, end, 4 * lanes, products.counts);
  gather<values>(f, f.a_rowptr[row], f.a_rowptr[row + made.rows], products.col, products.value);
  const I* col = products.col;
  const T* value = products.value;
  std::int64_t entries = 0;
  for (int r = 0; r < made.rows; ++r) {
    const int count = products.counts[r];
    I* const to_col = made.col + entries;
    T* const to_value = made.value + entries;
    int left = 0;
    if (count > 3 * lanes)
      left = order_row<4, values>(col, value, count, to_col, to_value);
    else if (count > 2 * lanes)
      left = order_row<3, values>(col, value, count, to_col, to_value);
    else if (count > lanes)
      left = order_row<2, values>(col, value, count, to_col, to_value);
    else if (count > 0)
      left = order_row<1, values>(col, value, count, to_col, to_value);
    made.counts[r] = static_cast<std::uint8_t>(left);
    entries += left;
    col += count;
    value += count;
  }
  made.entries = entries;
}

template <class T, class I, class O>
void make(const spgemm_factors<T, I, O>& f, std::int64_t row, std::int64_t end, bool values,
          few_rows<T, I>& made) {
  values ? make<true>(f, row, end, made) : make<false>(f, row, end, made);
}

few_rows_table make_few_rows_kernels() {
  few_rows_table table;
#define LACUNA_FILL(T, I, O)                                                                       \
  std::get<few_rows_kernels<T, I, O>>(table) = {4 * column_lanes<I>(), make<T, I, O>};
  LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_FILL)
  return table;
}

} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_few_rows_kernels);

template <class T, class I, class O> const few_rows_kernels<T, I, O>& best_few_rows_kernels() {
  static const few_rows_table table = HWY_DYNAMIC_DISPATCH(make_few_rows_kernels)();
  return std::get<few_rows_kernels<T, I, O>>(table);
}
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template const few_rows_kernels<T, I, O>& best_few_rows_kernels<T, I, O>();
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
#endif
