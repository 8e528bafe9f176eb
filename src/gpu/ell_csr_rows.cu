#include "plan/ell_csr_layout.hpp"
#include "gpu/ell_csr_rows.cuh"

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/row_lengths.cuh"
#include "gpu/parts/scan.cuh"
#include "gpu/parts/sort.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int classes = 5; // 16, 8, 4, 2, 1 lanes per row

/// Row lengths and what the options make of them.
template <class O> struct row_classes {
  const O* rowptr;
  std::int64_t rows;
  std::int64_t long_row, lane_entries, piece;
  std::int64_t window; // rows of a window; all of them if rows are not sorted
  bool sorts;

  __device__ std::int64_t length(std::int64_t row) const { return rowptr[row + 1] - rowptr[row]; }
  __device__ std::int64_t pieces(std::int64_t row) const {
    return detail::piece_count(length(row), long_row, piece);
  }
  /// 0 has the most lanes: longer rows come first.
  __device__ int class_of(std::int64_t row) const {
    return classes - 1 - detail::log_lanes(length(row), lane_entries);
  }
  /// The window and class of a short row.
  __device__ std::int64_t group(std::int64_t row) const {
    return row / window * classes + class_of(row);
  }
};

template <class I, class O>
array<row_piece<I>, space::device> cut_long_rows(const device_context& ctx,
                                                 const row_classes<O>& of, std::int64_t count) {
  array<row_piece<I>, space::device> pieces(ctx, count);
  if (count == 0) return pieces;
  array<std::int64_t, space::device> counts(ctx, of.rows), first(ctx, of.rows + 1);
  for_each(ctx, of.rows, "count pieces", [of, counts = counts.data()] __device__(std::int64_t row) {
    counts[row] = of.pieces(row);
  });
  exclusive_sums(ctx, of.rows, counts.data(), first.data());
  for_each(ctx, count, "cut long rows",
           [of, first = first.data(), pieces = pieces.data()] __device__(std::int64_t i) {
             const std::int64_t row = row_of(first, of.rows, i);
             pieces[i] = {static_cast<I>(row), static_cast<std::int32_t>(first[row]),
                          static_cast<std::int32_t>(first[row + 1] - first[row])};
           });
  return pieces;
}

/// The short rows in the order that they fill slices in; the long ones come last.
template <class Key, class O>
array<std::uint32_t, space::device> order_rows(const device_context& ctx, const row_classes<O>& of,
                                               std::int64_t steps, std::int64_t last) {
  sorted_keys<Key, std::uint32_t> unsorted{array<Key, space::device>(ctx, of.rows),
                                           array<std::uint32_t, space::device>(ctx, of.rows)};
  for_each(ctx, of.rows, "order rows",
           [of, steps, last, keys = unsorted.keys.data(),
            rows = unsorted.positions.data()] __device__(std::int64_t row) {
             const std::int64_t length = of.length(row);
             const std::int64_t place = of.sorts ? steps - 1 - length : of.class_of(row);
             keys[row] =
                 static_cast<Key>(length >= of.long_row ? last : row / of.window * steps + place);
             rows[row] = static_cast<std::uint32_t>(row);
           });
  return sort_stably(ctx, std::move(unsorted), last + 1).positions;
}
template <class O>
array<std::uint32_t, space::device> order_rows(const device_context& ctx, const row_classes<O>& of,
                                               std::int64_t longest_short) {
  // Within a window by falling length, or by class alone.
  const std::int64_t steps = of.sorts ? longest_short + 1 : classes;
  const std::int64_t last = checked_mul((of.rows + of.window - 1) / of.window, steps);
  return last < std::numeric_limits<std::uint32_t>::max()
             ? order_rows<std::uint32_t>(ctx, of, steps, last)
             : order_rows<std::uint64_t>(ctx, of, steps, last);
}

} // namespace

template <class I, class O>
slice_rows<I> arrange_rows(const device_context& ctx, const O* rowptr, std::int64_t rows,
                           const ell_csr_options& options) {
  slice_rows<I> result;
  if (rows == 0) return result;
  if (rows > std::numeric_limits<std::uint32_t>::max())
    throw unsupported("to_ell_csr: more than 2^32 rows on a device");
  const bool sorts = options.window > 1;
  const row_classes<O> of{rowptr,
                          rows,
                          options.long_row,
                          options.lane_entries,
                          options.piece,
                          sorts ? std::min(options.window, rows) : rows,
                          sorts};
  const piece_totals totals = total_pieces(ctx, rowptr, rows, of.long_row, of.piece);
  result.pieces = cut_long_rows<I>(ctx, of, totals.pieces);
  if (!sorts && totals.pieces == 0 && totals.longest_short <= options.lane_entries) {
    result.slices = (rows + slice_lanes - 1) / slice_lanes;
    return result;
  }

  const std::int64_t windows = (rows + of.window - 1) / of.window, groups = windows * classes;
  array<unsigned, space::device> counts(ctx, groups);
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx.stream()), "cudaMemsetAsync");
  for_each(ctx, rows, "count rows", [of, counts = counts.data()] __device__(std::int64_t row) {
    if (of.length(row) < of.long_row) atomicAdd(counts + of.group(row), 1u);
  });
  // Where each group begins: among the ordered rows, and among the slices.
  array<std::int64_t, space::device> slices(ctx, groups), first_row(ctx, groups + 1);
  array<std::int64_t, space::device> first_slice(ctx, groups + 1);
  for_each(ctx, groups, "count slices",
           [counts = counts.data(), slices = slices.data()] __device__(std::int64_t g) {
             const int per_slice = slice_lanes >> (classes - 1 - g % classes);
             slices[g] = (counts[g] + per_slice - 1) / per_slice;
           });
  exclusive_sums(ctx, groups, counts.data(), first_row.data());
  exclusive_sums(ctx, groups, slices.data(), first_slice.data());
  const auto order = order_rows(ctx, of, totals.longest_short);
  std::int64_t others = 0, short_rows = 0;
  check(cudaMemcpyAsync(&short_rows, first_row.data() + groups, sizeof short_rows,
                        cudaMemcpyDeviceToHost, ctx.stream()),
        "arrange_rows");
  read_back(ctx, &others, first_slice.data() + groups, 1);
  result.slices = totals.pieces + others;
  result.rows = array<I, space::device>(ctx, others * slice_lanes);
  result.logs = array<unsigned char, space::device>(ctx, others);
  check(cudaMemsetAsync(result.rows.data(), 0xff, result.rows.bytes(), ctx.stream()),
        "cudaMemsetAsync");
  for_each(ctx, short_rows, "place rows",
           [of, order = order.data(), first_row = first_row.data(),
            first_slice = first_slice.data(), rows_of = result.rows.data(),
            logs = result.logs.data()] __device__(std::int64_t i) {
             const std::int64_t row = order[i], group = of.group(row);
             const int log = classes - 1 - of.class_of(row), per_slice = slice_lanes >> log;
             const std::int64_t rank = i - first_row[group];
             const std::int64_t slice = first_slice[group] + rank / per_slice;
             rows_of[slice * slice_lanes + rank % per_slice] = static_cast<I>(row);
             logs[slice] = static_cast<unsigned char>(log);
           });
  return result;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template slice_rows<I> arrange_rows<I, O>(const device_context&, const O*, std::int64_t,         \
                                            const ell_csr_options&);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
