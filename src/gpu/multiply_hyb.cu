// y = alpha A x + beta z on the device, A in hyb: the rest as CSR by split tiles, then a thread a
// row adds the ELL part. The rest goes first because it needs scratch: if there is none, y is as it
// was. No atomics, every sum in a fixed order.
//
// Bytes that must move: width stride (sizeof T + sizeof I), x once and y once; where there is a
// rest, those of its CSR product too.
#include <lacuna/op/hyb.hpp>

#include "gpu/multiply_csr.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Places whose loads are all in flight before the first is used.
constexpr int unroll = 4;

template <class T, class I> struct ell_arguments {
  const I* columns;
  const T* values;
  std::int64_t rows, width, stride;
  const T* x;
  const T* z; // may be y
  T* y;
  T alpha, beta;
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column; // strides; blockIdx.y is a column
};

template <bool strided, class T, class I>
__global__ void __launch_bounds__(block_threads) multiply_ell_kernel(const ell_arguments<T, I> p) {
  const std::int64_t row = thread_index(), j = blockIdx.y;
  if (row >= p.rows) return;
  const T* const x = p.x + j * p.x_column;
  const I* columns = p.columns + row;
  const T* values = p.values + row;
  T sum{0};
  for (std::int64_t left = p.width; left > 0; left -= unroll) {
    I column[unroll];
    T value[unroll], gathered[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const bool inside = u < left; // the same in all threads
      column[u] = inside ? load_once(columns + u * p.stride) : I{-1};
      value[u] = inside ? load_once(values + u * p.stride) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      gathered[u] = column[u] >= 0 ? __ldg(x + (strided ? column[u] * p.x_row : column[u])) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * gathered[u];
    columns += unroll * p.stride;
    values += unroll * p.stride;
  }
  p.y[row * p.y_row + j * p.y_column] =
      finish(p.alpha, sum, p.beta, p.z, row * p.z_row + j * p.z_column);
}

} // namespace

template <class T, class I, class O>
void multiply_hyb(const device_context& ctx, T alpha, hyb_view<const T, I, O, space::device> a,
                  dense_view<const T, space::device> x, T beta,
                  dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const std::int64_t rows = y.shape().row, columns = y.shape().col;
  if (rows == 0 || columns == 0) return;
  const device_guard guard(ctx.device());
  const bool has_rest = a.rest().size() > 0;
  if (has_rest) {
    if (columns > 1 || x.row_stride() != 1 || y.row_stride() != 1 ||
        (beta != T{0} && z.row_stride() != 1))
      multiply_csr_dense<T, I, O>(ctx, alpha, a.rest(), x, beta, z, y);
    else
      multiply_csr<T, I, O>(ctx, nullptr, alpha, a.rest(), {x.data(), x.shape().row}, beta,
                            {z.data(), rows}, {y.data(), rows});
    z = y;
    beta = T{1};
  }
  ell_arguments<T, I> p{
      a.columns().data(), a.values().data(), rows,           a.width(),      a.stride(),
      x.data(),           z.data(),          y.data(),       alpha,          beta,
      x.row_stride(),     x.col_stride(),    z.row_stride(), z.col_stride(), y.row_stride(),
      y.col_stride()};
  const std::int64_t at_once = std::min<std::int64_t>(columns, 1 << 12);
  for (std::int64_t first = 0; first < columns; first += at_once) {
    const dim3 grid(blocks_for(rows), static_cast<unsigned>(std::min(at_once, columns - first)));
    if (p.x_row == 1)
      multiply_ell_kernel<false><<<grid, block_threads, 0, ctx.stream()>>>(p);
    else
      multiply_ell_kernel<true><<<grid, block_threads, 0, ctx.stream()>>>(p);
    check_launch("multiply_ell_kernel");
    p.x += at_once * p.x_column;
    p.y += at_once * p.y_column;
    if (p.beta != 0) p.z += at_once * p.z_column;
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_hyb<T, I, O>(                                                             \
      const device_context&, T, hyb_view<const T, I, O, space::device>,                            \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
