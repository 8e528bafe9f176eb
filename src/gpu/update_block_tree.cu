// Single entries of a block tree on the device: a thread finds the place of each, from the root
// down. Entries of one place are written by one thread, in the order of the batch.
#include "gpu/block_tree.cuh"
#include "gpu/parts/sort.cuh"
#include "op/block_tree_levels.hpp"
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::detail::gpu {
namespace {

/// The child of an inner node at (row, column) of its places; 0: there is none.
__device__ inline std::uint64_t device_child_at(const unsigned char* pool, std::uint64_t node,
                                                std::int64_t cols, std::int64_t row,
                                                std::int64_t col) {
  const auto* const children = reinterpret_cast<const std::uint64_t*>(pool + place_of(node));
  if (type_of(node) == tree_node::inner_dense) return children[row * cols + col];
  const std::int64_t count = count_of(node);
  const auto* const coordinates = reinterpret_cast<const std::uint16_t*>(children + count);
  const auto wanted = static_cast<std::uint16_t>(row << 8 | col);
  const std::int64_t found = lower_bound(coordinates, count, wanted);
  return found == count || coordinates[found] != wanted ? 0 : children[found];
}

/// The place of an entry in a leaf's lists, -1: there is none; first: behind the values.
template <class C>
__device__ std::int64_t find_in_lists(tree_node type, const C* first, std::int64_t entries,
                                      std::int64_t runs, std::int64_t r, std::int64_t c) {
  if (is_coo(type)) {
    std::int64_t low = 0, high = entries; // by rows, then columns
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const std::int64_t row = first[2 * middle], col = first[2 * middle + 1];
      if (row < r || (row == r && col < c))
        low = middle + 1;
      else
        high = middle;
    }
    return low < entries && first[2 * low] == r && first[2 * low + 1] == c ? low : -1;
  }
  std::int64_t k = 0, run = 0;
  while (run < runs && first[run] < r) k += std::int64_t{first[runs + run++]} + 1;
  if (run == runs || first[run] != r) return -1;
  const std::int64_t length = std::int64_t{first[runs + run]} + 1;
  const C* const columns = first + 2 * runs + k;
  const std::int64_t found = lower_bound(columns, length, static_cast<C>(c));
  return found < length && columns[found] == c ? k + found : -1;
}

/// Where in the pool the value of an entry is; 0: there is none.
template <class T, class I>
__device__ std::int64_t device_value_place(const tree_arrays<T, I, space::device>& a,
                                           std::int64_t row, std::int64_t col) {
  const unsigned char* const pool = pool_of(a);
  std::uint64_t node = a.root;
  std::int64_t first_row = 0, first_col = 0;
  for (int level = a.levels - 1; node != 0 && is_inner(node); --level) {
    const std::int64_t step = block_extent(a.bits, level - 1);
    const std::int64_t r = (row - first_row) / step, c = (col - first_col) / step;
    const std::int64_t cols =
        min(std::int64_t{1} << a.bits, (a.extent.col - first_col + step - 1) / step);
    node = device_child_at(pool, node, cols, r, c);
    first_row += r * step;
    first_col += c * step;
  }
  if (node == 0) return 0;
  const tree_node type = type_of(node);
  const std::int64_t r = row - first_row, c = col - first_col;
  std::int64_t place = place_of(node), k = -1;
  if (type == tree_node::dense || type == tree_node::masked) {
    const std::int64_t cols = a.cols_from(first_col), all = a.rows_from(first_row) * cols;
    k = r * cols + c;
    const unsigned char* const mask = pool + place + all * static_cast<std::int64_t>(sizeof(T));
    if (type == tree_node::masked && (mask[k / 8] >> (k % 8) & 1) == 0) return 0;
    return place + k * static_cast<std::int64_t>(sizeof(T));
  }
  std::int64_t entries = count_of(node), runs = 0;
  if (has_header(type)) {
    entries = *reinterpret_cast<const std::int64_t*>(pool + place);
    runs = *reinterpret_cast<const std::uint32_t*>(pool + place + 8);
    place += 16;
  }
  const unsigned char* list = pool + place +
                              (is_rows(type) ? entries : padded_entries(type, entries)) *
                                  static_cast<std::int64_t>(sizeof(T));
  if (type == tree_node::rows) {
    runs = (list[0] | list[1] << 8) + 1;
    list += 2;
  }
  switch (coordinate_bytes(type)) {
  case 1: k = find_in_lists(type, list, entries, runs, r, c); break;
  case 2:
    k = find_in_lists(type, reinterpret_cast<const std::uint16_t*>(list), entries, runs, r, c);
    break;
  default:
    k = find_in_lists(type, reinterpret_cast<const std::uint32_t*>(list), entries, runs, r, c);
  }
  return k < 0 ? 0 : place + k * static_cast<std::int64_t>(sizeof(T));
}

} // namespace

template <class T, class I>
void update_in_tree(const device_context& ctx, vector_view<const I, space::device> rows,
                    vector_view<const I, space::device> cols,
                    vector_view<const T, space::device> values, bool transposed, T scale, bool adds,
                    tree_arrays<T, I, space::device> to) {
  const device_guard guard(ctx.device());
  const std::int64_t n = values.size();
  sorted_keys<std::uint64_t, std::uint64_t> places{array<std::uint64_t, space::device>(ctx, n),
                                                   array<std::uint64_t, space::device>(ctx, n)};
  array<unsigned long long, space::device> bad(ctx, 1); // the first entry without a place
  check(cudaMemsetAsync(bad.data(), 0xff, bad.bytes(), ctx.stream()), "update_entries: memset");
  const std::int64_t height = transposed ? to.extent.col : to.extent.row;
  const std::int64_t width = transposed ? to.extent.row : to.extent.col;
  for_each(ctx, n, "update_entries: places",
           [=, rows = rows.data(), cols = cols.data(), keys = places.keys.data(),
            positions = places.positions.data(), bad = bad.data()] __device__(std::int64_t k) {
             const std::int64_t i = rows[k], j = cols[k];
             std::int64_t place = 0;
             if (i >= 0 && i < height && j >= 0 && j < width)
               place = device_value_place(to, transposed ? j : i, transposed ? i : j);
             if (place == 0) atomicMin(bad, static_cast<unsigned long long>(k));
             keys[k] = static_cast<std::uint64_t>(place);
             positions[k] = static_cast<std::uint64_t>(k);
           });
  unsigned long long first_bad = 0;
  read_back(ctx, &first_bad, bad.data(), 1);
  if (first_bad != ~0ULL) {
    I row = 0, col = 0;
    read_back(ctx, &row, rows.data() + first_bad, 1);
    read_back(ctx, &col, cols.data() + first_bad, 1);
    const bool inside = row >= 0 && row < height && col >= 0 && col < width;
    throw_no_tree_entry(row, col, inside);
  }
  places = sort_stably<std::uint64_t, std::uint64_t>(ctx, std::move(places),
                                                     16 * std::int64_t{to.pool.size()});
  if (scale != T{1})
    for_each_leaf(ctx, to.items.size(), "update_entries: scaled",
                  [to, scale] __device__(std::int64_t k) {
                    leaf_walk<T> walk;
                    begin_item(walk, to, to.items.data()[k]);
                    while (!walk.done()) {
                      std::uint32_t row, col;
                      T* value;
                      if (walk.next(row, col, value)) *value *= scale;
                    }
                  });
  for_each(ctx, n, "update_entries: values",
           [n, adds, pool = pool_of(to), values = values.data(), keys = places.keys.data(),
            from = places.positions.data()] __device__(std::int64_t k) {
             if (k > 0 && keys[k - 1] == keys[k]) return;
             T& value = *reinterpret_cast<T*>(pool + keys[k]);
             T now = value;
             for (std::int64_t i = k; i < n && keys[i] == keys[k]; ++i)
               now = adds ? now + values[from[i]] : values[from[i]];
             value = now;
           });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void update_in_tree<T, I>(const device_context&, vector_view<const I, space::device>,   \
                                     vector_view<const I, space::device>,                          \
                                     vector_view<const T, space::device>, bool, T, bool,           \
                                     tree_arrays<T, I, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
