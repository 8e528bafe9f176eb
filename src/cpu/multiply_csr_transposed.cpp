// y = alpha A^T x + beta z on the host, A a CSR or a dynamic CSR as it is.
#include <lacuna/op/multiply.hpp>

#include "cpu/dynamic_segments.hpp"
#include "cpu/multiply_transposed.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class T, class I, class O> struct plain_rows {
  csr_view<const T, I, O> a;
  const O* rowptr;
  const I* colind;
  const T* values;
  bool sorted;
  explicit plain_rows(csr_view<const T, I, O> of)
      : a(of), rowptr(of.rowptr().data()), colind(of.colind().data()), values(of.values().data()),
        sorted(of.order().sorted) {}
  std::int64_t rows() const { return a.shape().row; }
  std::int64_t columns() const { return a.shape().col; }
  std::int64_t entries() const { return a.size(); }
  std::int64_t first_row(int part, int parts) const {
    return cpu::first_row(rowptr, rows(), part, parts);
  }
  template <class F> void for_each_segment(std::int64_t first, std::int64_t last, F&& f) const {
    for (std::int64_t row = first; row < last; ++row) f(row, rowptr[row], rowptr[row + 1]);
  }
};

template <class T, class I, class O> struct segmented_rows {
  dynamic_csr_view<const T, I, O> a;
  const I* colind;
  const T* values;
  static constexpr bool sorted = true;
  explicit segmented_rows(dynamic_csr_view<const T, I, O> of)
      : a(of), colind(of.colind), values(of.values) {}
  std::int64_t rows() const { return a.extent.row; }
  std::int64_t columns() const { return a.extent.col; }
  std::int64_t entries() const { return a.nnz; }
  /// As plain rows are dealt out; how many entries are before one is counted. O(rows).
  std::int64_t first_row(int part, int parts) const {
    const std::int64_t target = part_begin(rows() + entries(), part, parts);
    std::int64_t row = 0;
    for (std::int64_t before = 0; row < rows() && before < target; ++row)
      before += 1 + a.row_size(row);
    return row;
  }
  /// First segments, which mostly follow each other, then the others.
  template <class F> void for_each_segment(std::int64_t first, std::int64_t last, F&& f) const {
    for (std::int64_t row = first; row < last; ++row)
      if (a.segment_count(row) > 0) f(row, a.segment_begin(row, 0), a.segment_end(row, 0));
    for (std::int64_t row = first; row < last; ++row) {
      ask_for_segments(a, row + rows_ahead, 1);
      for (int s = 1; s < a.segment_count(row); ++s)
        f(row, a.segment_begin(row, s), a.segment_end(row, s));
    }
  }
};

} // namespace

template <class T, class I, class O>
void multiply_csr_transposed(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                             vector_view<const T> x, T beta, vector_view<const T> z,
                             vector_view<T> y) {
  multiply_transposed(ctx, alpha, plain_rows<T, I, O>(a), x, beta, z, y);
}
template <class T, class I, class O>
void multiply_transposed_rows(const host_context& ctx, T alpha, dynamic_csr_view<const T, I, O> a,
                              vector_view<const T> x, T beta, vector_view<const T> z,
                              vector_view<T> y) {
  multiply_transposed(ctx, alpha, segmented_rows<T, I, O>(a), x, beta, z, y);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_csr_transposed<T, I, O>(const host_context&, T, csr_view<const T, I, O>,  \
                                                 vector_view<const T>, T, vector_view<const T>,    \
                                                 vector_view<T>);                                  \
  template void multiply_transposed_rows<T, I, O>(                                                 \
      const host_context&, T, dynamic_csr_view<const T, I, O>, vector_view<const T>, T,            \
      vector_view<const T>, vector_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
