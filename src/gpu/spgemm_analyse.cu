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

template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    analyse_kernel(const spgemm_factors<I, O> f, const spgemm_thresholds thresholds, int lanes,
                   std::uint32_t* products, I* first, I* last, spgemm_totals* totals) {
  __shared__ block_totals block;
  block.clear();
  const lane_group g(lanes);
  unsigned long long all = 0, all_most = 0, largest = 0, longest = 0, longest_merged = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x / lanes;
  const std::int64_t rounds = (f.rows + stride - 1) / stride;
  std::int64_t row = thread_index() / lanes;
  for (std::int64_t round = 0; round < rounds; ++round, row += stride) {
    const bool inside = row < f.rows;
    const O begin = inside ? f.a_rowptr[row] : O{0}, end = inside ? f.a_rowptr[row + 1] : O{0};
    unsigned long long sum = 0;
    for (O k = begin + g.lane; k < end; k += lanes) {
      const I j = f.a_colind[k];
      const auto length = static_cast<unsigned long long>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
      sum += length;
      longest = max(longest, length);
    }
    __syncwarp();
    sum = g.sum(sum);
    std::int64_t span = std::int64_t{1} << 40;
    if (__any_sync(whole_warp, sum > few_products)) {
      I low = static_cast<I>(f.columns - 1), high = 0;
      if (sum > few_products)
        for (O k = begin + g.lane; k < end; k += lanes) {
          const I j = f.a_colind[k];
          const O b = f.b_rowptr[j], e = f.b_rowptr[j + 1];
          if (b == e) continue;
          low = min(low, f.b_colind[b]);
          high = max(high, f.b_colind[e - 1]);
        }
      __syncwarp();
      for (int step = lanes / 2; step > 0; step /= 2) {
        low = min(low, __shfl_xor_sync(whole_warp, low, step, lanes));
        high = max(high, __shfl_xor_sync(whole_warp, high, step, lanes));
      }
      if (sum > few_products) {
        span = std::int64_t{high} - low + 1;
        if (g.lane == 0) {
          first[row] = low;
          last[row] = high;
        }
      }
    }
    if (g.lane == 0 && inside) {
      products[row] = static_cast<std::uint32_t>(min(sum, 0xffffffffull));
      all += sum;
      all_most += min(sum, static_cast<unsigned long long>(min(span, f.columns)));
      largest = max(largest, sum);
      const auto entries = static_cast<std::int64_t>(end - begin),
                 many = static_cast<std::int64_t>(sum);
      const int c = spgemm::count_class(thresholds, {entries, many, span});
      block.add(c, many, entries);
      if (c == 0) longest_merged = max(longest_merged, static_cast<unsigned long long>(entries));
    }
    __syncwarp();
  }
  // Whole numbers: the order of the additions does not matter.
  largest = warp_max(largest);
  longest = warp_max(longest);
  longest_merged = warp_max(longest_merged);
  all = warp_sum(all);
  all_most = warp_sum(all_most);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&totals->products, all);
    atomicAdd(&totals->most_entries, all_most);
    atomicMax(&totals->longest, largest);
    atomicMax(&totals->longest_b, longest);
    atomicMax(&totals->longest_merged, longest_merged);
  }
  block.flush(totals);
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
    analyse_kernel<<<resident_blocks(ctx, f.rows * lanes, 8), block_threads, 0, ctx.stream()>>>(
        f, thresholds, lanes, facts.products.data(), facts.first.data(), facts.last.data(),
        &counters->analysed);
    check_launch("analyse_kernel");
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
