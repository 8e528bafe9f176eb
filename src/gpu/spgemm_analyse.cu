// The analysis of spECK (Parger et al. 2020, Algorithm 1): products of each row of C, the columns
// they can fall on, and how many rows need tables of which size. O(entries of A).
#include "gpu/parts/hash.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::gpu {
namespace {

template <class V> __device__ V warp_max(V value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

/// A longer row of A's is a block's.
constexpr int most_entries_of_lanes = 1024;

/// What a thread finds of a row: products, and the columns that they can fall on.
template <class I> struct row_extent {
  unsigned long long products = 0, longest = 0; // longest: row of B
  I low, high = 0;

  template <class O>
  __device__ void look_at_lengths(const spgemm_factors<I, O>& f, O begin, O end, int step) {
    for (O k = begin; k < end; k += step) {
      const I j = f.a_colind[k];
      const auto length = static_cast<unsigned long long>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
      products += length;
      longest = max(longest, length);
    }
  }
  template <class O>
  __device__ void look_at_columns(const spgemm_factors<I, O>& f, O begin, O end, int step) {
    for (O k = begin; k < end; k += step) {
      const I j = f.a_colind[k];
      const O b = f.b_rowptr[j], e = f.b_rowptr[j + 1];
      if (b == e) continue;
      low = min(low, f.b_colind[b]);
      high = max(high, f.b_colind[e - 1]);
    }
  }
};

/// Totals of the rows that a thread has noted.
struct noted_rows {
  unsigned long long all = 0, all_most = 0, largest = 0, longest = 0, longest_merged = 0;

  /// A row by one thread for all that looked at it.
  template <class I, class O>
  __device__ void note(const spgemm_factors<I, O>& f, const spgemm_thresholds& thresholds,
                       block_totals& block, const row_extent<I>& found, std::int64_t row,
                       std::int64_t entries, std::uint32_t* products, I* first, I* last) {
    std::int64_t span = std::int64_t{1} << 40;
    if (found.products > few_products) {
      span = std::int64_t{found.high} - found.low + 1;
      first[row] = found.low;
      last[row] = found.high;
    }
    products[row] = static_cast<std::uint32_t>(min(found.products, 0xffffffffull));
    all += found.products;
    all_most += min(found.products, static_cast<unsigned long long>(min(span, f.columns)));
    largest = max(largest, found.products);
    const auto many = static_cast<std::int64_t>(found.products);
    const int c = spgemm::count_class(thresholds, {entries, many, span});
    block.add(c, many, entries);
    if (c == 0) longest_merged = max(longest_merged, static_cast<unsigned long long>(entries));
  }
  /// Whole numbers: the order of the additions does not matter.
  __device__ void add_to(spgemm_totals* totals) {
    largest = warp_max(largest);
    longest = warp_max(longest);
    longest_merged = warp_max(longest_merged);
    all = warp_sum(all);
    all_most = warp_sum(all_most);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(&totals->products, all);
    atomicAdd(&totals->most_entries, all_most);
    atomicMax(&totals->longest, largest);
    atomicMax(&totals->longest_b, longest);
    atomicMax(&totals->longest_merged, longest_merged);
  }
};

/// A group of lanes a row; rows that are a block's are put into `long_rows`, in any order.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    analyse_kernel(const spgemm_factors<I, O> f, const spgemm_thresholds thresholds, int lanes,
                   std::uint32_t* products, I* first, I* last, spgemm_counters* counters,
                   I* long_rows) {
  __shared__ block_totals block;
  block.clear();
  const lane_group g(lanes);
  noted_rows noted;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x / lanes;
  const std::int64_t rounds = (f.rows + stride - 1) / stride;
  std::int64_t row = thread_index() / lanes;
  for (std::int64_t round = 0; round < rounds; ++round, row += stride) {
    const O begin = row < f.rows ? f.a_rowptr[row] : O{0};
    O end = row < f.rows ? f.a_rowptr[row + 1] : O{0};
    const auto entries = static_cast<std::int64_t>(end - begin);
    const bool is_long = entries > most_entries_of_lanes;
    if (is_long) end = begin;
    row_extent<I> found;
    found.low = static_cast<I>(f.columns - 1);
    found.look_at_lengths(f, static_cast<O>(begin + g.lane), end, lanes);
    noted.longest = max(noted.longest, found.longest);
    __syncwarp();
    found.products = g.sum(found.products);
    if (__any_sync(whole_warp, found.products > few_products)) {
      if (found.products > few_products)
        found.look_at_columns(f, static_cast<O>(begin + g.lane), end, lanes);
      __syncwarp();
      for (int step = lanes / 2; step > 0; step /= 2) {
        found.low = min(found.low, __shfl_xor_sync(whole_warp, found.low, step, lanes));
        found.high = max(found.high, __shfl_xor_sync(whole_warp, found.high, step, lanes));
      }
    }
    if (g.lane == 0 && row < f.rows) {
      if (is_long)
        long_rows[atomicAdd(&counters->long_rows, 1u)] = static_cast<I>(row);
      else
        noted.note(f, thresholds, block, found, row, entries, products, first, last);
    }
    __syncwarp();
  }
  noted.add_to(&counters->analysed);
  block.flush(&counters->analysed);
}

/// A block a row.
template <class I, class O>
__global__ void __launch_bounds__(1024)
    analyse_long_kernel(const spgemm_factors<I, O> f, const spgemm_thresholds thresholds,
                        std::uint32_t* products, I* first, I* last, spgemm_counters* counters,
                        const I* long_rows) {
  if (blockIdx.x >= counters->long_rows) return;
  __shared__ block_totals block;
  __shared__ unsigned long long sums[32];
  __shared__ I lows[32], highs[32];
  block.clear();
  noted_rows noted;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  for (unsigned i = blockIdx.x; i < counters->long_rows; i += gridDim.x) {
    const std::int64_t row = long_rows[i];
    const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
    row_extent<I> found;
    found.low = static_cast<I>(f.columns - 1);
    found.look_at_lengths(f, static_cast<O>(begin + thread), end, 1024);
    found.look_at_columns(f, static_cast<O>(begin + thread), end, 1024);
    noted.longest = max(noted.longest, found.longest);
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
      found.low = min(found.low, __shfl_xor_sync(whole_warp, found.low, step));
      found.high = max(found.high, __shfl_xor_sync(whole_warp, found.high, step));
    }
    found.products = warp_sum(found.products);
    __syncthreads(); // what the row before left is used up
    if (lane == 0) {
      sums[warp] = found.products;
      lows[warp] = found.low;
      highs[warp] = found.high;
    }
    __syncthreads();
    if (thread == 0) {
      for (int w = 1; w < 32; ++w) {
        found.products += sums[w];
        found.low = min(found.low, lows[w]);
        found.high = max(found.high, highs[w]);
      }
      noted.note(f, thresholds, block, found, row, static_cast<std::int64_t>(end - begin), products,
                 first, last);
    }
  }
  __syncwarp();
  noted.add_to(&counters->analysed);
  block.flush(&counters->analysed);
}

} // namespace

template <class I, class O>
spgemm_totals analyse_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                           std::int64_t a_entries, const spgemm_thresholds& thresholds,
                           row_facts<I, O>& facts) {
  facts.a_rowptr = f.a_rowptr;
  facts.thresholds = thresholds;
  facts.products = array<std::uint32_t, space::device>(ctx, f.rows);
  facts.first = array<I, space::device>(ctx, f.rows);
  facts.last = array<I, space::device>(ctx, f.rows);
  facts.counters = array<spgemm_counters, space::device>(ctx, 1);
  spgemm_counters* const counters = facts.counters.data();
  check(cudaMemsetAsync(counters, 0, sizeof(spgemm_counters), ctx.stream()), "analyse_rows");
  if (f.rows > 0) {
    // Two entries of A a lane.
    int lanes = 1;
    while (lanes < 32 && 2 * lanes * f.rows < a_entries) lanes *= 2;
    array<I, space::device> long_rows(ctx, a_entries / most_entries_of_lanes);
    analyse_kernel<<<resident_blocks(ctx, f.rows * lanes, 8), block_threads, 0, ctx.stream()>>>(
        f, thresholds, lanes, facts.products.data(), facts.first.data(), facts.last.data(),
        counters, long_rows.data());
    check_launch("analyse_kernel");
    if (!long_rows.empty()) {
      const auto blocks = static_cast<unsigned>(
          std::min<std::int64_t>(long_rows.size(), 2 * ctx.properties().multiprocessors));
      analyse_long_kernel<<<blocks, 1024, 0, ctx.stream()>>>(f, thresholds, facts.products.data(),
                                                             facts.first.data(), facts.last.data(),
                                                             counters, long_rows.data());
      check_launch("analyse_long_kernel");
    }
  }
  spgemm_totals found{};
  read_back(ctx, &found, &counters->analysed, 1);
  found.a_entries = static_cast<unsigned long long>(a_entries);
  return found;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template spgemm_totals analyse_rows<I, O>(const device_context&, const spgemm_factors<I, O>&,    \
                                            std::int64_t, const spgemm_thresholds&,                \
                                            row_facts<I, O>&);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
