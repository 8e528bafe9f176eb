// Row-length statistics and the choice of kernel. One pass over the row pointers, one wait.
#include <cmath>

#include "gpu/multiply_csr.cuh"
#include "gpu/parts/reduce.cuh"

namespace lacuna::detail::gpu {
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
  const row_totals totals = reduce(ctx, rows, totals_of_row<O>{a.rowptr().data(), mean},
                                   add_totals{}, row_totals{0, 0, 0});
  result.statistics = {mean, std::sqrt(totals.squares / static_cast<double>(rows)), totals.longest,
                       totals.empty};
  result.kernel =
      choose_spmv_kernel(rows, result.statistics, sizeof(T), ctx.properties().multiprocessors);
  if (result.kernel.method == spmv_method::split_tiles)
    result.tiles = find_tiles<I>(ctx, a.rowptr().data(), rows, entries, split_tiles);
  if (result.kernel.method == spmv_method::whole_row_tiles)
    result.tiles =
        find_tiles<I>(ctx, a.rowptr().data(), rows, entries, whole_row_tiles(totals.longest));
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void inspect_csr<T, I, O>(const device_context&, device_csr<T, I, O>,                   \
                                     multiply_inspection<T, I, O, space::device>&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
