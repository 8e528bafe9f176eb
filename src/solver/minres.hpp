// MINRES (Paige and Saunders 1975) in the form of Elman, Silvester and Wathen (2014,
// algorithm 4.1), without the division of z by gamma: factors carry it. |eta| is the residual's
// norm, measured by M; it is reported times what makes the first one the Euclidean.
#pragma once

#include "solver/krylov_frame.hpp"

namespace lacuna::solving {

template <class T, space S> struct minres_method {
  enum : int {
    uq = rule_slot::first_free,
    square,
    gamma,
    gamma_old,
    gamma_new,
    delta,
    eta,
    cosine,
    cosine_old,
    sine,
    sine_old,
    one,
    inverse,
    by_v,
    by_v_old,
    a0,
    a1,
    a2,
    a3,
    t,
    by_u,
    by_w,
    by_w_old,
    tau,
    x_by_u,
    x_by_w,
    x_by_w_old,
    unit,
    norm,
    reach,
    size, ///< the largest a1: what rounding is measured by
    tiny, ///< |A r| / |A| |r| of 1e-9 (float: 1e-5): x would only grow
    slots
  };
  using view = dense_view<T, S>;
  krylov_frame<T, S>& f;
  view v, v_old, w, w_old, u, u_new;

  explicit minres_method(krylov_frame<T, S>& frame)
      : f(frame), v(f.r), v_old(f.vectors()), w(f.vectors()), w_old(f.vectors()) {
    u = f.m != nullptr ? f.vectors() : v;
    u_new = f.m != nullptr ? f.vectors() : v_old;
  }

  void start() {
    if (f.m != nullptr) f.precondition(v, u);
    f.clear(v_old);
    f.clear(w);
    f.clear(w_old);
    dots<T, S>(
        f.ctx, f.s, {{u, v, square}},
        {step::halt_unless_positive(square, stop_reason::indefinite, stop_reason::breakdown_rho),
         step::divide(one, square, square), step::square_root(gamma, square),
         step::copy(gamma_old, one), step::copy(eta, gamma), step::copy(cosine, one),
         step::copy(cosine_old, one), step::divide(unit, rule_slot::norm, gamma),
         step::power_of_two(tiny, sizeof(T) == 8 ? -30 : -17)});
  }

  void iterate_once() {
    using enum stop_reason;
    f.multiply(u, f.q);
    dots<T, S>(f.ctx, f.s, {{u, f.q, uq}},
               {step::begin_iteration(), step::multiply(t, gamma, gamma),
                step::divide(delta, uq, t), step::divide(inverse, one, gamma),
                step::divide(by_v, delta, gamma), step::divide(by_v_old, gamma, gamma_old)});
    const scalar_program rotate = {
        step::halt_unless_positive(square, indefinite, none), step::square_root(gamma_new, square),
        step::multiply(a0, cosine, delta), step::multiply(t, cosine_old, sine),
        step::multiply(t, t, gamma), step::subtract(a0, a0, t), step::multiply(a1, a0, a0),
        step::multiply(reach, cosine, gamma_new), step::multiply(reach, reach, reach),
        step::add(reach, reach, a1), step::square_root(reach, reach), step::add(a1, a1, square),
        step::square_root(a1, a1),
        // |A r| over |r|: the residual before this step is what A does not reach.
        step::larger(size, size, a1), step::multiply(t, size, tiny), step::subtract(t, reach, t),
        step::halt_unless_positive(t, breakdown_pivot, breakdown_pivot),
        step::multiply(a2, sine, delta), step::multiply(t, cosine_old, cosine),
        step::multiply(t, t, gamma), step::add(a2, a2, t), step::multiply(a3, sine_old, gamma),
        step::copy(cosine_old, cosine), step::divide(cosine, a0, a1), step::copy(sine_old, sine),
        step::divide(sine, gamma_new, a1), step::divide(by_u, inverse, a1),
        step::divide(by_w, a2, a1), step::divide(by_w_old, a3, a1),
        step::multiply(tau, cosine, eta), step::multiply(eta, sine, eta), step::negate(eta, eta),
        step::multiply(x_by_u, tau, by_u), step::multiply(x_by_w, tau, by_w),
        step::multiply(x_by_w_old, tau, by_w_old), step::copy(gamma_old, gamma),
        step::copy(gamma, gamma_new), step::multiply(norm, eta, eta), step::square_root(norm, norm),
        step::multiply(norm, norm, unit), step::stop_test(norm),
        // The directions are all there are.
        step::multiply(t, size, tiny), step::subtract(t, gamma, t),
        step::end_unless_positive(t, breakdown_pivot)};
    const std::vector<linear_combination<T, S>> next_v = {
        {v_old, {{f.q, times(inverse)}, {v, times_minus(by_v)}, {v_old, times_minus(by_v_old)}}}};
    if (f.m == nullptr) {
      combine<T, S>(f.ctx, f.s, next_v, {.square = square}, rotate);
    } else {
      combine<T, S>(f.ctx, f.s, next_v);
      f.precondition(v_old, u_new);
      dots<T, S>(f.ctx, f.s, {{u_new, v_old, square}}, rotate);
    }
    combine<T, S>(
        f.ctx, f.s,
        {{f.x,
          {{f.x}, {u, times(x_by_u)}, {w, times_minus(x_by_w)}, {w_old, times_minus(x_by_w_old)}}},
         {w_old, {{u, times(by_u)}, {w, times_minus(by_w)}, {w_old, times_minus(by_w_old)}}}});
    std::swap(v, v_old);
    std::swap(u, u_new);
    std::swap(w, w_old);
  }

  /// Two, so that every vector is back in its place.
  void iterate() {
    iterate_once();
    iterate_once();
  }
};

} // namespace lacuna::solving
