// Y = alpha A X + beta Z on the device, A in CSR, X one or several columns. Two kernels:
//   rows:  a group of 1 to 32 lanes per row, for rows of like length;
//   tiles: a block takes 2560 neighbouring entries, of whole rows where the longest fits, else of
//          equal shares of rows and entries (Merrill and Garland 2016), for any rows.
// Neither uses atomics; every sum is formed in an order fixed by the matrix and the tuning.
//
// Bytes that must move: nnz (sizeof T + sizeof I) + rows (sizeof O + sizeof T) + cols sizeof T.
#include "gpu/multiply_csr_kernels.cuh"

namespace lacuna::detail::gpu {

template <class T, class I, class O>
void multiply_tiles(const device_context& ctx, const multiply_arguments<T, I, O>& p, tile_kind kind,
                    vector_view<const tile_start<I, O>, space::device> starts) {
  run_tiles(ctx, p, kind, starts);
}

template <class T, class I, class O>
void multiply_format(const device_context& ctx, T alpha, inspected_csr<T, I, O, space::device> m,
                     dense_view<const T, space::device> x, T beta,
                     dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  if (y.shape().row == 0 || y.shape().col == 0) return;
  const device_guard guard(ctx.device());
  if (!are_vectors(x, beta, z, y)) return multiply_csr_dense(ctx, alpha, m.a, x, beta, z, y);
  const auto p = make_arguments(alpha, m.a, x.data(), beta, z.data(), y.data());
  const auto* const info = m.inspection;
  if (info == nullptr) {
    const auto starts = find_tiles<I>(ctx, p.rowptr, p.rows, p.entries, split_tiles);
    return multiply_tiles<T, I, O>(ctx, p, tile_kind::split, starts.view());
  }
  if (info->kernel.method == spmv_method::rows) return run_rows(ctx, p, info->kernel.lanes);
  multiply_tiles<T, I, O>(ctx, p, kind_of_tiles(info->kernel, info->statistics),
                          info->tiles.view());
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_tiles<T, I, O>(const device_context&, const multiply_arguments<T, I, O>&, \
                                        tile_kind,                                                 \
                                        vector_view<const tile_start<I, O>, space::device>);       \
  template void multiply_format<T, I, O>(                                                          \
      const device_context&, T, inspected_csr<T, I, O, space::device>,                             \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
