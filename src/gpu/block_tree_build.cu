// A block tree from rows that ascend, on the device, byte by byte the host's. Runs of entries of
// one row and block are listed and sorted by block, which bins them; blocks of each level are
// sorted by parents; bytes are computed from below, and blocks whose tree would take more than a
// flat list become leaves of their level; then entries are written to their leaves, one after the
// other.
//
// Reads columns twice before values are written, row pointers likewise. A sort moves 16 bytes per
// run for every 8 bits of a block's place; runs are sorted again only where there are flat leaves.
#include <vector>

#include "gpu/block_tree.cuh"
#include "gpu/block_tree_frame.cuh"
#include "gpu/parts/entries.cuh"

namespace lacuna::detail::gpu {
namespace {

template <class T, class I> read_offsets offsets_of(const tree_source<T, I>& a) {
  return a.rowptr.wide != nullptr ? read_offsets(a.rowptr.wide) : read_offsets(a.rowptr.narrow);
}

/// Runs of entries of one row and block of the lowest level, as they follow one another.
template <class I> struct device_runs {
  array<std::int64_t, space::device> first; ///< entry, and one more
  array<I, space::device> row;
  [[nodiscard]] std::int64_t size() const { return row.size(); }
};

/// Called by for_each_entry: a warp counts the runs that begin in its entries, or lists them.
template <class I> struct run_lister {
  read_offsets rowptr;
  const I* col;
  int bits;
  std::uint32_t* counts;      ///< by warps; null: they are listed
  const std::int64_t* before; ///< runs before each warp's
  std::int64_t* first;
  I* rows;
  std::uint32_t count = 0; ///< of this warp, so far

  __device__ void operator()(bool inside, std::int64_t row, std::int64_t k) {
    const bool begins = inside && (k == rowptr[row] || col[k] >> bits != col[k - 1] >> bits);
    const unsigned lanes = __ballot_sync(whole_warp, begins);
    const std::int64_t warp = thread_index() / 32;
    const unsigned lane = threadIdx.x % 32;
    if (counts == nullptr && begins) {
      const std::int64_t at = before[warp] + count + __popc(lanes & ((1u << lane) - 1));
      first[at] = k;
      rows[at] = static_cast<I>(row);
    }
    count += static_cast<std::uint32_t>(__popc(lanes));
    if (counts != nullptr && lane == 0) counts[warp] = count;
  }
};

template <class I>
device_runs<I> list_runs(const device_context& ctx, read_offsets rowptr, std::int64_t rows,
                         const I* col, std::int64_t nnz, int bits) {
  const std::int64_t warps = (nnz + entries_per_warp - 1) / entries_per_warp;
  array<std::uint32_t, space::device> counts(ctx, warps);
  array<std::int64_t, space::device> before(ctx, warps + 1);
  for_each_entry(ctx, rowptr, rows, 0, nnz, "block_tree: runs",
                 run_lister<I>{rowptr, col, bits, counts.data(), nullptr, nullptr, nullptr});
  exclusive_sums(ctx, warps, counts.data(), before.data());
  std::int64_t n = 0;
  read_back(ctx, &n, before.data() + warps, 1);
  if (n > 0xffffffffLL)
    throw unsupported("to_block_tree: a device builds trees of up to 2^32 runs of entries");
  device_runs<I> runs{array<std::int64_t, space::device>(ctx, n + 1),
                      array<I, space::device>(ctx, n)};
  for_each_entry(
      ctx, rowptr, rows, 0, nnz, "block_tree: runs",
      run_lister<I>{rowptr, col, bits, nullptr, before.data(), runs.first.data(), runs.row.data()});
  for_each(ctx, 1, "block_tree: runs",
           [nnz, end = runs.first.data() + n] __device__(std::int64_t) { *end = nnz; });
  return runs;
}

/// Blocks of a level that have entries, by rows.
template <class I> struct device_level {
  array<I, space::device> row, col; ///< in blocks
  array<std::int64_t, space::device> entries, runs;
  array<std::int64_t, space::device> cost;    ///< as the host's
  array<tree_node, space::device> type;       ///< of the leaf that it would be; none: it is none
  array<std::uint32_t, space::device> parent; ///< its block in the level above
  device_level(const device_context& ctx, std::int64_t n)
      : row(ctx, n), col(ctx, n), entries(ctx, n), runs(ctx, n), cost(ctx, n), type(ctx, n),
        parent(ctx, n) {}
  [[nodiscard]] std::int64_t size() const { return row.size(); }
};

/// A leaf for a block of a level.
template <class I> struct leaf_chooser {
  index<I> extent;
  int bits, level;
  std::int64_t value_bytes;
  __device__ leaf_choice operator()(std::int64_t row, std::int64_t col, std::int64_t entries,
                                    std::int64_t runs) const {
    const std::int64_t e = block_extent(bits, level);
    return smallest_leaf(value_bytes, entries, runs, e, level == 0, min(e, extent.row - row * e),
                         min(e, extent.col - col * e));
  }
};

std::int64_t count_groups(const device_context& ctx,
                          const array<std::int64_t, space::device>& groups) {
  std::int64_t count = 0;
  read_back(ctx, &count, groups.data() + groups.size() - 1, 1);
  return count;
}

template <class I> class device_tree_builder {
public:
  device_tree_builder(const device_context& ctx, read_offsets rowptr, index<I> extent, const I* col,
                      std::int64_t nnz, int bits, std::int64_t value_bytes)
      : ctx_(ctx), extent_(extent), col_(col), bits_(bits), value_bytes_(value_bytes),
        levels_(level_count(bits, extent.row, extent.col)),
        runs_(list_runs(ctx, rowptr, extent.row, col, nnz, bits)) {}

  /// Finds the leaves, and which of them each run goes to.
  device_leaves<I> find_leaves() {
    grids_.reserve(static_cast<std::size_t>(levels_));
    find_lowest();
    for (int level = 1; level < levels_; ++level) find_level(level);
    return list_leaves();
  }
  /// Runs in the order of the leaves; in a leaf by rows, those of one row joined.
  struct leaf_runs {
    array<std::int64_t, space::device>
        starts;                              ///< entries of runs before, as many as runs, one more
    array<std::int64_t, space::device> from; ///< where a run's first entry was
    array<std::uint32_t, space::device> leaf;
    array<I, space::device> row;
    array<std::int64_t, space::device> first_run, first_entry; ///< of each leaf
  };
  leaf_runs sort_runs(const device_leaves<I>& leaves);

  // Lambdas for the device must be in public functions.
  void find_lowest();
  void find_level(int level);
  void count_flat_runs(int level, const array<char, space::device>& may_be_flat);
  device_leaves<I> list_leaves();

private:
  using words = array<std::uint32_t, space::device>;
  const device_context& ctx_;
  index<I> extent_;
  const I* col_;
  int bits_;
  std::int64_t value_bytes_;
  int levels_;
  device_runs<I> runs_;
  positions order_; ///< of runs, by blocks
  words block_;     ///< of each run
  std::vector<device_level<I>> grids_;
  words above_;      ///< of each block of the lowest level: the one that has it, so far
  words leaf_block_; ///< the highest one that is a leaf
  array<std::uint8_t, space::device> leaf_level_;
  words leaf_; ///< of each block of the lowest level
};

template <class I> void device_tree_builder<I>::find_lowest() {
  const std::int64_t n = runs_.size();
  const int bits = bits_;
  const auto row = [bits, row = runs_.row.data()] __device__(std::int64_t k) {
    return row[k] >> bits;
  };
  const auto col = [bits, col = col_, first = runs_.first.data()] __device__(std::int64_t k) {
    return col[first[k]] >> bits;
  };
  order_ = count_up(ctx_, n);
  reorder_by_place(ctx_, order_, bits_up_to((extent_.row - 1) >> bits), row,
                   bits_up_to((extent_.col - 1) >> bits), col);
  const auto groups =
      number_groups(ctx_, n, [row, col, order = order_.data()] __device__(std::int64_t k) {
        return row(order[k]) != row(order[k - 1]) || col(order[k]) != col(order[k - 1]);
      });
  const auto entries = sums_before(
      ctx_, n, [order = order_.data(), first = runs_.first.data()] __device__(std::int64_t k) {
        return first[order[k] + 1] - first[order[k]];
      });
  const std::int64_t count = count_groups(ctx_, groups);
  grids_.emplace_back(ctx_, count);
  auto& g = grids_.back();
  array<std::int64_t, space::device> first_run(ctx_, count + 1);
  block_ = words(ctx_, n);
  for_each(ctx_, n, "block_tree: blocks",
           [=, order = order_.data(), groups = groups.data(), first_run = first_run.data(),
            block = block_.data(), to_row = g.row.data(),
            to_col = g.col.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1;
             block[order[k]] = static_cast<std::uint32_t>(own);
             if (k + 1 == n) first_run[own + 1] = n;
             if (groups[k] != own) return;
             first_run[own] = k;
             to_row[own] = row(order[k]);
             to_col[own] = col(order[k]);
           });
  above_ = words(ctx_, count);
  leaf_block_ = words(ctx_, count);
  leaf_level_ = array<std::uint8_t, space::device>(ctx_, count);
  for_each(ctx_, count, "block_tree: blocks",
           [entries = entries.data(), first_run = first_run.data(), row = g.row.data(),
            col = g.col.data(), to_entries = g.entries.data(), to_runs = g.runs.data(),
            type = g.type.data(), cost = g.cost.data(), above = above_.data(),
            leaf_block = leaf_block_.data(), leaf_level = leaf_level_.data(),
            choose = leaf_chooser<I>{extent_, bits_, 0, value_bytes_}] __device__(std::int64_t b) {
             const std::int64_t first = first_run[b], end = first_run[b + 1];
             to_entries[b] = entries[end] - entries[first];
             to_runs[b] = end - first;
             const leaf_choice leaf = choose(row[b], col[b], to_entries[b], to_runs[b]);
             type[b] = leaf.type;
             cost[b] = leaf.bytes + leaf_overhead<I>;
             above[b] = leaf_block[b] = static_cast<std::uint32_t>(b);
             leaf_level[b] = 0;
           });
}

template <class I> void device_tree_builder<I>::find_level(int level) {
  auto& below = grids_.back();
  const std::int64_t n = below.size();
  const int bits = bits_, shift = bits * level;
  const auto row = [bits, row = below.row.data()] __device__(std::int64_t k) {
    return row[k] >> bits;
  };
  const auto col = [bits, col = below.col.data()] __device__(std::int64_t k) {
    return col[k] >> bits;
  };
  positions order = count_up(ctx_, n);
  reorder_by_place(ctx_, order, bits_up_to(shifted(extent_.row - 1, shift + bits)), row,
                   bits_up_to(shifted(extent_.col - 1, shift + bits)), col);
  const auto groups =
      number_groups(ctx_, n, [row, col, order = order.data()] __device__(std::int64_t k) {
        return row(order[k]) != row(order[k - 1]) || col(order[k]) != col(order[k - 1]);
      });
  const auto entries = sums_before(
      ctx_, n, [order = order.data(), entries = below.entries.data()] __device__(std::int64_t k) {
        return entries[order[k]];
      });
  const auto cost = sums_before(
      ctx_, n, [order = order.data(), cost = below.cost.data()] __device__(std::int64_t k) {
        return cost[order[k]];
      });
  device_level<I> g(ctx_, count_groups(ctx_, groups));
  array<std::int64_t, space::device> first(ctx_, g.size() + 1);
  array<char, space::device> may_be_flat(ctx_, g.size());
  for_each(ctx_, n, "block_tree: parents",
           [=, order = order.data(), groups = groups.data(), first = first.data(),
            parent = below.parent.data(), to_row = g.row.data(),
            to_col = g.col.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1;
             parent[order[k]] = static_cast<std::uint32_t>(own);
             if (k + 1 == n) first[own + 1] = n;
             if (groups[k] != own) return;
             first[own] = k;
             to_row[own] = row(order[k]);
             to_col[own] = col(order[k]);
           });
  const std::int64_t extent = block_extent(bits, level);
  const std::int64_t least = value_bytes_ + flat_width(extent);
  for_each(ctx_, g.size(), "block_tree: parents",
           [extent, least, entries = entries.data(), cost = cost.data(), first = first.data(),
            to_entries = g.entries.data(), to_runs = g.runs.data(), to_cost = g.cost.data(),
            type = g.type.data(), may_be_flat = may_be_flat.data()] __device__(std::int64_t b) {
             to_entries[b] = entries[first[b + 1]] - entries[first[b]];
             to_cost[b] = cost[first[b + 1]] - cost[first[b]] + 10; // its own pointer
             to_runs[b] = 0;
             type[b] = tree_node::none;
             may_be_flat[b] = extent <= std::int64_t{1} << 32 && to_cost[b] > to_entries[b] * least;
           });
  for_each(ctx_, above_.size(), "block_tree: parents",
           [above = above_.data(), parent = below.parent.data()] __device__(std::int64_t b) {
             above[b] = parent[above[b]];
           });
  grids_.push_back(std::move(g));
  count_flat_runs(level, may_be_flat);
}

template <class I>
void device_tree_builder<I>::count_flat_runs(int level,
                                             const array<char, space::device>& may_be_flat) {
  auto& g = grids_.back();
  // Neighbours are mostly of one block, the higher its level the more: a warp adds up what follows
  // one another of a block, since one address takes additions one after the other.
  constexpr std::int64_t of_warp = 512;
  for_each_leaf(
      ctx_, (runs_.size() + of_warp - 1) / of_warp, "block_tree: flat runs",
      [n = runs_.size(), above = above_.data(), block = block_.data(), row = runs_.row.data(),
       may_be_flat = may_be_flat.data(),
       runs = reinterpret_cast<unsigned long long*>(g.runs.data())] __device__(std::int64_t warp) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        std::uint32_t current = 0;
        int count = 0;
        const auto add_current = [&] {
          if (count > 0 && lane == 0)
            atomicAdd(runs + current, static_cast<unsigned long long>(count));
          count = 0;
        };
        const std::int64_t end = min(n, (warp + 1) * of_warp);
        for (std::int64_t from = warp * of_warp; from < end; from += 32) {
          const std::int64_t k = from + lane;
          std::uint32_t own = 0;
          bool begins = false;
          if (k < end) {
            own = above[block[k]];
            begins = may_be_flat[own] != 0 &&
                     (k == 0 || row[k] != row[k - 1] || above[block[k - 1]] != own);
          }
          for (unsigned rest = __ballot_sync(whole_warp, begins); rest != 0;) {
            const std::uint32_t next =
                __shfl_sync(whole_warp, own, __ffs(static_cast<int>(rest)) - 1);
            const unsigned same = __ballot_sync(whole_warp, begins && own == next);
            if (next != current) add_current();
            current = next;
            count += __popc(same);
            rest &= ~same;
          }
        }
        add_current();
      });
  for_each(
      ctx_, g.size(), "block_tree: flat leaves",
      [row = g.row.data(), col = g.col.data(), entries = g.entries.data(), runs = g.runs.data(),
       cost = g.cost.data(), type = g.type.data(), may_be_flat = may_be_flat.data(),
       choose = leaf_chooser<I>{extent_, bits_, level, value_bytes_}] __device__(std::int64_t b) {
        if (may_be_flat[b] == 0) return;
        const leaf_choice leaf = choose(row[b], col[b], entries[b], runs[b]);
        if (leaf.bytes + leaf_overhead<I> >= cost[b]) return;
        type[b] = leaf.type;
        cost[b] = leaf.bytes + leaf_overhead<I>;
      });
  for_each(ctx_, above_.size(), "block_tree: flat leaves",
           [level, above = above_.data(), type = g.type.data(), leaf_block = leaf_block_.data(),
            leaf_level = leaf_level_.data()] __device__(std::int64_t b) {
             if (type[above[b]] == tree_node::none) return;
             leaf_level[b] = static_cast<std::uint8_t>(level);
             leaf_block[b] = above[b];
           });
}

/// Something of each level.
template <class T> struct of_levels { T* at[most_levels]; };

/// Leaves before each of n blocks; how many are leaves, and inner nodes.
array<std::int64_t, space::device> rank_leaves(const device_context& ctx, const char* marks,
                                               std::int64_t n, std::int64_t* leaves,
                                               std::int64_t* inner) {
  auto ranks = sums_before(
      ctx, n, [marks] __device__(std::int64_t b) { return std::int64_t{marks[b] == 1}; });
  for_each(ctx, n, "block_tree: inner nodes",
           [marks, leaves, inner, end = ranks.data() + n] __device__(std::int64_t b) {
             if (b == 0) *leaves = *end;
             if (marks[b] == 2) atomicAdd(reinterpret_cast<unsigned long long*>(inner), 1ULL);
           });
  return ranks;
}

template <class I> device_leaves<I> device_tree_builder<I>::list_leaves() {
  const std::int64_t blocks = leaf_level_.size();
  array<std::int64_t, space::device> counts(ctx_, 2 * most_levels); // leaves, inner nodes
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx_.stream()), "block_tree: memset");
  std::vector<array<char, space::device>> marks; // 1: a leaf, 2: an inner node
  std::vector<array<std::int64_t, space::device>> ranks;
  marks.reserve(grids_.size());
  ranks.reserve(grids_.size());
  of_levels<char> mark{};
  of_levels<const std::int64_t> rank{};
  of_levels<const std::uint32_t> parent{};
  for (int level = 0; level < levels_; ++level) {
    const auto& g = grids_[static_cast<std::size_t>(level)];
    marks.emplace_back(ctx_, g.size());
    check(cudaMemsetAsync(marks.back().data(), 0, marks.back().bytes(), ctx_.stream()),
          "block_tree: memset");
    mark.at[level] = marks.back().data();
    parent.at[level] = g.parent.data();
  }
  for_each(ctx_, blocks, "block_tree: leaves",
           [mark, parent, levels = levels_, level = leaf_level_.data(),
            block = leaf_block_.data()] __device__(std::int64_t b) {
             mark.at[level[b]][block[b]] = 1;
             std::uint32_t above = block[b];
             for (int l = level[b]; l + 1 < levels; ++l) {
               above = parent.at[l][above];
               if (mark.at[l + 1][above] == 2) return; // and so are those above
               mark.at[l + 1][above] = 2;
             }
           });
  for (int level = 0; level < levels_; ++level) {
    const auto& g = grids_[static_cast<std::size_t>(level)];
    ranks.push_back(rank_leaves(ctx_, mark.at[level], g.size(), counts.data() + level,
                                counts.data() + most_levels + level));
    rank.at[level] = ranks.back().data();
  }
  std::int64_t counted[2 * most_levels];
  read_back(ctx_, counted, counts.data(), 2 * most_levels);
  device_leaves<I> leaves;
  std::int64_t before[most_levels] = {}, total = 0;
  for (int level = 0; level < levels_; ++level) {
    before[level] = total;
    total += leaves.of_level[level] = counted[level];
    leaves.inner[level] = counted[most_levels + level];
  }
  leaves.all = array<device_leaf<I>, space::device>(ctx_, total);
  for (int level = 0; level < levels_; ++level) {
    if (leaves.of_level[level] == 0) continue;
    const auto& g = grids_[static_cast<std::size_t>(level)];
    for_each(ctx_, g.size(), "block_tree: leaves",
             [level, extent = block_extent(bits_, level), mark = mark.at[level],
              rank = rank.at[level], row = g.row.data(), col = g.col.data(), type = g.type.data(),
              entries = g.entries.data(), runs = g.runs.data(), cost = g.cost.data(),
              to = leaves.all.data() + before[level]] __device__(std::int64_t b) {
               if (mark[b] != 1) return;
               to[rank[b]] = {static_cast<I>(row[b] * extent),
                              static_cast<I>(col[b] * extent),
                              level,
                              type[b],
                              entries[b],
                              runs[b],
                              cost[b] - leaf_overhead<I>};
             });
  }
  leaf_ = words(ctx_, blocks);
  for (int level = 0; level < levels_; ++level)
    if (leaves.of_level[level] > 0)
      for_each(ctx_, blocks, "block_tree: leaves",
               [level, before = before[level], rank = rank.at[level], of = leaf_level_.data(),
                block = leaf_block_.data(), leaf = leaf_.data()] __device__(std::int64_t b) {
                 if (of[b] == level) leaf[b] = static_cast<std::uint32_t>(before + rank[block[b]]);
               });
  return leaves;
}

template <class I>
typename device_tree_builder<I>::leaf_runs
device_tree_builder<I>::sort_runs(const device_leaves<I>& leaves) {
  const std::int64_t n = runs_.size(), count = leaves.all.size();
  const auto leaf = [block = block_.data(), leaf = leaf_.data()] __device__(std::int64_t k) {
    return leaf[block[k]];
  };
  if (leaves.of_level[0] != count) { // else blocks are leaves, in the same order
    order_ = count_up(ctx_, n);
    reorder(ctx_, order_, bits_up_to(count - 1), leaf);
  }
  const std::uint32_t* const order = order_.data();
  const auto groups =
      number_groups(ctx_, n, [order, leaf, row = runs_.row.data()] __device__(std::int64_t k) {
        return leaf(order[k]) != leaf(order[k - 1]) || row[order[k]] != row[order[k - 1]];
      });
  const auto entries =
      sums_before(ctx_, n, [order, first = runs_.first.data()] __device__(std::int64_t k) {
        return first[order[k] + 1] - first[order[k]];
      });
  leaf_runs r{array<std::int64_t, space::device>(ctx_, n + 1),
              array<std::int64_t, space::device>(ctx_, n),
              words(ctx_, n),
              array<I, space::device>(ctx_, n),
              array<std::int64_t, space::device>(ctx_, count),
              array<std::int64_t, space::device>(ctx_, count)};
  for_each(ctx_, n, "block_tree: runs of leaves",
           [=, groups = groups.data(), entries = entries.data(), first = runs_.first.data(),
            row = runs_.row.data(), starts = r.starts.data(), from = r.from.data(),
            to_leaf = r.leaf.data(), to_row = r.row.data(), first_run = r.first_run.data(),
            first_entry = r.first_entry.data()] __device__(std::int64_t k) {
             const std::int64_t own = groups[k + 1] - 1;
             // Runs that were joined to others leave room at the end: no entry is theirs.
             if (k >= groups[n]) starts[k] = entries[n];
             if (k == 0) starts[n] = entries[n];
             if (groups[k] != own) return;
             starts[own] = entries[k];
             from[own] = first[order[k]];
             to_leaf[own] = leaf(order[k]);
             to_row[own] = row[order[k]];
             if (k > 0 && leaf(order[k - 1]) == leaf(order[k])) return;
             first_run[leaf(order[k])] = own;
             first_entry[leaf(order[k])] = entries[k];
           });
  return r;
}

/// Writes one entry, called by for_each_entry with the runs of leaves.
template <class T, class I> struct entry_writer {
  const device_leaf<I>* leaves;
  const std::uint64_t* nodes;
  const std::int64_t* starts;
  const std::int64_t* from;
  const std::uint32_t* leaf_of;
  const I* row_of_run;
  const std::int64_t* first_run;
  const std::int64_t* first_entry;
  const I* col;
  const T* values;
  index<I> extent;
  int bits;
  unsigned char* pool;

  __device__ void operator()(bool inside, std::int64_t run, std::int64_t k) const {
    if (!inside) return;
    const std::uint32_t at = leaf_of[run];
    const device_leaf<I> leaf = leaves[at];
    unsigned char* bytes = pool + place_of(nodes[at]);
    const std::int64_t source = from[run] + (k - starts[run]);
    const std::int64_t i = k - first_entry[at];
    const std::int64_t r = row_of_run[run] - leaf.row, c = col[source] - leaf.col;
    if (has_header(leaf.type)) bytes += 16;
    T* const to = reinterpret_cast<T*>(bytes);
    if (leaf.type == tree_node::dense || leaf.type == tree_node::masked) {
      const std::int64_t d = std::int64_t{1} << bits;
      const std::int64_t rows = min(d, std::int64_t{extent.row} - leaf.row);
      const std::int64_t cols = min(d, std::int64_t{extent.col} - leaf.col);
      const std::int64_t place = r * cols + c;
      to[place] = values[source];
      if (leaf.type == tree_node::masked)
        atomicOr(reinterpret_cast<unsigned*>(to + rows * cols) + place / 32, 1u << (place % 32));
      return;
    }
    to[i] = values[source];
    switch (coordinate_bytes(leaf.type)) {
    case 1: return write_lists<std::uint8_t>(leaf, to, run, k, at, i, r, c);
    case 2: return write_lists<std::uint16_t>(leaf, to, run, k, at, i, r, c);
    default: return write_lists<std::uint32_t>(leaf, to, run, k, at, i, r, c);
    }
  }
  template <class C>
  __device__ void write_lists(const device_leaf<I>& leaf, T* to, std::int64_t run, std::int64_t k,
                              std::uint32_t at, std::int64_t i, std::int64_t r,
                              std::int64_t c) const {
    if (is_coo(leaf.type)) {
      C* const list = reinterpret_cast<C*>(to + padded_entries(leaf.type, leaf.entries));
      list[2 * i] = static_cast<C>(r);
      list[2 * i + 1] = static_cast<C>(c);
      return;
    }
    auto* const behind = reinterpret_cast<unsigned char*>(to + leaf.entries);
    C* const list = reinterpret_cast<C*>(behind + (has_header(leaf.type) ? 0 : 2));
    list[2 * leaf.runs + i] = static_cast<C>(c);
    if (k != starts[run]) return;
    const std::int64_t own = run - first_run[at];
    list[own] = static_cast<C>(r);
    list[leaf.runs + own] = static_cast<C>(starts[run + 1] - k - 1);
  }
};

template <class I>
array<tree_task<I>, space::device> no_tasks(const device_context& ctx, std::int64_t lines) {
  array<tree_task<I>, space::device> tasks(ctx, 1);
  for_each(ctx, 1, "block_tree: no tasks", [lines, to = tasks.data()] __device__(std::int64_t) {
    *to = {0, 0, static_cast<I>(lines), static_cast<I>(lines), 0, 1};
  });
  return tasks;
}

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::device>>
build_tree(const device_context& ctx, const tree_source<T, I>& a, std::int64_t entries, int bits) {
  const device_guard guard(ctx.device());
  auto result = std::make_shared<tree_content<T, I, space::device>>();
  auto& t = *result;
  t.work = std::make_shared<kept_tree_work<space::device>>(ctx);
  t.extent = a.shape;
  t.nnz = a.nnz;
  t.entries = entries;
  t.bits = bits;
  t.levels = level_count(bits, a.shape.row, a.shape.col);
  if (a.nnz == 0) {
    t.pool = array<tree_unit, space::device>(ctx, 1);
    check(cudaMemsetAsync(t.pool.data(), 0, t.pool.bytes(), ctx.stream()), "block_tree: memset");
    t.row_tasks = no_tasks<I>(ctx, a.shape.row);
    t.column_tasks = no_tasks<I>(ctx, a.shape.col);
    return result;
  }
  device_tree_builder<I> builder(ctx, offsets_of(a), a.shape, a.col, a.nnz, bits, sizeof(T));
  const device_leaves<I> leaves = builder.find_leaves();
  device_frame<I> frame = make_device_frame<I>(ctx, a.shape, bits, sizeof(T), leaves);
  const auto runs = builder.sort_runs(leaves);
  for_each_entry(
      ctx, read_offsets(runs.starts.data()), runs.leaf.size(), 0, a.nnz, "block_tree: entries",
      entry_writer<T, I>{leaves.all.data(), frame.node.data(), runs.starts.data(), runs.from.data(),
                         runs.leaf.data(), runs.row.data(), runs.first_run.data(),
                         runs.first_entry.data(), a.col, a.values, a.shape, bits,
                         reinterpret_cast<unsigned char*>(frame.pool.data())});
  std::move(frame).move_to(t);
  return result;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::device>> build_tree<T, I>(                    \
      const device_context&, const tree_source<T, I>&, std::int64_t, int);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
