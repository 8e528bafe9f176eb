// Incomplete factors as the textbooks have them, on a dense array with a mask; colours one by one.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "reference/reference.hpp"

namespace lacuna::reference {

std::vector<double> incomplete_factors(const triplets& a, bool symmetric) {
  const auto n = static_cast<std::size_t>(a.shape.row);
  std::vector<long double> f(n * n, 0);
  std::vector<char> stored(n * n, 0);
  for (std::size_t k = 0; k < a.row.size(); ++k) {
    const auto at = static_cast<std::size_t>(a.row[k]) * n + static_cast<std::size_t>(a.col[k]);
    if (symmetric && a.col[k] > a.row[k]) continue;
    f[at] += a.value[k];
    stored[at] = 1;
  }
  if (symmetric) {
    for (std::size_t j = 0; j < n; ++j) { // column by column
      for (std::size_t k = 0; k < j; ++k) f[j * n + j] -= f[j * n + k] * f[j * n + k];
      f[j * n + j] = std::sqrt(f[j * n + j]);
      for (std::size_t i = j + 1; i < n; ++i) {
        if (stored[i * n + j] == 0) continue;
        for (std::size_t k = 0; k < j; ++k) f[i * n + j] -= f[i * n + k] * f[j * n + k];
        f[i * n + j] /= f[j * n + j];
      }
    }
  } else {
    for (std::size_t k = 0; k < n; ++k) // pivot by pivot
      for (std::size_t i = k + 1; i < n; ++i) {
        if (stored[i * n + k] == 0) continue;
        f[i * n + k] /= f[k * n + k];
        for (std::size_t j = k + 1; j < n; ++j)
          if (stored[i * n + j] != 0) f[i * n + j] -= f[i * n + k] * f[k * n + j];
      }
  }
  return {f.begin(), f.end()};
}

std::vector<std::int32_t> colours(const triplets& a, const std::vector<std::uint64_t>& weight) {
  const auto n = static_cast<std::size_t>(a.shape.row);
  std::vector<std::set<std::size_t>> neighbours(n);
  for (std::size_t k = 0; k < a.row.size(); ++k) {
    const auto i = static_cast<std::size_t>(a.row[k]), j = static_cast<std::size_t>(a.col[k]);
    if (i == j) continue;
    neighbours[i].insert(j);
    neighbours[j].insert(i);
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return weight[i] > weight[j]; });
  std::vector<std::int32_t> colour(n, -1);
  for (const std::size_t i : order) {
    std::set<std::int32_t> used;
    for (const std::size_t j : neighbours[i]) used.insert(colour[j]);
    std::int32_t c = 0;
    while (used.contains(c)) ++c;
    colour[i] = c;
  }
  return colour;
}

} // namespace lacuna::reference
