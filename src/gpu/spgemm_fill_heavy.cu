// Heavy rows of the numeric pass, by ranges of columns: one block per range, one sum per column in
// shared memory. A's entries come in their order, so every entry's products are added in A's order.
#include "gpu/spgemm_ranges.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Entries of each range of a heavy row: one block per row, bits of its columns, window by window.
template <class I, class O>
__global__ void __launch_bounds__(1024)
    count_ranges_kernel(const spgemm_factors<I, O> f, row_list<I> list, int range_columns,
                        std::int64_t ranges, int ranges_at_once, const known_rows<I, O> known,
                        std::uint32_t* counts) {
  extern __shared__ __align__(16) unsigned bits[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const std::int64_t row = list[blockIdx.x];
  counts += ranges * blockIdx.x;
  const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
  const std::int64_t low = known.first[row] / range_columns, high = known.last[row] / range_columns;
  const bool flat = known.has_short_rows(row);
  for (std::int64_t r = threadIdx.x; r < ranges; r += blockDim.x)
    if (r < low || r > high) counts[r] = 0;
  for (std::int64_t range = low; range <= high; range += ranges_at_once) {
    const int window_ranges =
        static_cast<int>(min(static_cast<std::int64_t>(ranges_at_once), high + 1 - range));
    const std::int64_t base = range * range_columns,
                       width = std::int64_t{window_ranges} * range_columns;
    for (int w = static_cast<int>(threadIdx.x); w < width / 32; w += static_cast<int>(blockDim.x))
      bits[w] = 0;
    __syncthreads();
    walk_window(
        f, begin, end, flat, range > low, base, width,
        [&](std::int64_t at) {
          const unsigned bit = 1u << (at & 31);
          if ((bits[at >> 5] & bit) == 0) atomicOr(bits + (at >> 5), bit);
        },
        [] { return false; });
    __syncthreads();
    for (int r = warp; r < window_ranges; r += warps) {
      unsigned entries = 0;
      for (int w = lane; w < range_columns / 32; w += 32)
        entries += __popc(bits[r * (range_columns / 32) + w]);
      entries = warp_sum(entries);
      if (lane == 0) counts[range + r] = entries;
    }
    __syncthreads();
  }
}

/// One block per range of a heavy row's columns. Segments are added one after another, or with
/// `tiles` several at once: in order where they are short, or, `relaxed`, with atomics.
template <bool tiles, class T, class I, class O>
__global__ void __launch_bounds__(block_threads, tiles ? 5 : 8)
    fill_ranges_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> rows,
                       const known_rows<I, O> known, int range_columns, std::int64_t ranges,
                       const std::uint32_t* counts, read_offsets rowptr, fill_target<T, I> target,
                       bool relaxed, int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  const range_sums<T> sums{reinterpret_cast<T*>(shared)};
  __shared__ segment_list<T, O, false> list;
  const own_columns<I> columns{f.b_colind};
  constexpr int warps = block_threads / 32;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int part = range_columns / warps; // 8 or more
  const std::int64_t place = blockIdx.x / ranges, range = blockIdx.x % ranges;
  counts += place * ranges;
  const std::uint32_t mine = counts[range];
  if (mine == 0) return;
  const std::int64_t row = rows[place];
  for (int c = thread; c < range_columns; c += block_threads) sums.sums[c] = untouched(T{});
  const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
  const std::int64_t base = range * range_columns;
  const bool from_start = known.first[row] >= base,
             to_end = known.last[row] < base + range_columns; // of B's rows: nothing to search
  const auto ask = [&](std::int64_t a) {
    return a + thread < end ? whole_row(f, v, static_cast<O>(a + thread))
                            : b_segment<T, O>{0, 0, T{0}};
  };
  b_segment<T, O> next = ask(begin);
  for (std::int64_t a = begin; a < end; a += block_threads) {
    b_segment<T, O> segment = next;
    next = ask(a + block_threads); // on its way while this is added
    const O last = segment.begin + segment.length;
    if (!from_start) segment.begin = first_from(f.b_colind, segment.begin, last, base);
    segment.length =
        (to_end ? last : first_from(f.b_colind, segment.begin, last, base + range_columns)) -
        segment.begin;
    const list_size size = make_list(list, segment, 0);
    if constexpr (tiles) {
      __shared__ product_tile<T> tile;
      if (relaxed || size.products < known.thresholds.tile_length * size.segments)
        add_tiles(columns, v, list, size, tile, base, __ffs(part) - 1, sums, relaxed);
      else
        add_along(columns, v, list, size.segments, base, sums);
    } else {
      add_along(columns, v, list, size.segments, base, sums);
    }
  }
  __syncthreads();
  // Warps own parts of the range: they count their entries, find where these go, and write them in
  // order.
  unsigned entries = 0;
  for (int c = lane; c < part; c += 32) entries += is_untouched(sums.sums[warp * part + c]) ? 0 : 1;
  entries = warp_sum(entries);
  if (lane == 0) list.of_warp[warp] = static_cast<int>(entries);
  std::int64_t to = 0; // entries of the ranges before
  for (std::int64_t r = lane; r < range; r += 32) to += counts[r];
  to = warp_sum(to) + rowptr[row];
  __syncthreads();
  unsigned total = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) to += list.of_warp[w];
    total += static_cast<unsigned>(list.of_warp[w]);
  }
  if (total != mine) {
    if (thread == 0) atomicOr(wrong, 1);
    return;
  }
  for (int first = 0; first < part; first += 32) {
    const int c = first + lane;
    const T sum = c < part ? sums.sums[warp * part + c] : untouched(T{});
    const bool touched = !is_untouched(sum);
    const unsigned votes = __ballot_sync(whole_warp, touched);
    if (touched)
      target.put(to + __popc(votes & ((1u << lane) - 1)), static_cast<I>(base + warp * part + c),
                 v.pattern ? T{1} : sum, wrong);
    to += __popc(votes);
  }
}

template <class I>
range_launch<I> cut_into_ranges(const device_context& ctx, row_list<I> rows, std::int64_t columns,
                                int range_columns) {
  if (rows.count == 0) return {rows, range_columns, 0, 0, {}};
  const std::int64_t ranges = (columns + range_columns - 1) / range_columns;
  // Counts take no more than 64 MB at a time.
  const std::int64_t at_once =
      std::clamp<std::int64_t>((std::int64_t{16} << 20) / ranges, 1, rows.count);
  return {rows, range_columns, ranges, at_once,
          array<std::uint32_t, space::device>(ctx, at_once * ranges)};
}

spgemm::range_sizes range_sizes_for(const device_context& ctx, std::int64_t rows,
                                    std::int64_t columns, const spgemm_totals& totals) {
  const spgemm::heavy_work work{rows, columns, static_cast<std::int64_t>(totals.products),
                                static_cast<std::int64_t>(totals.longest)};
  return spgemm::choose_range_sizes(work, 8 * std::int64_t{ctx.properties().multiprocessors});
}

} // namespace

template <class T, class I, class O>
heavy_fill<T, I, O>::heavy_fill(const device_context& ctx, const spgemm_factors<I, O>& f,
                                row_list<I> heavy, const spgemm_totals& totals,
                                const known_rows<I, O>& known)
    : ctx_(ctx), f_(f), known_(known),
      mean_length_(static_cast<double>(totals.products) / static_cast<double>(totals.a_entries)),
      sizes_(range_sizes_for(ctx, heavy.count, f.columns, totals)),
      split_(ctx, heavy, sizes_.fine < sizes_.coarse,
             has_more_products<I>{known.products, sizes_.many}),
      longest_(cut_into_ranges(ctx, split_.matching, f.columns, sizes_.fine)),
      others_(cut_into_ranges(ctx, split_.others, f.columns, sizes_.coarse)) {}

template <class T, class I, class O>
void heavy_fill<T, I, O>::run(const spgemm_values<T>& v, read_offsets rowptr,
                              const fill_target<T, I>& target, spgemm_order order, int* wrong,
                              launch_fork& fork) {
  for (range_launch<I>* const each : {&longest_, &others_}) {
    if (each->rows.count == 0) continue;
    const cudaStream_t stream = fork.next();
    const int windows = static_cast<int>(std::min<std::int64_t>(
        each->ranges,
        static_cast<std::int64_t>(ctx_.properties().shared_bytes_per_block / 2 - 2048) /
            (each->range_columns / 8)));
    const std::size_t mask_bytes = static_cast<std::size_t>(windows) * each->range_columns / 8;
    const std::size_t range_bytes = each->range_columns * sizeof(T);
    allow_shared(count_ranges_kernel<I, O>, mask_bytes);
    // Where segments are long, never mind the others: the choice needs more registers.
    const bool relaxed = order == spgemm_order::relaxed;
    const bool tiles =
        relaxed ||
        mean_length_ <= static_cast<double>(2 * known_.thresholds.tile_length * each->ranges);
    auto* const kernel =
        tiles ? fill_ranges_kernel<true, T, I, O> : fill_ranges_kernel<false, T, I, O>;
    allow_shared(kernel, range_bytes);
    std::uint32_t* const counts = each->counts.data();
    for (std::int64_t done = 0; done < each->rows.count; done += each->at_once) {
      const row_list<I> some{each->rows.rows, std::min(each->at_once, each->rows.count - done),
                             each->rows.from + done};
      count_ranges_kernel<<<static_cast<unsigned>(some.count), 1024, mask_bytes, stream>>>(
          f_, some, each->range_columns, each->ranges, windows, known_, counts);
      check_launch("count_ranges_kernel");
      kernel<<<static_cast<unsigned>(some.count * each->ranges), block_threads, range_bytes,
               stream>>>(f_, v, some, known_, each->range_columns, each->ranges, counts, rowptr,
                         target, relaxed, wrong);
      check_launch("fill_ranges_kernel");
    }
  }
}

#define LACUNA_INSTANTIATE(T, I, O) template class heavy_fill<T, I, O>;
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
