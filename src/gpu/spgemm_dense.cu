// C = alpha A B of matrices without a missing entry, by tiles in shared memory. A product is
// rounded before it is added, so it takes two instructions where a fused one takes half of the
// time: 8.4e12 products a second at most on an H200, and tensor cores, which fuse, would give other
// bits.
#include "gpu/spgemm_dense.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int dense_side = 16;  // threads of a block, each way
constexpr int dense_steps = 16; // rows of B that a block has in shared memory

/// One block per tile of C; a thread has each sixteenth of its rows and columns, `each` of both.
/// The next tiles of A and B are on their way to registers while it adds.
template <int each, class T, class I>
__global__ void __launch_bounds__(dense_side* dense_side, 2)
    fill_dense_kernel(const dense_product p, const spgemm_values<T> v, const fill_target<T, I> c,
                      int* wrong) {
  constexpr int tile = dense_side * each;
  __shared__ T a_tile[dense_steps][tile + 1]; // one more: lanes that store a row meet other banks
  __shared__ T b_tile[dense_steps][tile];
  const int thread = static_cast<int>(threadIdx.x), x = thread % dense_side,
            y = thread / dense_side;
  const std::int64_t tiles = (p.columns + tile - 1) / tile;
  const std::int64_t first_row = blockIdx.x / tiles * tile,
                     first_column = blockIdx.x % tiles * tile;

  T a_next[each], b_next[each];
  const auto fetch = [&](std::int64_t first) {
#pragma unroll
    for (int u = 0; u < each; ++u) {
      const std::int64_t row = first_row + y + u * dense_side, k = first + x;
      a_next[u] = row < p.rows && k < p.inner ? v.factor(row * p.inner + k) : T{0};
      constexpr int rows_at_once = dense_side * dense_side / tile;
      const std::int64_t column = first_column + thread % tile,
                         of_b = first + thread / tile + u * rows_at_once;
      b_next[u] = of_b < p.inner && column < p.columns ? v.value(of_b * p.columns + column) : T{0};
    }
  };

  T sum[each][each];
#pragma unroll
  for (int i = 0; i < each; ++i)
#pragma unroll
    for (int j = 0; j < each; ++j) sum[i][j] = no_product<T>();
  if (!v.pattern) fetch(0);
  for (std::int64_t first = 0; first < p.inner && !v.pattern; first += dense_steps) {
#pragma unroll
    for (int u = 0; u < each; ++u) {
      a_tile[x][y + u * dense_side] = a_next[u];
      b_tile[thread / tile + u * (dense_side * dense_side / tile)][thread % tile] = b_next[u];
    }
    __syncthreads();
    if (first + dense_steps < p.inner) fetch(first + dense_steps);
    const int steps = static_cast<int>(min(std::int64_t{dense_steps}, p.inner - first));
#pragma unroll 4
    for (int k = 0; k < steps; ++k) {
      T of_a[each], of_b[each];
#pragma unroll
      for (int u = 0; u < each; ++u) {
        of_a[u] = a_tile[k][y + u * dense_side];
        of_b[u] = b_tile[k][x + u * dense_side];
      }
#pragma unroll
      for (int i = 0; i < each; ++i)
#pragma unroll
        for (int j = 0; j < each; ++j) sum[i][j] += rounded_product(of_a[i], of_b[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < each; ++i)
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const std::int64_t row = first_row + y + i * dense_side,
                         column = first_column + x + j * dense_side;
      if (row < p.rows && column < p.columns)
        c.put(row * p.columns + column, static_cast<I>(column), v.pattern ? T{1} : sum[i][j],
              wrong);
    }
}

template <class OC> struct number_dense_row {
  std::int64_t columns;
  OC* rowptr;
  __device__ void operator()(std::int64_t row) const {
    rowptr[row] = static_cast<OC>(row * columns);
  }
};

} // namespace

template <class OC>
void number_dense_rows(const device_context& ctx, const dense_product& p, OC* rowptr) {
  for_each(ctx, p.rows + 1, "number_dense_rows", number_dense_row<OC>{p.columns, rowptr});
}

template <class T, class I>
void fill_dense(const device_context& ctx, const dense_product& p, const spgemm_values<T>& v,
                const fill_target<T, I>& target, int* wrong) {
  const auto tiles = [&](std::int64_t tile) {
    return (p.rows + tile - 1) / tile * ((p.columns + tile - 1) / tile);
  };
  const auto launch = [&](auto each) {
    fill_dense_kernel<each()><<<static_cast<unsigned>(tiles(dense_side * each())),
                                dense_side * dense_side, 0, ctx.stream()>>>(p, v, target, wrong);
    check_launch("fill_dense_kernel");
  };
  // The largest tiles of which each multiprocessor gets two.
  const std::int64_t enough = 2 * std::int64_t{ctx.properties().multiprocessors};
  if (tiles(4 * dense_side) >= enough)
    launch(std::integral_constant<int, 4>{});
  else if (tiles(2 * dense_side) >= enough)
    launch(std::integral_constant<int, 2>{});
  else
    launch(std::integral_constant<int, 1>{});
}

template void number_dense_rows<std::int32_t>(const device_context&, const dense_product&,
                                              std::int32_t*);
template void number_dense_rows<std::int64_t>(const device_context&, const dense_product&,
                                              std::int64_t*);
#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void fill_dense<T, I>(const device_context&, const dense_product&,                      \
                                 const spgemm_values<T>&, const fill_target<T, I>&, int*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
