// BiCGStab (van der Vorst 1992), preconditioned from the right, so that its residual is the true
// one.
#pragma once

#include "solver/krylov_frame.hpp"

namespace lacuna::solving {

template <class T, space S> struct bicgstab_method {
  enum : int {
    rho = rule_slot::first_free,
    rv,
    alpha,
    ts,
    tt,
    omega,
    rr,
    rho_new,
    beta,
    beta_omega,
    t,
    norm,
    slots
  };
  using view = dense_view<T, S>;
  krylov_frame<T, S>& f;
  view shadow, p, v, p_hat, s_hat;

  explicit bicgstab_method(krylov_frame<T, S>& frame)
      : f(frame), shadow(f.vectors()), p(f.vectors()), v(f.vectors()) {
    p_hat = f.m != nullptr ? f.vectors() : p;
    s_hat = f.m != nullptr ? f.vectors() : f.r;
  }

  void start() {
    combine<T, S>(f.ctx, f.s, {{shadow, {{f.r}}}, {p, {{f.r}}}});
    dots<T, S>(f.ctx, f.s, {{f.r, f.r, rho}});
  }

  void iterate() {
    using enum stop_reason;
    if (f.m != nullptr) f.precondition(p, p_hat);
    f.multiply(p_hat, v);
    dots<T, S>(f.ctx, f.s, {{shadow, v, rv}},
               {step::begin_iteration(), step::halt_if_zero(rv, breakdown_pivot),
                step::divide(alpha, rho, rv)});
    combine<T, S>(f.ctx, f.s, {{f.r, {{f.r}, {v, times_minus(alpha)}}}});
    if (f.m != nullptr) f.precondition(f.r, s_hat);
    f.multiply(s_hat, f.q);
    dots<T, S>(f.ctx, f.s, {{f.q, f.r, ts}, {f.q, f.q, tt}}, {step::divide(omega, ts, tt)});
    combine<T, S>(f.ctx, f.s,
                  {{f.x, {{f.x}, {p_hat, times(alpha)}, {s_hat, times(omega)}}},
                   {f.r, {{f.r}, {f.q, times_minus(omega)}}}},
                  {.square = rr, .with = shadow, .product = rho_new},
                  {step::square_root(norm, rr), step::stop_test(norm),
                   step::halt_if_zero(omega, breakdown_omega),
                   step::halt_if_zero(rho_new, breakdown_rho), step::divide(beta, rho_new, rho),
                   step::divide(t, alpha, omega), step::multiply(beta, beta, t),
                   step::multiply(beta_omega, beta, omega), step::copy(rho, rho_new)});
    combine<T, S>(f.ctx, f.s, {{p, {{f.r}, {p, times(beta)}, {v, times_minus(beta_omega)}}}});
  }
};

} // namespace lacuna::solving
