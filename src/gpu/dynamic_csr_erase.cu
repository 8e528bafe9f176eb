// Entries go out of a dynamic CSR on the device: their places are marked, and then each row that
// has some closes its gaps: short ones by four lanes, others by a warp or a block. Nothing is
// sorted.
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

/// What a row's lanes know of it.
template <class O> struct thinned_row {
  std::int64_t row;
  int segments;
  O size, begin, end; // of its first segment
};
template <class T, class I, class O>
__device__ thinned_row<O> row_to_thin(const dynamic_rows<T, I, O>& m, std::int64_t row) {
  return {row, m.counts[row], m.sizes[row], m.first(0, row), m.last(0, row)};
}

/// Takes entries out of a row, by some lanes of a warp, which `group` names; returns how many, to
/// the first of them.
template <int lanes, class T, class I, class O, class Gone>
__device__ std::int64_t thin_row(const dynamic_rows<T, I, O>& m, const thinned_row<O>& r,
                                 unsigned group, Gone gone) {
  std::int64_t erased = 0;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const unsigned below = group & ((1u << threadIdx.x % 32) - 1);
  for (int s = 0; s < r.segments; ++s) {
    const O begin = s == 0 ? r.begin : m.first(s, r.row), end = s == 0 ? r.end : m.last(s, r.row);
    O kept = begin;
    for (O k = begin; k < end; k += lanes) {
      const O at = k + static_cast<O>(lane);
      const bool inside = at < end;
      const I column = inside ? m.colind[at] : I{0};
      const bool stays = inside && !gone(column, at);
      const unsigned staying = __ballot_sync(group, stays); // all have read their columns
      const O to = kept + static_cast<O>(__popc(staying & below));
      const bool moves = stays && to != at;
      const T value = moves ? m.values[at] : T{0};
      __syncwarp(group);
      if (moves) {
        m.colind[to] = column;
        m.values[to] = value;
      }
      kept += static_cast<O>(__popc(staying & group));
    }
    erased += end - kept;
    __syncwarp(group);
    if (lane == 0 && kept != end) {
      m.last(s, r.row) = kept;
      if (s == r.segments - 1) m.room[r.row] += end - kept;
    }
  }
  if (lane == 0 && erased > 0) m.sizes[r.row] -= static_cast<O>(erased);
  return lane == 0 ? erased : 0;
}

/// Entries that a block's threads have erased, to the state.
__device__ void add_erased(std::int64_t erased, batch_state* state) {
  std::int64_t total = 0;
  (void)sum_before(erased, total);
  if (threadIdx.x == 0 && total > 0)
    atomicAdd(&state->changed, static_cast<unsigned long long>(total));
}
/// Rows that have marked entries: those of four lanes, of a warp, of a block.
struct rows_to_thin {
  unsigned* rows[3];
  batch_state* state;

  /// Called by all threads of a block: a counter that all warps add to one by one would hold them
  /// up.
  __device__ void list(bool lists, std::int64_t row, std::int64_t size) const {
    __shared__ unsigned counts[3], bases[3];
    if (threadIdx.x < 3) counts[threadIdx.x] = 0;
    __syncthreads();
    const int bin = size <= short_row ? 0 : size <= long_row ? 1 : 2;
    const unsigned at = lists ? atomicAdd(counts + bin, 1u) : 0;
    __syncthreads();
    if (threadIdx.x < 3 && counts[threadIdx.x] > 0)
      bases[threadIdx.x] = atomicAdd(state->listed + threadIdx.x, counts[threadIdx.x]);
    __syncthreads();
    if (lists) rows[bin][bases[bin] + at] = static_cast<unsigned>(row);
  }
};

template <class T, class I, class O, class Gone>
__global__ void __launch_bounds__(block_threads)
    thin_short_rows(dynamic_rows<T, I, O> m, const rows_to_thin list, Gone gone) {
  const std::int64_t i = thread_index() / row_lanes;
  std::int64_t erased = 0;
  if (i < list.state->listed[0] && list.state->outside == 0)
    erased = thin_row<row_lanes>(m, row_to_thin(m, list.rows[0][i]), row_group(), gone);
  add_erased(erased, list.state);
}
template <class T, class I, class O, class Gone>
__global__ void __launch_bounds__(block_threads)
    thin_mid_rows(dynamic_rows<T, I, O> m, const rows_to_thin list, Gone gone) {
  const unsigned rows = list.state->outside != 0 ? 0 : list.state->listed[1];
  std::int64_t erased = 0;
  for (std::int64_t i = thread_index() / 32; i < rows; i += gridDim.x * block_threads / 32)
    erased += thin_row<32>(m, row_to_thin(m, list.rows[1][i]), 0xffffffffu, gone);
  if (erased > 0) atomicAdd(&list.state->changed, static_cast<unsigned long long>(erased));
}
/// 4096 entries at a time.
constexpr int thin_threads = 512, thin_items = 8;
template <class T, class I, class O, class Gone>
__global__ void __launch_bounds__(thin_threads)
    thin_long_rows(dynamic_rows<T, I, O> m, const rows_to_thin list, Gone gone) {
  constexpr int warps = thin_threads / 32;
  __shared__ int kept_by[thin_items * warps]; // and then: before
  __shared__ int kept_in_all;
  const unsigned rows = list.state->outside != 0 ? 0 : list.state->listed[2];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (unsigned work = blockIdx.x; work < rows; work += gridDim.x) {
    const std::int64_t row = list.rows[2][work];
    std::int64_t erased = 0;
    const int count = m.counts[row];
    for (int s = 0; s < count; ++s) {
      const std::int64_t begin = m.first(s, row), end = m.last(s, row);
      std::int64_t kept = begin;
      for (std::int64_t k = begin; k < end; k += thin_threads * thin_items) {
        I columns[thin_items];
        T values[thin_items];
        unsigned staying[thin_items];
#pragma unroll
        for (int u = 0; u < thin_items; ++u) {
          const std::int64_t at = k + u * thin_threads + threadIdx.x;
          const bool inside = at < end;
          columns[u] = inside ? m.colind[at] : I{0};
          values[u] = inside ? m.values[at] : T{0};
          staying[u] = __ballot_sync(0xffffffffu, inside && !gone(columns[u], at));
          if (lane == 0) kept_by[u * warps + warp] = __popc(staying[u]);
        }
        __syncthreads();
        if (warp == 0) {
          constexpr int each = thin_items * warps / 32;
          int own[each], sum = 0;
#pragma unroll
          for (int e = 0; e < each; ++e) {
            own[e] = sum;
            sum += kept_by[lane * each + e];
          }
          int before = sum;
          for (int step = 1; step < 32; step *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, before, step);
            if (lane >= step) before += other;
          }
          if (lane == 31) kept_in_all = before;
          before -= sum;
#pragma unroll
          for (int e = 0; e < each; ++e) kept_by[lane * each + e] = before + own[e];
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < thin_items; ++u) {
          const std::int64_t at = k + u * thin_threads + threadIdx.x;
          const std::int64_t to =
              kept + kept_by[u * warps + warp] + __popc(staying[u] & ((1u << lane) - 1));
          if ((staying[u] >> lane & 1) != 0 && to != at) {
            m.colind[to] = columns[u];
            m.values[to] = values[u];
          }
        }
        kept += kept_in_all;
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
      atomicAdd(&list.state->changed, static_cast<unsigned long long>(erased));
    }
    __syncthreads();
  }
}

/// Marks all places that hold an entry of the batch, and lists their rows. `sorted`: entry i is the
/// one at place i of its order, not of the batch.
template <bool sorted, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mark_entries(const batch_arguments<T, I, O> p, unsigned* marks, unsigned* hit,
                 const rows_to_thin list) {
  const dynamic_rows<T, I, O>& m = p.m;
  const std::int64_t i = thread_index();
  const bool here = i < p.n && !(sorted && p.unsorted());
  const std::int64_t row = !here ? -1 : sorted ? p.row_at(i) : std::int64_t{p.rows[i]};
  const I column = !here ? I{0} : sorted ? p.col_at(i) : p.cols[i];
  const bool inside = row >= 0 && row < m.rows && column >= 0 && column < m.cols;
  if (here && !inside) atomicMax(&p.state->outside, ~static_cast<unsigned long long>(i));
  bool lists = false; // one of a row's entries does
  if (inside) {
    bool found = false;
    for (int s = 0; s < m.counts[row]; ++s) {
      const O end = m.last(s, row);
      for (O k = m.lower(m.first(s, row), end, column); k < end && m.colind[k] == column; ++k) {
        atomicOr(marks + k / 32, 1u << (k % 32));
        found = true;
      }
    }
    if (sorted) {
      lists = i == 0 || p.row_at(i - 1) != row;
    } else if (found) {
      const unsigned bit = 1u << (row % 32);
      lists = (atomicOr(hit + row / 32, bit) & bit) == 0;
    }
  }
  list.list(lists, row, lists ? std::int64_t{m.sizes[row]} : 0);
}
/// All rows that have entries.
template <class O>
__global__ void __launch_bounds__(block_threads)
    list_all_rows(const O* sizes, std::int64_t rows, const rows_to_thin list) {
  const std::int64_t row = thread_index();
  const std::int64_t size = row < rows ? std::int64_t{sizes[row]} : 0;
  list.list(size > 0, row, size);
}
template <class T, class I, class O, class Gone>
void thin_listed(const device_context& ctx, const dynamic_rows<T, I, O>& m, std::int64_t most,
                 const rows_to_thin& list, Gone gone) {
  thin_short_rows<<<blocks_for(most * row_lanes), block_threads, 0, ctx.stream()>>>(m, list, gone);
  check_launch("thin_short_rows");
  thin_mid_rows<<<part_blocks, block_threads, 0, ctx.stream()>>>(m, list, gone);
  check_launch("thin_mid_rows");
  thin_long_rows<<<part_blocks / 2, thin_threads, 0, ctx.stream()>>>(m, list, gone);
  check_launch("thin_long_rows");
}

} // namespace

/// From so many entries on a batch is sorted, by its prefixes alone, before it is looked up: rows
/// are then met in their order. H200: half the time at a million, no gain at 100,000.
constexpr std::int64_t sorted_erasure = 200'000;

template <class T, class I, class O>
batch_outcome erase_batch(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                          coo_view<const T, I, O, space::device> batch, std::int64_t used) {
  const device_guard guard(ctx.device());
  batch_arguments<T, I, O> p = arguments_of(m, batch);
  const std::int64_t n = p.n, most = std::min(n, m.rows);
  rows_to_thin list{};
  unsigned *marks = nullptr, *hit = nullptr;
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(p.state, 1);
    take(marks, used / 32 + 1);
    take(hit, m.rows / 32 + 1);
    for (auto*& rows : list.rows) take(rows, most);
  });
  list.state = p.state;
  const auto bytes = reinterpret_cast<char*>(list.rows[0]) - reinterpret_cast<char*>(p.state);
  check(cudaMemsetAsync(p.state, 0, static_cast<std::size_t>(bytes), ctx.stream()), "erase");
  array<char, space::device> order;
  if (n >= sorted_erasure) {
    order = sort_batch(ctx, p, batch_order::roughly);
    mark_entries<true><<<blocks_for(n), block_threads, 0, ctx.stream()>>>(p, marks, hit, list);
  } else {
    mark_entries<false><<<blocks_for(n), block_threads, 0, ctx.stream()>>>(p, marks, hit, list);
  }
  check_launch("mark_entries");
  thin_listed(ctx, m, most, list, marked_places{{marks}});
  const batch_state state = wait_for(ctx, p.state);
  batch_outcome outcome;
  outcome.changed = static_cast<std::int64_t>(state.changed);
  outcome.outside = outside_of(state);
  return outcome;
}

template <class T, class I, class O>
std::int64_t erase_columns(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                           vector_view<const I, space::device> columns) {
  if (m.rows == 0) return 0;
  const device_guard guard(ctx.device());
  rows_to_thin list{};
  unsigned* bits = nullptr;
  const auto scratch = lay_out(ctx, [&](auto take) {
    take(list.state, 1);
    take(bits, m.cols / 32 + 1);
    for (auto*& rows : list.rows) take(rows, m.rows);
  });
  const auto bytes = reinterpret_cast<char*>(list.rows[0]) - reinterpret_cast<char*>(list.state);
  check(cudaMemsetAsync(list.state, 0, static_cast<std::size_t>(bytes), ctx.stream()),
        "erase_columns");
  const I* const gone_columns = columns.data();
  for_each(ctx, columns.size(), "erase_columns", [=] __device__(std::int64_t i) {
    atomicOr(bits + gone_columns[i] / 32, 1u << (gone_columns[i] % 32));
  });
  list_all_rows<<<blocks_for(m.rows), block_threads, 0, ctx.stream()>>>(m.sizes, m.rows, list);
  check_launch("list_all_rows");
  thin_listed(ctx, m, m.rows, list, marked_columns{{bits}});
  return static_cast<std::int64_t>(wait_for(ctx, list.state).changed);
}

template <class T, class I, class O>
std::int64_t erase_rows(const device_context& ctx, const dynamic_rows<T, I, O>& m,
                        vector_view<const I, space::device> rows) {
  const device_guard guard(ctx.device());
  const auto state = new_state(ctx);
  batch_state* const total = state_of(state);
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
  return static_cast<std::int64_t>(wait_for(ctx, state_of(state)).changed);
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
