// A large batch into a compact dynamic CSR on the device: the matrix is written anew, merged with
// the sorted batch. It costs a copy of all entries, but one that streams: from a twentieth of the
// entries on that is less than going to each row.
#include "gpu/dynamic_csr.cuh"

#include <cuda_pipeline.h>

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

/// Entries of both that a block puts in their places.
constexpr int merged_entries = 2048;

/// Entries of a tile: first the matrix's, then those that the batch adds.
template <class T, class I> struct merged_tile {
  tile_marks<merged_entries> added; // by their place in the result
  I columns[merged_entries];
  T values[merged_entries];
};

/// A tile's entries are written in their order, so in whole lines: new ones are marked, and the
/// others are the matrix's, one after the other. These are on their way to shared memory while the
/// batch's are looked at.
template <class T, class I, class O>
__device__ void merge_tile(const merge_arguments<T, I, O>& a, std::int64_t tile_number,
                           merged_tile<T, I>& tile) {
  const batch_arguments<T, I, O>& p = a.batch;
  const std::int64_t all = a.entries + p.n, begin = tile_number * merged_entries;
  const std::int64_t end = min(begin + merged_entries, all);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = a.tile_cuts[tile_number], from = begin - first;
  const int count = static_cast<int>(a.tile_cuts[tile_number + 1] - first);
  const int olds = static_cast<int>(end - begin) - count;
  for (int k = thread; k < olds; k += block_threads) {
    __pipeline_memcpy_async(tile.columns + k, p.m.colind + from + k, sizeof(I));
    __pipeline_memcpy_async(tile.values + k, p.m.values + from + k, sizeof(T));
  }
  __pipeline_commit();
  const std::int64_t new_before_tile = a.new_before[first], to = from + new_before_tile;
  const int results = olds + static_cast<int>(a.new_before[first + count] - new_before_tile);
  tile.added.clear();
  __syncthreads();
  bool changes_any = false;
  for (int j = thread; j < count; j += block_threads) {
    const entry_kind kind = a.kinds[first + j];
    changes_any |= kind == entry_kind::changed;
    if (kind != entry_kind::added) continue;
    const auto at = static_cast<int>(p.places[first + j] - from);
    const int number = static_cast<int>(a.new_before[first + j] - new_before_tile);
    tile.added.set(at + number);
    tile.columns[olds + number] = p.col_at(first + j);
    tile.values[olds + number] = p.combined_from(first + j);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  tile.added.count();
  int changes = 0;
  const auto change = [&](std::int64_t i, int at) {
    tile.values[at] = combined(p.rule, tile.values[at], p.combined_from(i));
    ++changes;
  };
  if (changes_any)
    for (int j = thread; j < count; j += block_threads) {
      if (a.kinds[first + j] != entry_kind::changed) continue;
      const auto at = static_cast<int>(p.places[first + j] - from);
      if (at < olds) change(first + j, at); // else it is the next tile's
    }
  // What changes this tile's first old entry may stand at the end of the tile before.
  if (thread == 0 && olds > 0)
    for (std::int64_t i = first - 1; i >= 0 && p.places[i] == from; --i)
      if (a.kinds[i] == entry_kind::changed) change(i, 0);
  __syncthreads();
  for (int e = thread; e < results; e += block_threads) {
    const int before = tile.added.marked_before(e);
    const int k = tile.added.at(e) ? olds + before : e - before;
    a.to.colind[to + e] = tile.columns[k];
    a.to.values[to + e] = tile.values[k];
  }
  for (int step = 16; step > 0; step /= 2) changes += __shfl_xor_sync(0xffffffffu, changes, step);
  if (thread % 32 == 0 && changes > 0)
    atomicAdd(&p.state->changed, static_cast<unsigned long long>(changes));
}

/// The table, one thread per row.
template <class T, class I, class O>
__device__ void set_merged_rows(const merge_arguments<T, I, O>& a, std::int64_t block, O* starts) {
  const batch_arguments<T, I, O>& p = a.batch;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = block * block_threads;
  const std::int64_t cut = a.row_cuts[block], items = a.row_cuts[block + 1] - cut;
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
  const O size = row < p.m.rows ? starts[thread + 1] - starts[thread] : O{0};
  if (row < p.m.rows) set_row(a.to, row, starts[thread], starts[thread + 1], size);
  list_rows_of_block(a.to, row, size, p.state);
}

/// Blocks of tiles, then blocks of rows, which begin as the others end. (Evenly mixed they took a
/// seventh longer.)
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    merge_entries_and_rows(const merge_arguments<T, I, O> a, std::int64_t tiles) {
  __shared__ merged_tile<T, I> tile;
  __shared__ O starts[block_threads + 1];
  if (a.batch.unsorted()) return;
  if (blockIdx.x < tiles)
    merge_tile(a, blockIdx.x, tile);
  else
    set_merged_rows(a, blockIdx.x - tiles, starts);
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
    take(a.tile_cuts, tiles + 1 + row_blocks + 1);
  });
  a.row_cuts = a.tile_cuts + tiles + 1;
  locate<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(a);
  check_launch("locate");
  exclusive_sums<std::int32_t, std::int32_t>(ctx, n, a.is_new, a.new_before);
  // Entry i - 1 of the batch is among the first d of both if its place there is below d.
  launch_cuts(ctx, tiles + 1 + row_blocks, n + 1, a.tile_cuts,
              [a, tiles] __device__(std::int64_t cut, std::int64_t i) {
                if (i == 0 || a.batch.unsorted()) return i == 0;
                if (cut > tiles) return a.batch.row_at(i - 1) < (cut - tiles - 1) * block_threads;
                const std::int64_t d = min(cut * merged_entries, a.entries + a.batch.n);
                return a.batch.places[i - 1] + i - 1 < d;
              });
  merge_entries_and_rows<<<static_cast<unsigned>(tiles + row_blocks), block_threads, 0,
                           ctx.stream()>>>(a, tiles);
  check_launch("merge_entries_and_rows");
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
