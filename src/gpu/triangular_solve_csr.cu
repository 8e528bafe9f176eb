// A warp solves for one column of b, one row after another; its lanes share a row. The plain way:
// rows that do not depend on each other wait for each other all the same.
#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/op/triangular_solve.hpp>

namespace lacuna::detail::gpu {
namespace {

constexpr int lanes = 32;

/// One block of a warp per column. x may be b: a row of b is read before that row of x is written.
template <class T, class I, class O>
__global__ void triangular_solve_kernel(T alpha, const O* rowptr, const I* colind, const T* values,
                                        std::int64_t n, bool upper, bool unit, T beta, const T* b,
                                        std::int64_t b_row, std::int64_t b_col, T* x,
                                        std::int64_t x_row, std::int64_t x_col) {
  b += static_cast<std::int64_t>(blockIdx.x) * b_col;
  x += static_cast<std::int64_t>(blockIdx.x) * x_col;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t row = upper ? n - 1 - step : step;
    T sum = 0, diagonal = 0;
    for (O k = rowptr[row] + static_cast<O>(threadIdx.x); k < rowptr[row + 1]; k += lanes) {
      const I col = colind[k];
      if (col == row)
        diagonal += alpha * values[k];
      else if ((col > row) == upper)
        sum += alpha * values[k] * x[col * x_row];
    }
    sum = warp_sum(sum);
    diagonal = warp_sum(diagonal);
    if (threadIdx.x == 0) {
      const T rest = beta * b[row * b_row] - sum;
      x[row * x_row] = unit ? rest : rest / diagonal;
    }
    __syncwarp(); // the next row reads what lane 0 has written
  }
}

} // namespace

template <class T, class I, class O>
void triangular_solve_csr(const device_context& ctx, T alpha, device_csr<T, I, O> a, bool upper,
                          bool unit, T beta, dense_view<const T, space::device> b,
                          dense_view<T, space::device> x) {
  if (x.shape().col == 0 || x.shape().row == 0) return;
  const device_guard guard(ctx.device());
  triangular_solve_kernel<T, I, O>
      <<<static_cast<unsigned>(x.shape().col), lanes, 0, ctx.stream()>>>(
          alpha, a.rowptr().data(), a.colind().data(), a.values().data(), a.shape().row, upper,
          unit, beta, b.data(), b.row_stride(), b.col_stride(), x.data(), x.row_stride(),
          x.col_stride());
  check(cudaGetLastError(), "triangular_solve");
}

template <class T, class I, class O>
std::int64_t find_no_diagonal(const device_context& ctx, device_csr<T, I, O> a) {
  const device_guard guard(ctx.device());
  using row_number = unsigned long long;
  array<row_number, space::device> first(ctx, 1);
  check(cudaMemsetAsync(first.data(), 0xff, first.bytes(), ctx.stream()), "triangular_solve");
  for_each(ctx, a.shape().row, "triangular_solve: diagonal",
           [rowptr = a.rowptr().data(), colind = a.colind().data(), values = a.values().data(),
            first = first.data()] __device__(std::int64_t row) {
             T diagonal = 0;
             for (O k = rowptr[row]; k < rowptr[row + 1]; ++k)
               if (colind[k] == row) diagonal += values[k];
             if (diagonal == T{0}) atomicMin(first, static_cast<row_number>(row));
           });
  row_number first_missing = 0;
  read_back(ctx, &first_missing, first.data(), 1);
  return first_missing == ~row_number{0} ? -1 : static_cast<std::int64_t>(first_missing);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void triangular_solve_csr<T, I, O>(const device_context&, T, device_csr<T, I, O>, bool, \
                                              bool, T, dense_view<const T, space::device>,         \
                                              dense_view<T, space::device>);                       \
  template std::int64_t find_no_diagonal<T, I, O>(const device_context&, device_csr<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::detail::gpu
