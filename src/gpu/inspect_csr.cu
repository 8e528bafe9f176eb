// Row-length statistics and the choice of kernel. One pass over the row pointers, one wait.
#include <cmath>

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/multiply_csr.cuh"

namespace lacuna::gpu {
namespace {

/// Sums of row lengths and of their squares about the mean, longest and empty, as one reduction.
struct row_totals {
  double squares;
  std::int64_t longest;
  std::int64_t empty;
};
struct add_totals {
  __device__ row_totals operator()(const row_totals& a, const row_totals& b) const {
    return {a.squares + b.squares, max(a.longest, b.longest), a.empty + b.empty};
  }
};
template <class O> struct totals_of_row {
  const O* rowptr;
  double mean;
  __device__ row_totals operator()(std::int64_t row) const {
    const std::int64_t length = rowptr[row + 1] - rowptr[row];
    const double off = static_cast<double>(length) - mean;
    return {off * off, length, length == 0};
  }
};

} // namespace

template <class T, class I, class O>
void inspect_csr(const device_context& ctx, device_csr<T, I, O> a,
                 multiply_inspection<T, I, O, space::device>& result) {
  const std::int64_t rows = a.shape().row, entries = a.size();
  if (rows == 0) return;
  const device_guard guard(ctx.device());
  const double mean = static_cast<double>(entries) / static_cast<double>(rows);
  const auto input = thrust::make_transform_iterator(
      thrust::make_counting_iterator(std::int64_t{0}), totals_of_row<O>{a.rowptr().data(), mean});
  array<row_totals, space::device> totals(ctx, 1);
  const row_totals none{0, 0, 0};
  std::size_t scratch_bytes = 0;
  check(cub::DeviceReduce::Reduce(nullptr, scratch_bytes, input, totals.data(), rows, add_totals{},
                                  none, ctx.stream()),
        "row statistics");
  array<char, space::device> scratch(ctx, static_cast<std::int64_t>(scratch_bytes));
  check(cub::DeviceReduce::Reduce(scratch.data(), scratch_bytes, input, totals.data(), rows,
                                  add_totals{}, none, ctx.stream()),
        "row statistics");
  row_totals found{};
  read_back(ctx, &found, totals.data(), 1);

  result.statistics = {mean, std::sqrt(found.squares / static_cast<double>(rows)), found.longest,
                       found.empty};
  result.kernel = choose_spmv_kernel(rows, result.statistics, sizeof(T));
  if (result.kernel.method == spmv_method::split_tiles)
    result.tiles = find_tiles<I>(ctx, a.rowptr().data(), rows, entries, tile_shape{});
  if (result.kernel.method == spmv_method::whole_row_tiles)
    result.tiles = find_tiles<I>(ctx, a.rowptr().data(), rows, entries,
                                 {.split = false, .share = tile_capacity - found.longest + 1});
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void inspect_csr<T, I, O>(const device_context&, device_csr<T, I, O>,                   \
                                     multiply_inspection<T, I, O, space::device>&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
