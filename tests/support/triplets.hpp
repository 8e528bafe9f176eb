// A matrix as a plain list of triplets, free of types and spaces: what the battery and the
// generators make.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <lacuna/lacuna.hpp>

namespace lacuna::test {

struct triplets {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> row, col; ///< in stored order
  std::vector<double> value;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(value.size()); }
  void add(std::int64_t i, std::int64_t j, double v) {
    row.push_back(i);
    col.push_back(j);
    value.push_back(v);
  }
};

/// The same entries in the order of `order`.
triplets permuted(const triplets& a, const std::vector<std::int64_t>& order);
/// Stable sorts: by row alone (how CSR stores a COO matrix), by (row, column).
triplets by_row(const triplets& a);
triplets sorted(const triplets& a);
triplets exchanged(const triplets& a); ///< rows and columns swapped, entries in the same order
std::vector<std::int64_t> row_lengths(const triplets& a);
/// What the entries of a are, as COO (whole order) or as CSR (order within rows).
facts coo_facts(const triplets& a);
facts csr_facts(const triplets& a);

/// Typed host owners with the entries in stored order (CSR, CSC: within each row, column) and all
/// true facts stated.
template <class T, class I, class O> coo<T, I, O> make_coo(const triplets& a);
template <class T, class I, class O> csr<T, I, O> make_csr(const triplets& a);
template <class T, class I, class O> csc<T, I, O> make_csc(const triplets& a) {
  return csc<T, I, O>(make_csr<T, I, O>(exchanged(a)));
}

} // namespace lacuna::test
