#include "cpu/reorder_graph.hpp"

#include "cpu/scatter.hpp"

namespace lacuna::detail::cpu {
namespace {

/// Rows of a pattern, without values.
template <class I, class O> struct pattern {
  array<O> start;
  array<I> index;
};

/// Rows of the result ascend.
template <class I, class O>
pattern<I, O> transpose_pattern(const host_context& ctx, std::int64_t n, const O* start,
                                const I* index) {
  const std::int64_t nnz = start[n];
  pattern<I, O> result{array<O>(ctx, n + 1), array<I>(ctx, nnz)};
  I* const to = result.index.data();
  scatter_by_key(ctx, index, nnz, n, nnz, result.start.data(),
                 [=](std::int64_t begin, std::int64_t end, O* next, std::int64_t low) {
                   for_each_row_piece(start, n, begin, end,
                                      [=](std::int64_t row, std::int64_t first, std::int64_t last) {
                                        for (std::int64_t k = first; k < last; ++k)
                                          to[next[index[k] - low]++] = static_cast<I>(row);
                                      });
                 });
  return result;
}

/// Calls emit(i) once for each i != row that stands in one of two ascending lists.
template <class I, class Emit>
void merge_lists(std::int64_t row, const I* a, const I* a_end, const I* b, const I* b_end,
                 Emit emit) {
  I before = -1;
  while (a != a_end || b != b_end) {
    const I next = b == b_end || (a != a_end && *a < *b) ? *a++ : *b++;
    if (next == before || next == row) continue;
    emit(next);
    before = next;
  }
}

} // namespace

template <class I, class O>
graph<I> pattern_graph(const host_context& ctx, vector_view<const O> rowptr,
                       vector_view<const I> colind, bool sorted) {
  const std::int64_t n = std::max<std::int64_t>(rowptr.size() - 1, 0);
  graph<I> g;
  g.start = array<std::int64_t>(ctx, n + 1);
  g.degree = array<I>(ctx, n);
  g.start[0] = 0;
  if (n == 0) return g;
  array<std::int64_t> sums(ctx, part_count(ctx, n, entry_grain));
  const auto down = transpose_pattern<I, O>(ctx, n, rowptr.data(), colind.data());
  pattern<I, O> across; // the rows themselves, if they do not ascend already
  if (!sorted) across = transpose_pattern<I, O>(ctx, n, down.start.data(), down.index.data());
  const O* const row = rowptr.data();
  const I* const row_index = sorted ? colind.data() : across.index.data();
  const O* const col = down.start.data();
  const I* const col_index = down.index.data();

  const int parts = part_count(ctx, n + rowptr[n], entry_grain);
  const auto for_each_list = [&](auto f) {
    for_each_part(ctx, parts, 1, [&](int part, int) {
      const std::int64_t end = first_row(row, n, part + 1, parts);
      for (std::int64_t i = first_row(row, n, part, parts); i < end; ++i)
        f(i, [&](auto emit) {
          merge_lists(i, row_index + row[i], row_index + row[i + 1], col_index + col[i],
                      col_index + col[i + 1], emit);
        });
    });
  };
  for_each_list([&](std::int64_t i, auto list) {
    I count = 0;
    list([&](I) { ++count; });
    g.degree[i] = count;
    g.start[i + 1] = count;
  });
  inclusive_scan(ctx, g.start.data(), n, sums);
  g.neighbour = array<I>(ctx, g.start[n]);
  for_each_list([&](std::int64_t i, auto list) {
    I* to = g.neighbour.data() + g.start[i];
    list([&](I j) { *to++ = j; });
  });
  return g;
}

template <class I>
grouping<I> list_members(const host_context& ctx, const array<I>& group_of, std::int64_t groups) {
  grouping<I> result{array<I>(ctx, groups + 1), array<I>(ctx, group_of.size())};
  scatter_by_key(ctx, group_of.data(), group_of.size(), groups, group_of.size(),
                 result.starts.data(),
                 [&](std::int64_t begin, std::int64_t end, I* next, std::int64_t low) {
                   for (std::int64_t v = begin; v < end; ++v)
                     result.members[next[group_of[v] - low]++] = static_cast<I>(v);
                 });
  return result;
}

template <class I>
graph<I> contract(const host_context& ctx, const graph<I>& fine, const array<I>& group_of,
                  const grouping<I>& by_group) {
  const std::int64_t groups = by_group.starts.size() - 1;
  const std::int64_t edges = fine.neighbour.size();
  graph<I> g;
  g.start = array<std::int64_t>(ctx, groups + 1);
  g.degree = array<I>(ctx, groups);
  g.weight = array<I>(ctx, groups);
  g.start[0] = 0;
  if (groups == 0) return g;
  array<std::int64_t> sums(ctx, part_count(ctx, groups, entry_grain));
  // Each thread remembers for every group who met it last: no more of that than edges.
  const int parts = static_cast<int>(std::clamp<std::int64_t>(
      edges / groups, 1, part_count(ctx, fine.size() + edges, entry_grain)));
  array<I> met(ctx, groups * parts);

  const auto for_each_edge = [&](auto begin_group, auto f) {
    for_each_part(ctx, parts, 1, [&](int part, int) {
      I* const met_by = met.data() + groups * part;
      std::fill_n(met_by, groups, I{-1});
      const std::int64_t end = part_begin(groups, part + 1, parts);
      for (std::int64_t j = part_begin(groups, part, parts); j < end; ++j) {
        met_by[j] = static_cast<I>(j);
        begin_group(j);
        for (std::int64_t m = by_group.starts[j]; m < by_group.starts[j + 1]; ++m)
          for (const I w : fine.neighbours(by_group.members[m])) {
            const I other = group_of[w];
            if (met_by[other] == j) continue;
            met_by[other] = static_cast<I>(j);
            f(j, other);
          }
      }
    });
  };
  for_each_edge(
      [&](std::int64_t j) {
        g.start[j + 1] = 0;
        I rows = 0;
        for (std::int64_t m = by_group.starts[j]; m < by_group.starts[j + 1]; ++m)
          rows += fine.weight.empty() ? I{1} : fine.weight[by_group.members[m]];
        g.weight[j] = rows;
      },
      [&](std::int64_t j, I) { ++g.start[j + 1]; });
  inclusive_scan(ctx, g.start.data(), groups, sums);
  g.neighbour = array<I>(ctx, g.start[groups]);
  array<std::int64_t> next(ctx, groups);
  for_each_edge(
      [&](std::int64_t j) {
        next[j] = g.start[j];
        g.degree[j] = 0;
      },
      [&](std::int64_t j, I other) {
        g.neighbour[next[j]++] = other;
        g.degree[j] += g.weight[other];
      });
  return g;
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template graph<I> pattern_graph(const host_context&, vector_view<const O>, vector_view<const I>, \
                                  bool);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I)                                                                      \
  template grouping<I> list_members(const host_context&, const array<I>&, std::int64_t);           \
  template graph<I> contract(const host_context&, const graph<I>&, const array<I>&,                \
                             const grouping<I>&);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::cpu
