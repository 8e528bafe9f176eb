#include <lacuna/op/reorder.hpp>

#include <functional>
#include <string>

#include "cpu/reorder_graph.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

template <class I> struct groups_found {
  array<I> group_of; // of each vertex
  std::int64_t count = 0;
};

/// Most members of a group that is to have `size`: room for what is left over beside it.
std::int64_t most_members(std::int64_t size) { return size + size / 2; }

/// Groups of `size` vertices grown one after the other, each from the first vertex of `order` that
/// is in none, by the neighbour that stands first in `order`: so they lie along the levels of a
/// search, and the band gets little wider. What ends up with fewer than half of `size` joins the
/// smallest group beside it that has room. One thread; O(edges log edges) at most.
template <class I>
groups_found<I> grow_groups(const host_context& ctx, const graph<I>& g, const array<I>& order,
                            std::int64_t size) {
  constexpr I none = -1;
  const std::int64_t n = g.size();
  groups_found<I> groups{array<I>(ctx, n)};
  auto& group_of = groups.group_of;
  array<I> place(ctx, n), beside(ctx, n), queue(ctx, n), members(ctx, n);
  array<I> heap(ctx, n); // places of vertices beside the group, each once
  std::fill(group_of.begin(), group_of.end(), none);
  std::fill(beside.begin(), beside.end(), none);
  for (std::int64_t i = 0; i < n; ++i) place[order[i]] = static_cast<I>(i);
  for (const I seed : order) {
    if (group_of[seed] != none) continue;
    const I group = static_cast<I>(groups.count);
    std::int64_t tail = 0, waiting = 0;
    const auto take = [&](I v) {
      group_of[v] = group;
      queue[tail++] = v;
      if (tail == size) return;
      for (const I w : g.neighbours(v)) {
        if (group_of[w] != none || beside[w] == seed) continue;
        beside[w] = seed;
        heap[waiting++] = place[w];
        std::push_heap(heap.data(), heap.data() + waiting, std::greater<>());
      }
    };
    take(seed);
    while (waiting > 0 && tail < size) {
      std::pop_heap(heap.data(), heap.data() + waiting, std::greater<>());
      take(order[heap[--waiting]]);
    }
    I host = none;
    for (std::int64_t k = 0; 2 * tail < size && k < tail; ++k)
      for (const I w : g.neighbours(queue[k])) {
        const I other = group_of[w];
        if (other == group || members[other] + tail > most_members(size)) continue;
        if (host == none || members[other] < members[host]) host = other;
      }
    if (host == none) {
      members[groups.count++] = static_cast<I>(tail);
      continue;
    }
    for (std::int64_t k = 0; k < tail; ++k) group_of[queue[k]] = host;
    members[host] += static_cast<I>(tail);
  }
  return groups;
}

/// Renames groups by `order`, and makes one of those that follow each other and are not above
/// `size` together, as small components are. Returns the new name of each; count is the new one.
template <class I>
array<I> join_small_groups(const host_context& ctx, const grouping<I>& by_group,
                           const array<I>& order, std::int64_t size, std::int64_t& count) {
  array<I> name(ctx, order.size());
  count = 0;
  std::int64_t held = 0;
  for (const I group : order) {
    const std::int64_t more = by_group.starts[group + 1] - by_group.starts[group];
    if (count == 0 || held + more > size) {
      ++count;
      held = 0;
    }
    held += more;
    name[group] = static_cast<I>(count - 1);
  }
  return name;
}

/// A graph and where its vertices went in the next coarser one, whose vertices are numbered in
/// their order.
template <class I> struct level {
  graph<I> fine;
  array<I> group_of;
  std::int64_t groups = 0;
};

/// Fills group_of and groups; returns the coarser graph.
template <class I>
graph<I> coarsen(const host_context& ctx, level<I>& l, const array<I>& order, std::int64_t size) {
  auto grown = grow_groups(ctx, l.fine, order, size);
  const auto by_group = list_members(ctx, grown.group_of, grown.count);
  const auto coarse = contract(ctx, l.fine, grown.group_of, by_group);
  const auto name =
      join_small_groups(ctx, by_group, reverse_cuthill_mckee(ctx, coarse), size, l.groups);
  l.group_of = std::move(grown.group_of);
  for (I& group : l.group_of) group = name[group];
  return contract(ctx, coarse, name, list_members(ctx, name, l.groups));
}

/// Orders the members of each group, which stay together: breadth first within the group, from
/// those that reach furthest back; neighbours of a vertex by degree. rank[j]: place of group j.
/// Returns the starts of groups, and in members the vertices in their order.
template <class I>
grouping<I> order_inside(const host_context& ctx, const level<I>& l, const array<I>& rank) {
  const graph<I>& g = l.fine;
  const std::int64_t n = g.size();
  array<I> place(ctx, n); // of a vertex's group
  array<I> back(ctx, n);  // least place among the neighbours' groups
  for_each_range(ctx, n, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) place[v] = rank[l.group_of[v]];
  });
  for_each_range(ctx, n, entry_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      back[v] = place[v];
      for (const I w : g.neighbours(v)) back[v] = std::min(back[v], place[w]);
    }
  });
  auto seeds = list_members(ctx, place, l.groups);
  grouping<I> result{std::move(seeds.starts), array<I>(ctx, n)};
  array<bool> taken(ctx, n);
  std::fill(taken.begin(), taken.end(), false);
  const auto by_degree = [&](I a, I b) {
    return g.degree[a] != g.degree[b] ? g.degree[a] < g.degree[b] : a < b;
  };
  for_each_part(ctx, n + g.neighbour.size(), entry_grain, [&](int part, int parts) {
    const std::int64_t end = part_begin(l.groups, part + 1, parts);
    for (std::int64_t j = part_begin(l.groups, part, parts); j < end; ++j) {
      I* const first = seeds.members.data() + result.starts[j];
      I* const last = seeds.members.data() + result.starts[j + 1];
      std::sort(first, last,
                [&](I a, I b) { return back[a] != back[b] ? back[a] < back[b] : by_degree(a, b); });
      I* head = result.members.data() + result.starts[j];
      I* tail = head;
      for (const I* seed = first; seed != last; ++seed) {
        if (taken[*seed]) continue;
        taken[*seed] = true;
        *tail++ = *seed;
        for (; head != tail; ++head) {
          I* const children = tail;
          for (const I w : g.neighbours(*head)) {
            if (place[w] != j || taken[w]) continue;
            taken[w] = true;
            *tail++ = w;
          }
          std::sort(children, tail, by_degree);
        }
      }
    }
  });
  return result;
}

} // namespace

template <class I, class O>
band_ordering<I> band_k(const host_context& ctx, vector_view<const O> rowptr,
                        vector_view<const I> colind, bool sorted,
                        const std::vector<std::int64_t>& sizes) {
  if (sizes.empty()) throw bad_input("band_k: no size of super-rows was given");
  for (const std::int64_t size : sizes)
    if (size < 1) throw bad_input("band_k: a size is " + std::to_string(size) + ", the least is 1");

  std::vector<level<I>> levels(sizes.size());
  levels[0].fine = pattern_graph<I, O>(ctx, rowptr, colind, sorted);
  array<I> order = reverse_cuthill_mckee(ctx, levels[0].fine);
  const auto in_order = [](array<I>& a) {
    for (std::int64_t i = 0; i < a.size(); ++i) a[i] = static_cast<I>(i);
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto coarse =
        coarsen(ctx, levels[i], order,
                std::min<std::int64_t>(sizes[i], std::max<std::int64_t>(levels[i].fine.size(), 1)));
    order = array<I>(ctx, coarse.size()); // coarse graphs are numbered in their order
    in_order(order);
    if (i + 1 < sizes.size()) levels[i + 1].fine = std::move(coarse);
  }

  band_ordering<I> result;
  result.starts.resize(sizes.size());
  array<I> rank = std::move(order); // of the coarsest groups
  for (std::size_t i = sizes.size(); i-- > 0;) {
    auto inside = order_inside(ctx, levels[i], rank);
    result.starts[i] = std::move(inside.starts);
    if (i == 0) {
      result.order = permutation<I>(ctx, std::move(inside.members));
      break;
    }
    rank = array<I>(ctx, inside.members.size());
    for (std::int64_t k = 0; k < rank.size(); ++k) rank[inside.members[k]] = static_cast<I>(k);
  }
  return result;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template band_ordering<I> band_k(const host_context&, vector_view<const O>,                      \
                                   vector_view<const I>, bool, const std::vector<std::int64_t>&);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
