#include "reference/reference.hpp"

#include <cmath>
#include <limits>

namespace lacuna::reference {
namespace {

void append_entry(triplets& to, std::int64_t row, std::int64_t col, double value) {
  to.row.push_back(row);
  to.col.push_back(col);
  to.value.push_back(value);
}

} // namespace

template <class T> expected diagonal(const triplets& a) {
  const auto size = static_cast<std::size_t>(std::min(a.shape.row, a.shape.col));
  std::vector<long double> sum(size), magnitude(size);
  std::vector<std::int64_t> terms(size);
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    if (a.row[k] != a.col[k]) continue;
    const auto i = static_cast<std::size_t>(a.row[k]);
    sum[i] += a.value[k];
    magnitude[i] += std::abs(a.value[k]);
    ++terms[i];
  }
  expected result;
  for (std::size_t i = 0; i < size; ++i) {
    result.value.push_back(static_cast<double>(sum[i]));
    result.bound.push_back(terms[i] < 2
                               ? 0
                               : static_cast<double>(terms[i]) * std::numeric_limits<T>::epsilon() *
                                     static_cast<double>(magnitude[i]));
  }
  return result;
}

template <class T>
triplets scale(const triplets& a, const std::vector<T>& rows, const std::vector<T>& columns) {
  triplets result = a;
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    T value = static_cast<T>(a.value[k]);
    if (!rows.empty()) value *= rows[static_cast<std::size_t>(a.row[k])];
    if (!columns.empty()) value *= columns[static_cast<std::size_t>(a.col[k])];
    result.value[k] = static_cast<double>(value);
  }
  return result;
}

triplets filter(const triplets& a,
                const std::function<bool(std::int64_t, std::int64_t, double)>& keep) {
  triplets result{a.shape, {}, {}, {}};
  for (std::size_t k = 0; k < a.value.size(); ++k)
    if (keep(a.row[k], a.col[k], a.value[k])) append_entry(result, a.row[k], a.col[k], a.value[k]);
  return result;
}

triplets submatrix(const triplets& a, const std::vector<std::int64_t>& rows,
                   const std::vector<std::int64_t>& columns) {
  std::vector<std::vector<std::size_t>> in_row(static_cast<std::size_t>(a.shape.row));
  for (std::size_t k = 0; k < a.value.size(); ++k)
    in_row[static_cast<std::size_t>(a.row[k])].push_back(k);
  std::vector<std::int64_t> number(static_cast<std::size_t>(a.shape.col), -1);
  for (std::size_t j = 0; j < columns.size(); ++j)
    number[static_cast<std::size_t>(columns[j])] = static_cast<std::int64_t>(j);
  triplets result{
      {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns.size())},
      {},
      {},
      {}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::size_t k : in_row[static_cast<std::size_t>(rows[i])]) {
      const std::int64_t to = number[static_cast<std::size_t>(a.col[k])];
      if (to >= 0) append_entry(result, static_cast<std::int64_t>(i), to, a.value[k]);
    }
  return result;
}

template expected diagonal<float>(const triplets&);
template expected diagonal<double>(const triplets&);
template triplets scale(const triplets&, const std::vector<float>&, const std::vector<float>&);
template triplets scale(const triplets&, const std::vector<double>&, const std::vector<double>&);

} // namespace lacuna::reference
