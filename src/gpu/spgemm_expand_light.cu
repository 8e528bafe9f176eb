// Rows of up to 2048 products, expanded and sorted in shared memory (King et al. 2016, section on
// SpMM): one group of lanes or one block per row.
#include <bit>

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "gpu/parts/hash.cuh"
#include "gpu/spgemm_expand.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int group_items = 4; // products that one lane sorts

/// One group of lanes per row, with up to 4 products per lane: each lane finds its products' ranks
/// by comparing them with all others.
template <int lanes, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    expand_group_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> list,
                        const pool_view<T, I> pool) {
  constexpr int room = group_items * lanes, groups = block_threads / lanes;
  __shared__ I keys_of[groups][room + 1]; // one more: groups of a warp meet other banks
  __shared__ T products_of[groups][room + 1];
  const lane_group g(lanes);
  const int group = static_cast<int>(threadIdx.x) / lanes;
  I* const keys = keys_of[group];
  T* const products = products_of[group];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * groups;
  const std::int64_t rounds = (list.count + stride - 1) / stride;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * groups + group;
  for (std::int64_t round = 0; round < rounds; ++round, i += stride) {
    const bool inside = i < list.count;
    const std::int64_t row = inside ? list[i] : 0;
    O begin = f.a_rowptr[row], left = inside ? f.a_rowptr[row + 1] - begin : O{0};
    int many = 0; // products so far
    for (; __any_sync(whole_warp, left > 0); left -= lanes, begin += lanes) {
      O b = 0;
      int length = 0;
      T factor{0};
      if (g.lane < left) {
        const I j = f.a_colind[begin + g.lane];
        factor = v.factor(begin + g.lane);
        b = f.b_rowptr[j];
        length = static_cast<int>(f.b_rowptr[j + 1] - b);
      }
      int start = length; // of this entry's products among those of the group's entries
#pragma unroll
      for (int step = 1; step < lanes; step *= 2) {
        const int other = __shfl_up_sync(whole_warp, start, step, lanes);
        if (g.lane >= step) start += other;
      }
      const int total = g.from(start, lanes - 1);
      start -= length;
      for (int base = 0; __any_sync(whole_warp, base < total); base += lanes) {
        const int p = base + g.lane;
        int owner = 0; // the last whose products begin at p or before
#pragma unroll
        for (int step = lanes / 2; step > 0; step /= 2)
          if (g.from(start, owner + step) <= p) owner += step;
        const O place = g.from(b, owner) + static_cast<O>(p - g.from(start, owner));
        const T scale = g.from(factor, owner);
        if (p < total && many + p < room) {
          keys[many + p] = __ldg(f.b_colind + place);
          products[many + p] = rounded_product(scale, v.value(place));
        }
      }
      many += total;
    }
    many = min(many, room);
    __syncwarp();
    I key[group_items];
    T product[group_items];
    int rank[group_items];
#pragma unroll
    for (int u = 0; u < group_items; ++u) {
      const int at = g.lane + u * lanes;
      key[u] = at < many ? keys[at] : I{0};
      product[u] = at < many ? products[at] : T{0};
      rank[u] = 0;
    }
    for (int k = 0; k < many; ++k) {
      const I other = keys[k];
#pragma unroll
      for (int u = 0; u < group_items; ++u)
        rank[u] += other < key[u] || (other == key[u] && k < g.lane + u * lanes) ? 1 : 0;
    }
    __syncwarp();
#pragma unroll
    for (int u = 0; u < group_items; ++u)
      if (g.lane + u * lanes < many) {
        keys[rank[u]] = key[u];
        products[rank[u]] = product[u];
      }
    __syncwarp();
    // The lane of an entry's first product sums it.
    int place[group_items], count = 0;
#pragma unroll
    for (int u = 0; u < group_items; ++u) {
      const int at = g.lane + u * lanes;
      const bool first = at < many && (at == 0 || keys[at - 1] != keys[at]);
      const unsigned votes = g.ballot(first);
      place[u] = first ? count + __popc(votes & ((1u << g.lane) - 1)) : -1;
      count += __popc(votes);
      if (!first) continue;
      key[u] = keys[at];
      product[u] = products[at];
      for (int k = at + 1; k < many && keys[k] == key[u]; ++k) product[u] += products[k];
    }
    __syncwarp();
    // Room for all groups of the warp at once.
    int before = 0, all = 0;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int from = 0; from < 32; from += lanes) {
      const int other = __shfl_sync(whole_warp, count, from);
      if (from + lanes <= lane) before += other;
      all += other;
    }
    unsigned long long taken = 0;
    if (lane == 0 && all > 0) taken = atomicAdd(pool.used, static_cast<unsigned long long>(all));
    const auto to = static_cast<std::int64_t>(__shfl_sync(whole_warp, taken, 0)) + before;
    if (g.lane == 0 && inside) pool.note(row, to, count);
    const bool fits = pool.has_room(to, count);
#pragma unroll
    for (int u = 0; u < group_items; ++u)
      if (fits && place[u] >= 0) {
        pool.columns[to + place[u]] = key[u];
        pool.values[to + place[u]] = v.pattern ? T{1} : product[u];
      }
    __syncwarp(); // keys are the next row's
  }
}

/// What a block needs for a row, but for its products' values.
template <int threads, int items, class T, class I, class O> struct block_memory {
  using key_type = std::make_unsigned_t<I>;
  using sorter = cub::BlockRadixSort<key_type, threads, items, std::uint16_t>;
  using scanner = cub::BlockScan<int, threads>;
  struct expanding {
    key_type keys[threads * items];
    O begin[threads]; // of rows of B, for a block's entries of A
    int start[threads];
    T factor[threads];
  };
  struct summing {
    key_type keys[threads * items];
    std::uint16_t order[threads * items]; // where products were before they were sorted
  };
  union {
    expanding expand;
    typename sorter::TempStorage sort;
    summing sum;
  };
  typename scanner::TempStorage scan;
  unsigned long long taken;
};

/// One block per row, with up to `items` products per thread, sorted by radix.
template <int threads, int items, class T, class I, class O>
__global__ void __launch_bounds__(threads)
    expand_block_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> list,
                        int column_bits, const pool_view<T, I> pool) {
  using memory = block_memory<threads, items, T, I, O>;
  constexpr int room = threads * items;
  __shared__ memory shared;
  __shared__ T products[room];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t i = blockIdx.x; i < list.count; i += gridDim.x) {
    const std::int64_t row = list[i];
    const O end = f.a_rowptr[row + 1];
    auto& expand = shared.expand;
    int many = 0; // products so far
    for (std::int64_t a = f.a_rowptr[row]; a < end; a += threads) {
      int length = 0, start = 0, total = 0;
      if (a + thread < end) {
        const I j = f.a_colind[a + thread];
        expand.begin[thread] = f.b_rowptr[j];
        expand.factor[thread] = v.factor(a + thread);
        length = static_cast<int>(f.b_rowptr[j + 1] - f.b_rowptr[j]);
      }
      typename memory::scanner(shared.scan).ExclusiveSum(length, start, total);
      expand.start[thread] = start;
      __syncthreads();
      for (int p = thread; p < total && many + p < room; p += threads) {
        int owner = 0; // the last whose products begin at p or before
#pragma unroll
        for (int step = threads / 2; step > 0; step /= 2)
          if (expand.start[owner + step] <= p) owner += step;
        const O place = expand.begin[owner] + static_cast<O>(p - expand.start[owner]);
        expand.keys[many + p] = static_cast<typename memory::key_type>(__ldg(f.b_colind + place));
        products[many + p] = rounded_product(expand.factor[owner], v.value(place));
      }
      many += total;
      __syncthreads(); // the next entries of A
    }
    many = min(many, room);
    typename memory::key_type key[items];
    std::uint16_t at[items];
#pragma unroll
    for (int u = 0; u < items; ++u) {
      at[u] = static_cast<std::uint16_t>(thread * items + u);
      // Behind all others: equal keys stay in order.
      key[u] = at[u] < many ? expand.keys[at[u]] : ~typename memory::key_type{0};
    }
    __syncthreads();
    typename memory::sorter(shared.sort).Sort(key, at, 0, column_bits);
    __syncthreads();
    auto& sorted = shared.sum;
#pragma unroll
    for (int u = 0; u < items; ++u) {
      sorted.keys[thread * items + u] = key[u];
      sorted.order[thread * items + u] = at[u];
    }
    __syncthreads();
    // The thread of an entry's first product sums it.
    T sum[items];
    bool first[items];
    int mine = 0, place = 0, count = 0;
#pragma unroll
    for (int u = 0; u < items; ++u) {
      const int k = thread * items + u;
      first[u] = k < many && (k == 0 || sorted.keys[k - 1] != key[u]);
      if (!first[u]) continue;
      ++mine;
      sum[u] = products[at[u]];
      for (int next = k + 1; next < many && sorted.keys[next] == key[u]; ++next)
        sum[u] += products[sorted.order[next]];
    }
    typename memory::scanner(shared.scan).ExclusiveSum(mine, place, count);
    if (thread == 0) {
      shared.taken = atomicAdd(pool.used, static_cast<unsigned long long>(count));
      pool.note(row, static_cast<std::int64_t>(shared.taken), count);
    }
    __syncthreads();
    // By way of shared memory, so that neighbours are written together.
#pragma unroll
    for (int u = 0; u < items; ++u)
      if (first[u]) {
        sorted.keys[place] = key[u];
        products[place++] = sum[u];
      }
    __syncthreads();
    const auto to = static_cast<std::int64_t>(shared.taken);
    if (pool.has_room(to, count))
      for (int k = thread; k < count; k += threads) {
        pool.columns[to + k] = static_cast<I>(sorted.keys[k]);
        pool.values[to + k] = v.pattern ? T{1} : products[k];
      }
    __syncthreads(); // all is the next row's
  }
}

} // namespace

template <class T, class I, class O>
void expand_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                 const spgemm_values<T>& v, int c, row_list<I> rows, const pool_view<T, I>& to) {
  const auto columns = static_cast<std::uint64_t>(f.columns);
  const int column_bits = std::max(1, static_cast<int>(std::bit_width(columns - 1)));
  const auto by_groups = [&](auto lanes) {
    expand_group_kernel<lanes()>
        <<<resident_blocks(ctx, rows.count * lanes(), 16), block_threads, 0, ctx.stream()>>>(
            f, v, rows, to);
    check_launch("expand_group_kernel");
  };
  const auto by_blocks = [&](auto threads, auto items) {
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>(rows.count, 64 * std::int64_t{ctx.properties().multiprocessors}));
    expand_block_kernel<threads(), items()>
        <<<blocks, threads(), 0, ctx.stream()>>>(f, v, rows, column_bits, to);
    check_launch("expand_block_kernel");
  };
  using std::integral_constant;
  switch (c) {
  case 1: return by_groups(integral_constant<int, 8>{});
  case 2: return by_groups(integral_constant<int, 16>{});
  case 3: return by_groups(integral_constant<int, 32>{});
  case 4: return by_blocks(integral_constant<int, 64>{}, integral_constant<int, 4>{});
  case 5: return by_blocks(integral_constant<int, 128>{}, integral_constant<int, 4>{});
  case 6: return by_blocks(integral_constant<int, 128>{}, integral_constant<int, 8>{});
  default: return by_blocks(integral_constant<int, 256>{}, integral_constant<int, 8>{});
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void expand_rows<T, I, O>(const device_context&, const spgemm_factors<I, O>&,           \
                                     const spgemm_values<T>&, int, row_list<I>,                    \
                                     const pool_view<T, I>&);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
