// Planar graphs: symmetric, with neighbours near each other.
#include <array>
#include <cmath>

#include "gen/families.hpp"
#include "gen/random.hpp"

namespace lacuna::gen::make {
namespace {

/// Puts a 0 between the lower 32 bits of a number, and takes every other bit away: Z-order.
std::int64_t scatter_bits(std::int64_t x) {
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x << 2) & 0x3333333333333333;
  return (x | x << 1) & 0x5555555555555555;
}
std::int64_t gather_bits(std::int64_t x) {
  x &= 0x5555555555555555;
  x = (x | x >> 1) & 0x3333333333333333;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return (x | x >> 16) & 0x00000000ffffffff;
}

struct point {
  double x, y;
};
/// Anywhere in the unit square.
point random_point(std::uint64_t seed, std::int64_t i) {
  const std::uint64_t h = hash(seed, i, 0);
  return {unit(h), unit(h << 32)};
}

/// From `at` in [0, 1) to the nearest end of [cell, cell + 1).
double to_cell(double cell, double at) {
  return cell > 0 ? cell - at : cell < 0 ? at - (cell + 1) : 0;
}

/// Whether the triangulation of a convex quadrangle a, b, c, d that avoids flat triangles
/// (Delaunay's) has the diagonal from a to c: where the angles at b and d are at most pi together.
bool splits_at_ac(point a, point b, point c, point d) {
  const auto cross = [](point o, point p, point q) {
    return (p.x - o.x) * (q.y - o.y) - (p.y - o.y) * (q.x - o.x);
  };
  const auto dot = [](point o, point p, point q) {
    return (p.x - o.x) * (q.x - o.x) + (p.y - o.y) * (q.y - o.y);
  };
  return cross(b, c, a) * dot(d, a, c) + dot(b, c, a) * cross(d, a, c) >= 0;
}

} // namespace

/// The unit square is cut into cells in Z-order, with four or eight points at random in each;
/// points less than a radius apart are neighbours.
source rgg(const arguments& a) {
  constexpr std::int64_t most_cells = 19 * 19; // around a point, at the greatest degree
  const std::int64_t scale = a["scale"], n = std::int64_t{1} << scale;
  const std::int64_t level = std::max<std::int64_t>(0, scale / 2 - 1); // 2^level cells per side
  const std::int64_t side = std::int64_t{1} << level, per_cell = n / (side * side);
  const double degree = a.real("degree");
  // In sides of a cell.
  const double square = degree / (3.141592653589793 * static_cast<double>(per_cell));
  const std::int64_t reach =
      std::min(side - 1, static_cast<std::int64_t>(std::ceil(std::sqrt(square))));
  const std::uint64_t seed = a.seed();
  const std::int64_t candidates = (2 * reach + 1) * (2 * reach + 1) * per_cell;
  return {.shape = {n, n, n * (std::min(n, candidates) - 1)},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                const std::int64_t own = i / per_cell;
                const std::int64_t x = gather_bits(own), y = gather_bits(own >> 1);
                const point centre = random_point(seed, i);
                struct cell {
                  std::int64_t number;
                  double dx, dy;
                };
                std::array<cell, most_cells> around;
                auto end = around.begin();
                for (std::int64_t cy = std::max<std::int64_t>(0, y - reach);
                     cy <= std::min(side - 1, y + reach); ++cy)
                  for (std::int64_t cx = std::max<std::int64_t>(0, x - reach);
                       cx <= std::min(side - 1, x + reach); ++cx) {
                    const auto dx = static_cast<double>(cx - x), dy = static_cast<double>(cy - y);
                    const double near_x = to_cell(dx, centre.x), near_y = to_cell(dy, centre.y);
                    if (near_x * near_x + near_y * near_y < square)
                      *end++ = {scatter_bits(cx) | scatter_bits(cy) << 1, dx, dy};
                  }
                std::sort(around.begin(), end,
                          [](const cell& p, const cell& q) { return p.number < q.number; });
                for (auto c = around.begin(); c < end; ++c)
                  for (std::int64_t j = c->number * per_cell; j < (c->number + 1) * per_cell; ++j) {
                    const point neighbour = random_point(seed, j);
                    const double dx = c->dx + (neighbour.x - centre.x),
                                 dy = c->dy + (neighbour.y - centre.y);
                    if (j != i && dx * dx + dy * dy < square) emit(j, symmetric_value(~seed, i, j));
                  }
              },
          .likely_entries = static_cast<std::int64_t>(static_cast<double>(n) * degree)};
}

/// The points of a grid, moved by up to a quarter of its width so that every square stays convex,
/// each square cut in two as Delaunay would. Coordinates and their differences are exact, so that
/// all four corners of a square see it cut alike. -1 for each neighbour, their number + 1 on the
/// diagonal.
source mesh2d(const arguments& a) {
  const std::int64_t n = a["n"], size = n * n;
  const std::uint64_t seed = a.seed();
  const bool shuffle = a.second_of("shuffle", 0, 1);
  const permutation renumber(size, seed);
  return {.shape = {size, size, n == 0 ? 0 : size + 4 * n * (n - 1) + 2 * (n - 1) * (n - 1)},
          .row = [=](std::int64_t row, row_sink& emit) {
            const std::int64_t node = shuffle ? renumber.inverse(row) : row;
            const std::int64_t x = node % n, y = node / n;
            point p[3][3]; // the nodes around, by y and x
            for (std::int64_t dy = -1; dy <= 1; ++dy)
              for (std::int64_t dx = -1; dx <= 1; ++dx) {
                const point u = random_point(seed, (y + dy) * n + x + dx);
                p[dy + 1][dx + 1] = {static_cast<double>(dx) + 0.5 * (u.x - 0.5),
                                     static_cast<double>(dy) + 0.5 * (u.y - 0.5)};
              }
            const auto rising = [&](int cx, int cy) { // of the square at [cy][cx]
              return splits_at_ac(p[cy][cx], p[cy][cx + 1], p[cy + 1][cx + 1], p[cy + 1][cx]);
            };
            std::array<std::int64_t, 9> columns;
            auto end = columns.begin();
            for (int dy = -1; dy <= 1; ++dy)
              for (int dx = -1; dx <= 1; ++dx) {
                if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n) continue;
                const bool corner = dx != 0 && dy != 0;
                if (corner && rising(dx > 0 ? 1 : 0, dy > 0 ? 1 : 0) != (dx == dy)) continue;
                const std::int64_t other = node + dy * n + dx;
                *end++ = shuffle ? renumber(other) : other;
              }
            if (shuffle) std::sort(columns.begin(), end);
            for (auto c = columns.begin(); c < end; ++c)
              emit(*c, *c == row ? static_cast<double>(end - columns.begin()) : -1);
          }};
}

/// On a grid, every crossing has a road to the one west or the one south of it, so that all are
/// connected, and by chance to both.
source road(const arguments& a) {
  const std::int64_t n = a["n"], size = n * n;
  const std::uint64_t seed = a.seed();
  const double chance = (a.real("degree") - 2) / 2;
  const auto has_road = [=](std::int64_t x, std::int64_t y, bool west) {
    if (x >= n || y >= n || (west ? x : y) == 0) return false;
    const std::uint64_t h = hash(seed, x, y);
    return (west ? y : x) == 0 || (h % 2 == 0) == west || unit(h) < chance;
  };
  return {.shape = {size, size, 4 * n * std::max<std::int64_t>(n - 1, 0)},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                const std::int64_t x = i % n, y = i / n;
                const auto link = [&](std::int64_t j) { emit(j, symmetric_value(~seed, i, j)); };
                if (has_road(x, y, false)) link(i - n);
                if (has_road(x, y, true)) link(i - 1);
                if (has_road(x + 1, y, true)) link(i + 1);
                if (has_road(x, y + 1, false)) link(i + n);
              },
          .likely_entries =
              static_cast<std::int64_t>(static_cast<double>(size) * a.real("degree"))};
}

/// A wall of bricks: neighbours to both sides, and alternately above or below.
source trace3(const arguments& a) {
  const std::int64_t n = a["n"], size = n * n, less = std::max<std::int64_t>(n - 1, 0);
  const std::int64_t upright = (n / 2) * (less / 2) + (n - n / 2) * (less - less / 2);
  const std::uint64_t seed = a.seed();
  return {.shape = {size, size, 2 * n * less + 2 * upright},
          .row = [=](std::int64_t i, row_sink& emit) {
            const std::int64_t x = i % n, y = i / n;
            const auto link = [&](std::int64_t j) { emit(j, symmetric_value(seed, i, j)); };
            const bool up = (x + y) % 2 == 0;
            if (!up && y > 0) link(i - n);
            if (x > 0) link(i - 1);
            if (x + 1 < n) link(i + 1);
            if (up && y + 1 < n) link(i + n);
          }};
}

} // namespace lacuna::gen::make
