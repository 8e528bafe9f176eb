// CSR to hyb on the device: a count of the row lengths for the rule, sums of what is beyond the
// width for the rest's row pointers, a thread a row to fill the ELL part and a thread an entry to
// fill the rest.
#include <vector>

#include <lacuna/op/hyb.hpp>

#include "gpu/parts/load.cuh"
#include "gpu/parts/reduce.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

/// The rule, from a count of the row lengths; waits for it.
template <class O>
std::int64_t find_width(const device_context& ctx, const O* rowptr, std::int64_t rows,
                        std::int64_t widest) {
  if (rows < detail::hyb_least_rows) return 0;
  array<unsigned long long, space::device> counts(ctx, widest + 2);
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx.stream()), "cudaMemsetAsync");
  // Rows of one length are counted by warp: in a stencil they nearly all have the same.
  for_each(ctx, rows, "count row lengths",
           [rowptr, widest, counts = counts.data()] __device__(std::int64_t i) {
             const auto length =
                 static_cast<long long>(min(std::int64_t{rowptr[i + 1] - rowptr[i]}, widest + 1));
             const unsigned alike = __match_any_sync(__activemask(), length);
             if (__ffs(alike) - 1 == static_cast<int>(threadIdx.x) % 32)
               atomicAdd(counts + length, static_cast<unsigned long long>(__popc(alike)));
           });
  std::vector<unsigned long long> found(static_cast<std::size_t>(counts.size()));
  read_back(ctx, found.data(), counts.data(), counts.size());
  const std::vector<std::int64_t> rows_of_length(found.begin(), found.end());
  return choose_hyb_width(rows, rows_of_length);
}

/// The rest, its row pointers filled; waits for its size.
template <class T, class I, class O>
csr<T, I, O, space::device> place_rest(const device_context& ctx,
                                       csr_view<const T, I, O, space::device> a,
                                       std::int64_t width) {
  const std::int64_t rows = a.shape().row;
  array<std::int64_t, space::device> counts(ctx, rows), starts(ctx, rows + 1);
  for_each(ctx, rows, "count the rest",
           [rowptr = a.rowptr().data(), width, counts = counts.data()] __device__(std::int64_t i) {
             counts[i] = max(std::int64_t{rowptr[i + 1] - rowptr[i]} - width, std::int64_t{0});
           });
  exclusive_sums(ctx, rows, counts.data(), starts.data());
  std::int64_t beyond = 0;
  read_back(ctx, &beyond, starts.data() + rows, 1);
  csr<T, I, O, space::device> rest(ctx, a.shape(), static_cast<O>(beyond), a.order());
  for_each(ctx, rows + 1, "place the rest",
           [from = starts.data(), to = rest.rowptr().data()] __device__(std::int64_t i) {
             to[i] = static_cast<O>(from[i]);
           });
  return rest;
}

} // namespace

template <class T, class I, class O>
hyb<T, I, O, space::device> csr_to_hyb(const device_context& ctx,
                                       csr_view<const T, I, O, space::device> a,
                                       const hyb_options& options) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = a.shape().row, stride = detail::hyb_stride(rows);
  const std::int64_t widest = detail::hyb_widest(rows, a.size());
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const T* const from_values = a.values().data();
  const std::int64_t width =
      options.width > 0 ? std::min(options.width, widest) : find_width(ctx, rowptr, rows, widest);
  hyb<T, I, O, space::device> result{a.shape(), a.size(), width, stride, {}, {}, {}};
  result.rest = place_rest(ctx, a, width);
  result.columns = array<I, space::device>(ctx, checked_mul(width, stride));
  result.values = array<T, space::device>(ctx, checked_mul(width, stride));
  for_each(ctx, width == 0 ? 0 : stride, "fill the ELL part",
           [=, columns = result.columns.data(),
            values = result.values.data()] __device__(std::int64_t i) {
             const std::int64_t first = i < rows ? rowptr[i] : 0;
             const std::int64_t length = i < rows ? rowptr[i + 1] - first : 0;
             for (std::int64_t k = 0; k < width; ++k) {
               columns[k * stride + i] = k < length ? colind[first + k] : I{-1};
               values[k * stride + i] = k < length ? from_values[first + k] : T{0};
             }
           });
  for_each(ctx, result.rest.size(), "fill the rest",
           [=, starts = result.rest.rowptr().data(), columns = result.rest.colind().data(),
            values = result.rest.values().data()] __device__(std::int64_t k) {
             const std::int64_t i = row_of(starts, rows, k);
             const std::int64_t from = rowptr[i] + width + (k - starts[i]);
             columns[k] = load_once(colind + from);
             values[k] = load_once(from_values + from);
           });
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template hyb<T, I, O, space::device> csr_to_hyb<T, I, O>(                                        \
      const device_context&, csr_view<const T, I, O, space::device>, const hyb_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
