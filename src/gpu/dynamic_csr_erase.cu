// Entries go out of a dynamic CSR on the device: places are marked, then each row closes its gaps,
// short ones by a thread, others by a block.
#include "gpu/dynamic_csr.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Whether a bit is set.
struct bit_set {
  const unsigned* bits;
  __device__ bool operator[](std::int64_t k) const { return (bits[k / 32] >> (k % 32) & 1) != 0; }
};
/// Entries that go: by their place, or by their column.
struct marked_places {
  bit_set marks;
  template <class I> __device__ bool operator()(I, std::int64_t place) const {
    return marks[place];
  }
};
struct marked_columns {
  bit_set marks;
  template <class I> __device__ bool operator()(I column, std::int64_t) const {
    return marks[column];
  }
};

/// Takes entries out of a row; returns how many.
template <class T, class I, class O, class Gone>
__device__ std::int64_t thin_row(const dynamic_rows<T, I, O>& m, std::int64_t row, Gone gone) {
  std::int64_t erased = 0;
  const int count = m.counts[row];
  for (int s = 0; s < count; ++s) {
    const O begin = m.first(s, row), end = m.last(s, row);
    O kept = begin;
    for (O k = begin; k < end; ++k) {
      const I column = m.colind[k];
      if (gone(column, k)) continue;
      if (kept != k) {
        m.colind[kept] = column;
        m.values[kept] = m.values[k];
      }
      ++kept;
    }
    m.last(s, row) = kept;
    erased += end - kept;
    if (s == count - 1) m.room[row] += end - kept;
  }
  m.sizes[row] -= static_cast<O>(erased);
  return erased;
}

/// The same by a block, 256 entries at a time.
template <class T, class I, class O, class Gone>
__global__ void __launch_bounds__(block_threads)
    thin_long_rows(dynamic_rows<T, I, O> m, const row_part* list, batch_state* state, Gone gone) {
  for (unsigned work = blockIdx.x; work < state->parts; work += gridDim.x) {
    const std::int64_t row = list[work].row;
    std::int64_t erased = 0;
    const int count = m.counts[row];
    for (int s = 0; s < count; ++s) {
      const std::int64_t begin = m.first(s, row), end = m.last(s, row);
      std::int64_t kept = begin;
      for (std::int64_t k = begin; k < end; k += block_threads) {
        const std::int64_t at = k + threadIdx.x;
        const bool inside = at < end;
        const I column = inside ? m.colind[at] : I{0};
        const T value = inside ? m.values[at] : T{0};
        const bool stays = inside && !gone(column, at);
        std::int64_t total = 0;
        const std::int64_t to = kept + sum_before(stays ? 1 : 0, total); // all have read
        if (stays) {
          m.colind[to] = column;
          m.values[to] = value;
        }
        kept += total;
        __syncthreads();
      }
      erased += end - kept;
      if (threadIdx.x == 0) {
        m.last(s, row) = static_cast<O>(kept);
        if (s == count - 1) m.room[row] += static_cast<O>(end - kept);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      m.sizes[row] -= static_cast<O>(erased);
      atomicAdd(&state->changed, static_cast<unsigned long long>(erased));
    }
    __syncthreads();
  }
}

/// Marks all places that hold an entry of the batch.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mark_entries(const batch_arguments<T, I, O> p, unsigned* marks) {
  const std::int64_t i = thread_index();
  if (i >= p.n || p.state->outside != ~0ull || (i > 0 && p.same_entry(i, i - 1))) return;
  const std::int64_t row = p.row_at(i);
  const I column = p.col_at(i);
  for (int s = 0; s < p.m.counts[row]; ++s) {
    const O end = p.m.last(s, row);
    for (O k = p.m.lower(p.m.first(s, row), end, column); k < end && p.m.colind[k] == column; ++k)
      atomicOr(marks + k / 32, 1u << (k % 32));
  }
}
/// The rows of a batch; long ones are left to blocks.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    thin_hit_rows(const batch_arguments<T, I, O> p, marked_places gone) {
  const std::int64_t i = thread_index();
  std::int64_t erased = 0;
  if (i < p.n && p.state->outside == ~0ull && (i == 0 || p.row_at(i - 1) != p.row_at(i))) {
    const std::int64_t row = p.row_at(i);
    if (p.m.sizes[row] <= thread_row)
      erased = thin_row(p.m, row, gone);
    else
      p.parts[atomicAdd(&p.state->parts, 1u)] = {static_cast<unsigned>(row), 0};
  }
  std::int64_t total = 0;
  (void)sum_before(erased, total);
  if (threadIdx.x == 0 && total > 0)
    atomicAdd(&p.state->changed, static_cast<unsigned long long>(total));
}
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    thin_all_rows(dynamic_rows<T, I, O> m, row_part* list, batch_state* state,
                  marked_columns gone) {
  const std::int64_t row = thread_index();
  std::int64_t erased = 0;
  if (row < m.rows) {
    if (m.sizes[row] <= thread_row)
      erased = thin_row(m, row, gone);
    else
      list[atomicAdd(&state->parts, 1u)] = {static_cast<unsigned>(row), 0};
  }
  std::int64_t total = 0;
  (void)sum_before(erased, total);
  if (threadIdx.x == 0 && total > 0)
    atomicAdd(&state->changed, static_cast<unsigned long long>(total));
}

} // namespace

template <class T, class I, class O>
batch_outcome erase_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O, space::device> batch, std::int64_t used) {
  const device_guard guard(ctx.device());
  const std::int64_t n = batch.size(), words = used / 32 + 1;
  batch_arguments<T, I, O> p = arguments_of(m, batch);
  sort_buffers buffers{};
  unsigned* marks = nullptr;
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.state, 1);
    for (auto*& keys : buffers.keys) take(keys, n);
    for (auto*& positions : buffers.positions) take(positions, n);
    take(p.parts, n);
    take(marks, words);
  });
  check(cudaMemsetAsync(marks, 0, static_cast<std::size_t>(words) * sizeof *marks, ctx.stream()),
        "erase");
  sort_batch(ctx, buffers, p);
  const marked_places gone{{marks}};
  mark_entries<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(p, marks);
  check_launch("mark_entries");
  thin_hit_rows<<<blocks_for(n), block_threads, 0, ctx.stream()>>>(p, gone);
  check_launch("thin_hit_rows");
  thin_long_rows<<<part_blocks, block_threads, 0, ctx.stream()>>>(m, p.parts, p.state, gone);
  check_launch("thin_long_rows");
  const batch_state state = wait_for(ctx, p.state);
  batch_outcome outcome;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.outside = state.outside == ~0ull ? -1 : static_cast<std::int64_t>(state.outside);
  return outcome;
}

template <class T, class I, class O>
std::int64_t erase_columns(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                           vector_view<const I, space::device> columns) {
  if (m.rows == 0) return 0;
  const device_guard guard(ctx.device());
  array<unsigned, space::device> marks(ctx, m.cols / 32 + 1);
  check(cudaMemsetAsync(marks.data(), 0, marks.bytes(), ctx.stream()), "erase_columns");
  array<row_part, space::device> parts(ctx, m.rows);
  auto state = new_state(ctx);
  unsigned* const bits = marks.data();
  const I* const list = columns.data();
  for_each(ctx, columns.size(), "erase_columns",
           [=] __device__(std::int64_t i) { atomicOr(bits + list[i] / 32, 1u << (list[i] % 32)); });
  const marked_columns gone{{bits}};
  thin_all_rows<<<blocks_for(m.rows), block_threads, 0, ctx.stream()>>>(m, parts.data(),
                                                                        state.data(), gone);
  check_launch("thin_all_rows");
  thin_long_rows<<<part_blocks, block_threads, 0, ctx.stream()>>>(m, parts.data(), state.data(),
                                                                  gone);
  check_launch("thin_long_rows");
  return static_cast<std::int64_t>(wait_for(ctx, state.data()).changed);
}

template <class T, class I, class O>
std::int64_t erase_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                        vector_view<const I, space::device> rows) {
  const device_guard guard(ctx.device());
  auto state = new_state(ctx);
  batch_state* const total = state.data();
  const I* const list = rows.data();
  using word = std::conditional_t<sizeof(O) == 4, unsigned, unsigned long long>;
  for_each(ctx, rows.size(), "erase_rows", [=] __device__(std::int64_t i) {
    const I row = list[i];
    // A row that is listed twice is counted once.
    const word size = atomicExch(reinterpret_cast<word*>(m.sizes + row), word{0});
    m.room[row] = 0;
    m.counts[row] = 0;
    atomicAdd(&total->changed, static_cast<unsigned long long>(size));
  });
  return static_cast<std::int64_t>(wait_for(ctx, state.data()).changed);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template batch_outcome erase_batch<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&, \
                                              coo_view<const T, I, O, space::device>,              \
                                              std::int64_t);                                       \
  template std::int64_t erase_columns<T, I, O>(                                                    \
      const device_context&, const dynamic_rows<T, I, O>&, vector_view<const I, space::device>);   \
  template std::int64_t erase_rows<T, I, O>(const device_context&, const dynamic_rows<T, I, O>&,   \
                                            vector_view<const I, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
