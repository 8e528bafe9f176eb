// Internal: costs that choose well. Least squares weigh every prediction alike; what a planner
// needs is that the fastest candidate is also predicted to be.
#pragma once

#include "plan/tuning.hpp"

namespace lacuna::fitting {

/// What one candidate of a matrix was measured to take.
struct measured_candidate {
  std::string kernel;
  bool csr = false;
  spmv_work work;
  double seconds = 0;
};
using measured_choice = std::vector<measured_candidate>; // of one matrix

/// Pattern search from `m`'s costs: each coefficient in turn a little up or down, kept if the
/// choices' lost time and, by far less, the predictions' errors become smaller.
void refine_costs(spmv_machine& m, const std::vector<measured_choice>& choices);

} // namespace lacuna::fitting
