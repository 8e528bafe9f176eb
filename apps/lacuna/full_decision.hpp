// The planner's choice with every candidate: plan() itself looks at no more than it must.
#pragma once

#include "plan/choose.hpp"
#include <lacuna/plan/plan.hpp>

namespace lacuna::app {

/// Of a matrix where the context can reach it.
template <class T, class I, class O, space S>
plan_decision decide_in_full(const context<S>& ctx, const csr<T, I, O, S>& a,
                             const plan_hints& hints, const spmv_machine& machine) {
  auto [heeded, by_environment] = with_environment(hints);
  if (hints.multiplies == 0) heeded.format.clear();
  return choose_plan(find_features(ctx, a), {sizeof(T), sizeof(I), sizeof(O)}, machine, heeded,
                     by_environment);
}

} // namespace lacuna::app
