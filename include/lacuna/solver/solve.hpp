// solve(ctx, a, b, x): a linear system, by the method and the preconditioner that its matrix asks
// for, unless the caller says which.
//
//   solve(ctx, a, b, x);                               x holds the initial guess, then the solution
//   const auto [x, report] = solve(ctx, a, b);         from 0
//   solve(ctx, a, b, x, {.method = "gmres", .stop = {.relative = 1e-10}});
//   std::cout << report;                               what was picked, why, and how it went
//
// Not converged: throws not_solved, a not_converged with the report; with .throws = false the
// report says so. Symmetry and signs of the diagonal are looked at in one pass over A, the storage
// is planned. Where the choice was solve()'s and the method finds the matrix to be other than it
// looked (CG: not positive definite), it goes on with the next one.
//
// A is csr; other formats are converted, and other widths than 32 or 64 bits for both columns and
// offsets are cast, which copies. On a device everything but an ordering runs there.
#pragma once

#include <lacuna/op/cast.hpp>
#include <lacuna/solver/features.hpp>
#include <lacuna/solver/krylov.hpp>

namespace lacuna {

template <class T, space S> struct solve_options {
  stopping_rule stop = {};
  std::string method = "auto";             ///< cg, flexible_cg, minres, bicgstab, gmres
  std::string preconditioner = "auto";     ///< one of solver_preconditioners()
  preconditioner_ptr<T, S> with = nullptr; ///< this one instead
  int restart = 30;                        ///< gmres
  solve_watch watch = nullptr;
  /// "none", "rcm", "band-k": rows and columns are renumbered, by the host, and the whole solve
  /// stays in that order: b and x are permuted once.
  std::string order = "none";
  std::string storage = "planned"; ///< "csr": as it is; "background": planned while it iterates
  bool throws = true;
};

/// Names that `method` and `preconditioner` take, "auto" first.
LACUNA_EXPORT std::vector<std::string> solver_methods();
LACUNA_EXPORT std::vector<std::string> solver_preconditioners();

/// What solve() picks for a matrix, and why. A pure function.
struct solver_choice {
  krylov_method method = krylov_method::cg;
  std::string preconditioner; ///< by name
  std::vector<std::string> reasons;
};
/// method, preconditioner: as in solve_options. linear, symmetric: of a preconditioner that was
/// given. Throws bad_input for names that there are not.
LACUNA_EXPORT solver_choice choose_solver(const system_features& a, const std::string& method,
                                          const std::string& preconditioner, bool linear = true,
                                          bool symmetric = true);

namespace detail {
template <class T, class I, class O, space S>
LACUNA_EXPORT solve_report solve_csr(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                     dense_view<const T, S> b, dense_view<T, S> x,
                                     const solve_options<T, S>& options);

/// As a csr of the widths that solvers are compiled for.
template <space S, class A, class F>
auto with_solver_csr(const context<S>& ctx, const A& a, F&& f) {
  const auto view = const_view(a);
  using V = std::remove_const_t<decltype(view)>;
  if constexpr (!requires {
                  view.rowptr();
                  view.colind();
                }) {
    return with_solver_csr(ctx, to_csr(ctx, a), f);
  } else {
    using I = typename V::index_type;
    using O = typename V::offset_type;
    if constexpr (std::is_same_v<I, O>) {
      return f(csr_view<const typename V::scalar_type, I, O, S>(view));
    } else {
      const auto wide = cast<void, std::int64_t, std::int64_t>(ctx, view);
      return f(wide.view());
    }
  }
}
} // namespace detail

/// b and x: vectors, or dense matrices of several columns. Throws not_solved, size_mismatch,
/// bad_input (a name that is none; a zero on the diagonal where the preconditioner that was asked
/// for divides by it), out_of_memory, device_error. Waits.
template <space S, class A, class B, class X>
solve_report solve(const context<S>& ctx, const A& a, const B& b, X&& x,
                   const solve_options<detail::element_type<X>, S>& options = {}) {
  using T = detail::element_type<X>;
  static_assert(detail::is_writable<X>,
                "lacuna: the result must be writable and must outlive the call");
  const auto b_view = detail::as_columns(detail::const_view(b));
  const auto x_view = detail::as_columns(detail::mutable_view(std::forward<X>(x)));
  detail::require_same_space<S, decltype(b_view), decltype(x_view)>();
  detail::require_same_value<T, decltype(b_view)>();
  return detail::with_solver_csr(ctx, a, [&](auto matrix) {
    return detail::solve_csr(ctx, matrix, dense_view<const T, S>(b_view), dense_view<T, S>(x_view),
                             options);
  });
}

template <class T, space S> struct solution {
  array<T, S> x;
  solve_report report;
};
/// From 0, for one right-hand side.
template <space S, class A, class B>
auto solve(const context<S>& ctx, const A& a, const B& b,
           const solve_options<detail::element_type<B>, S>& options = {}) {
  using T = detail::element_type<B>;
  solution<T, S> result{array<T, S>(ctx, detail::const_view(a).shape().col), {}};
  fill(ctx, 0, result.x);
  result.report = solve(ctx, a, b, result.x, options);
  return result;
}

} // namespace lacuna
