#include "bench/hyb/dynamic_hyb.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

namespace lacuna::bench {
namespace {

/// Entries that found no place in ELL.
template <class T> struct overflow {
  array<index_t> rows, columns;
  array<T> values;
  std::int64_t count = 0;
};

/// The rest and what is new, by row; of a row the old entries first. Only what is new is sorted.
template <class T>
void merge_rest(const host_context& ctx, dynamic_hyb<T, space::host>& m, const overflow<T>& more) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(more.count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::int64_t k) { return more.rows[k]; });
  const csr<T>& old = m.parts.rest;
  const std::int64_t rows = m.parts.shape.row, total = old.size() + more.count;
  csr<T> rest(ctx, m.parts.shape, static_cast<offset_t>(total));
  array<index_t> rest_rows(ctx, total);
  offset_t next = 0;
  auto added = order.begin();
  for (std::int64_t i = 0; i < rows; ++i) {
    rest.rowptr()[i] = next;
    const auto put = [&](index_t column, T value) {
      rest_rows[next] = static_cast<index_t>(i);
      rest.colind()[next] = column;
      rest.values()[next++] = value;
    };
    for (offset_t k = old.rowptr()[i]; k < old.rowptr()[i + 1]; ++k)
      put(old.colind()[k], old.values()[k]);
    for (; added != order.end() && more.rows[*added] == i; ++added)
      put(more.columns[*added], more.values[*added]);
  }
  rest.rowptr()[rows] = next;
  m.parts.rest = std::move(rest);
  m.rest_rows = std::move(rest_rows);
}

} // namespace

template <class T>
dynamic_hyb<T, space::host> to_dynamic_hyb(const host_context& ctx, csr_view<const T> a,
                                           std::int64_t width) {
  const std::int64_t rows = a.shape().row;
  dynamic_hyb<T, space::host> result;
  hyb<T, space::host>& parts = result.parts;
  parts.shape = a.shape(), parts.width = width, parts.stride = (rows + 31) / 32 * 32;
  parts.columns = array<index_t>(ctx, width * parts.stride);
  parts.values = array<T>(ctx, width * parts.stride);
  result.filled = array<index_t>(ctx, rows);
  std::vector<offset_t> rowptr(static_cast<std::size_t>(rows) + 1);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t length = a.rowptr()[i + 1] - a.rowptr()[i];
    result.filled[i] = static_cast<index_t>(std::min(length, width));
    rowptr[static_cast<std::size_t>(i) + 1] =
        rowptr[static_cast<std::size_t>(i)] + static_cast<offset_t>(length - result.filled[i]);
  }
  parts.rest = csr<T>(ctx, a.shape(), rowptr.back());
  result.rest_rows = array<index_t>(ctx, rowptr.back());
  std::ranges::copy(rowptr, parts.rest.rowptr().begin());
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::int64_t i = 0; i < rows; ++i) {
    const offset_t begin = a.rowptr()[i];
    for (std::int64_t k = 0; k < width; ++k) {
      const bool there = k < result.filled[i];
      parts.columns[k * parts.stride + i] = there ? a.colind()[begin + k] : -1;
      parts.values[k * parts.stride + i] = there ? a.values()[begin + k] : T{0};
    }
    offset_t from = begin + result.filled[i];
    for (offset_t to = parts.rest.rowptr()[i]; to < parts.rest.rowptr()[i + 1]; ++to, ++from) {
      result.rest_rows[to] = static_cast<index_t>(i);
      parts.rest.colind()[to] = a.colind()[from];
      parts.rest.values()[to] = a.values()[from];
    }
  }
  for (std::int64_t i = rows; i < parts.stride; ++i)
    for (std::int64_t k = 0; k < width; ++k) {
      parts.columns[k * parts.stride + i] = -1;
      parts.values[k * parts.stride + i] = 0;
    }
  return result;
}

template <class T>
void insert_batch(const host_context& ctx, dynamic_hyb<T, space::host>& m,
                  coo_view<const T, index_t, offset_t> batch) {
  hyb<T, space::host>& parts = m.parts;
  const std::int64_t n = batch.size();
  overflow<T> more{array<index_t>(ctx, n), array<index_t>(ctx, n), array<T>(ctx, n)};
  std::atomic<std::int64_t> beyond = 0;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::int64_t k = 0; k < n; ++k) {
    const index_t row = batch.rowind()[k];
    const std::atomic_ref<index_t> filled(m.filled[row]);
    index_t place = filled.load(std::memory_order_relaxed);
    while (place < parts.width && !filled.compare_exchange_weak(place, place + 1)) {
    }
    if (place < parts.width) {
      parts.columns[place * parts.stride + row] = batch.colind()[k];
      parts.values[place * parts.stride + row] = batch.values()[k];
    } else {
      const std::int64_t to = beyond.fetch_add(1, std::memory_order_relaxed);
      more.rows[to] = row;
      more.columns[to] = batch.colind()[k];
      more.values[to] = batch.values()[k];
    }
  }
  more.count = beyond;
  if (more.count > 0) merge_rest(ctx, m, more);
}

template <class T> void sort_rest(const host_context& ctx, dynamic_hyb<T, space::host>& m) {
  merge_rest<T>(ctx, m, {});
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template dynamic_hyb<T, space::host> to_dynamic_hyb<T>(const host_context&, csr_view<const T>,   \
                                                         std::int64_t);                            \
  template void insert_batch<T>(const host_context&, dynamic_hyb<T, space::host>&,                 \
                                coo_view<const T, index_t, offset_t>);                             \
  template void sort_rest<T>(const host_context&, dynamic_hyb<T, space::host>&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::bench
