// Rounds over the rows that have no colour yet: one whose neighbours that go before it all have one
// takes the least that is left. What a row sees of its neighbours' colours is final whenever it
// sees it, so timing changes the number of rounds alone.
#include <atomic>

#include <lacuna/op/colour.hpp>

#include "cpu/parallel.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t colour_grain = 2048;

template <class I, class O> struct colour_search {
  detail::colour_graph<I, O, space::host> g;
  bool natural;
  std::int32_t* colour;

  std::int32_t seen(std::int64_t row) const {
    return std::atomic_ref<std::int32_t>(colour[row]).load(std::memory_order_relaxed);
  }
  /// Colours from `base` to base + 63 that neighbours before `row` have; false if one has none yet.
  bool used(const detail::pattern_arrays<I, O, space::host>& p, std::int64_t row, std::int32_t base,
            std::uint64_t& mask) const {
    if (p.rowptr.empty()) return true;
    const std::uint64_t weight = detail::colour_weight(static_cast<std::uint64_t>(row), natural);
    for (O k = p.rowptr[row]; k < p.rowptr[row + 1]; ++k) {
      const I other = p.colind[k];
      if (other == row ||
          detail::colour_weight(static_cast<std::uint64_t>(other), natural) < weight)
        continue;
      const std::int32_t c = seen(other);
      if (c < 0) return false;
      if (c >= base && c < base + 64) mask |= std::uint64_t{1} << static_cast<unsigned>(c - base);
    }
    return true;
  }
  bool try_row(std::int64_t row) const {
    for (std::int32_t base = 0;; base += 64) {
      std::uint64_t mask = 0;
      if (!used(g.rows, row, base, mask) || !used(g.columns, row, base, mask)) return false;
      if (mask == ~std::uint64_t{0}) continue;
      std::int32_t c = base;
      while (mask & 1U) {
        mask >>= 1U;
        ++c;
      }
      std::atomic_ref<std::int32_t>(colour[row]).store(c, std::memory_order_relaxed);
      return true;
    }
  }
};

} // namespace

template <class I, class O>
std::int64_t colour_rows(const host_context& ctx, detail::colour_graph<I, O, space::host> g,
                         bool natural, vector_view<std::int32_t> colour) {
  std::fill(colour.begin(), colour.end(), -1);
  const colour_search<I, O> search{g, natural, colour.data()};
  if (natural) { // in one pass: whoever goes before has a colour
    for (std::int64_t row = 0; row < colour.size(); ++row) search.try_row(row);
  } else {
    std::atomic<std::int64_t> left{colour.size()};
    while (left.load() > 0) {
      for_each_range(ctx, colour.size(), colour_grain, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t done = 0;
        for (std::int64_t row = begin; row < end; ++row)
          if (colour[row] < 0) done += search.try_row(row);
        left.fetch_sub(done);
      });
    }
  }
  return colour.empty() ? 0 : *std::max_element(colour.begin(), colour.end()) + 1;
}

template <class I>
array<I> rows_by_colour(const host_context& ctx, const colouring<space::host>& c) {
  const std::int64_t n = c.colour.size();
  array<I> order(ctx, n);
  array<std::int64_t> next(ctx, c.count + 1);
  std::fill(next.begin(), next.end(), 0);
  for (const std::int32_t at : c.colour) ++next[at + 1];
  for (std::int64_t at = 0; at < c.count; ++at) next[at + 1] += next[at];
  for (std::int64_t row = 0; row < n; ++row) order[next[c.colour[row]]++] = static_cast<I>(row);
  return order;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template std::int64_t colour_rows<I, O>(const host_context&,                                     \
                                          detail::colour_graph<I, O, space::host>, bool,           \
                                          vector_view<std::int32_t>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template array<std::int32_t> rows_by_colour<std::int32_t>(const host_context&,
                                                          const colouring<space::host>&);
template array<std::int64_t> rows_by_colour<std::int64_t>(const host_context&,
                                                          const colouring<space::host>&);

} // namespace lacuna::detail::cpu
