// Grouping the rows of a CSR matrix for CSR-k on the device: a few passes over the row pointers.
#include <cmath>

#include "gpu/parts/row_lengths.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"
#include "plan/csr_k.hpp"

namespace lacuna::detail::gpu {
namespace {

/// Entries in a piece of a long row, a warp's work: enough to repay its start. Rows beyond 2^22
/// entries get longer pieces, at most 4096: one warp adds their sums up.
constexpr std::int64_t least_piece_length = 1024;
__device__ inline std::int64_t piece_length(std::int64_t entries) {
  return least_piece_length * ((entries + (std::int64_t{1} << 22) - 1) >> 22);
}

/// 0, size, 2 size, … and count.
template <class I>
array<I, space::device> equal_starts(const device_context& ctx, std::int64_t count,
                                     std::int64_t size) {
  const std::int64_t groups = count / size + (count % size != 0 ? 1 : 0);
  array<I, space::device> starts(ctx, groups + 1);
  for_each(ctx, groups + 1, "group_rows: starts",
           [count, size, groups, starts = starts.data()] __device__(std::int64_t j) {
             starts[j] = static_cast<I>(j == groups ? count : j * size);
           });
  return starts;
}

template <class I, class O>
void list_long_rows(const device_context& ctx, const O* rowptr, std::int64_t rows,
                    std::int64_t count, csr_k_groups<I, O, space::device>& groups) {
  const auto long_rows = find_long_rows(ctx, rowptr, rows, groups.grouping.long_row, count);
  array<std::int64_t, space::device> counts(ctx, count);
  for_each(ctx, count, "group_rows: count pieces",
           [rowptr, row = long_rows.data(), counts = counts.data()] __device__(std::int64_t i) {
             const std::int64_t length = rowptr[row[i] + 1] - rowptr[row[i]];
             counts[i] = (length - 1) / piece_length(length) + 1;
           });
  groups.long_rows = array<std::int64_t, space::device>(ctx, count + 1);
  exclusive_sums(ctx, count, counts.data(), groups.long_rows.data());
  std::int64_t pieces = 0;
  if (count > 0) read_back(ctx, &pieces, groups.long_rows.data() + count, 1);
  groups.pieces = array<csr_k_piece<I, O>, space::device>(ctx, pieces);
  for_each(ctx, pieces, "group_rows: pieces",
           [rowptr, count, row = long_rows.data(), starts = groups.long_rows.data(),
            pieces = groups.pieces.data()] __device__(std::int64_t k) {
             const std::int64_t i = row_of(starts, count, k);
             const std::int64_t begin = rowptr[row[i]], end = rowptr[row[i] + 1];
             const std::int64_t length = piece_length(end - begin);
             const std::int64_t first = begin + (k - starts[i]) * length;
             pieces[k] = {static_cast<I>(row[i]), static_cast<I>(i), static_cast<O>(first),
                          static_cast<O>(min(first + length, end))};
           });
}

const csr_k_model& model_of(const device_properties& device) {
  static constexpr csr_k_model ampere = csr_k_model::ampere(), hopper = csr_k_model::hopper();
  return device.compute_capability < 90 ? ampere : hopper;
}

} // namespace

template <class I, class O>
csr_k_groups<I, O, space::device> group_rows(const device_context& ctx,
                                             vector_view<const O, space::device> rowptr,
                                             const csr_k_options& options) {
  const device_guard guard(ctx.device());
  const std::int64_t rows = std::max<std::int64_t>(rowptr.size() - 1, 0);
  std::int64_t short_rows = rows; // after the last look, the rows that are not long
  const auto look = [&](std::int64_t limit) -> row_statistics {
    const length_totals totals = total_lengths(ctx, rowptr.data(), rows, limit);
    short_rows = totals.rows;
    if (totals.rows == 0) return {};
    const auto count = static_cast<double>(totals.rows);
    const double mean = static_cast<double>(totals.entries) / count;
    return {mean, std::sqrt(std::max(0.0, totals.squares / count - mean * mean)), totals.longest,
            0};
  };
  csr_k_groups<I, O, space::device> result;
  result.grouping = choose_grouping(options, space::device, model_of(ctx.properties()), look);
  const csr_k_grouping& g = result.grouping;
  result.super_rows = equal_starts<I>(ctx, rows, g.super_row);
  if (g.k == 3)
    result.super_super_rows = equal_starts<I>(ctx, result.super_rows.size() - 1, g.super_super_row);
  list_long_rows(ctx, rowptr.data(), rows, rows - short_rows, result);
  return result;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template csr_k_groups<I, O, space::device> group_rows<I, O>(                                     \
      const device_context&, vector_view<const O, space::device>, const csr_k_options&);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
