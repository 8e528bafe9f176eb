// Sums, largest and smallest elements of the rows, of the columns and of all of a sparse matrix.
//
//   auto s = reduce_rows(ctx, a, reduction::sum);              an element per row
//   auto m = reduce_columns(ctx, a, reduction::max);           one per column
//   double t = reduce(ctx, a, reduction::sum);                 of the whole matrix; sum(ctx, a)
//   auto n = row_sizes(ctx, a);                                entries stored; also column_sizes
//   double l = matrix_one_norm(ctx, a);                        largest column sum of magnitudes
//
// The context is optional; a is a csr or csc, an owner or a view. What is not stored is 0: the
// largest element of a line that is not full is at least 0. NaN gives NaN, wherever it is.
// Duplicates are one element: they add up first (in a copy) where a largest or smallest is asked
// for, or a sum of magnitudes or squares. Sums are formed in double, in an order that the matrix
// alone fixes, and rounded once: the same bits again and again, on the host for any number of
// threads. A device has an order of its own.
//
// O(nnz + lines); across the lines as they are stored up to 16 bytes of scratch per entry, on a
// device, which sorts entries by line, 16 to 32. Throws bad_input for the largest or smallest of
// nothing. reduce, sum and norms return a value to the host: on a device they wait for it; so does
// what must look whether duplicates are there. (matrix_frob_norm and matrix_inf_norm: vector.hpp.)
#pragma once

#include <limits>
#include <optional>

#include <lacuna/op/add.hpp>
#include <lacuna/op/vector.hpp>

namespace lacuna {

enum class reduction { sum, sum_of_magnitudes, sum_of_squares, max, min };

namespace detail::cpu {
/// result[i] from entries [starts[i], starts[i + 1]) of lines of `length` elements.
template <class T, class O>
LACUNA_EXPORT void reduce_lines(const host_context& ctx, reduction how, std::int64_t length,
                                vector_view<const O> starts, vector_view<const T> values,
                                vector_view<T> result);
/// result[j] from the entries whose index is j; `length`: elements that each has.
template <class T, class I>
LACUNA_EXPORT void reduce_across(const host_context& ctx, reduction how, std::int64_t length,
                                 vector_view<const I> indices, vector_view<const T> values,
                                 vector_view<T> result);
/// Of `elements`, those that are not among the values being 0.
template <class T>
LACUNA_EXPORT T reduce_values(const host_context& ctx, reduction how, std::int64_t elements,
                              vector_view<const T> values);
template <class O>
LACUNA_EXPORT void line_sizes(const host_context& ctx, vector_view<const O> starts,
                              vector_view<O> result);
template <class I, class O>
LACUNA_EXPORT void count_indices(const host_context& ctx, vector_view<const I> indices,
                                 vector_view<O> result);
} // namespace detail::cpu

namespace detail::gpu {
/// Queued, but reduce_values, which waits.
template <class T, class O>
LACUNA_GPU_EXPORT void reduce_lines(const device_context& ctx, reduction how, std::int64_t length,
                                    vector_view<const O, space::device> starts,
                                    vector_view<const T, space::device> values,
                                    vector_view<T, space::device> result);
template <class T, class I>
LACUNA_GPU_EXPORT void reduce_across(const device_context& ctx, reduction how, std::int64_t length,
                                     vector_view<const I, space::device> indices,
                                     vector_view<const T, space::device> values,
                                     vector_view<T, space::device> result);
template <class T>
LACUNA_GPU_EXPORT T reduce_values(const device_context& ctx, reduction how, std::int64_t elements,
                                  vector_view<const T, space::device> values);
template <class O>
LACUNA_GPU_EXPORT void line_sizes(const device_context& ctx,
                                  vector_view<const O, space::device> starts,
                                  vector_view<O, space::device> result);
template <class I, class O>
LACUNA_GPU_EXPORT void count_indices(const device_context& ctx,
                                     vector_view<const I, space::device> indices,
                                     vector_view<O, space::device> result);
} // namespace detail::gpu

namespace detail {

/// bad_input: "reduce_rows: rows of 0 elements have no largest or smallest".
[[noreturn]] LACUNA_EXPORT void throw_nothing_to_reduce(const char* op);

/// The rows of a csr, the columns of a csc, as a csr; where duplicates must not be, a copy without.
template <class T, class I, class O, space S> class reduced_lines {
public:
  reduced_lines(const context<S>& ctx, csr_view<const T, I, O, S> a, reduction how) : a_(a) {
    if (how == reduction::sum || a.order().unique) return;
    own_.emplace(ctx, matrix_operand<T, I, O, S>{a});
    a_ = own_->view();
  }
  [[nodiscard]] csr_view<const T, I, O, S> view() const { return a_; }

private:
  std::optional<summand<T, I, O, S>> own_;
  csr_view<const T, I, O, S> a_;
};

template <space S, class A> auto rows_to_reduce(const A& a) {
  const auto rows = compressed_rows(const_view(a));
  require_same_space<S, decltype(rows)>();
  return rows;
}

/// An element per row (if not `by_rows`, per column) of a.
template <space S, class A>
auto reduce_side(const context<S>& ctx, const char* op, const A& a, reduction how, bool by_rows) {
  const auto stored = rows_to_reduce<S>(a);
  using V = std::remove_cv_t<decltype(stored)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  if constexpr (are_in<S, V>) {
    const bool along = by_rows != is_by_columns<A>; // the lines that are stored
    const std::int64_t lines = along ? stored.shape().row : stored.shape().col;
    const std::int64_t length = along ? stored.shape().col : stored.shape().row;
    if (length == 0 && lines > 0 && (how == reduction::max || how == reduction::min))
      throw_nothing_to_reduce(op);
    const reduced_lines<T, I, O, S> unique(ctx, stored, how);
    const auto rows = unique.view();
    array<T, S> result(ctx, lines);
    if constexpr (S == space::host) {
      if (along)
        detail::cpu::reduce_lines<T, O>(ctx, how, length, rows.rowptr(), rows.values(), result);
      else
        detail::cpu::reduce_across<T, I>(ctx, how, length, rows.colind(), rows.values(), result);
    } else {
      if (along)
        detail::gpu::reduce_lines<T, O>(ctx, how, length, rows.rowptr(), rows.values(), result);
      else
        detail::gpu::reduce_across<T, I>(ctx, how, length, rows.colind(), rows.values(), result);
    }
    return result;
  }
}

template <space S, class A> auto count_side(const context<S>& ctx, const A& a, bool by_rows) {
  const auto stored = rows_to_reduce<S>(a);
  using V = std::remove_cv_t<decltype(stored)>;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  if constexpr (are_in<S, V>) {
    const bool along = by_rows != is_by_columns<A>;
    array<O, S> result(ctx, along ? stored.shape().row : stored.shape().col);
    if constexpr (S == space::host) {
      if (along)
        detail::cpu::line_sizes<O>(ctx, stored.rowptr(), result);
      else
        detail::cpu::count_indices<I, O>(ctx, stored.colind(), result);
    } else {
      if (along)
        detail::gpu::line_sizes<O>(ctx, stored.rowptr(), result);
      else
        detail::gpu::count_indices<I, O>(ctx, stored.colind(), result);
    }
    return result;
  }
}

} // namespace detail

template <space S, class A>
  requires(detail::is_compressed<A>)
auto reduce_rows(const context<S>& ctx, const A& a, reduction how) {
  return detail::reduce_side(ctx, "reduce_rows", a, how, true);
}
template <class A>
  requires(detail::is_compressed<A>)
auto reduce_rows(const A& a, reduction how) {
  return reduce_rows(detail::default_context_for<A>(), a, how);
}

template <space S, class A>
  requires(detail::is_compressed<A>)
auto reduce_columns(const context<S>& ctx, const A& a, reduction how) {
  return detail::reduce_side(ctx, "reduce_columns", a, how, false);
}
template <class A>
  requires(detail::is_compressed<A>)
auto reduce_columns(const A& a, reduction how) {
  return reduce_columns(detail::default_context_for<A>(), a, how);
}

/// Of all elements.
template <space S, class A>
  requires(detail::is_compressed<A>)
auto reduce(const context<S>& ctx, const A& a, reduction how) {
  const auto stored = detail::rows_to_reduce<S>(a);
  using V = std::remove_cv_t<decltype(stored)>;
  using T = typename V::scalar_type;
  if constexpr (detail::are_in<S, V>) {
    const std::int64_t height = stored.shape().row, width = stored.shape().col;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(); // never all stored
    const std::int64_t elements = height > 0 && width > most / height ? most : height * width;
    if (elements == 0 && (how == reduction::max || how == reduction::min))
      detail::throw_nothing_to_reduce("reduce");
    const detail::reduced_lines<T, typename V::index_type, typename V::offset_type, S> rows(
        ctx, stored, how);
    if constexpr (S == space::host)
      return detail::cpu::reduce_values<T>(ctx, how, elements, rows.view().values());
    else
      return detail::gpu::reduce_values<T>(ctx, how, elements, rows.view().values());
  }
}
template <class A>
  requires(detail::is_compressed<A>)
auto reduce(const A& a, reduction how) { return reduce(detail::default_context_for<A>(), a, how); }

template <space S, class A>
  requires(detail::is_compressed<A>)
auto sum(const context<S>& ctx, const A& a) { return reduce(ctx, a, reduction::sum); }
template <class A>
  requires(detail::is_compressed<A>)
auto sum(const A& a) { return reduce(a, reduction::sum); }

/// Entries that are stored in each row, duplicates and zeros too.
template <space S, class A>
  requires(detail::is_compressed<A>)
auto row_sizes(const context<S>& ctx, const A& a) { return detail::count_side(ctx, a, true); }
template <class A>
  requires(detail::is_compressed<A>)
auto row_sizes(const A& a) { return row_sizes(detail::default_context_for<A>(), a); }
template <space S, class A>
  requires(detail::is_compressed<A>)
auto column_sizes(const context<S>& ctx, const A& a) { return detail::count_side(ctx, a, false); }
template <class A>
  requires(detail::is_compressed<A>)
auto column_sizes(const A& a) { return column_sizes(detail::default_context_for<A>(), a); }

/// The largest sum of magnitudes of a column.
template <space S, class A>
  requires(detail::is_compressed<A>)
auto matrix_one_norm(const context<S>& ctx, const A& a) {
  return norm_inf(ctx, reduce_columns(ctx, a, reduction::sum_of_magnitudes));
}
template <class A>
  requires(detail::is_compressed<A>)
auto matrix_one_norm(const A& a) { return matrix_one_norm(detail::default_context_for<A>(), a); }

} // namespace lacuna
