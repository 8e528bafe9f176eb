// y = alpha A x + beta z on the host, A a dynamic CSR: segment by segment where rows have several,
// by CSR's kernels where the matrix is compact.
#include <lacuna/op/multiply.hpp>

#include <fmt/format.h>

#include "cpu/parallel.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/rows.hpp"
#include <lacuna/format/dynamic_csr.hpp>

namespace lacuna::detail::cpu {
namespace {

/// Rows that a thread takes at a time.
constexpr std::int64_t share_rows = 1024;

template <class T, class I, class O>
csr_view<const T, I, O> as_csr(dynamic_csr_view<const T, I, O> a) {
  return {a.values, a.begin, a.colind, a.extent, a.nnz};
}

} // namespace

template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, dynamic_csr_view<const T, I, O> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  if (a.compact)
    return multiply_format<T, I, O>(ctx, alpha, inspected_csr<T, I, O, space::host>{as_csr(a)}, x,
                                    beta, z, y);
  const std::int64_t rows = y.shape().row;
  // x with gaps is copied: the kernels want it without.
  array<T> x_copy(ctx, x.row_stride() == 1 ? 0 : x.shape().row);
  const auto& kernels = best_row_kernels<T, I, O>();
  const int threads = part_count(ctx, rows + a.nnz, entry_grain);
  const auto shares = static_cast<int>((rows + share_rows - 1) / share_rows);
  for (std::int64_t j = 0; j < y.shape().col; ++j) {
    row_arguments<T, I, O> p{};
    p.colind = a.colind;
    p.values = a.values;
    p.x = x.data() + j * x.col_stride();
    if (!x_copy.empty()) {
      for (std::int64_t i = 0; i < x_copy.size(); ++i) x_copy[i] = x(i, j);
      p.x = x_copy.data();
    }
    for_each_dynamic(threads, shares, [&](int share) {
      const std::int64_t last = std::min(rows, (share + 1) * share_rows);
      for (std::int64_t row = share * share_rows; row < last; ++row) {
        T sum{0};
        for (int s = 0; s < a.counts[row]; ++s) {
          const std::int64_t end = a.end[s * a.pitch + row];
          for (std::int64_t k = a.begin[s * a.pitch + row]; k < end; k += piece_entries)
            sum += kernels.piece(p, k, std::min(k + piece_entries, end));
        }
        y(row, j) = beta == T{0} ? alpha * sum : alpha * sum + beta * z(row, j);
      }
    });
  }
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
