// C = rule(A, B) element by element: count the entries that C can have, fill, and where zeros were
// dropped move the rest together. Parts are cut, and rows merged, as those of a sum (add_csr.cpp).
//
// Bytes: the columns of A and B twice, all else once; C once more if zeros were dropped.
#include <lacuna/op/combine.hpp>

#include <atomic>
#include <bit>
#include <limits>

#include "cpu/build_rows.hpp"
#include "cpu/match_parts.hpp"
#include "cpu/merge_kernels.hpp"
#include "cpu/product_kernels.hpp"

namespace lacuna::detail::cpu {
namespace {

struct plus_rule {
  template <class T> T operator()(T x, T y) const { return x + y; }
};
struct times_rule {
  template <class T> T operator()(T x, T y) const { return x * y; }
};
/// NaN if one of them is.
struct minimum_rule {
  template <class T> T operator()(T x, T y) const { return ((y < x) | (y != y)) ? y : x; }
};
struct maximum_rule {
  template <class T> T operator()(T x, T y) const { return ((y > x) | (y != y)) ? y : x; }
};
struct not_equal_rule {
  template <class T> T operator()(T x, T y) const { return x != y ? T{1} : T{0}; }
};
struct less_rule {
  template <class T> T operator()(T x, T y) const { return x < y ? T{1} : T{0}; }
};

/// value, or 0 if the mask is: without a branch, which nothing could predict.
template <class T> T masked(std::int64_t mask, T value) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(value) & static_cast<bits>(mask)));
}

/// Entries of a row, or some of them, that follow one another. Columns ascend.
template <class T, class I> struct row_piece {
  const I* col;
  const T* value;
  std::int64_t size;
  bool more; ///< a column may be read behind them
};

/// Writes the elements of either, but those that come out as 0, and returns their number.
template <class T, class I>
using combine_row = std::int64_t (*)(T alpha, const row_piece<T, I>& a, T beta,
                                     const row_piece<T, I>& b, I* col, T* value);

template <class Rule, class T, class I>
std::int64_t combine_either(T alpha, const row_piece<T, I>& a, T beta, const row_piece<T, I>& b,
                            I* col, T* value) {
  const Rule rule;
  std::int64_t i = 0, j = 0, at = 0;
  const auto put = [&](I column, T element) {
    col[at] = column;
    value[at] = element;
    at += element != 0 ? 1 : 0;
  };
  if (same_columns(a.col, a.size, b.col, b.size)) {
    for (; i < a.size; ++i) put(a.col[i], rule(alpha * a.value[i], beta * b.value[i]));
    return at;
  }
  const auto step = [&](I x, I y) {
    const std::int64_t from_a = -static_cast<std::int64_t>(x <= y); // all bits, or none
    const std::int64_t from_b = -static_cast<std::int64_t>(y <= x);
    put(std::min(x, y),
        rule(masked(from_a, alpha * a.value[i]), masked(from_b, beta * b.value[j])));
    i -= from_a;
    j -= from_b;
  };
  if (a.size > 0 && b.size > 0 && a.more &&
      b.more) { // loads what the next step may need before it is known
    I x = a.col[0], y = b.col[0];
    do {
      const I next_x = a.col[i + 1], next_y = b.col[j + 1], this_x = x, this_y = y;
      x = this_x <= this_y ? next_x : x;
      y = this_y <= this_x ? next_y : y;
      step(this_x, this_y);
    } while (i < a.size && j < b.size);
  }
  while (i < a.size && j < b.size) step(a.col[i], b.col[j]);
  for (; i < a.size; ++i) put(a.col[i], rule(alpha * a.value[i], T{0}));
  for (; j < b.size; ++j) put(b.col[j], rule(T{0}, beta * b.value[j]));
  return at;
}

template <class T, class I> combine_row<T, I> row_loop(element_rule rule) {
  if (rule == element_rule::times) return combine_either<times_rule, T, I>;
  if (rule == element_rule::minimum) return combine_either<minimum_rule, T, I>;
  if (rule == element_rule::maximum) return combine_either<maximum_rule, T, I>;
  if (rule == element_rule::not_equal) return combine_either<not_equal_rule, T, I>;
  if (rule == element_rule::less) return combine_either<less_rule, T, I>;
  return combine_either<plus_rule, T, I>;
}

/// Whether alpha times each of them is finite.
template <class T> bool are_finite(const host_context& ctx, T alpha, vector_view<const T> values) {
  std::atomic<bool> result{true};
  for_each_range(ctx, values.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    bool finite = true;
    for (std::int64_t k = begin; k < end; ++k)
      finite &= std::abs(alpha * values[k]) <= std::numeric_limits<T>::max();
    if (!finite) result.store(false, std::memory_order_relaxed);
  });
  return result.load();
}

merge_rule merge_rule_of(element_rule rule) {
  if (rule == element_rule::minimum) return merge_rule::minimum;
  if (rule == element_rule::maximum) return merge_rule::maximum;
  if (rule == element_rule::not_equal) return merge_rule::not_equal;
  if (rule == element_rule::less) return merge_rule::less;
  return merge_rule::plus;
}

/// The rows between two cuts, from place `at` on, where entries up to `limit` are this part's;
/// returns where they end.
template <class T, class I, class O>
std::int64_t combine_part(element_rule rule, T alpha, csr_view<const T, I, O> a, T beta,
                          csr_view<const T, I, O> b, const pattern_pair<I, O>& pair, path_cut from,
                          path_cut to, std::int64_t at, std::int64_t limit, O* rowptr, I* col,
                          T* value) {
  const auto loop = row_loop<T, I>(rule);
  const T *const a_value = a.values().data(), *const b_value = b.values().data();
  const auto fill = [&](std::int64_t row, std::int64_t i, std::int64_t i_end, std::int64_t j,
                        std::int64_t j_end, bool ends) {
    at += loop(alpha, {pair.a_col + i, a_value + i, i_end - i, i_end < a.size()}, beta,
               {pair.b_col + j, b_value + j, j_end - j, j_end < b.size()}, col + at, value + at);
    if (ends) rowptr[row + 1] = static_cast<O>(at);
  };
  from = pair.finish_row(from, to, fill);
  if (rule != element_rule::times) { // 0 times infinity is no case for vectors
    const std::int64_t next = merge_rows<T, I, O>(
        merge_rule_of(rule), {alpha, pair.a_rowptr, pair.a_col, a_value, a.size()},
        {beta, pair.b_rowptr, pair.b_col, b_value, b.size()}, from.row, to.row, at, limit, col,
        value, [=](std::int64_t row, std::int64_t end) { rowptr[row + 1] = static_cast<O>(end); });
    if (next > from.row) from = pair.begin_of(next);
  }
  pair.for_each_row(from, to, fill);
  return at;
}

/// The same for products of what both have: the rest of a row, whole rows, the beginning of one.
template <class T, class I, class O>
std::int64_t multiply_part(const factor<T, I, O>& a, const factor<T, I, O>& b, path_cut from,
                           path_cut to, bool keep_zeros, std::int64_t at, O* rowptr, I* col,
                           T* value) {
  const auto& kernels = best_product_kernels<T, I, O>();
  const auto in_row = [&](std::int64_t i, std::int64_t i_end, std::int64_t j, std::int64_t j_end) {
    at += kernels.piece(a, i, i_end, b, j, j_end, keep_zeros, col + at, value + at);
  };
  if (from.row == to.row) {
    in_row(from.a, to.a, from.b, to.b);
    return at;
  }
  const std::int64_t next = from.row + 1;
  in_row(from.a, a.rowptr[next], from.b, b.rowptr[next]);
  rowptr[next] = static_cast<O>(at);
  at = kernels.rows(a, b, next, to.row, keep_zeros, at, rowptr, col, value);
  if (to.a > a.rowptr[to.row] && to.b > b.rowptr[to.row])
    in_row(a.rowptr[to.row], to.a, b.rowptr[to.row], to.b);
  return at;
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> combine_csr(const host_context& ctx, element_rule rule, T alpha,
                         csr_view<const T, I, O> a, T beta, csr_view<const T, I, O> b) {
  if (rule == element_rule::greater)
    return combine_csr<T, I, O>(ctx, element_rule::less, beta, b, alpha, a);
  if (rule == element_rule::minus) beta = -beta;
  const bool of_both = rule == element_rule::stored_times ||
                       (rule == element_rule::times && are_finite<T>(ctx, alpha, a.values()) &&
                        are_finite<T>(ctx, beta, b.values()));
  const pattern_pair<I, O> pair(a, b);
  const int threads = part_count(ctx, pair.rows == 0 ? 0 : pair.before(pair.rows), entry_grain);
  const int parts = threads == 1 ? 1 : threads * parts_per_thread;

  array<std::int64_t> first(ctx, std::int64_t{parts} + 1); // of each part, if nothing is dropped
  array<std::int64_t> filled(ctx, std::int64_t{parts} + 1);
  first[0] = 0;
  for_each_dynamic(threads, parts, [&](int part) {
    const path_cut from = pair.cut(part, parts), to = pair.cut(part + 1, parts);
    const std::int64_t matches = count_matches(pair, from, to);
    first[part + 1] = of_both ? matches : (to.a - from.a) + (to.b - from.b) - matches;
  });
  for (int part = 0; part < parts; ++part) first[part + 1] += first[part];
  csr<T, I, O> c(ctx, a.shape(), checked_cast<O>(first[parts], "the number of entries"),
                 {true, true});
  O* const rowptr = c.rowptr().data();
  I* const col = c.colind().data();
  T* const value = c.values().data();
  rowptr[0] = 0;
  filled[0] = 0;
  for_each_dynamic(threads, parts, [&](int part) {
    const path_cut from = pair.cut(part, parts), to = pair.cut(part + 1, parts);
    const std::int64_t end =
        of_both ? multiply_part<T, I, O>(
                      {alpha, pair.a_rowptr, pair.a_col, a.values().data(), a.size()},
                      {beta, pair.b_rowptr, pair.b_col, b.values().data(), b.size()}, from, to,
                      rule == element_rule::stored_times, first[part], rowptr, col, value)
                : combine_part(rule, alpha, a, beta, b, pair, from, to, first[part],
                               first[part + 1], rowptr, col, value);
    filled[part + 1] = end - first[part];
  });
  for (int part = 0; part < parts; ++part) filled[part + 1] += filled[part];
  if (filled[parts] == first[parts]) return c;

  array<I> colind(ctx, filled[parts]);
  array<T> values(ctx, filled[parts]);
  for_each_dynamic(threads, parts, [&](int part) {
    const std::int64_t from = first[part], size = filled[part + 1] - filled[part];
    std::copy_n(c.colind().data() + from, size, colind.data() + filled[part]);
    std::copy_n(c.values().data() + from, size, values.data() + filled[part]);
    const std::int64_t end = pair.cut(part + 1, parts).row; // rows that end in this part
    for (std::int64_t row = pair.cut(part, parts).row; row < end; ++row)
      rowptr[row + 1] = static_cast<O>(rowptr[row + 1] - (from - filled[part]));
  });
  auto [kept_rowptr, all_columns, all_values] = std::move(c).release();
  return {a.shape(), std::move(kept_rowptr), std::move(colind), std::move(values), {true, true}};
}

template <class T, class I, class O>
csr<T, I, O> complement_csr(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const O* const rowptr = a.rowptr().data();
  const I* const col = a.colind().data();
  // Before 32-bit counts wrap: their sum over the rows is known.
  (void)checked_cast<O>(checked_mul(rows, cols) - a.size(), "the number of entries");
  const int parts = part_count(ctx, rows * std::max<std::int64_t>(cols, 1), entry_grain);
  return build_rows<T, I, O>(
      ctx, a.shape(), {true, true}, parts, [=](int part) { return part_begin(rows, part, parts); },
      [=](std::int64_t i) { return cols - (rowptr[i + 1] - rowptr[i]); },
      [=](std::int64_t i, I* to_col, T* to_value) {
        I next = 0;
        for (std::int64_t k = rowptr[i]; k <= rowptr[i + 1]; ++k) {
          const I stop = k < rowptr[i + 1] ? col[k] : static_cast<I>(cols);
          for (; next < stop; ++next) {
            *to_col++ = next;
            *to_value++ = T{1};
          }
          ++next;
        }
      });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> combine_csr(const host_context&, element_rule, T, csr_view<const T, I, O>, \
                                    T, csr_view<const T, I, O>);                                   \
  template csr<T, I, O> complement_csr(const host_context&, csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
