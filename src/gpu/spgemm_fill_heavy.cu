// Heavy rows of the numeric pass, by ranges of columns: one block per range, one sum per column in
// shared memory. A's entries come in their order, so every entry's products are added in A's order.
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_heavy.cuh"
#include "gpu/spgemm_walk.cuh"

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

/// What stands in a range's column that no product has fallen on: a NaN that arithmetic, whose NaNs
/// are the canonical one, never makes.
__device__ inline double untouched(double) { return __longlong_as_double(0xfff4c0de5ca1ab1ell); }
__device__ inline bool is_untouched(double v) {
  return __double_as_longlong(v) == static_cast<long long>(0xfff4c0de5ca1ab1ell);
}
__device__ inline float untouched(float) { return __int_as_float(static_cast<int>(0xffa5ca1eu)); }
__device__ inline bool is_untouched(float v) {
  return __float_as_int(v) == static_cast<int>(0xffa5ca1eu);
}

/// Sums of a range's columns, as they are made.
template <class T> struct range_sums {
  T* sums;
  /// A column's sum with another product.
  __device__ T with(int column, T product) const {
    const T sum = sums[column];
    return is_untouched(sum) ? product : sum + product;
  }
  /// No other thread has this column now.
  __device__ void add(int column, T product) const { sums[column] = with(column, product); }
  /// Other threads may have it: nothing is said of the order.
  __device__ void add_relaxed(int column, T product) const {
    if (is_untouched(*static_cast<volatile T*>(sums + column)) && set_first(column, product))
      return;
    atomicAdd(sums + column, product);
  }

private:
  __device__ bool set_first(int column, T product) const {
    if constexpr (sizeof(T) == 8) {
      auto* const at = reinterpret_cast<unsigned long long*>(sums + column);
      const auto none = static_cast<unsigned long long>(__double_as_longlong(untouched(T{})));
      const auto bits = static_cast<unsigned long long>(__double_as_longlong(product));
      return atomicCAS(at, none, bits) == none;
    } else {
      auto* const at = reinterpret_cast<int*>(sums + column);
      const int none = __float_as_int(untouched(T{}));
      return atomicCAS(at, none, __float_as_int(product)) == none;
    }
  }
};

/// The parts of B's rows that fall into a block's range, of up to block_threads entries of A, in
/// their order; none is empty.
template <class T, class O> struct segment_list {
  O begin[block_threads];
  int length[block_threads], start[block_threads]; // start: products before
  T factor[block_threads];
  int of_warp[block_threads / 32], products_of_warp[block_threads / 32];
};
struct list_size {
  int segments, products;
};
/// Fills the list with the segments of all threads; those of length 0 are left out.
template <class T, class O>
__device__ list_size make_list(segment_list<T, O>& list, const b_segment<T, O>& mine) {
  constexpr int warps = block_threads / 32;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int length = static_cast<int>(mine.length);
  const unsigned votes = __ballot_sync(whole_warp, length > 0);
  int start = length;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(whole_warp, start, step);
    if (lane >= step) start += other;
  }
  __syncthreads(); // the list before is used up
  if (lane == 31) {
    list.of_warp[warp] = __popc(votes);
    list.products_of_warp[warp] = start;
  }
  __syncthreads();
  start -= length;
  int to = __popc(votes & ((1u << lane) - 1));
  list_size size{0, 0};
  for (int w = 0; w < warps; ++w) {
    if (w < warp) {
      to += list.of_warp[w];
      start += list.products_of_warp[w];
    }
    size.segments += list.of_warp[w];
    size.products += list.products_of_warp[w];
  }
  if (length > 0) {
    list.begin[to] = mine.begin;
    list.length[to] = length;
    list.start[to] = start;
    list.factor[to] = mine.factor;
  }
  __syncthreads();
  return size;
}

/// All threads along one segment at a time, where those are long.
template <class T, class I, class O>
__device__ void add_along(const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                          const segment_list<T, O>& list, int segments, std::int64_t base,
                          const range_sums<T>& sums) {
  const int thread = static_cast<int>(threadIdx.x);
  // What a thread has first of the next segment is on its way before this one is added.
  int left = 0; // entries of the segment from this thread's first on
  O at = 0;
  I column = 0;
  T value{0};
  const auto ask = [&](int t) {
    at = list.begin[t] + thread;
    left = list.length[t] - thread;
    if (left <= 0) return;
    column = __ldg(f.b_colind + at);
    value = v.value(at);
  };
  if (segments > 0) ask(0);
  for (int t = 0; t < segments; ++t) {
    const T scale = list.factor[t];
    int current_left = left;
    O k = at;
    I current_column = column;
    T current_value = value;
    if (t + 1 < segments) ask(t + 1);
    for (; current_left > 0; current_left -= block_threads) {
      sums.add(static_cast<int>(current_column - base), rounded_product(scale, current_value));
      if (current_left > block_threads) {
        k += block_threads;
        current_column = __ldg(f.b_colind + k);
        current_value = v.value(k);
      }
    }
    __syncthreads(); // the next segment finds these sums
  }
}

/// Products that are dealt among warps at a time: two per thread.
constexpr int tile_products = 2 * block_threads;
constexpr int tile_words = tile_products / 32;

template <class T> struct product_tile {
  unsigned begins[2][tile_words]; // a bit where a segment begins; the next tile's beside it
  std::uint16_t column[tile_products];
  T product[tile_products];
  int of_warp[block_threads / 32][block_threads / 32]; // owner, dealer: products dealt
};

/// What a thread has of a tile: two products. Those of a warp lie side by side.
template <class T> struct dealt_products {
  bool present[2];
  int column[2];
  T product[2];
};

/// Deals a tile's products to the warps that own their columns, in order; each adds its own. The
/// block's threads pass one barrier before `used_up` is called, and end at no barrier.
template <class T, class UsedUp>
__device__ void deal_and_add(const dealt_products<T>& mine, product_tile<T>& tile, int products,
                             int owner_shift, const range_sums<T>& sums, const UsedUp& used_up) {
  constexpr int warps = block_threads / 32;
  static_assert(warps == 8); // owners have three bits
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  unsigned votes[2], bit[2][3];
  int owner[2];
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    owner[u] = mine.column[u] >> owner_shift;
    votes[u] = __ballot_sync(whole_warp, mine.present[u]);
#pragma unroll
    for (int k = 0; k < 3; ++k) bit[u][k] = __ballot_sync(whole_warp, (owner[u] >> k & 1) != 0);
  }
  // Lanes whose product, of either step, goes to a warp.
  const auto dealt_to = [&](int u, int to) {
    unsigned mask = votes[u];
#pragma unroll
    for (int k = 0; k < 3; ++k) mask &= (to >> k & 1) != 0 ? bit[u][k] : ~bit[u][k];
    return mask;
  };
  if (lane < warps)
    tile.of_warp[lane][warp] = __popc(dealt_to(0, lane)) + __popc(dealt_to(1, lane));
  __syncthreads();
  used_up();
  // Where they go: by owner, then by dealer. A lane has two of the 64 numbers.
  const int one = tile.of_warp[lane / 4][2 * lane % 8],
            other = tile.of_warp[lane / 4][2 * lane % 8 + 1];
  int place = one + other;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int others = __shfl_up_sync(whole_warp, place, step);
    if (lane >= step) place += others;
  }
  place -= one + other;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int number = owner[u] * warps + warp;
    const int first = __shfl_sync(whole_warp, place, number / 2),
              half = __shfl_sync(whole_warp, one, number / 2);
    int to =
        first + (number % 2 != 0 ? half : 0) + __popc(dealt_to(u, owner[u]) & ((1u << lane) - 1));
    if (u == 1) to += __popc(dealt_to(0, owner[u]));
    if (!mine.present[u]) continue;
    tile.column[to] = static_cast<std::uint16_t>(mine.column[u]);
    tile.product[to] = mine.product[u];
  }
  const int begin = __shfl_sync(whole_warp, place, warp * warps / 2);
  const int next = __shfl_sync(whole_warp, place, (warp + 1) * warps / 2 % 32);
  const int end = warp + 1 < warps ? next : products;
  __syncthreads();
  for (int k = begin; k < end; k += 32) {
    const bool some = k + lane < end;
    const unsigned slot = some ? tile.column[k + lane] : whole_warp - lane;
    const T value = some ? tile.product[k + lane] : T{0};
    add_in_order(
        some, slot, value, [&](T first) { return sums.with(static_cast<int>(slot), first); },
        [&](T sum) { sums.sums[slot] = sum; });
  }
}

/// Short segments: a tile of their products at a time, found by all threads and dealt to the warps
/// that own their columns. `relaxed`: each thread adds what it found.
template <class T, class I, class O>
__device__ void add_tiles(const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
                          const segment_list<T, O>& list, const list_size& size,
                          product_tile<T>& tile, std::int64_t base, int owner_shift,
                          const range_sums<T>& sums, bool relaxed) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const unsigned up_to_lane = whole_warp >> (31 - lane);
  const int start = thread < size.segments ? list.start[thread] : size.products;
  const auto mark = [&](int from, unsigned* begins) {
    const int at = start - from;
    if (thread < size.segments && at >= 0 && at < tile_products)
      atomicOr(begins + at / 32, 1u << (at % 32));
  };
  if (thread < 2 * tile_words) tile.begins[thread / tile_words][thread % tile_words] = 0;
  __syncthreads();
  mark(0, tile.begins[0]);
  __syncthreads();
  int before = 0; // segments that begin before the tile
  for (int from = 0, turn = 0; from < size.products; from += tile_products, turn ^= 1) {
    unsigned* const begins = tile.begins[turn];
    int upto = lane < tile_words ? __popc(begins[lane]) : 0; // segments up to a word's end
#pragma unroll
    for (int step = 1; step < tile_words; step *= 2) {
      const int other = __shfl_up_sync(whole_warp, upto, step);
      if (lane >= step) upto += other;
    }
    dealt_products<T> mine;
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int word = 2 * warp + u, p = from + 32 * word + lane;
      const unsigned bits = begins[word];
      const int segment = before + __shfl_sync(whole_warp, upto, word) - __popc(bits) +
                          __popc(bits & up_to_lane) - 1;
      mine.present[u] = p < size.products;
      mine.column[u] = 0;
      mine.product[u] = T{0};
      if (mine.present[u]) {
        const O k = list.begin[segment] + static_cast<O>(p - list.start[segment]);
        mine.column[u] = static_cast<int>(__ldg(f.b_colind + k) - base);
        mine.product[u] = rounded_product(list.factor[segment], v.value(k));
      }
    }
    before += __shfl_sync(whole_warp, upto, tile_words - 1);
    mark(from + tile_products, tile.begins[turn ^ 1]);
    const auto used_up = [&] {
      if (thread < tile_words) begins[thread] = 0; // marked again after the next barrier
    };
    if (relaxed) {
#pragma unroll
      for (int u = 0; u < 2; ++u)
        if (mine.present[u]) sums.add_relaxed(mine.column[u], mine.product[u]);
      __syncthreads();
      used_up();
      __syncthreads();
    } else {
      deal_and_add(mine, tile, min(tile_products, size.products - from), owner_shift, sums,
                   used_up);
    }
  }
  __syncthreads();
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
  __shared__ segment_list<T, O> list;
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
    const list_size size = make_list(list, segment);
    if constexpr (tiles) {
      __shared__ product_tile<T> tile;
      if (relaxed || size.products < known.thresholds.tile_length * size.segments)
        add_tiles(f, v, list, size, tile, base, __ffs(part) - 1, sums, relaxed);
      else
        add_along(f, v, list, size.segments, base, sums);
    } else {
      add_along(f, v, list, size.segments, base, sums);
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

template <class I> struct has_more_products {
  const std::uint32_t* products;
  std::int64_t many;
  __device__ bool operator()(I row) const { return products[row] > many; }
};

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
