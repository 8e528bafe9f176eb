// Row-length statistics and the choice of kernel. One pass over the row pointers, one wait.
#include <cmath>

#include "gpu/multiply_csr.cuh"
#include "gpu/parts/row_lengths.cuh"

namespace lacuna::detail::gpu {
template <class T, class I, class O>
void inspect_csr(const device_context& ctx, device_csr<T, I, O> a,
                 multiply_inspection<T, I, O, space::device>& result) {
  const std::int64_t rows = a.shape().row, entries = a.size();
  if (rows == 0) return;
  const device_guard guard(ctx.device());
  const double mean = static_cast<double>(entries) / static_cast<double>(rows);
  const length_spread spread = spread_of_lengths(ctx, a.rowptr().data(), rows, mean);
  result.statistics = {mean, std::sqrt(spread.squares / static_cast<double>(rows)), spread.longest,
                       spread.empty};
  result.kernel =
      choose_spmv_kernel(rows, result.statistics, sizeof(T), ctx.properties().multiprocessors);
  if (result.kernel.method == spmv_method::split_tiles)
    result.tiles = find_tiles<I>(ctx, a.rowptr().data(), rows, entries, split_tiles);
  if (result.kernel.method == spmv_method::whole_row_tiles)
    result.tiles =
        find_tiles<I>(ctx, a.rowptr().data(), rows, entries, whole_row_tiles(spread.longest));
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void inspect_csr<T, I, O>(const device_context&, device_csr<T, I, O>,                   \
                                     multiply_inspection<T, I, O, space::device>&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
