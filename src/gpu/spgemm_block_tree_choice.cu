// Which leaves a product of block trees has on the device: the type with the fewest bytes for each
// block that has entries, and whether a block of a higher level should be a flat list of its
// entries, as in a tree that is made from rows. It waits for the number of leaves, for those of
// inner nodes of levels between lowest and highest, and for that answer.
#include <memory>

#include "gpu/spgemm_block_tree.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Blocks of a level of C.
template <class I> struct product_level {
  array<I, space::device> row, col;
  array<std::int64_t, space::device> entries;
  array<std::int64_t, space::device> cost; ///< as the host's
  product_level(const device_context& ctx, std::int64_t n)
      : row(ctx, n), col(ctx, n), entries(ctx, n), cost(ctx, n) {}
  [[nodiscard]] std::int64_t size() const { return row.size(); }
};

/// The level above. filled: of leaves' blocks `block`, which rows they have, as meeting_places
/// tells; null where runs are not counted: one at least. flat: set where a block would take less as
/// a list.
template <class I>
product_level<I> find_parents(const device_context& ctx, index<I> extent, int bits, int level,
                              std::int64_t value_bytes, const product_level<I>& below,
                              const unsigned* filled, const std::uint32_t* block, int* flat) {
  const std::int64_t n = below.size();
  const auto row = [bits, row = below.row.data()] __device__(std::int64_t k) {
    return row[k] >> bits;
  };
  const auto col = [bits, col = below.col.data()] __device__(std::int64_t k) {
    return col[k] >> bits;
  };
  positions order = count_up(ctx, n);
  const int shift = bits * (level + 1);
  reorder_by_place(ctx, order, bits_up_to(shifted(extent.row - 1, shift)), row,
                   bits_up_to(shifted(extent.col - 1, shift)), col);
  const auto groups =
      number_groups(ctx, n, [row, col, order = order.data()] __device__(std::int64_t k) {
        return row(order[k]) != row(order[k - 1]) || col(order[k]) != col(order[k - 1]);
      });
  const auto entries = sums_before(
      ctx, n, [order = order.data(), entries = below.entries.data()] __device__(std::int64_t k) {
        return entries[order[k]];
      });
  const auto cost = sums_before(
      ctx, n, [order = order.data(), cost = below.cost.data()] __device__(std::int64_t k) {
        return cost[order[k]];
      });
  std::int64_t count = 1; // of the highest level
  if (level + 1 < level_count(bits, extent.row, extent.col))
    read_back(ctx, &count, groups.data() + n, 1);
  product_level<I> g(ctx, count);
  array<std::int64_t, space::device> first(ctx, count + 1);
  array<unsigned long long, space::device> runs(ctx, count);
  check(cudaMemsetAsync(runs.data(), 0, runs.bytes(), ctx.stream()), "multiply: memset");
  for_each(ctx, n, "multiply: parents",
           [=, order = order.data(), groups = groups.data(), first = first.data(),
            below_row = below.row.data(), to_row = g.row.data(), to_col = g.col.data(),
            runs = runs.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1;
             const bool begins = groups[k] == own;
             if (k + 1 == n) first[own + 1] = n;
             if (begins) {
               first[own] = k;
               to_row[own] = row(order[k]);
               to_col[own] = col(order[k]);
             }
             if (filled == nullptr) return;
             // The first leaf of a row of blocks counts the rows that any of them has.
             const I line = below_row[order[k]];
             if (!begins && below_row[order[k - 1]] == line) return;
             const int words = (1 << bits) / 32;
             int found = 0;
             for (int w = 0; w < words; ++w) {
               unsigned any = 0;
               for (std::int64_t i = k;
                    i < n && groups[i + 1] == own + 1 && below_row[order[i]] == line; ++i)
                 any |= filled[std::int64_t{block[order[i]]} * words + w];
               found += __popc(any);
             }
             atomicAdd(runs + own, static_cast<unsigned long long>(found));
           });
  const std::int64_t reach = block_extent(bits, level);
  for_each(ctx, count, "multiply: parents",
           [=, entries = entries.data(), cost = cost.data(), first = first.data(),
            runs = runs.data(), to_entries = g.entries.data(),
            to_cost = g.cost.data()] __device__(std::int64_t b) {
             const std::int64_t all = entries[first[b + 1]] - entries[first[b]];
             const std::int64_t own = cost[first[b + 1]] - cost[first[b]] + 10; // its own pointer
             to_entries[b] = all;
             to_cost[b] = own;
             if (reach > std::int64_t{1} << 32 || own <= all * (value_bytes + flat_width(reach)))
               return;
             const auto least = static_cast<std::int64_t>(filled != nullptr ? runs[b] : 1);
             const leaf_choice leaf = smallest_leaf(value_bytes, all, least, reach, false, 0, 0);
             if (leaf.bytes + leaf_overhead<I> < own) *flat = 1;
           });
  return g;
}

} // namespace

template <class I>
product_leaves<I> choose_product_leaves(const device_context& ctx, index<I> extent, int bits,
                                        std::int64_t value_bytes, const meeting_places& c,
                                        const I* a_row, const I* b_col,
                                        const unsigned long long* b_rows) {
  constexpr std::uint32_t entry_mask = (1u << run_shift) - 1;
  const auto numbers = sums_before(ctx, c.blocks, [c] __device__(std::int64_t k) {
    return std::int64_t{c.counts[k] > 0 ? 1 : 0};
  });
  const auto entries = sums_before(ctx, c.blocks, [c] __device__(std::int64_t k) {
    return std::int64_t{c.counts[k] & entry_mask};
  });
  array<std::int64_t, space::device> totals(ctx, 3);
  for_each(ctx, 1, "multiply: totals",
           [blocks = c.blocks, numbers = numbers.data(), entries = entries.data(), b_rows,
            totals = totals.data()] __device__(std::int64_t) {
             totals[0] = numbers[blocks];
             totals[1] = entries[blocks];
             totals[2] = static_cast<std::int64_t>(*b_rows);
           });
  std::int64_t total[3] = {};
  read_back(ctx, total, totals.data(), 3);
  product_leaves<I> made;
  const std::int64_t n = total[0];
  if (n == 0) return made;
  array<device_leaf<I>, space::device> all(ctx, n);
  made.block = array<std::uint32_t, space::device>(ctx, n);
  auto level = std::make_unique<product_level<I>>(ctx, n);
  for_each(ctx, c.blocks, "multiply: leaves",
           [=, numbers = numbers.data(), all = all.data(), block = made.block.data(),
            row = level->row.data(), col = level->col.data(), to_entries = level->entries.data(),
            cost = level->cost.data()] __device__(std::int64_t k) {
             const std::uint32_t count = c.counts[k];
             if (count == 0) return;
             const std::int64_t at = numbers[k], d = std::int64_t{1} << bits;
             const met_leaves pair = c.pairs[c.first_pair[k]];
             const std::int64_t r = std::int64_t{a_row[pair.a]} << bits;
             const std::int64_t j = std::int64_t{b_col[pair.b]} << bits;
             const std::int64_t own = count & entry_mask, runs = count >> run_shift;
             const leaf_choice leaf = smallest_leaf(value_bytes, own, runs, d, true,
                                                    min(d, extent.row - r), min(d, extent.col - j));
             all[at] = {static_cast<I>(r), static_cast<I>(j), 0, leaf.type, own, runs, leaf.bytes};
             block[at] = static_cast<std::uint32_t>(k);
             row[at] = a_row[pair.a];
             col[at] = b_col[pair.b];
             to_entries[at] = own;
             cost[at] = leaf.bytes + leaf_overhead<I>;
           });
  device_leaves<I> leaves;
  leaves.of_level[0] = n;
  array<int, space::device> flat(ctx, 1);
  check(cudaMemsetAsync(flat.data(), 0, flat.bytes(), ctx.stream()), "multiply: memset");
  for (int k = 1; k < level_count(bits, extent.row, extent.col); ++k) {
    level = std::make_unique<product_level<I>>(find_parents(ctx, extent, bits, k, value_bytes,
                                                            *level, k == 1 ? c.filled : nullptr,
                                                            made.block.data(), flat.data()));
    leaves.inner[k] = level->size();
  }
  int is_flat = 0;
  read_back(ctx, &is_flat, flat.data(), 1);
  if (is_flat != 0) return made;
  leaves.all = std::move(all);
  made.leaves = std::move(leaves);
  made.entries = total[1];
  made.b_rows = total[2];
  return made;
}

#define LACUNA_INSTANTIATE(I)                                                                      \
  template product_leaves<I> choose_product_leaves<I>(                                             \
      const device_context&, index<I>, int, std::int64_t, const meeting_places&, const I*,         \
      const I*, const unsigned long long*);
LACUNA_INSTANTIATE(std::int32_t)
LACUNA_INSTANTIATE(std::int64_t)

} // namespace lacuna::detail::gpu
