// Where the rows of a dynamic CSR lie in its pool, on the device.
#include "op/dynamic_layout.hpp"

#include <limits>

#include "gpu/dynamic_csr.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

/// places[i]: of a row of sizes[i] entries, its slack included.
template <class Size>
void count_laid_places(const device_context& ctx, const Size* sizes, std::int64_t rows,
                       segment_slack slack, std::int64_t* places) {
  for_each(ctx, rows, "lay_rows", [=] __device__(std::int64_t i) {
    const auto size = static_cast<std::int64_t>(sizes[i]);
    places[i] = size + slack.of(size, size);
  });
}

template <class Position, class O>
void lay_shortest_first(const device_context& ctx, const O* sizes, std::int64_t rows,
                        segment_slack slack, std::int64_t* places, std::int64_t* firsts,
                        O* begins) {
  using Key = std::make_unsigned_t<O>;
  sorted_keys<Key, Position> by_size{array<Key, space::device>(ctx, rows),
                                     array<Position, space::device>(ctx, rows)};
  Key* const keys = by_size.keys.data();
  Position* const numbers = by_size.positions.data();
  for_each(ctx, rows, "lay_rows", [=] __device__(std::int64_t row) {
    keys[row] = static_cast<Key>(sizes[row]);
    numbers[row] = static_cast<Position>(row);
  });
  by_size = sort_stably(ctx, std::move(by_size), std::numeric_limits<O>::max());
  count_laid_places(ctx, by_size.keys.data(), rows, slack, places);
  exclusive_sums(ctx, rows, places, firsts);
  const Position* const order = by_size.positions.data();
  for_each(ctx, rows, "lay_rows",
           [=] __device__(std::int64_t i) { begins[order[i]] = static_cast<O>(firsts[i]); });
}

/// Lanes that move a row; parts of rows of more than 512 entries are left to blocks.
constexpr int scatter_lanes = 8;
constexpr std::int64_t scatter_short = part_entries / 8;

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    scatter_short_rows(dynamic_rows<T, I, O> m, const O* begins, I* colind, T* values,
                       row_part* list, batch_state* state) {
  const std::int64_t row = thread_index() / scatter_lanes;
  const int lane = static_cast<int>(threadIdx.x) % scatter_lanes;
  if (row >= m.rows) return;
  const std::int64_t size = m.sizes[row], to = begins[row];
  if (size <= scatter_short) {
    merge_entries<T, I, O>(m, row, 0, size, nullptr, nullptr, 0, colind + to, values + to, lane,
                           scatter_lanes);
  } else if (lane == 0) {
    const auto count = static_cast<unsigned>((size + part_entries - 1) / part_entries);
    const unsigned at = atomicAdd(&state->parts, count);
    for (unsigned part = 0; part < count; ++part)
      list[at + part] = {static_cast<unsigned>(row), part};
  }
}
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    scatter_long_rows(dynamic_rows<T, I, O> m, const O* begins, I* colind, T* values,
                      const row_part* list, const batch_state* state) {
  for (unsigned work = blockIdx.x; work < state->parts; work += gridDim.x) {
    const std::int64_t row = list[work].row, to = begins[row];
    const std::int64_t begin = list[work].part * part_entries;
    const std::int64_t end = min(begin + part_entries, std::int64_t{m.sizes[row]});
    merge_entries<T, I, O>(m, row, begin, end, nullptr, nullptr, 0, colind + to, values + to,
                           static_cast<int>(threadIdx.x), block_threads);
  }
}

} // namespace

template <class T, class I, class O>
void scatter_rows(const device_context& ctx, const dynamic_rows<T, I, O>& from, const O* begins,
                  I* colind, T* values, std::int64_t entries) {
  if (from.rows == 0) return;
  const device_guard guard(ctx.device());
  array<row_part, space::device> parts(ctx, entries / scatter_short + 1);
  const auto state = new_state(ctx);
  scatter_short_rows<<<blocks_for(from.rows * scatter_lanes), block_threads, 0, ctx.stream()>>>(
      from, begins, colind, values, parts.data(), state_of(state));
  check_launch("scatter_short_rows");
  scatter_long_rows<<<part_blocks, block_threads, 0, ctx.stream()>>>(from, begins, colind, values,
                                                                     parts.data(), state_of(state));
  check_launch("scatter_long_rows");
}

template <class O>
std::int64_t lay_rows(const device_context& ctx, const O* sizes, std::int64_t rows,
                      segment_slack slack, bool shortest_first, O* begins) {
  if (rows == 0) return 0;
  const device_guard guard(ctx.device());
  array<std::int64_t, space::device> places(ctx, rows), firsts(ctx, rows + 1);
  const std::int64_t* const first = firsts.data();
  if (!shortest_first) {
    count_laid_places(ctx, sizes, rows, slack, places.data());
    exclusive_sums(ctx, rows, places.data(), firsts.data());
    for_each(ctx, rows, "lay_rows",
             [=] __device__(std::int64_t row) { begins[row] = static_cast<O>(first[row]); });
  } else {
    with_position_type(rows, [&](auto zero) {
      lay_shortest_first<decltype(zero)>(ctx, sizes, rows, slack, places.data(), firsts.data(),
                                         begins);
    });
  }
  std::int64_t total = 0;
  read_back(ctx, &total, first + rows, 1);
  return total;
}

template <class T, class I, class O>
void set_rows_at(const device_context& ctx, const dynamic_rows<T, I, O>& m, const O* begins,
                 const O* sizes, segment_slack slack) {
  const device_guard guard(ctx.device());
  for_each(ctx, m.rows, "set_rows_at", [=] __device__(std::int64_t row) {
    const O begin = begins[row], size = sizes[row];
    const auto free = static_cast<O>(slack.of(size, size));
    m.first(0, row) = begin;
    m.last(0, row) = begin + size;
    m.sizes[row] = size;
    m.room[row] = free;
    m.counts[row] = size + free > 0 ? 1 : 0;
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void set_rows_at<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,          \
                                     const O*, const O*, segment_slack);                           \
  template void scatter_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,         \
                                      const O*, I*, T*, std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
template std::int64_t lay_rows(const device_context&, const std::int32_t*, std::int64_t,
                               segment_slack, bool, std::int32_t*);
template std::int64_t lay_rows(const device_context&, const std::int64_t*, std::int64_t,
                               segment_slack, bool, std::int64_t*);

} // namespace lacuna::detail::gpu
