// Matrices with the structure of a physical model: lattice gauge theory, Markov chains, optimal
// control.
#include <array>
#include <cmath>

#include "gen/families.hpp"
#include "gen/grid.hpp"
#include "gen/random.hpp"

namespace lacuna::gen::make {

/// The hopping part of Wilson's operator on a periodic n^4 lattice: 4 spins x 3 colours per site.
/// Each unknown sees both neighbours in the three directions of space with two spins, and one
/// neighbour in time (forward for spins 0 and 1) with its own spin: 13 blocks of 3 x 3.
source qcd(const arguments& a) {
  const std::int64_t n = a["n"], sites = n * n * n * n, size = 12 * sites;
  const std::uint64_t seed = a.seed();
  return {.shape = {size, size, 39 * size}, .row = [=](std::int64_t i, row_sink& emit) {
            const std::int64_t spin = i / 3 % 4, site = i / 12;
            std::array<std::int64_t, 13> blocks;
            auto next = blocks.begin();
            std::int64_t stride = 1;
            for (int axis = 0; axis < 4; ++axis, stride *= n) {
              const std::int64_t at = site / stride % n;
              const std::int64_t forward = at + 1 < n ? site + stride : site - at * stride;
              const std::int64_t backward = at > 0 ? site - stride : site + (n - 1) * stride;
              if (axis == 3) { // time
                *next++ = 4 * (spin < 2 ? forward : backward) + spin;
                continue;
              }
              const std::int64_t partner = axis < 2 ? 3 - spin : (spin + 2) % 4;
              for (const std::int64_t other : {forward, backward})
                for (const std::int64_t s : {spin, partner}) *next++ = 4 * other + s;
            }
            std::sort(blocks.begin(), next); // on small lattices neighbours coincide
            const auto* const end = std::unique(blocks.begin(), next);
            for (const auto* block = blocks.begin(); block < end; ++block)
              for (std::int64_t j = 3 * *block; j < 3 * *block + 3; ++j)
                emit(j, value_of(hash(seed, i, j)));
          }};
}

/// States (susceptible, infected) with at most n people; those with the same sum t stand together,
/// from t (t + 1) / 2 on, by number of infected. Infection, recovery and arrival of one person.
source epidemiology(const arguments& a) {
  const std::int64_t n = a["n"], size = (n + 1) * (n + 2) / 2;
  return {
      .shape = {size, size, 4 * size - 3 * (n + 1)}, .row = [=](std::int64_t row, row_sink& emit) {
        auto t = static_cast<std::int64_t>((std::sqrt(8.0 * static_cast<double>(row) + 1) - 1) / 2);
        while (t * (t + 1) / 2 > row) --t;
        while ((t + 1) * (t + 2) / 2 <= row) ++t;
        const std::int64_t infected = row - t * (t + 1) / 2, susceptible = t - infected;
        const auto people = static_cast<double>(n + 1);
        const double recovery = 0.25 * static_cast<double>(infected) / people;
        const double infection = 0.5 * (static_cast<double>(susceptible) / people) *
                                 (static_cast<double>(infected + 1) / people);
        const double arrival = 0.125 * static_cast<double>(n - t) / people;
        if (infected > 0) emit(row - t - 1, recovery);
        emit(row, 1 - (recovery + infection + arrival));
        if (susceptible > 0) emit(row + 1, infection);
        if (t < n) emit(row + t + 1, arrival);
      }};
}

/// The cage model of DNA electrophoresis: a polymer of `length` links, each along one of six
/// directions. The links at both ends may turn anywhere; two neighbouring links that point against
/// each other may turn together. The field favours turns towards the directions 3, 4, 5.
source cage(const arguments& a) {
  constexpr std::int64_t directions = 6, longest = 18;
  const std::int64_t length = a["length"];
  const double field = a.real("field");
  std::int64_t size = 1;
  for (std::int64_t k = 0; k < length; ++k) size *= directions;
  const std::int64_t ends = std::min<std::int64_t>(length, 2),
                     pairs = std::max<std::int64_t>(length - 1, 0);
  // Of the pairs in all states, one in six can turn.
  const std::int64_t entries = size + 5 * (ends * size + pairs * (size / directions));
  const double most = 5 * static_cast<double>(ends + pairs) * (1 + field); // sum of all weights
  return {.shape = {size, size, entries}, .row = [=](std::int64_t row, row_sink& emit) {
            struct move {
              std::int64_t state;
              double probability;
            };
            move moves[1 + 5 * (longest + 1)];
            int count = 1;
            double leave = 0;
            const auto turn = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
              const double drift = (to >= 3 ? 1 : 0) - (from >= 3 ? 1 : 0);
              const double probability = (1 + field * drift) / most;
              leave += probability;
              moves[count++] = {row + (to - from) * step, probability};
            };
            std::int64_t stride = 1, before = -1;
            for (std::int64_t k = 0; k < length; ++k, stride *= directions) {
              const std::int64_t own = row / stride % directions;
              for (std::int64_t to = 0; to < directions; ++to) {
                if (to == own) continue;
                if (k == 0 || k == length - 1) turn(own, to, stride);
                if (before + own == 5) // opposite; the link before, 5 - own, becomes 5 - to
                  turn(own, to, stride - stride / directions);
              }
              before = own;
            }
            moves[0] = {row, 1 - leave};
            std::sort(moves, moves + count,
                      [](const move& p, const move& q) { return p.state < q.state; });
            for (int k = 0; k < count; ++k) emit(moves[k].state, moves[k].probability);
          }};
}

/// Boundary control of Poisson's equation on n x n x n cells: states, controls (one per cell of
/// each face of the cube), multipliers. [I 0 K; 0 beta -B; K -B^T 0], K the 27-point Laplacian, B
/// from controls to the cells behind them.
source kkt(const arguments& a) {
  const std::int64_t n = a["n"];
  const double beta = a.real("beta");
  const grid g = grid::cube(n, true);
  const std::int64_t cells = g.size(), controls = 6 * n * n, face = n * n;
  const std::int64_t size = 2 * cells + controls, multipliers = cells + controls;
  return {.shape = {size, size,
                    2 * g.stencil_entries(reach::corners) + cells + controls + 2 * controls},
          .row = [=](std::int64_t row, row_sink& emit) {
            const auto stiffness = [&](std::int64_t cell, std::int64_t first) {
              g.for_each_around(
                  cell, [&](std::int64_t other) { emit(first + other, other == cell ? 26 : -1); });
            };
            if (row < cells) {
              emit(row, 1);
              stiffness(row, multipliers);
            } else if (row < multipliers) {
              // Faces by axis, near and far; within one by the other two coordinates.
              const std::int64_t control = row - cells, place = control % face;
              const int axis = static_cast<int>(control / face / 2);
              const std::int64_t depth = control / face % 2 == 0 ? 0 : n - 1;
              const std::int64_t cell = place % n * g.stride((axis + 1) % 3) +
                                        place / n * g.stride((axis + 2) % 3) +
                                        depth * g.stride(axis);
              emit(row, beta);
              emit(multipliers + cell, -1);
            } else {
              const std::int64_t cell = row - multipliers;
              const auto at = g.at(cell);
              stiffness(cell, 0);
              for (int axis = 0; axis < 3; ++axis) {
                const std::int64_t place = at[(axis + 2) % 3] * n + at[(axis + 1) % 3];
                if (at[axis] == 0) emit(cells + 2 * axis * face + place, -1);
                if (at[axis] == n - 1) emit(cells + (2 * axis + 1) * face + place, -1);
              }
            }
          }};
}

} // namespace lacuna::gen::make
