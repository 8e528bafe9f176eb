// Conjugate gradients (Hestenes and Stiefel 1952), and the flexible form for preconditioners that
// vary (Notay 2000, one direction kept).
//
// Vectors read and written by an iteration beside the product's own two, without a preconditioner:
// p q | r q r | x p r x p: 10, the fewest there can be if x is not put off; with one, 2 more and
// what M moves. x is updated with the next direction, when p is read anyway.
#pragma once

#include "solver/krylov_frame.hpp"

namespace lacuna::solving {

template <class T, space S, bool Flexible> struct cg_method {
  enum : int { pq = rule_slot::first_free, rho, alpha, beta, rr, norm, rz, zq, slots };
  using view = dense_view<T, S>;
  krylov_frame<T, S>& f;
  view p, z;

  explicit cg_method(krylov_frame<T, S>& frame) : f(frame), p(f.vectors()) {
    z = f.m != nullptr ? f.vectors() : f.r;
  }

  void start() {
    if (f.m != nullptr) f.precondition(f.r, z);
    combine<T, S>(f.ctx, f.s, {{p, {{z}}}});
    dots<T, S>(
        f.ctx, f.s, {{f.r, z, rho}},
        {step::halt_unless_positive(rho, stop_reason::indefinite, stop_reason::breakdown_rho)});
  }

  void iterate() {
    using enum stop_reason;
    f.multiply(p, f.q);
    dots<T, S>(f.ctx, f.s, {{p, f.q, pq}},
               {step::begin_iteration(),
                step::halt_unless_positive(pq, indefinite, breakdown_pivot),
                step::divide(alpha, rho, pq)});
    const typename std::vector<linear_combination<T, S>> next_r = {
        {f.r, {{f.r}, {f.q, times_minus(alpha)}}}};
    if (f.m == nullptr) {
      combine<T, S>(f.ctx, f.s, next_r, {.square = rr},
                    {step::square_root(norm, rr), step::stop_test(norm),
                     step::divide(beta, rr, rho), step::copy(rho, rr)});
    } else {
      combine<T, S>(f.ctx, f.s, next_r, {.square = rr},
                    {step::square_root(norm, rr), step::stop_test(norm)});
      f.precondition(f.r, z);
      if constexpr (Flexible) // A-orthogonal to the direction before, whatever M was
        dots<T, S>(f.ctx, f.s, {{f.r, z, rz}, {z, f.q, zq}},
                   {step::halt_unless_positive(rz, indefinite, breakdown_rho), step::copy(rho, rz),
                    step::divide(beta, zq, pq), step::negate(beta, beta)});
      else
        dots<T, S>(f.ctx, f.s, {{f.r, z, rz}},
                   {step::halt_unless_positive(rz, indefinite, breakdown_rho),
                    step::divide(beta, rz, rho), step::copy(rho, rz)});
    }
    combine<T, S>(f.ctx, f.s, {{f.x, {{f.x}, {p, times(alpha)}}}, {p, {{z}, {p, times(beta)}}}});
  }
};

} // namespace lacuna::solving
