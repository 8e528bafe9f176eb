#include "solver/amg_engine.hpp"

namespace lacuna::detail::cpu {

template <class T>
int amg_greedy(std::int64_t rows, amg_rows::matrix<T> a, const unsigned char* strong,
               int* aggregate) {
  const auto for_each_strong = [&](std::int64_t i, auto f) {
    for (int k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k)
      if (strong[k]) f(k, a.colind[k]);
  };
  constexpr int alone = -1, open = -2;
  for (std::int64_t i = 0; i < rows; ++i) aggregate[i] = open;
  int aggregates = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (aggregate[i] != open) continue;
    bool any = false, free = true;
    for_each_strong(i, [&](int, int j) {
      any = true;
      free &= aggregate[j] < 0;
    });
    if (!any) aggregate[i] = alone;
    if (!any || !free) continue;
    aggregate[i] = aggregates;
    for_each_strong(i, [&](int, int j) { aggregate[j] = aggregates; });
    ++aggregates;
  }
  // What the first pass made is numbered below `made`; rows that join get numbers from it on, so
  // that nobody joins by way of another that has just done so.
  const int made = aggregates;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (aggregate[i] != open) continue;
    T most{-1};
    int mine = open;
    for_each_strong(i, [&](int k, int j) {
      const T v = amg_rows::absolute(a.values[k]);
      if (aggregate[j] < 0 || aggregate[j] >= made || v <= most) return;
      most = v;
      mine = aggregate[j] + made;
    });
    aggregate[i] = mine;
  }
  for (std::int64_t i = 0; i < rows; ++i)
    if (aggregate[i] >= made) aggregate[i] -= made;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (aggregate[i] != open) continue;
    aggregate[i] = aggregates;
    for_each_strong(i, [&](int, int j) {
      if (aggregate[j] == open) aggregate[j] = aggregates;
    });
    ++aggregates;
  }
  return aggregates;
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template int amg_greedy(std::int64_t, amg_rows::matrix<T>, const unsigned char*, int*);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
