// C = rule(A, B) element by element, in tiles as those of a sum (add_tiles.cuh). Products of what
// both have are counted and written as a sum is. Under other rules an entry may come out as 0: a
// pass over the values leaves a bit for every entry that is kept, and a count for every tile; the
// pass that fills forms those entries again. Nothing of the size of both patterns is made, and the
// one wait is for the size of C.
//
// Bytes, with 4-byte columns and 8-byte values: 5 (nnz A + nnz B) to walk, 9 (nnz A + nnz B) to
// mark, 13 of what is kept and 12 nnz C to fill.
#include "core/kernel_offsets.hpp"
#include "gpu/add_tiles.cuh"
#include "gpu/parts/entries.cuh"
#include <lacuna/op/combine.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Of the scaled elements; what is missing is 0. Never fused, as on the host.
template <class T> __device__ T element_by_rule(element_rule rule, T x, T y) {
  switch (rule) {
  case element_rule::minus: return summed(x, -y);
  case element_rule::times: return scaled_value(x, y);
  case element_rule::minimum: return y < x || y != y ? y : x;
  case element_rule::maximum: return y > x || y != y ? y : x;
  case element_rule::not_equal: return x != y ? T{1} : T{0};
  case element_rule::less: return x < y ? T{1} : T{0};
  case element_rule::greater: return x > y ? T{1} : T{0};
  default: return summed(x, y);
  }
}
template <class T, class I, class O>
__device__ T combined_element(const add_arguments<T, I, O>& p, element_rule rule,
                              const add_cut<I, O>& begin, const add_source& source) {
  const T left =
      source.has_a() ? scaled_value(p.alpha, load_once(p.a_value + begin.a + source.a())) : T{0};
  const T right =
      source.has_b() ? scaled_value(p.beta, load_once(p.b_value + begin.b + source.b())) : T{0};
  return element_by_rule(rule, left, right);
}

/// Words of 32 bits, one for each entry that a tile can have.
constexpr int combined_words = add_tile_items / 32;

/// masks: a bit for each of a tile's entries of either, whether it is kept; counts: those that are.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    mark_combined_kernel(const add_arguments<T, I, O> p, element_rule rule, unsigned* masks,
                         int* counts) {
  __shared__ add_source sources[add_tile_items];
  __shared__ add_scan::TempStorage scan;
  __shared__ int kept;

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tile = blockIdx.x;
  const add_cut<I, O> begin = p.cuts[tile];
  if (thread == 0) kept = 0;
  const int total = list_sources<add_entries::of_either>(p, sources, scan, [](int, int) {});
  __syncthreads();
  int of_warp = 0;
#pragma unroll
  for (int u = 0; u < add_items_per_thread; ++u) {
    const int k = thread + u * block_threads;
    const bool keeps = k < total && combined_element(p, rule, begin, sources[k]) != T{0};
    const unsigned votes = __ballot_sync(whole_warp, keeps);
    if (thread % 32 == 0) masks[tile * combined_words + k / 32] = votes;
    of_warp += __popc(votes);
  }
  if (thread % 32 == 0) atomicAdd(&kept, of_warp);
  __syncthreads();
  if (thread == 0) counts[tile] = kept;
}

template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    fill_combined_kernel(const add_arguments<T, I, O> p, element_rule rule, const unsigned* masks) {
  __shared__ add_source sources[add_tile_items];
  __shared__ unsigned words[combined_words + 1];
  __shared__ int before[combined_words + 1]; // kept entries before each word
  __shared__ add_scan::TempStorage scan;

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tile = blockIdx.x;
  const add_cut<I, O> begin = p.cuts[tile];
  const std::int64_t base = p.first[tile];
  const unsigned word = thread < combined_words ? masks[tile * combined_words + thread] : 0;
  int kept = 0;
  add_scan(scan).ExclusiveSum(__popc(word), kept);
  if (thread <= combined_words) {
    words[thread] = word;
    before[thread] = kept;
  }
  __syncthreads();
  const auto kept_before = [&](int k) {
    return before[k / 32] + __popc(words[k / 32] & ((1u << (k % 32)) - 1));
  };
  const int total = list_sources<add_entries::of_either>(p, sources, scan, [&](int row, int at) {
    p.rowptr.set(begin.row + static_cast<std::int64_t>(row), base + kept_before(at));
  });
  if (tile == 0 && thread == 0) p.rowptr.set(0, 0);
  __syncthreads();
#pragma unroll 4
  for (int k = thread; k < total; k += block_threads) {
    if ((words[k / 32] >> (k % 32) & 1u) == 0) continue;
    const add_source source = sources[k];
    const std::int64_t to = base + kept_before(k);
    p.col[to] = source.has_a() ? p.pattern.a_col[begin.a + source.a()]
                               : p.pattern.b_col[begin.b + source.b()];
    p.value[to] = combined_element(p, rule, begin, source);
  }
}

} // namespace

template <class T, class I, class O>
csr<T, I, O, space::device> combine_csr(const device_context& ctx, element_rule rule, T alpha,
                                        csr_view<const T, I, O, space::device> a, T beta,
                                        csr_view<const T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  const auto make = [&](std::int64_t entries) {
    return csr<T, I, O, space::device>(
        ctx, a.shape(), checked_cast<O>(entries, "the number of entries"), {true, true});
  };
  if (a.shape().row == 0) {
    auto c = make(0);
    check(cudaMemsetAsync(c.rowptr().data(), 0, sizeof(O), ctx.stream()), "combine: memset");
    return c;
  }
  const with_kernel_offsets<T, I, O, space::device> left(ctx, a), right(ctx, b);
  tiled_pair<T, I, kernel_offset<I, O>> pair(ctx, left.view(), right.view());
  auto p = pair.arguments(alpha, beta);
  const auto into = [&](csr<T, I, O, space::device>& c) {
    p.rowptr = c.rowptr().data();
    p.col = c.colind().data();
    p.value = c.values().data();
  };
  if (rule == element_rule::stored_times) {
    pair.template walk<add_entries::of_both>(nullptr);
    pair.place();
    auto c = make(pair.count());
    into(c);
    pair.template fill<add_fill::products>(p);
    return c;
  }
  array<unsigned, space::device> masks(ctx, pair.tiles() * combined_words);
  pair.template walk<add_entries::of_either>(nullptr);
  mark_combined_kernel<<<pair.grid(), block_threads, 0, ctx.stream()>>>(p, rule, masks.data(),
                                                                        pair.counts());
  check_launch("mark_combined_kernel");
  pair.place();
  auto c = make(pair.count());
  into(c);
  fill_combined_kernel<<<pair.grid(), block_threads, 0, ctx.stream()>>>(p, rule, masks.data());
  check_launch("fill_combined_kernel");
  return c;
}

template <class T, class I, class O>
csr<T, I, O, space::device> complement_csr(const device_context& ctx,
                                           csr_view<const T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const std::int64_t entries = checked_mul(rows, cols) - a.size();
  csr<T, I, O, space::device> c(ctx, a.shape(), checked_cast<O>(entries, "the number of entries"),
                                {true, true});
  // Rows before one have so many elements that are stored, and the rest are C's.
  for_each(ctx, rows + 1, "complement: rows",
           [cols, rowptr = a.rowptr().data(), to = c.rowptr().data()] __device__(std::int64_t r) {
             to[r] = r == 0 ? O{0} : static_cast<O>(r * cols - rowptr[r]);
           });
  for_each_entry(
      ctx, std::as_const(c).rowptr().data(), rows, 0, entries, "complement: entries",
      [cols, rowptr = read_offsets(a.rowptr().data()), col = a.colind().data(),
       to_col = c.colind().data(),
       to_value = c.values().data()] __device__(bool inside, std::int64_t row, std::int64_t k) {
        if (!inside) return;
        // The stored columns before the one that is wanted: low of them at least.
        const std::int64_t first = rowptr[row];
        const std::int64_t missing = k - (row * cols - first);
        std::int64_t low = 0, high = rowptr[row + 1] - first;
        while (low < high) {
          const std::int64_t middle = (low + high) / 2;
          if (col[first + middle] - middle <= missing)
            low = middle + 1;
          else
            high = middle;
        }
        to_col[k] = static_cast<I>(missing + low);
        to_value[k] = T{1};
      });
  return c;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O, space::device> combine_csr(const device_context&, element_rule, T,         \
                                                   csr_view<const T, I, O, space::device>, T,      \
                                                   csr_view<const T, I, O, space::device>);        \
  template csr<T, I, O, space::device> complement_csr(const device_context&,                       \
                                                      csr_view<const T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
