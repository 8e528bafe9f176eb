// B = A^T.
//
//   auto b = transpose(ctx, a);        new owner
//   auto info = transpose_inspect(a, b);
//   transpose(info, a, b);             into memory of the caller's, as in the C++ Sparse BLAS
//
// Entries of a row of B come in the order of A's rows, so B is sorted whatever A is; equal
// coordinates keep their order. O(nnz + rows + columns).
#pragma once

#include <lacuna/op/inspection.hpp>
#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace cpu {
/// Fills b's three arrays, with the same bits for any number of threads. Scratch: an offset for
/// each column that a thread meets, over all threads no more than A's entries take (or one offset
/// a column, where that is more).
template <class T, class I, class O>
LACUNA_EXPORT void transpose_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                 csr_view<T, I, O> b);
} // namespace cpu
namespace gpu {
/// Queued; a square matrix that states sorted and unique rows is looked at first, and waited for:
/// with a symmetric pattern only values move. Scratch: about 16 bytes an entry.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void transpose_csr(const device_context& ctx,
                                     csr_view<const T, I, O, space::device> a,
                                     csr_view<T, I, O, space::device> b);
} // namespace gpu

namespace detail {
template <class T, class I, class O, space S>
void transpose_into(const context<S>& ctx, csr_view<const T, I, O, S> a, csr_view<T, I, O, S> b) {
  require_same_size("transpose", "rows of B", b.shape().row, "columns of A", a.shape().col);
  require_same_size("transpose", "columns of B", b.shape().col, "rows of A", a.shape().row);
  require_same_size("transpose", "entries of B", b.size(), "entries of A", a.size());
  if constexpr (S == space::host)
    cpu::transpose_csr<T, I, O>(ctx, a, b);
  else
    gpu::transpose_csr<T, I, O>(ctx, a, b);
}
template <class T, class I, class O, space S>
csr<T, I, O, S> transpose_new(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  csr<T, I, O, S> b(ctx, {a.shape().col, a.shape().row}, a.size(), {true, a.order().unique});
  transpose_into<T, I, O, S>(ctx, a, b.view());
  return b;
}
} // namespace detail

/// A new CSR matrix holding A^T; A is a csr owner or view.
template <space S, class A> auto transpose(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  return detail::transpose_new(ctx, view);
}
template <class A> auto transpose(const A& a) {
  return transpose(default_context<decltype(detail::const_view(a))::memory_space>(), a);
}

/// Nothing is worth keeping between transpositions yet; the call is there for the phases of the
/// C++ Sparse BLAS.
template <class A, class B> operation_info_t transpose_inspect(const A& a, const B&) {
  return operation_info_t(nullptr, {a.shape().col, a.shape().row});
}
template <space S, class A, class B>
void transpose(const context<S>& ctx, const operation_info_t&, const A& a, B&& b) {
  const auto from = detail::const_view(a);
  const auto to = detail::mutable_view(std::forward<B>(b));
  detail::require_same_space<S, decltype(from), decltype(to)>();
  detail::transpose_into(ctx, from, to);
  // An owner's earlier statements were about other entries.
  if constexpr (requires { b.state(facts{}); }) b.state({true, from.order().unique});
}
template <class A, class B> void transpose(const operation_info_t& info, const A& a, B&& b) {
  transpose(default_context<decltype(detail::const_view(a))::memory_space>(), info, a,
            std::forward<B>(b));
}

} // namespace lacuna
