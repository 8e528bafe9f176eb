// The numeric pass: columns and values of C. A group of lanes owns a row and walks A's row in its
// order; its lanes lie along one row of B at a time, so that no two hold the same column. Every
// entry's products are thus added in A's order, without atomics, whatever the timing. Short rows
// are filled by spgemm_fill_merged.cu, heavy rows by spgemm_fill_heavy.cu, broad rows by
// spgemm_expand_heavy.cu.
#include <cub/warp/warp_merge_sort.cuh>

#include "gpu/parts/load.cuh"
#include "gpu/spgemm_expand.cuh"
#include "gpu/spgemm_heavy.cuh"
#include "gpu/spgemm_split.cuh"
#include "gpu/spgemm_walk.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Moves the used ones of `slots` slots to the front, in their order; returns how many there are.
template <class T, class I>
__device__ int compact(const lane_group& g, I* keys, T* sums, int slots) {
  int kept = 0;
  for (int base = 0; __any_sync(whole_warp, base < slots); base += g.size) {
    const int s = base + g.lane;
    const I key = s < slots ? keys[s] : no_key<I>;
    const T sum = s < slots ? sums[s] : T{0};
    const unsigned votes = g.ballot(key != no_key<I>);
    __syncwarp(); // all have read when any writes
    if (key != no_key<I>) {
      const int to = kept + __popc(votes & ((1u << g.lane) - 1));
      keys[to] = key;
      sums[to] = sum;
    }
    kept += __popc(votes);
    __syncwarp();
  }
  return kept;
}

/// Puts `count` entries in order by counting for each the keys before it; a lane has at most `most`
/// of them.
template <int most, class T, class I>
__device__ void sort_by_rank(const lane_group& g, I* keys, T* sums, int count) {
  I key[most];
  T sum[most];
  int rank[most];
#pragma unroll
  for (int u = 0; u < most; ++u) {
    const int i = g.lane + u * g.size;
    key[u] = i < count ? keys[i] : no_key<I>;
    sum[u] = i < count ? sums[i] : T{0};
    rank[u] = 0;
  }
  for (int k = 0; k < count; ++k) {
    const I other = keys[k];
#pragma unroll
    for (int u = 0; u < most; ++u) rank[u] += other < key[u] ? 1 : 0;
  }
  __syncwarp();
#pragma unroll
  for (int u = 0; u < most; ++u)
    if (key[u] != no_key<I>) {
      keys[rank[u]] = key[u];
      sums[rank[u]] = sum[u];
    }
  __syncwarp();
}

struct less {
  template <class V> __device__ bool operator()(const V& a, const V& b) const { return a < b; }
};

/// Puts entries of a whole warp in order and writes them out. The keys' own memory is scratch.
template <int items, class T, class I>
__device__ void sort_and_write(I* keys, const T* sums, int count, const fill_target<T, I>& c,
                               std::int64_t to, int* wrong) {
  using sorter = cub::WarpMergeSort<I, items, 32, std::uint16_t>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  I key[items];
  std::uint16_t at[items];
#pragma unroll
  for (int u = 0; u < items; ++u) {
    const int i = lane * items + u;
    key[u] = i < count ? keys[i] : cuda::std::numeric_limits<I>::max();
    at[u] = static_cast<std::uint16_t>(i);
  }
  __syncwarp();
  sorter(*reinterpret_cast<typename sorter::TempStorage*>(keys)).Sort(key, at, less{});
  // By way of the table, so that neighbours are written together: columns, then where sums are.
  const auto write = [&](auto what, auto&& put) {
    __syncwarp();
#pragma unroll
    for (int u = 0; u < items; ++u)
      if (lane * items + u < count) keys[lane * items + u] = what(u);
    __syncwarp();
    for (int s = lane; s < count; s += 32) put(to + s, keys[s]);
  };
  write([&](int u) { return key[u]; },
        [&](std::int64_t at_entry, I column) { c.put_column(at_entry, column, wrong); });
  write([&](int u) { return static_cast<I>(at[u]); },
        [&](std::int64_t at_entry, I slot) { c.values[at_entry] = sums[slot]; });
  __syncwarp();
}

/// items: entries that one lane sorts; 0: by rank. A flat walk, several rows of B at a time, takes
/// a whole warp; `relaxed`: with atomics.
template <int items, bool flat, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    fill_rows_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> list,
                     int lanes, int slots, const known_rows<I, O> known, read_offsets rowptr,
                     fill_target<T, I> c, bool relaxed, int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  const lane_group g(lanes);
  const int group = static_cast<int>(threadIdx.x) / lanes;
  const int groups = static_cast<int>(blockDim.x) / lanes;
  T* const sums = reinterpret_cast<T*>(shared) + group * slots;
  I* const keys =
      reinterpret_cast<I*>(shared + sizeof(T) * static_cast<std::size_t>(groups * slots)) +
      group * slots;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * groups;
  const std::int64_t rounds = (list.count + stride - 1) / stride;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * groups + group;
  for (std::int64_t round = 0; round < rounds; ++round, i += stride) {
    const bool inside = i < list.count;
    const std::int64_t row = inside ? list[i] : 0;
    const O begin = f.a_rowptr[row], end = inside ? f.a_rowptr[row + 1] : begin;
    const std::int64_t to = rowptr[row];
    const std::int64_t expected = inside ? rowptr[row + 1] - to : 0;
    const bool copied = end - begin <= 1;
    if (copied && begin < end) { // a row of B, scaled
      const I j = f.a_colind[begin];
      const T scale = v.factor(begin);
      const O b = f.b_rowptr[j], e = f.b_rowptr[j + 1];
      for (std::int64_t k = std::int64_t{b} + g.lane; k < e; k += lanes)
        c.put(to + (k - b), f.b_colind[k], v.pattern ? T{1} : scale * v.value(k), wrong);
    }
    const std::int64_t span = copied ? 0 : known.work(row).span;
    const bool direct = known.thresholds.spans && span <= slots;
    const std::int64_t needed = direct ? span : spgemm::slots_for(expected);
    int used = copied ? 0 : spgemm::least_slots;
    if (!copied)
      while (used < slots && used < needed) used *= 2;
    for (int s = g.lane; s < used; s += lanes) {
      keys[s] = no_key<I>;
      sums[s] = no_product<T>();
    }
    __syncwarp();
    const I base = direct && !copied ? known.first[row] : I{0};
    const int shift = __clz(used) + 1;
    const auto slot_of = [&](I column) {
      if (!direct) return find_slot(keys, shift, column).slot;
      const auto slot = static_cast<unsigned>(column - base);
      keys[slot] = column;
      return slot;
    };
    const O to_walk = copied ? O{0} : static_cast<O>(end - begin);
    if constexpr (!flat)
      walk_along(f, v, g, begin, to_walk,
                 [&](I column, T product) { sums[slot_of(column)] += product; });
    else
      walk_flat(
          f, v, begin, to_walk, [&](O k) { return whole_row(f, v, k); },
          [&](bool present, I column, T product) {
            const unsigned slot = present ? slot_of(column) : whole_warp - g.lane;
            if (relaxed) {
              if (present) atomicAdd(sums + slot, product);
            } else {
              add_in_order(
                  present, slot, product, [&](T value) { return sums[slot] + value; },
                  [&](T sum) { sums[slot] = sum; });
            }
          });
    __syncwarp();
    int count = compact(g, keys, sums, used);
    if (!copied && count != expected) {
      if (g.lane == 0) atomicOr(wrong, 1);
      count = 0;
    }
    if constexpr (items > 0) {
      // A whole warp owns the row.
      if (!direct) {
        if (v.pattern)
          for (int s = g.lane; s < count; s += lanes) sums[s] = T{1};
        __syncwarp();
        constexpr int fewer = items - items / 3; // half of the slots instead of three quarters
        if (count <= 32 * fewer)
          sort_and_write<fewer>(keys, sums, count, c, to, wrong);
        else
          sort_and_write<items>(keys, sums, count, c, to, wrong);
        continue;
      }
    } else {
      // Of 32 or 64 slots three quarters are used at most.
      const int each = slots * 3 / 4 / lanes;
      if (each <= 2)
        sort_by_rank<2>(g, keys, sums, direct ? 0 : count);
      else if (each <= 3)
        sort_by_rank<3>(g, keys, sums, direct ? 0 : count);
      else
        sort_by_rank<6>(g, keys, sums, direct ? 0 : count);
    }
    for (int s = g.lane; s < count; s += lanes)
      c.put(to + s, keys[s], v.pattern ? T{1} : sums[s], wrong);
    __syncwarp();
  }
}

} // namespace

template <class I, class O>
fill_bins<I> bin_to_fill(const device_context& ctx, const spgemm_factors<I, O>& f,
                         const known_rows<I, O>& known, const spgemm_totals& totals,
                         read_offsets rowptr, unsigned long long* binned) {
  row_bins<I> bins(ctx, f.rows, known.thresholds, totals, spgemm::fill_classes, binned,
                   [=] __device__(std::int64_t row) {
                     return known.fill_class(row, rowptr[row + 1] - rowptr[row]);
                   });
  const row_list<I> not_light = bins[spgemm::fill_classes];
  const std::int64_t broad_span = spgemm::broad_span_to_fill(not_light.count, f.columns);
  row_split<I> split(ctx, not_light, f.columns > broad_span, is_broad_row<I, O>{known, broad_span});
  return {std::move(bins), std::move(split)};
}

template <class T, class I, class O>
bool fill_rows(const device_context& ctx, const spgemm_factors<I, O>& f, const spgemm_values<T>& v,
               const known_rows<I, O>& known, const spgemm_totals& totals, const fill_bins<I>& rows,
               read_offsets rowptr, const fill_target<T, I>& target, spgemm_order order, int* wrong,
               stage_clock& clock) {
  const row_bins<I>& bins = rows.bins;
  const row_split<I>& split = rows.split;
  if (split.matching.count > 0) // first: it may want more memory than there is
    fill_broad_rows<T, I, O>(ctx, f, v, split.matching, rowptr, target, wrong);
  heavy_fill<T, I, O> heavy(ctx, f, split.others, totals, known);
  launch_fork fork(ctx, bins.launches() + (heavy.launches() > 1 ? 1 : 0));
  heavy.run(v, rowptr, target, order, wrong, fork);
  const auto launch = [&](auto items, int c) {
    const row_list<I> list = bins[c];
    if (list.count == 0) return;
    const int slots = spgemm::slots_of(c);
    const group_shape shape = shape_of(ctx, known.thresholds, slots, sizeof(I) + sizeof(T),
                                       bins.totals(c), totals.longest_b);
    auto* kernel = fill_rows_kernel<items(), false, T, I, O>;
    if constexpr (items() > 0)
      if (shape.flat) kernel = fill_rows_kernel<items(), true, T, I, O>;
    allow_shared(kernel, shape.bytes);
    kernel<<<blocks_of_groups(ctx, list.count, shape), shape.threads, shape.bytes, fork.next()>>>(
        f, v, list, shape.lanes, slots, known, rowptr, target, order == spgemm_order::relaxed,
        wrong);
    check_launch("fill_rows_kernel");
  };
  using std::integral_constant;
  launch(integral_constant<int, 24>{}, 6);
  launch(integral_constant<int, 12>{}, 5);
  launch(integral_constant<int, 6>{}, 4);
  launch(integral_constant<int, 3>{}, 3); // 96 of 128 slots
  launch(integral_constant<int, 0>{}, 2);
  launch(integral_constant<int, 0>{}, 1);
  if (const row_list<I> merged = bins[0]; merged.count > 0)
    fill_merged_rows(ctx, f, v, merged, totals, rowptr, target, wrong, fork.next());
  fork.join();
  int failed = 0;
  read_back(ctx, &failed, wrong, 1);
  clock.lap(&spgemm_report::fill);
  if (spgemm_report* const report = clock.report()) {
    report->merged_rows = bins[0].count;
    report->heavy_rows = bins[spgemm::fill_classes].count;
    report->table_rows = f.rows - report->merged_rows - report->heavy_rows;
  }
  return failed == 0;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template bool fill_rows<T, I, O>(const device_context&, const spgemm_factors<I, O>&,             \
                                   const spgemm_values<T>&, const known_rows<I, O>&,               \
                                   const spgemm_totals&, const fill_bins<I>&, read_offsets,        \
                                   const fill_target<T, I>&, spgemm_order, int*, stage_clock&);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)
#define LACUNA_BIN(I, O)                                                                           \
  template fill_bins<I> bin_to_fill<I, O>(const device_context&, const spgemm_factors<I, O>&,      \
                                          const known_rows<I, O>&, const spgemm_totals&,           \
                                          read_offsets, unsigned long long*);
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_BIN)

} // namespace lacuna::detail::gpu
