// A grid of up to three dimensions, numbered with x fastest.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lacuna::gen {

/// Which of the 26 nodes around a node it is coupled to.
enum class reach { faces, corners };

struct grid {
  std::array<std::int64_t, 3> n = {1, 1, 1};

  /// n x n, or n x n x n.
  static grid cube(std::int64_t n, bool three_dimensions) {
    return {{n, n, three_dimensions ? n : 1}};
  }
  [[nodiscard]] std::int64_t size() const { return n[0] * n[1] * n[2]; }
  [[nodiscard]] std::array<std::int64_t, 3> at(std::int64_t node) const {
    return {node % n[0], node / n[0] % n[1], node / n[0] / n[1]};
  }
  /// From a node to the next along an axis.
  [[nodiscard]] std::int64_t stride(int axis) const {
    return axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1];
  }

  /// Entries of a stencil, the node itself included, where neighbours outside are left out.
  [[nodiscard]] std::int64_t stencil_entries(reach r) const {
    if (size() == 0) return 0;
    if (r == reach::corners) return (3 * n[0] - 2) * (3 * n[1] - 2) * (3 * n[2] - 2);
    std::int64_t total = size();
    for (int axis = 0; axis < 3; ++axis) total += 2 * (size() - size() / n[axis]);
    return total;
  }

  /// Calls f(other) for the node and the up to 26 around it, ascending.
  template <class F> void for_each_around(std::int64_t node, F&& f) const {
    const auto [x, y, z] = at(node);
    const std::int64_t left = x > 0 ? -1 : 0, right = x + 1 < n[0] ? 1 : 0;
    for (std::int64_t dz = z > 0 ? -1 : 0; dz <= (z + 1 < n[2] ? 1 : 0); ++dz)
      for (std::int64_t dy = y > 0 ? -1 : 0; dy <= (y + 1 < n[1] ? 1 : 0); ++dy)
        for (std::int64_t dx = left; dx <= right; ++dx) f(node + (dz * n[1] + dy) * n[0] + dx);
  }
  [[nodiscard]] std::int64_t count_around(std::int64_t node) const {
    const auto p = at(node);
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      count *= 1 + (p[axis] > 0 ? 1 : 0) + (p[axis] + 1 < n[axis] ? 1 : 0);
    return count;
  }
};

} // namespace lacuna::gen
