#include "reference/amg.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace lacuna::reference {

std::vector<double> smoothed_prolongator(const triplets& a, const std::vector<int>& aggregate,
                                         int aggregates, double theta, double omega) {
  const auto n = static_cast<std::size_t>(a.shape.row);
  const std::vector<double> full = to_dense(a);
  const auto at = [&](std::size_t i, std::size_t j) { return full[i * n + j]; };
  std::vector<double> p(n * static_cast<std::size_t>(aggregates), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row(n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      const bool keep = i == j || std::abs(at(i, j)) >= theta * std::sqrt(at(i, i) * at(j, j));
      row[keep ? j : i] += at(i, j);
    }
    const double d = row[i];
    for (std::size_t j = 0; j < n; ++j) {
      const double m = (i == j ? 1.0 : 0.0) - omega * row[j] / d;
      if (aggregate[j] >= 0)
        p[i * static_cast<std::size_t>(aggregates) + static_cast<std::size_t>(aggregate[j])] += m;
    }
  }
  return p;
}

std::vector<double> extended_interpolation(const triplets& a, const std::vector<int>& number,
                                           int coarse_rows, double theta) {
  const auto n = static_cast<std::size_t>(a.shape.row), m = static_cast<std::size_t>(coarse_rows);
  const std::vector<double> full = to_dense(a);
  const auto at = [&](std::size_t i, std::size_t j) { return full[i * n + j]; };
  const auto is_coarse = [&](std::size_t i) { return number[i] >= 0; };
  const auto strong = [&](std::size_t i, std::size_t j) {
    double largest = 0;
    for (std::size_t k = 0; k < n; ++k)
      if (k != i) largest = std::max(largest, -at(i, k));
    return i != j && -at(i, j) > 0 && -at(i, j) >= theta * largest;
  };
  // Entries that have the diagonal's sign do not count when a fine row is interpolated itself.
  const auto bar = [&](std::size_t k, std::size_t l) {
    return k != l && at(k, l) < 0 ? at(k, l) : 0;
  };
  std::vector<double> p(n * m, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (is_coarse(i)) {
      p[i * m + static_cast<std::size_t>(number[i])] = 1;
      continue;
    }
    std::set<std::size_t> from;
    for (std::size_t j = 0; j < n; ++j) {
      if (!strong(i, j)) continue;
      if (is_coarse(j)) from.insert(j);
      for (std::size_t k = 0; k < n && !is_coarse(j); ++k)
        if (strong(j, k) && is_coarse(k)) from.insert(k);
    }
    const auto sum_to = [&](std::size_t k) {
      double sum = bar(k, i);
      for (const std::size_t l : from) sum += bar(k, l);
      return sum;
    };
    double diagonal = at(i, i);
    for (std::size_t k = 0; k < n; ++k) {
      if (k == i || from.contains(k)) continue;
      if (!strong(i, k) || is_coarse(k))
        diagonal += at(i, k);
      else
        diagonal += sum_to(k) == 0 ? at(i, k) : at(i, k) * bar(k, i) / sum_to(k);
    }
    for (const std::size_t j : from) {
      double w = at(i, j);
      for (std::size_t k = 0; k < n; ++k)
        if (strong(i, k) && !is_coarse(k) && sum_to(k) != 0) w += at(i, k) * bar(k, j) / sum_to(k);
      p[i * m + static_cast<std::size_t>(number[j])] = -w / diagonal;
    }
  }
  return p;
}

} // namespace lacuna::reference
