// Krylov methods: cg, flexible_cg, minres, bicgstab, gmres.
//
//   const auto report = cg(ctx, a, b, x, {.stop = {.relative = 1e-10}, .preconditioner = m});
//   if (!report.converged) std::cerr << report;
//
// `a` is anything a linear_operator is made from, or one. x holds the initial guess and then the
// solution. b and x are vectors, or dense matrices of several columns, which are solved together:
// one product per iteration, each column with its own factors and its own end (gmres: one after
// the other). They report and do not throw if they do not converge; solve() does.
//
// The residual of the report is computed anew at the end. If it is not what the recurrence said,
// the method starts again from x; if that does not help either, the reason is `stagnation`.
// b = 0 gives x = 0. NaN or Inf in A, b or x: reason `nan`, at once.
//
// Memory beside b and x, in vectors: cg and flexible_cg 3 (with a preconditioner 4), minres 5 (7),
// bicgstab 5 (7), gmres restart + 3. On a device an iteration of all but gmres is one CUDA graph
// and the host looks at its outcome four iterations later: iterations queued past the end change
// nothing. gmres reads one column of coefficients per iteration.
//
// The same bits on every run, on the host for any number of threads.
#pragma once

#include <lacuna/solver/linear_operator.hpp>
#include <lacuna/solver/preconditioner.hpp>
#include <lacuna/solver/report.hpp>

namespace lacuna {

enum class krylov_method { cg, flexible_cg, minres, bicgstab, gmres };
LACUNA_EXPORT const char* name_of(krylov_method method);

template <class T, space S> struct krylov_options {
  stopping_rule stop = {};
  preconditioner_ptr<T, S> preconditioner = nullptr;
  int restart = 30; ///< gmres: directions that are kept; 1 to 500
  solve_watch watch = nullptr;
};

namespace detail {
/// Throws size_mismatch, bad_input, out_of_memory, device_error; then x is what the iterations so
/// far made of it.
template <class T, space S>
LACUNA_EXPORT solve_report solve_krylov(krylov_method method, const context<S>& ctx,
                                        const linear_operator<T, S>& a, dense_view<const T, S> b,
                                        dense_view<T, S> x, const krylov_options<T, S>& options);

template <class T, space S, class A>
decltype(auto) as_linear_operator(const context<S>& ctx, A& a) {
  if constexpr (std::is_same_v<std::remove_const_t<A>, linear_operator<T, S>>)
    return (a);
  else
    return linear_operator<T, S>(ctx, a);
}
template <class X> using element_type = typename const_view_t<std::remove_cvref_t<X>>::scalar_type;

template <space S, class A, class B, class X>
solve_report solve_krylov_with(krylov_method method, const context<S>& ctx, A& a, const B& b, X&& x,
                               const krylov_options<element_type<X>, S>& options) {
  using T = element_type<X>;
  static_assert(is_writable<X>, "lacuna: the result must be writable and must outlive the call");
  const auto b_view = as_columns(const_view(b));
  const auto x_view = as_columns(mutable_view(std::forward<X>(x)));
  require_same_space<S, decltype(b_view), decltype(x_view)>();
  require_same_value<T, decltype(b_view)>();
  return solve_krylov<T, S>(method, ctx, as_linear_operator<T, S>(ctx, a), b_view, x_view, options);
}
} // namespace detail

/// A and M symmetric and positive definite.
template <space S, class A, class B, class X>
[[nodiscard]] solve_report cg(const context<S>& ctx, A&& a, const B& b, X&& x,
                              const krylov_options<detail::element_type<X>, S>& options = {}) {
  return detail::solve_krylov_with(krylov_method::cg, ctx, a, b, std::forward<X>(x), options);
}
/// The same for a preconditioner that is not the same operator every time: cycles that iterate.
template <space S, class A, class B, class X>
[[nodiscard]] solve_report
flexible_cg(const context<S>& ctx, A&& a, const B& b, X&& x,
            const krylov_options<detail::element_type<X>, S>& options = {}) {
  return detail::solve_krylov_with(krylov_method::flexible_cg, ctx, a, b, std::forward<X>(x),
                                   options);
}
/// A symmetric, definite or not; M positive definite. Its residual is measured by M.
template <space S, class A, class B, class X>
[[nodiscard]] solve_report minres(const context<S>& ctx, A&& a, const B& b, X&& x,
                                  const krylov_options<detail::element_type<X>, S>& options = {}) {
  return detail::solve_krylov_with(krylov_method::minres, ctx, a, b, std::forward<X>(x), options);
}
/// Any A; preconditioned from the right. Two products an iteration.
template <space S, class A, class B, class X>
[[nodiscard]] solve_report
bicgstab(const context<S>& ctx, A&& a, const B& b, X&& x,
         const krylov_options<detail::element_type<X>, S>& options = {}) {
  return detail::solve_krylov_with(krylov_method::bicgstab, ctx, a, b, std::forward<X>(x), options);
}
/// Any A; preconditioned from the right (flexible where M is not linear, which doubles the memory).
/// Orthogonalised twice.
template <space S, class A, class B, class X>
[[nodiscard]] solve_report gmres(const context<S>& ctx, A&& a, const B& b, X&& x,
                                 const krylov_options<detail::element_type<X>, S>& options = {}) {
  return detail::solve_krylov_with(krylov_method::gmres, ctx, a, b, std::forward<X>(x), options);
}

} // namespace lacuna
