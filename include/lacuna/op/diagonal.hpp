// The diagonal of a sparse matrix, and rows or columns times factors.
//
//   auto d = diagonal(ctx, a);            d[i] = a_ii, min(rows, columns) elements
//   diagonal(ctx, a, d);                  into memory of the caller's
//   scale_rows(ctx, a, d);                row i times d[i], in place
//   scale_columns(ctx, a, d);             column j times d[j]
//
// The context is optional. a is a csr or csc, an owner or a view; what is scaled is writable, and a
// dynamic_csr has a scale_rows of its own (update.hpp). Duplicates add up to the diagonal's
// element, in an order that the matrix fixes; where none is stored it is 0. Every stored entry is
// multiplied once, also where the product is NaN. Queued on a device, no scratch. diagonal: O(rows
// log row length) where rows are stated to be sorted, O(nnz) otherwise. Throws size_mismatch if
// sizes do not fit.
#pragma once

#include <lacuna/op/result.hpp>

namespace lacuna {

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT void csr_diagonal(const host_context& ctx, csr_view<const T, I, O> a,
                                vector_view<T> d);
template <class T, class I, class O>
LACUNA_EXPORT void scale_csr_rows(const host_context& ctx, csr_view<T, I, O> a,
                                  vector_view<const T> factors);
template <class T, class I, class O>
LACUNA_EXPORT void scale_csr_columns(const host_context& ctx, csr_view<T, I, O> a,
                                     vector_view<const T> factors);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O>
LACUNA_GPU_EXPORT void csr_diagonal(const device_context& ctx,
                                    csr_view<const T, I, O, space::device> a,
                                    vector_view<T, space::device> d);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void scale_csr_rows(const device_context& ctx, csr_view<T, I, O, space::device> a,
                                      vector_view<const T, space::device> factors);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void scale_csr_columns(const device_context& ctx,
                                         csr_view<T, I, O, space::device> a,
                                         vector_view<const T, space::device> factors);
} // namespace detail::gpu

namespace detail {

template <class T, class I, class O, space S>
void fill_diagonal(const context<S>& ctx, csr_view<const T, I, O, S> a, vector_view<T, S> d) {
  if constexpr (S == space::host)
    detail::cpu::csr_diagonal<T, I, O>(ctx, a, d);
  else
    detail::gpu::csr_diagonal<T, I, O>(ctx, a, d);
}
template <class View> std::int64_t diagonal_size(const View& a) {
  return std::min<std::int64_t>(a.shape().row, a.shape().col);
}

/// Rows (or columns) of op(a) times factors, where a is stored by rows or by columns.
template <space S, class A, class D>
void scale_lines(const context<S>& ctx, const char* op, bool rows, A&& a, const D& factors) {
  constexpr bool can_write = is_writable<A>;
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write) {
    const auto view = mutable_view(std::forward<A>(a));
    const auto by = const_view(factors);
    using V = std::remove_cv_t<decltype(view)>;
    using T = typename V::scalar_type;
    using I = typename V::index_type;
    using O = typename V::offset_type;
    require_same_space<S, V, decltype(by)>();
    require_same_value<T, decltype(by)>();
    if constexpr (are_in<S, V, decltype(by)> && are_of<T, decltype(by)>) {
      require_same_size(op, "factors", by.size(), rows ? "rows of A" : "columns of A",
                        rows ? view.shape().row : view.shape().col);
      const auto stored = compressed_rows(view);
      const bool stored_rows = rows != is_by_columns<V>;
      if constexpr (S == space::host)
        stored_rows ? detail::cpu::scale_csr_rows<T, I, O>(ctx, stored, by)
                    : detail::cpu::scale_csr_columns<T, I, O>(ctx, stored, by);
      else
        stored_rows ? detail::gpu::scale_csr_rows<T, I, O>(ctx, stored, by)
                    : detail::gpu::scale_csr_columns<T, I, O>(ctx, stored, by);
    }
  }
}

} // namespace detail

template <space S, class A>
  requires(detail::is_compressed<A>)
auto diagonal(const context<S>& ctx, const A& a) {
  const auto rows = detail::compressed_rows(detail::const_view(a));
  using V = std::remove_cv_t<decltype(rows)>;
  detail::require_same_space<S, V>();
  array<typename V::scalar_type, S> d(ctx, detail::diagonal_size(rows));
  if constexpr (detail::are_in<S, V>) detail::fill_diagonal(ctx, rows, d.view());
  return d;
}
template <class A>
  requires(detail::is_compressed<A>)
auto diagonal(const A& a) { return diagonal(detail::default_context_for<A>(), a); }

template <space S, class A, class D>
  requires(detail::is_compressed<A>)
void diagonal(const context<S>& ctx, const A& a, D&& d) {
  constexpr bool can_write = detail::is_writable<D>;
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write) {
    const auto rows = detail::compressed_rows(detail::const_view(a));
    const auto to = detail::mutable_view(std::forward<D>(d));
    using T = typename decltype(rows)::scalar_type;
    detail::require_same_space<S, decltype(rows), decltype(to)>();
    detail::require_same_value<T, decltype(to)>();
    if constexpr (detail::are_in<S, decltype(rows), decltype(to)> &&
                  detail::are_of<T, decltype(to)>) {
      detail::require_same_size("diagonal", "d", to.size(), "the diagonal of A",
                                detail::diagonal_size(rows));
      detail::fill_diagonal(ctx, rows, to);
    }
  }
}
template <class A, class D>
  requires(detail::is_compressed<A>)
void diagonal(const A& a, D&& d) {
  diagonal(detail::default_context_for<A>(), a, std::forward<D>(d));
}

/// a's row i times factors[i], in place.
template <space S, class A, class D>
  requires(detail::is_compressed<std::remove_cvref_t<A>>)
void scale_rows(const context<S>& ctx, A&& a, const D& factors) {
  detail::scale_lines(ctx, "scale_rows", true, std::forward<A>(a), factors);
}
template <class A, class D>
  requires(detail::is_compressed<std::remove_cvref_t<A>>)
void scale_rows(A&& a, const D& factors) {
  scale_rows(detail::default_context_for<std::remove_cvref_t<A>>(), std::forward<A>(a), factors);
}

/// a's column j times factors[j], in place.
template <space S, class A, class D>
  requires(detail::is_compressed<std::remove_cvref_t<A>>)
void scale_columns(const context<S>& ctx, A&& a, const D& factors) {
  detail::scale_lines(ctx, "scale_columns", false, std::forward<A>(a), factors);
}
template <class A, class D>
  requires(detail::is_compressed<std::remove_cvref_t<A>>)
void scale_columns(A&& a, const D& factors) {
  scale_columns(detail::default_context_for<std::remove_cvref_t<A>>(), std::forward<A>(a), factors);
}

} // namespace lacuna
