// Ranges of rows on the host.
#include "op/row_ranges.hpp"

#include "cpu/parallel.hpp"
#include <lacuna/core/types.hpp>

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t range_grain = 1 << 14; // entries; below, a thread costs more than it does

} // namespace

template <class I, class O>
std::vector<row_range> cut_rows(const host_context& ctx, const rows_to_cut<I, O>& a, int n) {
  array<std::int64_t> before;
  std::int64_t weight = a.entries + a.rows;
  if (a.b_rowptr != nullptr) {
    before = array<std::int64_t>(ctx, a.entries + 1);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < a.entries; ++k) {
      before[k] = sum;
      sum += a.b_rowptr[a.colind[k] + 1] - a.b_rowptr[a.colind[k]];
    }
    before[a.entries] = sum;
    weight = sum + a.rows;
  }
  std::vector<row_range> ranges(static_cast<std::size_t>(n));
  std::int64_t first = 0;
  for (int p = 0; p < n; ++p) {
    const std::int64_t wanted = weight / n * (p + 1) + weight % n * (p + 1) / n;
    const std::int64_t last =
        p + 1 == n
            ? a.rows
            : row_of_weight(a.rowptr, before.empty() ? nullptr : before.data(), a.rows, wanted);
    ranges[static_cast<std::size_t>(p)] = {first, last, a.rowptr[first], a.rowptr[last], 0, 0};
    first = last;
  }
  for_each_dynamic(a.entries < range_grain ? 1 : ctx.threads(), n, [&](int p) {
    row_range& r = ranges[static_cast<std::size_t>(p)];
    if (r.begin == r.end) return;
    const auto [least, most] = std::minmax_element(a.colind + r.begin, a.colind + r.end);
    r.low = *least;
    r.high = std::int64_t{*most} + 1;
  });
  return ranges;
}

template <class O>
void shift_offsets(const host_context& ctx, const O* from, std::int64_t size, O by, O* to) {
  for_each_range(ctx, size, range_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = from[i] + by;
  });
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template std::vector<row_range> cut_rows<I, O>(const host_context&, const rows_to_cut<I, O>&,    \
                                                 int);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
template void shift_offsets<std::int32_t>(const host_context&, const std::int32_t*, std::int64_t,
                                          std::int32_t, std::int32_t*);
template void shift_offsets<std::int64_t>(const host_context&, const std::int64_t*, std::int64_t,
                                          std::int64_t, std::int64_t*);

} // namespace lacuna::detail::cpu
