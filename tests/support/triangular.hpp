// Square matrices whose triangles fall into levels of all kinds, and how solutions are judged.
#pragma once

#include <vector>

#include "support/triplets.hpp"

namespace lacuna::test {

/// Random entries below, above and on the diagonal, rows unsorted, some columns twice; diagonals
/// of about the size of their row, so that solutions stay bounded.
triplets make_square(std::int64_t n, std::int64_t per_row, std::uint64_t seed);
/// 5-point stencil of width x width, diagonally dominant: triangles of 2 width - 1 levels.
triplets make_grid(std::int64_t width);
/// Rows of each layer need some of the layer before: as many levels as layers, wide ones.
/// Symmetric, diagonally dominant.
triplets make_layers(std::int64_t layers, std::int64_t width);
/// Chains, one level, levels of a few and of many rows, long rows, duplicates, nothing at all.
const std::vector<triplets>& triangular_battery();

/// The largest |beta b - alpha T x| of a row in units of its rounding bound. The diagonal is not
/// scaled if implicit.
template <class T>
double worst_residual(const triplets& a, bool upper, bool unit, double alpha, double beta,
                      const std::vector<T>& b, const std::vector<T>& x);

} // namespace lacuna::test
