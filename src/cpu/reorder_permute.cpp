#include <lacuna/op/reorder.hpp>

#include <atomic>
#include <string>

#include "cpu/scatter.hpp"
#include <lacuna/op/convert.hpp>

namespace lacuna::detail::cpu {

template <class I>
void invert_permutation(const host_context& ctx, vector_view<const I> order,
                        vector_view<I> inverse) {
  const std::int64_t n = order.size();
  const auto first_where = [&](auto broken) {
    std::atomic<std::int64_t> first{n};
    for_each_range(ctx, n, entry_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (!broken(i)) continue;
        std::int64_t seen = first.load();
        while (i < seen && !first.compare_exchange_weak(seen, i)) {
        }
        return;
      }
    });
    return first.load();
  };
  const std::int64_t outside =
      first_where([&](std::int64_t i) { return order[i] < 0 || order[i] >= n; });
  if (outside < n)
    throw bad_input("permutation: [" + std::to_string(outside) + "] = " +
                    std::to_string(order[outside]) + " is not in 0 .. " + std::to_string(n - 1));
  // A place named twice is written twice, perhaps by two threads: found below.
  for_each_range(ctx, n, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::atomic_ref<I>(inverse[order[i]]).store(static_cast<I>(i), std::memory_order_relaxed);
  });
  const std::int64_t lost = first_where([&](std::int64_t i) { return inverse[order[i]] != i; });
  if (lost < n)
    throw bad_input("permutation: " + std::to_string(order[lost]) +
                    " stands at two places, one is " + std::to_string(lost));
}

template <class T, class I>
void gather(const host_context& ctx, vector_view<const I> from, vector_view<const T> x,
            vector_view<T> y) {
  for_each_range(ctx, y.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = x[from[i]];
  });
}

template <class T, class I, class O>
csr<T, I, O> permute_csr(const host_context& ctx, csr_view<const T, I, O> a,
                         vector_view<const I> row_from, vector_view<const I> col_to) {
  const std::int64_t rows = a.shape().row;
  csr<T, I, O> b(ctx, a.shape(), a.size(), {true, a.order().unique}); // sorted below
  O* const start = b.rowptr().data();
  start[0] = 0;
  if (rows == 0) return b;
  const O* const rowptr = a.rowptr().data();
  for_each_range(ctx, rows, entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      start[i + 1] = rowptr[row_from[i] + 1] - rowptr[row_from[i]];
  });
  array<std::int64_t> sums(ctx, part_count(ctx, rows, entry_grain));
  inclusive_scan(ctx, start, rows, sums);
  for_each_range(ctx, a.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for_each_row_piece(start, rows, begin, end,
                       [&](std::int64_t i, std::int64_t first, std::int64_t last) {
                         const std::int64_t shift = rowptr[row_from[i]] - std::int64_t{start[i]};
                         for (std::int64_t k = first; k < last; ++k) {
                           b.colind()[k] = col_to[a.colind()[k + shift]];
                           b.values()[k] = a.values()[k + shift];
                         }
                       });
  });
  sort_csr<T, I, O>(ctx, b.view());
  return b;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> permute_csr(const host_context&, csr_view<const T, I, O>,                  \
                                    vector_view<const I>, vector_view<const I>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I)                                                                      \
  template void invert_permutation(const host_context&, vector_view<const I>, vector_view<I>);     \
  template void gather(const host_context&, vector_view<const I>, vector_view<const I>,            \
                       vector_view<I>);                                                            \
  template void gather(const host_context&, vector_view<const I>, vector_view<const float>,        \
                       vector_view<float>);                                                        \
  template void gather(const host_context&, vector_view<const I>, vector_view<const double>,       \
                       vector_view<double>);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::cpu
