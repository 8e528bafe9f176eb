// The symbolic pass: how many entries each row of C has. A group of lanes owns a row and finds its
// distinct columns in a table in shared memory, or in a bit for each column of its span where that
// is smaller. Heavy rows: one block per row, bits in windows of what shared memory holds; broad
// rows are expanded and sorted.
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_expand.cuh"
#include "gpu/parts/fork.cuh"
#include "gpu/spgemm_split.cuh"
#include "gpu/spgemm_walk.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Adds a counted row to the totals of its fill class.
__device__ void note_row(block_totals& block, const spgemm_thresholds& thresholds,
                         const spgemm::row_work& row, std::int64_t entries) {
  block.add(spgemm::fill_class(thresholds, row, entries), row.products, row.a_entries);
}
/// Adds up what the lanes of each warp counted.
__device__ void add_entries(spgemm_totals* totals, unsigned long long entries) {
  entries = warp_sum(entries);
  if (threadIdx.x % 32 == 0 && entries != 0) atomicAdd(&totals->entries, entries);
}

/// One thread per row merges the rows of B that the row needs.
template <int most, class I, class O>
__global__ void __launch_bounds__(block_threads)
    count_merged_kernel(const spgemm_factors<I, O> f, row_list<I> list,
                        const known_rows<I, O> known, std::int64_t* counts, spgemm_totals* totals) {
  __shared__ block_totals block;
  block.clear();
  unsigned long long entries = 0;
  for (std::int64_t i = thread_index(); i < list.count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t row = list[i];
    const O begin = f.a_rowptr[row];
    merged_rows<most, I, O> rows(f, begin, static_cast<int>(f.a_rowptr[row + 1] - begin));
    std::int64_t distinct = 0;
    for (I column; rows.next(column); ++distinct) rows.leave(column);
    counts[row] = distinct;
    entries += static_cast<unsigned long long>(distinct);
    note_row(block, known.thresholds, known.work(row), distinct);
  }
  __syncwarp();
  add_entries(totals, entries);
  block.flush(totals);
}

/// flat: lanes are 32.
template <bool flat, class I, class O>
__global__ void __launch_bounds__(block_threads)
    count_rows_kernel(const spgemm_factors<I, O> f, row_list<I> list, int lanes, int slots,
                      const known_rows<I, O> known, std::int64_t* counts, spgemm_totals* totals) {
  extern __shared__ __align__(16) unsigned char shared[];
  const lane_group g(lanes);
  const int group = static_cast<int>(threadIdx.x) / lanes;
  const int groups = static_cast<int>(blockDim.x) / lanes;
  I* const keys = reinterpret_cast<I*>(shared) + group * slots;
  auto* const bits = reinterpret_cast<unsigned*>(keys);
  __shared__ block_totals block;
  block.clear();
  unsigned long long entries = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * groups;
  const std::int64_t rounds = (list.count + stride - 1) / stride;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * groups + group;
  for (std::int64_t round = 0; round < rounds; ++round, i += stride) {
    const bool inside = i < list.count;
    const std::int64_t row = inside ? list[i] : 0;
    const O begin = f.a_rowptr[row], end = inside ? f.a_rowptr[row + 1] : begin;
    const spgemm::row_work work = known.work(row);
    const std::int64_t many = inside ? work.products : 0, span = work.span;
    const bool counted = end - begin <= 1 || many == 0; // nothing can coincide
    const bool by_bits = known.thresholds.spans && (span + 31) / 32 <= slots;
    // Few products need few of the slots: less to clear.
    int used = by_bits ? static_cast<int>((span + 31) / 32) : spgemm::least_slots;
    if (!by_bits)
      while (used < slots && used < spgemm::slots_for(many)) used *= 2;
    if (!counted)
      for (int s = g.lane; s < used; s += lanes) {
        if (by_bits)
          bits[s] = 0;
        else
          keys[s] = no_key<I>;
      }
    __syncwarp();
    unsigned distinct = 0;
    const I base = by_bits && !counted ? known.first[row] : I{0};
    const int shift = __clz(used) + 1;
    const auto take = [&](I column) {
      if (by_bits) {
        const unsigned at = static_cast<unsigned>(column - base), bit = 1u << (at & 31);
        if ((bits[at >> 5] & bit) == 0) atomicOr(bits + (at >> 5), bit);
      } else {
        distinct += find_slot(keys, shift, column).is_new ? 1 : 0;
      }
    };
    const O to_walk = counted ? O{0} : static_cast<O>(end - begin);
    if constexpr (flat)
      walk_flat(
          f, columns_only{}, begin, to_walk, [&](O k) { return whole_row(f, columns_only{}, k); },
          [&](bool present, I column, int) {
            if (present) take(column);
          });
    else
      walk_along(f, columns_only{}, g, begin, to_walk, [&](I column, int) { take(column); });
    __syncwarp();
    if (by_bits && !counted)
      for (int w = g.lane; w < used; w += lanes) distinct += __popc(bits[w]);
    __syncwarp();
    distinct = g.sum(distinct);
    if (counted) distinct = static_cast<unsigned>(many);
    if (g.lane == 0 && inside) {
      counts[row] = distinct;
      entries += distinct;
      note_row(block, known.thresholds, work, distinct);
    }
    __syncwarp();
  }
  add_entries(totals, entries);
  block.flush(totals);
}

/// One block per row: bits of the columns in a window, window by window; a full window is done.
template <class I, class O>
__global__ void __launch_bounds__(1024)
    count_heavy_kernel(const spgemm_factors<I, O> f, row_list<I> list, std::int64_t window,
                       const known_rows<I, O> known, std::int64_t* counts, spgemm_totals* totals) {
  extern __shared__ __align__(16) unsigned bits[];
  __shared__ unsigned set; // bits of the window
  __shared__ block_totals block;
  block.clear();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = list[blockIdx.x];
  const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
  const bool flat = known.has_short_rows(row);
  const std::int64_t low = known.first[row], high = known.last[row];
  unsigned long long total = 0;
  for (std::int64_t base = low; base <= high; base += window) {
    const std::int64_t width = min(window, high + 1 - base);
    const int words = static_cast<int>((width + 31) / 32);
    for (int w = static_cast<int>(threadIdx.x); w < words; w += static_cast<int>(blockDim.x))
      bits[w] = 0;
    if (threadIdx.x == 0) set = 0;
    __syncthreads();
    unsigned mine = 0;
    walk_window(
        f, begin, end, flat, low < base, base, width,
        [&](std::int64_t at) {
          const unsigned bit = 1u << (at & 31);
          if ((bits[at >> 5] & bit) == 0 && (atomicOr(bits + (at >> 5), bit) & bit) == 0) ++mine;
        },
        [&] {
          if (__any_sync(whole_warp, mine != 0)) {
            mine = warp_sum(mine);
            if (lane == 0) atomicAdd(&set, mine);
            mine = 0;
          }
          // Other warps add to it meanwhile, and all lanes must go the same way.
          return __any_sync(whole_warp, *static_cast<volatile unsigned*>(&set) == width) != 0;
        });
    __syncthreads();
    total += set;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    counts[row] = static_cast<std::int64_t>(total);
    note_row(block, known.thresholds, known.work(row), static_cast<std::int64_t>(total));
    atomicAdd(&totals->entries, total);
  }
  block.flush(totals);
}

/// Notes rows that are counted already.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    note_rows_kernel(row_list<I> list, const known_rows<I, O> known, const std::int64_t* counts,
                     spgemm_totals* totals) {
  __shared__ block_totals block;
  block.clear();
  unsigned long long entries = 0;
  if (const std::int64_t i = thread_index(); i < list.count) {
    const std::int64_t row = list[i];
    entries = static_cast<unsigned long long>(counts[row]);
    note_row(block, known.thresholds, known.work(row), counts[row]);
  }
  __syncwarp();
  add_entries(totals, entries);
  block.flush(totals);
}

/// Takes the fill classes' totals, and nothing else, from what was counted.
spgemm_totals with_counted(const device_context& ctx, const spgemm_totals& analysed,
                           const spgemm_totals* totals) {
  spgemm_totals result = analysed, counted{};
  read_back(ctx, &counted, totals, 1);
  for (int c = 0; c <= spgemm::count_classes; ++c) result.of_class[c] = counted.of_class[c];
  result.entries = counted.entries;
  return result;
}

} // namespace

template <class I, class O>
spgemm_totals count_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                         row_facts<I, O>& facts, const spgemm_totals& analysed,
                         std::int64_t* counts, stage_clock& clock) {
  spgemm_counters* const counters = facts.counters.data();
  spgemm_totals* const totals = &counters->counted;
  const known_rows<I, O> known = facts.view();
  const spgemm_thresholds& thresholds = facts.thresholds;
  const row_bins<I> bins(ctx, f.rows, thresholds, analysed, spgemm::count_classes,
                         counters->binned_to_count,
                         [=] __device__(std::int64_t row) { return known.count_class(row); });
  clock.lap(&spgemm_report::bin_for_count);
  const row_split<I> split(ctx, bins[spgemm::count_classes], f.columns > spgemm::broad_span,
                           is_broad_row<I, O>{known, spgemm::broad_span});
  const row_list<I> merged = bins[0], heavy = split.others;
  launch_fork fork(ctx, bins.launches() + (split.matching.count > 0 ? 1 : 0));
  if (heavy.count > 0) {
    // Two blocks per multiprocessor.
    const std::size_t bytes = ctx.properties().shared_bytes_per_block / 2 / 1024 * 1024 - 1024;
    allow_shared(count_heavy_kernel<I, O>, bytes);
    count_heavy_kernel<<<static_cast<unsigned>(heavy.count), 1024, bytes, fork.next()>>>(
        f, heavy, static_cast<std::int64_t>(bytes) * 8, known, counts, totals);
    check_launch("count_heavy_kernel");
  }
  for (int c = spgemm::count_classes - 1; c >= 1; --c) {
    const row_list<I> list = bins[c];
    if (list.count == 0) continue;
    const int slots = spgemm::slots_of(c);
    const group_shape shape =
        shape_of(ctx, thresholds, slots, sizeof(I), bins.totals(c), analysed.longest_b);
    auto* const kernel =
        shape.flat ? count_rows_kernel<true, I, O> : count_rows_kernel<false, I, O>;
    allow_shared(kernel, shape.bytes);
    kernel<<<blocks_of_groups(ctx, list.count, shape), shape.threads, shape.bytes, fork.next()>>>(
        f, list, shape.lanes, slots, known, counts, totals);
    check_launch("count_rows_kernel");
  }
  if (merged.count > 0) {
    with_merged(analysed.longest_merged, [&](auto most) {
      count_merged_kernel<most()>
          <<<resident_blocks(ctx, merged.count, 16), block_threads, 0, fork.next()>>>(
              f, merged, known, counts, totals);
    });
    check_launch("count_merged_kernel");
  }
  if (split.matching.count > 0) {
    count_broad_rows(ctx, f, split.matching, counts);
    note_rows_kernel<<<blocks_for(split.matching.count), block_threads, 0, ctx.stream()>>>(
        split.matching, known, counts, totals);
    check_launch("note_rows_kernel");
  }
  fork.join();
  const spgemm_totals counted = with_counted(ctx, analysed, totals);
  clock.lap(&spgemm_report::count);
  return counted;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template spgemm_totals count_rows<I, O>(const device_context&, const spgemm_factors<I, O>&,      \
                                          row_facts<I, O>&, const spgemm_totals&, std::int64_t*,   \
                                          stage_clock&);
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
