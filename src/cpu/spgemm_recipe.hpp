// Internal: a row of C that repeats the one before it, moved along the diagonal, as rows of
// stencils and bands do. Where each product goes is kept and used again; each row is compared in
// full while its products are summed, so nothing is assumed.
#pragma once

#include "cpu/spgemm_sink.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O> class spgemm_recipe {
public:
  spgemm_recipe() = default;
  explicit spgemm_recipe(const host_context& ctx, std::int64_t window)
      : place_of_(ctx, window), column_(ctx, most_products), result_(ctx, most_products),
        place_(ctx, most_products), sum_(ctx, most_products) {}

  /// Whether row i + 1 of A, of rows up to `last`, looks like row i moved by one. Rows that looked
  /// so in vain make it reluctant.
  bool promises(const spgemm_factors<T, I, O>& f, std::int64_t i, std::int64_t last) {
    if (wait_ > 0) {
      --wait_;
      return false;
    }
    const std::int64_t first = f.a_rowptr[i], next = f.a_rowptr[i + 1];
    if (i + 1 >= last || next - first < 3 || f.a_rowptr[i + 2] - next != next - first) return false;
    for (std::int64_t k = first, l = next; k < next; ++k, ++l)
      if (f.a_col[l] - f.a_col[k] != 1) return false;
    return true;
  }

  /// Keeps row i, which has these columns, of `products` products from column `low` to `high`.
  void keep(const spgemm_factors<T, I, O>& f, std::int64_t i, std::int64_t products,
            std::int64_t low, std::int64_t high, const I* col, std::int64_t count) {
    forget();
    if (products > most_products || high - low >= place_of_.size()) return;
    for (std::int64_t n = 0; n < count; ++n) {
      result_[n] = static_cast<I>(col[n] - i);
      place_of_[col[n] - low] = static_cast<std::uint16_t>(n);
    }
    std::int64_t at = 0;
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k)
      for (std::int64_t l = f.b_rowptr[f.a_col[k]]; l < f.b_rowptr[f.a_col[k] + 1]; ++l, ++at) {
        column_[at] = static_cast<I>(f.b_col[l] - i);
        place_[at] = place_of_[f.b_col[l] - low];
      }
    products_ = products;
    count_ = count;
    used_ = false;
  }

  /// Makes row i if it is the kept one, moved. False if it is not; the recipe is gone then.
  template <spgemm_output M>
  bool repeat(const spgemm_factors<T, I, O>& f, std::int64_t i, row_sink<T, I>& out) {
    if (products_ == 0) return false;
    if (!add<M>(f, i)) {
      forget();
      return false;
    }
    const row_place<T, I> to = out(i, count_);
    for (std::int64_t n = 0; n < count_; ++n) to.col[n] = static_cast<I>(result_[n] + i);
    for (std::int64_t n = 0; n < count_; ++n)
      to.value[n] = M == spgemm_output::values ? sum_[n] : T{1};
    used_ = true;
    patience_ = 1;
    return true;
  }

  void forget() {
    if (products_ != 0 && !used_) {
      wait_ = patience_;
      patience_ = std::min(2 * patience_, 1024);
    }
    products_ = 0;
  }

private:
  static constexpr std::int64_t most_products = 2048;

  template <spgemm_output M> bool add(const spgemm_factors<T, I, O>& f, std::int64_t i) {
    const I *column = column_.data(), row = static_cast<I>(i);
    const std::uint16_t* place = place_.data();
    const I* const end = column + products_;
    T* const sum = sum_.data();
    std::fill_n(sum, count_, T{-0.0});
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const std::int64_t first = f.b_rowptr[f.a_col[k]];
      const std::int64_t count = f.b_rowptr[f.a_col[k] + 1] - first;
      if (count > end - column) return false;
      const I* const col = f.b_col + first;
      I other = 0;
      for (std::int64_t l = 0; l < count; ++l) other |= (col[l] - row) ^ column[l];
      if (other != 0) return false;
      if constexpr (M == spgemm_output::values) {
        const T s = f.alpha * f.a_value[k];
        const T* const value = f.b_value + first;
        for (std::int64_t l = 0; l < count; ++l) sum[place[l]] += s * value[l];
      }
      column += count;
      place += count;
    }
    return column == end;
  }

  array<std::uint16_t> place_of_; ///< of a column, from the lowest on; read only where written
  array<I> column_, result_;      ///< of the products and of the row, less the row's number
  array<std::uint16_t> place_;    ///< of each product in the row
  array<T> sum_;
  std::int64_t products_ = 0, count_ = 0;
  bool used_ = false;
  int wait_ = 0, patience_ = 1; ///< rows
};

} // namespace lacuna::detail::cpu
