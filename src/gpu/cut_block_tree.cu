// Flat leaves of a block tree cut into leaves of the lowest level, on the device, for sums: lists
// of entries in memory of their own. A warp cuts a leaf: it counts what each block holds, and deals
// the entries out in their order. Then all leaves are listed by rows of blocks and by columns.
#include "gpu/add_block_tree.cuh"
#include "gpu/parts/allow_shared.cuh"
#include "gpu/parts/scan.cuh"
#include "op/block_tree_levels.hpp"

namespace lacuna::detail::gpu {
namespace {

/// Of a flat leaf, the most: numbers of 16 bits count them.
constexpr std::int64_t most_cut_entries = 65535;

struct flat_leaf {
  std::int32_t item, region; ///< entries of those before: where its pieces are
};
struct flat_census {
  unsigned long long leaves, entries, others; ///< others: that are not cut
};

template <class T, class I>
__global__ void __launch_bounds__(32)
    cut_leaves_kernel(const tree_arrays<const T, I, space::device> a, const flat_leaf* flats,
                      tree_item<I>* pieces, unsigned char* pool) {
  extern __shared__ __align__(16) unsigned char cut_shared[];
  const int lane = static_cast<int>(threadIdx.x), d = 1 << a.bits, blocks = d * d;
  const unsigned lower = (1u << lane) - 1;
  auto* const counts = reinterpret_cast<std::uint16_t*>(cut_shared);
  auto* const numbers = counts + blocks; // of a block's piece
  const flat_leaf flat = flats[blockIdx.x];
  const tree_item<I> item = a.items.data()[flat.item];
  const auto for_each_window = [&](const auto& f) {
    leaf_walk<const T> walk;
    begin_item(walk, a, item);
    while (!walk.done()) {
      std::uint32_t row, col;
      const T* value;
      const bool inside = walk.next(row, col, value);
      const int block =
          inside ? static_cast<int>(((row >> a.bits) << a.bits) + (col >> a.bits)) : -1;
      const unsigned same = __match_any_sync(whole_warp, block);
      int at = 0;
      if (inside) at = counts[block] + __popc(same & lower);
      __syncwarp();
      if (inside && (same & lower) == 0)
        counts[block] = static_cast<std::uint16_t>(counts[block] + __popc(same));
      __syncwarp();
      if (inside) f(block, at, row, col, *value);
    }
  };
  const auto clear = [&] {
    for (int i = lane; i < blocks; i += 32) counts[i] = 0;
    __syncwarp();
  };
  clear();
  for_each_window([](int, int, std::uint32_t, std::uint32_t, const T&) {});
  int piece = 0, units = 0;
  for (int first = 0; first < blocks; first += 32) {
    const int block = first + lane, entries = counts[block];
    const tree_node type = entries == 1   ? tree_node::coo1
                           : entries == 2 ? tree_node::coo2
                                          : tree_node::coo4;
    int total;
    const int before = sums_before_lane(
        entries == 0 ? 0 : static_cast<int>(leaf_bytes(type, sizeof(T), entries, 0, 0, 0) / 16),
        total);
    const unsigned has = __ballot_sync(whole_warp, entries > 0);
    const int number = piece + __popc(has & lower);
    if (entries > 0) {
      numbers[block] = static_cast<std::uint16_t>(number);
      const std::int64_t place = 16 * (std::int64_t{flat.region} + units + before);
      pieces[flat.region + number] = {tree_pointer(type, place, entries),
                                      static_cast<I>(item.row + (block >> a.bits) * d),
                                      static_cast<I>(item.col + (block & (d - 1)) * d)};
    }
    piece += __popc(has);
    units += total;
  }
  __syncwarp();
  clear();
  for_each_window([&](int block, int at, std::uint32_t row, std::uint32_t col, const T& value) {
    const std::uint64_t node = pieces[flat.region + numbers[block]].node;
    unsigned char* const leaf = pool + place_of(node);
    const std::int64_t padded = padded_entries(type_of(node), count_of(node));
    reinterpret_cast<T*>(leaf)[at] = value;
    reinterpret_cast<uchar2*>(leaf + padded * static_cast<std::int64_t>(sizeof(T)))[at] = {
        static_cast<unsigned char>(row & (d - 1)), static_cast<unsigned char>(col & (d - 1))};
  });
}

} // namespace

template <class T, class I>
bool cut_flat_leaves(const device_context& ctx, const tree_arrays<const T, I, space::device>& a,
                     cut_leaves<I>& cut) {
  // With blocks of 32 flat leaves of two levels have coordinates of 2 bytes; those of 256 have too
  // many blocks for a warp's shared memory.
  if (a.bits != 6 && a.bits != 7) return false;
  const std::int64_t items = a.items.size();
  array<flat_census, space::device> found(ctx, 1);
  array<flat_leaf, space::device> flats(ctx, items);
  check(cudaMemsetAsync(found.data(), 0, found.bytes(), ctx.stream()), "add: memset");
  for_each(ctx, items, "add: flat leaves",
           [a, found = found.data(), flats = flats.data()] __device__(std::int64_t k) {
             const std::uint64_t node = a.items.data()[k].node;
             if (!has_header(type_of(node))) return;
             const std::int64_t entries =
                 *reinterpret_cast<const std::int64_t*>(pool_of(a) + place_of(node));
             if (coordinate_bytes(type_of(node)) != 2 || entries > most_cut_entries) {
               atomicAdd(&found->others, 1ULL);
               return;
             }
             const unsigned long long at = atomicAdd(&found->leaves, 1ULL);
             const unsigned long long region =
                 atomicAdd(&found->entries, static_cast<unsigned long long>(entries));
             flats[at] = {static_cast<std::int32_t>(k), static_cast<std::int32_t>(region)};
           });
  flat_census census{};
  read_back(ctx, &census, found.data(), 1);
  const auto entries = static_cast<std::int64_t>(census.entries);
  // A warp takes a leaf, entries of 8 in a piece cost twice as much, and pieces stay pieces.
  if (census.others > 0 || entries > a.nnz / 4 || items + entries > most_sum_leaves) return false;

  cut.items = items;
  cut.pieces = array<tree_item<I>, space::device>(ctx, entries);
  cut.pool = array<tree_unit, space::device>(ctx, entries);
  check(cudaMemsetAsync(cut.pieces.data(), 0, cut.pieces.bytes(), ctx.stream()), "add: memset");
  if (census.leaves > 0) {
    const int bytes = 4 << (2 * a.bits); // two numbers of 16 bits for each block
    allow_shared(cut_leaves_kernel<T, I>, static_cast<std::size_t>(bytes));
    cut_leaves_kernel<T, I><<<static_cast<unsigned>(census.leaves), 32,
                              static_cast<std::size_t>(bytes), ctx.stream()>>>(
        a, flats.data(), cut.pieces.data(), reinterpret_cast<unsigned char*>(cut.pool.data()));
    check_launch("cut_leaves_kernel");
  }

  // Leaves of a row of blocks are listed in any order: pairs find their places by themselves.
  const std::int64_t rows = (std::int64_t{a.extent.row} - 1 >> a.bits) + 1;
  const std::int64_t cols = (std::int64_t{a.extent.col} - 1 >> a.bits) + 1;
  array<std::int32_t, space::device> counts(ctx, 2 * (rows + cols));
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx.stream()), "add: memset");
  const auto leaf = [a, items, pieces = cut.pieces.data()] __device__(std::int64_t k,
                                                                      tree_item<I> & item) {
    item = k < items ? a.items.data()[k] : pieces[k - items];
    return item.node != 0 && (k >= items || !has_header(type_of(item.node)));
  };
  for_each(ctx, items + entries, "add: leaves",
           [a, leaf, rows, counts = counts.data()] __device__(std::int64_t k) {
             tree_item<I> item;
             if (!leaf(k, item)) return;
             atomicAdd(counts + (item.row >> a.bits), 1);
             atomicAdd(counts + rows + (item.col >> a.bits), 1);
           });
  for (const bool columns : {false, true}) {
    const std::int64_t lines = columns ? cols : rows;
    cut.starts[columns] = array<std::int32_t, space::device>(ctx, lines + 1);
    cut.through[columns] = array<std::int64_t, space::device>(ctx, items + entries);
    exclusive_sums(ctx, lines, counts.data() + (columns ? rows : 0), cut.starts[columns].data());
  }
  for_each(ctx, items + entries, "add: leaves",
           [a, leaf, rows, cols, taken = counts.data() + rows + cols,
            row_starts = cut.starts[0].data(), col_starts = cut.starts[1].data(),
            by_row = cut.through[0].data(),
            by_col = cut.through[1].data()] __device__(std::int64_t k) {
             tree_item<I> item;
             if (!leaf(k, item)) return;
             const std::int64_t row = item.row >> a.bits, col = item.col >> a.bits;
             by_row[row_starts[row] + atomicAdd(taken + row, 1)] = k;
             by_col[col_starts[col] + atomicAdd(taken + rows + col, 1)] = k;
           });
  return true;
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template bool cut_flat_leaves<T, I>(                                                             \
      const device_context&, const tree_arrays<const T, I, space::device>&, cut_leaves<I>&);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
