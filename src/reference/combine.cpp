#include "reference/elementwise.hpp"

namespace lacuna::reference {

template <class T>
triplets combine(double alpha, const triplets& a, double beta, const triplets& b,
                 const std::function<double(double, double)>& rule, bool of_both) {
  const triplets none{a.shape, {}, {}, {}};
  const triplets left = add<T>(alpha, a, 1, none), right = add<T>(beta, b, 1, none);
  triplets result{a.shape, {}, {}, {}};
  std::size_t i = 0, j = 0;
  while (i < left.value.size() || j < right.value.size()) {
    const bool has_left = i < left.value.size(), has_right = j < right.value.size();
    const auto at_left =
        has_left ? std::pair(left.row[i], left.col[i]) : std::pair(a.shape.row, a.shape.col);
    const auto at_right =
        has_right ? std::pair(right.row[j], right.col[j]) : std::pair(a.shape.row, a.shape.col);
    const auto at = std::min(at_left, at_right);
    const bool in_left = at_left == at, in_right = at_right == at;
    const double value = static_cast<double>(
        static_cast<T>(rule(in_left ? left.value[i] : 0, in_right ? right.value[j] : 0)));
    if (of_both ? in_left && in_right : value != 0) {
      result.row.push_back(at.first);
      result.col.push_back(at.second);
      result.value.push_back(value);
    }
    i += in_left ? 1 : 0;
    j += in_right ? 1 : 0;
  }
  return result;
}

triplets complement(const triplets& a) {
  triplets result{a.shape, {}, {}, {}};
  const triplets stored = merge(a, duplicates::first);
  std::size_t k = 0;
  for (std::int64_t i = 0; i < a.shape.row; ++i)
    for (std::int64_t j = 0; j < a.shape.col; ++j)
      if (k < stored.row.size() && stored.row[k] == i && stored.col[k] == j) {
        ++k;
      } else {
        result.row.push_back(i);
        result.col.push_back(j);
        result.value.push_back(1);
      }
  return result;
}

template triplets combine<float>(double, const triplets&, double, const triplets&,
                                 const std::function<double(double, double)>&, bool);
template triplets combine<double>(double, const triplets&, double, const triplets&,
                                  const std::function<double(double, double)>&, bool);

} // namespace lacuna::reference
