// Values of C = alpha A B where C's pattern is there: a dense window of sums over each row's span,
// with a mark for each entry of C, or a search where the span is longer than that.
#include <fmt/format.h>

#include "core/kernel_offsets.hpp"
#include "cpu/spgemm_worker.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class T, class I, class O> class refiller {
public:
  refiller(const host_context& ctx, const spgemm_sizes& sizes)
      : sum_(ctx, sizes.window), marks_(ctx, sizes.window) {}
  void ready() {
    std::fill(sum_.begin(), sum_.end(), T{-0.0});
    std::fill(marks_.begin(), marks_.end(), std::uint8_t{0});
  }
  /// Values of C's row, whose columns are there; false if a product has no place.
  bool refill_row(const spgemm_factors<T, I, O>& f, std::int64_t i, column_range range,
                  const I* c_first, const I* c_last, T* value);

private:
  array<T> sum_; ///< -0 but for the row in work
  array<std::uint8_t> marks_;
};

template <class T, class I, class O>
bool refiller<T, I, O>::refill_row(const spgemm_factors<T, I, O>& f, std::int64_t i,
                                   column_range range, const I* c_first, const I* c_last,
                                   T* value) {
  const bool cut = range.begin > 0 || range.end < f.cols;
  const auto entries_of = [&](std::int64_t k) {
    return cut ? f.template entries<true>(k, range.begin, range.end)
               : f.template entries<false>(k, range.begin, range.end);
  };
  const std::int64_t count = c_last - c_first;
  const std::int64_t base = count > 0 ? *c_first : 0;
  const std::int64_t width = count > 0 ? c_last[-1] - base + 1 : 0;
  if (count > 0 && width <= 0) return false; // not a sorted row: never filled
  bool inside = true;
  if (width <= sum_.size()) {
    T* const sum = sum_.data();
    std::uint8_t* const marks = marks_.data();
    for (std::int64_t n = 0; n < count; ++n) {
      const auto at = static_cast<std::uint64_t>(c_first[n] - base);
      if (at >= static_cast<std::uint64_t>(width)) {
        while (n-- > 0) marks[c_first[n] - base] = 0;
        return false;
      }
      marks[at] = 1;
    }
    for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
      const auto [first, last] = entries_of(k);
      const T s = f.alpha * f.a_value[k];
      for (std::int64_t l = first; l < last; ++l) {
        const auto at = static_cast<std::uint64_t>(f.b_col[l] - base);
        if (at >= static_cast<std::uint64_t>(width) || marks[at] == 0) {
          inside = false;
          continue;
        }
        sum[at] += s * f.b_value[l];
      }
    }
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t at = c_first[n] - base;
      value[n] = std::exchange(sum[at], T{-0.0});
      marks[at] = 0;
    }
    return inside;
  }
  for (std::int64_t n = 0; n < count; ++n) value[n] = T{-0.0};
  for (std::int64_t k = f.a_rowptr[i]; k < f.a_rowptr[i + 1]; ++k) {
    const auto [first, last] = entries_of(k);
    const T s = f.alpha * f.a_value[k];
    for (std::int64_t l = first; l < last; ++l) {
      const I* const at = std::lower_bound(c_first, c_last, f.b_col[l]);
      if (at == c_last || *at != f.b_col[l])
        inside = false;
      else
        value[at - c_first] += s * f.b_value[l];
    }
  }
  return inside;
}

/// Throws bad_input if a product falls outside of C.
template <class T, class I, class O>
void refill(const host_context& ctx, T alpha, csr_view<const T, I, O> a, csr_view<const T, I, O> b,
            offset_pointer rowptr, const I* col, T* value, std::int64_t entries) {
  const spgemm_factors<T, I, O> f(alpha, a, b);
  const auto schedule = schedule_spgemm(ctx, f, true);
  if (f.rows == 0 || entries == 0) {
    if (schedule.estimate.products != 0)
      throw bad_input("multiply: C has no entries, A B has; it was made for other matrices");
    return;
  }
  using worker = refiller<T, I, O>;
  spgemm_workers<worker> workers(ctx, schedule,
                                 [](const host_context& its, const spgemm_sizes& sizes) {
                                   return std::make_unique<worker>(its, sizes);
                                 });
  const auto all = [](const spgemm_unit&) { return true; };
  workers.for_each_unit(all, [&](worker& its, int, std::int64_t number) {
    const spgemm_unit& u = schedule.units[number];
    for (std::int64_t i = u.first; i < u.last; ++i) {
      const I *first = col + rowptr[i], *last = col + rowptr[i + 1];
      if (u.cut) {
        first = std::lower_bound(first, last, u.columns.begin);
        last = std::lower_bound(first, last, u.columns.end);
      }
      if (!its.refill_row(f, i, u.columns, first, last, value + (first - col)))
        throw bad_input(fmt::format(
            "multiply: row {} of A B has an entry where C, made for other matrices, has none", i));
    }
  });
}

} // namespace

template <class T, class I, class O, class OC>
void refill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                   csr_view<const T, I, O> b, csr_view<T, I, OC> c) {
  const with_kernel_offsets<T, I, O, space::host> left(ctx, a), right(ctx, b);
  refill(ctx, alpha, left.view(), right.view(), c.rowptr().data(), c.colind().data(),
         c.values().data(), c.size());
}

#define LACUNA_INSTANTIATE_WIDTHS(T, I, O, OC)                                                     \
  template void refill_spgemm(const host_context&, T, csr_view<const T, I, O>,                     \
                              csr_view<const T, I, O>, csr_view<T, I, OC>);
#define LACUNA_INSTANTIATE_WIDE(T, I) LACUNA_INSTANTIATE_WIDTHS(T, I, std::int32_t, std::int64_t)
#define LACUNA_INSTANTIATE(T, I, O) LACUNA_INSTANTIATE_WIDTHS(T, I, O, O)
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
LACUNA_FOR_EACH_NARROW_PAIR(LACUNA_INSTANTIATE_WIDE)

} // namespace lacuna::detail::cpu
