// Internal: the least squares of tuning.
#pragma once

#include <array>
#include <vector>

namespace lacuna::fitting {

constexpr int unknowns = 5;

/// One equation: the sum of factor[i] x[i] should be `right`.
struct equation {
  std::array<double, unknowns> factor;
  double right = 1;
};

/// The x of non-negative elements for which the squares of what the sums differ from `right` add up
/// to the least. Tries all 32 sets of unknowns that are not 0: exact, and never stuck. Where
/// several sets are as good the smaller one counts, else the one with earlier unknowns.
std::array<double, unknowns> solve_nonnegative(const std::vector<equation>& equations);

struct log_point {
  double x, y;
};
/// y = a - b ln x with the least squares, b at least 0.
struct log_line {
  double a = 0, b = 0;
};
log_line fit_log(const std::vector<log_point>& points);

/// 0 of none.
double median(std::vector<double> values);
/// Of positive values; 1 of none.
double geometric_mean(const std::vector<double>& values);

} // namespace lacuna::fitting
