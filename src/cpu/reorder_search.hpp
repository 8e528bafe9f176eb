// Internal: breadth-first search, level by level, in an order that no number of threads changes.
#pragma once

#include <atomic>
#include <limits>

#include "cpu/parallel_sort.hpp"
#include "cpu/reorder_graph.hpp"
#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {

/// Edges of a level from which threads share it: about 1 ms of one thread's. On EPYC with 2
/// threads, other programs keeping the cores busy, Andrews (760 k entries) took 620 ms with 65536,
/// 78 ms with this, and 23 to 26 ms with one thread.
inline constexpr std::int64_t level_grain = 16 * entry_grain;

/// What a search reached, as places in order(): the last level is [last, end).
struct levels_found {
  std::int64_t begin = 0, last = 0, end = 0;
  std::int64_t count = 0; ///< of levels
  std::int64_t width = 0; ///< of the largest level
};

template <class I> class level_search {
public:
  level_search(const host_context& ctx, const graph<I>& g)
      : ctx_(ctx), g_(g), order_(ctx, g.size()), parent_(ctx, g.size()), keys_(ctx, g.size()),
        offset_(ctx, g.size() + 1), sums_(ctx, ctx.threads()) {
    std::fill(parent_.begin(), parent_.end(), nobody);
  }

  array<I>& order() { return order_; }
  bool reached(std::int64_t v) const { return parent_[v] != nobody; }

  /// Everything that can be reached from root and was not before, into order() from `begin` on.
  /// ordered: as Cuthill and McKee have it. Otherwise only which level a vertex is in is defined.
  levels_found run(std::int64_t root, std::int64_t begin, bool ordered) {
    order_[begin] = static_cast<I>(root);
    parent_[root] = static_cast<I>(begin);
    levels_found levels{begin, begin, begin + 1, 1, 1};
    std::int64_t edges = g_.neighbours(root).size();
    while (true) {
      const std::int64_t end = edges < level_grain || ctx_.threads() == 1
                                   ? step_alone(levels, ordered, edges)
                                   : step_together(levels, ordered, edges);
      if (end == levels.end) return levels;
      levels = {begin, levels.end, end, levels.count + 1, std::max(levels.width, end - levels.end)};
    }
  }

  /// Makes the vertices at places [begin, end) of order() unreached again.
  void forget(std::int64_t begin, std::int64_t end) {
    for_each_range(ctx_, end - begin, entry_grain, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = begin + from; i < begin + to; ++i) parent_[order_[i]] = nobody;
    });
  }

private:
  static constexpr I nobody = std::numeric_limits<I>::max();
  struct key {
    I parent, degree, vertex;
    bool operator<(const key& other) const {
      if (parent != other.parent) return parent < other.parent;
      return degree != other.degree ? degree < other.degree : vertex < other.vertex;
    }
  };

  /// Appends the level after found's last one and returns its end; edges becomes those of the new
  /// level. One thread.
  std::int64_t step_alone(const levels_found& levels, bool ordered, std::int64_t& edges) {
    std::int64_t next = levels.end;
    edges = 0;
    for (std::int64_t place = levels.last; place < levels.end; ++place) {
      const std::int64_t first = next;
      if (place + 8 < levels.end) { // a fifth off the time of a shuffled mesh of 1 M rows on EPYC
        __builtin_prefetch(g_.neighbours(order_[place + 8]).data());
        for (const I w : g_.neighbours(order_[place + 3])) __builtin_prefetch(&parent_[w]);
      }
      for (const I w : g_.neighbours(order_[place])) {
        if (parent_[w] != nobody) continue;
        parent_[w] = static_cast<I>(place);
        order_[next++] = w;
        edges += g_.neighbours(w).size();
      }
      if (ordered)
        std::sort(order_.data() + first, order_.data() + next, [&](I a, I b) {
          return g_.degree[a] != g_.degree[b] ? g_.degree[a] < g_.degree[b] : a < b;
        });
    }
    return next;
  }

  /// The same by all threads: each takes equal edges of the level, a vertex is put in the list by
  /// whoever finds it first, its parent is the least, and sorting makes the order.
  std::int64_t step_together(const levels_found& levels, bool ordered, std::int64_t& edges) {
    const std::int64_t size = levels.end - levels.last;
    const I* const level = order_.data() + levels.last;
    offset_[0] = 0;
    for_each_range(ctx_, size, entry_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) offset_[i + 1] = g_.neighbours(level[i]).size();
    });
    inclusive_scan(ctx_, offset_.data(), size, sums_);
    std::atomic<std::int64_t> next{levels.end};
    for_each_range(ctx_, edges, entry_grain, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t held = 0;
      I mine[block];
      const auto hand_over = [&] {
        std::copy_n(mine, held, order_.data() + next.fetch_add(held, std::memory_order_relaxed));
        held = 0;
      };
      for_each_row_piece(offset_.data(), size, begin, end,
                         [&](std::int64_t i, std::int64_t first, std::int64_t last) {
                           const auto to = g_.neighbours(level[i]);
                           for (std::int64_t k = first - offset_[i]; k < last - offset_[i]; ++k) {
                             if (!claim(to[k], static_cast<I>(levels.last + i))) continue;
                             mine[held++] = to[k];
                             if (held == block) hand_over();
                           }
                         });
      hand_over();
    });
    const std::int64_t end = next.load();
    if (ordered) sort_level(levels.end, end);
    std::atomic<std::int64_t> total{0};
    for_each_range(ctx_, end - levels.end, entry_grain, [&](std::int64_t from, std::int64_t to) {
      std::int64_t sum = 0;
      for (std::int64_t i = levels.end + from; i < levels.end + to; ++i)
        sum += g_.neighbours(order_[i]).size();
      total += sum;
    });
    edges = total;
    return end;
  }

  /// parent of v becomes the lesser of what it is and `place`; whether v had none before.
  bool claim(I v, I place) {
    const std::atomic_ref<I> parent(parent_[v]);
    I seen = parent.load(std::memory_order_relaxed);
    while (place < seen && !parent.compare_exchange_weak(seen, place, std::memory_order_relaxed)) {
    }
    return seen == nobody;
  }

  void sort_level(std::int64_t begin, std::int64_t end) {
    key* const keys = keys_.data();
    for_each_range(ctx_, end - begin, entry_grain, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        const I v = order_[begin + i];
        keys[i] = {parent_[v], g_.degree[v], v};
      }
    });
    parallel_sort(ctx_, keys, end - begin);
    for_each_range(ctx_, end - begin, entry_grain, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) order_[begin + i] = keys[i].vertex;
    });
  }

  static constexpr std::int64_t block =
      512; // vertices that a thread holds before it hands them over

  const host_context& ctx_;
  const graph<I>& g_;
  array<I> order_;
  array<I> parent_; // place in order_ of the first neighbour one level up
  array<key> keys_;
  array<std::int64_t> offset_, sums_;
};

} // namespace lacuna::detail::cpu
