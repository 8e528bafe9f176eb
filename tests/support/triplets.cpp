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
  bool ascending = true;
  for (std::size_t k = 1; k < a.value.size() && ascending; ++k)
    ascending = std::pair(a.row[k - 1], a.col[k - 1]) < std::pair(a.row[k], a.col[k]);
  if (ascending) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> at;
  at.reserve(a.value.size());
  for (std::size_t k = 0; k < a.value.size(); ++k) at.emplace_back(a.row[k], a.col[k]);
  std::sort(at.begin(), at.end());
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
facts csr_facts(const triplets& a) {
  if (std::is_sorted(a.row.begin(), a.row.end())) return coo_facts(a);
  return {coo_facts(by_row(a)).sorted, unique(a)};
}

template <class T, class I, class O> coo<T, I, O> make_coo(const triplets& a) {
  coo<T, I, O> result(default_context<space::host>(),
                      {static_cast<I>(a.rows), static_cast<I>(a.cols)}, static_cast<O>(a.size()),
                      coo_facts(a));
  for (std::int64_t k = 0; k < a.size(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    result.rowind()[k] = static_cast<I>(a.row[at]);
    result.colind()[k] = static_cast<I>(a.col[at]);
    result.values()[k] = static_cast<T>(a.value[at]);
  }
  return result;
}

template <class T, class I, class O> csr<T, I, O> make_csr(const triplets& a) {
  if (!std::is_sorted(a.row.begin(), a.row.end())) return make_csr<T, I, O>(by_row(a));
  csr<T, I, O> result(default_context<space::host>(),
                      {static_cast<I>(a.rows), static_cast<I>(a.cols)}, static_cast<O>(a.size()),
                      csr_facts(a));
  const auto lengths = row_lengths(a);
  O offset = 0;
  result.rowptr()[0] = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    offset = static_cast<O>(offset + lengths[static_cast<std::size_t>(i)]);
    result.rowptr()[i + 1] = offset;
  }
  for (std::int64_t k = 0; k < a.size(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    result.colind()[k] = static_cast<I>(a.col[at]);
    result.values()[k] = static_cast<T>(a.value[at]);
  }
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template coo<T, I, O> make_coo(const triplets&);                                                 \
  template csr<T, I, O> make_csr(const triplets&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::test
