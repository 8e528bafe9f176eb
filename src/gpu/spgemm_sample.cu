// Distinct columns of sampled rows, by linear counting (Whang et al. 1990): columns are hashed to
// bits, and the share of those that stay 0 tells how many columns there were.
#include <limits>

#include "gpu/parts/load.cuh"
#include "gpu/spgemm_sample.cuh"
#include "gpu/spgemm_walk.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Of R-MAT's rows a few have most of the products: 512 of 131,072 predicted 1.6 for 1.2.
constexpr int sampled_rows = 4096, sampling_threads = 128;
/// Of a longer row, only some products are looked at.
constexpr std::int64_t most_sampled = 4096;
constexpr int most_sample_bits = 8 * most_sampled;

struct sample_sums {
  unsigned long long products, entries;
};

/// Columns that `all` products fall on, if some `few` of them fall on `found`: as if columns were
/// drawn from a number of them that are alike.
__device__ double extrapolated(double found, double few, double all) {
  if (found >= few) return all;
  double low = 1e-9, high = 64; // products for each of these columns
  for (int step = 0; step < 50; ++step) {
    const double x = (low + high) / 2;
    (few * (1 - exp(-x)) > found * x ? low : high) = x;
  }
  return few / low * (1 - exp(-low * all / few));
}

/// One block per sampled row.
template <class I, class O>
__global__ void __launch_bounds__(sampling_threads)
    sample_rows_kernel(const spgemm_factors<I, O> f, const std::uint32_t* products,
                       sample_sums* sums) {
  __shared__ unsigned bits[most_sample_bits / 32];
  __shared__ unsigned set, looked_at;
  // Neither neighbours nor multiples of a power of two, which may be alike.
  const std::int64_t row =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(blockIdx.x) * 0x9e3779b97f4a7c15ull %
                                static_cast<std::uint64_t>(f.rows));
  const std::int64_t many = products[row];
  if (many == 0 || many >= 0x7fffffff) return; // a flat walk takes fewer

  const std::int64_t parts = (many + most_sampled - 1) / most_sampled; // one is looked at
  int used = 32;
  while (used < most_sample_bits && used < 8 * many) used *= 2;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  for (int w = thread; w < used / 32; w += sampling_threads) bits[w] = 0;
  if (thread == 0) set = looked_at = 0;
  __syncthreads();
  const int shift = __clz(used) + 1;
  const O end = f.a_rowptr[row + 1];
  unsigned mine = 0;
  for (std::int64_t a = f.a_rowptr[row] + 32 * parts * warp; a < end;
       a += 32 * parts * (sampling_threads / 32))
    walk_flat(
        f, columns_only{}, static_cast<O>(a),
        static_cast<O>(min(std::int64_t{32}, static_cast<std::int64_t>(end) - a)),
        [&](O k) { return whole_row(f, columns_only{}, k); },
        [&](bool present, I column, int) {
          if (!present) return;
          ++mine;
          const unsigned at = hash_of(column, shift), bit = 1u << (at & 31);
          if ((bits[at >> 5] & bit) == 0) atomicOr(bits + (at >> 5), bit);
        });
  __syncwarp();
  mine = warp_sum(mine);
  if (lane == 0) atomicAdd(&looked_at, mine);
  __syncthreads();
  unsigned ones = 0;
  for (int w = thread; w < used / 32; w += sampling_threads) ones += __popc(bits[w]);
  ones = warp_sum(ones);
  if (lane == 0) atomicAdd(&set, ones);
  __syncthreads();
  if (thread != 0 || looked_at == 0) return;
  const double room = used, few = looked_at;
  const double left = max(room - set, 1.0);
  const double found = min(few, -room * log(left / room));
  const double entries =
      min(extrapolated(found, few, static_cast<double>(many)), static_cast<double>(f.columns));
  atomicAdd(&sums->products, static_cast<unsigned long long>(many));
  atomicAdd(&sums->entries, static_cast<unsigned long long>(entries + 0.5));
}

} // namespace

template <class I, class O>
double sampled_compression(const device_context& ctx, const spgemm_factors<I, O>& f,
                           const known_rows<I, O>& known) {
  array<sample_sums, space::device> sums(ctx, 1);
  check(cudaMemsetAsync(sums.data(), 0, sums.bytes(), ctx.stream()), "sampled_compression");
  sample_rows_kernel<<<sampled_rows, sampling_threads, 0, ctx.stream()>>>(f, known.products,
                                                                          sums.data());
  check_launch("sample_rows_kernel");
  sample_sums found{};
  read_back(ctx, &found, std::as_const(sums).data(), 1);
  return found.entries == 0
             ? std::numeric_limits<double>::infinity() // nothing was seen: nothing is known
             : static_cast<double>(found.products) / static_cast<double>(found.entries);
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template double sampled_compression<I, O>(const device_context&, const spgemm_factors<I, O>&,    \
                                            const known_rows<I, O>&);
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
