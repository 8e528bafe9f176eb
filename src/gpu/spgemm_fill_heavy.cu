// Heavy rows of the numeric pass, by ranges of columns: a block a range, a sum a column in shared
// memory. A's entries come in their order, so every entry's products are added in A's order.
#include "gpu/parts/hash.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_fill.cuh"

namespace lacuna::gpu {
namespace {

/// Columns of a heavy row that a block takes: this many or fewer, a power of two from 512 on.
constexpr int most_range_columns = 8192;

/// Entries of each range of a heavy row: a block a row, bits of its columns, window by window.
template <class I, class O>
__global__ void __launch_bounds__(1024)
    count_ranges_kernel(const spgemm_factors<I, O> f, row_list<I> list, int range_columns,
                        std::int64_t ranges, int ranges_at_once, const I* first, const I* last,
                        std::uint32_t* counts) {
  extern __shared__ __align__(16) unsigned bits[];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const std::int64_t row = list[blockIdx.x];
  counts += ranges * blockIdx.x;
  const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
  const std::int64_t low = first[row] / range_columns, high = last[row] / range_columns;
  for (std::int64_t r = threadIdx.x; r < ranges; r += blockDim.x)
    if (r < low || r > high) counts[r] = 0;
  for (std::int64_t range = low; range <= high; range += ranges_at_once) {
    const int here =
        static_cast<int>(min(static_cast<std::int64_t>(ranges_at_once), high + 1 - range));
    const std::int64_t base = range * range_columns, width = std::int64_t{here} * range_columns;
    for (int w = static_cast<int>(threadIdx.x); w < width / 32; w += static_cast<int>(blockDim.x))
      bits[w] = 0;
    __syncthreads();
    for (std::int64_t a = begin + warp; a < end; a += warps) {
      const I j = f.a_colind[a];
      O b = f.b_rowptr[j];
      const O e = f.b_rowptr[j + 1];
      if (range > low) b = first_from(f.b_colind, b, e, base);
      for (std::int64_t k = std::int64_t{b} + lane; k < e; k += 32) {
        const std::int64_t at = f.b_colind[k] - base;
        if (at >= width) break;
        const unsigned bit = 1u << (at & 31);
        if ((bits[at >> 5] & bit) == 0) atomicOr(bits + (at >> 5), bit);
      }
    }
    __syncthreads();
    for (int r = warp; r < here; r += warps) {
      unsigned found = 0;
      for (int w = lane; w < range_columns / 32; w += 32)
        found += __popc(bits[r * (range_columns / 32) + w]);
      found = warp_sum(found);
      if (lane == 0) counts[range + r] = found;
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

/// A block a range of a heavy row's columns: a sum for each column in shared memory; A's entries in
/// their order, the part of B's row that falls into the range by all threads at once.
template <class T, class I, class O, class OC>
__global__ void __launch_bounds__(block_threads)
    fill_ranges_kernel(const spgemm_factors<I, O> f, const spgemm_values<T, I, O> v,
                       row_list<I> list, int range_columns, std::int64_t ranges,
                       const std::uint32_t* counts, const OC* rowptr, fill_target<T, I> target,
                       int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  T* const sums = reinterpret_cast<T*>(shared);
  __shared__ O begin_of[block_threads], end_of[block_threads];
  __shared__ T factor_of[block_threads];
  __shared__ unsigned of_warp[block_threads / 32 + 1];
  constexpr int warps = block_threads / 32;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const std::int64_t place = blockIdx.x / ranges, range = blockIdx.x % ranges;
  counts += place * ranges;
  const std::uint32_t mine = counts[range];
  if (mine == 0) return;
  const std::int64_t row = list[place];
  for (int c = thread; c < range_columns; c += block_threads) sums[c] = untouched(T{});
  const O begin = f.a_rowptr[row], end = f.a_rowptr[row + 1];
  const std::int64_t base = range * range_columns;
  for (std::int64_t a = begin; a < end; a += block_threads) {
    // Of so many entries of A, those whose rows of B reach into the range, in their order.
    O b = 0, e = 0;
    T factor{0};
    if (a + thread < end) {
      const I j = f.a_colind[a + thread];
      if (!v.pattern) factor = v.a[a + thread] * v.alpha;
      const O last = f.b_rowptr[j + 1];
      b = first_from(f.b_colind, f.b_rowptr[j], last, base);
      e = first_from(f.b_colind, b, last, base + range_columns);
    }
    const unsigned votes = __ballot_sync(whole_warp, b < e);
    __syncthreads(); // the lists of the batch before are used up, and sums are clear
    if (lane == 0) of_warp[warp] = __popc(votes);
    __syncthreads();
    int to = __popc(votes & ((1u << lane) - 1)), count = 0;
    for (int w = 0; w < warps; ++w) {
      if (w < warp) to += static_cast<int>(of_warp[w]);
      count += static_cast<int>(of_warp[w]);
    }
    if (b < e) {
      begin_of[to] = b;
      end_of[to] = e;
      factor_of[to] = factor;
    }
    __syncthreads();
    // What a thread has first of the next row is on its way before this row is added.
    O left = 0, at = 0; // left: entries of the row from this thread's first on
    I column = 0;
    T value{0};
    const auto ask = [&](int t) {
      at = begin_of[t] + thread;
      left = end_of[t] - begin_of[t] - thread;
      if (left <= 0) return;
      column = __ldg(f.b_colind + at);
      if (!v.pattern) value = __ldg(v.b + at);
    };
    if (count > 0) ask(0);
    for (int t = 0; t < count; ++t) {
      const T scale = factor_of[t];
      O here_left = left, k = at;
      I here = column;
      T there = value;
      if (t + 1 < count) ask(t + 1);
      for (; here_left > 0; here_left -= block_threads) {
        T& sum = sums[here - base];
        const T product = scale * there;
        sum = is_untouched(sum) ? product : sum + product;
        if (here_left > block_threads) {
          k += block_threads;
          here = __ldg(f.b_colind + k);
          if (!v.pattern) there = __ldg(v.b + k);
        }
      }
      __syncthreads(); // the next row of B finds these sums
    }
  }
  __syncthreads();
  // Warps own parts of the range: what they found, where it goes, then out in order.
  const int part = range_columns / warps;
  unsigned found = 0;
  for (int c = lane; c < part; c += 32) found += is_untouched(sums[warp * part + c]) ? 0 : 1;
  found = warp_sum(found);
  if (lane == 0) of_warp[warp] = found;
  OC to = 0; // entries of the ranges before
  for (std::int64_t r = lane; r < range; r += 32) to += static_cast<OC>(counts[r]);
  to = warp_sum(to) + rowptr[row];
  __syncthreads();
  unsigned total = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) to += static_cast<OC>(of_warp[w]);
    total += of_warp[w];
  }
  if (total != mine) {
    if (thread == 0) atomicOr(wrong, 1);
    return;
  }
  for (int c = lane; c < part; c += 32) {
    const T sum = sums[warp * part + c];
    const bool there = !is_untouched(sum);
    const unsigned votes = __ballot_sync(whole_warp, there);
    if (there)
      target.put(to + static_cast<OC>(__popc(votes & ((1u << lane) - 1))),
                 static_cast<I>(base + warp * part + c), v.pattern ? T{1} : sum, wrong);
    to += static_cast<OC>(__popc(votes));
  }
}

} // namespace

template <class T, class I, class O, class OC>
void fill_heavy_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm_values<T, I, O>& v, row_list<I> heavy, const I* first,
                     const I* last, const OC* rowptr, const fill_target<T, I>& target, int* wrong) {
  // Few rows, or few columns, are cut finer: every multiprocessor gets its share.
  int range_columns = most_range_columns;
  const std::int64_t wanted = 8 * std::int64_t{ctx.properties().multiprocessors};
  while (range_columns > 512 && heavy.count * (f.columns / range_columns) < wanted)
    range_columns /= 2;
  const std::int64_t ranges = (f.columns + range_columns - 1) / range_columns;
  // The ranges' counts take no more than 64 MB at a time.
  const std::int64_t at_once =
      std::clamp<std::int64_t>((std::int64_t{16} << 20) / ranges, 1, heavy.count);
  array<std::uint32_t, space::device> counts(ctx, at_once * ranges);
  const int windows = static_cast<int>(std::min<std::int64_t>(
      ranges, static_cast<std::int64_t>(ctx.properties().shared_bytes_per_block / 2 - 2048) /
                  (range_columns / 8)));
  const std::size_t mask_bytes = static_cast<std::size_t>(windows) * range_columns / 8;
  const std::size_t range_bytes = range_columns * sizeof(T);
  allow_shared(count_ranges_kernel<I, O>, mask_bytes);
  allow_shared(fill_ranges_kernel<T, I, O, OC>, range_bytes);
  for (std::int64_t done = 0; done < heavy.count; done += at_once) {
    const row_list<I> some{heavy.rows, std::min(at_once, heavy.count - done), done};
    count_ranges_kernel<<<static_cast<unsigned>(some.count), 1024, mask_bytes, ctx.stream()>>>(
        f, some, range_columns, ranges, windows, first, last, counts.data());
    check_launch("count_ranges_kernel");
    fill_ranges_kernel<<<static_cast<unsigned>(some.count * ranges), block_threads, range_bytes,
                         ctx.stream()>>>(f, v, some, range_columns, ranges, counts.data(), rowptr,
                                         target, wrong);
    check_launch("fill_ranges_kernel");
  }
}

#define LACUNA_FILL(T, I, O, OC)                                                                   \
  template void fill_heavy_rows<T, I, O, OC>(const device_context&, const spgemm_factors<I, O>&,   \
                                             const spgemm_values<T, I, O>&, row_list<I>, const I*, \
                                             const I*, const OC*, const fill_target<T, I>&, int*);
#define LACUNA_INSTANTIATE(T)                                                                      \
  LACUNA_FILL(T, std::int32_t, std::int32_t, std::int32_t)                                         \
  LACUNA_FILL(T, std::int32_t, std::int32_t, std::int64_t)                                         \
  LACUNA_FILL(T, std::int32_t, std::int64_t, std::int64_t)                                         \
  LACUNA_FILL(T, std::int64_t, std::int32_t, std::int32_t)                                         \
  LACUNA_FILL(T, std::int64_t, std::int32_t, std::int64_t)                                         \
  LACUNA_FILL(T, std::int64_t, std::int64_t, std::int64_t)
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
