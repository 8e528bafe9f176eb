// Builds a CSR matrix whose row lengths are not known before: count, scan, fill.
#pragma once

#include <lacuna/format/csr.hpp>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {

inline constexpr std::int64_t row_block = 64;

/// Blocks of up to row_block rows. count(begin, end, counts) adds the lengths of rows [begin, end)
/// to counts, which are 0; fill(begin, end, next, colind, values) writes row i from next[i - begin]
/// on. first(part) is the first row of a part. Throws bad_input if the entries do not fit O.
template <class T, class I, class O, class First, class Count, class Fill>
csr<T, I, O> build_row_blocks(const host_context& ctx, index<I> shape, facts order, int parts,
                              First first, Count count, Fill fill) {
  array<O> rowptr(ctx, std::int64_t{shape.row} + 1);
  array<std::int64_t> base(ctx, std::int64_t{parts} + 1); // first entry of each part
  rowptr[0] = 0;
  base[0] = 0;
  for_each_part(ctx, parts, 1, [&](int part, int) {
    std::int64_t sum = 0;
    const std::int64_t stop = first(part + 1);
    for (std::int64_t begin = first(part); begin < stop; begin += row_block) {
      const std::int64_t end = std::min(begin + row_block, stop);
      std::int64_t counts[row_block] = {};
      count(begin, end, counts);
      // Wraps only if the total does not fit either, which is found below.
      for (std::int64_t i = begin; i < end; ++i) {
        sum += counts[i - begin];
        rowptr[i + 1] = static_cast<O>(sum);
      }
    }
    base[part + 1] = sum;
  });
  for (int part = 0; part < parts; ++part) base[part + 1] = checked_add(base[part], base[part + 1]);
  const O nnz = checked_cast<O>(base[parts], "the number of entries");

  array<I> colind(ctx, nnz);
  array<T> values(ctx, nnz);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    std::int64_t at = base[part];
    const std::int64_t stop = first(part + 1);
    for (std::int64_t begin = first(part); begin < stop; begin += row_block) {
      const std::int64_t end = std::min(begin + row_block, stop);
      std::int64_t next[row_block];
      for (std::int64_t i = begin; i < end; ++i) {
        next[i - begin] = at;
        at = base[part] + rowptr[i + 1];
        rowptr[i + 1] = static_cast<O>(at);
      }
      fill(begin, end, next, colind.data(), values.data());
    }
  });
  return {shape, std::move(rowptr), std::move(colind), std::move(values), order};
}

/// Row by row: count(i) is the length of row i, fill(i, colind, values) writes it.
template <class T, class I, class O, class First, class Count, class Fill>
csr<T, I, O> build_rows(const host_context& ctx, index<I> shape, facts order, int parts,
                        First first, Count count, Fill fill) {
  return build_row_blocks<T, I, O>(
      ctx, shape, order, parts, first,
      [&](std::int64_t begin, std::int64_t end, std::int64_t* counts) {
        for (std::int64_t i = begin; i < end; ++i) counts[i - begin] = count(i);
      },
      [&](std::int64_t begin, std::int64_t end, const std::int64_t* next, I* colind, T* values) {
        for (std::int64_t i = begin; i < end; ++i)
          fill(i, colind + next[i - begin], values + next[i - begin]);
      });
}

} // namespace lacuna::detail::cpu
