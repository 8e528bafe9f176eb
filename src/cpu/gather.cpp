#include <lacuna/op/gather.hpp>

#include <fmt/format.h>

#include "cpu/build_rows.hpp"

namespace lacuna::detail {

void throw_outside(const char* op, const char* what, std::int64_t at, std::int64_t index,
                   std::int64_t limit) {
  throw bad_input(
      fmt::format("{}: {}[{}] = {} is outside of the {} that A has", op, what, at, index, limit));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {

template <class T, class I, class O>
void look_up_elements(const host_context& ctx, csr_view<const T, I, O> a, vector_view<const I> rows,
                      vector_view<const I> columns, vector_view<T> result) {
  constexpr std::int64_t grain = 1024; // an element is a cache miss or two
  const bool sorted = a.order().sorted;
  const I* const colind = a.colind().data();
  for_each_range(ctx, result.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const I col = columns[n];
      const I* const last = colind + a.rowptr()[rows[n] + 1];
      const I* at = colind + a.rowptr()[rows[n]];
      T sum = 0;
      if (sorted) {
        for (at = std::lower_bound(at, last, col); at != last && *at == col; ++at)
          sum += a.values()[at - colind];
      } else {
        for (; at != last; ++at)
          if (*at == col) sum += a.values()[at - colind];
      }
      result[n] = sum;
    }
  });
}

template <class T, class I, class O>
csr<T, I, O> gather_columns(const host_context& ctx, csr_view<const T, I, O> a, const I* rows,
                            std::int64_t first_row, std::int64_t count,
                            vector_view<const I> columns, facts order) {
  const std::int64_t cols = a.shape().col;
  const index<I> shape{checked_cast<I>(count, "the number of rows"), columns.size()};
  // Where each column goes: positions of the list, column by column.
  array<I> start(ctx, cols + 1), place(ctx, columns.size());
  std::fill(start.begin(), start.end(), I{0});
  for (const I j : columns) ++start[j];
  for (std::int64_t j = 0, sum = 0; j <= cols; ++j) start[j] = static_cast<I>(sum += start[j]);
  for (std::int64_t p = columns.size(); p-- > 0;) place[--start[columns[p]]] = static_cast<I>(p);

  const O* const rowptr = a.rowptr().data();
  const I* const col = a.colind().data();
  const T* const value = a.values().data();
  const auto row_at = [=](std::int64_t i) {
    return rows != nullptr ? static_cast<std::int64_t>(rows[i]) : first_row + i;
  };
  const bool all = rows == nullptr && count == a.shape().row;
  const int parts = part_count(ctx, count + a.size(), entry_grain);
  return build_rows<T, I, O>(
      ctx, shape, order, parts,
      [=](int part) { // a list may have long rows and short ones: even shares of it
        return all ? cpu::first_row(rowptr, count, part, parts) : part_begin(count, part, parts);
      },
      [&](std::int64_t i) {
        const std::int64_t row = row_at(i);
        std::int64_t entries = 0;
        for (std::int64_t k = rowptr[row]; k < rowptr[row + 1]; ++k)
          entries += start[col[k] + 1] - start[col[k]];
        return entries;
      },
      [&](std::int64_t i, I* to_col, T* to_value) {
        const std::int64_t row = row_at(i);
        for (std::int64_t k = rowptr[row]; k < rowptr[row + 1]; ++k)
          for (I p = start[col[k]]; p < start[col[k] + 1]; ++p) {
            *to_col++ = place[p];
            *to_value++ = value[k];
          }
      });
}

template <class T, class I, class O>
csr<T, I, O> gather_rows(const host_context& ctx, csr_view<const T, I, O> a,
                         vector_view<const I> rows) {
  const O* const rowptr = a.rowptr().data();
  const index<I> shape{checked_cast<I>(rows.size(), "the number of rows"), a.shape().col};
  const int parts = part_count(ctx, rows.size() + a.size(), entry_grain);
  return build_rows<T, I, O>(
      ctx, shape, a.order(), parts, [=](int part) { return part_begin(rows.size(), part, parts); },
      [=](std::int64_t i) { return std::int64_t{rowptr[rows[i] + 1]} - rowptr[rows[i]]; },
      [=](std::int64_t i, I* to_col, T* to_value) {
        const std::int64_t first = rowptr[rows[i]], last = rowptr[rows[i] + 1];
        for (std::int64_t k = first; k < last; ++k) to_col[k - first] = a.colind()[k];
        for (std::int64_t k = first; k < last; ++k) to_value[k - first] = a.values()[k];
      });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void look_up_elements(const host_context&, csr_view<const T, I, O>,                     \
                                 vector_view<const I>, vector_view<const I>, vector_view<T>);      \
  template csr<T, I, O> gather_rows(const host_context&, csr_view<const T, I, O>,                  \
                                    vector_view<const I>);                                         \
  template csr<T, I, O> gather_columns(const host_context&, csr_view<const T, I, O>, const I*,     \
                                       std::int64_t, std::int64_t, vector_view<const I>, facts);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
