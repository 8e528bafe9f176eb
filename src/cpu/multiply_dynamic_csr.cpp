// Y = alpha A X + beta Z on the host, A a dynamic CSR: segment by segment where rows have several,
// by CSR's kernels where the matrix is compact. Several vectors in one pass over A.
#include <lacuna/op/multiply.hpp>

#include <fmt/format.h>

#include "cpu/dense_by_rows.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/rows.hpp"
#include <lacuna/format/dynamic_csr.hpp>

namespace lacuna::detail::cpu {
namespace {

/// Rows that a thread takes at a time.
constexpr std::int64_t share_rows = 1024;

/// Columns of X that are multiplied in one pass over A.
constexpr std::int64_t block_columns = 64;

/// Calls f(first, last) with shares of the rows.
template <class T, class I, class O, class F>
void for_each_row_share(const host_context& ctx, dynamic_csr_view<const T, I, O> a, F&& f) {
  const std::int64_t rows = a.extent.row;
  const auto shares = static_cast<int>((rows + share_rows - 1) / share_rows);
  for_each_dynamic(part_count(ctx, rows + a.nnz, entry_grain), shares, [&](int share) {
    f(share * share_rows, std::min(rows, (share + 1) * share_rows));
  });
}
/// Calls f(begin, end) with pieces of a row's segments, in order.
template <class T, class I, class O, class F>
void for_each_piece(dynamic_csr_view<const T, I, O> a, std::int64_t row, F&& f) {
  for (int s = 0; s < a.segment_count(row); ++s) {
    const std::int64_t end = a.segment_end(row, s);
    for (std::int64_t k = a.segment_begin(row, s); k < end; k += piece_entries)
      f(k, std::min(k + piece_entries, end));
  }
}

/// Up to block_columns columns of a row-major X.
template <class T, class I, class O>
void multiply_block(const host_context& ctx, const row_arguments<T, I, O>& p,
                    dynamic_csr_view<const T, I, O> a) {
  const auto& kernels = best_row_kernels<T, I, O>();
  for_each_row_share(ctx, a, [&](std::int64_t first, std::int64_t last) {
    T sums[block_columns], more[block_columns];
    for (std::int64_t row = first; row < last; ++row) {
      std::fill_n(sums, p.columns, T{0});
      for_each_piece(a, row, [&](std::int64_t begin, std::int64_t end) {
        kernels.dense_piece(p, begin, end, more);
        for (std::int64_t j = 0; j < p.columns; ++j) sums[j] += more[j];
      });
      for (std::int64_t j = 0; j < p.columns; ++j) store_sum(p, row, j, sums[j]);
    }
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
    row_arguments<T, I, O> p{nullptr, a.colind, a.values, x.data() + j, nullptr, nullptr, alpha,
                             beta};
    p.columns = std::min(block_columns, y.shape().col - j);
    p.x_row = x.row_stride(), p.x_column = 1;
    p.y_row = y.row_stride(), p.y_column = y.col_stride();
    p.y = y.data() + j * p.y_column;
    p.z_row = z.row_stride(), p.z_column = z.col_stride();
    if (beta != T{0}) p.z = z.data() + j * p.z_column;
    multiply_block(ctx, p, a);
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
  row_arguments<T, I, O> p{};
  p.colind = a.colind;
  p.values = a.values;
  p.x = x_copy.empty() ? x.data() : x_copy.data();
  const auto& kernels = best_row_kernels<T, I, O>();
  for_each_row_share(ctx, a, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      T sum{0};
      for_each_piece(a, row, [&](std::int64_t begin, std::int64_t end) {
        sum += kernels.piece(p, begin, end);
      });
      y(row, 0) = beta == T{0} ? alpha * sum : alpha * sum + beta * z(row, 0);
    }
  });
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
