// The symbolic pass: how many entries each row of C has. A group of lanes owns a row and finds its
// distinct columns in a table in shared memory, or in a bit for each column of its span where that
// is smaller. Heavy rows: a block each, bits in windows of what shared memory holds.
#include "gpu/parts/hash.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::gpu {
namespace {

/// Adds a counted row to the totals of its fill class.
__device__ void note_row(block_totals& block, const spgemm::row_work& row, std::int64_t entries) {
  block.add(spgemm::fill_class(row, entries), row.products, row.a_entries);
}
/// Adds up what the lanes of each warp counted.
__device__ void add_entries(spgemm_totals* totals, unsigned long long entries) {
  entries = warp_sum(entries);
  if (threadIdx.x % 32 == 0 && entries != 0) atomicAdd(&totals->entries, entries);
}

/// Calls take(column) for each product of `left` entries of A from `begin` on, which the group
/// owns; lanes lie along B's rows.
template <class I, class O, class Take>
__device__ void walk_columns(const spgemm_factors<I, O>& f, const lane_group& g, O begin, O left,
                             const Take& take) {
  for (; __any_sync(whole_warp, left > 0); left -= g.size, begin += g.size) {
    O b = 0, length = 0;
    if (g.lane < left) {
      const I j = f.a_colind[begin + g.lane];
      b = f.b_rowptr[j];
      length = f.b_rowptr[j + 1] - b;
    }
    const int count = __reduce_max_sync(
        whole_warp, static_cast<int>(max(O{0}, min(static_cast<O>(g.size), left))));
    // Of the next row of B: what this lane has first is on its way before this row is used.
    O next = 0, next_left = 0; // next_left: entries from this lane's first on
    I column = 0;
    const auto ask = [&](int t) {
      next = g.from(b, t) + g.lane;
      next_left = g.from(length, t) - g.lane;
      if (next_left > 0) column = __ldg(f.b_colind + next);
    };
    ask(0);
    for (int t = 0; t < count; ++t) {
      O at = next, here_left = next_left;
      I here = column;
      if (t + 1 < count) ask(t + 1);
      while (__any_sync(whole_warp, here_left > 0)) {
        const I now = here;
        if (here_left > g.size) {
          at += g.size;
          here = __ldg(f.b_colind + at);
        }
        if (here_left > 0) take(now);
        here_left -= g.size;
      }
    }
  }
}

/// A thread a row: the rows of B that it needs are merged.
template <int most, class I, class O>
__global__ void __launch_bounds__(block_threads)
    count_merged_kernel(const spgemm_factors<I, O> f, row_list<I> list,
                        const std::uint32_t* products, const I* first, const I* last,
                        std::int64_t* counts, spgemm_totals* totals) {
  __shared__ block_totals block;
  block.clear();
  unsigned long long entries = 0;
  for (std::int64_t i = thread_index(); i < list.count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t row = list[i];
    const O begin = f.a_rowptr[row];
    merged_rows<most, I, O> rows(f, begin, static_cast<int>(f.a_rowptr[row + 1] - begin));
    std::int64_t found = 0;
    for (I column; rows.next(column); ++found) rows.leave(column);
    counts[row] = found;
    entries += static_cast<unsigned long long>(found);
    note_row(block, work_of_row(f.a_rowptr, products, first, last, row), found);
  }
  __syncwarp();
  add_entries(totals, entries);
  block.flush(totals);
}

template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    count_rows_kernel(const spgemm_factors<I, O> f, row_list<I> list, int lanes, int slots,
                      const std::uint32_t* products, const I* first, const I* last,
                      std::int64_t* counts, spgemm_totals* totals) {
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
    const spgemm::row_work work = work_of_row(f.a_rowptr, products, first, last, row);
    const std::int64_t many = inside ? work.products : 0, span = work.span;
    const bool counted = end - begin <= 1 || many == 0; // nothing can coincide
    const bool by_bits = (span + 31) / 32 <= slots;
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
    unsigned found = 0;
    const I base = by_bits && !counted ? first[row] : I{0};
    const int shift = __clz(used) + 1;
    walk_columns(f, g, begin, counted ? O{0} : static_cast<O>(end - begin), [&](I column) {
      if (by_bits) {
        const unsigned at = static_cast<unsigned>(column - base), bit = 1u << (at & 31);
        if ((bits[at >> 5] & bit) == 0) atomicOr(bits + (at >> 5), bit);
      } else {
        found += find_slot(keys, shift, column).is_new ? 1 : 0;
      }
    });
    __syncwarp();
    if (by_bits && !counted)
      for (int w = g.lane; w < used; w += lanes) found += __popc(bits[w]);
    __syncwarp();
    found = g.sum(found);
    if (counted) found = static_cast<unsigned>(many);
    if (g.lane == 0 && inside) {
      counts[row] = found;
      entries += found;
      note_row(block, work, found);
    }
    __syncwarp();
  }
  add_entries(totals, entries);
  block.flush(totals);
}

/// A block a row: bits of the columns in a window, window by window; a window that is full is done.
template <class I, class O>
__global__ void __launch_bounds__(1024)
    count_heavy_kernel(const spgemm_factors<I, O> f, row_list<I> list, std::int64_t window,
                       const std::uint32_t* products, const I* first, const I* last,
                       std::int64_t* counts, spgemm_totals* totals) {
  extern __shared__ __align__(16) unsigned bits[];
  __shared__ unsigned set; // bits of the window
  __shared__ block_totals block;
  block.clear();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const std::int64_t row = list[blockIdx.x];
  const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
  const std::int64_t low = first[row], high = last[row];
  unsigned long long total = 0;
  for (std::int64_t base = low; base <= high; base += window) {
    const std::int64_t width = min(window, high + 1 - base);
    const int words = static_cast<int>((width + 31) / 32);
    for (int w = static_cast<int>(threadIdx.x); w < words; w += static_cast<int>(blockDim.x))
      bits[w] = 0;
    if (threadIdx.x == 0) set = 0;
    __syncthreads();
    unsigned mine = 0;
    for (std::int64_t a = begin + warp; a < end; a += warps) {
      const I j = f.a_colind[a];
      O b = f.b_rowptr[j];
      const O e = f.b_rowptr[j + 1];
      if (low < base) b = first_from(f.b_colind, b, e, base);
      for (std::int64_t k = std::int64_t{b} + lane; k < e; k += 32) {
        const std::int64_t at = f.b_colind[k] - base;
        if (at >= width) break;
        const unsigned bit = 1u << (at & 31);
        if ((bits[at >> 5] & bit) == 0 && (atomicOr(bits + (at >> 5), bit) & bit) == 0) ++mine;
      }
      __syncwarp();
      if (__any_sync(whole_warp, mine != 0)) {
        mine = warp_sum(mine);
        if (lane == 0) atomicAdd(&set, mine);
        mine = 0;
      }
      if (*static_cast<volatile unsigned*>(&set) == width) break;
    }
    __syncthreads();
    total += set;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    counts[row] = static_cast<std::int64_t>(total);
    note_row(block, work_of_row(f.a_rowptr, products, first, last, row),
             static_cast<std::int64_t>(total));
    atomicAdd(&totals->entries, total);
  }
  block.flush(totals);
}

template <class I, class O, class OC>
__global__ void __launch_bounds__(block_threads)
    classify_kernel(const spgemm_factors<I, O> f, const std::uint32_t* products, const I* first,
                    const I* last, const OC* rowptr, spgemm_totals* totals) {
  __shared__ block_totals block;
  block.clear();
  unsigned long long entries = 0;
  for (std::int64_t row = thread_index(); row < f.rows;
       row += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const auto here = static_cast<std::int64_t>(rowptr[row + 1] - rowptr[row]);
    entries += static_cast<unsigned long long>(here);
    note_row(block, work_of_row(f.a_rowptr, products, first, last, row), here);
  }
  __syncwarp();
  add_entries(totals, entries);
  block.flush(totals);
}

/// Takes the fill classes' totals, and nothing else, from what was counted.
spgemm_totals with_counted(const device_context& ctx, const spgemm_totals& found,
                           const array<spgemm_totals, space::device>& totals) {
  spgemm_totals result = found, counted{};
  read_back(ctx, &counted, totals.data(), 1);
  for (int c = 0; c <= spgemm::count_classes; ++c) result.of_class[c] = counted.of_class[c];
  result.entries = counted.entries;
  return result;
}

} // namespace

template <class I, class O, class OC>
spgemm_totals classify_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                            const row_facts<I>& facts, const spgemm_totals& found,
                            const OC* rowptr) {
  array<spgemm_totals, space::device> totals(ctx, 1);
  check(cudaMemsetAsync(totals.data(), 0, sizeof(spgemm_totals), ctx.stream()), "classify_rows");
  classify_kernel<<<resident_blocks(ctx, f.rows, 8), block_threads, 0, ctx.stream()>>>(
      f, facts.products.data(), facts.first.data(), facts.last.data(), rowptr, totals.data());
  check_launch("classify_kernel");
  return with_counted(ctx, found, totals);
}

template <class I, class O>
spgemm_totals count_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                         const row_facts<I>& facts, const spgemm_totals& found,
                         std::int64_t* counts) {
  array<spgemm_totals, space::device> totals(ctx, 1);
  check(cudaMemsetAsync(totals.data(), 0, sizeof(spgemm_totals), ctx.stream()), "count_rows");
  const std::uint32_t* products = facts.products.data();
  const I *first = facts.first.data(), *last = facts.last.data();
  const row_bins<I> bins(ctx, f.rows, found, spgemm::count_classes,
                         [=, a_rowptr = f.a_rowptr] __device__(std::int64_t row) {
                           return spgemm::count_class(
                               work_of_row(a_rowptr, products, first, last, row));
                         });
  if (const row_list<I> merged = bins[0]; merged.count > 0) {
    with_merged(found.longest_merged, [&](auto most) {
      count_merged_kernel<most()>
          <<<resident_blocks(ctx, merged.count, 16), block_threads, 0, ctx.stream()>>>(
              f, merged, products, first, last, counts, totals.data());
    });
    check_launch("count_merged_kernel");
  }
  for (int c = 1; c < spgemm::count_classes; ++c) {
    const row_list<I> list = bins[c];
    if (list.count == 0) continue;
    const int slots = spgemm::slots_of(c);
    const group_shape shape = shape_of(ctx, slots, sizeof(I), bins.totals(c), found.longest_b);
    allow_shared(count_rows_kernel<I, O>, shape.bytes);
    count_rows_kernel<<<blocks_of_groups(ctx, list.count, shape), shape.threads, shape.bytes,
                        ctx.stream()>>>(f, list, shape.lanes, slots, products, first, last, counts,
                                        totals.data());
    check_launch("count_rows_kernel");
  }
  if (const row_list<I> heavy = bins[spgemm::count_classes]; heavy.count > 0) {
    // Two blocks an SM.
    const std::size_t bytes = ctx.properties().shared_bytes_per_block / 2 / 1024 * 1024 - 1024;
    allow_shared(count_heavy_kernel<I, O>, bytes);
    count_heavy_kernel<<<static_cast<unsigned>(heavy.count), 1024, bytes, ctx.stream()>>>(
        f, heavy, static_cast<std::int64_t>(bytes) * 8, products, first, last, counts,
        totals.data());
    check_launch("count_heavy_kernel");
  }
  return with_counted(ctx, found, totals);
}

#define LACUNA_CLASSIFY(I, O, OC)                                                                  \
  template spgemm_totals classify_rows<I, O, OC>(const device_context&,                            \
                                                 const spgemm_factors<I, O>&, const row_facts<I>&, \
                                                 const spgemm_totals&, const OC*);
LACUNA_CLASSIFY(std::int32_t, std::int32_t, std::int32_t)
LACUNA_CLASSIFY(std::int32_t, std::int32_t, std::int64_t)
LACUNA_CLASSIFY(std::int32_t, std::int64_t, std::int64_t)
LACUNA_CLASSIFY(std::int64_t, std::int32_t, std::int32_t)
LACUNA_CLASSIFY(std::int64_t, std::int32_t, std::int64_t)
LACUNA_CLASSIFY(std::int64_t, std::int64_t, std::int64_t)
#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template spgemm_totals count_rows<I, O>(const device_context&, const spgemm_factors<I, O>&,      \
                                          const row_facts<I>&, const spgemm_totals&,               \
                                          std::int64_t*);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
