#include <lacuna/op/assemble.hpp>

#include <fmt/format.h>

#include "cpu/scatter.hpp"

namespace lacuna::detail {

void throw_no_blocks(const char* op) {
  throw bad_input(std::string(op) + ": there is no matrix to put together");
}
void throw_other_elements(std::int64_t rows, std::int64_t cols, std::int64_t to_rows,
                          std::int64_t to_cols) {
  throw bad_input(fmt::format("reshape: a {} x {} matrix has not as many elements as {} x {}", rows,
                              cols, to_rows, to_cols));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {
namespace {

/// f(row) for the rows of a block, dealt out by rows and entries.
template <class T, class I, class O, class F>
void for_each_row_of(const host_context& ctx, csr_view<const T, I, O> a, F f) {
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  for_each_part(ctx, rows + a.size(), entry_grain, [&](int part, int parts) {
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i) f(i);
  });
}

} // namespace

template <class T, class I, class O>
csr<T, I, O> place_blocks(const host_context& ctx, index<I> shape,
                          const std::vector<placed_block<T, I, O, space::host>>& blocks,
                          facts order) {
  const std::int64_t rows = shape.row;
  std::int64_t entries = 0;
  for (const auto& block : blocks) entries = checked_add(entries, block.a.size());
  csr<T, I, O> c(ctx, shape, checked_cast<O>(entries, "the number of entries"), order);
  array<O> next(ctx, rows); // where a row's next entry goes
  array<std::int64_t> sums(ctx, part_count(ctx, rows, entry_grain));
  O* const rowptr = c.rowptr().data();
  for_each_range(ctx, rows + 1, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(rowptr + begin, rowptr + end, O{0});
  });
  for (const auto& block : blocks)
    for_each_row_of(ctx, block.a, [&](std::int64_t i) {
      rowptr[block.row + i + 1] += block.a.rowptr()[i + 1] - block.a.rowptr()[i];
    });
  inclusive_scan(ctx, rowptr, rows, sums);
  for_each_range(ctx, rows, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    std::copy(rowptr + begin, rowptr + end, next.data() + begin);
  });
  for (const auto& block : blocks) {
    const I *const col = block.a.colind().data(), by = static_cast<I>(block.col);
    for_each_row_of(ctx, block.a, [&](std::int64_t i) {
      const std::int64_t first = block.a.rowptr()[i], last = block.a.rowptr()[i + 1];
      const std::int64_t to = next[block.row + i];
      for (std::int64_t k = first; k < last; ++k) c.colind()[to + k - first] = col[k] + by;
      std::copy(block.a.values().data() + first, block.a.values().data() + last,
                c.values().data() + to);
      next[block.row + i] = static_cast<O>(to + (last - first));
    });
  }
  return c;
}

template <class T, class I, class O>
csr<T, I, O> kron_csr(const host_context& ctx, csr_view<const T, I, O> a,
                      csr_view<const T, I, O> b) {
  const std::int64_t a_rows = a.shape().row, b_rows = b.shape().row;
  const std::int64_t rows = checked_mul(a_rows, b_rows);
  const index<I> shape{
      checked_cast<I>(rows, "the number of rows"),
      checked_cast<I>(checked_mul(a.shape().col, b.shape().col), "the number of columns")};
  const O entries = checked_cast<O>(checked_mul(a.size(), b.size()), "the number of entries");
  csr<T, I, O> c(ctx, shape, entries,
                 {a.order().sorted && b.order().sorted, a.order().unique && b.order().unique});
  O* const rowptr = c.rowptr().data();
  const O *const a_rowptr = a.rowptr().data(), *const b_rowptr = b.rowptr().data();
  // The entries before a row are known without counting.
  const auto before = [=, b_size = std::int64_t{b.size()}](std::int64_t row) {
    const std::int64_t i = row / b_rows, j = row % b_rows;
    if (j == 0) return a_rowptr[i] * b_size;
    return a_rowptr[i] * b_size + (a_rowptr[i + 1] - a_rowptr[i]) * std::int64_t{b_rowptr[j]};
  };
  rowptr[0] = 0;
  if (rows == 0) return c;
  const auto first_of = [&](int part, int parts) {
    const std::int64_t target = part_begin(rows + entries, part, parts);
    std::int64_t low = 0, high = rows;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (middle + before(middle) < target)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const I width = b.shape().col;
  for_each_part(ctx, rows + entries, entry_grain, [&](int part, int parts) {
    const std::int64_t end = part + 1 == parts ? rows : first_of(part + 1, parts);
    for (std::int64_t row = first_of(part, parts); row < end; ++row) {
      const std::int64_t i = row / b_rows, j = row % b_rows;
      std::int64_t at = before(row);
      for (std::int64_t k = a_rowptr[i]; k < a_rowptr[i + 1]; ++k) {
        const I first_col = a.colind()[k] * width;
        const T by = a.values()[k];
        for (std::int64_t l = b_rowptr[j]; l < b_rowptr[j + 1]; ++l, ++at) {
          c.colind()[at] = first_col + b.colind()[l];
          c.values()[at] = by * b.values()[l];
        }
      }
      rowptr[row + 1] = static_cast<O>(at);
    }
  });
  return c;
}

template <class I>
void reshape_indices(const host_context& ctx, std::int64_t from_cols, std::int64_t to_cols,
                     vector_view<I> rowind, vector_view<I> colind) {
  for_each_range(ctx, rowind.size(), entry_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t element = rowind[k] * from_cols + colind[k];
      rowind[k] = static_cast<I>(element / to_cols);
      colind[k] = static_cast<I>(element % to_cols);
    }
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> place_blocks(const host_context&, index<I>,                                \
                                     const std::vector<placed_block<T, I, O, space::host>>&,       \
                                     facts);                                                       \
  template csr<T, I, O> kron_csr(const host_context&, csr_view<const T, I, O>,                     \
                                 csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
template void reshape_indices(const host_context&, std::int64_t, std::int64_t,
                              vector_view<std::int32_t>, vector_view<std::int32_t>);
template void reshape_indices(const host_context&, std::int64_t, std::int64_t,
                              vector_view<std::int64_t>, vector_view<std::int64_t>);

} // namespace lacuna::detail::cpu
