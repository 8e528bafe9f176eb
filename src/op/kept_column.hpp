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

/// The column that an entry gets in the result; -1 if it has none. k: where it is stored.
template <class T, class I>
LACUNA_SELECT_BOTH std::int64_t kept_column(const entry_choice<T, I>& choice, std::int64_t row,
                                            std::int64_t column, T value, std::int64_t k) {
  const std::int64_t to = choice.new_columns != nullptr
                              ? static_cast<std::int64_t>(choice.new_columns[column])
                              : column - choice.first_column;
  if (to < 0 || to >= choice.shape.col) return -1;
  if (choice.flags != nullptr) return choice.flags[k] != 0 ? to : -1;
  const entry_rule& rule = choice.rule;
  const std::int64_t offset = column - row;
  if (offset < rule.least_offset || offset > rule.most_offset) return -1;
  if (rule.off_diagonal && offset == 0) return -1;
  if (rule.nonzero && value == T{0}) return -1;
  const double size = fabs(static_cast<double>(value));
  if (size < rule.least) return -1;
  if (rule.strength > 0 &&
      size < rule.strength * root_of_product(static_cast<double>(choice.diagonal[row]),
                                             static_cast<double>(choice.diagonal[column])))
    return -1;
  return to;
}

} // namespace lacuna::detail
