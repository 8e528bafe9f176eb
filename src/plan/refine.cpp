#include "plan/refine.hpp"

#include <cmath>

#include "plan/work.hpp"

namespace lacuna::fitting {
namespace {

/// What a prediction's error counts for, against the same share of time lost by a choice.
constexpr double weight_of_errors = 0.05;

double loss(const spmv_machine& m, const std::vector<measured_choice>& choices) {
  double lost = 0, errors = 0;
  std::size_t count = 0;
  for (const measured_choice& all : choices) {
    double least = 0, chosen = 0, fastest = 0;
    for (const measured_candidate& c : all) {
      const double predicted = m.of(c.kernel).seconds(c.work);
      const double rank = predicted * (c.csr ? planning::least_gain : 1);
      if (chosen == 0 || rank < least) {
        least = rank;
        chosen = c.seconds;
      }
      if (fastest == 0 || c.seconds < fastest) fastest = c.seconds;
      errors += std::abs(std::log(predicted / c.seconds));
      ++count;
    }
    lost += std::log(chosen / fastest);
  }
  return lost / static_cast<double>(choices.size()) +
         weight_of_errors * errors / static_cast<double>(count);
}

} // namespace

void refine_costs(spmv_machine& m, const std::vector<measured_choice>& choices) {
  if (choices.empty()) return;
  double least = loss(m, choices);
  if (!std::isfinite(least)) return;
  for (const double factor : {1.3, 1.3, 1.1, 1.1, 1.03})
    for (auto& [kernel, cost] : m.cost)
      for (double spmv_cost::*const field :
           {&spmv_cost::fixed, &spmv_cost::stream, &spmv_cost::gather, &spmv_cost::row,
            &spmv_cost::entry}) {
        const double before = cost.*field;
        double best = before;
        for (const double tried : {before * factor, before / factor}) {
          cost.*field = tried;
          if (const double now = loss(m, choices); now < least) {
            least = now;
            best = tried;
          }
        }
        cost.*field = best;
      }
}

} // namespace lacuna::fitting
