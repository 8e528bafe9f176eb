// update_values(ctx, to, a): new values for a matrix that is kept in one of the formats for
// products, from a CSR matrix of the pattern it was made from.
//
//   auto e = to_ell_csr(ctx, a);
//   …                              a's values change, or b has a's pattern
//   update_values(ctx, e, a);      e is what to_ell_csr(ctx, a) would make now, bit by bit
//
// One pass over the values: no more than two products' time, no scratch, nothing is chosen or
// sorted again. On a device it is queued. Shape and number of entries are checked, and where they
// differ size_mismatch is thrown and nothing has changed. That the pattern is the same is not
// checked: where it is not, values go to places of other entries, but no memory outside the two
// matrices is touched. Plans: op.update_values(a).
#pragma once

#include <lacuna/op/csr_k.hpp>
#include <lacuna/op/ell_csr.hpp>
#include <lacuna/op/hyb.hpp>
#include <lacuna/op/packed_csr.hpp>

namespace lacuna {

namespace detail::cpu {
/// to[k] = values[from[k]], or values[k] where from is null.
template <class T, class O>
LACUNA_EXPORT void place_values(const host_context& ctx, const O* from, vector_view<const T> values,
                                vector_view<T> to);
/// The same into slices: entry k is the k-th of the rows in rowptr.
template <class T, class I, class O>
LACUNA_EXPORT void place_in_ell_csr(const host_context& ctx, vector_view<const O> rowptr,
                                    const O* from, vector_view<const T> values,
                                    ell_csr_view<T, I> to);
template <class T, class I, class O>
LACUNA_EXPORT void place_in_hyb(const host_context& ctx, csr_view<const T, I, O> a,
                                hyb_view<T, I, O> to);
/// numbers[k] = k; and numbers as offsets. What numbers a matrix's entries tells afterwards where
/// they went.
LACUNA_EXPORT void number_entries(const host_context& ctx, vector_view<double> numbers);
template <class O>
LACUNA_EXPORT void as_offsets(const host_context& ctx, vector_view<const double> numbers,
                              vector_view<O> offsets);
} // namespace detail::cpu

namespace detail::gpu {
/// All queued.
template <class T, class O>
LACUNA_GPU_EXPORT void place_values(const device_context& ctx, const O* from,
                                    vector_view<const T, space::device> values,
                                    vector_view<T, space::device> to);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void place_in_ell_csr(const device_context& ctx,
                                        vector_view<const O, space::device> rowptr, const O* from,
                                        vector_view<const T, space::device> values,
                                        ell_csr_view<T, I, space::device> to);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void place_in_hyb(const device_context& ctx,
                                    csr_view<const T, I, O, space::device> a,
                                    hyb_view<T, I, O, space::device> to);
LACUNA_GPU_EXPORT void number_entries(const device_context& ctx,
                                      vector_view<double, space::device> numbers);
template <class O>
LACUNA_GPU_EXPORT void as_offsets(const device_context& ctx,
                                  vector_view<const double, space::device> numbers,
                                  vector_view<O, space::device> offsets);
} // namespace detail::gpu

namespace detail {
template <class T, class O, space S>
void place_values(const context<S>& ctx, const O* from, vector_view<const T, S> values,
                  vector_view<T, S> to) {
  if constexpr (S == space::host)
    detail::cpu::place_values<T, O>(ctx, from, values, to);
  else
    detail::gpu::place_values<T, O>(ctx, from, values, to);
}
template <class T, class I, class O, space S>
void place_values(const context<S>& ctx, vector_view<const O, S> rowptr, const O* from,
                  vector_view<const T, S> values, ell_csr<T, I, S>& to) {
  const ell_csr_view<T, I, S> view(to.extent, to.nnz, std::as_const(to.slices).view(),
                                   std::as_const(to.steps).view(), std::as_const(to.columns).view(),
                                   to.values.view(), std::as_const(to.rows).view(),
                                   std::as_const(to.pieces).view(), to.even);
  if constexpr (S == space::host)
    detail::cpu::place_in_ell_csr<T, I, O>(ctx, rowptr, from, values, view);
  else
    detail::gpu::place_in_ell_csr<T, I, O>(ctx, rowptr, from, values, view);
}

/// The view of A, if it fits the matrix `to` in size and types.
template <class T, class I, space S, class A>
auto new_values_of(std::int64_t rows, std::int64_t cols, std::int64_t entries, const A& a) {
  const auto view = const_view(a);
  using V = decltype(view);
  require_same_space<S, V>();
  static_assert(std::is_same_v<typename V::scalar_type, T>,
                "lacuna: operands differ in value type (float, double)");
  static_assert(std::is_same_v<typename V::index_type, I>,
                "lacuna: operands differ in the width of their indices");
  require_same_size("update_values", "rows of A", view.shape().row, "rows of the matrix", rows);
  require_same_size("update_values", "columns of A", view.shape().col, "columns of the matrix",
                    cols);
  require_same_size("update_values", "entries of A", view.size(), "entries of the matrix", entries);
  return csr_view<const T, I, typename V::offset_type, S>(view);
}
template <class T, class I, space S, class To, class A>
auto new_values_of(const To& to, const A& a) {
  return new_values_of<T, I, S>(to.shape().row, to.shape().col, to.size(), a);
}
} // namespace detail

template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, csr<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  detail::place_values<T, O, S>(ctx, nullptr, from.values(), to.values());
}
template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, packed_csr<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  detail::place_values<T, O, S>(ctx, nullptr, from.values(), to.values());
}
/// Of a matrix in the order it has inside.
template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, csr_k<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  detail::place_values<T, O, S>(ctx, nullptr, from.values(), to.values());
}
template <class T, class I, space S, class A>
void update_values(const context<S>& ctx, ell_csr<T, I, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  using O = typename decltype(from)::offset_type;
  detail::place_values<T, I, O, S>(ctx, from.rowptr(), nullptr, from.values(), to);
}
template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, hyb<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  static_assert(std::is_same_v<typename decltype(from)::offset_type, O>,
                "lacuna: operands differ in the width of their offsets");
  const hyb_view<T, I, O, S> view(to.extent, to.nnz, to.width, to.stride, to.columns.view(),
                                  to.values.view(), to.rest.view());
  if constexpr (S == space::host)
    detail::cpu::place_in_hyb<T, I, O>(ctx, from, view);
  else
    detail::gpu::place_in_hyb<T, I, O>(ctx, from, view);
}

} // namespace lacuna
