// coo, csr and dense into each other. Waits only where the number of entries must be known.
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"
#include <lacuna/core/checked.hpp>
#include <lacuna/op/convert.hpp>

namespace lacuna::detail::gpu {

namespace {

template <class position, class T, class I, class O>
void sort_into(const device_context& ctx, coo_view<const T, I, O, space::device> a,
               csr_view<T, I, O, space::device> result) {
  const std::int64_t n = a.size();
  const auto order = sort_indices<position>(ctx, a.rowind().data(), n, a.shape().row);
  find_starts(ctx, order.keys.data(), n, result.rowptr());
  for_each(ctx, n, "coo_to_csr: entries",
           [positions = order.positions.data(), from_column = a.colind().data(),
            from_value = a.values().data(), column = result.colind().data(),
            value = result.values().data()] __device__(std::int64_t k) {
             column[k] = from_column[positions[k]];
             value[k] = from_value[positions[k]];
           });
}

} // namespace

template <class T, class I, class O>
csr_d<T, I, O> coo_to_csr(const device_context& ctx, coo_view<const T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  if (a.order().sorted) {
    array<O, space::device> rowptr(ctx, std::int64_t{a.shape().row} + 1);
    using key = std::make_unsigned_t<I>; // the same bits: no row is negative
    find_starts(ctx, reinterpret_cast<const key*>(a.rowind().data()), a.size(), rowptr.view());
    return {a.shape(), std::move(rowptr), copy_to(ctx, a.colind()), copy_to(ctx, a.values()),
            a.order()};
  }
  csr_d<T, I, O> result(ctx, a.shape(), a.size(), a.order());
  with_position_type(a.size(),
                     [&](auto position) { sort_into<decltype(position)>(ctx, a, result.view()); });
  return result;
}

template <class T, class I, class O>
coo_d<T, I, O> csr_to_coo(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  const device_guard guard(ctx.device());
  array<I, space::device> rowind(ctx, a.size());
  for_each(ctx, a.size(), "csr_to_coo",
           [rowptr = a.rowptr().data(), rows = std::int64_t{a.shape().row},
            row = rowind.data()] __device__(std::int64_t k) {
             row[k] = static_cast<I>(row_of(rowptr, rows, k));
           });
  return {a.shape(), std::move(rowind), copy_to(ctx, a.colind()), copy_to(ctx, a.values()),
          a.order()};
}

namespace {

/// Visits the elements of a dense row in order, one warp per row: f(column, value, place) for those
/// that are not 0, place counting them. Every lane returns the row's count.
template <class T, class F>
__device__ std::int64_t visit_row(dense_view<const T, space::device> a, std::int64_t row, F f) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const T* values = a.data() + row * a.row_stride();
  std::int64_t count = 0;
  for (std::int64_t base = 0; base < a.shape().col; base += 32) {
    const std::int64_t column = base + lane;
    const T value = column < a.shape().col ? values[column * a.col_stride()] : T{0};
    const bool present = value != T{0}; // true for NaN
    const unsigned present_lanes = __ballot_sync(0xffffffffu, present);
    if (present) f(column, value, count + __popc(present_lanes & ((1u << lane) - 1)));
    count += __popc(present_lanes);
  }
  return count;
}

} // namespace

template <class T, class I, class O>
csr_d<T, I, O> dense_to_csr(const device_context& ctx, dense_view<const T, space::device> a) {
  const device_guard guard(ctx.device());
  const auto [rows, columns] = a.shape();
  const index<I> shape{checked_cast<I>(rows, "rows"), checked_cast<I>(columns, "columns")};
  array<std::int64_t, space::device> counts(ctx, rows), places(ctx, rows + 1);
  for_each(ctx, rows * 32, "dense_to_csr: count",
           [a, counts = counts.data()] __device__(std::int64_t i) {
             const std::int64_t count = visit_row(a, i / 32, [](auto, auto, auto) {});
             if (i % 32 == 0) counts[i / 32] = count;
           });
  exclusive_sums(ctx, rows, counts.data(), places.data());
  std::int64_t entries = 0;
  read_back(ctx, &entries, places.data() + rows, 1);
  csr_d<T, I, O> result(ctx, shape, checked_cast<O>(entries, "entries"), {true, true});
  for_each(ctx, rows + 1, "dense_to_csr: rowptr",
           [places = places.data(), rowptr = result.rowptr().data()] __device__(std::int64_t r) {
             rowptr[r] = static_cast<O>(places[r]);
           });
  for_each(ctx, rows * 32, "dense_to_csr: fill",
           [a, places = places.data(), colind = result.colind().data(),
            values = result.values().data()] __device__(std::int64_t i) {
             const std::int64_t begin = places[i / 32];
             visit_row(a, i / 32, [=](std::int64_t column, T value, std::int64_t place) {
               colind[begin + place] = static_cast<I>(column);
               values[begin + place] = value;
             });
           });
  return result;
}

template <class T, class I, class O>
void csr_to_dense(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                  dense_view<T, space::device> result) {
  const device_guard guard(ctx.device());
  const auto [rows, columns] = result.shape();
  for_each(ctx, rows * columns, "csr_to_dense: zero",
           [result, across = result.layout() == layout::row_major ? columns : rows] __device__(
               std::int64_t i) { result.data()[i / across * result.ld() + i % across] = T{0}; });
  const auto element = [result] __device__(std::int64_t row, std::int64_t column) -> T& {
    return result.data()[row * result.row_stride() + column * result.col_stride()];
  };
  if (a.order().unique) {
    for_each(ctx, a.size(), "csr_to_dense", [a, rows, element] __device__(std::int64_t k) {
      element(row_of(a.rowptr().data(), rows, k), a.colind().data()[k]) = a.values().data()[k];
    });
    return;
  }
  // One thread per row adds duplicates up in stored order.
  for_each(ctx, rows, "csr_to_dense: add", [a, element] __device__(std::int64_t row) {
    for (O k = a.rowptr().data()[row]; k < a.rowptr().data()[row + 1]; ++k)
      element(row, a.colind().data()[k]) += a.values().data()[k];
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr_d<T, I, O> coo_to_csr<T, I, O>(const device_context&,                               \
                                              coo_view<const T, I, O, space::device>);             \
  template coo_d<T, I, O> csr_to_coo<T, I, O>(const device_context&,                               \
                                              csr_view<const T, I, O, space::device>);             \
  template csr_d<T, I, O> dense_to_csr<T, I, O>(const device_context&,                             \
                                                dense_view<const T, space::device>);               \
  template void csr_to_dense<T, I, O>(const device_context&,                                       \
                                      csr_view<const T, I, O, space::device>,                      \
                                      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
