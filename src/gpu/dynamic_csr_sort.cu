// Batches in order of row and column: large ones by CUB's radix sort, small ones by two launches.
#include "gpu/dynamic_csr.cuh"

#include <bit>

#include "gpu/parts/scan.cuh"

namespace lacuna::detail::gpu {
namespace {

/// The place of an entry in one number; 0, and the state says so, if it is outside.
template <class I>
__device__ std::uint64_t checked_key(const I* rows, const I* cols, std::int64_t i,
                                     std::int64_t row_limit, std::int64_t col_limit, int col_bits,
                                     batch_state* state) {
  const std::int64_t row = rows[i], col = cols[i];
  if (row >= 0 && row < row_limit && col >= 0 && col < col_limit)
    return static_cast<std::uint64_t>(row) << col_bits | static_cast<std::uint64_t>(col);
  atomicMax(&state->outside, ~static_cast<unsigned long long>(i));
  return 0;
}

template <class I>
__global__ void __launch_bounds__(block_threads)
    make_keys(const I* rows, const I* cols, std::int64_t n, std::int64_t row_limit,
              std::int64_t col_limit, int col_bits, std::uint64_t* keys, std::uint32_t* positions,
              batch_state* state) {
  const std::int64_t i = thread_index();
  if (i >= n) return;
  const std::uint64_t key = checked_key(rows, cols, i, row_limit, col_limit, col_bits, state);
  if (keys != nullptr) keys[i] = key;
  positions[i] = static_cast<std::uint32_t>(i);
}

/// Keys are the indices at the positions; those outside count as 0.
template <class I>
void key_by_index(const device_context& ctx, const I* index, const std::uint32_t* position,
                  std::uint64_t* key, std::int64_t n) {
  for_each(ctx, n, "batch", [=] __device__(std::int64_t i) {
    const I value = index[position[i]];
    key[i] = value < 0 ? 0 : static_cast<std::uint64_t>(value);
  });
}

/// Batches of up to so many entries, whose keys fit a block's shared memory, are sorted by two
/// launches of our own, for CUB's nine take longer than all the rest.
constexpr std::int64_t small_batch = 16384;
constexpr int chunk = 512;

/// Keys and positions in order within chunks, one block each: a bitonic sort of pairs.
template <class I>
__global__ void __launch_bounds__(chunk / 2)
    sort_chunks(const I* rows, const I* cols, std::int64_t n, std::int64_t row_limit,
                std::int64_t col_limit, int col_bits, std::uint64_t* keys, std::uint32_t* positions,
                batch_state* state) {
  __shared__ std::uint64_t key[chunk];
  __shared__ std::uint32_t position[chunk];
  const std::int64_t first = std::int64_t{blockIdx.x} * chunk;
  for (int e = static_cast<int>(threadIdx.x); e < chunk; e += chunk / 2) {
    const std::int64_t i = first + e;
    key[e] = ~std::uint64_t{0};
    position[e] = static_cast<std::uint32_t>(i);
    if (i < n) key[e] = checked_key(rows, cols, i, row_limit, col_limit, col_bits, state);
  }
  for (int run = 2; run <= chunk; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      const int t = static_cast<int>(threadIdx.x);
      const int a = 2 * t - (t & (step - 1)), b = a + step;
      const bool ascending = (a & run) == 0;
      const bool above = key[a] > key[b] || (key[a] == key[b] && position[a] > position[b]);
      if (above == ascending) {
        const std::uint64_t k = key[a];
        key[a] = key[b];
        key[b] = k;
        const std::uint32_t p = position[a];
        position[a] = position[b];
        position[b] = p;
      }
    }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < chunk && first + e < n; e += chunk / 2) {
    keys[first + e] = key[e];
    positions[first + e] = position[e];
  }
}
/// Keys that a block of merge_chunks puts in place, by four lanes each.
constexpr int merged_keys = block_threads / 4;

/// Each key to its place among all chunks, which are brought to shared memory: those of earlier
/// chunks come before their equals. A key's four lanes search every fourth chunk.
__global__ void __launch_bounds__(block_threads)
    merge_chunks(const std::uint64_t* keys, const std::uint32_t* positions, int n,
                 std::uint64_t* to_keys, std::uint32_t* to_positions) {
  extern __shared__ std::uint64_t all[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += block_threads) all[i] = keys[i];
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 4;
  const int i = static_cast<int>(blockIdx.x) * merged_keys + static_cast<int>(threadIdx.x) / 4;
  const std::uint64_t key = i < n ? all[i] : 0;
  const int own = i / chunk;
  int rank = 0;
  for (int c = lane; c * chunk < n; c += 4) {
    if (c == own) continue;
    const int length = min(chunk, n - c * chunk);
    rank += static_cast<int>(c < own ? not_above(all + c * chunk, length, key)
                                     : lower_bound(all + c * chunk, length, key));
  }
  rank += __shfl_xor_sync(0xffffffffu, rank, 1);
  rank += __shfl_xor_sync(0xffffffffu, rank, 2);
  if (i >= n || lane != 0) return;
  rank += i % chunk;
  to_keys[rank] = key;
  to_positions[rank] = positions[i];
}

/// Of a batch's keys only the first bits are sorted by CUB, so many that few keys are equal in
/// them. Those are put in their places by counting the ones before each.
constexpr int prefix_bits(std::int64_t n) { return n <= (std::int64_t{1} << 21) ? 24 : 32; }
/// Beyond so many, CUB sorts whole keys.
constexpr int longest_run = 16384;

__global__ void __launch_bounds__(block_threads)
    order_equal_prefixes(const std::uint64_t* keys, const std::uint32_t* positions, int n,
                         int dropped, std::uint64_t* to_keys, std::uint32_t* to_positions,
                         batch_state* state) {
  const int i = static_cast<int>(thread_index());
  if (i >= n) return;
  const std::uint64_t key = keys[i], prefix = key >> dropped;
  const auto same = [&](int k) { return k >= 0 && k < n && keys[k] >> dropped == prefix; };
  int at = i;
  if (same(i - 1) || same(i + 1)) {
    // The ends of the run, by steps that double and then halve; then a loop without surprises.
    const auto last_same = [&](int direction) {
      int reach = 0, step = 1;
      while (same(i + direction * (reach + step)) && reach <= longest_run) {
        reach += step;
        step *= 2;
      }
      for (; step > 0; step /= 2)
        if (same(i + direction * (reach + step))) reach += step;
      return i + direction * reach;
    };
    const int begin = last_same(-1), end = last_same(1) + 1;
    if (end - begin > longest_run) {
      state->too_full = 1;
      return;
    }
    at = begin;
#pragma unroll 8
    for (int k = begin; k < i; ++k) at += keys[k] <= key ? 1 : 0;
#pragma unroll 8
    for (int k = i + 1; k < end; ++k) at += keys[k] < key ? 1 : 0;
  }
  to_keys[at] = key;
  to_positions[at] = positions[i];
}

/// sums[i] = counts[0] + … + counts[i - 1], i up to n, by one block: each warp has a run of them.
constexpr int sum_threads = 1024;
__global__ void __launch_bounds__(sum_threads)
    sum_counts(const std::int64_t* counts, int n, std::int64_t* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int each = (n + sum_threads - 1) / sum_threads * 32;
  const int first = warp * each, last = min(first + each, n);
  std::int64_t own = 0;
#pragma unroll 8
  for (int i = first + lane; i < last; i += 32) own += counts[i];
  std::int64_t total = 0;
  std::int64_t before = sum_before<sum_threads>(own, total); // of earlier warps and lanes
  before = __shfl_sync(0xffffffffu, before, 0);
#pragma unroll 4
  for (int i = first + lane; i - lane < last; i += 32) {
    const std::int64_t count = i < last ? counts[i] : 0;
    std::int64_t sum = count;
    for (int step = 1; step < 32; step *= 2) {
      const std::int64_t other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    if (i < last) sums[i] = before + sum - count;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  if (threadIdx.x == 0) sums[n] = total;
}

} // namespace

template <class T, class I, class O>
array<char, space::device> sort_batch(const device_context& ctx, batch_arguments<T, I, O>& p,
                                      batch_order order) {
  const std::int64_t n = p.n;
  check(cudaMemsetAsync(p.state, 0, sizeof *p.state, ctx.stream()), "batch");
  const auto bits = [](std::int64_t limit) {
    return limit <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(limit - 1));
  };
  p.col_bits = bits(p.m.cols);
  const int all_bits = bits(p.m.rows) + p.col_bits;
  std::uint64_t* keys[2] = {};
  std::uint32_t* positions[2] = {};
  auto scratch = lay_out(ctx, [&](auto take) {
    for (auto*& k : keys) take(k, n);
    for (auto*& k : positions) take(k, n);
  });
  const auto make = [&](std::uint64_t* to) {
    make_keys<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(
        p.rows, p.cols, n, p.m.rows, p.m.cols, p.col_bits, to, positions[0], p.state);
    check_launch("make_keys");
  };
  int sorted = 0;
  if (all_bits > 62) {
    // Indices of so many bits are sorted one after the other: stably, the rows last.
    make(nullptr);
    const auto sort_by = [&](const I* index) {
      std::uint32_t* const in_turn[2] = {positions[sorted], positions[1 - sorted]};
      key_by_index(ctx, index, in_turn[0], keys[0], n);
      if (sort_stably<std::uint64_t, std::uint32_t>(ctx, keys, in_turn, n, 0, 8 * sizeof(I) - 1) ==
          1)
        sorted = 1 - sorted;
    };
    sort_by(p.cols);
    sort_by(p.rows);
    p.keys = nullptr;
    p.positions = positions[sorted];
    return scratch;
  }
  if (n <= small_batch) {
    sort_chunks<<<static_cast<unsigned>((n + chunk - 1) / chunk), chunk / 2, 0, ctx.stream()>>>(
        p.rows, p.cols, n, p.m.rows, p.m.cols, p.col_bits, keys[0], positions[0], p.state);
    check_launch("sort_chunks");
    const auto bytes = static_cast<int>(n * static_cast<std::int64_t>(sizeof(std::uint64_t)));
    check(cudaFuncSetAttribute(merge_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(small_batch * sizeof(std::uint64_t))),
          "merge_chunks");
    merge_chunks<<<static_cast<unsigned>((n + merged_keys - 1) / merged_keys), block_threads, bytes,
                   ctx.stream()>>>(keys[0], positions[0], static_cast<int>(n), keys[1],
                                   positions[1]);
    check_launch("merge_chunks");
    sorted = 1;
  } else {
    make(keys[0]);
    const int dropped = order == batch_order::by_key ? 0 : std::max(0, all_bits - prefix_bits(n));
    sorted = sort_stably<std::uint64_t, std::uint32_t>(ctx, keys, positions, n, dropped, all_bits);
    if (dropped > 0 && order == batch_order::by_prefix) {
      order_equal_prefixes<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(
          keys[sorted], positions[sorted], static_cast<int>(n), dropped, keys[1 - sorted],
          positions[1 - sorted], p.state);
      check_launch("order_equal_prefixes");
      sorted = 1 - sorted;
    }
  }
  p.keys = keys[sorted];
  p.positions = positions[sorted];
  return scratch;
}

void sum_batch(const device_context& ctx, const std::int64_t* counts, std::int64_t n,
               std::int64_t* sums) {
  if (n > small_batch) return exclusive_sums<std::int64_t, std::int64_t>(ctx, n, counts, sums);
  sum_counts<<<1, sum_threads, 0, ctx.stream()>>>(counts, static_cast<int>(n), sums);
  check_launch("sum_counts");
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template array<char, space::device> sort_batch<T, I, O>(const device_context&,                   \
                                                          batch_arguments<T, I, O>&, batch_order);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
