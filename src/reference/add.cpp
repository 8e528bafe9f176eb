#include "reference/reference.hpp"

#include <algorithm>
#include <vector>

namespace lacuna::reference {
namespace {

template <class T> struct entry {
  std::int64_t row, col;
  T value;
};

template <class T> bool before(const entry<T>& a, const entry<T>& b) {
  return a.row != b.row ? a.row < b.row : a.col < b.col;
}

/// One entry per coordinate, in order: the sum of its values, rounded to T after every step.
template <class T> void sum_duplicates(std::vector<entry<T>>& entries) {
  if (!std::is_sorted(entries.begin(), entries.end(), before<T>))
    std::stable_sort(entries.begin(), entries.end(), before<T>);
  std::size_t count = 0;
  for (const entry<T>& e : entries)
    if (count > 0 && entries[count - 1].row == e.row && entries[count - 1].col == e.col)
      entries[count - 1].value = static_cast<T>(entries[count - 1].value + e.value);
    else
      entries[count++] = e;
  entries.resize(count);
}

/// The entries of scale * A.
template <class T> std::vector<entry<T>> scaled_sums(double scale, const triplets& a) {
  std::vector<entry<T>> result;
  result.reserve(a.value.size());
  for (std::size_t k = 0; k < a.value.size(); ++k)
    result.push_back({a.row[k], a.col[k], static_cast<T>(a.value[k])});
  sum_duplicates(result);
  for (entry<T>& e : result) e.value = static_cast<T>(static_cast<T>(scale) * e.value);
  return result;
}

} // namespace

template <class T> triplets add(double alpha, const triplets& a, double beta, const triplets& b) {
  const auto left = scaled_sums<T>(alpha, a), right = scaled_sums<T>(beta, b);
  std::vector<entry<T>> sum(left.size() + right.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), sum.begin(), before<T>);
  sum_duplicates(sum);
  triplets result{a.shape, {}, {}, {}};
  result.row.reserve(sum.size());
  result.col.reserve(sum.size());
  result.value.reserve(sum.size());
  for (const entry<T>& e : sum) {
    result.row.push_back(e.row);
    result.col.push_back(e.col);
    result.value.push_back(static_cast<double>(e.value));
  }
  return result;
}

template triplets add<float>(double, const triplets&, double, const triplets&);
template triplets add<double>(double, const triplets&, double, const triplets&);

} // namespace lacuna::reference
