#include <lacuna/gen/generate.hpp>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/op/convert.hpp>

#include "cpu/rows.hpp"
#include "gen/random.hpp"

namespace lacuna::gen {
namespace {

struct edge {
  std::int64_t from = 0, to = 0;
};

/// Falls `scale` times into one of four quadrants, with 32 random bits each time.
edge random_edge(std::uint64_t seed, std::int64_t k, std::int64_t scale) {
  constexpr std::uint32_t a = 2448131358U; // 0.57 * 2^32
  constexpr std::uint32_t b = 816043786U;  // 0.19 * 2^32, as is c
  edge e;
  for (std::int64_t level = 0; level < scale; ++level) {
    const std::uint64_t h = hash(seed, k, level / 2);
    const auto r = static_cast<std::uint32_t>(level % 2 == 0 ? h >> 32 : h);
    e.from = 2 * e.from + (r >= a + b ? 1 : 0);
    e.to = 2 * e.to + ((r >= a && r < a + b) || r >= a + b + b ? 1 : 0);
  }
  return e;
}

template <class T, class I, class O>
csr<T, I, O> merged_edges(const host_context& ctx, std::int64_t scale,
                          std::int64_t edges_per_vertex, std::uint64_t seed, bool both_ways) {
  if (scale < 0 || scale > 40) throw bad_input(fmt::format("rmat: scale {} is not 0 to 40", scale));
  const std::int64_t size = std::int64_t{1} << scale;
  const std::int64_t edges = checked_mul(size, edges_per_vertex);
  const std::int64_t each = both_ways ? 2 : 1;
  const I n = checked_cast<I>(size, "rows");
  coo<T, I, O> list(ctx, {n, n}, checked_cast<O>(checked_mul(edges, each), "the number of edges"));
  const auto to = list.view();
  cpu::for_each_range(ctx, edges, 1024, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const edge e = random_edge(seed, k, scale);
      for (std::int64_t way = 0; way < each; ++way) {
        to.rowind()[each * k + way] = static_cast<I>(way == 0 ? e.from : e.to);
        to.colind()[each * k + way] = static_cast<I>(way == 0 ? e.to : e.from);
        to.values()[each * k + way] = static_cast<T>(value_of(hash(~seed, k, 0)));
      }
    }
  });
  auto rows = to_csr(ctx, list);
  list = {};
  sort(ctx, rows);
  return merge_duplicates(ctx, rows);
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> rmat(const host_context& ctx, std::int64_t scale, std::int64_t edges_per_vertex,
                  std::uint64_t seed) {
  return merged_edges<T, I, O>(ctx, scale, edges_per_vertex, seed, false);
}
template <class T, class I, class O>
csr<T, I, O> kron(const host_context& ctx, std::int64_t scale, std::int64_t edges_per_vertex,
                  std::uint64_t seed) {
  return merged_edges<T, I, O>(ctx, scale, edges_per_vertex, seed, true);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> rmat(const host_context&, std::int64_t, std::int64_t, std::uint64_t);      \
  template csr<T, I, O> kron(const host_context&, std::int64_t, std::int64_t, std::uint64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gen
