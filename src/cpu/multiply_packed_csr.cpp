// y = alpha A x + beta z on the host, A packed: CSR's shares and sums, columns unpacked as rows
// need them. Bytes that move, 2 a column: nnz (sizeof T + 2 + 1/8) + rows (sizeof O + sizeof T) +
// cols sizeof T.
#include <lacuna/format/packed_csr.hpp>

#include "cpu/packed_kernels.hpp"
#include "cpu/shares.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, packed_csr_view<const T, I, O> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  if (!are_vectors(x, beta, z, y)) return multiply_packed_csr_dense(ctx, alpha, a, x, beta, z, y);
  const packed_arguments<T, I, O> p{a.rowptr().data(),
                                    a.chunks().data(),
                                    a.columns().data(),
                                    a.chunks().size(),
                                    a.values().data(),
                                    x.data(),
                                    z.data(),
                                    y.data(),
                                    alpha,
                                    beta};
  const auto& kernels = best_packed_kernels<T, I, O>();
  array<T> sums;
  for_each_share(
      ctx, p.rowptr, a.shape().row, [&](std::int64_t slots) { sums = array<T>(ctx, slots); },
      [&](std::int64_t first, std::int64_t last) { kernels.rows(p, first, last); },
      [&](std::int64_t, std::int64_t first, std::int64_t last, std::int64_t slot) {
        sums[slot] = kernels.piece(p, first, last);
      },
      [&](std::int64_t row, std::int64_t first, std::int64_t last) {
        T sum{0};
        for (std::int64_t slot = first; slot < last; ++slot) sum += sums[slot];
        p.y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * p.z[row];
      });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(const host_context&, T, packed_csr_view<const T, I, O>,   \
                                         dense_view<const T>, T, dense_view<const T>,              \
                                         dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
