#include "reference/reference.hpp"

namespace lacuna::reference {

template <class T, class I, class O> triplets closure(csr_view<const T, I, O> a, bool reflexive) {
  const std::int64_t n = a.shape().row;
  triplets result{{n, n}, {}, {}, {}};
  std::vector<char> reached(static_cast<std::size_t>(n));
  std::vector<std::int64_t> list;
  for (std::int64_t start = 0; start < n; ++start) {
    std::fill(reached.begin(), reached.end(), char{0});
    list.assign(1, start);
    for (std::size_t next = 0; next < list.size(); ++next)
      for (auto k = a.rowptr()[list[next]]; k < a.rowptr()[list[next] + 1]; ++k) {
        const I to = a.colind()[k];
        if (reached[static_cast<std::size_t>(to)] == 0 && to != start) list.push_back(to);
        reached[static_cast<std::size_t>(to)] = 1;
      }
    if (reflexive) reached[static_cast<std::size_t>(start)] = 1;
    for (std::int64_t to = 0; to < n; ++to)
      if (reached[static_cast<std::size_t>(to)] != 0) {
        result.row.push_back(start);
        result.col.push_back(to);
        result.value.push_back(1);
      }
  }
  return result;
}

#define LACUNA_INSTANTIATE(T, I, O) template triplets closure(csr_view<const T, I, O>, bool);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::reference
