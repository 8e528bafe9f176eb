// Internal: what a scalar program does, on the host and in device code alike.
#pragma once

#include <cmath>

#include <lacuna/op/scalars.hpp>

#ifdef __CUDACC__
#define LACUNA_BOTH_SIDES __host__ __device__
#else
#define LACUNA_BOTH_SIDES
#endif

namespace lacuna::detail {

LACUNA_BOTH_SIDES inline bool is_finite_number(double v) { return v - v == 0; }

/// Ends the column unless it has ended: at once (phase 2), or with this iteration (1).
LACUNA_BOTH_SIDES inline void end_column(double* s, double phase, int reason) {
  if (s[rule_slot::phase] != 0) return;
  s[rule_slot::phase] = phase;
  s[rule_slot::reason] = reason;
}

LACUNA_BOTH_SIDES inline void test_norm(double* s, double norm, double* history,
                                        std::int64_t capacity) {
  using namespace rule_slot;
  if (s[phase] != 0) return;
  s[iteration] += 1;
  s[rule_slot::norm] = norm;
  const auto at = static_cast<std::int64_t>(s[iteration]);
  if (at < capacity) history[at] = norm;
  if (!is_finite_number(norm)) return end_column(s, 2, static_cast<int>(stop_reason::nan));
  if (norm < 0.99 * s[best]) {
    s[best] = norm;
    s[since] = 0;
  } else {
    s[since] += 1;
  }
  if (norm <= s[target]) return end_column(s, 1, static_cast<int>(stop_reason::converged));
  if (s[iteration] >= s[limit])
    return end_column(s, 1, static_cast<int>(stop_reason::iteration_limit));
  if (s[since] >= s[window]) end_column(s, 1, static_cast<int>(stop_reason::stagnation));
}

LACUNA_BOTH_SIDES inline void run_step(scalar_step step, double* s, double* history,
                                       std::int64_t capacity) {
  using kind = scalar_step::kind;
  const double left = s[step.left];
  switch (step.what) {
  case kind::copy: s[step.to] = left; break;
  case kind::negate: s[step.to] = -left; break;
  case kind::add: s[step.to] = left + s[step.right]; break;
  case kind::subtract: s[step.to] = left - s[step.right]; break;
  case kind::multiply: s[step.to] = left * s[step.right]; break;
  case kind::divide: s[step.to] = left == 0 && s[step.right] == 0 ? 0 : left / s[step.right]; break;
  case kind::square_root: s[step.to] = left < 0 ? left : sqrt(left); break;
  case kind::larger: s[step.to] = left < s[step.right] ? s[step.right] : left; break;
  case kind::power_of_two: s[step.to] = ldexp(1.0, step.right); break;
  case kind::begin:
    if (s[rule_slot::phase] == 1) s[rule_slot::phase] = 2;
    break;
  case kind::stop_test: test_norm(s, left, history, capacity); break;
  case kind::halt_unless_positive:
    if (!is_finite_number(left))
      end_column(s, 2, static_cast<int>(stop_reason::nan));
    else if (left < 0)
      end_column(s, 2, step.right);
    else if (left == 0 && step.to != 0)
      end_column(s, 2, step.to);
    break;
  case kind::end_unless_positive:
    if (!(left > 0)) end_column(s, 1, step.right);
    break;
  case kind::halt_if_zero:
    if (!is_finite_number(left))
      end_column(s, 2, static_cast<int>(stop_reason::nan));
    else if (left == 0)
      end_column(s, 2, step.right);
    break;
  }
}

/// Steps after one that ended the column at once are not run.
LACUNA_BOTH_SIDES inline void run_steps(const scalar_program& program, bool may_stop, double* s,
                                        double* history, std::int64_t capacity) {
  for (int k = 0; k < program.count; ++k) {
    run_step(program.steps[k], s, history, capacity);
    if (may_stop && s[rule_slot::phase] == 2) return;
  }
}

/// What the host may look at while iterations are queued. The iteration is written last.
LACUNA_BOTH_SIDES inline void show_column(const double* s, volatile double* mirror) {
  if (mirror == nullptr) return;
  const auto at = static_cast<std::int64_t>(s[rule_slot::iteration]);
  mirror[3 + at % scalar_block::ring] = s[rule_slot::norm];
  mirror[1] = s[rule_slot::reason];
  mirror[0] = s[rule_slot::phase];
#ifdef __CUDA_ARCH__
  __threadfence_system();
#endif
  mirror[2] = s[rule_slot::iteration];
}

} // namespace lacuna::detail
