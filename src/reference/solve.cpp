#include <cmath>
#include <stdexcept>
#include <utility>

#include "reference/reference.hpp"

namespace lacuna::reference {

std::vector<double> solve(const triplets& a, const std::vector<double>& b) {
  const auto n = static_cast<std::size_t>(a.shape.row);
  std::vector<std::vector<long double>> m(n, std::vector<long double>(n + 1, 0));
  for (std::size_t k = 0; k < a.value.size(); ++k)
    m[static_cast<std::size_t>(a.row[k])][static_cast<std::size_t>(a.col[k])] += a.value[k];
  for (std::size_t i = 0; i < n; ++i) m[i][n] = b[i];
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    if (m[pivot][k] == 0) throw std::domain_error("reference::solve: the matrix is singular");
    std::swap(m[k], m[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double factor = m[i][k] / m[k][k];
      if (factor == 0) continue;
      for (std::size_t j = k; j <= n; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  std::vector<double> x(n);
  for (std::size_t i = n; i-- > 0;) {
    long double sum = m[i][n];
    for (std::size_t j = i + 1; j < n; ++j) sum -= m[i][j] * x[j];
    x[i] = static_cast<double>(sum / m[i][i]);
  }
  return x;
}

} // namespace lacuna::reference
