// estimate_spectral_radius(ctx, a): the largest |eigenvalue| of D^-1 A, D the diagonal of A.
//
//   const double rho = estimate_spectral_radius(ctx, a, {.iterations = 15});
//
// From random numbers that follow from the seed: the same bits every time. For symmetric A with a
// diagonal of one sign by Lanczos' method in D's inner product, where the estimate comes from below
// and ten products are within a few percent; otherwise by power iteration, which may be further
// off. A product, a pass over three vectors and one wait for the device per iteration.
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna {

struct spectral_radius_options {
  int iterations = 10; ///< products with A, 1 or more
  std::uint64_t seed = 1;
  bool symmetric = true; ///< A is
};

namespace detail {
/// For 32-bit columns and offsets, and 64-bit ones. d: the diagonal, inverse: 1 / d.
template <class T, class I, class O, space S>
LACUNA_EXPORT double spectral_radius(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                     const spectral_radius_options& options);

/// What solvers are compiled for.
template <class A> constexpr void require_solver_types() {
  using V = const_view_t<A>;
  static_assert(std::is_same_v<typename V::index_type, typename V::offset_type>,
                "lacuna: solvers take a csr whose columns and offsets are equally wide; use cast");
}
} // namespace detail

/// A is a csr. Throws size_mismatch if it is not square; bad_input that names the first row whose
/// diagonal is not stored, 0 or not finite, if the matrix has values that are not finite, or if
/// iterations is below 1. 0 if A has no rows.
template <space S, class A>
double estimate_spectral_radius(const context<S>& ctx, const A& a,
                                const spectral_radius_options& options = {}) {
  using V = detail::const_view_t<A>;
  detail::require_same_space<S, V>();
  detail::require_solver_types<A>();
  return detail::spectral_radius<typename V::scalar_type, typename V::index_type,
                                 typename V::offset_type, S>(ctx, detail::const_view(a), options);
}
template <class A>
  requires(!detail::is_context<A>)
double estimate_spectral_radius(const A& a, const spectral_radius_options& options = {}) {
  return estimate_spectral_radius(detail::default_context_for<A>(), a, options);
}

} // namespace lacuna
