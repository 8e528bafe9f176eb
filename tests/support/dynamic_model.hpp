// What a dynamic matrix should hold: a std::map, changed entry by entry, and random changes for
// both.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/battery.hpp"

namespace lacuna::test {

class dynamic_model {
public:
  dynamic_model(std::int64_t rows, std::int64_t cols, std::uint64_t seed)
      : rows_(rows), cols_(cols), random_(seed) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  std::int64_t below(std::int64_t n) { return random_.below(n); }

  /// Entries with values 1 to 9; `hub`: two thirds of them in one row. `more`: rows and columns
  /// beyond the matrix's.
  triplets random_batch(std::int64_t size, bool hub, std::int64_t more = 0);
  /// Of the entries that are there, about one in `of`.
  triplets some_entries(std::int64_t of);
  /// Different rows.
  std::vector<std::int64_t> random_rows(std::int64_t count);

  /// These return how many entries are new, or gone.
  std::int64_t insert(const triplets& batch, existing rule);
  std::int64_t erase(const triplets& batch);
  std::int64_t erase_rows(const std::vector<std::int64_t>& rows);
  std::int64_t erase_columns(const std::vector<std::int64_t>& cols);
  void scale_rows(const std::vector<double>& factors);
  std::int64_t replace_rows(const std::vector<std::int64_t>& rows, const triplets& b);

  [[nodiscard]] const double* find(std::int64_t row, std::int64_t col) const;
  [[nodiscard]] std::vector<std::int64_t> row_sizes() const;
  /// What differs first; empty: nothing.
  template <class T, class I, class O> std::string difference(const csr<T, I, O>& a) const;

private:
  std::map<std::pair<std::int64_t, std::int64_t>, double> entries_;
  std::int64_t rows_, cols_;
  random_source random_;
};

} // namespace lacuna::test
