// Chebyshev's polynomial in D^-1 A as a preconditioner, D the diagonal of A: no dot products, and
// as many terms as `degree` says.
//
//   const chebyshev m(ctx, a, {.degree = 4});
//   m.apply(ctx, r, z);                           degree - 1 products with A, from z = 0
//   m.update_values(ctx, a);                      the same pattern, other values
//
// For symmetric A with a positive diagonal M is symmetric, and positive definite where the
// eigenvalues of D^-1 A lie between 0 and the upper end. That is 1.1 times the estimated spectral
// radius, which comes from below; the lower end is a fraction of it. As a smoother take 0.25 to
// 0.3; the default is for CG alone.
//
// Products go by a plan (plan/plan.hpp), which may look at A's arrays: A lives, unchanged, as long
// as this does or until update_values. One caller at a time.
#pragma once

#include <memory>

#include <lacuna/solver/jacobi.hpp>
#include <lacuna/solver/spectral_radius.hpp>

namespace lacuna {

struct chebyshev_options {
  int degree = 3;               ///< 1 or more; 1 is Jacobi's, damped
  double lower_fraction = 0.03; ///< of the upper end, in (0, 1)
  double radius = 0;            ///< of D^-1 A if it is known; 0: it is estimated
  spectral_radius_options estimate{};
};

namespace detail {
/// A matrix that is kept for products, whatever its index types.
template <class T, space S> class LACUNA_EXPORT kept_matrix {
public:
  virtual ~kept_matrix() = default;
  kept_matrix(const kept_matrix&) = delete;
  kept_matrix& operator=(const kept_matrix&) = delete;
  /// y = alpha A x + beta y, queued on ctx's stream.
  virtual void multiply(const context<S>& ctx, double alpha, vector_view<const T, S> x, double beta,
                        vector_view<T, S> y) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;

protected:
  kept_matrix() = default;
};
template <class T, class I, class O, space S>
LACUNA_EXPORT std::unique_ptr<kept_matrix<T, S>> keep_matrix(const context<S>& ctx,
                                                             csr_view<const T, I, O, S> a);
/// Throws bad_input if the matrix was kept with other index types, size_mismatch if sizes differ.
template <class T, class I, class O, space S>
LACUNA_EXPORT void update_kept(kept_matrix<T, S>& kept, csr_view<const T, I, O, S> a);
} // namespace detail

template <class T, space S = space::host>
class LACUNA_EXPORT chebyshev final : public preconditioner<T, S> {
public:
  /// A is a csr. Throws what jacobi and estimate_spectral_radius throw, and bad_input if degree,
  /// lower_fraction or radius make no sense. Waits for the device.
  template <class A>
  chebyshev(const context<S>& ctx, A&& a, const chebyshev_options& options = {}) {
    detail::require_named<A>();
    require(options);
    options_ = options;
    const auto view = view_of(a);
    auto made = look_at(ctx, view);
    matrix_ = detail::keep_matrix(ctx, view);
    step_ = array<T, S>(ctx, size_of(view));
    residual_ = array<T, S>(ctx, size_of(view));
    take(std::move(made));
  }
  /// Looks at `a` from now on; its spectral radius is estimated again unless options.radius gave
  /// it. Throws as the constructor, size_mismatch if the number of entries differs; then nothing
  /// has changed.
  template <class A> void update_values(const context<S>& ctx, A&& a) {
    detail::require_named<A>();
    const auto view = view_of(a);
    detail::require_same_size("chebyshev: update_values", "rows of A", size_of(view), "rows before",
                              size());
    auto made = look_at(ctx, view);
    detail::update_kept(*matrix_, view);
    take(std::move(made));
  }

  /// The spectral radius that the upper end was made of.
  [[nodiscard]] double radius() const { return radius_; }
  [[nodiscard]] std::int64_t size() const override { return inverse_.size(); }
  void apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const override;
  [[nodiscard]] std::string name() const override { return "chebyshev"; }
  [[nodiscard]] std::size_t bytes() const override {
    return inverse_.bytes() + step_.bytes() + residual_.bytes() + matrix_->bytes();
  }

private:
  struct findings {
    array<T, S> inverse;
    double radius;
  };
  template <class A> static auto view_of(const A& a) {
    const auto view = detail::const_view(a);
    detail::require_same_space<S, decltype(view)>();
    detail::require_solver_types<A>();
    static_assert(std::is_same_v<typename decltype(view)::scalar_type, T>,
                  "lacuna: operands differ in value type (float, double); use cast");
    return view;
  }
  template <class View> static std::int64_t size_of(const View& a) { return a.shape().row; }
  template <class View> findings look_at(const context<S>& ctx, const View& a) const {
    findings made{detail::square_diagonal(ctx, "chebyshev", a), options_.radius};
    detail::invert_diagonal<T, S>(ctx, "chebyshev", 1, made.inverse.view(), made.inverse.view());
    if (made.radius == 0) made.radius = estimate_spectral_radius(ctx, a, options_.estimate);
    return made;
  }
  static void require(const chebyshev_options& options);
  void take(findings made) {
    inverse_ = std::move(made.inverse);
    radius_ = made.radius;
  }

  chebyshev_options options_;
  double radius_ = 0;
  array<T, S> inverse_; // 1 / a_ii
  std::unique_ptr<detail::kept_matrix<T, S>> matrix_;
  mutable array<T, S> step_, residual_; // apply's
};
template <space S, class A>
chebyshev(const context<S>&, const A&, const chebyshev_options& = {})
    -> chebyshev<detail::matrix_value<A>, S>;

} // namespace lacuna
