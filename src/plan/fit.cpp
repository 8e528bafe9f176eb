#include "plan/fit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

namespace lacuna::fitting {
namespace {

using column = std::vector<double>;
using solution = std::array<double, unknowns>;

double dot(const column& a, const column& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
void subtract(column& from, double factor, const column& what) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * what[i];
}

/// A solution with only the unknowns of `set`, by Gram-Schmidt, and what it leaves.
struct partial_solution {
  solution x{};
  double rest = 0; ///< sum of squares
};

/// Nothing if the columns depend on each other or an element would be negative. Columns have
/// length 1.
std::optional<partial_solution> solve(const std::array<column, unknowns>& columns,
                                      const column& wanted, unsigned set) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < unknowns; ++i)
    if ((set >> i & 1) != 0) members.push_back(i);
  column rest = wanted;
  std::vector<column> basis;
  std::array<std::array<double, unknowns>, unknowns> r{};
  solution right{};
  for (std::size_t k = 0; k < members.size(); ++k) {
    column q = columns[members[k]];
    for (int twice = 0; twice < 2; ++twice) // once leaves rounding errors of nearly parallel ones
      for (std::size_t j = 0; j < k; ++j) {
        const double along = dot(basis[j], q);
        r[j][k] += along;
        subtract(q, along, basis[j]);
      }
    r[k][k] = std::sqrt(dot(q, q));
    if (!(r[k][k] > 1e-7)) return {};
    for (double& v : q) v /= r[k][k];
    right[k] = dot(q, rest);
    subtract(rest, right[k], q);
    basis.push_back(std::move(q));
  }
  partial_solution result;
  for (std::size_t k = members.size(); k-- > 0;) {
    double sum = right[k];
    for (std::size_t j = k + 1; j < members.size(); ++j) sum -= r[k][j] * result.x[members[j]];
    result.x[members[k]] = sum / r[k][k];
    if (result.x[members[k]] < 0) return {};
  }
  result.rest = dot(rest, rest);
  return result;
}

} // namespace

solution solve_nonnegative(const std::vector<equation>& equations) {
  if (equations.empty()) return {};
  // The columns differ by orders of magnitude: each is brought to length 1.
  std::array<column, unknowns> columns;
  solution length{};
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (const equation& e : equations) columns[i].push_back(e.factor[i]);
    length[i] = std::sqrt(dot(columns[i], columns[i]));
    if (length[i] > 0)
      for (double& v : columns[i]) v /= length[i];
  }
  std::vector<unsigned> sets(1U << unknowns);
  std::iota(sets.begin(), sets.end(), 0U);
  std::stable_sort(sets.begin(), sets.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  column wanted;
  for (const equation& e : equations) wanted.push_back(e.right);
  const double all = dot(wanted, wanted);
  partial_solution best{{}, all};
  for (const unsigned set : sets)
    if (const auto candidate = solve(columns, wanted, set);
        candidate && candidate->rest < best.rest - 1e-14 * all)
      best = *candidate;
  for (std::size_t i = 0; i < unknowns; ++i)
    if (length[i] > 0) best.x[i] /= length[i];
  return best.x;
}

log_line fit_log(const std::vector<log_point>& points) {
  if (points.empty()) return {};
  const auto count = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (const log_point& p : points) {
    mean_x += std::log(p.x) / count;
    mean_y += p.y / count;
  }
  for (const log_point& p : points) {
    const double dx = std::log(p.x) - mean_x;
    xx += dx * dx;
    xy += dx * (p.y - mean_y);
  }
  const double b = xx > 1e-12 * count ? std::max(0.0, -xy / xx) : 0;
  return {mean_y + b * mean_x, b};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

} // namespace lacuna::fitting
