// Internal: rows of C = alpha A B by expansion (King et al. 2016): all products of a row, sorted by
// column and summed. Equal columns stay in the order of A's row, so a row has the bits that
// spgemm_worker gives it. B's rows may have any order, and duplicates.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cpu/spgemm_rows.hpp"

namespace lacuna::detail::cpu {

/// A thread's buffers, used as spgemm_worker is. A row with more products than they hold is summed
/// whenever they are full; sums come before the products that follow.
template <class T, class I, class O> class sorting_worker {
public:
  static constexpr bool reads_bounds = false;
  static std::size_t bytes(const spgemm_sizes& sizes) {
    return static_cast<std::size_t>(sizes.sorted) * (sizeof(key) + 2 * sizeof(T));
  }
  /// Throws out_of_memory.
  sorting_worker(const host_context& ctx, const spgemm_sizes& sizes)
      : keys_(ctx, sizes.sorted), products_(ctx, sizes.sorted), sums_(ctx, sizes.sorted) {}
  void ready() {}

  template <spgemm_output M, class Out>
  void rows(const spgemm_factors<T, I, O>& f, std::int64_t first, std::int64_t last, Out&& out) {
    for (std::int64_t i = first; i < last; ++i) row<M, false>(f, i, {}, out);
  }
  template <spgemm_output M, class Out>
  void row_share(const spgemm_factors<T, I, O>& f, std::int64_t i, column_range range, Out&& out) {
    row<M, true>(f, i, range, out);
  }

private:
  struct key {
    I column;
    std::make_unsigned_t<I> at; ///< no two are equal, so any sort is stable
    friend bool operator<(const key& x, const key& y) {
      return x.column < y.column || (x.column == y.column && x.at < y.at);
    }
  };

  template <spgemm_output M, bool cut, class Out>
  void row(const spgemm_factors<T, I, O>& f, std::int64_t i, column_range range, Out& out) {
    std::int64_t count = 0;
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
      const T s = M == spgemm_output::values ? f.alpha * f.a_value[k] : T{1};
      for (std::int64_t l = first; l < last; ++l) {
        if (count == keys_.size()) count = sum<M>(count);
        keys_[count] = {f.b_col[l], static_cast<std::make_unsigned_t<I>>(count)};
        if constexpr (M == spgemm_output::values) products_[count] = s * f.b_value[l];
        ++count;
      }
    }
    count = sum<M>(count);
    const row_place<T, I> to = out(i, count);
    if constexpr (M == spgemm_output::count) return;
    for (std::int64_t n = 0; n < count; ++n) {
      to.col[n] = keys_[n].column;
      to.value[n] = M == spgemm_output::values ? products_[n] : T{1};
    }
  }

  /// One product for each column that there is, in order; returns how many.
  template <spgemm_output M> std::int64_t sum(std::int64_t count) {
    std::sort(keys_.begin(), keys_.begin() + count);
    std::int64_t sums = 0;
    for (std::int64_t n = 0; n < count; ++sums) {
      const I column = keys_[n].column;
      T total = M == spgemm_output::values ? products_[keys_[n].at] : T{1};
      for (++n; n < count && keys_[n].column == column; ++n)
        if constexpr (M == spgemm_output::values) total += products_[keys_[n].at];
      keys_[sums] = {column, static_cast<std::make_unsigned_t<I>>(sums)};
      sums_[sums] = total;
    }
    products_.swap(sums_);
    return sums;
  }

  array<key> keys_;
  array<T> products_, sums_;
};

} // namespace lacuna::detail::cpu
