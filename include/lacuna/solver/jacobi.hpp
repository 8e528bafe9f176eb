// Jacobi's preconditioner: z = damping D^-1 r, D the diagonal of A.
//
//   const jacobi m(ctx, a);                       or std::make_shared<jacobi<double>>(ctx, a)
//   m.apply(ctx, r, z);
//   m.update_values(ctx, a);                      other values of A
//
// A is not looked at afterwards. Symmetric always; positive definite if the diagonal is positive.
#pragma once

#include <lacuna/op/diagonal.hpp>
#include <lacuna/op/elementwise.hpp>
#include <lacuna/solver/preconditioner.hpp>

namespace lacuna {

struct jacobi_options {
  double damping = 1; ///< 2/3 and the like where it is a smoother
};

namespace detail {
/// d becomes damping / d. Throws bad_input that names the first row where it is 0 or not finite;
/// waits for the device.
template <class T, space S>
LACUNA_EXPORT divisors invert_diagonal(const context<S>& ctx, const char* op, double damping,
                                       vector_view<const T, S> d, vector_view<T, S> inverse);
LACUNA_EXPORT void require_damping(double damping);

/// The diagonal of a square matrix.
template <space S, class A>
auto square_diagonal(const context<S>& ctx, const char* op, const A& a) {
  const auto view = const_view(a);
  require_same_space<S, decltype(view)>();
  require_same_size(op, "rows of A", view.shape().row, "columns of A", view.shape().col);
  return diagonal(ctx, view);
}
template <class A> using matrix_value = typename const_view_t<A>::scalar_type;
} // namespace detail

template <class T, space S = space::host>
class LACUNA_EXPORT jacobi final : public preconditioner<T, S> {
public:
  /// Throws size_mismatch if A (csr or csc) is not square, bad_input that names the first row whose
  /// diagonal is not stored, 0 or not finite, or if damping is not positive. Waits for the device.
  template <class A> jacobi(const context<S>& ctx, const A& a, const jacobi_options& options = {}) {
    static_assert(std::is_same_v<detail::matrix_value<A>, T>,
                  "lacuna: operands differ in value type (float, double); use cast");
    detail::require_damping(options.damping);
    options_ = options;
    set(ctx, detail::square_diagonal(ctx, "jacobi", a));
  }
  /// A matrix of the same size. Throws as the constructor; then nothing has changed.
  template <class A> void update_values(const context<S>& ctx, const A& a) {
    auto d = detail::square_diagonal(ctx, "jacobi", a);
    detail::require_same_size("jacobi: update_values", "rows of A", d.size(), "rows before",
                              size());
    set(ctx, std::move(d));
  }

  [[nodiscard]] std::int64_t size() const override { return inverse_.size(); }
  void apply(const context<S>& ctx, vector_view<const T, S> r, vector_view<T, S> z) const override;
  [[nodiscard]] std::string name() const override { return "jacobi"; }
  [[nodiscard]] std::size_t bytes() const override { return inverse_.bytes(); }

private:
  void set(const context<S>& ctx, array<T, S> d);

  jacobi_options options_;
  array<T, S> inverse_; // damping / a_ii
};
template <space S, class A>
jacobi(const context<S>&, const A&, const jacobi_options& = {})
    -> jacobi<detail::matrix_value<A>, S>;

} // namespace lacuna
