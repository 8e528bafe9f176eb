// A fixed sequence of changes to a dynamic matrix, of every kind, with or without a journal: change
// number n follows from n alone.
#pragma once

#include <lacuna/io/journal.hpp>

#include "support/battery.hpp"

namespace lacuna::test {

template <class M> const M& matrix_of(const M& m) { return m; }
template <class M> const M& matrix_of(const io::journaled<M>& m) { return m.matrix(); }

/// Entries in the upper left `rows` x `cols`, some of them twice.
template <class T, class I, class O>
coo<T, I, O> some_entries(random_source& random, std::int64_t rows, std::int64_t cols,
                          std::int64_t size) {
  const host_context host({1});
  coo<T, I, O> batch(host, lacuna::index<I>(rows, cols), static_cast<O>(size));
  for (std::int64_t k = 0; k < size; ++k) {
    batch.rowind()[k] = static_cast<I>(random.below(rows));
    batch.colind()[k] = static_cast<I>(random.below(cols));
    batch.values()[k] = static_cast<T>(random.uniform() - 0.5);
  }
  return batch;
}

/// m is a dynamic_csr, or a journaled one. `size`: entries of a batch. Rows and columns from 40 on
/// come by batches that make it grow.
template <space S, class M>
void make_change(const context<S>& ctx, M& m, std::int64_t n, std::int64_t size) {
  using matrix = std::remove_cvref_t<decltype(matrix_of(m))>;
  using T = typename matrix::scalar_type;
  using I = typename matrix::index_type;
  using O = typename matrix::offset_type;
  const host_context host({1});
  random_source random(static_cast<std::uint64_t>(n) * 7919 + 1);
  const std::int64_t rows = matrix_of(m).shape().row, cols = matrix_of(m).shape().col;
  const auto put = [&](std::int64_t r, std::int64_t c) {
    return copy_to(ctx, some_entries<T, I, O>(random, r, c, size));
  };
  const auto list = [&](std::int64_t limit) {
    array<I> places(host, 3);
    for (I& each : places) each = static_cast<I>(random.below(limit));
    return copy_to(ctx, places);
  };
  switch (n % 12) {
  case 3: return static_cast<void>(erase(ctx, m, put(rows, cols).view()));
  case 4: return static_cast<void>(insert(ctx, m, put(rows, cols).view(), {existing::replace}));
  case 5: return static_cast<void>(erase_rows(ctx, m, list(rows).view()));
  case 6: return static_cast<void>(insert(ctx, m, put(rows, cols).view(), {existing::append}));
  case 7: return static_cast<void>(erase_columns(ctx, m, list(cols).view()));
  case 8: {
    array<T> factors(host, rows);
    for (std::int64_t i = 0; i < rows; ++i) factors[i] = static_cast<T>((i + n / 12) % 2 + 0.5);
    return scale_rows(ctx, m, copy_to(ctx, factors).view());
  }
  case 9: {
    const std::int64_t side = 40 + n / 12 % 8;
    return static_cast<void>(
        insert(ctx, m, put(side, side).view(), {existing::keep, outside::grow}));
  }
  case 10: return compact(ctx, m, {.merge = true});
  case 11: {
    if (rows != cols) return static_cast<void>(insert(ctx, m, put(rows, cols).view()));
    return static_cast<void>(erase_vertices(ctx, m, list(rows).view()));
  }
  case 2: {
    array<I> replaced(host, 3);
    replaced[0] = 0, replaced[1] = static_cast<I>(1 + n % (rows - 2));
    replaced[2] = static_cast<I>(rows - 1);
    const auto b = to_csr(ctx, put(3, cols));
    return static_cast<void>(replace_rows(ctx, m, copy_to(ctx, replaced).view(), b));
  }
  default: return static_cast<void>(insert(ctx, m, put(rows, cols).view()));
  }
}

} // namespace lacuna::test
