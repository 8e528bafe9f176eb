// Y = alpha A X + beta Z on the host, X with several columns, either layout.
#include <lacuna/op/multiply.hpp>

#include "cpu/shares.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void multiply_csr_dense(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                        dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  const std::int64_t columns = y.shape().col;
  if (columns == 0) return;
  row_arguments<T, I, O> p{a.rowptr().data(),
                           a.colind().data(),
                           a.values().data(),
                           x.data(),
                           z.data(),
                           y.data(),
                           alpha,
                           beta,
                           columns};
  p.x_row = x.row_stride();
  p.x_column = x.col_stride();
  p.z_row = z.row_stride();
  p.z_column = z.col_stride();
  p.y_row = y.row_stride();
  p.y_column = y.col_stride();
  const auto& kernels = best_row_kernels<T, I, O>();
  array<T> sums;
  for_each_share(
      ctx, p.rowptr, a.shape().row,
      [&](std::int64_t slots) { sums = array<T>(ctx, checked_mul(slots, columns)); },
      [&](std::int64_t first, std::int64_t last) { kernels.dense_rows(p, first, last); },
      [&](std::int64_t, std::int64_t first, std::int64_t last, std::int64_t slot) {
        kernels.dense_piece(p, first, last, sums.data() + slot * columns);
      },
      [&](std::int64_t row, std::int64_t first, std::int64_t last) {
        for (std::int64_t j = 0; j < columns; ++j) {
          T sum = sums[first * columns + j];
          for (std::int64_t slot = first + 1; slot < last; ++slot) sum += sums[slot * columns + j];
          store_sum(p, row, j, sum);
        }
      });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_csr_dense<T, I, O>(const host_context&, T, csr_view<const T, I, O>,       \
                                            dense_view<const T>, T, dense_view<const T>,           \
                                            dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
