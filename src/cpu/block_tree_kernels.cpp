// Compiled once for each instruction set: Highway includes this file again for every target.
#include "cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/block_tree_kernels.cpp"
#include <hwy/foreach_target.h> // must come before highway.h

#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>

#include <hwy/highway.h>

#include "cpu/block_tree_kernels.hpp"
#include "cpu/gather-inl.hpp"
#include <lacuna/format/block_tree_nodes.hpp>

#ifndef LACUNA_BLOCK_TREE_KERNELS_ONCE
#define LACUNA_BLOCK_TREE_KERNELS_ONCE
namespace lacuna::detail::cpu {
using leaf_kernel_table = std::tuple<leaf_kernels<float>, leaf_kernels<double>>;
} // namespace lacuna::detail::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace lacuna::detail::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Bytes that are asked for ahead of their use: leaves of a task follow one another by rows.
constexpr std::int64_t ahead = 2048;

template <class T> using leaf_tag = hn::CappedTag<T, 32 / sizeof(T)>;

/// The sum of a run's products, eight or more.
template <class T, class C>
HWY_INLINE T run_sum(const T* values, const C* columns, std::int64_t count, const T* x) {
  const auto pick_x = [&](auto tag, std::int64_t k) HWY_ATTR {
    const std::int64_t last = static_cast<std::int64_t>(hn::Lanes(tag)) - 1;
    if (columns[k + last] - columns[k] == last) return hn::LoadU(tag, x + columns[k]);
    return pick(tag, x, columns + k);
  };
  const leaf_tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = (count - 1) & -lanes; // one lane at least is left
  auto sum = hn::Zero(d), other = hn::Zero(d);
  std::int64_t k = 0;
  for (; k + 2 * lanes <= whole; k += 2 * lanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(values + k) + ahead);
    sum = hn::MulAdd(hn::LoadU(d, values + k), pick_x(d, k), sum);
    other = hn::MulAdd(hn::LoadU(d, values + k + lanes), pick_x(d, k + lanes), other);
  }
  sum = hn::Add(sum, other);
  for (; k < whole; k += lanes) sum = hn::MulAdd(hn::LoadU(d, values + k), pick_x(d, k), sum);
  // The last vector ends where the run does: lanes that were added before are left out.
  const auto added = hn::FirstN(d, static_cast<std::size_t>(whole + lanes - count));
  k = count - lanes;
  const auto last = hn::Mul(hn::LoadU(d, values + k), pick_x(d, k));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, hn::IfThenZeroElse(added, last))));
}

/// sums += factor times a run of eight or more. Where its columns follow one another, as they do in
/// blocks, without looking at each.
template <class T, class C>
HWY_INLINE void add_run(const T* values, const C* columns, std::int64_t count, T factor, T* sums) {
  const leaf_tag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  std::int64_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(values + k) + ahead);
    T* const to = sums + columns[k];
    if (columns[k + lanes - 1] - columns[k] == lanes - 1)
      hn::StoreU(hn::MulAdd(hn::LoadU(d, values + k), f, hn::LoadU(d, to)), d, to);
    else
      for (std::int64_t i = 0; i < lanes; ++i) sums[columns[k + i]] += values[k + i] * factor;
  }
  for (; k < count; ++k) sums[columns[k]] += values[k] * factor;
}

/// Entries of a list. Where four in a row go down a diagonal, as stencils' do far from it, their
/// parts of x and of the sums lie side by side.
template <bool transposed, class T, class C>
HWY_INLINE void multiply_coo(const leaf_lists<const T, C>& l, const T* x, T* sums) {
  const C* const at = l.first;
  const T* const values = l.values;
  const auto add = [&](std::int64_t k) HWY_ATTR {
    const std::int64_t row = at[2 * k], col = at[2 * k + 1];
    if constexpr (transposed)
      sums[col] += values[k] * x[row];
    else
      sums[row] += values[k] * x[col];
  };
  std::int64_t k = 0;
  if constexpr (sizeof(C) == 1) {
    const hn::CappedTag<T, 4> d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; k + 4 <= l.entries; k += 4) {
      std::uint64_t places;
      std::memcpy(&places, at + 2 * k, 8);
      // Bytes are row, column, row + 1, column + 1, …
      const std::uint64_t diagonal =
          (places & 0xFFFF) * 0x0001'0001'0001'0001 + 0x0303'0202'0101'0000;
      if (std::endian::native == std::endian::little && places == diagonal) {
        const std::int64_t row = at[2 * k], col = at[2 * k + 1];
        const T* const from = x + (transposed ? row : col);
        T* const to = sums + (transposed ? col : row);
        for (std::int64_t i = 0; i < 4; i += lanes)
          hn::StoreU(hn::MulAdd(hn::LoadU(d, values + k + i), hn::LoadU(d, from + i),
                                hn::LoadU(d, to + i)),
                     d, to + i);
      } else {
        add(k);
        add(k + 1);
        add(k + 2);
        add(k + 3);
      }
    }
  }
  for (; k < l.entries; ++k) add(k);
}

/// Four runs of `count` entries each that make a band: rows follow one another, and so do the
/// columns of each, which begin one further from row to row. What they add to sums is formed in
/// registers: transposed, an element of the sums would else wait three times for the row before.
/// False: they are none, and nothing is done.
template <int count, bool transposed, class T, class C>
HWY_INLINE bool multiply_band(const leaf_lists<const T, C>& l, std::int64_t run, const T* values,
                              const C* columns, const T* x, T* sums) {
  const C *const rows = l.first + run, *const lengths = l.lengths + run;
  if (run + 4 > l.runs || rows[3] - rows[0] != 3) return false;
  const std::int64_t col = columns[0];
  for (int i = 0; i < 4; ++i)
    if (lengths[i] != count - 1 || columns[i * count] != col + i ||
        columns[i * count + count - 1] != col + i + count - 1)
      return false;
  constexpr int width = count + 3;
  const T* const from = x + (transposed ? rows[0] : col);
  T* const to = sums + (transposed ? col : rows[0]);
  T added[width] = {};
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < count; ++k)
      if constexpr (transposed)
        added[i + k] += values[i * count + k] * from[i];
      else
        added[i] += values[i * count + k] * from[i + k];
  for (int i = 0; i < (transposed ? width : 4); ++i) to[i] += added[i];
  return true;
}

/// Runs of `count` entries each, from `run` on, as long as they are that many: neither loop nor
/// branch depends on lengths that nothing predicts. Returns the first run of another length.
template <int count, bool transposed, class T, class C>
HWY_INLINE std::int64_t equal_runs(const leaf_lists<const T, C>& l, std::int64_t run,
                                   const T*& values, const C*& columns, const T* x, T* sums) {
  const C *const first = l.first, *const lengths = l.lengths;
  const std::int64_t runs = l.runs;
  do {
    __builtin_prefetch(reinterpret_cast<const char*>(values) + ahead);
    if (count > 1 && multiply_band<count, transposed>(l, run, values, columns, x, sums)) {
      values += 4 * count;
      columns += 4 * count;
      run += 4;
      continue;
    }
    const std::int64_t row = first[run];
    if constexpr (transposed) {
      const T factor = x[row];
      for (int k = 0; k < count; ++k) sums[columns[k]] += values[k] * factor;
    } else {
      T sum = values[0] * x[columns[0]];
      for (int k = 1; k < count; ++k) sum += values[k] * x[columns[k]];
      sums[row] += sum;
    }
    values += count;
    columns += count;
    ++run;
  } while (run < runs && lengths[run] == count - 1);
  return run;
}

template <bool transposed, class T, class C>
HWY_INLINE void multiply_lists(const unsigned char* leaf, const leaf_work<T>& w) {
  const auto l = lists_of<C, const T>(leaf, w.node);
  const T *values = l.values, *const x = w.x;
  T* const sums = w.sums;
  if (is_coo(type_of(w.node))) return multiply_coo<transposed>(l, x, sums);
  const C* columns = l.columns;
  for (std::int64_t run = 0; run < l.runs;) {
    const std::int64_t count = std::int64_t{l.lengths[run]} + 1;
    switch (count) {
    case 1: run = equal_runs<1, transposed>(l, run, values, columns, x, sums); continue;
    case 2: run = equal_runs<2, transposed>(l, run, values, columns, x, sums); continue;
    case 3: run = equal_runs<3, transposed>(l, run, values, columns, x, sums); continue;
    case 4: run = equal_runs<4, transposed>(l, run, values, columns, x, sums); continue;
    case 5: run = equal_runs<5, transposed>(l, run, values, columns, x, sums); continue;
    case 6: run = equal_runs<6, transposed>(l, run, values, columns, x, sums); continue;
    case 7: run = equal_runs<7, transposed>(l, run, values, columns, x, sums); continue;
    default: break;
    }
    const std::int64_t row = l.first[run++];
    if constexpr (transposed)
      add_run(values, columns, count, x[row], sums);
    else
      sums[row] += run_sum(values, columns, count, x);
    values += count;
    columns += count;
  }
}

/// A row of a dense leaf times x.
template <class T> HWY_INLINE T dense_row(const T* values, std::int64_t cols, const T* x) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d), other = hn::Zero(d);
  std::int64_t k = 0;
  for (; k + 2 * lanes <= cols; k += 2 * lanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(values + k) + ahead);
    sum = hn::MulAdd(hn::LoadU(d, values + k), hn::LoadU(d, x + k), sum);
    other = hn::MulAdd(hn::LoadU(d, values + k + lanes), hn::LoadU(d, x + k + lanes), other);
  }
  T result = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
  for (; k < cols; ++k) result += values[k] * x[k];
  return result;
}
/// sums += factor times a row of a dense leaf.
template <class T>
HWY_INLINE void add_dense_row(const T* values, std::int64_t cols, T factor, T* sums) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  std::int64_t k = 0;
  for (; k + lanes <= cols; k += lanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(values + k) + ahead);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, values + k), f, hn::LoadU(d, sums + k)), d, sums + k);
  }
  for (; k < cols; ++k) sums[k] += values[k] * factor;
}

/// A masked leaf has 0 where it has no entry, which shows only where x is not finite: such rows are
/// gone through again, entry by entry.
template <bool transposed, class T>
HWY_INLINE void multiply_dense(const unsigned char* leaf, const leaf_work<T>& w) {
  const T* values = reinterpret_cast<const T*>(leaf);
  const bool masked = type_of(w.node) == tree_node::masked;
  const unsigned char* const mask = leaf + w.rows * w.cols * static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t row = 0; row < w.rows; ++row, values += w.cols) {
    if constexpr (transposed) {
      const T factor = w.x[row];
      if (!masked || factor - factor == T{0}) {
        add_dense_row(values, w.cols, factor, w.sums);
        continue;
      }
      for (std::int64_t k = 0; k < w.cols; ++k)
        if (has_place(mask, row * w.cols + k)) w.sums[k] += values[k] * factor;
    } else {
      T sum = dense_row(values, w.cols, w.x);
      if (masked && !(sum - sum == T{0})) {
        sum = 0;
        for (std::int64_t k = 0; k < w.cols; ++k)
          if (has_place(mask, row * w.cols + k)) sum += values[k] * w.x[k];
      }
      w.sums[row] += sum;
    }
  }
}

template <bool transposed, class T>
void multiply_leaves(const unsigned char* pool, const leaf_work<T>* work, int count) {
  for (int i = 0; i < count; ++i) {
    const unsigned char* const leaf = pool + place_of(work[i].node);
    if (i + 2 < count) { // leaves by columns follow one another nowhere
      const unsigned char* const next = pool + place_of(work[i + 2].node);
      __builtin_prefetch(next);
      __builtin_prefetch(next + 64);
      __builtin_prefetch(next + 128);
    }
    switch (type_of(work[i].node)) {
    case tree_node::dense:
    case tree_node::masked: multiply_dense<transposed>(leaf, work[i]); break;
    case tree_node::coo_16:
    case tree_node::rows_16: multiply_lists<transposed, T, std::uint16_t>(leaf, work[i]); break;
    case tree_node::coo_32:
    case tree_node::rows_32: multiply_lists<transposed, T, std::uint32_t>(leaf, work[i]); break;
    default: multiply_lists<transposed, T, std::uint8_t>(leaf, work[i]); break;
    }
  }
}

leaf_kernel_table make_leaf_table() {
  return {{multiply_leaves<false, float>, multiply_leaves<true, float>},
          {multiply_leaves<false, double>, multiply_leaves<true, double>}};
}

} // namespace
} // namespace lacuna::detail::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lacuna::detail::cpu {
HWY_EXPORT(make_leaf_table);

template <class T> const leaf_kernels<T>& best_leaf_kernels() {
  static const leaf_kernel_table table = HWY_DYNAMIC_DISPATCH(make_leaf_table)();
  return std::get<leaf_kernels<T>>(table);
}
template const leaf_kernels<float>& best_leaf_kernels<float>();
template const leaf_kernels<double>& best_leaf_kernels<double>();

} // namespace lacuna::detail::cpu
#endif
