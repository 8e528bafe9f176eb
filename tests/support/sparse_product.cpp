#include "support/sparse_product.hpp"

namespace lacuna::test {

template <class T, class I, class O>
reference::expected_matrix expected_sparse(const csr<T, I, O>& a, const csr<T, I, O>& b,
                                           double alpha, bool a_transposed, bool b_transposed) {
  auto c =
      reference::multiply_sparse<T, I, O>(a.view(), b.view(), alpha, a_transposed, b_transposed);
  if (values_in_use() == value_kind::integers) {
    // An entry has a product for each entry of A's row, or several where B has duplicates.
    const std::int64_t repeats = b.order().unique ? 1 : longest_line(b, b_transposed);
    expect_exactly(c.entries, alpha, 0,
                   std::abs(alpha) * largest(a.values()) * largest(b.values()) *
                       static_cast<double>(longest_line(a, a_transposed) * repeats));
  }
  return c;
}

template <class T, class I, class O, space S>
::testing::AssertionResult is_product(const csr<T, I, O, S>& got,
                                      const reference::expected_matrix& want) {
  if (got.shape().row != want.shape.row || got.shape().col != want.shape.col)
    return ::testing::AssertionFailure() << "is " << got.shape().row << " x " << got.shape().col;
  if (!got.order().sorted || !got.order().unique)
    return ::testing::AssertionFailure() << "does not state that it is sorted and unique";
  const auto entries = entries_of(got);
  if (auto r = same(entries.row, want.row); !r) return r << " (row)";
  if (auto r = same(entries.col, want.col); !r) return r << " (col)";
  return within(host_vector(got.values()), want.entries);
}

triplets random_matrix(std::int64_t rows, std::int64_t cols, std::int64_t per_row,
                       std::uint64_t seed) {
  triplets m{"random", rows, cols, {}, {}, {}};
  if (cols == 0) return m;
  random_source random(seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t count = std::min(random.below(2 * per_row + 1), cols);
    const std::int64_t step = count == 0 ? 1 : cols / count;
    for (std::int64_t k = 0; k < count; ++k)
      m.add(i, k * step + random.below(step), random.value());
  }
  return m;
}

triplets grouped_matrix(std::int64_t row_groups, std::int64_t col_groups, std::int64_t per_row,
                        int most, std::uint64_t seed) {
  // Where groups begin; their sizes are 1, 2, … most, 1, 2, …
  const auto start = [&](std::int64_t group) {
    const std::int64_t left = group % most;
    return group / most * most * (most + 1) / 2 + left * (left + 1) / 2;
  };
  const triplets groups = random_matrix(row_groups, col_groups, per_row, seed);
  triplets m{"groups of rows", start(row_groups), start(col_groups), {}, {}, {}};
  random_source random(seed + 1);
  for (std::size_t first = 0, last; first < groups.row.size(); first = last) {
    last = first;
    while (last < groups.row.size() && groups.row[last] == groups.row[first]) ++last;
    for (std::int64_t i = start(groups.row[first]); i < start(groups.row[first] + 1); ++i)
      for (std::size_t k = first; k < last; ++k)
        for (std::int64_t j = start(groups.col[k]); j < start(groups.col[k] + 1); ++j)
          m.add(i, j, random.value());
  }
  return m;
}

std::int64_t product_count(const triplets& a, const triplets& b) {
  const auto lengths = row_lengths(b);
  std::int64_t sum = 0;
  for (const auto j : a.col) sum += lengths[static_cast<std::size_t>(j)];
  return sum;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template reference::expected_matrix expected_sparse(const csr<T, I, O>&, const csr<T, I, O>&,    \
                                                      double, bool, bool);                         \
  template ::testing::AssertionResult is_product(const csr<T, I, O>&,                              \
                                                 const reference::expected_matrix&);               \
  template ::testing::AssertionResult is_product(const csr<T, I, O, space::device>&,               \
                                                 const reference::expected_matrix&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::test
