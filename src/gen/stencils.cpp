// Differences and finite volumes on square and cubic grids, with Dirichlet boundaries: neighbours
// outside are left out, the diagonal counts them.
#include "gen/families.hpp"
#include "gen/grid.hpp"
#include "gen/random.hpp"

namespace lacuna::gen::make {
namespace {

/// -1 for each neighbour and their greatest number on the diagonal; dof unknowns per node, each
/// coupled to the node's others by a quarter.
source all_neighbours(grid g, double middle, std::int64_t dof = 1) {
  const std::int64_t size = g.size() * dof;
  return {.shape = {size, size, g.stencil_entries(reach::corners) * dof * dof},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                const std::int64_t node = i / dof, own = i % dof;
                g.for_each_around(node, [&](std::int64_t other) {
                  const double value = other == node ? middle : -1;
                  for (std::int64_t d = 0; d < dof; ++d)
                    emit(other * dof + d, d == own ? value : value / 4);
                });
              },
          .row_length = [=](std::int64_t i) { return dof * g.count_around(i / dof); }};
}

/// Fluxes through the faces of cells: coefficient(cell, other, axis) is that of the face between
/// two cells, or between a cell and the boundary (other is -1). Symmetric if it is; positive
/// definite if it is positive.
template <class Coefficient> source fluxes(grid g, int dimensions, Coefficient coefficient) {
  return {.shape = {g.size(), g.size(), g.stencil_entries(reach::faces)},
          .row = [=](std::int64_t cell, row_sink& emit) {
            const auto position = g.at(cell);
            double before[3] = {}, after[3] = {}, sum = 0;
            for (int axis = 0; axis < dimensions; ++axis) {
              const std::int64_t step = g.stride(axis);
              before[axis] = coefficient(cell, position[axis] > 0 ? cell - step : -1, axis);
              after[axis] =
                  coefficient(cell, position[axis] + 1 < g.n[axis] ? cell + step : -1, axis);
              sum += before[axis] + after[axis];
            }
            for (int axis = dimensions - 1; axis >= 0; --axis)
              if (position[axis] > 0) emit(cell - g.stride(axis), -before[axis]);
            emit(cell, sum);
            for (int axis = 0; axis < dimensions; ++axis)
              if (position[axis] + 1 < g.n[axis]) emit(cell + g.stride(axis), -after[axis]);
          }};
}

source face_neighbours(grid g, int dimensions) {
  return fluxes(g, dimensions, [](std::int64_t, std::int64_t, int) { return 1.0; });
}

} // namespace

source poisson2d(const arguments& a) {
  if (a.second_of("points", 5, 9)) return poisson2d9(a);
  return face_neighbours(grid::cube(a["n"], false), 2);
}
source poisson2d9(const arguments& a) { return all_neighbours(grid::cube(a["n"], false), 8); }
source poisson3d(const arguments& a) {
  if (a.second_of("points", 7, 27)) return poisson3d27(a);
  return face_neighbours(grid::cube(a["n"], true), 3);
}
source poisson3d27(const arguments& a) { return all_neighbours(grid::cube(a["n"], true), 26); }
source fem3d(const arguments& a) { return all_neighbours(grid::cube(a["n"], true), 26, a["dof"]); }
source tridiagonal(const arguments& a) { return face_neighbours({{a["n"], 1, 1}}, 1); }

source anisotropic(const arguments& a) {
  const bool three = a.second_of("dim", 2, 3);
  const double epsilon = a.real("epsilon");
  return fluxes(grid::cube(a["n"], three), three ? 3 : 2,
                [=](std::int64_t, std::int64_t, int axis) { return axis == 0 ? epsilon : 1.0; });
}

source variable(const arguments& a) {
  constexpr std::int64_t width = 8; // cells per side that share a coefficient
  const bool three = a.second_of("dim", 2, 3);
  const double contrast = a.real("contrast");
  const grid g = grid::cube(a["n"], three);
  const std::uint64_t seed = a.seed();
  const auto conductivity = [=](std::int64_t cell) {
    const auto [x, y, z] = g.at(cell);
    return hash(hash(seed, x / width, y / width), z / width, 0) % 2 == 0 ? 1.0 : contrast;
  };
  return fluxes(g, three ? 3 : 2, [=](std::int64_t cell, std::int64_t other, int) {
    const double own = conductivity(cell);
    if (other < 0) return 2 * own; // the boundary is half a cell away
    const double next = conductivity(other);
    return 2 * own * next / (own + next);
  });
}

} // namespace lacuna::gen::make
