// Merging of duplicates in sorted matrices: mark the first of each run, scan, write runs out.
// A run is summed by one thread in stored order. Waits once, for the number of entries left.
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"
#include <lacuna/op/convert.hpp>

namespace lacuna::detail::gpu {
namespace {

/// places[k] = runs that begin before entry k; places[n] = all runs.
template <class Head>
array<std::int64_t, space::device> place_runs(const device_context& ctx, std::int64_t n,
                                              Head head) {
  array<char, space::device> begins(ctx, n);
  for_each(ctx, n, "merge: runs", [head, begins = begins.data()] __device__(std::int64_t k) {
    begins[k] = head(k) ? 1 : 0;
  });
  array<std::int64_t, space::device> places(ctx, n + 1);
  exclusive_sums(ctx, n, begins.data(), places.data());
  return places;
}

/// The value that a run [k, …) of the same coordinate leaves.
template <class T, class Head>
__device__ T merge_run(const T* values, std::int64_t k, std::int64_t n, Head head,
                       duplicates rule) {
  T merged = values[k];
  if (rule == duplicates::first) return merged;
  for (++k; k < n && !head(k); ++k)
    merged = rule == duplicates::sum ? merged + values[k] : values[k];
  return merged;
}

} // namespace

template <class T, class I, class O>
csr_d<T, I, O> merge_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                         duplicates rule) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = a.shape().row, n = a.size();
  // The first entry of a row begins a run whatever its column: mark those first.
  array<char, space::device> begins_row(ctx, n);
  check(cudaMemsetAsync(begins_row.data(), 0, begins_row.bytes(), ctx.stream()), "merge: memset");
  for_each(ctx, rows, "merge: rows",
           [rowptr = a.rowptr().data(), begins = begins_row.data(), n] __device__(std::int64_t r) {
             if (rowptr[r] < n) begins[rowptr[r]] = 1;
           });
  const auto head = [column = a.colind().data(), begins = begins_row.data()] __device__(
                        std::int64_t k) { return begins[k] != 0 || column[k] != column[k - 1]; };
  const auto places = place_runs(ctx, n, head);
  std::int64_t kept = 0;
  read_back(ctx, &kept, places.data() + n, 1);
  csr_d<T, I, O> result(ctx, a.shape(), static_cast<O>(kept), {true, true});
  for_each(ctx, rows + 1, "merge: rowptr",
           [rowptr = a.rowptr().data(), places = places.data(),
            to = result.rowptr().data()] __device__(std::int64_t r) {
             to[r] = static_cast<O>(places[rowptr[r]]);
           });
  for_each(ctx, n, "merge: entries",
           [head, places = places.data(), n, rule, column = a.colind().data(),
            values = a.values().data(), to_column = result.colind().data(),
            to_value = result.values().data()] __device__(std::int64_t k) {
             if (!head(k)) return;
             to_column[places[k]] = column[k];
             to_value[places[k]] = merge_run(values, k, n, head, rule);
           });
  return result;
}

template <class T, class I, class O>
coo_d<T, I, O> merge_coo(const device_context& ctx, coo_view<const T, I, O, space::device> a,
                         duplicates rule) {
  const device_guard guard(ctx.device());
  const std::int64_t n = a.size();
  const auto head = [row = a.rowind().data(),
                     column = a.colind().data()] __device__(std::int64_t k) {
    return k == 0 || row[k] != row[k - 1] || column[k] != column[k - 1];
  };
  const auto places = place_runs(ctx, n, head);
  std::int64_t kept = 0;
  read_back(ctx, &kept, places.data() + n, 1);
  coo_d<T, I, O> result(ctx, a.shape(), static_cast<O>(kept), {true, true});
  for_each(ctx, n, "merge: entries",
           [head, places = places.data(), n, rule, row = a.rowind().data(),
            column = a.colind().data(), values = a.values().data(), to_row = result.rowind().data(),
            to_column = result.colind().data(),
            to_value = result.values().data()] __device__(std::int64_t k) {
             if (!head(k)) return;
             to_row[places[k]] = row[k];
             to_column[places[k]] = column[k];
             to_value[places[k]] = merge_run(values, k, n, head, rule);
           });
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr_d<T, I, O> merge_csr<T, I, O>(const device_context&,                                \
                                             csr_view<const T, I, O, space::device>, duplicates);  \
  template coo_d<T, I, O> merge_coo<T, I, O>(const device_context&,                                \
                                             coo_view<const T, I, O, space::device>, duplicates);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
