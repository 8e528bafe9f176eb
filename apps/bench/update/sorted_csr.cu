#include "bench/update/sorted_csr.hpp"

#include <cub/device/device_merge.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/std/functional>

#include "bench/rival.cuh"

namespace lacuna::bench {
namespace {

template <class T> struct keyed {
  device_array<std::uint64_t> keys;
  device_array<T> values;
  keyed(const device_context& ctx, std::int64_t size) : keys(ctx, size), values(ctx, size) {}
};

template <class T>
void put_keys(const device_context& ctx, coo_view<const T, index_t, offset_t, space::device> batch,
              std::uint64_t* keys) {
  for_each_index(ctx, batch.size(),
                 [keys, rows = batch.rowind().data(),
                  columns = batch.colind().data()] __device__(std::int64_t k) {
                   keys[k] = static_cast<std::uint64_t>(rows[k]) << 32 |
                             static_cast<std::uint64_t>(columns[k]);
                 });
}

template <class T>
keyed<T> sorted_pairs(const device_context& ctx, const std::uint64_t* keys, const T* values,
                      std::int64_t size, std::int64_t rows) {
  keyed<T> sorted(ctx, size);
  call_cub(ctx, "SortPairs", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted.keys.data(), values,
                                           sorted.values.data(), size, 0, 32 + bits_below(rows),
                                           ctx.stream());
  });
  return sorted;
}

/// Rows and columns of the keys, which are m's from now on.
template <class T>
void take_keys(const device_context& ctx, sorted_csr<T>& m, keyed<T> from, std::int64_t size) {
  m.size = size;
  m.keys = std::move(from.keys);
  m.values = std::move(from.values);
  m.colind = device_array<index_t>(ctx, size);
  for_each_index(ctx, size,
                 [keys = m.keys.data(), colind = m.colind.data()] __device__(std::int64_t k) {
                   colind[k] = static_cast<index_t>(keys[k] & 0xffffffffu);
                 });
  for_each_index(ctx, m.shape.row + std::int64_t{1},
                 [size, keys = m.keys.data(), rowptr = m.rowptr.data()] __device__(std::int64_t i) {
                   rowptr[i] = static_cast<offset_t>(
                       first_not_below(keys, size, static_cast<std::uint64_t>(i) << 32));
                 });
  ctx.synchronize();
}

/// Adds up values of equal keys, which lie side by side.
template <class T>
void take_sums(const device_context& ctx, sorted_csr<T>& m, const keyed<T>& all,
               std::int64_t size) {
  keyed<T> sums(ctx, size);
  device_array<std::int64_t> count(ctx, 1);
  call_cub(ctx, "ReduceByKey", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(scratch, bytes, all.keys.data(), sums.keys.data(),
                                          all.values.data(), sums.values.data(), count.data(),
                                          ::cuda::std::plus<T>{}, size, ctx.stream());
  });
  const std::int64_t distinct = fetched(ctx, count.data());
  take_keys(ctx, m, std::move(sums), distinct);
}

} // namespace

template <class T>
sorted_csr<T> to_sorted_csr(const device_context& ctx,
                            csr_view<const T, index_t, offset_t, space::device> a) {
  sorted_csr<T> m;
  m.shape = a.shape();
  m.size = a.size();
  m.keys = device_array<std::uint64_t>(ctx, m.size);
  m.rowptr = copy_to(ctx, a.rowptr());
  m.colind = copy_to(ctx, a.colind());
  m.values = copy_to(ctx, a.values());
  for_each_index(ctx, m.size,
                 [rows = std::int64_t{a.shape().row}, rowptr = a.rowptr().data(),
                  colind = a.colind().data(), keys = m.keys.data()] __device__(std::int64_t k) {
                   const std::int64_t row =
                       first_not_below(rowptr, rows + 1, static_cast<offset_t>(k + 1)) - 1;
                   keys[k] = static_cast<std::uint64_t>(row) << 32 |
                             static_cast<std::uint64_t>(colind[k]);
                 });
  return m;
}

template <class T>
void merge_batch(const device_context& ctx, sorted_csr<T>& m,
                 coo_view<const T, index_t, offset_t, space::device> batch) {
  const std::int64_t n = batch.size(), total = m.size + n;
  device_array<std::uint64_t> keys(ctx, n);
  put_keys(ctx, batch, keys.data());
  const keyed<T> sorted = sorted_pairs(ctx, keys.data(), batch.values().data(), n, m.shape.row);
  keyed<T> all(ctx, total);
  call_cub(ctx, "MergePairs", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceMerge::MergePairs(scratch, bytes, m.keys.data(), m.values.data(), m.size,
                                        sorted.keys.data(), sorted.values.data(), n,
                                        all.keys.data(), all.values.data(), ::cuda::std::less<>{},
                                        ctx.stream());
  });
  take_sums(ctx, m, all, total);
}

template <class T>
void rebuild_with(const device_context& ctx, sorted_csr<T>& m,
                  coo_view<const T, index_t, offset_t, space::device> batch) {
  const std::int64_t n = batch.size(), total = m.size + n;
  keyed<T> all(ctx, total);
  const auto append = [&](void* to, const void* from, std::size_t bytes) {
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, ctx.stream()),
            "cudaMemcpyAsync");
  };
  const auto old = static_cast<std::size_t>(m.size), more = static_cast<std::size_t>(n);
  append(all.keys.data(), m.keys.data(), old * sizeof(std::uint64_t));
  append(all.values.data(), m.values.data(), old * sizeof(T));
  append(all.values.data() + m.size, batch.values().data(), more * sizeof(T));
  put_keys(ctx, batch, all.keys.data() + m.size);
  take_sums(
      ctx, m,
      sorted_pairs(ctx, all.keys.data(), std::as_const(all.values).data(), total, m.shape.row),
      total);
}

template <class T>
void erase_batch(const device_context& ctx, sorted_csr<T>& m,
                 coo_view<const T, index_t, offset_t, space::device> batch) {
  const std::int64_t n = batch.size();
  device_array<std::uint64_t> keys(ctx, n), sorted(ctx, n);
  put_keys(ctx, batch, keys.data());
  call_cub(ctx, "SortKeys", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys.data(), sorted.data(), n, 0,
                                          32 + bits_below(m.shape.row), ctx.stream());
  });
  device_array<char> stays(ctx, m.size);
  for_each_index(ctx, m.size,
                 [n, sorted = sorted.data(), keys = m.keys.data(),
                  stays = stays.data()] __device__(std::int64_t k) {
                   const std::int64_t at = first_not_below(sorted, n, keys[k]);
                   stays[k] = at == n || sorted[at] != keys[k];
                 });
  keyed<T> left(ctx, m.size);
  device_array<std::int64_t> count(ctx, 1);
  const auto pack = [&](const auto* from, auto* to) {
    call_cub(ctx, "Flagged", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(scratch, bytes, from, stays.data(), to, count.data(),
                                        m.size, ctx.stream());
    });
  };
  pack(std::as_const(m.keys).data(), left.keys.data());
  pack(std::as_const(m.values).data(), left.values.data());
  const std::int64_t entries = fetched(ctx, count.data());
  take_keys(ctx, m, std::move(left), entries);
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template sorted_csr<T> to_sorted_csr<T>(const device_context&,                                   \
                                          csr_view<const T, index_t, offset_t, space::device>);    \
  template void merge_batch<T>(const device_context&, sorted_csr<T>&,                              \
                               coo_view<const T, index_t, offset_t, space::device>);               \
  template void rebuild_with<T>(const device_context&, sorted_csr<T>&,                             \
                                coo_view<const T, index_t, offset_t, space::device>);              \
  template void erase_batch<T>(const device_context&, sorted_csr<T>&,                              \
                               coo_view<const T, index_t, offset_t, space::device>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::bench
