// Internal: the rule of filter, the same on host and device.
#pragma once

#include <cmath>

#include <lacuna/op/select.hpp>

#ifdef __CUDACC__
#define LACUNA_SELECT_BOTH __host__ __device__
#else
#define LACUNA_SELECT_BOTH
#endif

namespace lacuna::detail {

/// sqrt(|a b|). The product is rounded once, so that equal factors give their exact magnitude;
/// beyond the range of products, the roots are multiplied.
LACUNA_SELECT_BOTH inline double root_of_product(double a, double b) {
  const double product = fabs(a) * fabs(b);
  if (product > 1e-290 && product < 1e300) return sqrt(product);
  return sqrt(fabs(a)) * sqrt(fabs(b));
}

/// Whether a rule has to look at values.
constexpr bool reads_values(const entry_rule& rule) {
  return rule.nonzero || rule.least > 0 || rule.strength > 0;
}

/// The column that an entry's column gets in the result; outside of it if it gets none.
template <class T, class I>
LACUNA_SELECT_BOTH std::int64_t new_column(const entry_choice<T, I>& choice, std::int64_t column) {
  return choice.new_columns != nullptr ? static_cast<std::int64_t>(choice.new_columns[column])
                                       : column - choice.first_column;
}

/// Whether the value at (row, column) is kept.
template <class T, class I>
LACUNA_SELECT_BOTH bool keeps_value(const entry_choice<T, I>& choice, std::int64_t row,
                                    std::int64_t column, T value) {
  const entry_rule& rule = choice.rule;
  const double size = fabs(static_cast<double>(value));
  if ((rule.nonzero && value == T{0}) || size < rule.least) return false;
  return !(rule.strength > 0 &&
           size < rule.strength * root_of_product(static_cast<double>(choice.diagonal[row]),
                                                  static_cast<double>(choice.diagonal[column])));
}

/// Whether the entry that is stored k-th, at (row, column), is kept. Without jumps as long as only
/// places matter: which entries are kept is as good as random.
template <class T, class I>
LACUNA_SELECT_BOTH bool keeps_entry(const entry_choice<T, I>& choice, bool by_value,
                                    std::int64_t row, std::int64_t column, const T* values,
                                    std::int64_t k) {
  const entry_rule& rule = choice.rule;
  const std::int64_t to = new_column(choice, column), offset = column - row;
  const bool in_place = static_cast<bool>(
      static_cast<int>(to >= 0) & static_cast<int>(to < choice.shape.col) &
      static_cast<int>(offset >= rule.least_offset) & static_cast<int>(offset <= rule.most_offset) &
      (static_cast<int>(!rule.off_diagonal) | static_cast<int>(offset != 0)));
  if (choice.flags != nullptr) return in_place && choice.flags[k] != 0;
  if (!by_value) return in_place;
  return in_place && keeps_value(choice, row, column, values[k]);
}

} // namespace lacuna::detail
