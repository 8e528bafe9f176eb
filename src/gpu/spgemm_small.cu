#include "gpu/spgemm_small.cuh"

#include <bit>

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "gpu/parts/load.cuh"
#include "gpu/parts/relaxed.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int products_each = small_tile / block_threads; // products that a thread sorts
constexpr int most_tile_rows = small_tile / small_row_cost;

/// Where C goes, and what tiles know of each other.
template <class T, class I> struct small_target {
  I* columns;
  T* values;
  std::int64_t capacity; // entries
  write_offsets rowptr;
  unsigned long long* states; // of tiles: 0, or entries and a flag
  std::int64_t tiles;         // states that there are
};
/// Entries of a tile, or of it and all before it.
constexpr unsigned long long said_alone = 1ull << 62, said_with_before = 2ull << 62;
constexpr unsigned long long said_entries = said_alone - 1;

/// First row whose products, and rows before it, cost `least` or more. By a whole warp, which
/// halves the rows that are left five times a step.
__device__ std::int64_t first_costing(const std::int64_t* products_before, std::int64_t rows,
                                      std::int64_t least) {
  std::int64_t low = 0, high = rows;
  const auto lane = static_cast<std::int64_t>(threadIdx.x % 32);
  while (low < high) {
    const std::int64_t step = (high - low + 31) / 32, row = low + (lane + 1) * step - 1;
    const bool below = row < high && small_cost(products_before[row], row) < least;
    const std::int64_t count = __popc(__ballot_sync(whole_warp, below));
    high = min(high, low + (count + 1) * step - 1);
    low += count * step;
  }
  return low;
}

/// Entries of all tiles before this one, from what those have said so far. By a whole warp; tiles
/// are taken in order, so that earlier ones are made or being made.
__device__ std::int64_t entries_before(unsigned long long* states, std::int64_t tile) {
  std::int64_t sum = 0;
  for (std::int64_t last = tile - 1; last >= 0; last -= 32) {
    const std::int64_t other = last - static_cast<std::int64_t>(threadIdx.x % 32);
    unsigned long long said = other < 0 ? said_with_before : 0;
    while (said == 0) said = load_relaxed(states + other);
    __syncwarp();
    const unsigned whole = __ballot_sync(whole_warp, said >= said_with_before);
    const unsigned nearest = whole == 0 ? 31 : __ffs(static_cast<int>(whole)) - 1;
    sum += warp_sum(threadIdx.x % 32 <= nearest ? static_cast<std::int64_t>(said & said_entries)
                                                : std::int64_t{0});
    if (whole != 0) break;
  }
  return sum;
}

template <class T, class O> struct tile_memory {
  using sorter = cub::BlockRadixSort<std::uint32_t, block_threads, products_each, std::uint16_t>;
  using scanner = cub::BlockScan<int, block_threads>;
  struct expanding {
    std::uint32_t keys[small_tile]; // row of the tile, column
    O begin[block_threads];         // of rows of B, for a block's entries of A
    int start[block_threads];       // of their products
    int row[block_threads];
    T factor[block_threads];
    int entries[most_tile_rows + 1]; // of A before each row of the tile
  };
  struct summing {
    std::uint32_t keys[small_tile];
    std::uint16_t order[small_tile]; // where products were before they were sorted
    int firsts[most_tile_rows];      // entries of C before each row of the tile
  };
  union {
    expanding expand;
    typename sorter::TempStorage sort;
    summing sum;
  };
  typename scanner::TempStorage scan;
  T products[small_tile];
  std::int64_t rows[2]; // the tile's first row, and the next tile's
  std::int64_t before;  // entries of C
  unsigned ticket;
};

/// Products of the tile's rows, in A's order, and their keys; how many.
template <class T, class I, class O>
__device__ int expand_tile(tile_memory<T, O>& shared, const spgemm_factors<I, O>& f,
                           const spgemm_values<T>& v, std::int64_t first_row, int rows,
                           int column_bits) {
  auto& expand = shared.expand;
  const int thread = static_cast<int>(threadIdx.x);
  const O first = f.a_rowptr[first_row];
  for (int r = thread; r <= rows; r += block_threads)
    expand.entries[r] = static_cast<int>(f.a_rowptr[first_row + r] - first);
  __syncthreads();
  const int count = expand.entries[rows];
  int many = 0; // products so far
  for (int a = 0; a < count; a += block_threads) {
    const int entry = a + thread;
    int length = 0, start = 0, total = 0;
    if (entry < count) {
      const I j = f.a_colind[first + entry];
      const O b = f.b_rowptr[j];
      length = static_cast<int>(f.b_rowptr[j + 1] - b);
      int row = 0; // the last that begins at the entry or before
      for (int step = most_tile_rows / 2; step > 0; step /= 2)
        if (row + step < rows && expand.entries[row + step] <= entry) row += step;
      expand.begin[thread] = b;
      expand.row[thread] = row;
      expand.factor[thread] = v.factor(first + entry);
    }
    typename tile_memory<T, O>::scanner(shared.scan).ExclusiveSum(length, start, total);
    expand.start[thread] = start;
    __syncthreads();
    for (int p = thread; p < total && many + p < small_tile; p += block_threads) {
      int owner = 0; // the last whose products begin at p or before
#pragma unroll
      for (int step = block_threads / 2; step > 0; step /= 2)
        if (expand.start[owner + step] <= p) owner += step;
      const O place = expand.begin[owner] + static_cast<O>(p - expand.start[owner]);
      expand.keys[many + p] = static_cast<std::uint32_t>(expand.row[owner]) << column_bits |
                              static_cast<std::uint32_t>(__ldg(f.b_colind + place));
      shared.products[many + p] = rounded_product(expand.factor[owner], v.value(place));
    }
    many += total;
    __syncthreads(); // the next entries of A
  }
  return min(many, small_tile);
}

/// One block per tile, which are taken in order. Nothing is done where rows are too long or tiles
/// too many. Entries of C are counted in totals->entries.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    small_tiles_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v,
                       const std::int64_t* products_before, spgemm_counters* counters,
                       int column_bits, const small_target<T, I> c) {
  __shared__ tile_memory<T, O> shared;
  const int thread = static_cast<int>(threadIdx.x);
  spgemm_totals* const totals = &counters->analysed;
  const std::int64_t share = small_tile_share(static_cast<std::int64_t>(totals->longest));
  const std::int64_t cost = small_cost(static_cast<std::int64_t>(totals->products), f.rows);
  if (share == 0 || cost > share * c.tiles) return;
  const std::int64_t tiles = (cost + share - 1) / share;
  for (;;) {
    if (thread == 0) shared.ticket = atomicAdd(&counters->small_tiles, 1u);
    __syncthreads();
    const std::int64_t tile = shared.ticket;
    if (tile >= tiles) return;
    if (thread < 64) {
      const std::int64_t row = first_costing(products_before, f.rows, (tile + thread / 32) * share);
      if (thread % 32 == 0) shared.rows[thread / 32] = row;
    }
    __syncthreads();
    const std::int64_t first_row = shared.rows[0];
    const int rows = min(static_cast<int>(shared.rows[1] - first_row), most_tile_rows);
    const int many = expand_tile(shared, f, v, first_row, rows, column_bits);

    std::uint32_t key[products_each];
    std::uint16_t at[products_each];
#pragma unroll
    for (int u = 0; u < products_each; ++u) {
      at[u] = static_cast<std::uint16_t>(thread * products_each + u);
      // Behind all others: equal keys stay in order.
      key[u] = at[u] < many ? shared.expand.keys[at[u]] : ~std::uint32_t{0};
    }
    __syncthreads();
    const int row_bits = 32 - __clz(max(rows - 1, 0));
    typename tile_memory<T, O>::sorter(shared.sort).Sort(key, at, 0, column_bits + row_bits);
    __syncthreads();
    auto& sorted = shared.sum;
#pragma unroll
    for (int u = 0; u < products_each; ++u) {
      sorted.keys[thread * products_each + u] = key[u];
      sorted.order[thread * products_each + u] = at[u];
    }
    __syncthreads();
    // The thread of an entry's first product sums it.
    T sum[products_each];
    bool first[products_each];
    std::uint32_t before_mine = 0; // the key before this thread's
    if (thread > 0) before_mine = sorted.keys[thread * products_each - 1];
    int mine = 0, place = 0, count = 0;
#pragma unroll
    for (int u = 0; u < products_each; ++u) {
      const int k = thread * products_each + u;
      first[u] = k < many && (k == 0 || (u == 0 ? before_mine : key[u - 1]) != key[u]);
      if (!first[u]) continue;
      ++mine;
      sum[u] = shared.products[at[u]];
      for (int next = k + 1; next < many && sorted.keys[next] == key[u]; ++next)
        sum[u] += shared.products[sorted.order[next]];
    }
    typename tile_memory<T, O>::scanner(shared.scan).ExclusiveSum(mine, place, count);
    // What later tiles wait for, as early as can be.
    if (thread == 0 && tile > 0)
      store_relaxed(c.states + tile, said_alone | static_cast<unsigned long long>(count));
    // Where rows begin: rows without entries, where the next one does.
    int last_row = 0; // the row of the last product, for the rows behind it
#pragma unroll
    for (int u = 0, to = place; u < products_each; ++u) {
      const int k = thread * products_each + u;
      if (k >= many) continue;
      const int row = static_cast<int>(key[u] >> column_bits);
      if (first[u]) {
        const int from =
            k == 0 ? 0 : static_cast<int>((u == 0 ? before_mine : key[u - 1]) >> column_bits) + 1;
        for (int r = from; r <= row; ++r) sorted.firsts[r] = to;
        ++to;
      }
      if (k == many - 1) last_row = row + 1;
    }
    if (many == 0 ? thread == 0 : thread == (many - 1) / products_each)
      for (int r = last_row; r < rows; ++r) sorted.firsts[r] = count;
    if (thread < 32) {
      const std::int64_t before = entries_before(c.states, tile);
      if (thread == 0) {
        store_relaxed(c.states + tile,
                      said_with_before | static_cast<unsigned long long>(before + count));
        shared.before = before;
        if (tile == tiles - 1) {
          totals->entries = static_cast<unsigned long long>(before + count);
          c.rowptr.set(f.rows, before + count);
        }
      }
    }
    __syncthreads();
    // By way of shared memory, so that neighbours are written together.
#pragma unroll
    for (int u = 0; u < products_each; ++u)
      if (first[u]) {
        sorted.keys[place] = key[u];
        shared.products[place++] = sum[u];
      }
    __syncthreads();
    const std::int64_t before = shared.before;
    for (int r = thread; r < rows; r += block_threads)
      c.rowptr.set(first_row + r, before + sorted.firsts[r]);
    const std::uint32_t column_mask = (std::uint32_t{1} << column_bits) - 1;
    for (int k = thread; k < count && before + k < c.capacity; k += block_threads) {
      c.columns[before + k] = static_cast<I>(sorted.keys[k] & column_mask);
      c.values[before + k] = v.pattern ? T{1} : shared.products[k];
    }
    __syncthreads(); // all is the next tile's
  }
}

} // namespace

template <class T, class I>
template <class O>
small_product<T, I>::small_product(const device_context& ctx, const spgemm_factors<I, O>& f,
                                   const spgemm_values<T>& v, const spgemm::factor_sizes& sizes,
                                   row_facts<I, O>& facts, write_offsets rowptr)
    : rows_(f.rows) {
  // Twice as many products as expected, in tiles that are half full, and as many entries.
  constexpr std::int64_t spare = 1 << 16;
  const auto expected = static_cast<std::int64_t>(expected_products(sizes));
  tiles_ = small_cost(2 * expected + spare, rows_) / (small_tile / 2) + 1;
  states_ = array<unsigned long long, space::device>(ctx, tiles_);
  columns_ = array<I, space::device>(ctx, expected + spare);
  values_ = array<T, space::device>(ctx, expected + spare);
  array<std::int64_t, space::device> before(ctx, rows_ + 1);
  check(cudaMemsetAsync(states_.data(), 0, states_.bytes(), ctx.stream()), "small_product");
  exclusive_sums(ctx, rows_, facts.products.data(), before.data());
  const int column_bits =
      std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(f.columns - 1))));
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(tiles_, 6 * std::int64_t{ctx.properties().multiprocessors}));
  small_tiles_kernel<<<blocks, block_threads, 0, ctx.stream()>>>(
      f, v, before.data(), facts.counters.data(), column_bits,
      small_target<T, I>{columns_.data(), values_.data(), columns_.size(), rowptr, states_.data(),
                         tiles_});
  check_launch("small_tiles_kernel");
}

template <class T, class I> bool small_product<T, I>::is_made(const spgemm_totals& totals) const {
  const std::int64_t share = small_tile_share(static_cast<std::int64_t>(totals.longest));
  return share != 0 &&
         small_cost(static_cast<std::int64_t>(totals.products), rows_) <= share * tiles_ &&
         static_cast<std::int64_t>(totals.entries) <= columns_.size();
}

template <class T, class I>
std::pair<array<I, space::device>, array<T, space::device>>
small_product<T, I>::take(const device_context& ctx, std::int64_t entries) const {
  std::pair c(array<I, space::device>(ctx, entries), array<T, space::device>(ctx, entries));
  copy_bytes(ctx, c.first.data(), columns_.data(), c.first.bytes(), space::device);
  copy_bytes(ctx, c.second.data(), values_.data(), c.second.bytes(), space::device);
  return c;
}

#define LACUNA_INSTANTIATE(T, I) template class small_product<T, I>;
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template small_product<T, I>::small_product(                                                     \
      const device_context&, const spgemm_factors<I, O>&, const spgemm_values<T>&,                 \
      const spgemm::factor_sizes&, row_facts<I, O>&, write_offsets);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
