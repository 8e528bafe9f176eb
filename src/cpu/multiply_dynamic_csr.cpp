// Y = alpha A X + beta Z on the host, A a dynamic CSR: segment by segment where rows have several,
// by CSR's kernels where the matrix is compact. Several vectors in one pass over A.
#include <lacuna/op/multiply.hpp>

#include <fmt/format.h>

#include "cpu/dense_by_rows.hpp"
#include "cpu/dynamic_segments.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Rows that a thread takes at a time.
constexpr std::int64_t share_rows = 1024;

/// Columns of X that are multiplied in one pass over A.
constexpr std::int64_t block_columns = 64;

/// Sums of a segment: as the kernels of whole rows form them.
template <class T, class I, class O>
void sum_segment(const row_kernels<T, I, O>& kernels, const row_arguments<T, I, O>& p,
                 std::int64_t begin, std::int64_t end, T* sums) {
  T more[block_columns];
  kernels.dense_piece(p, begin, std::min(begin + piece_entries, end), sums);
  for (std::int64_t k = begin + piece_entries; k < end; k += piece_entries) {
    kernels.dense_piece(p, k, std::min(k + piece_entries, end), more);
    for (std::int64_t j = 0; j < p.columns; ++j) sums[j] += more[j];
  }
}
/// Whether a row's first segment ends where the next row's begins, as in a CSR.
template <class T, class I, class O>
bool is_followed(const dynamic_csr_view<const T, I, O>& a, std::int64_t row) {
  return row + 1 < a.extent.row && a.end[row] == a.begin[row + 1] &&
         (a.counts[row] > 0 || a.begin[row] == a.end[row]);
}
/// Up to block_columns columns. First segments of rows that follow each other are multiplied as a
/// CSR's, which most are until the matrix has been rewritten; then further segments are added. A
/// row's sum does not depend on its neighbours.
template <class T, class I, class O>
void multiply_dense_rows(const row_arguments<T, I, O>& p, const dynamic_csr_view<const T, I, O>& a,
                         std::int64_t first, std::int64_t last) {
  const auto& kernels = best_row_kernels<T, I, O>();
  T sums[block_columns], more[block_columns];
  for (std::int64_t row = first; row < last; ++row) {
    std::int64_t end = row;
    while (end < last && is_followed(a, end)) ++end;
    if (end > row) kernels.dense_rows(p, row, end);
    if (end == last) break;
    row = end;
    if (a.segment_count(row) == 0)
      std::fill_n(sums, p.columns, T{0});
    else
      sum_segment(kernels, p, a.segment_begin(row, 0), a.segment_end(row, 0), sums);
    for (std::int64_t j = 0; j < p.columns; ++j) store_sum(p, row, j, sums[j]);
  }
  for (std::int64_t row = first; row < last; ++row) {
    ask_for_segments(a, row + rows_ahead, 1);
    const int count = a.segment_count(row);
    if (count < 2) continue;
    sum_segment(kernels, p, a.segment_begin(row, 1), a.segment_end(row, 1), sums);
    for (int s = 2; s < count; ++s) {
      sum_segment(kernels, p, a.segment_begin(row, s), a.segment_end(row, s), more);
      for (std::int64_t j = 0; j < p.columns; ++j) sums[j] += more[j];
    }
    for (std::int64_t j = 0; j < p.columns; ++j)
      p.y[row * p.y_row + j * p.y_column] += p.alpha * sums[j];
  }
}
template <class T, class I, class O>
void multiply_rows(const host_context& ctx, const row_arguments<T, I, O>& p,
                   const dynamic_csr_view<const T, I, O>& a) {
  const std::int64_t rows = a.extent.row;
  const auto shares = static_cast<int>((rows + share_rows - 1) / share_rows);
  const bool one = p.x_column == 0;
  const segment_table<O> table{a.begin, a.end, a.counts, a.pitch, a.used};
  for_each_dynamic(part_count(ctx, rows + a.nnz, entry_grain), shares, [&](int share) {
    const std::int64_t first = share * share_rows, last = std::min(rows, first + share_rows);
    if (one)
      best_row_kernels<T, I, O>().segmented_rows(p, table, first, last);
    else
      multiply_dense_rows(p, a, first, last);
  });
}
template <class T, class I, class O>
void multiply_several(const host_context& ctx, T alpha, dynamic_csr_view<const T, I, O> a,
                      dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  array<T> by_rows;
  if (x.col_stride() != 1) {
    by_rows = copy_by_rows(ctx, x);
    x = dense_view<const T>(by_rows.data(), x.shape());
  }
  for (std::int64_t j = 0; j < y.shape().col; j += block_columns) {
    row_arguments<T, I, O> p{a.begin, a.colind, a.values, x.data() + j,
                             nullptr, nullptr,  alpha,    beta};
    p.columns = std::min(block_columns, y.shape().col - j);
    p.x_row = x.row_stride(), p.x_column = 1;
    p.y_row = y.row_stride(), p.y_column = y.col_stride();
    p.y = y.data() + j * p.y_column;
    p.z_row = z.row_stride(), p.z_column = z.col_stride();
    if (beta != T{0}) p.z = z.data() + j * p.z_column;
    multiply_rows(ctx, p, a);
  }
}

} // namespace

template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, dynamic_csr_view<const T, I, O> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  if (a.compact)
    return multiply_format<T, I, O>(ctx, alpha, inspected_csr<T, I, O, space::host>{a.csr_rows()},
                                    x, beta, z, y);
  if (y.shape().col != 1) return multiply_several<T, I, O>(ctx, alpha, a, x, beta, z, y);
  // x with gaps is copied: the kernels want it without.
  array<T> x_copy(ctx, x.row_stride() == 1 ? 0 : x.shape().row);
  for (std::int64_t i = 0; i < x_copy.size(); ++i) x_copy[i] = x(i, 0);
  row_arguments<T, I, O> p{a.begin, a.colind, a.values, x.data(), z.data(), y.data(), alpha, beta};
  if (!x_copy.empty()) p.x = x_copy.data();
  p.y_row = y.row_stride();
  p.z_row = z.row_stride();
  multiply_rows(ctx, p, a);
}

template <class T, class I, class O>
void check_dynamic(const host_context& ctx, dynamic_csr_view<const T, I, O> a) {
  const auto broken = [](std::int64_t row, const auto& what) {
    throw bad_input(fmt::format("dynamic_csr: row {}: {}", row, what));
  };
  const std::int64_t rows = a.extent.row;
  array<char> taken(ctx, a.used); // which places of the pool are someone's
  std::fill(taken.begin(), taken.end(), char{0});
  std::int64_t entries = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (a.counts[row] > a.segments)
      broken(row, fmt::format("{} segments, of at most {}", a.counts[row], a.segments));
    std::int64_t size = 0;
    std::vector<I> columns;
    for (int s = 0; s < a.counts[row]; ++s) {
      const std::int64_t begin = a.begin[s * a.pitch + row], end = a.end[s * a.pitch + row];
      const std::int64_t limit = end + (s == a.counts[row] - 1 ? std::int64_t{a.room[row]} : 0);
      if (begin < 0 || end < begin || limit < end || limit > a.used)
        broken(row, fmt::format("segment {} is [{}, {}) with room up to {}, of {} places", s, begin,
                                end, limit, a.used));
      size += end - begin;
      for (std::int64_t k = begin; k < limit; ++k) {
        if (taken[k] != 0) broken(row, fmt::format("place {} is another segment's, too", k));
        taken[k] = 1;
      }
      for (std::int64_t k = begin; k < end; ++k) {
        if (a.colind[k] < 0 || a.colind[k] >= a.extent.col)
          broken(row, fmt::format("column {} is outside of {}", a.colind[k], a.extent.col));
        if (k > begin && a.colind[k] < a.colind[k - 1])
          broken(row, fmt::format("column {} follows {} in segment {}", a.colind[k],
                                  a.colind[k - 1], s));
        columns.push_back(a.colind[k]);
      }
    }
    if (size != a.sizes[row])
      broken(row, fmt::format("{} entries in its segments, its size is {}", size, a.sizes[row]));
    entries += size;
    if (a.unique) {
      std::sort(columns.begin(), columns.end());
      const auto twice = std::adjacent_find(columns.begin(), columns.end());
      if (twice != columns.end()) broken(row, fmt::format("column {} is there twice", *twice));
    }
    if (a.compact && (a.begin[row + 1] - a.begin[row] != size ||
                      (a.counts[row] > 0 && a.end[row] - a.begin[row] != size)))
      broken(row, "it is not where a compact matrix has it");
  }
  if (entries != a.nnz)
    throw bad_input(fmt::format("dynamic_csr: {} entries in all rows, of {}", entries, a.nnz));
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(const host_context&, T, dynamic_csr_view<const T, I, O>,  \
                                         dense_view<const T>, T, dense_view<const T>,              \
                                         dense_view<T>);                                           \
  template void check_dynamic<T, I, O>(const host_context&, dynamic_csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
