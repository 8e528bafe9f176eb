// Rounds of one launch each over all rows; see cpu/colour.cpp. A thread a row.
#include <lacuna/op/colour.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/relaxed.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Colours are stored plus 1; 0: none yet. counts[0]: rows that got none, counts[1]: the most.
template <class I, class O> struct colour_round {
  detail::colour_graph<I, O, space::device> g;
  bool natural;
  std::uint32_t* colour;
  std::uint32_t* counts;

  __device__ bool used(const detail::pattern_arrays<I, O, space::device>& p, std::int64_t row,
                       std::uint32_t base, unsigned long long& mask) const {
    if (p.rowptr.data() == nullptr) return true;
    const std::uint64_t weight = detail::colour_weight(static_cast<std::uint64_t>(row), natural);
    for (O k = p.rowptr.data()[row]; k < p.rowptr.data()[row + 1]; ++k) {
      const I other = p.colind.data()[k];
      if (other == row ||
          detail::colour_weight(static_cast<std::uint64_t>(other), natural) < weight)
        continue;
      const std::uint32_t c = load_relaxed(colour + other);
      if (c == 0) return false;
      if (c > base && c <= base + 64) mask |= 1ull << (c - base - 1);
    }
    return true;
  }
  __device__ void operator()(std::int64_t row) const {
    if (colour[row] != 0) return;
    for (std::uint32_t base = 0;; base += 64) {
      unsigned long long mask = 0;
      if (!used(g.rows, row, base, mask) || !used(g.columns, row, base, mask)) {
        counts[0] = 1; // whoever writes, it is the same
        return;
      }
      if (mask == ~0ull) continue;
      const auto c = base + static_cast<std::uint32_t>(__ffsll(static_cast<long long>(~mask)));
      store_relaxed(colour + row, c);
      atomicMax(counts + 1, c);
      return;
    }
  }
};

} // namespace

template <class I, class O>
std::int64_t colour_rows(const device_context& ctx, detail::colour_graph<I, O, space::device> g,
                         bool natural, vector_view<std::int32_t, space::device> colour) {
  if (colour.empty()) return 0;
  const device_guard guard(ctx.device());
  array<std::uint32_t, space::device> counts(ctx, 2);
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx.stream()), "colour");
  check(cudaMemsetAsync(colour.data(), 0,
                        static_cast<std::size_t>(colour.size()) * sizeof(std::int32_t),
                        ctx.stream()),
        "colour");
  const colour_round<I, O> round{g, natural, reinterpret_cast<std::uint32_t*>(colour.data()),
                                 counts.data()};
  std::uint32_t seen[2] = {1, 0};
  while (seen[0] != 0) {
    for (int launch = 0; launch < 4; ++launch) { // one wait for four rounds
      if (launch == 3)
        check(cudaMemsetAsync(counts.data(), 0, sizeof(std::uint32_t), ctx.stream()), "colour");
      for_each(ctx, colour.size(), "colour", round);
    }
    read_back(ctx, seen, std::as_const(counts).data(), 2);
  }
  for_each(ctx, colour.size(), "colour",
           [colour = colour.data()] __device__(std::int64_t row) { colour[row] -= 1; });
  return seen[1];
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template std::int64_t colour_rows<I, O>(const device_context&,                                   \
                                          detail::colour_graph<I, O, space::device>, bool,         \
                                          vector_view<std::int32_t, space::device>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
