// A circuit's shape: few entries per row near the diagonal, and some hubs (the supply, the clock)
// whose rows and columns are long.
#include <array>

#include "gen/families.hpp"
#include "gen/random.hpp"

namespace lacuna::gen::make {
namespace {

constexpr std::int64_t most_hubs = 64; // as in the table
constexpr std::int64_t neighbours = 4;

struct circuit_shape {
  std::int64_t n, hubs;
  std::int64_t every; ///< one node in so many is tied to a hub
  std::uint64_t seed;
  using columns = std::array<std::int64_t, 1 + neighbours + most_hubs>;

  /// A hub's node: spread evenly, so that no two are near each other in a large circuit.
  [[nodiscard]] std::int64_t hub_node(std::int64_t hub) const {
    return n / hubs * hub + n / (2 * hubs);
  }
  [[nodiscard]] bool tied(std::int64_t hub, std::int64_t i) const {
    return hash(mix(seed), hub, i) % static_cast<std::uint64_t>(every) == 0;
  }

  /// Columns of row i but for those of the hubs themselves: the diagonal, up to four at distances
  /// of 1 to 64, near ones more often, and hubs; ascending, each once. Returns how many.
  std::int64_t short_row(std::int64_t i, columns& result) const {
    auto* end = result.data();
    *end++ = i;
    for (std::int64_t k = 0; k < neighbours; ++k) {
      const std::uint64_t h = hash(seed, i, k);
      const std::int64_t distance = 1 + below(INT64_C(1) << (h % 7), h);
      const std::int64_t j = k % 2 == 0 ? i - distance : i + distance;
      if (j >= 0 && j < n) *end++ = j;
    }
    for (std::int64_t hub = 0; hub < hubs; ++hub)
      if (tied(hub, i)) *end++ = hub_node(hub);
    std::sort(result.data(), end);
    return std::unique(result.data(), end) - result.data();
  }
};

} // namespace

source circuit(const arguments& a) {
  const std::int64_t n = a["n"], hubs = a["hubs"];
  const std::int64_t every = a["hub"] == 0 ? 10 : std::max<std::int64_t>(1, n / a["hub"]);
  const circuit_shape shape{n, hubs, every, a.seed()};
  const std::int64_t ties = hubs * (n / every); // about
  return {.shape = {n, n, n * std::min(n, 1 + neighbours + hubs) + std::min(n, hubs) * n},
          .row =
              [=](std::int64_t i, row_sink& emit) {
                circuit_shape::columns columns;
                const auto* next = columns.data();
                const auto* const end = next + shape.short_row(i, columns);
                const auto value = [&](std::int64_t j) {
                  return value_of(hash(~shape.seed, i, j));
                };
                for (std::int64_t hub = 0; hub < hubs; ++hub) {
                  if (i != shape.hub_node(hub)) continue;
                  for (std::int64_t j = 0; j < n; ++j) {
                    const bool near = next < end && *next == j;
                    if (near) ++next;
                    if (near || shape.tied(hub, j)) emit(j, value(j));
                  }
                  return;
                }
                for (; next < end; ++next) emit(*next, value(*next));
              },
          .likely_entries = (1 + neighbours) * n + 2 * ties};
}

} // namespace lacuna::gen::make
