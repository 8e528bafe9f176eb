// A large batch into a compact dynamic CSR on the device: the matrix is written anew, merged with
// the sorted batch. It costs a copy of all entries, but one that streams: from a twentieth of the
// entries on that is less than going to each row.
#include "gpu/dynamic_csr.cuh"

#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {
namespace {

/// What a batch's entry is to the matrix.
enum class entry_kind : std::uint8_t { left_out, changed, added };

template <class T, class I, class O> struct merge_arguments {
  batch_arguments<T, I, O> batch;
  dynamic_rows<T, I, O> to;
  std::int64_t entries; // of the matrix
  entry_kind* kinds;
  std::int32_t *is_new, *new_before; // the latter one more: of all
  std::int64_t* tile_cuts;           // the batch's entries before each tile
  std::int64_t* row_cuts;            // and before the first row of each block of rows
};

/// Entries of the matrix before which, or at which, each of the batch's stands.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) locate(const merge_arguments<T, I, O> a) {
  const batch_arguments<T, I, O>& p = a.batch;
  const std::int64_t i = thread_index();
  if (i >= p.n) return;
  auto kind = entry_kind::left_out;
  O at = 0;
  if (!p.unsorted()) {
    const std::int64_t row = p.row_at(i);
    const I column = p.col_at(i);
    const O begin = p.m.begin[row], end = p.m.begin[row + 1];
    if (p.rule == batch_rule::append) { // behind its equals
      at = begin + static_cast<O>(not_above<I>(p.m.colind + begin, end - begin, column));
      kind = entry_kind::added;
    } else {
      at = p.m.lower(begin, end, column);
      if (i == 0 || !p.same_entry(i, i - 1)) {
        const bool there = at < end && p.m.colind[at] == column;
        kind = !there                       ? entry_kind::added
               : p.rule == batch_rule::keep ? entry_kind::left_out
                                            : entry_kind::changed;
      }
    }
  }
  p.places[i] = at;
  a.kinds[i] = kind;
  a.is_new[i] = kind == entry_kind::added ? 1 : 0;
}

/// Entries of both that a block of merge_tiles puts in their places.
constexpr int merged_entries = 2048;

/// A tile's entries are written in their order, so in whole lines: new ones are marked, and the
/// others are the matrix's, one after the other.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) merge_tiles(const merge_arguments<T, I, O> a) {
  constexpr int each = merged_entries / block_threads;
  const batch_arguments<T, I, O>& p = a.batch;
  if (p.unsorted()) return;
  // By their place in the result: what the batch brings.
  __shared__ tile_marks<merged_entries> added;
  __shared__ unsigned changed[merged_entries / 32];
  __shared__ I columns[merged_entries];
  __shared__ T values[merged_entries];
  const std::int64_t all = a.entries + p.n, begin = std::int64_t{blockIdx.x} * merged_entries;
  const std::int64_t end = min(begin + merged_entries, all);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = a.tile_cuts[blockIdx.x], from = begin - first;
  const int count = static_cast<int>(a.tile_cuts[blockIdx.x + 1] - first);
  const int olds = static_cast<int>(end - begin) - count;
  const std::int64_t new_before_tile = a.new_before[first], to = from + new_before_tile;
  const int results = olds + static_cast<int>(a.new_before[first + count] - new_before_tile);
  added.clear();
  if (thread < merged_entries / 32) changed[thread] = 0;
  __syncthreads();
  std::int16_t places[each]; // of the batch's entries that this thread has; -1: none
#pragma unroll
  for (int u = 0; u < each; ++u) {
    const int j = thread + u * block_threads;
    places[u] = -1;
    if (j >= count) continue;
    const entry_kind kind = a.kinds[first + j];
    const auto at = static_cast<int>(p.places[first + j] - from);
    // What changes an entry of the next tile is that one's.
    if (kind == entry_kind::left_out || (kind == entry_kind::changed && at >= olds)) continue;
    const int place = at + static_cast<int>(a.new_before[first + j] - new_before_tile);
    places[u] = static_cast<std::int16_t>(place);
    if (kind == entry_kind::added)
      added.set(place);
    else
      atomicOr(changed + place / 32, 1u << (place % 32));
  }
  __syncthreads();
  added.count();
  __syncthreads();
  I old_columns[each];
  T old_values[each];
#pragma unroll
  for (int u = 0; u < each; ++u) {
    const int e = thread + u * block_threads;
    if (e >= results || added.at(e)) continue;
    const std::int64_t k = from + e - added.marked_before(e);
    old_columns[u] = p.m.colind[k];
    old_values[u] = p.m.values[k];
  }
  int changes = 0;
#pragma unroll
  for (int u = 0; u < each; ++u) {
    if (places[u] < 0) continue;
    const int j = thread + u * block_threads;
    columns[places[u]] = p.col_at(first + j);
    values[places[u]] = p.combined_from(first + j);
    if (!added.at(places[u])) ++changes;
  }
  // What changes this tile's first old entry may stand at the end of the tile before.
  if (thread == 0 && olds > 0)
    for (std::int64_t i = first - 1; i >= 0 && p.places[i] == from; --i)
      if (a.kinds[i] == entry_kind::changed) {
        int place = 0;
        while (added.at(place)) ++place;
        atomicOr(changed + place / 32, 1u << (place % 32));
        values[place] = p.combined_from(i);
        ++changes;
      }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < each; ++u) {
    const int e = thread + u * block_threads;
    if (e >= results) continue;
    const bool is_new = added.at(e), changes_value = (changed[e / 32] >> (e % 32) & 1) != 0;
    a.to.colind[to + e] = is_new ? columns[e] : old_columns[u];
    a.to.values[to + e] = is_new          ? values[e]
                          : changes_value ? combined(p.rule, old_values[u], values[e])
                                          : old_values[u];
  }
  for (int step = 16; step > 0; step /= 2) changes += __shfl_xor_sync(0xffffffffu, changes, step);
  if (thread % 32 == 0 && changes > 0)
    atomicAdd(&p.state->changed, static_cast<unsigned long long>(changes));
}

/// The table, one thread per row.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) set_merged_rows(const merge_arguments<T, I, O> a) {
  const batch_arguments<T, I, O>& p = a.batch;
  if (p.unsorted()) return;
  __shared__ O starts[block_threads + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * block_threads;
  const std::int64_t cut = a.row_cuts[blockIdx.x], items = a.row_cuts[blockIdx.x + 1] - cut;
  const auto start_of = [&](std::int64_t row, std::int64_t item) {
    return p.m.begin[row] + static_cast<O>(a.new_before[cut + item]);
  };
  const std::int64_t row = first + thread;
  if (row <= p.m.rows) {
    const std::uint64_t key = static_cast<std::uint64_t>(row) << p.col_bits;
    starts[thread] = start_of(row, lower_bound(p.keys + cut, items, key));
    a.to.first(0, row) = starts[thread];
    if (row == p.m.rows) p.state->inserted = a.new_before[p.n];
  }
  if (thread == 0) starts[block_threads] = start_of(min(first + block_threads, p.m.rows), items);
  __syncthreads();
  if (row < p.m.rows)
    set_row(a.to, row, starts[thread], starts[thread + 1], starts[thread + 1] - starts[thread],
            p.state);
}

} // namespace

template <class T, class I, class O>
batch_in_order order_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                           coo_view<const T, I, O, space::device> batch) {
  const device_guard guard(ctx.device());
  batch_arguments<T, I, O> p = arguments_of(m, batch);
  auto state = new_state(ctx);
  p.state = state_of(state);
  batch_in_order result;
  result.order = sort_batch(ctx, p, batch_order::by_prefix);
  result.state = std::move(state);
  result.keys = p.keys;
  result.positions = p.positions;
  result.col_bits = p.col_bits;
  return result;
}

template <class T, class I, class O>
std::optional<batch_outcome>
merge_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m, std::int64_t entries,
            coo_view<const T, I, O, space::device> batch, const batch_in_order& sorted,
            batch_rule rule, const dynamic_rows<T, I, O>& to) {
  if (sorted.keys == nullptr) return {}; // indices too large for keys
  const device_guard guard(ctx.device());
  const std::int64_t n = batch.size();
  merge_arguments<T, I, O> a{};
  batch_arguments<T, I, O>& p = a.batch;
  p = arguments_of(m, batch);
  p.rule = rule;
  p.keys = sorted.keys;
  p.positions = sorted.positions;
  p.col_bits = sorted.col_bits;
  p.state = state_of(sorted.state);
  a.to = to;
  a.entries = entries;
  const std::int64_t tiles = (entries + n + merged_entries - 1) / merged_entries;
  const std::int64_t row_blocks = m.rows / block_threads + 1;
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.places, n);
    take(a.kinds, n);
    take(a.is_new, n);
    take(a.new_before, n + 1);
    take(a.tile_cuts, tiles + 1);
    take(a.row_cuts, row_blocks + 1);
  });
  const auto launch = [&](auto kernel, std::int64_t grid, const char* name) {
    kernel<<<static_cast<unsigned>(grid), block_threads, 0, ctx.stream()>>>(a);
    check_launch(name);
  };
  launch(locate<T, I, O>, blocks_for(n), "locate");
  exclusive_sums<std::int32_t, std::int32_t>(ctx, n, a.is_new, a.new_before);
  // Entry i - 1 of the batch is among the first d of both if its place there is below d.
  launch_cuts(ctx, tiles, n + 1, a.tile_cuts, [a] __device__(std::int64_t tile, std::int64_t i) {
    const std::int64_t d = min(tile * merged_entries, a.entries + a.batch.n);
    return i == 0 || (!a.batch.unsorted() && a.batch.places[i - 1] + i - 1 < d);
  });
  launch_cuts(
      ctx, row_blocks, n + 1, a.row_cuts, [a] __device__(std::int64_t block, std::int64_t i) {
        return i == 0 || (!a.batch.unsorted() && a.batch.row_at(i - 1) < block * block_threads);
      });
  launch(merge_tiles<T, I, O>, tiles, "merge_tiles");
  launch(set_merged_rows<T, I, O>, row_blocks, "set_merged_rows");
  const batch_state state = wait_for(ctx, p.state);
  if (state.too_full != 0) return {};
  batch_outcome outcome;
  outcome.inserted = state.inserted;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.used = entries + state.inserted;
  outcome.outside = outside_of(state);
  outcome.mid_rows = static_cast<std::int64_t>(state.mid_rows);
  outcome.long_rows = static_cast<std::int64_t>(state.long_rows);
  outcome.segments = 1;
  return outcome;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_in_order order_batch<T, I, O>(const device_context&,                              \
                                               const dynamic_rows<T, I, O>&,                       \
                                               coo_view<const T, I, O, space::device>);            \
  template std::optional<batch_outcome> merge_batch<T, I, O>(                                      \
      const device_context&, const dynamic_rows<T, I, O>&, std::int64_t,                           \
      coo_view<const T, I, O, space::device>, const batch_in_order&, batch_rule,                   \
      const dynamic_rows<T, I, O>&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
