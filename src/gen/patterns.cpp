#include <lacuna/gen/generate.hpp>

#include <array>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "gen/from_rows.hpp"
#include "gen/random.hpp"

namespace lacuna::gen {
namespace {

constexpr std::int64_t hubs = 4;
constexpr std::int64_t neighbours = 4;

/// A hub's node: spread evenly, so that no two are near each other in a large circuit.
constexpr std::int64_t hub_node(std::int64_t hub, std::int64_t n) {
  return n / hubs * hub + n / (2 * hubs);
}
/// Whether node i is tied to a hub: one in ten.
constexpr bool tied(std::uint64_t seed, std::int64_t hub, std::int64_t i) {
  return hash(mix(seed), hub, i) % 10 == 0;
}

/// Columns of row i of a circuit but for those of the hubs themselves: the diagonal and up to four
/// at distances of 1 to 64, near ones more often; ascending, each once. Returns how many.
std::int64_t near_columns(std::uint64_t seed, std::int64_t n, std::int64_t i,
                          std::array<std::int64_t, 1 + neighbours + hubs>& columns) {
  auto* end = columns.data();
  *end++ = i;
  for (std::int64_t k = 0; k < neighbours; ++k) {
    const std::uint64_t h = hash(seed, i, k);
    const std::int64_t distance = 1 + below(INT64_C(1) << (h % 7), h);
    const std::int64_t j = k % 2 == 0 ? i - distance : i + distance;
    if (j >= 0 && j < n) *end++ = j;
  }
  for (std::int64_t hub = 0; hub < hubs; ++hub)
    if (tied(seed, hub, i)) *end++ = hub_node(hub, n);
  std::sort(columns.data(), end);
  return std::unique(columns.data(), end) - columns.data();
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> banded(const host_context& ctx, std::int64_t n, std::int64_t half_bandwidth,
                    std::uint64_t seed) {
  const std::int64_t reach = std::min(half_bandwidth, n);
  return from_rows<T, I, O>(ctx, n, n, [=](std::int64_t i, auto emit) {
    const std::int64_t last = std::min(n - 1, i + reach);
    for (std::int64_t j = std::max<std::int64_t>(0, i - reach); j <= last; ++j)
      emit(j, value_of(hash(seed, i, j)));
  });
}

template <class T, class I, class O>
csr<T, I, O> dense(const host_context& ctx, std::int64_t n, std::int64_t m, std::uint64_t seed) {
  checked_mul(n, m);
  return from_rows<T, I, O>(ctx, n, m, [=](std::int64_t i, auto emit) {
    for (std::int64_t j = 0; j < m; ++j) emit(j, value_of(hash(seed, i, j)));
  });
}

template <class T, class I, class O>
csr<T, I, O> arrow(const host_context& ctx, std::int64_t n, std::uint64_t seed) {
  return from_rows<T, I, O>(ctx, n, n, [=](std::int64_t i, auto emit) {
    if (i == 0) {
      for (std::int64_t j = 0; j < n; ++j) emit(j, value_of(hash(seed, i, j)));
    } else {
      emit(0, value_of(hash(seed, i, 0)));
      emit(i, value_of(hash(seed, i, i)));
    }
  });
}

template <class T, class I, class O>
csr<T, I, O> uniform(const host_context& ctx, std::int64_t rows, std::int64_t cols,
                     std::int64_t per_row, std::uint64_t seed) {
  if (per_row > cols)
    throw bad_input(fmt::format("uniform: {} entries a row, but {} columns", per_row, cols));
  const std::int64_t share = per_row > 0 ? cols / per_row : 0,
                     rest = per_row > 0 ? cols % per_row : 0;
  return from_rows<T, I, O>(ctx, rows, cols, [=](std::int64_t i, auto emit) {
    for (std::int64_t k = 0; k < per_row; ++k) {
      const std::int64_t begin = share * k + std::min(k, rest);
      const std::uint64_t h = hash(seed, i, k);
      emit(begin + below(share + (k < rest ? 1 : 0), h), value_of(mix(h)));
    }
  });
}

template <class T, class I, class O>
csr<T, I, O> circuit(const host_context& ctx, std::int64_t n, std::uint64_t seed) {
  return from_rows<T, I, O>(ctx, n, n, [=](std::int64_t i, auto emit) {
    std::array<std::int64_t, 1 + neighbours + hubs> columns;
    const auto* next = columns.data();
    const auto* const end = next + near_columns(seed, n, i, columns);
    for (std::int64_t hub = 0; hub < hubs; ++hub) {
      if (i != hub_node(hub, n)) continue;
      for (std::int64_t j = 0; j < n; ++j) {
        const bool near = next < end && *next == j;
        if (near) ++next;
        if (near || tied(seed, hub, j)) emit(j, value_of(hash(~seed, i, j)));
      }
      return;
    }
    for (; next < end; ++next) emit(*next, value_of(hash(~seed, i, *next)));
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> banded(const host_context&, std::int64_t, std::int64_t, std::uint64_t);    \
  template csr<T, I, O> dense(const host_context&, std::int64_t, std::int64_t, std::uint64_t);     \
  template csr<T, I, O> arrow(const host_context&, std::int64_t, std::uint64_t);                   \
  template csr<T, I, O> uniform(const host_context&, std::int64_t, std::int64_t, std::int64_t,     \
                                std::uint64_t);                                                    \
  template csr<T, I, O> circuit(const host_context&, std::int64_t, std::uint64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gen
