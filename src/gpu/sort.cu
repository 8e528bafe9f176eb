// Stable sorting of matrices: least significant key first, so columns, then rows.
#include "gpu/parts/sort.cuh"
#include <lacuna/op/convert.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Positions of entries in the order of (row_at(k), column[k]).
template <class position, class I, class RowAt>
array<position, space::device> order_entries(const device_context& ctx, std::int64_t entries,
                                             index<I> shape, const I* column, RowAt row_at) {
  using key = std::make_unsigned_t<I>;
  auto order = sort_indices<position>(ctx, column, entries, shape.col);
  for_each(ctx, entries, "sort: rows",
           [row_at, keys = order.keys.data(),
            positions = order.positions.data()] __device__(std::int64_t k) {
             keys[k] = static_cast<key>(row_at(static_cast<std::int64_t>(positions[k])));
           });
  return std::move(sort_stably(ctx, std::move(order), shape.row).positions);
}

/// a[k] = old a[positions[k]].
template <class V, class position>
void permute(const device_context& ctx, vector_view<V, space::device> a, const position* positions,
             array<V, space::device>& scratch) {
  for_each(ctx, a.size(), "sort: gather",
           [from = a.data(), positions, to = scratch.data()] __device__(std::int64_t k) {
             to[k] = from[positions[k]];
           });
  detail::copy_bytes(ctx, a.data(), scratch.data(), scratch.bytes(), space::device);
}

template <class position, class T, class I, class O>
void sort_numbered(const device_context& ctx, csr_view<T, I, O, space::device> a) {
  const auto positions = order_entries<position>(
      ctx, a.size(), a.shape(), a.colind().data(),
      [rowptr = a.rowptr().data(), rows = std::int64_t{a.shape().row}] __device__(std::int64_t k) {
        return row_of(rowptr, rows, k);
      });
  array<I, space::device> indices(ctx, a.size()); // all memory is there before a is touched
  array<T, space::device> values(ctx, a.size());
  permute(ctx, a.colind(), positions.data(), indices);
  permute(ctx, a.values(), positions.data(), values);
}

template <class position, class T, class I, class O>
void sort_numbered(const device_context& ctx, coo_view<T, I, O, space::device> a) {
  const auto positions = order_entries<position>(
      ctx, a.size(), a.shape(), a.colind().data(),
      [rowind = a.rowind().data()] __device__(std::int64_t k) { return rowind[k]; });
  array<I, space::device> indices(ctx, a.size());
  array<T, space::device> values(ctx, a.size());
  permute(ctx, a.rowind(), positions.data(), indices);
  permute(ctx, a.colind(), positions.data(), indices);
  permute(ctx, a.values(), positions.data(), values);
}

} // namespace

template <class T, class I, class O>
void sort_csr(const device_context& ctx, csr_view<T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  with_position_type(a.size(), [&](auto position) { sort_numbered<decltype(position)>(ctx, a); });
}

template <class T, class I, class O>
void sort_coo(const device_context& ctx, coo_view<T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  with_position_type(a.size(), [&](auto position) { sort_numbered<decltype(position)>(ctx, a); });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void sort_csr<T, I, O>(const device_context&, csr_view<T, I, O, space::device>);        \
  template void sort_coo<T, I, O>(const device_context&, coo_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
