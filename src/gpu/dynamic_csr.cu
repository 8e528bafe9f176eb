// The rows of a dynamic CSR on the device as a whole: where they lie, compaction, scaling.
#include "gpu/dynamic_csr.cuh"

#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Lanes that scale a row.
constexpr int scale_lanes = 8;

/// Entries that a block of gather_entries moves.
constexpr int gathered = 2048;

/// All entries to one run per row, row i's from starts[i] on, columns ascending; one thread per
/// entry, so that long rows hold nobody up. An entry of a row of several segments is looked for in
/// the others.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    gather_entries(dynamic_rows<T, I, O> m, const O* starts, const std::int64_t* cuts, I* colind,
                   T* values, std::int64_t entries) {
  // Of rows that have entries, in their order: where they begin in the result, and their first and
  // second segments; -1: look at the table.
  constexpr int rows_at_hand = 3072 / sizeof(O);
  __shared__ O row_starts[rows_at_hand], row_from[rows_at_hand], row_next[rows_at_hand];
  __shared__ O row_length[rows_at_hand], row_rest[rows_at_hand]; // of the two
  __shared__ tile_marks<gathered> heads;                         // where rows begin
  const std::int64_t begin = std::int64_t{blockIdx.x} * gathered;
  const std::int64_t end = min(begin + gathered, entries);
  const std::int64_t first = cuts[blockIdx.x], count = cuts[blockIdx.x + 1] - first + 1;
  heads.clear();
  __syncthreads();
  for (std::int64_t r = threadIdx.x; r < count; r += block_threads) {
    const std::int64_t start = starts[first + r];
    if (start > begin && start < end && starts[first + r + 1] > start)
      heads.set(static_cast<int>(start - begin));
  }
  __syncthreads();
  heads.count();
  __syncthreads();
  // Number of the row of entry e; the first one's has no mark.
  const auto number = [&](int e) { return heads.marked_before(e) + (heads.at(e) ? 1 : 0); };
  const bool at_hand = number(static_cast<int>(end - begin) - 1) < rows_at_hand;
  if (at_hand)
    for (std::int64_t i = threadIdx.x; i < count; i += block_threads) {
      const std::int64_t row = first + i, start = starts[row];
      if (start >= end || starts[row + 1] <= max(start, begin)) continue; // none of its entries
      const int r = start <= begin ? 0 : number(static_cast<int>(start - begin));
      const int segments = m.counts[row];
      row_starts[r] = static_cast<O>(start);
      row_from[r] = segments <= 2 ? m.first(0, row) : O{-1};
      row_length[r] = m.last(0, row) - m.first(0, row);
      row_next[r] = segments == 2 ? m.first(1, row) : O{-1};
      row_rest[r] = segments == 2 ? m.last(1, row) - m.first(1, row) : O{0};
    }
  __syncthreads();
  constexpr int each = gathered / block_threads;
  std::int64_t place[each]; // in the pool, of entries that are at hand
  int of[each];             // the row of each
  I columns[each];
  T values_of[each];
  // All loads before the first is needed.
#pragma unroll
  for (int u = 0; u < each; ++u) {
    const std::int64_t k = begin + threadIdx.x + u * block_threads;
    place[u] = -1;
    if (k >= end || !at_hand) continue;
    const int r = number(static_cast<int>(k - begin));
    of[u] = r;
    if (row_from[r] < 0) continue;
    const std::int64_t at = k - row_starts[r], second = at - row_length[r];
    place[u] = second < 0 ? row_from[r] + at : row_next[r] + second;
    columns[u] = m.colind[place[u]];
    values_of[u] = m.values[place[u]];
  }
  bool others = false;
#pragma unroll
  for (int u = 0; u < each; ++u) {
    const std::int64_t k = begin + threadIdx.x + u * block_threads;
    if (k >= end) continue;
    if (place[u] < 0) {
      others = true;
      continue;
    }
    const int r = of[u];
    std::int64_t to = k;
    if (row_next[r] >= 0) // of two segments
      to += k - row_starts[r] >= row_length[r]
                ? not_above<I>(m.colind + row_from[r], row_length[r], columns[u]) - row_length[r]
                : lower_bound<I>(m.colind + row_next[r], row_rest[r], columns[u]);
    colind[to] = columns[u];
    values[to] = values_of[u];
  }
  if (!others) return;
#pragma unroll 1
  for (std::int64_t k = begin + threadIdx.x; k < end; k += block_threads) {
    const std::int64_t row = first + row_of(starts + first, count, k), start = starts[row];
    if (at_hand && m.counts[row] <= 2) continue;
    std::int64_t at = k - start; // in segment s
    int s = 0;
    for (; at >= m.last(s, row) - m.first(s, row); ++s) at -= m.last(s, row) - m.first(s, row);
    const I column = m.colind[m.first(s, row) + at];
    const std::int64_t to = start + merged_place<T, I, O>(m, row, s, at, column, nullptr, 0);
    colind[to] = column;
    values[to] = m.values[m.first(s, row) + at];
  }
}

} // namespace

template <class T, class I, class O>
void scale_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                vector_view<const T, space::device> factors) {
  const device_guard guard(ctx.device());
  const T* const factor = factors.data();
  for_each(ctx, m.rows * scale_lanes, "scale_rows", [=] __device__(std::int64_t i) {
    const std::int64_t row = i / scale_lanes;
    for (int s = 0; s < m.counts[row]; ++s)
      for (std::int64_t k = m.first(s, row) + i % scale_lanes; k < m.last(s, row); k += scale_lanes)
        m.values[k] *= factor[row];
  });
}

template <class O>
void place_rows(const device_context& ctx, const O* sizes, std::int64_t rows, O* starts) {
  const device_guard guard(ctx.device());
  exclusive_sums<O, O>(ctx, rows, sizes, starts);
}

template <class T, class I, class O>
listed_rows set_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m, const O* starts,
                     const O* sizes) {
  const device_guard guard(ctx.device());
  const auto state = new_state(ctx);
  batch_state* const bins = state_of(state);
  for_each(ctx, m.rows + 1, "set_rows", [=] __device__(std::int64_t row) {
    const O start = starts[row];
    m.first(0, row) = start;
    if (row == m.rows) return;
    const O next = starts[row + 1];
    set_row(m, row, start, next, sizes == nullptr ? next - start : sizes[row], bins);
  });
  const batch_state result = wait_for(ctx, bins);
  return {static_cast<std::int64_t>(result.mid_rows), static_cast<std::int64_t>(result.long_rows)};
}

template <class T, class I, class O>
void gather_rows(const device_context& ctx, const dynamic_rows<T, I, O>& from, const O* starts,
                 I* colind, T* values, std::int64_t entries) {
  if (entries == 0) return;
  const device_guard guard(ctx.device());
  const std::int64_t tiles = (entries + gathered - 1) / gathered;
  array<std::int64_t, space::device> cuts(ctx, tiles + 1); // the row of each tile's first entry
  launch_cuts(ctx, tiles, from.rows, cuts.data(),
              [=] __device__(std::int64_t tile, std::int64_t r) {
                return r == 0 || starts[r] <= min(tile * gathered, entries - 1);
              });
  gather_entries<<<static_cast<unsigned>(tiles), block_threads, 0, ctx.stream()>>>(
      from, starts, cuts.data(), colind, values, entries);
  check_launch("gather_entries");
}

template <class I, class O>
listed_rows list_rows(const device_context& ctx, const O* sizes, std::int64_t rows, I* mid_rows,
                      I* long_rows) {
  const device_guard guard(ctx.device());
  const auto state = new_state(ctx);
  batch_state* const bins = state_of(state);
  for_each(ctx, rows, "list_rows", [=] __device__(std::int64_t row) {
    if (sizes[row] > mid_row) mid_rows[atomicAdd(&bins->mid_rows, 1ull)] = static_cast<I>(row);
    if (sizes[row] > long_row) long_rows[atomicAdd(&bins->long_rows, 1ull)] = static_cast<I>(row);
  });
  const batch_state result = wait_for(ctx, bins);
  return {static_cast<std::int64_t>(result.mid_rows), static_cast<std::int64_t>(result.long_rows)};
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void scale_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,           \
                                    vector_view<const T, space::device>);                          \
  template listed_rows set_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,      \
                                         const O*, const O*);                                      \
  template void gather_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,          \
                                     const O*, I*, T*, std::int64_t);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#define LACUNA_INSTANTIATE_INDEX(I, O)                                                             \
  template listed_rows list_rows<I, O>(const device_context&, const O*, std::int64_t, I*, I*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE_INDEX)
template void place_rows(const device_context&, const std::int32_t*, std::int64_t, std::int32_t*);
template void place_rows(const device_context&, const std::int64_t*, std::int64_t, std::int64_t*);

} // namespace lacuna::detail::gpu
