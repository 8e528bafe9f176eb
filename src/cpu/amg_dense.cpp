// The coarsest matrix of a hierarchy, inverted.
#include <algorithm>
#include <cmath>
#include <limits>

#include "solver/amg_engine.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Orthonormal columns (n apart), by Gram-Schmidt twice.
void orthonormalise(int n, std::vector<std::vector<double>>& columns) {
  for (std::size_t q = 0; q < columns.size(); ++q) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t p = 0; p < q; ++p) {
        double along = 0;
        for (int i = 0; i < n; ++i) along += columns[p][i] * columns[q][i];
        for (int i = 0; i < n; ++i) columns[q][i] -= along * columns[p][i];
      }
    double length = 0;
    for (int i = 0; i < n; ++i) length += columns[q][i] * columns[q][i];
    length = std::sqrt(length);
    for (int i = 0; i < n; ++i) columns[q][i] = length > 0 ? columns[q][i] / length : 0;
  }
}

} // namespace

int dense_inverse(int n, std::vector<double>& a, double least) {
  const auto row = [&](int i) { return a.data() + static_cast<std::size_t>(i) * n; };
  // Sweeps on diagonal pivots after rows were exchanged: the swept rows and columns become the
  // inverse of their block. Exchanges are undone on columns at the end. Of equal candidates a
  // diagonal one is taken, so that symmetric positive matrices need no exchange.
  std::vector<char> swept(n, 0);
  std::vector<std::pair<int, int>> exchanges;
  double limit = -1, good = std::numeric_limits<double>::infinity();
  int rank = 0;
  for (; rank < n; ++rank) {
    int p = -1, q = -1;
    double most = 0;
    for (int i = 0; i < n; ++i)
      if (!swept[i] && std::abs(row(i)[i]) > most) {
        most = std::abs(row(i)[i]);
        p = q = i;
      }
    // All entries are looked at where the diagonal has become small: that is n^2 a step.
    for (int i = 0; i < n; ++i) {
      if (swept[i] || most > good) continue;
      const double* const v = row(i);
      for (int j = 0; j < n; ++j)
        if (!swept[j] && std::abs(v[j]) > most * (1 + 1e-10)) {
          most = std::abs(v[j]);
          p = i;
          q = j;
        }
    }
    if (limit < 0) {
      limit = least * most;
      good = 1e-3 * most;
    }
    if (p < 0 || !(most > limit)) break;
    if (p != q) {
      std::swap_ranges(row(p), row(p) + n, row(q));
      exchanges.emplace_back(p, q);
    }
    double* const pivot = row(q);
    const double by = 1 / pivot[q];
    pivot[q] = 1;
    for (int j = 0; j < n; ++j) pivot[j] *= by;
    for (int i = 0; i < n; ++i) {
      if (i == q) continue;
      double* const v = row(i);
      const double times = v[q];
      if (times == 0) continue;
      v[q] = 0;
      for (int j = 0; j < n; ++j) v[j] -= times * pivot[j];
    }
    swept[q] = 1;
  }
  std::vector<std::vector<double>> right, left; // null vectors, of columns and of rows
  for (int k = 0; k < n; ++k) {
    if (swept[k]) continue;
    std::vector<double> x(n, 0.0), y(n, 0.0);
    x[k] = y[k] = 1;
    for (int i = 0; i < n; ++i)
      if (swept[i]) {
        x[i] = -row(i)[k];
        y[i] = row(k)[i];
      }
    right.push_back(std::move(x));
    left.push_back(std::move(y));
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (!swept[i] || !swept[j]) row(i)[j] = 0;
  for (auto it = exchanges.rbegin(); it != exchanges.rend(); ++it) {
    for (int i = 0; i < n; ++i) std::swap(row(i)[it->first], row(i)[it->second]);
    for (auto& y : left) std::swap(y[it->first], y[it->second]);
  }
  orthonormalise(n, right);
  orthonormalise(n, left);
  for (const auto& x : right) // G - x (x^T G)
    for (int j = 0; j < n; ++j) {
      double along = 0;
      for (int i = 0; i < n; ++i) along += x[i] * row(i)[j];
      for (int i = 0; i < n; ++i) row(i)[j] -= x[i] * along;
    }
  for (const auto& y : left)
    for (int i = 0; i < n; ++i) {
      double along = 0;
      for (int j = 0; j < n; ++j) along += row(i)[j] * y[j];
      for (int j = 0; j < n; ++j) row(i)[j] -= along * y[j];
    }
  return rank;
}

} // namespace lacuna::detail::cpu
