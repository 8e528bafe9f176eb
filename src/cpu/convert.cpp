#include <lacuna/op/convert.hpp>

#include "cpu/build_rows.hpp"
#include "cpu/row_starts.hpp"
#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class T> void copy(const host_context& ctx, const T* from, std::int64_t size, T* to) {
  for_each_range(ctx, size, entry_grain, [=](std::int64_t begin, std::int64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

/// Calls visit(i, j, value) for what is not 0 in rows [begin, end), along the layout; columns
/// ascend in each row.
template <class T, class F>
void for_each_nonzero(dense_view<const T> a, std::int64_t begin, std::int64_t end, F&& visit) {
  const auto see = [&](std::int64_t i, std::int64_t j) {
    const T v = a(i, j);
    if (v != 0) visit(i, j, v);
  };
  if (a.layout() == layout::row_major)
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < a.shape().col; ++j) see(i, j);
  else
    for (std::int64_t j = 0; j < a.shape().col; ++j)
      for (std::int64_t i = begin; i < end; ++i) see(i, j);
}

template <class T> void set_zero(const host_context& ctx, dense_view<T> a) {
  const bool by_rows = a.layout() == layout::row_major;
  const std::int64_t lines = by_rows ? a.shape().row : a.shape().col;
  const std::int64_t length = by_rows ? a.shape().col : a.shape().row;
  for_each_range(ctx, lines * length, entry_grain, [=](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t line = begin / length, at = begin % length;
      const std::int64_t size = std::min(length - at, end - begin);
      std::fill_n(a.data() + line * a.ld() + at, size, T{0});
      begin += size;
    }
  });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> coo_to_csr(const host_context& ctx, coo_view<const T, I, O> a) {
  csr<T, I, O> result(ctx, a.shape(), a.size(), a.order());
  const std::int64_t rows = a.shape().row, nnz = a.size();
  const I* const rowind = a.rowind().data();
  const I* const colind = a.colind().data();
  const T* const values = a.values().data();
  I* const to_colind = result.colind().data();
  T* const to_values = result.values().data();
  if (a.order().sorted || ascends(ctx, a.rowind())) {
    find_row_starts(ctx, a.rowind(), rows, result.rowptr().data());
    copy(ctx, colind, nnz, to_colind);
    copy(ctx, values, nnz, to_values);
    return result;
  }
  const std::int64_t entry_bytes = sizeof(I) + sizeof(T);
  scatter_by_key(ctx, rowind, nnz, rows, nnz * entry_bytes / std::int64_t{sizeof(O)},
                 result.rowptr().data(),
                 [=](std::int64_t begin, std::int64_t end, O* next, std::int64_t low) {
                   for (std::int64_t k = begin; k < end; ++k) {
                     const O to = next[rowind[k] - low]++;
                     to_colind[to] = colind[k];
                     to_values[to] = values[k];
                   }
                 });
  return result;
}

template <class T, class I, class O>
coo<T, I, O> csr_to_coo(const host_context& ctx, csr_view<const T, I, O> a) {
  coo<T, I, O> result(ctx, a.shape(), a.size(), a.order());
  I* const rowind = result.rowind().data();
  for_each_range(ctx, a.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for_each_row_piece(a.rowptr().data(), a.shape().row, begin, end,
                       [=](std::int64_t row, std::int64_t first, std::int64_t last) {
                         std::fill(rowind + first, rowind + last, static_cast<I>(row));
                       });
  });
  copy(ctx, a.colind().data(), a.size(), result.colind().data());
  copy(ctx, a.values().data(), a.size(), result.values().data());
  return result;
}

template <class T, class I, class O>
csr<T, I, O> dense_to_csr(const host_context& ctx, dense_view<const T> a) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const index<I> shape{checked_cast<I>(rows, "rows"), checked_cast<I>(cols, "columns")};
  const int parts = static_cast<int>(std::min<std::int64_t>(
      part_count(ctx, rows * cols, entry_grain), std::max<std::int64_t>(rows, 1)));
  return build_row_blocks<T, I, O>(
      ctx, shape, {true, true}, parts, [=](int part) { return part_begin(rows, part, parts); },
      [=](std::int64_t begin, std::int64_t end, std::int64_t* counts) {
        for_each_nonzero(a, begin, end,
                         [=](std::int64_t i, std::int64_t, T) { ++counts[i - begin]; });
      },
      [=](std::int64_t begin, std::int64_t end, std::int64_t* next, I* colind, T* values) {
        for_each_nonzero(a, begin, end, [=](std::int64_t i, std::int64_t j, T v) {
          const std::int64_t to = next[i - begin]++;
          colind[to] = static_cast<I>(j);
          values[to] = v;
        });
      });
}

template <class T, class I, class O>
void csr_to_dense(const host_context& ctx, csr_view<const T, I, O> a, dense_view<T> result) {
  set_zero(ctx, result);
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  for_each_part(ctx, rows + a.size(), entry_grain, [=](int part, int parts) {
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i)
      for (std::int64_t k = rowptr[i]; k < rowptr[i + 1]; ++k)
        result(i, a.colind()[k]) += a.values()[k];
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> coo_to_csr(const host_context&, coo_view<const T, I, O>);                  \
  template coo<T, I, O> csr_to_coo(const host_context&, csr_view<const T, I, O>);                  \
  template csr<T, I, O> dense_to_csr(const host_context&, dense_view<const T>);                    \
  template void csr_to_dense(const host_context&, csr_view<const T, I, O>, dense_view<T>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
