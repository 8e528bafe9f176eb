#include "bench/hyb/dynamic_hyb.hpp"

#include <cub/device/device_scan.cuh>

#include "bench/rival.cuh"

namespace lacuna::bench {
namespace {

template <class T> struct rest_entries {
  device_array<index_t> rows, columns;
  device_array<T> values;
  std::int64_t count = 0;
  explicit rest_entries(const device_context& ctx, std::int64_t most)
      : rows(ctx, most), columns(ctx, most), values(ctx, most) {}
};

/// The rest and what is new, all of it sorted by row, stably.
template <class T>
void sort_with(const device_context& ctx, dynamic_hyb<T, space::device>& m,
               const rest_entries<T>& more) {
  const std::int64_t old = m.parts.rest.size(), total = old + more.count, rows = m.parts.shape.row;
  device_array<index_t> keys(ctx, total), sorted(ctx, total);
  device_array<std::uint32_t> positions(ctx, total), order(ctx, total);
  csr<T, index_t, offset_t, space::device> rest(ctx, m.parts.shape, static_cast<offset_t>(total));
  for_each_index(ctx, total,
                 [old, keys = keys.data(), positions = positions.data(),
                  old_rows = m.rest_rows.data(),
                  new_rows = more.rows.data()] __device__(std::int64_t k) {
                   keys[k] = k < old ? old_rows[k] : new_rows[k - old];
                   positions[k] = static_cast<std::uint32_t>(k);
                 });
  if (total > 0)
    call_cub(ctx, "SortPairs", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys.data(), sorted.data(),
                                             positions.data(), order.data(), total, 0,
                                             bits_below(rows), ctx.stream());
    });
  for_each_index(ctx, total,
                 [old, order = order.data(), columns = rest.colind().data(),
                  values = rest.values().data(), old_columns = m.parts.rest.colind().data(),
                  old_values = m.parts.rest.values().data(), new_columns = more.columns.data(),
                  new_values = more.values.data()] __device__(std::int64_t k) {
                   const std::int64_t from = order[k];
                   columns[k] = from < old ? old_columns[from] : new_columns[from - old];
                   values[k] = from < old ? old_values[from] : new_values[from - old];
                 });
  for_each_index(
      ctx, rows + 1,
      [total, sorted = sorted.data(), rowptr = rest.rowptr().data()] __device__(std::int64_t i) {
        rowptr[i] = static_cast<offset_t>(first_not_below(sorted, total, static_cast<index_t>(i)));
      });
  m.parts.rest = std::move(rest);
  m.rest_rows = std::move(sorted);
}

} // namespace

template <class T>
dynamic_hyb<T, space::device> to_dynamic_hyb(const device_context& ctx,
                                             csr_view<const T, index_t, offset_t, space::device> a,
                                             std::int64_t width) {
  const std::int64_t rows = a.shape().row, stride = (rows + 31) / 32 * 32;
  dynamic_hyb<T, space::device> result;
  hyb<T, space::device>& parts = result.parts;
  parts.shape = a.shape(), parts.width = width, parts.stride = stride;
  parts.columns = device_array<index_t>(ctx, width * stride);
  parts.values = device_array<T>(ctx, width * stride);
  result.filled = device_array<index_t>(ctx, rows);
  const cudaStream_t stream = ctx.stream();
  require(cudaMemsetAsync(parts.columns.data(), 0xff, parts.columns.bytes(), stream),
          "cudaMemsetAsync");
  require(cudaMemsetAsync(parts.values.data(), 0, parts.values.bytes(), stream), "cudaMemsetAsync");
  device_array<offset_t> beyond(ctx, rows + 1), starts(ctx, rows + 1);
  for_each_index(ctx, rows + 1,
                 [rows, width, rowptr = a.rowptr().data(), filled = result.filled.data(),
                  beyond = beyond.data()] __device__(std::int64_t i) {
                   const std::int64_t length = i < rows ? rowptr[i + 1] - rowptr[i] : 0;
                   const std::int64_t inside = length < width ? length : width;
                   if (i < rows) filled[i] = static_cast<index_t>(inside);
                   beyond[i] = static_cast<offset_t>(length - inside);
                 });
  call_cub(ctx, "ExclusiveSum", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, beyond.data(), starts.data(), rows + 1,
                                         stream);
  });
  const offset_t count = fetched(ctx, starts.data() + rows);
  device_array<index_t> rest_columns(ctx, count);
  device_array<T> rest_values(ctx, count);
  result.rest_rows = device_array<index_t>(ctx, count);
  for_each_index(ctx, a.size(),
                 [rows, width, stride, rowptr = a.rowptr().data(), colind = a.colind().data(),
                  values = a.values().data(), ell_columns = parts.columns.data(),
                  ell_values = parts.values.data(), starts = starts.data(),
                  rest_rows = result.rest_rows.data(), rest_columns = rest_columns.data(),
                  rest_values = rest_values.data()] __device__(std::int64_t k) {
                   // The last row that begins at or before entry k: the one before the first that
                   // begins after it.
                   const std::int64_t row =
                       first_not_below(rowptr, rows + 1, static_cast<offset_t>(k + 1)) - 1;
                   const std::int64_t place = k - rowptr[row];
                   if (place < width) {
                     ell_columns[place * stride + row] = colind[k];
                     ell_values[place * stride + row] = values[k];
                   } else {
                     const std::int64_t to = starts[row] + place - width;
                     rest_rows[to] = static_cast<index_t>(row);
                     rest_columns[to] = colind[k];
                     rest_values[to] = values[k];
                   }
                 });
  parts.rest = csr<T, index_t, offset_t, space::device>(
      a.shape(), std::move(starts), std::move(rest_columns), std::move(rest_values), {});
  return result;
}

template <class T>
void insert_batch(const device_context& ctx, dynamic_hyb<T, space::device>& m,
                  coo_view<const T, index_t, offset_t, space::device> batch) {
  rest_entries<T> more(ctx, batch.size());
  device_array<unsigned> counter(ctx, 1);
  require(cudaMemsetAsync(counter.data(), 0, sizeof(unsigned), ctx.stream()), "cudaMemsetAsync");
  for_each_index(ctx, batch.size(),
                 [width = static_cast<index_t>(m.parts.width), stride = m.parts.stride,
                  rows = batch.rowind().data(), columns = batch.colind().data(),
                  values = batch.values().data(), filled = m.filled.data(),
                  ell_columns = m.parts.columns.data(), ell_values = m.parts.values.data(),
                  counter = counter.data(), new_rows = more.rows.data(),
                  new_columns = more.columns.data(),
                  new_values = more.values.data()] __device__(std::int64_t k) {
                   const index_t row = rows[k];
                   // Full rows are asked without an atomic, and may count on beyond the width.
                   const index_t place = filled[row] < width ? atomicAdd(filled + row, 1) : width;
                   if (place < width) {
                     ell_columns[place * stride + row] = columns[k];
                     ell_values[place * stride + row] = values[k];
                   } else {
                     const unsigned to = atomicAdd(counter, 1u);
                     new_rows[to] = row;
                     new_columns[to] = columns[k];
                     new_values[to] = values[k];
                   }
                 });
  more.count = fetched(ctx, counter.data());
  if (more.count > 0) sort_with(ctx, m, more);
  ctx.synchronize();
}

template <class T> void sort_rest(const device_context& ctx, dynamic_hyb<T, space::device>& m) {
  sort_with(ctx, m, rest_entries<T>(ctx, 0));
  ctx.synchronize();
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template dynamic_hyb<T, space::device> to_dynamic_hyb<T>(                                        \
      const device_context&, csr_view<const T, index_t, offset_t, space::device>, std::int64_t);   \
  template void insert_batch<T>(const device_context&, dynamic_hyb<T, space::device>&,             \
                                coo_view<const T, index_t, offset_t, space::device>);              \
  template void sort_rest<T>(const device_context&, dynamic_hyb<T, space::device>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::bench
