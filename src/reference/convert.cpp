#include "reference/reference.hpp"

#include <algorithm>
#include <numeric>

namespace lacuna::reference {
namespace {

void append(triplets& t, std::int64_t row, std::int64_t col, double value) {
  t.row.push_back(row);
  t.col.push_back(col);
  t.value.push_back(value);
}
triplets with_room(index<std::int64_t> shape, std::size_t entries) {
  triplets result{shape, {}, {}, {}};
  result.row.reserve(entries);
  result.col.reserve(entries);
  result.value.reserve(entries);
  return result;
}

/// The entries in the order in which `before` stably sorts their positions.
template <class Before> triplets reordered(const triplets& a, Before before) {
  std::vector<std::size_t> order(a.value.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (std::is_sorted(order.begin(), order.end(), before)) return a;
  std::stable_sort(order.begin(), order.end(), before);
  triplets result = with_room(a.shape, order.size());
  for (const auto k : order) append(result, a.row[k], a.col[k], a.value[k]);
  return result;
}

} // namespace

template <class T, class I, class O> triplets entries(csr_view<const T, I, O> a) {
  triplets result = with_room({a.shape().row, a.shape().col}, static_cast<std::size_t>(a.size()));
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
      append(result, i, a.colind()[k], a.values()[k]);
  return result;
}

template <class T, class I, class O> triplets entries(csc_view<const T, I, O> a) {
  auto result = entries(a.transpose());
  std::swap(result.row, result.col);
  std::swap(result.shape.row, result.shape.col);
  return result;
}

template <class T, class I, class O> triplets entries(coo_view<const T, I, O> a) {
  triplets result = with_room({a.shape().row, a.shape().col}, static_cast<std::size_t>(a.size()));
  for (std::int64_t k = 0; k < a.size(); ++k)
    append(result, a.rowind()[k], a.colind()[k], a.values()[k]);
  return result;
}

template <class T> triplets entries(dense_view<const T> a) {
  triplets result{a.shape(), {}, {}, {}};
  for (std::int64_t i = 0; i < a.shape().row; ++i)
    for (std::int64_t j = 0; j < a.shape().col; ++j)
      if (a(i, j) != 0) append(result, i, j, a(i, j));
  return result;
}

triplets by_row(const triplets& a) {
  return reordered(a, [&](std::size_t p, std::size_t q) { return a.row[p] < a.row[q]; });
}

triplets sort(const triplets& a) {
  return reordered(a, [&](std::size_t p, std::size_t q) {
    return a.row[p] != a.row[q] ? a.row[p] < a.row[q] : a.col[p] < a.col[q];
  });
}

triplets transpose(const triplets& a) {
  return by_row({{a.shape.col, a.shape.row}, a.col, a.row, a.value});
}

triplets merge(const triplets& a, duplicates rule) {
  const auto s = sort(a);
  triplets result = with_room(a.shape, s.value.size());
  for (std::size_t k = 0; k < s.value.size(); ++k) {
    if (k == 0 || s.row[k] != s.row[k - 1] || s.col[k] != s.col[k - 1])
      append(result, s.row[k], s.col[k], s.value[k]);
    else if (rule == duplicates::sum)
      result.value.back() += s.value[k];
    else if (rule == duplicates::last)
      result.value.back() = s.value[k];
  }
  return result;
}

std::vector<double> to_dense(const triplets& a) {
  std::vector<double> result(static_cast<std::size_t>(checked_mul(a.shape.row, a.shape.col)));
  for (std::size_t k = 0; k < a.value.size(); ++k)
    result[static_cast<std::size_t>(a.row[k] * a.shape.col + a.col[k])] += a.value[k];
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template triplets entries(csr_view<const T, I, O>);                                              \
  template triplets entries(csc_view<const T, I, O>);                                              \
  template triplets entries(coo_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T) template triplets entries(dense_view<const T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::reference
