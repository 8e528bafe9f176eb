#include "plan/ell_csr_layout.hpp"
#include "cpu/ell_csr_rows.hpp"

#include "cpu/rows.hpp"
#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr int classes = 5; // 1, 2, 4, 8, 16 lanes per row
constexpr std::int64_t row_grain = 1 << 14;

/// Row lengths and what the options make of them.
template <class O> struct row_classes {
  vector_view<const O> rowptr;
  ell_csr_options options;

  [[nodiscard]] std::int64_t rows() const { return std::max<std::int64_t>(rowptr.size() - 1, 0); }
  [[nodiscard]] std::int64_t length(std::int64_t row) const {
    return rowptr[row + 1] - rowptr[row];
  }
  [[nodiscard]] bool is_long(std::int64_t row) const { return length(row) >= options.long_row; }
  /// Longer rows come first.
  [[nodiscard]] int class_of(std::int64_t row) const {
    return classes - 1 - detail::log_lanes(length(row), options.lane_entries);
  }
};

/// Calls f(row, pieces of it) for the long rows.
template <class O, class F> void for_each_long_row(const row_classes<O>& lengths, F&& f) {
  for (std::int64_t row = 0; row < lengths.rows(); ++row) {
    const ell_csr_options& o = lengths.options;
    const std::int64_t pieces = detail::piece_count(lengths.length(row), o.long_row, o.piece);
    if (pieces > 0) f(row, pieces);
  }
}

template <class I, class O>
array<row_piece<I>> cut_long_rows(const host_context& ctx, const row_classes<O>& lengths) {
  std::int64_t total = 0;
  for_each_long_row(lengths, [&](std::int64_t, std::int64_t count) { total += count; });
  array<row_piece<I>> pieces(ctx, total);
  std::int64_t next = 0;
  for_each_long_row(lengths, [&](std::int64_t row, std::int64_t count) {
    std::fill_n(pieces.begin() + next, count,
                row_piece<I>{static_cast<I>(row), static_cast<std::int32_t>(next),
                             static_cast<std::int32_t>(count)});
    next += count;
  });
  return pieces;
}

/// The longest first, those of a length in their order. scratch: as many rows.
template <class I, class O>
void sort_by_length(const row_classes<O>& lengths, I* rows, std::int64_t count, I* scratch) {
  constexpr std::int64_t counted = 512; // lengths; by comparisons rows take ten times as long
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < count; ++i) longest = std::max(longest, lengths.length(rows[i]));
  if (longest >= counted) {
    std::stable_sort(rows, rows + count,
                     [&](I a, I b) { return lengths.length(a) > lengths.length(b); });
    return;
  }
  std::int64_t first[counted + 1] = {}; // by how much a row is shorter than the longest
  for (std::int64_t i = 0; i < count; ++i) ++first[longest - lengths.length(rows[i]) + 1];
  for (std::int64_t k = 0; k < longest; ++k) first[k + 1] += first[k];
  for (std::int64_t i = 0; i < count; ++i)
    scratch[first[longest - lengths.length(rows[i])]++] = rows[i];
  std::copy_n(scratch, count, rows);
}

} // namespace

template <class I, class O>
slice_rows<I> arrange_rows(const host_context& ctx, vector_view<const O> rowptr,
                           const ell_csr_options& options) {
  const row_classes<O> lengths{rowptr, options};
  const std::int64_t rows = lengths.rows();
  slice_rows<I> result;
  constexpr std::int64_t none = ell_csr_options::none;
  if (options.window <= 1 && options.long_row == none && options.lane_entries == none) {
    result.slices = (rows + slice_lanes - 1) / slice_lanes;
    return result;
  }
  result.pieces = cut_long_rows<I>(ctx, lengths);

  // Not sorted: one window, its rows ordered by the number of their lanes alone.
  const bool sorts = options.window > 1;
  const std::int64_t window = sorts ? options.window : std::max<std::int64_t>(rows, 1);
  const std::int64_t windows = (rows + window - 1) / window;
  // First slice of each window and class; one more at the end.
  array<std::int64_t> first(ctx, windows * classes + 1);
  first[0] = 0;
  for_each_range(ctx, windows, std::max<std::int64_t>(row_grain / window, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t w = begin; w < end; ++w) {
                     std::int64_t counts[classes] = {};
                     const std::int64_t last = std::min((w + 1) * window, rows);
                     for (std::int64_t row = w * window; row < last; ++row)
                       if (!lengths.is_long(row)) ++counts[lengths.class_of(row)];
                     for (int c = 0; c < classes; ++c) {
                       const std::int64_t per_slice = slice_lanes >> (classes - 1 - c);
                       first[w * classes + c + 1] = (counts[c] + per_slice - 1) / per_slice;
                     }
                   }
                 });
  array<std::int64_t> sums(ctx, 1);
  inclusive_scan(ctx, first.data(), windows * classes, sums);
  const std::int64_t slices = first[windows * classes];
  result.slices = result.pieces.size() + slices;
  const bool one_lane = windows > 0 && first[windows * classes - 1] == 0;
  if (rows == 0 || (!sorts && one_lane && result.pieces.empty())) return result;

  result.rows = array<I>(ctx, slices * slice_lanes);
  result.logs = array<unsigned char>(ctx, slices);
  // A window's short rows, longest first.
  array<I> order(ctx, sorts ? rows : 0), other(ctx, sorts ? rows : 0);
  for_each_range(ctx, windows, std::max<std::int64_t>(row_grain / window, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::fill(result.rows.begin() + first[begin * classes] * slice_lanes,
                             result.rows.begin() + first[end * classes] * slice_lanes, I{-1});
                   for (std::int64_t w = begin; w < end; ++w) {
                     std::int64_t taken[classes] = {};
                     const auto put = [&](std::int64_t row) {
                       const int c = lengths.class_of(row), log = classes - 1 - c;
                       const std::int64_t rank = taken[c]++, per_slice = slice_lanes >> log;
                       const std::int64_t slice = first[w * classes + c] + rank / per_slice;
                       result.rows[slice * slice_lanes + rank % per_slice] = static_cast<I>(row);
                       result.logs[slice] = static_cast<unsigned char>(log);
                     };
                     const std::int64_t last = std::min((w + 1) * window, rows);
                     I* const sorted = order.data() + (sorts ? w * window : 0);
                     std::int64_t count = 0;
                     for (std::int64_t row = w * window; row < last; ++row) {
                       if (lengths.is_long(row)) continue;
                       if (sorts)
                         sorted[count++] = static_cast<I>(row);
                       else
                         put(row);
                     }
                     sort_by_length(lengths, sorted, count,
                                    other.data() + (sorts ? w * window : 0));
                     for (std::int64_t i = 0; i < count; ++i) put(sorted[i]);
                   }
                 });
  return result;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template slice_rows<I> arrange_rows<I, O>(const host_context&, vector_view<const O>,             \
                                            const ell_csr_options&);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
