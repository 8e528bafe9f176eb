// A generator is a shape and a function that emits the entries of row i with columns ascending.
#pragma once

#include "cpu/build_rows.hpp"

namespace lacuna::gen {

/// row(i, emit) calls emit(column, value); it runs twice, to count and to fill.
template <class T, class I, class O, class Row>
csr<T, I, O> from_rows(const host_context& ctx, std::int64_t rows, std::int64_t cols, Row row) {
  detail::require_shape("generator", rows, cols, 0);
  const index<I> shape{checked_cast<I>(rows, "rows"), checked_cast<I>(cols, "columns")};
  const int parts = cpu::part_count(ctx, rows, 256);
  return cpu::build_rows<T, I, O>(
      ctx, shape, {true, true}, parts, [=](int part) { return cpu::part_begin(rows, part, parts); },
      [=](std::int64_t i) {
        std::int64_t count = 0;
        row(i, [&](std::int64_t, double) { ++count; });
        return count;
      },
      [=](std::int64_t i, I* colind, T* values) {
        row(i, [&](std::int64_t col, double value) {
          *colind++ = static_cast<I>(col);
          *values++ = static_cast<T>(value);
        });
      });
}

} // namespace lacuna::gen
