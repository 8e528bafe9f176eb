// Where the rows of a dynamic CSR lie in its pool, on the host.
#include "op/dynamic_layout.hpp"

#include <algorithm>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

template <class O>
std::int64_t lay_rows(const host_context& ctx, const O* sizes, std::int64_t rows,
                      segment_slack slack, bool shortest_first, O* begins) {
  const auto with_slack = [&](std::int64_t size) { return size + slack.of(size, size); };
  std::int64_t places = 0;
  if (!shortest_first) {
    for (std::int64_t row = 0; row < rows; ++row) {
      begins[row] = static_cast<O>(places);
      places += with_slack(sizes[row]);
    }
    return places;
  }
  // Counting sort: rows by size, those of a size in their order.
  const std::int64_t longest = rows == 0 ? 0 : *std::max_element(sizes, sizes + rows);
  array<std::int64_t> firsts(ctx, longest + 1); // places before the next row of each size
  std::fill(firsts.begin(), firsts.end(), std::int64_t{0});
  for (std::int64_t row = 0; row < rows; ++row) ++firsts[sizes[row]];
  for (std::int64_t size = 0; size <= longest; ++size) {
    const std::int64_t count = firsts[size];
    firsts[size] = places;
    places += count * with_slack(size);
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    begins[row] = static_cast<O>(firsts[sizes[row]]);
    firsts[sizes[row]] += with_slack(sizes[row]);
  }
  return places;
}

template <class T, class I, class O>
void set_rows_at(const host_context& ctx, const dynamic_rows<T, I, O>& m, const O* begins,
                 const O* sizes, segment_slack slack) {
  for_each_range(ctx, m.rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t free = slack.of(sizes[row], sizes[row]);
      m.first(0, row) = begins[row];
      m.last(0, row) = begins[row] + sizes[row];
      m.sizes[row] = sizes[row];
      m.room[row] = static_cast<O>(free);
      m.counts[row] = sizes[row] + free > 0 ? 1 : 0;
    }
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void set_rows_at<T, I, O>(const host_context&, const dynamic_rows<T, I, O>&, const O*,  \
                                     const O*, segment_slack);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
template std::int64_t lay_rows(const host_context&, const std::int32_t*, std::int64_t,
                               segment_slack, bool, std::int32_t*);
template std::int64_t lay_rows(const host_context&, const std::int64_t*, std::int64_t,
                               segment_slack, bool, std::int64_t*);

} // namespace lacuna::detail::cpu
