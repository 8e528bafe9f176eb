// Elements, rows and columns of a sparse matrix by lists of their numbers.
//
//   auto v = elements(ctx, a, rows, columns);      v[k] = a(rows[k], columns[k]); missing: 0
//   auto b = gather(ctx, a, rows, columns);        b(i, j) = a(rows[i], columns[j])
//   auto b = gather(ctx, a, {}, columns);          all rows; {first, last}: a range of them
//   auto b = gather(ctx, a, rows);                 all columns
//
// The context is optional; a is a csr, the result of gather a csr of its types. Lists are in host
// memory and hold numbers of a's index type, in any order, also repeated (submatrix, select.hpp,
// wants each column once, and has it on a device, too). Duplicates add up in elements, and are
// entries like others in gather, whose rows stay sorted if the list of columns ascends (with
// repetitions: if a is unique, too).
//
// elements: O(log row length) each where rows are stated to be sorted, O(row length) otherwise.
// gather: O(entries of the rows + those of the result + columns of a). Throws bad_input, naming the
// position, if a number is outside; size_mismatch if the lists of elements differ in length. On the
// host; a device's matrices do not compile.
#pragma once

#include <lacuna/op/host_only.hpp>
#include <lacuna/op/select.hpp>

namespace lacuna {

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT void look_up_elements(const host_context& ctx, csr_view<const T, I, O> a,
                                    vector_view<const I> rows, vector_view<const I> columns,
                                    vector_view<T> result);
/// rows: `count` of them, or null: those from first_row on; columns are all inside.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> gather_columns(const host_context& ctx, csr_view<const T, I, O> a,
                                          const I* rows, std::int64_t first_row, std::int64_t count,
                                          vector_view<const I> columns);
/// Row i is a's row rows[i]; all are inside.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> gather_rows(const host_context& ctx, csr_view<const T, I, O> a,
                                       vector_view<const I> rows);
} // namespace detail::cpu

namespace detail {
/// bad_input: "elements: rows[3] = 9 is outside of the 7 that A has".
[[noreturn]] LACUNA_EXPORT void throw_outside(const char* op, const char* what, std::int64_t at,
                                              std::int64_t index, std::int64_t limit);

/// A list of line numbers that are all inside.
template <class I, class List>
vector_view<const I> inside_list(const host_context& ctx, const char* op, const char* what,
                                 const List& list, std::int64_t limit) {
  const auto view = const_view(list);
  require_same_space<space::host, decltype(view)>();
  constexpr bool is_alike = std::is_same_v<typename decltype(view)::scalar_type, I>;
  static_assert(is_alike, "lacuna: a list of rows or columns has the matrix's index type");
  if constexpr (is_alike) {
    const list_facts found = detail::cpu::examine_list<I>(ctx, view, limit, {});
    if (found.outside >= 0) throw_outside(op, what, found.outside, found.index, limit);
    return view;
  } else {
    return {};
  }
}
} // namespace detail

template <space S, class A, class Rows, class Columns>
  requires(detail::is_csr<A>)
auto elements(const context<S>& ctx, const A& a, const Rows& rows, const Columns& columns) {
  detail::require_host<S>();
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  if constexpr (S == space::host && detail::are_in<S, V>) {
    const auto down = detail::inside_list<I>(ctx, "elements", "rows", rows, view.shape().row);
    const auto along =
        detail::inside_list<I>(ctx, "elements", "columns", columns, view.shape().col);
    detail::require_same_size("elements", "rows", down.size(), "columns", along.size());
    array<T> result(ctx, down.size());
    detail::cpu::look_up_elements<T, I, typename V::offset_type>(ctx, view, down, along,
                                                                 result.view());
    return result;
  }
}
template <class A, class Rows, class Columns>
  requires(detail::is_csr<A>)
auto elements(const A& a, const Rows& rows, const Columns& columns) {
  return elements(detail::default_context_for<A>(), a, rows, columns);
}

template <space S, class A, class Rows = line_range, class Columns>
  requires(detail::is_csr<A>)
auto gather(const context<S>& ctx, const A& a, const Rows& rows, const Columns& columns) {
  detail::require_host<S>();
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  if constexpr (S == space::host && detail::are_in<S, V>) {
    const detail::chosen_lines<I, S> down(ctx, "rows", rows, view.shape().row, false);
    const auto along = detail::inside_list<I>(ctx, "gather", "columns", columns, view.shape().col);
    return detail::cpu::gather_columns<T, I, typename V::offset_type>(
        ctx, view, down.list, down.first, down.count, along);
  }
}
template <space S, class A, class Rows>
  requires(detail::is_csr<A>)
auto gather(const context<S>& ctx, const A& a, const Rows& rows) {
  detail::require_host<S>();
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using I = typename V::index_type;
  if constexpr (S == space::host && detail::are_in<S, V>) {
    const auto down = detail::inside_list<I>(ctx, "gather", "rows", rows, view.shape().row);
    return detail::cpu::gather_rows<typename V::scalar_type, I, typename V::offset_type>(ctx, view,
                                                                                         down);
  }
}
template <class A, class Rows>
  requires(detail::is_csr<A>)
auto gather(const A& a, const Rows& rows) {
  return gather(detail::default_context_for<A>(), a, rows);
}
template <class A, class Rows = line_range, class Columns>
  requires(detail::is_csr<A>)
auto gather(const A& a, const Rows& rows, const Columns& columns) {
  return gather(detail::default_context_for<A>(), a, rows, columns);
}

} // namespace lacuna
