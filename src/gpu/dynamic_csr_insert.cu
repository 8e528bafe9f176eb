// Batches into a dynamic CSR on the device. A batch is sorted by row and column, every entry is
// looked up by one thread, and new entries are counted by row. Then each row that is hit asks for
// its places of the pool; only if all get theirs, entries are written: short rows by four lanes,
// others by blocks. One wait, at the end.
//
// Where rows get their places is a matter of which block was first; what they hold and in which
// order is not.
#include "gpu/dynamic_csr_write.cuh"

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) look_up(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  if (i >= p.n) return;
  if (p.unsorted()) {
    p.counts[i] = 0;
    return;
  }
  const std::int64_t row = p.row_at(i);
  const bool row_head = i == 0 || p.row_at(i - 1) != row;
  std::int64_t place = -1;
  if (p.rule != batch_rule::append)
    place = i > 0 && p.same_entry(i, i - 1) ? -2 : p.m.find(row, p.col_at(i));
  p.places[i] = static_cast<O>(place);
  const bool is_new = place == -1 && p.rule != batch_rule::touch;
  p.counts[i] = (std::int64_t{row_head} << 32) + (is_new ? 1 : 0);
}

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) collect_new(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  if (i >= p.n) return;
  const std::int64_t count = p.counts[i];
  if (count >> 32 != 0) p.first[p.sums[i] >> 32] = static_cast<std::uint32_t>(i);
  if (i == p.n - 1) {
    p.first[p.hit_rows()] = static_cast<std::uint32_t>(p.n);
    p.state->inserted = p.new_before(p.n);
  }
  if ((count & 1) != 0) {
    p.new_columns[p.new_before(i)] = p.col_at(i);
    p.new_values[p.new_before(i)] = p.combined_from(i);
  }
}

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) decide_rows(const batch_arguments<T, I, O> p) {
  const std::int64_t t = thread_index();
  const bool hit = t < p.hit_rows();
  row_decision decision;
  row_job<I, O> job{};
  if (hit) {
    const std::int64_t from = p.first[t], to = p.first[t + 1], before = p.new_before(from);
    bool changes = false;
    if (p.limits.frozen > 0 && p.rule != batch_rule::keep)
      for (std::int64_t i = from; i < to && !changes; ++i) changes = p.places[i] >= 0;
    job = make_job(p, p.row_at(from), before, p.new_before(to) - before, changes, decision);
  }
  std::int64_t total = 0;
  __shared__ std::int64_t base;
  const std::int64_t before = sum_before(decision.places, total);
  if (threadIdx.x == 0)
    base = total == 0 ? 0
                      : static_cast<std::int64_t>(
                            atomicAdd(&p.state->needed, static_cast<unsigned long long>(total)));
  __syncthreads();
  if (!hit) return;
  job.place = p.limits.used + base + before;
  p.jobs[t] = job;
  list_parts(p, job, t);
}

/// New values for entries that are there. moved: rows may have been rewritten since.
template <bool moved, class T, class I, class O>
__global__ void __launch_bounds__(block_threads) change_values(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  bool changed = false;
  if (i < p.n && !p.refused() && p.places[i] >= 0) {
    const std::int64_t place =
        moved ? p.m.find(p.row_at(i), p.col_at(i)) : std::int64_t{p.places[i]};
    p.m.values[place] = combined(p.rule, p.m.values[place], p.combined_from(i));
    changed = true;
  }
  const int count = __syncthreads_count(changed);
  if (threadIdx.x == 0 && count > 0)
    atomicAdd(&p.state->changed, static_cast<unsigned long long>(count));
}

/// Short rows, four lanes each.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    write_short_rows(const batch_arguments<T, I, O> p) {
  const std::int64_t t = thread_index() / row_lanes;
  if (t >= p.n) return;                // a group leaves as a whole
  const row_job<I, O> job = p.jobs[t]; // read before it is known whether there is one
  if (t >= p.hit_rows() || p.refused()) return;
  if (job.change == row_change::none || work_of(job) > short_row) return;
  write_short_row(p, job, static_cast<int>(threadIdx.x) % row_lanes, row_group());
}

/// Longer rows, one block per part of 4096 entries.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) write_long_rows(const batch_arguments<T, I, O> p) {
  if (p.refused()) return;
  const unsigned parts = p.state->parts;
  for (unsigned work = blockIdx.x; work < parts; work += gridDim.x)
    write_row_part(p, p.jobs[p.parts[work].row], std::int64_t{p.parts[work].part});
}

/// The rows that blocks have written.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    finish_long_rows(const batch_arguments<T, I, O> p) {
  if (p.refused()) return;
  const std::int64_t parts = p.state->parts;
  for (std::int64_t work = thread_index(); work < parts; work += gridDim.x * block_threads)
    if (p.parts[work].part == 0) finish_job(p, p.jobs[p.parts[work].row]);
}

template <class T, class I, class O>
batch_state apply_in(const device_context& ctx, batch_arguments<T, I, O> p, batch_order order) {
  const auto sorted = sort_batch(ctx, p, order);
  const unsigned blocks = blocks_for(p.n);
  const auto launch = [&](auto kernel, unsigned grid, const char* name) {
    kernel<<<grid, block_threads, 0, ctx.stream()>>>(p);
    check_launch(name);
  };
  const bool frozen = p.limits.frozen > 0;
  const bool changes_values = p.rule == batch_rule::add || p.rule == batch_rule::replace;
  launch(look_up<T, I, O>, blocks, "look_up");
  sum_batch(ctx, p.counts, p.n, p.sums);
  launch(collect_new<T, I, O>, blocks, "collect_new");
  const std::int64_t most_hit = std::min(p.n, p.m.rows);
  launch(decide_rows<T, I, O>, blocks_for(most_hit), "decide_rows");
  if (changes_values && !frozen) launch(change_values<false, T, I, O>, blocks, "change_values");
  launch(write_short_rows<T, I, O>, blocks_for(most_hit * row_lanes), "write_short_rows");
  launch(write_long_rows<T, I, O>, part_blocks, "write_long_rows");
  launch(finish_long_rows<T, I, O>, part_blocks / 8, "finish_long_rows");
  if (changes_values && frozen) launch(change_values<true, T, I, O>, blocks, "change_values");
  return wait_for(ctx, p.state);
}

} // namespace

template <class T, class I, class O>
batch_outcome apply_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O, space::device> batch, batch_rule rule,
                          const batch_limits& limits) {
  const device_guard guard(ctx.device());
  const std::int64_t n = batch.size();
  batch_arguments<T, I, O> p = arguments_of(m, batch);
  p.rule = rule;
  p.limits = limits;
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.state, 1);
    take(p.places, n);
    take(p.counts, n);
    take(p.sums, n + 1);
    take(p.first, n + 1);
    take(p.new_columns, n);
    take(p.new_values, n);
    take(p.jobs, n);
    take(p.parts, n + (limits.used + n) / part_entries + 1);
  });
  batch_state state{};
  state.too_full = 1;
  if (n <= most_at_once && limits.frozen == 0) state = apply_at_once(ctx, p);
  if (state.too_full != 0) state = apply_in(ctx, p, batch_order::by_prefix);
  if (state.too_full != 0) state = apply_in(ctx, p, batch_order::by_key);
  batch_outcome outcome;
  outcome.inserted = state.inserted;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.used = limits.used + static_cast<std::int64_t>(state.needed);
  outcome.outside = outside_of(state);
  outcome.mid_rows = limits.mid_rows.count + static_cast<std::int64_t>(state.mid_rows);
  outcome.long_rows = limits.long_rows.count + static_cast<std::int64_t>(state.long_rows);
  outcome.segments = state.segments;
  return outcome;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_outcome apply_batch<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, \
                                              coo_view<const T, I, O, space::device>, batch_rule,  \
                                              const batch_limits&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
