// y = alpha A x + beta z on the host, A in ell_csr: shares of equal steps, taken one by one by the
// threads; pieces of long rows first, added up row by row afterwards.
// Memory-bound: what the matrix takes, x once and y once.
#include <lacuna/format/ell_csr.hpp>

#include "cpu/parallel.hpp"
#include "cpu/rows.hpp"
#include "cpu/slice_kernels.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr int shares_per_thread = 16;
constexpr std::int64_t thread_steps = 256; // for one more thread
constexpr std::int64_t share_steps = 1024; // that a share has at least, where there are several

/// First slice of a share: the one where its part of all steps begins.
inline std::int64_t first_slice(vector_view<const ell_slice> slices, std::int64_t begin, int part,
                                int parts) {
  const std::int64_t last = slices.size() - 1;
  if (part == parts) return last;
  const std::int64_t from = slices[begin].step;
  const std::int64_t target = from + part_begin(slices[last].step - from, part, parts);
  return std::lower_bound(
             slices.begin() + begin, slices.begin() + last, target,
             [](const ell_slice& slice, std::int64_t step) { return slice.step < step; }) -
         slices.begin();
}

template <class T, class I>
void multiply_vector(const host_context& ctx, const slice_arguments<T, I>& p,
                     ell_csr_view<const T, I> a, array<T>& sums) {
  const auto& kernels = best_slice_kernels<T, I>();
  const std::int64_t pieces = p.pieces;
  const int threads =
      static_cast<int>(std::clamp<std::int64_t>(a.steps().size() / thread_steps, 1, ctx.threads()));
  const int parts =
      threads == 1 ? 1
                   : threads * static_cast<int>(std::clamp<std::int64_t>(
                                   a.steps().size() / threads / share_steps, 1, shares_per_thread));
  for_each_dynamic(threads, parts, [&](int part) {
    for (std::int64_t s = part_begin(pieces, part, parts); s < part_begin(pieces, part + 1, parts);
         ++s)
      sums[s] = kernels.piece(p, s);
    const std::int64_t first = part == 0 ? pieces : first_slice(a.slices(), pieces, part, parts);
    kernels.rows(p, first, std::max(first, first_slice(a.slices(), pieces, part + 1, parts)));
  });
  for (std::int64_t s = 0; s < pieces; s += a.pieces()[s].count) {
    const row_piece<I> piece = a.pieces()[s];
    T sum = sums[s];
    for (std::int32_t i = 1; i < piece.count; ++i) sum += sums[s + i];
    p.y[piece.row] = p.beta == T{0} ? p.alpha * sum : p.alpha * sum + p.beta * p.z[piece.row];
  }
}

} // namespace

template <class T, class I>
void multiply_format(const host_context& ctx, T alpha, ell_csr_view<const T, I> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  const std::int64_t rows = y.shape().row, columns = y.shape().col;
  if (rows == 0 || columns == 0) return;
  // Columns with gaps are copied to and fro.
  const bool x_gaps = x.row_stride() != 1, y_gaps = y.row_stride() != 1;
  const bool z_gaps = beta != T{0} && z.row_stride() != 1;
  array<T> sums(ctx, a.pieces().size());
  array<T> x_copy(ctx, x_gaps ? x.shape().row : 0), z_copy(ctx, z_gaps ? rows : 0);
  array<T> y_copy(ctx, y_gaps ? rows : 0);
  const auto gather = [&](dense_view<const T> from, std::int64_t column, array<T>& to) {
    for_each_range(ctx, to.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = from(i, column);
    });
    return to.data();
  };
  for (std::int64_t j = 0; j < columns; ++j) {
    slice_arguments<T, I> p{a.slices().data(),
                            a.steps().data(),
                            a.columns().data(),
                            a.values().data(),
                            a.rows().data(),
                            a.pieces().size(),
                            rows,
                            x_gaps ? gather(x, j, x_copy) : x.data() + j * x.col_stride(),
                            nullptr,
                            y_gaps ? y_copy.data() : y.data() + j * y.col_stride(),
                            alpha,
                            beta};
    if (beta != T{0}) p.z = z_gaps ? gather(z, j, z_copy) : z.data() + j * z.col_stride();
    multiply_vector(ctx, p, a, sums);
    if (y_gaps)
      for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y(i, j) = y_copy[i];
      });
  }
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void multiply_format<T, I>(const host_context&, T, ell_csr_view<const T, I>,            \
                                      dense_view<const T>, T, dense_view<const T>, dense_view<T>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
