// check(ctx, a): tests the written invariants of a format and the facts its owner states.
// Throws bad_input that names the first place where one is broken. O(nnz + rows), but "unique"
// without "sorted" is tested on a sorted copy of the indices; waits.
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT void check_csr(const host_context& ctx, csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void check_coo(const host_context& ctx, coo_view<const T, I, O> a);
} // namespace detail::cpu
namespace detail::gpu {
template <class T, class I, class O>
LACUNA_GPU_EXPORT void check_csr(const device_context& ctx,
                                 csr_view<const T, I, O, space::device> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void check_coo(const device_context& ctx,
                                 coo_view<const T, I, O, space::device> a);
} // namespace detail::gpu

namespace detail {
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    detail::cpu::check_csr<T, I, O>(ctx, a);
  else
    detail::gpu::check_csr<T, I, O>(ctx, a);
}
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, csc_view<const T, I, O, S> a) {
  check_view(ctx, a.transpose());
}
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, coo_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    detail::cpu::check_coo<T, I, O>(ctx, a);
  else
    detail::gpu::check_coo<T, I, O>(ctx, a);
}
/// Its constructor has checked it.
template <class T, space S> void check_view(const context<S>&, dense_view<const T, S>) {}
} // namespace detail

template <space S, class A> void check(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  detail::check_view(ctx, view);
}
template <class A> void check(const A& a) { check(detail::default_context_for<A>(), a); }

} // namespace lacuna
