// Elements, rows and columns of a sparse matrix by lists of their numbers.
//
//   auto v = elements(ctx, a, rows, columns);      v[k] = a(rows[k], columns[k]); missing: 0
//   auto b = gather(ctx, a, rows, columns);        b(i, j) = a(rows[i], columns[j])
//   auto b = gather(ctx, a, {}, columns);          all rows; {first, last}: a range of them
//   auto b = gather(ctx, a, rows);                 all columns
//
// The context is optional; a is a csr, the result of gather a csr of its types. Lists live in a's
// space and hold numbers of its index type, in any order, also repeated (submatrix, select.hpp,
// wants each column once). Duplicates add up in elements, and are entries like others in gather,
// whose rows stay sorted if the list of columns ascends (with repetitions: if a is unique, too).
//
// elements: O(log row length) each where rows are stated to be sorted, O(row length) otherwise.
// gather: O(entries of the rows + those of the result + columns of a); on a device up to 24 bytes
// of scratch per entry of the rows. A device is waited for: whether lists lie inside must be known,
// and the size of the result. Throws bad_input, naming the position, if a number is outside;
// size_mismatch if the lists of elements differ in length.
#pragma once

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
                                          vector_view<const I> columns, facts order);
/// Row i is a's row rows[i]; all are inside.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> gather_rows(const host_context& ctx, csr_view<const T, I, O> a,
                                       vector_view<const I> rows);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
look_up_elements(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                 vector_view<const I, space::device> rows,
                 vector_view<const I, space::device> columns, vector_view<T, space::device> result);
/// Both wait.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
gather_columns(const device_context& ctx, csr_view<const T, I, O, space::device> a, const I* rows,
               std::int64_t first_row, std::int64_t count,
               vector_view<const I, space::device> columns, facts order);
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device> gather_rows(const device_context& ctx,
                                                          csr_view<const T, I, O, space::device> a,
                                                          vector_view<const I, space::device> rows);
} // namespace detail::gpu

namespace detail {
/// bad_input: "elements: rows[3] = 9 is outside of the 7 that A has".
[[noreturn]] LACUNA_EXPORT void throw_outside(const char* op, const char* what, std::int64_t at,
                                              std::int64_t index, std::int64_t limit);

/// A list of line numbers that are all inside.
template <class I, space S> struct inside_list {
  template <class List>
  inside_list(const context<S>& ctx, const char* op, const char* what, const List& list,
              std::int64_t limit) {
    const auto view = const_view(list);
    require_same_space<S, decltype(view)>();
    constexpr bool is_alike = std::is_same_v<typename decltype(view)::scalar_type, I>;
    static_assert(is_alike, "lacuna: a list of rows or columns has the matrix's index type");
    if constexpr (is_alike && are_in<S, decltype(view)>) {
      found = facts_of_list<I>(ctx, view, limit);
      if (found.outside >= 0) throw_outside(op, what, found.outside, found.index, limit);
      numbers = view;
    }
  }
  vector_view<const I, S> numbers;
  list_facts found;
};
} // namespace detail

template <space S, class A, class Rows, class Columns>
  requires(detail::is_csr<A>)
auto elements(const context<S>& ctx, const A& a, const Rows& rows, const Columns& columns) {
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  if constexpr (detail::are_in<S, V>) {
    using O = typename V::offset_type;
    const auto down =
        detail::inside_list<I, S>(ctx, "elements", "rows", rows, view.shape().row).numbers;
    const auto along =
        detail::inside_list<I, S>(ctx, "elements", "columns", columns, view.shape().col).numbers;
    detail::require_same_size("elements", "rows", down.size(), "columns", along.size());
    array<T, S> result(ctx, down.size());
    if constexpr (S == space::host)
      detail::cpu::look_up_elements<T, I, O>(ctx, view, down, along, result);
    else
      detail::gpu::look_up_elements<T, I, O>(ctx, view, down, along, result);
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
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  if constexpr (detail::are_in<S, V>) {
    const detail::chosen_lines<I, S> down(ctx, "rows", rows, view.shape().row, false);
    const detail::inside_list<I, S> along(ctx, "gather", "columns", columns, view.shape().col);
    const facts order = view.order();
    const bool ascends = order.unique ? along.found.sorted : along.found.ascends;
    const facts kept{order.sorted && ascends, order.unique};
    using O = typename V::offset_type;
    if constexpr (S == space::host)
      return detail::cpu::gather_columns<T, I, O>(ctx, view, down.list, down.first, down.count,
                                                  along.numbers, kept);
    else
      return detail::gpu::gather_columns<T, I, O>(ctx, view, down.list, down.first, down.count,
                                                  along.numbers, kept);
  }
}
template <space S, class A, class Rows>
  requires(detail::is_csr<A>)
auto gather(const context<S>& ctx, const A& a, const Rows& rows) {
  const auto view = detail::rows_to_select<S>(a);
  using V = std::remove_cv_t<decltype(view)>;
  using I = typename V::index_type;
  if constexpr (detail::are_in<S, V>) {
    const auto down =
        detail::inside_list<I, S>(ctx, "gather", "rows", rows, view.shape().row).numbers;
    using T = typename V::scalar_type;
    using O = typename V::offset_type;
    if constexpr (S == space::host)
      return detail::cpu::gather_rows<T, I, O>(ctx, view, down);
    else
      return detail::gpu::gather_rows<T, I, O>(ctx, view, down);
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
