// Linear elasticity of a cube of n x n x n trilinear bricks with sides of 1, Young's modulus 1.
// The integrals over a brick are products of three integrals over [0, 1], so they are exact but for
// rounding, and the matrix is symmetric to the bit.
#include <memory>

#include "gen/families.hpp"
#include "gen/grid.hpp"

namespace lacuna::gen::make {
namespace {

/// A corner of a brick is 0 to 7: x + 2 y + 4 z.
constexpr int side(int corner, int axis) { return (corner >> axis) & 1; }

/// The integral over a brick of (d/d_i of corner p's function) (d/d_j of corner q's).
double gradients(int p, int i, int q, int j) {
  double product = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const bool same = side(p, axis) == side(q, axis);
    if (axis == i && axis == j)
      product *= same ? 1 : -1;
    else if (axis == i)
      product *= side(p, axis) == 1 ? 0.5 : -0.5;
    else if (axis == j)
      product *= side(q, axis) == 1 ? 0.5 : -0.5;
    else
      product *= same ? 1.0 / 3 : 1.0 / 6;
  }
  return product;
}

/// Stiffness of a brick: force at corner p along i from a displacement of corner q along j.
struct brick {
  double k[8][3][8][3];

  explicit brick(double poisson) {
    const double lambda = poisson / ((1 + poisson) * (1 - 2 * poisson));
    const double mu = 1 / (2 * (1 + poisson));
    for (int p = 0; p < 8; ++p)
      for (int q = 0; q < 8; ++q) {
        const double laplacian =
            gradients(p, 0, q, 0) + gradients(p, 1, q, 1) + gradients(p, 2, q, 2);
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            k[p][i][q][j] = lambda * gradients(p, i, q, j) + mu * gradients(p, j, q, i) +
                            (i == j ? mu * laplacian : 0);
      }
  }
};

} // namespace

source elasticity3d(const arguments& a) {
  const std::int64_t n = a["n"];
  const auto element = std::make_shared<const brick>(a.real("poisson"));
  // Clamped nodes, those with z = 0, have no unknowns: the first layer is z = 1.
  const std::int64_t clamped = a.second_of("clamped", 0, 1) ? 1 : 0;
  const grid g{{n + 1, n + 1, n == 0 ? 0 : n + 1 - clamped}};
  return {.shape = {3 * g.size(), 3 * g.size(), 9 * g.stencil_entries(reach::corners)},
          .row = [=](std::int64_t row, row_sink& emit) {
            const auto position = [&](std::int64_t node) {
              auto at = g.at(node);
              at[2] += clamped;
              return at;
            };
            const std::int64_t node = row / 3, i = row % 3;
            const auto p = position(node);
            g.for_each_around(node, [&](std::int64_t other) {
              const auto q = position(other);
              std::int64_t first[3], last[3]; // of the bricks that have both nodes as corners
              for (std::size_t axis = 0; axis < 3; ++axis) {
                first[axis] = std::max<std::int64_t>(0, std::max(p[axis], q[axis]) - 1);
                last[axis] = std::min(n - 1, std::min(p[axis], q[axis]));
              }
              double sum[3] = {0, 0, 0};
              for (std::int64_t z = first[2]; z <= last[2]; ++z)
                for (std::int64_t y = first[1]; y <= last[1]; ++y)
                  for (std::int64_t x = first[0]; x <= last[0]; ++x) {
                    const auto from = (p[0] - x) + 2 * (p[1] - y) + 4 * (p[2] - z);
                    const auto to = (q[0] - x) + 2 * (q[1] - y) + 4 * (q[2] - z);
                    for (int j = 0; j < 3; ++j) sum[j] += element->k[from][i][to][j];
                  }
              for (int j = 0; j < 3; ++j) emit(3 * other + j, sum[j]);
            });
          }};
}

} // namespace lacuna::gen::make
