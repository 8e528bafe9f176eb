// Internal: the thresholds that tuning searches, and what it tries for each.
#pragma once

#include <vector>

#include <lacuna/plan/machine.hpp>

namespace lacuna::fitting {

struct threshold {
  void (*set)(spmv_machine& m, double value);
  std::vector<double> candidates;
};
/// In the order of the search.
const std::vector<threshold>& thresholds();

/// A machine that may put rows in order wherever any candidate would.
spmv_machine with_most_padding(spmv_machine m);

} // namespace lacuna::fitting
