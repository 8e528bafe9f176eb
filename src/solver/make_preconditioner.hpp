// Internal: preconditioners by name. A new one is a name in preconditioner_names and a line in
// make_preconditioner(); when it is picked unasked is choose_solver.cpp's.
#pragma once

#include <lacuna/solver/amg.hpp>
#include <lacuna/solver/block_jacobi.hpp>
#include <lacuna/solver/chebyshev.hpp>
#include <lacuna/solver/ilu.hpp>
#include <lacuna/solver/solve.hpp>

namespace lacuna::solving {

inline constexpr const char* preconditioner_names[] = {
    "none", "jacobi", "block_jacobi", "chebyshev", "ilu0", "ic0", "amg"};

/// Of A, which lives as long: null for "none".
template <class T, class I, class O, space S>
preconditioner_ptr<T, S> make_preconditioner(const context<S>& ctx, const std::string& name,
                                             csr_view<const T, I, O, S> a) {
  if (name == "jacobi") return std::make_shared<jacobi<T, S>>(ctx, a);
  if (name == "block_jacobi") return std::make_shared<block_jacobi<T, S>>(ctx, a);
  if (name == "chebyshev") return std::make_shared<chebyshev<T, S>>(ctx, a);
  if (name == "ilu0") return std::make_shared<ilu0<T, S>>(ctx, a);
  if (name == "ic0") return std::make_shared<ic0<T, S>>(ctx, a);
  if (name == "amg") return std::make_shared<amg<T, S>>(ctx, a);
  return nullptr;
}

/// m, if it is a hierarchy in float for a method in double; else null.
template <class T, space S> const amg_mixed<S>* hierarchy_in_float(const preconditioner<T, S>* m) {
  return dynamic_cast<const amg_mixed<S>*>(m);
}

/// IC(0) with the first of these shifts that leaves positive pivots; null if none does.
template <class T, class I, class O, space S>
preconditioner_ptr<T, S> make_shifted_ic0(const context<S>& ctx, csr_view<const T, I, O, S> a,
                                          double& shift) {
  for (const double s : {0.0, 1e-3, 1e-2, 1e-1}) {
    shift = s;
    try {
      return std::make_shared<ic0<T, S>>(ctx, a, ilu_options{.shift = s});
    } catch (const bad_input&) { // a pivot that is not positive, or a diagonal that is not stored
    }
  }
  return nullptr;
}

/// Levels of a hierarchy, if it is one.
template <class T, space S>
void report_levels(const preconditioner<T, S>* m, solve_report& report) {
  const amg_report* found = nullptr;
  if (const auto* const in_float = hierarchy_in_float(m))
    found = &in_float->hierarchy().report();
  else if (const auto* const hierarchy = dynamic_cast<const amg<T, S>*>(m))
    found = &hierarchy->report();
  if (found == nullptr) return;
  for (const amg_level_report& level : found->levels)
    report.levels.push_back({level.rows, level.entries});
  report.operator_complexity = found->operator_complexity;
}

} // namespace lacuna::solving
