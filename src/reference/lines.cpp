#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/elementwise.hpp"

namespace lacuna::reference {

template <class T> expected reduce(const triplets& a, reduction how, side of) {
  const triplets none{a.shape, {}, {}, {}};
  const triplets m = how == reduction::sum ? a : add<T>(1, a, 1, none);
  const std::int64_t lines = of == side::all ? 1 : of == side::rows ? a.shape.row : a.shape.col;
  const std::int64_t length = of == side::all    ? a.shape.row * a.shape.col
                              : of == side::rows ? a.shape.col
                                                 : a.shape.row;
  const auto size = static_cast<std::size_t>(lines);
  std::vector<long double> reduced(size), magnitude(size);
  std::vector<std::int64_t> stored(size);
  for (std::size_t k = 0; k < m.value.size(); ++k) {
    const auto i = static_cast<std::size_t>(of == side::all    ? 0
                                            : of == side::rows ? m.row[k]
                                                               : m.col[k]);
    const long double v = m.value[k];
    const bool first = stored[i]++ == 0;
    magnitude[i] += how == reduction::sum_of_squares ? v * v : std::abs(v);
    switch (how) {
    case reduction::sum: reduced[i] += v; break;
    case reduction::sum_of_magnitudes: reduced[i] += std::abs(v); break;
    case reduction::sum_of_squares: reduced[i] += v * v; break;
    case reduction::max:
      if (first || v > reduced[i] || std::isnan(v)) reduced[i] = v;
      break;
    case reduction::min:
      if (first || v < reduced[i] || std::isnan(v)) reduced[i] = v;
      break;
    }
  }
  expected result;
  for (std::size_t i = 0; i < size; ++i) {
    const bool full = stored[i] == length;
    if (how == reduction::max && !full && reduced[i] < 0) reduced[i] = 0;
    if (how == reduction::min && !full && reduced[i] > 0) reduced[i] = 0;
    result.value.push_back(static_cast<double>(reduced[i]));
    const bool exact = how == reduction::max || how == reduction::min;
    result.bound.push_back(
        exact ? 0
              : std::numeric_limits<T>::epsilon() * std::abs(static_cast<double>(reduced[i])) +
                    static_cast<double>(stored[i]) * std::numeric_limits<double>::epsilon() *
                        static_cast<double>(magnitude[i]));
  }
  return result;
}

std::vector<std::int64_t> count_entries(const triplets& a, side of) {
  std::vector<std::int64_t> result(
      static_cast<std::size_t>(of == side::rows ? a.shape.row : a.shape.col));
  for (const std::int64_t i : of == side::rows ? a.row : a.col)
    ++result[static_cast<std::size_t>(i)];
  return result;
}

template <class T>
std::vector<T> elements(const triplets& a, const std::vector<std::int64_t>& rows,
                        const std::vector<std::int64_t>& columns) {
  std::vector<std::vector<std::size_t>> in_row(static_cast<std::size_t>(a.shape.row));
  for (std::size_t k = 0; k < a.value.size(); ++k)
    in_row[static_cast<std::size_t>(a.row[k])].push_back(k);
  std::vector<T> result;
  for (std::size_t n = 0; n < rows.size(); ++n) {
    T sum = 0;
    for (const std::size_t k : in_row[static_cast<std::size_t>(rows[n])])
      if (a.col[k] == columns[n]) sum = static_cast<T>(sum + static_cast<T>(a.value[k]));
    result.push_back(sum);
  }
  return result;
}

triplets gather(const triplets& a, const std::vector<std::int64_t>& rows,
                const std::vector<std::int64_t>& columns) {
  std::vector<std::vector<std::size_t>> in_row(static_cast<std::size_t>(a.shape.row));
  for (std::size_t k = 0; k < a.value.size(); ++k)
    in_row[static_cast<std::size_t>(a.row[k])].push_back(k);
  std::vector<std::vector<std::int64_t>> of_column(static_cast<std::size_t>(a.shape.col));
  for (std::size_t j = 0; j < columns.size(); ++j)
    of_column[static_cast<std::size_t>(columns[j])].push_back(static_cast<std::int64_t>(j));
  triplets result{{std::ssize(rows), std::ssize(columns)}, {}, {}, {}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::size_t k : in_row[static_cast<std::size_t>(rows[i])])
      for (const std::int64_t j : of_column[static_cast<std::size_t>(a.col[k])]) {
        result.row.push_back(static_cast<std::int64_t>(i));
        result.col.push_back(j);
        result.value.push_back(a.value[k]);
      }
  return result;
}

triplets put_beside(const triplets& a, const triplets& b, std::int64_t down, std::int64_t along,
                    index<std::int64_t> shape) {
  triplets result = a;
  result.shape = shape;
  for (std::size_t k = 0; k < b.value.size(); ++k) {
    result.row.push_back(b.row[k] + down);
    result.col.push_back(b.col[k] + along);
    result.value.push_back(b.value[k]);
  }
  return by_row(result);
}

template <class T> triplets kron(const triplets& a, const triplets& b) {
  triplets result{{a.shape.row * b.shape.row, a.shape.col * b.shape.col}, {}, {}, {}};
  for (std::size_t k = 0; k < a.value.size(); ++k)
    for (std::size_t l = 0; l < b.value.size(); ++l) {
      result.row.push_back(a.row[k] * b.shape.row + b.row[l]);
      result.col.push_back(a.col[k] * b.shape.col + b.col[l]);
      result.value.push_back(
          static_cast<T>(static_cast<T>(a.value[k]) * static_cast<T>(b.value[l])));
    }
  return by_row(result);
}

triplets reshape(const triplets& a, index<std::int64_t> shape) {
  triplets result = a;
  result.shape = shape;
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    const std::int64_t element = a.row[k] * a.shape.col + a.col[k];
    result.row[k] = element / shape.col;
    result.col[k] = element % shape.col;
  }
  return by_row(result);
}

template expected reduce<float>(const triplets&, reduction, side);
template expected reduce<double>(const triplets&, reduction, side);
template std::vector<float> elements(const triplets&, const std::vector<std::int64_t>&,
                                     const std::vector<std::int64_t>&);
template std::vector<double> elements(const triplets&, const std::vector<std::int64_t>&,
                                      const std::vector<std::int64_t>&);
template triplets kron<float>(const triplets&, const triplets&);
template triplets kron<double>(const triplets&, const triplets&);

} // namespace lacuna::reference
