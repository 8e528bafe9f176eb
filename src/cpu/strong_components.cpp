// Tarjan's search (1972) in Pearce's variant (2016), which needs one number a vertex where Tarjan
// had two: while a vertex is open the least number that it reaches, then that of its component,
// which is greater than those of all open vertices. The path to a vertex is a list: no recursion.
#include "cpu/strong_components.hpp"

#include <lacuna/core/types.hpp>

namespace lacuna::detail::cpu {

template <class I, class O>
components<I> strong_components(const host_context& ctx, vector_view<const O> rowptr,
                                vector_view<const I> colind) {
  const std::int64_t n = std::max<std::int64_t>(rowptr.size() - 1, 0);
  components<I> result{0, array<I>(ctx, n)};
  array<I>& number = result.of; // 0: not met yet
  array<I> path(ctx, n);        // from the search's first vertex to where it is
  array<O> next(ctx, n);        // the next edge of each vertex of the path
  array<I> own(ctx, n);         // the number that each of them began with
  array<I> open(ctx, n);        // left, but in no component as yet
  for (std::int64_t v = 0; v < n; ++v) number[v] = 0;
  I last = 0;                      // number that was given last
  I component = static_cast<I>(n); // numbers of components fall from n
  std::int64_t depth = 0, still_open = 0;
  const auto enter = [&](I v) {
    path[depth] = v;
    next[depth] = rowptr[v];
    own[depth++] = number[v] = ++last;
  };
  const auto leave = [&](std::int64_t at) {
    const I v = path[at];
    if (number[v] != own[at]) {
      open[still_open++] = v;
      return;
    }
    for (--last; still_open > 0 && number[open[still_open - 1]] >= number[v]; --last)
      number[open[--still_open]] = component;
    number[v] = component--;
  };
  for (std::int64_t first = 0; first < n; ++first) {
    if (number[first] != 0) continue;
    enter(static_cast<I>(first));
    while (depth > 0) {
      const std::int64_t at = depth - 1;
      const I v = path[at];
      if (next[at] == rowptr[v + 1]) {
        leave(at);
        if (--depth > 0) number[path[depth - 1]] = std::min(number[path[depth - 1]], number[v]);
      } else if (const I w = colind[next[at]++]; number[w] == 0) {
        enter(w);
      } else {
        number[v] = std::min(number[v], number[w]);
      }
    }
  }
  result.count = n - component;
  for (std::int64_t v = 0; v < n; ++v) number[v] = static_cast<I>(n - number[v]);
  return result;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template components<I> strong_components(const host_context&, vector_view<const O>,              \
                                           vector_view<const I>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
