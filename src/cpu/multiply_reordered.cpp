// Y = alpha A X + beta Z on the host, where A is kept in another order: X goes there, and sums come
// back, shared out to threads like the product itself.
#include <lacuna/format/csr_k.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void multiply_reordered(const host_context& ctx, T alpha, csr_k_view<const T, I, O> b,
                        vector_view<const I> new_to_old, dense_view<const T> x, T beta,
                        dense_view<const T> z, dense_view<T> y, vector_view<T> scratch) {
  const std::int64_t n = new_to_old.size();
  const vector_view<T> inside(scratch.data(), n), sums(scratch.data() + n, n);
  const dense_view<const T> inside_column = as_columns(vector_view<const T>(inside));
  for (std::int64_t j = 0; j < y.shape().col; ++j) {
    for_each_range(ctx, n, entry_grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) inside[i] = x(new_to_old[i], j);
    });
    multiply_format<T, I, O>(ctx, T{1}, b, inside_column, T{0}, inside_column, as_columns(sums));
    for_each_range(ctx, n, entry_grain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t old = new_to_old[i];
        y(old, j) = beta == T{0} ? alpha * sums[i] : alpha * sums[i] + beta * z(old, j);
      }
    });
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_reordered<T, I, O>(const host_context&, T, csr_k_view<const T, I, O>,     \
                                            vector_view<const I>, dense_view<const T>, T,          \
                                            dense_view<const T>, dense_view<T>, vector_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
