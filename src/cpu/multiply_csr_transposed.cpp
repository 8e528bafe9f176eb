// y = alpha A^T x + beta z on the host, A a CSR or a dynamic CSR as it is.
#include <lacuna/op/multiply.hpp>

#include "cpu/multiply_transposed.hpp"
#include <lacuna/format/dynamic_csr.hpp>

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
  template <class F> void for_each_segment(std::int64_t row, F&& f) const {
    f(rowptr[row], rowptr[row + 1]);
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
  template <class F> void for_each_segment(std::int64_t row, F&& f) const {
    for (int s = 0; s < a.segment_count(row); ++s)
      f(a.segment_begin(row, s), a.segment_end(row, s));
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
