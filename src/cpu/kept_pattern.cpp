#include <lacuna/op/kept_pattern.hpp>

#include <atomic>

#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class X>
std::uint64_t stamp_array(const host_context& ctx, vector_view<const X> x, std::uint64_t first) {
  std::atomic<std::uint64_t> sum{0}; // of whole numbers: the order does not matter
  for_each_range(ctx, x.size(), entry_grain, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t mine = 0;
    for (std::int64_t k = begin; k < end; ++k)
      mine += static_cast<std::uint64_t>(x[k]) *
              detail::stamp_weight(first + static_cast<std::uint64_t>(k));
    sum.fetch_add(mine, std::memory_order_relaxed);
  });
  return sum.load();
}

} // namespace

template <class I, class O>
void transpose_pattern(const host_context& ctx, index<I> shape,
                       detail::pattern_arrays<I, O, space::host> a,
                       detail::transposed_pattern<I, O, space::host>& result) {
  const O* const rowptr = a.rowptr.data();
  const I* const colind = a.colind.data();
  I* const to_colind = result.colind.data();
  O* const from = result.from.data();
  const std::int64_t nnz = a.colind.size();
  const std::int64_t budget = nnz * std::int64_t{sizeof(I) + sizeof(O)} / std::int64_t{sizeof(O)};
  scatter_by_key(
      ctx, colind, nnz, shape.col, budget, result.rowptr.data(),
      [=, m = shape.row](std::int64_t begin, std::int64_t end, O* next, std::int64_t low) {
        for_each_row_piece(rowptr, m, begin, end,
                           [=](std::int64_t row, std::int64_t first, std::int64_t last) {
                             for (std::int64_t k = first; k < last; ++k) {
                               const O to = next[colind[k] - low]++;
                               to_colind[to] = static_cast<I>(row);
                               from[to] = static_cast<O>(k);
                             }
                           });
      });
}

template <class T, class O>
void gather_values(const host_context& ctx, const T* values, vector_view<const O> from, T* to) {
  for_each_range(ctx, from.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) to[k] = values[from[k]];
  });
}

template <class I, class O>
detail::stamp_pair stamp_patterns(const host_context& ctx,
                                  detail::pattern_arrays<I, O, space::host> a,
                                  detail::pattern_arrays<I, O, space::host> b) {
  const auto stamp = [&](const auto& p) {
    return stamp_array<I>(ctx, p.colind, 0) + stamp_array<O>(ctx, p.rowptr, detail::rowptr_weights);
  };
  return {stamp(a), stamp(b)};
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template void transpose_pattern(const host_context&, index<I>,                                   \
                                  detail::pattern_arrays<I, O, space::host>,                       \
                                  detail::transposed_pattern<I, O, space::host>&);                 \
  template detail::stamp_pair stamp_patterns(const host_context&,                                  \
                                             detail::pattern_arrays<I, O, space::host>,            \
                                             detail::pattern_arrays<I, O, space::host>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
/// Offsets have the types that columns have.
#define LACUNA_INSTANTIATE_PAIR(T, O)                                                              \
  template void gather_values(const host_context&, const T*, vector_view<const O>, T*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE_PAIR)

} // namespace lacuna::detail::cpu
