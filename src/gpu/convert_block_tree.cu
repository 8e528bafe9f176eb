// A block tree back to CSR, and given new values, on the device. A warp walks each leaf, or a piece
// of a flat one: runs of entries of one row are listed and sorted by places, which gives where each
// goes.
#include <algorithm>

#include "gpu/block_tree_pieces.cuh"
#include "gpu/parts/offsets.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Which of a window's lanes begin a run of entries of one row; windows of a leaf in order, by all
/// lanes.
class run_finder {
public:
  /// row: of the entry before the first window, or -1.
  __device__ explicit run_finder(std::int64_t row) : row_(row) {}
  __device__ bool begins(bool inside, std::uint32_t row) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    entries_ = __ballot_sync(whole_warp, inside);
    const unsigned before = entries_ & ((1u << lane) - 1);
    const std::uint32_t other =
        __shfl_sync(whole_warp, row, before == 0 ? 0 : 31 - __clz(static_cast<int>(before)));
    const bool result = inside && row != (before == 0 ? row_ : std::int64_t{other});
    if (entries_ != 0) row_ = __shfl_sync(whole_warp, row, 31 - __clz(static_cast<int>(entries_)));
    begins_ = __ballot_sync(whole_warp, result);
    return result;
  }
  /// Of the last window: lanes that have an entry, lanes that begin a run.
  [[nodiscard]] __device__ unsigned entries() const { return entries_; }
  [[nodiscard]] __device__ unsigned runs() const { return begins_; }

private:
  std::int64_t row_; // of the last entry before the window
  unsigned entries_ = 0, begins_ = 0;
};

/// Calls f(finder, inside, begins a run, row, column, value) for a piece's entries, by all lanes
/// together. A run that the piece before begins is not begun again.
template <class T, class I, class F>
__device__ void walk_piece(const tree_arrays<const T, I, space::device>& a, const leaf_piece& piece,
                           const F& f) {
  if (piece.leaf < 0) return;
  const tree_item<I> item = a.items.data()[piece.leaf];
  auto walk = walk_item<const T>(a, piece.leaf);
  run_finder finder(walk.begin_piece(piece));
  while (!walk.done()) {
    std::uint32_t row, col;
    const T* value;
    const bool inside = walk.next(row, col, value);
    const bool begins = finder.begins(inside, row);
    f(finder, inside, begins, item.row + std::int64_t{row}, item.col + std::int64_t{col}, value);
  }
}

/// Runs of a tree's leaves, leaf by leaf.
template <class I> struct tree_runs {
  array<leaf_piece, space::device> pieces;
  array<std::int64_t, space::device> before;         ///< runs of pieces before each
  array<std::int64_t, space::device> entries_before; ///< likewise entries
  array<std::int64_t, space::device> first;          ///< entries before each run, and one more
  array<I, space::device> row, col;
};

template <class T, class I>
tree_runs<I> list_tree_runs(const device_context& ctx,
                            const tree_arrays<const T, I, space::device>& a) {
  auto pieces = list_pieces(ctx, a);
  const std::int64_t piece_count = pieces.size();
  array<std::int64_t, space::device> run_counts(ctx, piece_count), entry_counts(ctx, piece_count);
  for_each_leaf(
      ctx, piece_count, "to_csr: runs",
      [a, pieces = pieces.data(), runs = run_counts.data(),
       entries = entry_counts.data()] __device__(std::int64_t k) {
        std::int64_t run_count = 0, entry_count = 0;
        walk_piece(a, pieces[k],
                   [&](const run_finder& finder, bool, bool, std::int64_t, std::int64_t, const T*) {
                     run_count += __popc(finder.runs());
                     entry_count += __popc(finder.entries());
                   });
        if (threadIdx.x % 32 != 0) return;
        runs[k] = run_count;
        entries[k] = entry_count;
      });
  tree_runs<I> r;
  r.before = array<std::int64_t, space::device>(ctx, piece_count + 1);
  r.entries_before = array<std::int64_t, space::device>(ctx, piece_count + 1);
  exclusive_sums(ctx, piece_count, run_counts.data(), r.before.data());
  exclusive_sums(ctx, piece_count, entry_counts.data(), r.entries_before.data());
  std::int64_t count = 0;
  read_back(ctx, &count, r.before.data() + piece_count, 1);
  if (count > 0xffffffffLL)
    throw unsupported("to_csr: a device takes trees of up to 2^32 runs of entries");
  r.first = array<std::int64_t, space::device>(ctx, count + 1);
  r.row = array<I, space::device>(ctx, count);
  r.col = array<I, space::device>(ctx, count);
  for_each_leaf(ctx, piece_count, "to_csr: runs",
                [a, count, pieces = pieces.data(), before = r.before.data(),
                 entries_before = r.entries_before.data(), first = r.first.data(),
                 to_row = r.row.data(), to_col = r.col.data()] __device__(std::int64_t k) {
                  const unsigned lower = (1u << threadIdx.x % 32) - 1;
                  std::int64_t run = before[k], entry = entries_before[k];
                  walk_piece(a, pieces[k],
                             [&](const run_finder& finder, bool, bool begins, std::int64_t row,
                                 std::int64_t col, const T*) {
                               if (begins) {
                                 const std::int64_t at = run + __popc(finder.runs() & lower);
                                 first[at] = entry + __popc(finder.entries() & lower);
                                 to_row[at] = static_cast<I>(row);
                                 to_col[at] = static_cast<I>(col);
                               }
                               run += __popc(finder.runs());
                               entry += __popc(finder.entries());
                             });
                  if (k == 0 && threadIdx.x == 0) first[count] = a.nnz;
                });
  r.pieces = std::move(pieces);
  return r;
}

/// Of a leaf that gets new values, the most.
constexpr std::int64_t most_leaf_warps = 256;

/// New values for the rest of a leaf, or of a piece, by a warp.
template <class T, class I>
__device__ void place_in_rest(const tree_source<T, I>& from, const read_offsets& rowptr,
                              const tree_item<I>& item, leaf_walk<T> walk) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (!walk.done()) {
    std::uint32_t row, col;
    T* value;
    const bool inside = walk.next(row, col, value);
    // The first of a row in the window looks for its place; the others follow one another in A.
    const unsigned entries = __ballot_sync(whole_warp, inside);
    const std::uint32_t above = __shfl_up_sync(whole_warp, row, 1);
    const unsigned begins = __ballot_sync(whole_warp, lane == 0 || row != above);
    const int first = 31 - __clz(static_cast<int>(begins & (0xffffffffu >> (31 - lane))));
    const unsigned of_row = entries & (0xffffffffu << first);
    const int finder = of_row == 0 ? lane : __ffs(static_cast<int>(of_row)) - 1;
    std::int64_t found = 0, last = 0;
    if (inside) last = rowptr[item.row + std::int64_t{row} + 1];
    if (inside && lane == finder) {
      const std::int64_t begin = rowptr[item.row + std::int64_t{row}];
      found = begin + lower_bound(from.col + begin, last - begin,
                                  static_cast<I>(item.col + std::int64_t{col}));
    }
    found = __shfl_sync(whole_warp, found, finder) + __popc(of_row & ((1u << lane) - 1));
    if (!inside || found >= last) continue; // else A has another pattern
    const bool in_order = from.from.narrow == nullptr && from.from.wide == nullptr;
    const std::int64_t k = in_order                    ? found
                           : from.from.wide != nullptr ? from.from.wide[found]
                                                       : from.from.narrow[found];
    *value = from.values[k];
  }
}

} // namespace

template <class T, class I, class O>
csr_d<T, I, O> tree_to_csr(const device_context& ctx,
                           const tree_arrays<const T, I, space::device>& a, T scale) {
  const device_guard guard(ctx.device());
  csr_d<T, I, O> result(ctx, a.extent, checked_cast<O>(a.nnz, "the number of entries"),
                        {true, true});
  if (a.nnz == 0) {
    check(cudaMemsetAsync(result.rowptr().data(), 0,
                          static_cast<std::size_t>(result.rowptr().size()) * sizeof(O),
                          ctx.stream()),
          "to_csr: memset");
    return result;
  }
  const tree_runs<I> runs = list_tree_runs(ctx, a);
  const std::int64_t count = runs.row.size();
  positions order = count_up(ctx, count);
  // Leaves of a row of blocks have different columns of blocks.
  reorder_by_place(
      ctx, order, bits_up_to(a.extent.row - 1),
      [row = runs.row.data()] __device__(std::int64_t k) { return row[k]; },
      bits_up_to((a.extent.col - 1) >> a.bits),
      [col = runs.col.data(), bits = a.bits] __device__(std::int64_t k) { return col[k] >> bits; });
  const auto places = sums_before(
      ctx, count, [order = order.data(), first = runs.first.data()] __device__(std::int64_t k) {
        return first[order[k] + 1] - first[order[k]];
      });
  array<std::int64_t, space::device> place_of_run(ctx, count);
  for_each(ctx, count, "to_csr: places",
           [order = order.data(), places = places.data(),
            to = place_of_run.data()] __device__(std::int64_t k) { to[order[k]] = places[k]; });
  for_each(ctx, result.rowptr().size(), "to_csr: rows",
           [count, order = order.data(), row = runs.row.data(), places = places.data(),
            rowptr = result.rowptr().data()] __device__(std::int64_t i) {
             std::int64_t low = 0, high = count;
             while (low < high) {
               const std::int64_t middle = (low + high) / 2;
               if (row[order[middle]] < i)
                 low = middle + 1;
               else
                 high = middle;
             }
             rowptr[i] = static_cast<O>(places[low]);
           });
  for_each_leaf(ctx, runs.pieces.size(), "to_csr: entries",
                [a, scale, pieces = runs.pieces.data(), before = runs.before.data(),
                 first = runs.first.data(), entries_before = runs.entries_before.data(),
                 place = place_of_run.data(), colind = result.colind().data(),
                 values = result.values().data()] __device__(std::int64_t k) {
                  const unsigned lower = (1u << threadIdx.x % 32) - 1;
                  std::int64_t run = before[k], entry = entries_before[k];
                  walk_piece(a, pieces[k],
                             [&](const run_finder& finder, bool inside, bool begins, std::int64_t,
                                 std::int64_t col, const T* value) {
                               if (inside) {
                                 const std::int64_t own =
                                     run - 1 + __popc(finder.runs() & lower) + (begins ? 1 : 0);
                                 const std::int64_t to = place[own] - first[own] + entry +
                                                         __popc(finder.entries() & lower);
                                 colind[to] = static_cast<I>(col);
                                 values[to] = scale == T{1} ? *value : scale * *value;
                               }
                               run += __popc(finder.runs());
                               entry += __popc(finder.entries());
                             });
                });
  return result;
}

template <class T, class I>
void place_in_tree(const device_context& ctx, const tree_source<T, I>& from,
                   tree_arrays<T, I, space::device> to) {
  const device_guard guard(ctx.device());
  const auto rowptr = from.rowptr.wide != nullptr ? read_offsets(from.rowptr.wide)
                                                  : read_offsets(from.rowptr.narrow);
  // It takes no memory: each of a leaf's warps finds its pieces by going through all chunks.
  const std::int64_t warps = std::clamp<std::int64_t>(
      from.nnz / (to.items.size() * tree_piece_entries + 1), 1, most_leaf_warps);
  for_each_leaf(ctx, checked_mul(to.items.size(), warps), "update_values: block_tree",
                [from, to, rowptr, warps] __device__(std::int64_t k) {
                  const std::int64_t leaf = k / warps;
                  const tree_item<I> item = to.items.data()[leaf];
                  const auto whole = walk_item<T>(to, leaf);
                  if (warps == 1) return place_in_rest(from, rowptr, item, whole);
                  const std::int64_t chunks = whole.chunks(tree_piece_entries),
                                     step = whole.entries_of_piece(tree_piece_entries);
                  std::int64_t first = 0,
                               turn = leaf * warps - k; // of the next piece: 0 is this warp's
                  for (std::int64_t c = 0; c < chunks; ++c) {
                    const std::int64_t end = first + whole.entries_of_chunk(c, tree_piece_entries);
                    for (std::int64_t at = first; at < end; at += step) {
                      if (turn == 0) {
                        auto walk = whole;
                        (void)walk.begin_piece({leaf, at, min(at + step, end), 32 * c, first});
                        place_in_rest(from, rowptr, item, walk);
                      }
                      turn = turn + 1 == warps ? 0 : turn + 1;
                    }
                    first = end;
                  }
                });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void place_in_tree<T, I>(const device_context&, const tree_source<T, I>&,               \
                                    tree_arrays<T, I, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr_d<T, I, O> tree_to_csr<T, I, O>(const device_context&,                              \
                                               const tree_arrays<const T, I, space::device>&, T);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
