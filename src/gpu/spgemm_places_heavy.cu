// Places of the products of heavy rows of C, and their refill: one block per range of places, which
// are as many as entries, where columns are many more. Segments of B's rows are found by search, as
// in spgemm_fill_heavy.cu, and added in the same order.
#include <limits>

#include "gpu/spgemm_places.cuh"
#include "gpu/spgemm_ranges.cuh"

namespace lacuna::detail::gpu {
namespace {

struct note_heavy_bytes {
  std::uint32_t each;
  const std::uint32_t* products;
  std::int64_t* bytes;
  __device__ void operator()(std::int64_t row) const {
    bytes[row] = std::int64_t{products[row]} * each;
  }
};

/// Products of a row before each entry of A's. One block per row.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    start_entries_kernel(const spgemm_factors<I, O> f, row_list<I> rows, std::uint32_t* before) {
  constexpr int warps = block_threads / 32;
  __shared__ std::uint32_t of_warp[warps];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const std::int64_t row = rows[blockIdx.x];
  const std::int64_t end = f.a_rowptr[row + 1];
  std::uint32_t all = 0;
  for (std::int64_t base = f.a_rowptr[row]; base < end; base += block_threads) {
    const std::int64_t k = base + thread;
    std::uint32_t length = 0;
    if (k < end) {
      const I j = f.a_colind[k];
      length = static_cast<std::uint32_t>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
    }
    std::uint32_t upto = length;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(whole_warp, upto, step);
      if (lane >= step) upto += other;
    }
    if (lane == 31) of_warp[warp] = upto;
    __syncthreads();
    std::uint32_t sum = all;
    for (int w = 0; w < warps; ++w) {
      if (w < warp) sum += of_warp[w];
      all += of_warp[w];
    }
    if (k < end) before[k] = sum + upto - length;
    __syncthreads();
  }
}

/// Blocks of a row of A, whose warps take entries in turn.
constexpr int row_blocks = 8;

template <class P, class I, class O>
__global__ void __launch_bounds__(block_threads)
    find_heavy_places_kernel(const spgemm_factors<I, O> f, row_list<I> rows, read_offsets rowptr,
                             const I* colind, const std::int64_t* starts,
                             const std::uint32_t* before, std::uint8_t* places, int* wrong) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = rows[blockIdx.x / row_blocks];
  const std::int64_t from = rowptr[row], to = rowptr[row + 1];
  P* const of_row = reinterpret_cast<P*>(places + starts[row]);
  bool missing = false;
  for (std::int64_t a = std::int64_t{f.a_rowptr[row]} + blockIdx.x % row_blocks * 8 + warp;
       a < f.a_rowptr[row + 1]; a += 8 * row_blocks) {
    const I j = f.a_colind[a];
    const std::int64_t b = f.b_rowptr[j], length = f.b_rowptr[j + 1] - b;
    for (std::int64_t k = lane; k < length; k += 32) {
      const I column = f.b_colind[b + k];
      const std::int64_t place = first_from(colind, from, to, column);
      if (place < to && colind[place] == column)
        of_row[before[a] + k] = static_cast<P>(place - from);
      else
        missing = true;
    }
  }
  if (missing) atomicOr(wrong, 1);
}

template <bool tiles, class P, class T, class I, class O>
__global__ void __launch_bounds__(block_threads, tiles ? 4 : 5)
    refill_ranges_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> rows,
                         std::int64_t tile_length, int range_places, std::int64_t ranges,
                         read_offsets rowptr, const std::int64_t* starts,
                         const std::uint32_t* before, const std::uint8_t* places, T* values) {
  extern __shared__ __align__(16) unsigned char shared[];
  const range_sums<T> sums{reinterpret_cast<T*>(shared)};
  __shared__ segment_list<T, O, true> list;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = rows[blockIdx.x / ranges];
  const std::int64_t to = rowptr[row], count = rowptr[row + 1] - to;
  const std::int64_t base = blockIdx.x % ranges * range_places;
  if (base >= count) return;
  const int width = static_cast<int>(min(std::int64_t{range_places}, count - base));
  for (int c = thread; c < width; c += block_threads) sums.sums[c] = no_product<T>();
  const kept_columns<P> columns{reinterpret_cast<const P*>(places + starts[row])};
  const std::int64_t end = f.a_rowptr[row + 1];
  std::int64_t next_shift = 0;
  const auto ask = [&](std::int64_t a) {
    if (a + thread >= end) return b_segment<T, O>{0, 0, T{0}};
    const auto whole = whole_row(f, v, static_cast<O>(a + thread));
    next_shift = std::int64_t{before[a + thread]} - whole.begin;
    return whole;
  };
  b_segment<T, O> next = ask(f.a_rowptr[row]);
  for (std::int64_t a = f.a_rowptr[row]; a < end; a += block_threads) {
    b_segment<T, O> segment = next;
    const std::int64_t shift = next_shift;
    next = ask(a + block_threads); // on its way while this is added
    const std::int64_t last = segment.begin + std::int64_t{segment.length};
    std::int64_t begin = segment.begin, stop = last;
    if (base > 0) begin = first_from(columns.places, begin + shift, last + shift, base) - shift;
    if (base + width < count)
      stop = first_from(columns.places, begin + shift, last + shift, base + width) - shift;
    segment.begin = static_cast<O>(begin);
    segment.length = static_cast<O>(stop - begin);
    const list_size size = make_list(list, segment, shift);
    if constexpr (tiles) {
      __shared__ product_tile<T> tile;
      if (size.products < tile_length * size.segments)
        add_tiles(columns, v, list, size, tile, base, __ffs(range_places) - 4, sums, false);
      else
        add_along(columns, v, list, size.segments, base, sums);
    } else {
      add_along(columns, v, list, size.segments, base, sums);
    }
  }
  __syncthreads();
  for (int c = thread; c < width; c += block_threads) values[to + base + c] = sums.sums[c];
}

/// A range's sums take 32 KB at most: there all of them are used.
constexpr int most_range_places = 4096;

} // namespace

template <class I, class O>
heavy_places<I, O>::heavy_places(const device_context& ctx, const spgemm_factors<I, O>& f,
                                 const known_rows<I, O>& known, const spgemm_totals& totals,
                                 row_list<I> rows, std::int64_t* bytes)
    : rows_(rows), longest_(static_cast<std::int64_t>(std::min<unsigned long long>(
                       totals.longest, static_cast<unsigned long long>(f.columns)))),
      mean_length_(static_cast<double>(totals.products) /
                   static_cast<double>(std::max(totals.a_entries, 1ull))) {
  if (rows.count == 0 || totals.longest >= 0xffffffffull) {
    rows_.count = 0;
    return;
  }
  each_ = longest_ <= 65536 ? 2 : 4;
  for_each(ctx, rows.count, "heavy_places",
           for_listed<I, note_heavy_bytes>{
               rows, {static_cast<std::uint32_t>(each_), known.products, bytes}});
}

template <class I, class O>
void heavy_places<I, O>::find(const device_context& ctx, const spgemm_factors<I, O>& f,
                              const known_rows<I, O>& known, const spgemm_totals& totals,
                              read_offsets rowptr, const I* colind, const std::int64_t* starts,
                              std::uint8_t* places, int* wrong) {
  if (rows_.count == 0) return;
  const spgemm::heavy_work work{rows_.count, longest_, static_cast<std::int64_t>(totals.products),
                                static_cast<std::int64_t>(totals.longest)};
  sizes_ = spgemm::choose_range_sizes(work, 8 * std::int64_t{ctx.properties().multiprocessors});
  sizes_.coarse = std::min(sizes_.coarse, most_range_places);
  sizes_.fine = std::min(sizes_.fine, sizes_.coarse);
  split_.emplace(ctx, rows_, sizes_.fine < sizes_.coarse,
                 has_more_products<I>{known.products, sizes_.many});
  before_ = array<std::uint32_t, space::device>(ctx, static_cast<std::int64_t>(totals.a_entries));
  const auto count = static_cast<unsigned>(rows_.count);
  start_entries_kernel<<<count, block_threads, 0, ctx.stream()>>>(f, rows_, before_.data());
  check_launch("start_entries_kernel");
  auto* const kernel = each_ == 2 ? find_heavy_places_kernel<std::uint16_t, I, O>
                                  : find_heavy_places_kernel<std::uint32_t, I, O>;
  kernel<<<count * row_blocks, block_threads, 0, ctx.stream()>>>(f, rows_, rowptr, colind, starts,
                                                                 before_.data(), places, wrong);
  check_launch("find_heavy_places_kernel");
}

template <class I, class O>
template <class T>
void heavy_places<I, O>::refill(const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                                const known_rows<I, O>& known, read_offsets rowptr,
                                const std::int64_t* starts, const std::uint8_t* places, T* values,
                                launch_fork& fork) const {
  if (rows_.count == 0) return;
  const auto launch = [&](row_list<I> rows, int range) {
    if (rows.count == 0) return;
    const std::int64_t ranges = (longest_ + range - 1) / range;
    const std::size_t bytes = static_cast<std::size_t>(range) * sizeof(T);
    const bool tiles =
        mean_length_ <= static_cast<double>(2 * known.thresholds.tile_length * ranges);
    const cudaStream_t stream = fork.next();
    // Of a grid's 2^31 - 1 blocks; each row has those of the longest.
    const std::int64_t at_once = std::numeric_limits<std::int32_t>::max() / ranges;
    const auto with = [&](auto place) {
      using P = decltype(place);
      auto* const kernel =
          tiles ? refill_ranges_kernel<true, P, T, I, O> : refill_ranges_kernel<false, P, T, I, O>;
      allow_shared(kernel, bytes);
      for (std::int64_t done = 0; done < rows.count; done += at_once) {
        const row_list<I> some{rows.rows, std::min(at_once, rows.count - done), rows.from + done};
        kernel<<<static_cast<unsigned>(some.count * ranges), block_threads, bytes, stream>>>(
            f, v, some, known.thresholds.tile_length, range, ranges, rowptr, starts, before_.data(),
            places, values);
        check_launch("refill_ranges_kernel");
      }
    };
    if (each_ == 2)
      with(std::uint16_t{});
    else
      with(std::uint32_t{});
  };
  launch(split_->matching, sizes_.fine);
  launch(split_->others, sizes_.coarse);
}

#define LACUNA_INSTANTIATE(I, O) template class heavy_places<I, O>;
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void heavy_places<I, O>::refill<T>(                                                     \
      const spgemm_factors<I, O>&, const spgemm_values<T>&, const known_rows<I, O>&, read_offsets, \
      const std::int64_t*, const std::uint8_t*, T*, launch_fork&) const;
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
