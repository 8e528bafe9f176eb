// Small batches into a dynamic CSR on the device by one launch, where a dozen would take longer
// than their work. Every block reads the whole batch and takes the rows that are its own by a hash.
// It sorts, looks up and decides; when all blocks have, and the pool has room for all of it, each
// writes its rows.
#include "gpu/dynamic_csr_write.cuh"

#include <bit>

namespace lacuna::detail::gpu {
namespace {

constexpr int small_threads = 512;
/// Entries that a block can take, of which a thread has up to two: with 132 blocks and 20,000
/// entries it has 150.
constexpr int most_of_block = 704;
constexpr int small_passes = (most_of_block + small_threads - 1) / small_threads;

/// Waits for all blocks of the launch, which run at the same time. `before`: barriers so far.
__device__ void wait_for_blocks(batch_state* state, unsigned before) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&state->arrived, 1u);
    const unsigned all = (before + 1) * gridDim.x;
    while (*static_cast<volatile unsigned*>(&state->arrived) < all) __nanosleep(40);
    __threadfence();
  }
  __syncthreads();
}

/// counts[e] becomes the sum of those before it, counts[n] that of all; n <= most_of_block. By all
/// threads of a block.
__device__ void sum_in_block(std::int32_t* counts, int n) {
  constexpr int each = small_passes;
  std::int32_t own[each], sum = 0;
  for (int u = 0; u < each; ++u) {
    const int e = static_cast<int>(threadIdx.x) * each + u;
    own[u] = sum;
    sum += e < n ? counts[e] : 0;
  }
  std::int64_t total = 0;
  const auto before = static_cast<std::int32_t>(sum_before<small_threads>(sum, total));
  for (int u = 0; u < each; ++u) {
    const int e = static_cast<int>(threadIdx.x) * each + u;
    if (e <= n) counts[e] = before + own[u];
  }
  if (threadIdx.x == 0) counts[n] = static_cast<std::int32_t>(total);
  __syncthreads();
}

template <class T, class I, class O>
__global__ void __launch_bounds__(small_threads) apply_small(const batch_arguments<T, I, O> p) {
  __shared__ std::uint64_t unsorted[most_of_block], keys[most_of_block];
  __shared__ std::uint32_t places_in_batch[most_of_block], positions[most_of_block];
  __shared__ O places[most_of_block];
  __shared__ std::int32_t new_before[most_of_block + 1], row_number[most_of_block + 1];
  __shared__ std::uint16_t firsts[most_of_block + 1]; // entry of each row
  __shared__ unsigned count, new_base, job_base;
  __shared__ std::int64_t place_base;
  const dynamic_rows<T, I, O>& m = p.m;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) count = 0;
  __syncthreads();
#pragma unroll 8
  for (std::int64_t i = thread; i < p.n; i += small_threads) {
    const I row = p.rows[i];
    const auto hash = static_cast<unsigned>(row) * 2654435761u;
    if (__umulhi(hash, gridDim.x) != blockIdx.x) continue;
    const unsigned at = atomicAdd(&count, 1u);
    if (at < most_of_block) places_in_batch[at] = static_cast<std::uint32_t>(i);
  }
  __syncthreads();
  const int n = static_cast<int>(min(count, static_cast<unsigned>(most_of_block)));
  if (thread == 0 && count > most_of_block) p.state->too_full = 1;
  for (int e = thread; e < n; e += small_threads) {
    const std::int64_t i = places_in_batch[e], row = p.rows[i], col = p.cols[i];
    const bool inside = row >= 0 && row < m.rows && col >= 0 && col < m.cols;
    if (!inside) atomicMax(&p.state->outside, ~static_cast<unsigned long long>(i));
    unsorted[e] =
        inside ? static_cast<std::uint64_t>(row) << p.col_bits | static_cast<std::uint64_t>(col)
               : 0;
  }
  __syncthreads();
  // Few entries are sorted by counting those before each.
  for (int e = thread; e < n; e += small_threads) {
    const std::uint64_t key = unsorted[e];
    const std::uint32_t position = places_in_batch[e];
    int rank = 0;
    for (int k = 0; k < n; ++k)
      rank += unsorted[k] < key || (unsorted[k] == key && places_in_batch[k] < position) ? 1 : 0;
    keys[rank] = key;
    positions[rank] = position;
  }
  __syncthreads();
  const auto row_of_entry = [&](int e) { return static_cast<std::int64_t>(keys[e] >> p.col_bits); };
  const auto col_of_entry = [&](int e) {
    return static_cast<I>(keys[e] & ((std::uint64_t{1} << p.col_bits) - 1));
  };
  const bool appends = p.rule == batch_rule::append;
  for (int e = thread; e < n; e += small_threads) {
    std::int64_t place = -1;
    if (!appends)
      place = e > 0 && keys[e] == keys[e - 1] ? -2 : m.find(row_of_entry(e), col_of_entry(e));
    places[e] = static_cast<O>(place);
    new_before[e] = place == -1 ? 1 : 0;
    row_number[e] = e == 0 || row_of_entry(e) != row_of_entry(e - 1) ? 1 : 0;
  }
  __syncthreads();
  sum_in_block(new_before, n);
  sum_in_block(row_number, n);
  const int rows = row_number[n];
  for (int e = thread; e < n; e += small_threads)
    if (row_number[e + 1] != row_number[e]) firsts[row_number[e]] = static_cast<std::uint16_t>(e);
  if (thread == 0) {
    firsts[rows] = static_cast<std::uint16_t>(n);
    new_base = atomicAdd(p.state->listed, static_cast<unsigned>(new_before[n]));
    job_base = atomicAdd(p.state->listed + 1, static_cast<unsigned>(rows));
  }
  __syncthreads();
  const auto value_of_entry = [&](int e) {
    T value = p.batch_values[positions[e]];
    if (!appends)
      for (int k = e + 1; k < n && keys[k] == keys[e]; ++k)
        value = combined(p.rule, value, p.batch_values[positions[k]]);
    return value;
  };
  for (int e = thread; e < n; e += small_threads)
    if (places[e] == -1) {
      p.new_columns[new_base + new_before[e]] = col_of_entry(e);
      p.new_values[new_base + new_before[e]] = value_of_entry(e);
    }
#pragma unroll
  for (int u = 0; u < small_passes; ++u) {
    const int t = u * small_threads + thread;
    row_decision decision;
    row_job<I, O> job;
    if (t < rows)
      job = make_job(p, row_of_entry(firsts[t]), new_base + new_before[firsts[t]],
                     new_before[firsts[t + 1]] - new_before[firsts[t]], false, decision);
    std::int64_t total = 0;
    const std::int64_t before = sum_before<small_threads>(decision.places, total);
    if (thread == 0 && total > 0)
      place_base = static_cast<std::int64_t>(
          atomicAdd(&p.state->needed, static_cast<unsigned long long>(total)));
    __syncthreads();
    if (t >= rows) continue;
    job.place = p.limits.used + place_base + before;
    p.jobs[job_base + t] = job;
    list_parts(p, job, job_base + t);
  }
  if (thread == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&p.state->inserted),
              static_cast<unsigned long long>(new_before[n]));
  wait_for_blocks(p.state, 0);
  const volatile batch_state& state = *p.state;
  if (state.outside != 0 || state.too_full != 0 ||
      p.limits.used + static_cast<std::int64_t>(state.needed) > p.limits.capacity)
    return;
  if (p.rule == batch_rule::add || p.rule == batch_rule::replace) {
    int changes = 0;
    for (int e = thread; e < n; e += small_threads)
      if (places[e] >= 0) {
        m.values[places[e]] = combined(p.rule, m.values[places[e]], value_of_entry(e));
        ++changes;
      }
    for (int step = 16; step > 0; step /= 2) changes += __shfl_xor_sync(0xffffffffu, changes, step);
    if (thread % 32 == 0 && changes > 0)
      atomicAdd(&p.state->changed, static_cast<unsigned long long>(changes));
    __syncthreads(); // before rows are moved
  }
  for (int t = thread / row_lanes; t < rows; t += small_threads / row_lanes) {
    const row_job<I, O> job = p.jobs[job_base + t];
    if (job.change != row_change::none && work_of(job) <= short_row)
      write_short_row(p, job, thread % row_lanes, row_group());
  }
  const unsigned parts = state.parts;
  if (parts == 0) return;
  wait_for_blocks(p.state, 1); // values of long rows are changed
  for (unsigned work = blockIdx.x; work < parts; work += gridDim.x)
    write_row_part(p, p.jobs[p.parts[work].row], std::int64_t{p.parts[work].part});
  wait_for_blocks(p.state, 2); // the table of a row is read until all of it is written
  for (unsigned work = blockIdx.x * small_threads + threadIdx.x; work < parts;
       work += gridDim.x * small_threads)
    if (p.parts[work].part == 0) finish_job(p, p.jobs[p.parts[work].row]);
}

} // namespace

template <class T, class I, class O>
batch_state apply_at_once(const device_context& ctx, batch_arguments<T, I, O> p) {
  const auto bits = [](std::int64_t limit) {
    return limit <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(limit - 1));
  };
  p.col_bits = bits(p.m.cols);
  batch_state state{};
  state.too_full = 1;
  if (p.rule == batch_rule::touch || bits(p.m.rows) + p.col_bits > 62) return state;
  check(cudaMemsetAsync(p.state, 0, sizeof *p.state, ctx.stream()), "batch");
  void* arguments[] = {&p};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(apply_small<T, I, O>),
                                    dim3(static_cast<unsigned>(ctx.properties().multiprocessors)),
                                    dim3(small_threads), arguments, 0, ctx.stream()),
        "apply_small");
  return wait_for(ctx, p.state);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_state apply_at_once<T, I, O>(const device_context&, batch_arguments<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
