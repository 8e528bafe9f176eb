// Blocks along the diagonal: inverted by one warp each, multiplied with by one thread per row.
#include <limits>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/solver/block_jacobi.hpp>

namespace lacuna::detail::gpu {
namespace {

constexpr int most_block_rows = 16;
constexpr int inverting_warps = 8; // of a block of threads: 32 KiB of shared memory for double

template <class T> struct blocks_arguments {
  const std::int64_t* rowptr;
  const std::int64_t* colind;
  const T* values;
  std::int64_t rows;
  int block;
  T* inverses;
  unsigned long long* singular; ///< the first
};

/// [B | I] becomes [I | B^-1]. A lane owns a column of these 2 * 16 at most, so that what a lane
/// writes no other reads; rows of a column are exchanged and eliminated by all lanes at once.
template <class T> __global__ void invert_blocks_kernel(const blocks_arguments<T> p) {
  __shared__ T columns[inverting_warps][most_block_rows][32];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * inverting_warps + warp;
  const std::int64_t first = b * p.block;
  if (first >= p.rows) return; // the whole warp
  const int size = static_cast<int>(min(static_cast<std::int64_t>(p.block), p.rows - first));
  T(*const m)[32] = columns[warp];

  for (int i = 0; i < size; ++i) {
    T own = lane == p.block + i ? T{1} : T{0};
    const std::int64_t end = p.rowptr[first + i + 1];
    for (std::int64_t k = p.rowptr[first + i]; k < end; k += 32) {
      const bool there = k + lane < end;
      const std::int64_t column = there ? p.colind[k + lane] - first : -1;
      const T value = there ? p.values[k + lane] : T{0};
      const bool in_block = column >= 0 && column < size;
      // One after another, in stored order, to the lane that owns the column.
      for (unsigned votes = __ballot_sync(whole_warp, in_block); votes != 0; votes &= votes - 1) {
        const int from = __ffs(static_cast<int>(votes)) - 1;
        const int to = __shfl_sync(whole_warp, static_cast<int>(column), from);
        const T term = __shfl_sync(whole_warp, value, from);
        if (lane == to) own += term;
      }
    }
    m[i][lane] = own;
  }

  __syncwarp();
  T largest = 0; // stored in row `lane`
  if (lane < size)
    for (int j = 0; j < size; ++j) largest = max(largest, abs(m[lane][j]));
  __syncwarp();

  for (int q = 0; q < size; ++q) {
    int best = q;
    for (int i = q + 1; i < size; ++i) // what lane q finds is used
      if (abs(m[i][lane]) > abs(m[best][lane])) best = i;
    best = __shfl_sync(whole_warp, best, q);
    const T pivot = __shfl_sync(whole_warp, m[best][lane], q);
    const T of_best = __shfl_sync(whole_warp, largest, best);
    const T of_q = __shfl_sync(whole_warp, largest, q);
    const T noise = 4 * size * std::numeric_limits<T>::epsilon() * of_best;
    if (!(abs(pivot) > noise) || !isfinite(pivot)) { // alike in all lanes
      if (lane == 0) atomicMin(p.singular, static_cast<unsigned long long>(b));
      return;
    }
    if (lane == best) largest = of_q;
    if (lane == q) largest = of_best;
    const T exchanged = m[q][lane], scaled = m[best][lane] / pivot;
    m[best][lane] = exchanged;
    m[q][lane] = scaled;
    for (int i = 0; i < size; ++i) {
      const T entry = m[i][lane];
      const T factor = __shfl_sync(whole_warp, entry, q);
      if (i != q) m[i][lane] = entry - factor * scaled;
    }
  }
  T* const to = p.inverses + b * p.block * p.block;
  const int j = lane - p.block;
  if (j >= 0 && j < size)
    for (int i = 0; i < size; ++i) to[j * p.block + i] = m[i][lane];
}

} // namespace

template <class T>
std::int64_t invert_blocks(const device_context& ctx,
                           csr_view<const T, std::int64_t, std::int64_t, space::device> a,
                           int block, vector_view<T, space::device> inverses) {
  const std::int64_t rows = a.shape().row, blocks = (rows + block - 1) / block;
  if (rows == 0) return -1;
  const device_guard guard(ctx.device());
  array<unsigned long long, space::device> singular(ctx, 1);
  check(cudaMemsetAsync(singular.data(), 0xff, singular.bytes(), ctx.stream()), "invert_blocks");
  invert_blocks_kernel<T><<<blocks_for(blocks * 32), block_threads, 0, ctx.stream()>>>(
      {a.rowptr().data(), a.colind().data(), a.values().data(), rows, block, inverses.data(),
       singular.data()});
  check_launch("invert_blocks");
  unsigned long long first = 0;
  read_back(ctx, &first, singular.data(), 1);
  return first == ~0ull ? -1 : static_cast<std::int64_t>(first);
}

template <class T>
void multiply_blocks(const device_context& ctx, int block,
                     vector_view<const T, space::device> blocks,
                     vector_view<const T, space::device> r, vector_view<T, space::device> z) {
  const device_guard guard(ctx.device());
  for_each(ctx, z.size(), "multiply_blocks",
           [block, rows = z.size(), blocks = blocks.data(), r = r.data(),
            z = z.data()] __device__(std::int64_t row) {
             const std::int64_t b = row / block, first = b * block;
             const std::int64_t size = min(static_cast<std::int64_t>(block), rows - first);
             const T* m = blocks + b * block * block + (row - first);
             T sum = 0;
             for (std::int64_t j = 0; j < size; ++j) sum += m[j * block] * r[first + j];
             z[row] = sum;
           });
}

static_assert(inverting_warps * 32 == block_threads);
#define LACUNA_INSTANTIATE(T)                                                                      \
  template std::int64_t invert_blocks<T>(                                                          \
      const device_context&, csr_view<const T, std::int64_t, std::int64_t, space::device>, int,    \
      vector_view<T, space::device>);                                                              \
  template void multiply_blocks<T>(                                                                \
      const device_context&, int, vector_view<const T, space::device>,                             \
      vector_view<const T, space::device>, vector_view<T, space::device>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
