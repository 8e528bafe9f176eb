// A new matrix from some of a matrix's entries: by a rule, by triangles, by rows and columns.
//
//   auto l = tril(ctx, a, -1);                            below the diagonal; triu: above
//   auto s = filter(ctx, a, keep_strong(0.25) & keep_off_diagonal);
//   auto f = filter(host, a, [](auto i, auto j, double v) { return i % 2 == 0 && v > 0; });
//   auto b = submatrix(ctx, a, {0, 100}, {50, 150});      ranges [first, last); {}: all of them
//   auto b = submatrix(ctx, a, rows, {});                 a list of rows: any order, also repeated
//   auto b = submatrix(ctx, a, rows, columns);            a list of columns: any order, none twice
//
// The context is optional; a is a csr, the result a csr of its types. Entries keep their order, and
// duplicates are entries like others: rows stay sorted if they were (after a list of columns, if it
// ascends), and unique. Lists live in a's space and hold numbers of its index type. Count, scan,
// fill: O(nnz + rows), half a byte of scratch per entry on a device, which is waited for: the size
// of the result must be known.
//
// Throws bad_input if a range or a list reaches outside, or a list of columns has one twice
// (naming the position), or a threshold is NaN; size_mismatch for keep_strong of a matrix that is
// not square.
#pragma once

#include <concepts>
#include <limits>

#include <lacuna/op/diagonal.hpp>

namespace lacuna {

/// Entries to keep: those of which all that is asked holds. Data, so that kernels can read it.
/// Rules on values are about what is too small, so NaN is kept by each.
struct entry_rule {
  std::int64_t least_offset = std::numeric_limits<std::int64_t>::min(); ///< of column - row
  std::int64_t most_offset = std::numeric_limits<std::int64_t>::max();
  bool off_diagonal = false;
  bool nonzero = false; ///< neither 0 nor -0
  double least = 0;     ///< of |a_ij|
  /// |a_ij| >= strength sqrt(|a_ii a_jj|), formed in double; a diagonal that is missing is 0.
  double strength = 0;
};
/// What both keep.
constexpr entry_rule operator&(const entry_rule& a, const entry_rule& b) {
  return {std::max(a.least_offset, b.least_offset),
          std::min(a.most_offset, b.most_offset),
          a.off_diagonal || b.off_diagonal,
          a.nonzero || b.nonzero,
          std::max(a.least, b.least),
          std::max(a.strength, b.strength)};
}
inline constexpr entry_rule keep_nonzero{.nonzero = true};
inline constexpr entry_rule keep_off_diagonal{.off_diagonal = true};
/// |a_ij| >= t.
constexpr entry_rule keep_at_least(double t) { return {.least = t}; }
/// |a_ij| >= t sqrt(|a_ii a_jj|): strong connections of smoothed aggregation.
constexpr entry_rule keep_strong(double t) { return {.strength = t}; }
/// |column - row| < width.
constexpr entry_rule keep_within_band(std::int64_t width) {
  return {.least_offset = 1 - width, .most_offset = width - 1};
}
/// On and below the k-th diagonal; on and above it. 0 is the main one, those above are positive.
constexpr entry_rule keep_lower(std::int64_t k = 0) { return {.most_offset = k}; }
constexpr entry_rule keep_upper(std::int64_t k = 0) { return {.least_offset = k}; }

/// Rows or columns [first, last); with no last, to the end.
struct line_range {
  static constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = 0;
  std::int64_t last = end;
};

namespace detail {

/// Which entries become which of the result.
template <class T, class I> struct entry_choice {
  index<I> shape; ///< of the result
  entry_rule rule{};
  const T* diagonal = nullptr; ///< read if the rule has a strength
  const char* flags = nullptr; ///< of every stored entry, in place of the rule; null: the rule
  std::int64_t first_row = 0, first_column = 0; ///< where there is no list
  const I* rows = nullptr;                      ///< those of the result
  const I* new_columns = nullptr;               ///< of every column its new number, or -1
};

/// What is known of a list of indices.
struct list_facts {
  std::int64_t outside = -1;  ///< the first position whose index is outside; -1: none
  std::int64_t repeated = -1; ///< the first whose index stands before it; if places were asked for
  std::int64_t index = 0;     ///< what stands at the first of these that is not -1
  bool ascends = true;        ///< each is above the one before it
  bool sorted = true;         ///< or equal to it
};

/// bad_input: "submatrix: rows [2, 9) reach outside of the 7 that A has".
[[noreturn]] LACUNA_EXPORT void throw_bad_range(const char* what, line_range range,
                                                std::int64_t limit);
/// bad_input: "submatrix: rows[3] = 9 is outside of the 7 that A has", "columns[3] = 2 is twice".
[[noreturn]] LACUNA_EXPORT void throw_bad_list(const char* what, const list_facts& found,
                                               std::int64_t limit);
[[noreturn]] LACUNA_EXPORT void throw_nan_rule();

} // namespace detail

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> select_entries(const host_context& ctx, csr_view<const T, I, O> a,
                                          const entry_choice<T, I>& choice, facts order);
/// Looks at a list; places, unless it is empty, has `limit` elements and gets for each index its
/// first position in the list, or -1.
template <class I>
LACUNA_EXPORT list_facts examine_list(const host_context& ctx, vector_view<const I> list,
                                      std::int64_t limit, vector_view<I> places);
} // namespace detail::cpu

namespace detail::gpu {
/// Both wait.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
select_entries(const device_context& ctx, csr_view<const T, I, O, space::device> a,
               const entry_choice<T, I>& choice, facts order);
template <class I>
LACUNA_GPU_EXPORT list_facts examine_list(const device_context& ctx,
                                          vector_view<const I, space::device> list,
                                          std::int64_t limit, vector_view<I, space::device> places);
} // namespace detail::gpu

namespace detail {

template <class T, class I, class O, space S>
csr<T, I, O, S> select_from(const context<S>& ctx, csr_view<const T, I, O, S> a,
                            const entry_choice<T, I>& choice, facts order) {
  if constexpr (S == space::host)
    return detail::cpu::select_entries<T, I, O>(ctx, a, choice, order);
  else
    return detail::gpu::select_entries<T, I, O>(ctx, a, choice, order);
}

template <class A> inline constexpr bool is_csr = is_compressed<A> && !is_by_columns<A>;

/// The view of a csr operand; one message for any other.
template <space S, class A> auto rows_to_select(const A& a) {
  static_assert(is_csr<A>, "lacuna: this operation takes a csr; use to_csr");
  const auto view = const_view(a);
  require_same_space<S, decltype(view)>();
  return view;
}

template <class I, space S>
list_facts facts_of_list(const context<S>& ctx, vector_view<const I, S> list, std::int64_t limit,
                         vector_view<I, S> places = {}) {
  if constexpr (S == space::host)
    return detail::cpu::examine_list<I>(ctx, list, limit, places);
  else
    return detail::gpu::examine_list<I>(ctx, list, limit, places);
}

/// One side of a submatrix: a range, or a list that lives in S.
template <class I, space S> class chosen_lines {
public:
  chosen_lines(const context<S>&, const char* what, line_range range, std::int64_t limit, bool) {
    const std::int64_t last = range.last == line_range::end ? limit : range.last;
    if (range.first < 0 || range.first > last || last > limit) throw_bad_range(what, range, limit);
    first = range.first;
    count = last - range.first;
  }
  template <class List>
  chosen_lines(const context<S>& ctx, const char* what, const List& numbers, std::int64_t limit,
               bool distinct) {
    const auto view = const_view(numbers);
    require_same_space<S, decltype(view)>();
    constexpr bool is_alike = std::is_same_v<typename decltype(view)::scalar_type, I>;
    static_assert(is_alike, "lacuna: a list of rows or columns has the matrix's index type");
    if constexpr (is_alike && are_in<S, decltype(view)>) {
      if (distinct) places = array<I, S>(ctx, limit);
      const list_facts found = facts_of_list<I>(ctx, view, limit, places.view());
      if (found.outside >= 0 || found.repeated >= 0) throw_bad_list(what, found, limit);
      count = view.size();
      list = count == 0 ? nullptr : view.data(); // null: a range of none
      ascends = found.ascends;
    }
  }
  std::int64_t first = 0, count = 0;
  const I* list = nullptr;
  array<I, S> places;
  bool ascends = true;
};

template <class F, class T, class I>
inline constexpr bool is_entry_predicate = std::predicate<F&, I, I, T>;

} // namespace detail

/// The entries that a rule keeps.
template <space S, class A>
  requires(!detail::is_context<A>)
auto filter(const context<S>& ctx, const A& a, const entry_rule& rule) {
  const auto rows = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(rows)>;
  using T = typename V::scalar_type;
  if (rule.least != rule.least || rule.strength != rule.strength) detail::throw_nan_rule();
  detail::entry_choice<T, typename V::index_type> choice{.shape = rows.shape(), .rule = rule};
  array<T, S> d;
  if (rule.strength > 0) {
    detail::require_same_size("filter", "rows of A", rows.shape().row, "columns of A",
                              rows.shape().col);
    d = diagonal(ctx, rows);
    choice.diagonal = d.data();
  }
  return detail::select_from(ctx, rows, choice, rows.order());
}
/// Those for which keep(row, column, value) is true: called once per entry, in stored order, on the
/// calling thread. On the host only.
template <class A, class F>
  requires(!detail::is_context<A> && !std::is_convertible_v<F, entry_rule>)
auto filter(const host_context& ctx, const A& a, F&& keep) {
  const auto rows = detail::rows_to_select<space::host>(a);
  using V = std::remove_cv_t<decltype(rows)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  static_assert(detail::is_entry_predicate<F, T, I>,
                "lacuna: filter takes an entry_rule, or a function of (row, column, value)");
  array<char> flags(ctx, rows.size());
  for (I i = 0; i < rows.shape().row; ++i)
    for (auto k = rows.rowptr()[i]; k < rows.rowptr()[i + 1]; ++k)
      flags[k] = keep(i, rows.colind()[k], rows.values()[k]) ? 1 : 0;
  const detail::entry_choice<T, I> choice{.shape = rows.shape(), .flags = flags.data()};
  return detail::select_from(ctx, rows, choice, rows.order());
}
template <class A, class Rule>
  requires(detail::is_compressed<A>)
auto filter(const A& a, Rule&& rule) {
  return filter(detail::default_context_for<A>(), a, std::forward<Rule>(rule));
}

/// Entries with column - row <= k.
template <space S, class A> auto tril(const context<S>& ctx, const A& a, std::int64_t k = 0) {
  return filter(ctx, a, keep_lower(k));
}
template <class A>
  requires(detail::is_compressed<A>)
auto tril(const A& a, std::int64_t k = 0) { return filter(a, keep_lower(k)); }

/// Entries with column - row >= k.
template <space S, class A> auto triu(const context<S>& ctx, const A& a, std::int64_t k = 0) {
  return filter(ctx, a, keep_upper(k));
}
template <class A>
  requires(detail::is_compressed<A>)
auto triu(const A& a, std::int64_t k = 0) { return filter(a, keep_upper(k)); }

/// Row i of the result is row rows[i] of a, its column j column columns[j].
template <space S, class A, class Rows = line_range, class Columns = line_range>
auto submatrix(const context<S>& ctx, const A& a, const Rows& rows, const Columns& columns) {
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using I = typename V::index_type;
  const detail::chosen_lines<I, S> down(ctx, "rows", rows, view.shape().row, false);
  const detail::chosen_lines<I, S> along(ctx, "columns", columns, view.shape().col, true);
  const detail::entry_choice<typename V::scalar_type, I> choice{
      .shape = {checked_cast<I>(down.count, "the number of rows"), along.count},
      .first_row = down.first,
      .first_column = along.first,
      .rows = down.list,
      .new_columns = along.list == nullptr ? nullptr : along.places.data()};
  return detail::select_from(ctx, view, choice,
                             {view.order().sorted && along.ascends, view.order().unique});
}
template <class A, class Rows = line_range, class Columns = line_range>
  requires(detail::is_compressed<A>)
auto submatrix(const A& a, const Rows& rows, const Columns& columns) {
  return submatrix(detail::default_context_for<A>(), a, rows, columns);
}

} // namespace lacuna
