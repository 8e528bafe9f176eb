// Y = alpha A X + beta Z on the host, X with several columns, either layout.
#include "cpu/multiply_csr_dense.hpp"

#include "cpu/dense_by_rows.hpp"
#include "cpu/shares.hpp"
#include "cpu/stream.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Whether a copy of X by rows, which lets A be read once for all columns, is faster than a product
/// for each column. Two or three columns are not: their sums leave most of a vector unused. Beyond,
/// bytes decide. The same for any number of threads.
template <class T, class I, class O>
bool copy_pays(csr_view<const T, I, O> a, std::int64_t columns) {
  const double entries = static_cast<double>(a.size()) * (sizeof(T) + sizeof(I)) +
                         static_cast<double>(a.shape().row) * sizeof(O);
  // The copy is written, for which its lines are read first, and read.
  const double copy = 3.0 * static_cast<double>(a.shape().col) * sizeof(T);
  return columns >= 4 &&
         static_cast<double>(columns - 1) * entries > static_cast<double>(columns) * copy;
}

} // namespace

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
  p.streams = a.shape().row * columns * std::int64_t{sizeof(T)} >= streamed_bytes;
  array<T> sums;
  const auto by_columns = [](const auto& v) { return v.layout() == layout::column_major; };
  if (columns > 1 && by_columns(x)) {
    if (copy_pays(a, columns) || !by_columns(y) || (beta != T{0} && !by_columns(z))) {
      const array<T> rows = copy_by_rows(ctx, x);
      return multiply_csr_dense<T, I, O>(ctx, alpha, a, dense_view<const T>(rows.data(), x.shape()),
                                         beta, z, y);
    }
    for (std::int64_t j = 0; j < columns; ++j)
      multiply_column(ctx, column_of(p, j), a.shape().row, sums);
    return;
  }
  const auto& kernels = best_row_kernels<T, I, O>();
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
