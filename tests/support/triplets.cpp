#include "support/triplets.hpp"

#include <numeric>
#include <utility>

namespace lacuna::test {
namespace {

template <class Less> triplets stable_sorted(const triplets& a, Less less) {
  std::vector<std::int64_t> order(a.value.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t k, std::int64_t l) {
    return less(static_cast<std::size_t>(k), static_cast<std::size_t>(l));
  });
  return permuted(a, order);
}

bool unique(const triplets& a) {
  std::vector<std::pair<std::int64_t, std::int64_t>> at;
  at.reserve(a.value.size());
  for (std::size_t k = 0; k < a.value.size(); ++k) at.emplace_back(a.row[k], a.col[k]);
  if (!std::is_sorted(at.begin(), at.end())) std::sort(at.begin(), at.end());
  return std::adjacent_find(at.begin(), at.end()) == at.end();
}

} // namespace

triplets permuted(const triplets& a, const std::vector<std::int64_t>& order) {
  triplets result{a.name, a.rows, a.cols, {}, {}, {}};
  for (const std::int64_t k : order) {
    const auto at = static_cast<std::size_t>(k);
    result.add(a.row[at], a.col[at], a.value[at]);
  }
  return result;
}

triplets by_row(const triplets& a) {
  if (std::is_sorted(a.row.begin(), a.row.end())) return a;
  return stable_sorted(a, [&](std::size_t k, std::size_t l) { return a.row[k] < a.row[l]; });
}
triplets sorted(const triplets& a) {
  return stable_sorted(a, [&](std::size_t k, std::size_t l) {
    return std::pair(a.row[k], a.col[k]) < std::pair(a.row[l], a.col[l]);
  });
}
triplets exchanged(const triplets& a) { return {a.name, a.cols, a.rows, a.col, a.row, a.value}; }

std::vector<std::int64_t> row_lengths(const triplets& a) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(a.rows));
  for (const std::int64_t i : a.row) ++result[static_cast<std::size_t>(i)];
  return result;
}

facts coo_facts(const triplets& a) {
  bool in_order = true;
  for (std::size_t k = 1; k < a.value.size(); ++k)
    in_order &= std::pair(a.row[k - 1], a.col[k - 1]) <= std::pair(a.row[k], a.col[k]);
  return {in_order, unique(a)};
}
facts csr_facts(const triplets& a) { return {coo_facts(by_row(a)).sorted, unique(a)}; }

} // namespace lacuna::test
