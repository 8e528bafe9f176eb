// The numeric pass of short rows: one thread per row merges the rows of B that the row needs.
#include "gpu/parts/hash.cuh"
#include "gpu/spgemm_heavy.cuh"

namespace lacuna::detail::gpu {
namespace {

/// What a warp's threads have made of their rows and not yet written: stores of whole sectors are
/// many times faster than stores of scattered entries.
template <class T, class I> struct staged_entries {
  static constexpr int each = 16; // entries per thread
  static constexpr int pitch = each + 1;
  I columns[32 * pitch];
  T values[32 * pitch];

  __device__ void put(int place, I column, T value) {
    const int at = static_cast<int>(threadIdx.x) % 32 * pitch + place;
    columns[at] = column;
    values[at] = value;
  }
  /// Writes the `count` entries of each thread from its `to` on; all threads of the warp.
  __device__ void flush(const fill_target<T, I>& c, std::int64_t to, int count, int* wrong) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int before = count; // inclusive sum, then exclusive
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(whole_warp, before, step);
      if (lane >= step) before += other;
    }
    const int total = __shfl_sync(whole_warp, before, 31);
    before -= count;
    __syncwarp();
    for (int base = 0; base < total; base += 32) {
      const int k = base + lane;
      int owner = 0; // the last whose entries begin at or before k
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        if (__shfl_sync(whole_warp, before, owner + step) <= k) owner += step;
      const int place = k - __shfl_sync(whole_warp, before, owner);
      const std::int64_t at = __shfl_sync(whole_warp, to, owner) + place;
      if (k < total)
        c.put(at, columns[owner * pitch + place], values[owner * pitch + place], wrong);
    }
    __syncwarp();
  }
};

constexpr int merging_threads = 128;

/// One thread per row merges the rows of B that the row needs; sums are formed in A's order.
template <int most, class T, class I, class O>
__global__ void __launch_bounds__(merging_threads)
    fill_merged_kernel(const spgemm_factors<I, O> f, const spgemm_values<T> v, row_list<I> list,
                       read_offsets rowptr, fill_target<T, I> c, int* wrong) {
  __shared__ staged_entries<T, I> of_warp[merging_threads / 32];
  staged_entries<T, I>& staged = of_warp[threadIdx.x / 32];
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t rounds = (list.count + stride - 1) / stride;
  std::int64_t i = thread_index();
  for (std::int64_t round = 0; round < rounds; ++round, i += stride) {
    const bool inside = i < list.count;
    const std::int64_t row = inside ? list[i] : 0;
    const O begin = f.a_rowptr[row];
    const int count = inside ? static_cast<int>(f.a_rowptr[row + 1] - begin) : 0;
    merged_rows<most, I, O> rows(f, begin, count);
    T scale[most];
#pragma unroll
    for (int u = 0; u < most; ++u) scale[u] = u < count ? v.factor(begin + u) : T{0};
    std::int64_t to = rowptr[row];
    const std::int64_t end = inside ? rowptr[row + 1] : to;
    bool more = true;
    while (__any_sync(whole_warp, more)) {
      int made = 0;
      I column;
      for (int place = 0; place < staged.each; ++place) {
        more = rows.next(column);
        if (!__any_sync(whole_warp, more)) break;
        if (!more) continue;
        T factor[most]; // all on their way before the first is used
#pragma unroll
        for (int u = 0; u < most; ++u)
          if (!v.pattern && rows.meets(u, column)) factor[u] = __ldg(v.b + rows.place(u));
        T sum = no_product<T>();
#pragma unroll
        for (int u = 0; u < most; ++u)
          if (!v.pattern && rows.meets(u, column)) sum += rounded_product(scale[u], factor[u]);
        rows.leave(column);
        staged.put(made, column, v.pattern ? T{1} : sum);
        ++made;
      }
      if (to + made > end) { // never past what was counted
        atomicOr(wrong, 1);
        made = 0;
      }
      __syncwarp();
      staged.flush(c, to, made, wrong);
      to += made;
    }
    if (to != end) atomicOr(wrong, 1);
  }
}

} // namespace

template <class T, class I, class O>
void fill_merged_rows(const device_context& ctx, const spgemm_factors<I, O>& f,
                      const spgemm_values<T>& v, row_list<I> rows, const spgemm_totals& totals,
                      read_offsets rowptr, const fill_target<T, I>& target, int* wrong,
                      cudaStream_t stream) {
  with_merged(totals.longest_merged, [&](auto most) {
    fill_merged_kernel<most()>
        <<<2 * resident_blocks(ctx, rows.count, 16), merging_threads, 0, stream>>>(
            f, v, rows, rowptr, target, wrong);
  });
  check_launch("fill_merged_kernel");
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void fill_merged_rows<T, I, O>(                                                         \
      const device_context&, const spgemm_factors<I, O>&, const spgemm_values<T>&, row_list<I>,    \
      const spgemm_totals&, read_offsets, const fill_target<T, I>&, int*, cudaStream_t);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
