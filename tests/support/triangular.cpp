#include "support/triangular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/battery.hpp"

namespace lacuna::test {

triplets make_square(std::int64_t n, std::int64_t per_row, std::uint64_t seed) {
  random_source random(seed);
  triplets a{"square", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < per_row; ++k)
      a.add(i, random.below(n), random.value() / static_cast<double>(per_row));
    a.add(i, i, 2 + random.uniform());
  }
  return a;
}

triplets make_grid(std::int64_t width) {
  random_source random(11);
  triplets a{"grid", width * width, width * width, {}, {}, {}};
  const auto join = [&](std::int64_t i, std::int64_t j) {
    const double v = -0.5 - random.uniform() / 2;
    a.add(i, j, v);
    a.add(j, i, v);
  };
  for (std::int64_t y = 0; y < width; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t i = y * width + x;
      a.add(i, i, 4.5 + random.uniform());
      if (x + 1 < width) join(i, i + 1);
      if (y + 1 < width) join(i, i + width);
    }
  return a;
}

triplets make_layers(std::int64_t layers, std::int64_t width) {
  random_source random(12);
  triplets a{"layers", layers * width, layers * width, {}, {}, {}};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    a.add(i, i, 9 + random.uniform());
    for (int k = 0; i >= width && k < 2; ++k) {
      // One straight below, so that a layer is a level, and one anywhere in the layer below.
      const std::int64_t j = k == 0 ? i - width : (i / width - 1) * width + random.below(width);
      const double v = random.value() / 2;
      a.add(i, j, v);
      a.add(j, i, v);
    }
  }
  return a;
}

namespace {

triplets make_chain(std::int64_t n) {
  triplets a{"chain", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    a.add(i, i, 2);
    if (i > 0) a.add(i, i - 1, 0.75);
    if (i > 0) a.add(i - 1, i, -0.5);
  }
  return a;
}
triplets make_diagonal(std::int64_t n) {
  triplets a{"diagonal", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) a.add(i, i, 1.5 + static_cast<double>(i % 7));
  return a;
}
/// Few levels of many rows: two halves that need each other, and a last row that needs all.
triplets make_wide(std::int64_t n) {
  random_source random(5);
  triplets a{"wide", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    a.add(i, i, 3);
    if (i >= n / 2 && i + 1 < n)
      for (int k = 0; k < 3; ++k) {
        const std::int64_t j = random.below(n / 2);
        a.add(i, j, random.value() / 3);
        a.add(j, i, random.value() / 3);
      }
    if (i + 1 < n) a.add(n - 1, i, 1.0 / static_cast<double>(n));
  }
  return a;
}
triplets make_full(std::int64_t n) {
  random_source random(6);
  triplets a{"full", n, n, {}, {}, {}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a.add(i, j, i == j ? 2 : random.value() / static_cast<double>(n));
  return a;
}
/// Diagonals of several entries, in the middle of unsorted rows.
triplets make_split_diagonal(std::int64_t n) {
  triplets a = make_square(n, 4, 21);
  a.name = "split diagonal";
  for (std::int64_t i = 0; i < n; i += 3) a.add(i, i, 0.5);
  return a;
}

} // namespace

const std::vector<triplets>& triangular_battery() {
  static const std::vector<triplets> all = [] {
    std::vector<triplets> list;
    list.push_back(triplets{"nothing", 0, 0, {}, {}, {}});
    list.push_back(make_diagonal(1));
    list.push_back(make_diagonal(700));
    list.push_back(make_chain(1500));
    list.push_back(make_wide(4000));
    list.push_back(make_full(130));
    list.push_back(make_split_diagonal(300));
    list.push_back(make_square(1200, 12, 31));
    list.push_back(make_grid(40));
    list.push_back(make_layers(9, 400));
    return list;
  }();
  return all;
}

template <class T>
double worst_residual(const triplets& a, bool upper, bool unit, double alpha, double beta,
                      const std::vector<T>& b, const std::vector<T>& x) {
  double worst = 0;
  std::vector<long double> sum(x.size()), size(x.size());
  std::vector<int> terms(x.size(), 2);
  for (std::int64_t k = 0; k < a.size(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    const auto i = static_cast<std::size_t>(a.row[at]), j = static_cast<std::size_t>(a.col[at]);
    if (i == j ? unit : (j > i) != upper) continue;
    const long double term = static_cast<long double>(static_cast<T>(a.value[at])) * alpha * x[j];
    sum[i] += term;
    size[i] += std::abs(term);
    ++terms[i];
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (unit) {
      sum[i] += x[i];
      size[i] += std::abs(x[i]);
    }
    const long double want = static_cast<long double>(beta) * b[i];
    const long double bound = (terms[i] + 4) * std::numeric_limits<T>::epsilon() *
                              (size[i] + std::abs(want) + std::numeric_limits<T>::min());
    const auto error = static_cast<double>(std::abs(want - sum[i]) / bound);
    worst = error <= worst ? worst : error; // NaN stays
  }
  return worst;
}

template double worst_residual(const triplets&, bool, bool, double, double,
                               const std::vector<float>&, const std::vector<float>&);
template double worst_residual(const triplets&, bool, bool, double, double,
                               const std::vector<double>&, const std::vector<double>&);

} // namespace lacuna::test
