// Graphs whose degrees follow power laws.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "gen/families.hpp"
#include "gen/random.hpp"

namespace lacuna::gen::make {
namespace {

/// Where 32 random bits, as a number, pass from one quadrant to the next: upper left, upper right,
/// lower left, lower right.
struct quadrants {
  std::uint64_t right, lower, lower_right;
};
quadrants quadrants_of(const arguments& a) {
  const double upper_left = a.real("a"), upper_right = a.real("b"), lower_left = a.real("c");
  if (upper_left + upper_right + lower_left > 1 + 1e-12)
    throw bad_input(fmt::format("{}: a + b + c = {} + {} + {} is more than 1", a.generator(),
                                upper_left, upper_right, lower_left));
  const auto bits = [](double p) { return static_cast<std::uint64_t>(p * 0x1p32); };
  const std::uint64_t right = bits(upper_left), lower = right + bits(upper_right);
  return {right, lower, lower + bits(lower_left)};
}

/// Falls `scale` times into one of four quadrants, with 32 random bits each time.
edge random_edge(std::uint64_t seed, std::int64_t k, std::int64_t scale, const quadrants& q) {
  edge e{.value = value_of(hash(~seed, k, 0))};
  for (std::int64_t level = 0; level < scale; ++level) {
    const std::uint64_t h = hash(seed, k, level / 2);
    const auto r = static_cast<std::uint32_t>(level % 2 == 0 ? h >> 32 : h);
    e.from = 2 * e.from + (r >= q.lower ? 1 : 0);
    e.to = 2 * e.to + ((r >= q.right && r < q.lower) || r >= q.lower_right ? 1 : 0);
  }
  return e;
}

source power_law(const arguments& a, bool both_ways) {
  const std::int64_t scale = a["scale"], n = std::int64_t{1} << scale;
  const std::int64_t edges = n * a["edges"];
  const std::uint64_t seed = a.seed();
  const quadrants q = quadrants_of(a);
  return {.shape = {n, n, both_ways ? 2 * edges : edges},
          .edge_at = [=](std::int64_t k) { return random_edge(seed, k, scale, q); },
          .edges = edges,
          .both_ways = both_ways};
}

/// Pages [first, first + pages) of one site.
struct host {
  std::int64_t first, pages;
};

/// Sites have 8 to 1024 pages: halved with a chance of two thirds, from 1024 down.
host host_of(std::uint64_t seed, std::int64_t page, std::int64_t n) {
  std::int64_t pages = 1024;
  while (pages > 8 && hash(seed, page / pages, pages) % 3 != 0) pages /= 2;
  const std::int64_t first = page / pages * pages;
  return {first, std::min(pages, n - first)};
}

} // namespace

source rmat(const arguments& a) { return power_law(a, false); }
source kron(const arguments& a) { return power_law(a, true); }

/// Of a page's links, three in eight go near it on its site, three anywhere on the site, two to a
/// page of any site by popularity: rank r with a density of r^(-2/3). The numbers of links
/// are degree / 2 times the square root of 1 / u, u as in lp(): at most n times the degree in all.
source web(const arguments& a) {
  constexpr std::int64_t longest = 4096;
  const std::int64_t n = a["n"];
  const double degree = a.real("degree");
  const std::uint64_t seed = a.seed();
  const permutation rank(n, seed), by_popularity(n, ~seed);
  const auto bound = static_cast<std::int64_t>(static_cast<double>(n) * degree) + n;
  return {.shape = {n, n, bound}, .row = [=](std::int64_t i, row_sink& emit) {
            const auto u = static_cast<double>(rank(i) + 1) / static_cast<double>(n);
            const double mean = degree / (2 * std::sqrt(u));
            const double rounding = unit(hash(seed, i, -1)); // up or down by chance
            const auto links = std::min(static_cast<std::int64_t>(mean + rounding), longest);
            std::array<std::int64_t, longest> targets;
            const host site = host_of(seed, i, n);
            for (std::int64_t k = 0; k < links; ++k) {
              const std::uint64_t h = hash(seed, i, k), h2 = mix(h);
              std::int64_t target = 0;
              if (h % 8 < 3) {
                target = std::clamp(i - 8 + below(16, h2), site.first, site.first + site.pages - 1);
              } else if (h % 8 < 6) {
                target = site.first + below(site.pages, h2);
              } else {
                const double x = unit(h2);
                target =
                    by_popularity(static_cast<std::int64_t>(static_cast<double>(n) * x * x * x));
              }
              targets[static_cast<std::size_t>(k)] = target;
            }
            std::sort(targets.begin(), targets.begin() + links);
            const auto end = std::unique(targets.begin(), targets.begin() + links);
            for (auto t = targets.begin(); t < end; ++t) emit(*t, value_of(hash(~seed, i, *t)));
          }};
}

/// Each patent cites earlier ones, anywhere among them; many cite none. The numbers of citations
/// are (degree + 1/2) (sqrt(1 / u) - 1) rounded down, u as in lp(), at most 770.
source patents(const arguments& a) {
  const std::int64_t n = a["n"];
  const double degree = a.real("degree") + 0.5; // half of it is lost by rounding down
  const std::uint64_t seed = a.seed();
  const permutation rank(n, seed);
  const auto bound = static_cast<std::int64_t>(static_cast<double>(n) * degree);
  return {.shape = {n, n, bound}, .row = [=](std::int64_t i, row_sink& emit) {
            const auto u = static_cast<double>(rank(i) + 1) / static_cast<double>(n);
            const auto cited = static_cast<std::int64_t>(degree * (1 / std::sqrt(u) - 1));
            spread(i, std::min<std::int64_t>({cited, i, 770}), seed, i, emit);
          }};
}

} // namespace lacuna::gen::make
