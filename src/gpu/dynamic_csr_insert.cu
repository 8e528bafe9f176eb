// Batches into a dynamic CSR on the device. A batch is sorted by row and column (CUB), every entry
// is looked up by one thread, and new entries are counted by row. Then each row that is hit asks
// for its places of the pool; only if all get theirs, entries are written: short rows by a thread,
// others by blocks. One wait, at the end.
//
// Where rows get their places is a matter of which block was first; what they hold and in which
// order is not.
#include "gpu/dynamic_csr.cuh"

namespace lacuna::detail::gpu {
namespace {

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) look_up(const batch_arguments<T, I, O> p) {
  const std::int64_t i = thread_index();
  if (i >= p.n) return;
  if (p.state->outside != ~0ull) {
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
  std::int64_t entries = 0; // that are moved or written
  if (hit) {
    const std::int64_t from = p.first[t], to = p.first[t + 1], row = p.row_at(from);
    const std::int64_t added = p.new_before(to) - p.new_before(from);
    bool changes = false;
    if (p.limits.frozen > 0 && p.rule != batch_rule::keep)
      for (std::int64_t i = from; i < to && !changes; ++i) changes = p.places[i] >= 0;
    decision = decide_row(p.m, row, added, changes, p.limits);
    if (decision.change == row_change::in_place) {
      const int s = p.m.counts[row] - 1;
      entries = added + p.m.last(s, row) - p.m.first(s, row);
    } else if (decision.change != row_change::none) {
      entries = added + (decision.change == row_change::rewritten ? p.m.sizes[row] : 0);
    }
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
  p.changes[t] = decision.change;
  p.row_places[t] = p.limits.used + base + before;
  if (entries > thread_row) {
    const auto count = static_cast<unsigned>((entries + part_entries - 1) / part_entries);
    const unsigned at = atomicAdd(&p.state->parts, count);
    for (unsigned part = 0; part < count; ++part)
      p.parts[at + part] = {static_cast<unsigned>(t), part};
  }
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

/// The table of a row that was hit, once its entries are written.
template <class T, class I, class O>
__device__ void finish_hit(const batch_arguments<T, I, O>& p,
                           const typename batch_arguments<T, I, O>::hit& h) {
  const std::int64_t before = p.m.sizes[h.row];
  finish_row(p.m, h.row, h.decision, h.added, h.place);
  if (before <= long_row && before + h.added > long_row) {
    const std::int64_t at =
        p.limits.long_rows + static_cast<std::int64_t>(atomicAdd(&p.state->long_rows, 1ull));
    if (at < p.limits.long_row_capacity) p.m.long_rows[at] = static_cast<I>(h.row);
  }
  const int count = p.m.counts[h.row];
  if (count > *static_cast<volatile int*>(&p.state->segments)) atomicMax(&p.state->segments, count);
}

/// Short rows, one thread each.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    write_short_rows(const batch_arguments<T, I, O> p) {
  const std::int64_t t = thread_index();
  if (t >= p.hit_rows() || p.refused()) return;
  const row_change change = p.changes[t];
  if (change == row_change::none) return;
  const auto h = p.hit_at(t);
  const dynamic_rows<T, I, O>& m = p.m;
  const I* const columns = p.new_columns + h.first_new;
  const T* const values = p.new_values + h.first_new;
  if (change == row_change::new_segment) {
    if (h.added > thread_row) return;
    for (std::int64_t j = 0; j < h.added; ++j) {
      m.colind[h.place + j] = columns[j];
      m.values[h.place + j] = values[j];
    }
  } else if (change == row_change::in_place) {
    const int s = m.counts[h.row] - 1;
    const std::int64_t begin = m.first(s, h.row), end = m.last(s, h.row);
    if (end - begin + h.added > thread_row) return;
    std::int64_t from = end - 1, to = from + h.added;
    for (std::int64_t j = h.added - 1; j >= 0; --to) {
      const I before = from >= begin ? m.colind[from] : I{-1}, column = columns[j];
      const bool old = before > column;
      m.colind[to] = old ? before : column;
      m.values[to] = old ? m.values[from] : values[j];
      if (old)
        --from;
      else
        --j;
    }
  } else {
    if (m.sizes[h.row] + h.added > thread_row) return;
    // Segments one after the other, each merged from its end on into what is there; then the batch.
    std::int64_t length = 0;
    for (int s = 0; s <= m.counts[h.row]; ++s) {
      const bool batch = s == m.counts[h.row];
      const std::int64_t begin = batch ? 0 : std::int64_t{m.first(s, h.row)};
      std::int64_t j = (batch ? h.added : std::int64_t{m.last(s, h.row)}) - 1;
      const I* const more = batch ? columns : m.colind;
      const T* const more_values = batch ? values : m.values;
      std::int64_t from = length - 1, to = from + (j - begin + 1);
      length = to + 1;
      for (; j >= begin; --to) {
        const I before = from >= 0 ? m.colind[h.place + from] : I{-1}, column = more[j];
        const bool old = before > column;
        m.colind[h.place + to] = old ? before : column;
        m.values[h.place + to] = old ? m.values[h.place + from] : more_values[j];
        if (old)
          --from;
        else
          --j;
      }
    }
  }
  finish_hit(p, h);
}

/// Longer rows, one block per part of 4096 entries.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads) write_long_rows(const batch_arguments<T, I, O> p) {
  if (p.refused()) return;
  __shared__ I old_columns[most_in_place];
  __shared__ T old_values[most_in_place];
  const dynamic_rows<T, I, O>& m = p.m;
  const unsigned parts = p.state->parts;
  for (unsigned work = blockIdx.x; work < parts; work += gridDim.x) {
    const row_part item = p.parts[work];
    const auto h = p.hit_at(item.row);
    const I* const columns = p.new_columns + h.first_new;
    const T* const values = p.new_values + h.first_new;
    const std::int64_t begin = item.part * part_entries;
    if (h.decision.change == row_change::new_segment) {
      const std::int64_t end = min(begin + part_entries, h.added);
      for (std::int64_t j = begin + threadIdx.x; j < end; j += block_threads) {
        m.colind[h.place + j] = columns[j];
        m.values[h.place + j] = values[j];
      }
    } else if (h.decision.change == row_change::rewritten) {
      const std::int64_t end = min(begin + part_entries, m.sizes[h.row] + h.added);
      merge_entries(m, h.row, begin, end, columns, values, h.added, m.colind + h.place,
                    m.values + h.place, static_cast<int>(threadIdx.x), block_threads);
    } else {
      const int s = m.counts[h.row] - 1;
      const std::int64_t from = m.first(s, h.row), length = m.last(s, h.row) - from;
      for (std::int64_t e = threadIdx.x; e < length; e += block_threads) {
        old_columns[e] = m.colind[from + e];
        old_values[e] = m.values[from + e];
      }
      __syncthreads();
      for (std::int64_t e = threadIdx.x; e < length; e += block_threads) {
        const std::int64_t to = from + e + lower_bound(columns, h.added, old_columns[e]);
        m.colind[to] = old_columns[e];
        m.values[to] = old_values[e];
      }
      for (std::int64_t j = threadIdx.x; j < h.added; j += block_threads) {
        const std::int64_t to = from + j + not_above(old_columns, length, columns[j]);
        m.colind[to] = columns[j];
        m.values[to] = values[j];
      }
      __syncthreads(); // before the next row's entries
    }
  }
}

/// The rows that blocks have written.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    finish_long_rows(const batch_arguments<T, I, O> p) {
  if (p.refused()) return;
  const std::int64_t parts = p.state->parts;
  for (std::int64_t work = thread_index(); work < parts; work += gridDim.x * block_threads)
    if (p.parts[work].part == 0) finish_hit(p, p.hit_at(p.parts[work].row));
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
  sort_buffers buffers{};
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.state, 1);
    for (auto*& keys : buffers.keys) take(keys, n);
    for (auto*& positions : buffers.positions) take(positions, n);
    take(p.places, n);
    take(p.counts, n);
    take(p.sums, n + 1);
    take(p.first, n + 1);
    take(p.new_columns, n);
    take(p.new_values, n);
    take(p.row_places, n);
    take(p.changes, n);
    take(p.parts, n + (limits.used + n) / part_entries + 1);
  });
  sort_batch(ctx, buffers, p);
  const unsigned blocks = blocks_for(n);
  const auto launch = [&](auto kernel, unsigned grid, const char* name) {
    kernel<<<grid, block_threads, 0, ctx.stream()>>>(p);
    check_launch(name);
  };
  const bool frozen = limits.frozen > 0;
  const bool changes_values = rule == batch_rule::add || rule == batch_rule::replace;
  launch(look_up<T, I, O>, blocks, "look_up");
  sum_batch(ctx, p.counts, n, p.sums);
  launch(collect_new<T, I, O>, blocks, "collect_new");
  launch(decide_rows<T, I, O>, blocks, "decide_rows");
  if (changes_values && !frozen) launch(change_values<false, T, I, O>, blocks, "change_values");
  launch(write_short_rows<T, I, O>, blocks, "write_short_rows");
  launch(write_long_rows<T, I, O>, part_blocks, "write_long_rows");
  launch(finish_long_rows<T, I, O>, part_blocks / 8, "finish_long_rows");
  if (changes_values && frozen) launch(change_values<true, T, I, O>, blocks, "change_values");
  const batch_state state = wait_for(ctx, p.state);
  batch_outcome outcome;
  outcome.inserted = state.inserted;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.used = limits.used + static_cast<std::int64_t>(state.needed);
  outcome.outside = state.outside == ~0ull ? -1 : static_cast<std::int64_t>(state.outside);
  outcome.long_rows = limits.long_rows + static_cast<std::int64_t>(state.long_rows);
  outcome.segments = state.segments;
  return outcome;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_outcome apply_batch<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, \
                                              coo_view<const T, I, O, space::device>, batch_rule,  \
                                              const batch_limits&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
