// Rows of C = alpha A B by expansion (King et al. 2016): all products of a row, sorted by
// column and summed. Equal columns stay in the order of A's row, so a row has the bits that
// spgemm_rows.cpp gives it. B's rows may have any order, and duplicates.
#include <algorithm>
#include <type_traits>

#include "cpu/spgemm_worker.hpp"

namespace lacuna::detail::cpu {
namespace {

/// A row with more products than the buffers hold is summed whenever they are full; sums come
/// before the products that follow.
template <class T, class I, class O> class sorting_worker final : public spgemm_worker<T, I, O> {
public:
  sorting_worker(const host_context& ctx, const spgemm_sizes& sizes)
      : keys_(ctx, sizes.sorted), products_(ctx, sizes.sorted), sums_(ctx, sizes.sorted) {}
  void ready() override {}

  void make(const spgemm_factors<T, I, O>& f, const spgemm_unit& u, spgemm_output what,
            row_sink<T, I>& out) override {
    for (std::int64_t i = u.first; i < u.last; ++i) {
      if (u.cut)
        row<true>(f, i, u.columns, what, out);
      else
        row<false>(f, i, {}, what, out);
    }
  }

private:
  struct key {
    I column;
    std::make_unsigned_t<I> at; ///< no two are equal, so any sort is stable
    friend bool operator<(const key& x, const key& y) {
      return x.column < y.column || (x.column == y.column && x.at < y.at);
    }
  };

  template <bool cut>
  void row(const spgemm_factors<T, I, O>& f, std::int64_t i, column_range range, spgemm_output what,
           row_sink<T, I>& out) {
    const bool values = what == spgemm_output::values;
    std::int64_t count = 0;
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const auto [first, last] = f.template entries<cut>(k, range.begin, range.end);
      const T s = values ? f.alpha * f.a_value[k] : T{1};
      for (std::int64_t l = first; l < last; ++l) {
        if (count == keys_.size()) count = sum(count);
        keys_[count] = {f.b_col[l], static_cast<std::make_unsigned_t<I>>(count)};
        products_[count] = values ? s * f.b_value[l] : T{1};
        ++count;
      }
    }
    count = sum(count);
    const row_place<T, I> to = out(i, count);
    if (what == spgemm_output::count) return;
    for (std::int64_t n = 0; n < count; ++n) {
      to.col[n] = keys_[n].column;
      to.value[n] = values ? products_[n] : T{1};
    }
  }

  /// One product for each column that there is, in order; returns how many.
  std::int64_t sum(std::int64_t count) {
    std::sort(keys_.begin(), keys_.begin() + count);
    std::int64_t sums = 0;
    for (std::int64_t n = 0; n < count; ++sums) {
      const I column = keys_[n].column;
      T total = products_[keys_[n].at];
      for (++n; n < count && keys_[n].column == column; ++n) total += products_[keys_[n].at];
      keys_[sums] = {column, static_cast<std::make_unsigned_t<I>>(sums)};
      sums_[sums] = total;
    }
    products_.swap(sums_);
    return sums;
  }

  array<key> keys_;
  array<T> products_, sums_;
};

} // namespace

template <class T, class I, class O>
std::unique_ptr<spgemm_worker<T, I, O>> make_sorter(const host_context& ctx,
                                                    const spgemm_sizes& sizes) {
  return std::make_unique<sorting_worker<T, I, O>>(ctx, sizes);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template std::unique_ptr<spgemm_worker<T, I, O>> make_sorter(const host_context&,                \
                                                               const spgemm_sizes&);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
