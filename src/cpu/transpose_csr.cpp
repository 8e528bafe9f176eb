#include <lacuna/op/transpose.hpp>

#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void transpose_csr(const host_context& ctx, csr_view<const T, I, O> a, csr_view<T, I, O> b) {
  const auto [rows, cols] = a.shape();
  const std::int64_t nnz = a.size();
  if (cols == 0 && b.rowptr().data() == nullptr) return;
  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const T* const values = a.values().data();
  I* const b_colind = b.colind().data();
  T* const b_values = b.values().data();
  const std::int64_t entry_bytes = sizeof(I) + sizeof(T);
  scatter_by_key(ctx, colind, nnz, cols, nnz * entry_bytes / std::int64_t{sizeof(O)},
                 b.rowptr().data(),
                 [=, m = rows](std::int64_t begin, std::int64_t end, O* next, std::int64_t low) {
                   for_each_row_piece(rowptr, m, begin, end,
                                      [=](std::int64_t row, std::int64_t first, std::int64_t last) {
                                        for (std::int64_t k = first; k < last; ++k) {
                                          const O to = next[colind[k] - low]++;
                                          b_colind[to] = static_cast<I>(row);
                                          b_values[to] = values[k];
                                        }
                                      });
                 });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void transpose_csr(const host_context&, csr_view<const T, I, O>, csr_view<T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
