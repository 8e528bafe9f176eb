// C = rule(A, B) element by element: count the entries that C can have, fill, and where zeros were
// dropped move the rest together. Parts are cut as those of a sum (add_csr.cpp), steps of the merge
// taken without branches, as there.
//
// Bytes: the columns of A and B twice, all else once; C once more if zeros were dropped.
#include <lacuna/op/combine.hpp>

#include <atomic>
#include <bit>
#include <limits>

#include "cpu/build_rows.hpp"
#include "cpu/match_parts.hpp"

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
  template <class T> T operator()(T x, T y) const { return (y < x) | (y != y) ? y : x; }
};
struct maximum_rule {
  template <class T> T operator()(T x, T y) const { return (y > x) | (y != y) ? y : x; }
};
struct not_equal_rule {
  template <class T> T operator()(T x, T y) const { return x != y ? T{1} : T{0}; }
};
struct less_rule {
  template <class T> T operator()(T x, T y) const { return x < y ? T{1} : T{0}; }
};

/// Entries of a row, or some of them, that follow one another.
template <class T, class I> struct row_entries_of {
  const I* col;
  const T* value;
  std::int64_t size;
};

/// value, or 0 if the mask is: without a branch, which nothing could predict.
template <class T> T masked(std::int64_t mask, T value) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(value) & static_cast<bits>(mask)));
}

/// Writes one row, or a part of it, and returns the number of entries; no more than `room` are
/// touched. `more`: a column may be read behind both.
template <class T, class I>
using combine_row = std::int64_t (*)(T alpha, const row_entries_of<T, I>& a, T beta,
                                     const row_entries_of<T, I>& b, bool more, std::int64_t room,
                                     I* col, T* value);

/// Elements of either, but those that come out as 0. `room` is that of all of them.
template <class Rule, class T, class I>
std::int64_t combine_either(T alpha, const row_entries_of<T, I>& a, T beta,
                            const row_entries_of<T, I>& b, bool more, std::int64_t, I* col,
                            T* value) {
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
  if (more && a.size > 0 && b.size > 0) { // loads what the next step may need before it is known
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

/// Products of what both have.
template <bool KeepsZeros, class T, class I>
std::int64_t multiply_both(T alpha, const row_entries_of<T, I>& a, T beta,
                           const row_entries_of<T, I>& b, bool, std::int64_t room, I* col,
                           T* value) {
  std::int64_t i = 0, j = 0, at = 0;
  if (same_columns(a.col, a.size, b.col, b.size)) {
    for (; i < a.size; ++i) {
      const T product = (alpha * a.value[i]) * (beta * b.value[i]);
      col[at] = a.col[i];
      value[at] = product;
      at += KeepsZeros || product != 0 ? 1 : 0;
    }
    return at;
  }
  while (i < a.size && j < b.size && at < room) { // written whether both have it or not
    const I x = a.col[i], y = b.col[j];
    const T product = (alpha * a.value[i]) * (beta * b.value[j]);
    col[at] = x;
    value[at] = product;
    at += x == y && (KeepsZeros || product != 0) ? 1 : 0;
    i += x <= y ? 1 : 0;
    j += y <= x ? 1 : 0;
  }
  return at;
}

template <class T, class I> combine_row<T, I> row_loop(element_rule rule, bool of_both) {
  if (rule == element_rule::stored_times) return multiply_both<true, T, I>;
  if (of_both) return multiply_both<false, T, I>;
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
  const auto loop = row_loop<T, I>(rule, of_both);
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
  rowptr[0] = 0;
  filled[0] = 0;
  for_each_dynamic(threads, parts, [&](int part) {
    std::int64_t at = first[part];
    pair.for_each_row(pair.cut(part, parts), pair.cut(part + 1, parts),
                      [&](std::int64_t row, std::int64_t i, std::int64_t i_end, std::int64_t j,
                          std::int64_t j_end, bool ends) {
                        at += loop(alpha, {pair.a_col + i, a.values().data() + i, i_end - i}, beta,
                                   {pair.b_col + j, b.values().data() + j, j_end - j},
                                   i_end < a.size() && j_end < b.size(), first[part + 1] - at,
                                   c.colind().data() + at, c.values().data() + at);
                        if (ends) rowptr[row + 1] = static_cast<O>(at);
                      });
    filled[part + 1] = at - first[part];
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
