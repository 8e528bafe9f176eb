// Tiles of a block tree's entries, for products on the device (block_tree_work.hpp says what they
// are). Entries are listed leaf by leaf, then for each direction sorted by line, which tells tile
// and place, and back by tile, which tells slots. Each sort moves 8 bytes an entry for every 8
// bits.
#include "gpu/block_tree_pieces.cuh"

namespace lacuna::detail::gpu {
namespace {

using work_words = array<std::uint32_t, space::device>;
using work_sums = array<std::int64_t, space::device>;

/// All entries, in the order of the list of leaves.
struct listed_tree_entries {
  work_words row, col;
  work_words place; ///< of the value, counted in values
  work_words leaf;
};
/// How a leaf's columns are found.
struct leaf_columns {
  std::int64_t values;  ///< bytes
  std::int64_t columns; ///< bytes
  std::int64_t first;
  tree_columns kind;
};

template <class T, class I>
array<leaf_columns, space::device>
find_leaf_columns(const device_context& ctx, const tree_arrays<const T, I, space::device>& a) {
  array<leaf_columns, space::device> leaves(ctx, a.items.size());
  for_each(ctx, a.items.size(), "block_tree: leaves",
           [a, to = leaves.data()] __device__(std::int64_t k) {
             const tree_item<I> item = a.items.data()[k];
             const tree_node type = type_of(item.node);
             const unsigned char* const pool = pool_of(a);
             std::int64_t at = place_of(item.node), entries = count_of(item.node), runs = 0;
             if (has_header(type)) {
               entries = *reinterpret_cast<const std::int64_t*>(pool + at);
               runs = *reinterpret_cast<const std::uint32_t*>(pool + at + 8);
               at += 16;
             }
             leaf_columns leaf{at, 0, item.col, tree_columns::following};
             const int width = coordinate_bytes(type);
             at += (is_rows(type) ? entries : padded_entries(type, entries)) *
                   std::int64_t{sizeof(T)};
             if (is_rows(type)) {
               if (!has_header(type)) {
                 runs = (pool[at] | pool[at + 1] << 8) + 1;
                 at += 2;
               }
               leaf.columns = at + 2 * width * runs;
               leaf.kind = static_cast<tree_columns>(width / 2 * 2); // 1, 2, 4: 0, 2, 4
             } else if (is_coo(type)) {
               leaf.columns = at + width;
               leaf.kind = static_cast<tree_columns>(width / 2 * 2 + 1);
             }
             to[k] = leaf;
           });
  return leaves;
}

template <class T, class I>
listed_tree_entries list_tree_entries(const device_context& ctx,
                                      const tree_arrays<const T, I, space::device>& a) {
  const std::int64_t leaves = a.items.size();
  const auto before = sums_before(ctx, leaves, [a] __device__(std::int64_t k) {
    const std::uint64_t node = a.items.data()[k].node;
    return has_header(type_of(node))
               ? *reinterpret_cast<const std::int64_t*>(pool_of(a) + place_of(node))
               : count_of(node);
  });
  listed_tree_entries list{work_words(ctx, a.nnz), work_words(ctx, a.nnz), work_words(ctx, a.nnz),
                           work_words(ctx, a.nnz)};
  const auto pieces = list_pieces(ctx, a);
  for_each_leaf(ctx, pieces.size(), "block_tree: entries",
                [a, pieces = pieces.data(), before = before.data(), to_row = list.row.data(),
                 to_col = list.col.data(), to_place = list.place.data(),
                 to_leaf = list.leaf.data()] __device__(std::int64_t p) {
                  const leaf_piece piece = pieces[p];
                  if (piece.leaf < 0) return;
                  const tree_item<I> item = a.items.data()[piece.leaf];
                  const T* const values = reinterpret_cast<const T*>(pool_of(a));
                  const unsigned lower = (1u << threadIdx.x % 32) - 1;
                  auto walk = walk_item<const T>(a, piece.leaf);
                  std::int64_t at = before[piece.leaf] + piece.first;
                  (void)walk.begin_piece(piece);
                  while (!walk.done()) {
                    std::uint32_t row, col;
                    const T* value;
                    const bool inside = walk.next(row, col, value);
                    const unsigned lanes = __ballot_sync(whole_warp, inside);
                    if (inside) {
                      const std::int64_t to = at + __popc(lanes & lower);
                      to_row[to] = static_cast<std::uint32_t>(item.row) + row;
                      to_col[to] = static_cast<std::uint32_t>(item.col) + col;
                      to_place[to] = static_cast<std::uint32_t>(value - values);
                      to_leaf[to] = static_cast<std::uint32_t>(piece.leaf);
                    }
                    at += __popc(lanes);
                  }
                });
  return list;
}

/// Lines that are cut into tiles together: columns, so that a tile has neighbours of a row.
constexpr int work_unit(bool transposed) { return transposed ? 16 : 1; }

/// Where lines are. Lines of few entries are weighed by entries and one more, and a tile has so
/// much of that; units with many have tiles of their own, behind all of these.
struct work_lines {
  std::int64_t count;           ///< of lines
  int unit;                     ///< lines of a unit
  std::int64_t tile_weight;     ///< of a tile of short lines
  std::int64_t normal;          ///< tiles of short lines
  std::uint32_t capacity;       ///< slots of a tile
  const std::uint32_t* entries; ///< of each line
  const std::int64_t* before;   ///< entries of lines before
  const std::int64_t* weight;   ///< of lines before
  const std::int64_t* tiles;    ///< of long units before

  [[nodiscard]] __device__ std::int64_t tile_of(std::int64_t l) const {
    return weight[l] / tile_weight;
  }
  /// Entries of short lines before.
  [[nodiscard]] __device__ std::int64_t short_before(std::int64_t l) const { return weight[l] - l; }
  [[nodiscard]] __device__ std::int64_t tiles_of(std::int64_t unit) const {
    return tiles[unit + 1] - tiles[unit];
  }
  [[nodiscard]] __device__ bool is_long(std::int64_t l) const { return tiles_of(l / unit) > 0; }
  [[nodiscard]] __device__ std::int64_t lines_of(std::int64_t u) const {
    return min(std::int64_t{unit}, count - u * unit);
  }
};

struct work_order {
  work_words line_entries;
  work_sums line_before, line_weight, long_tiles;
  work_lines lines;
  std::int64_t tiles = 0;
  work_words first_line; ///< of each tile
  work_words tile;       ///< of each entry
  array<std::uint16_t, space::device> place;
  array<std::uint16_t, space::device> begins; ///< of tiles of long units, unit each
};

/// Places in tiles of long units: a warp for each, whose entries are ordered by line.
inline void place_in_long_tiles(const device_context& ctx, work_order& w, const positions& order,
                                const work_words& line_of) {
  const std::int64_t long_tiles = w.tiles - w.lines.normal;
  w.begins = array<std::uint16_t, space::device>(ctx, long_tiles * w.lines.unit);
  for_each_leaf(
      ctx, long_tiles, "block_tree: long tiles",
      [lines = w.lines, order = order.data(), line_of = line_of.data(),
       first_line = w.first_line.data(), place = w.place.data(),
       begins = w.begins.data()] __device__(std::int64_t t) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const std::int64_t line = first_line[lines.normal + t], unit = line / lines.unit;
        const std::int64_t end = lines.before[line + lines.lines_of(unit)];
        const std::int64_t from =
            lines.before[line] + (t - lines.tiles[unit]) * std::int64_t{lines.capacity};
        const auto entries = static_cast<int>(min(std::int64_t{lines.capacity}, end - from));
        int count = 0; // lane i: of line i
        for (int k = 0; k < entries; k += 32) {
          const int own =
              k + lane < entries ? static_cast<int>(line_of[order[from + k + lane]] - line) : -1;
          for (int i = 0; i < lines.unit; ++i) {
            const unsigned same = __ballot_sync(whole_warp, own == i);
            if (lane == i) count += __popc(same);
          }
        }
        int all, at = sums_before_lane(count, all);
        if (lane < lines.unit) begins[t * lines.unit + lane] = static_cast<std::uint16_t>(at);
        for (int k = 0; k < entries; k += 32) {
          const bool inside = k + lane < entries;
          const std::uint32_t entry = inside ? order[from + k + lane] : 0;
          const int own = inside ? static_cast<int>(line_of[entry] - line) : 31;
          const unsigned same = __match_any_sync(whole_warp, own);
          const int begin = __shfl_sync(whole_warp, at, own);
          if (inside)
            place[entry] = static_cast<std::uint16_t>(begin + __popc(same & ((1u << lane) - 1)));
          for (int i = 0; i < lines.unit; ++i) {
            const unsigned those = __ballot_sync(whole_warp, own == i);
            if (lane == i) at += __popc(those);
          }
        }
      });
}

/// Which tile each entry is of, and its place there.
inline work_order order_by_lines(const device_context& ctx, const work_words& line_of,
                                 std::int64_t line_count, int unit, int capacity) {
  const std::int64_t n = line_of.size(), units = (line_count + unit - 1) / unit;
  const auto slots = static_cast<std::uint32_t>(capacity);
  work_order w;
  w.line_entries = work_words(ctx, line_count);
  check(cudaMemsetAsync(w.line_entries.data(), 0, w.line_entries.bytes(), ctx.stream()),
        "block_tree: memset");
  for_each(ctx, n, "block_tree: lines",
           [line = line_of.data(), count = w.line_entries.data()] __device__(std::int64_t k) {
             atomicAdd(count + line[k], 1u);
           });
  w.line_before =
      sums_before(ctx, line_count, [count = w.line_entries.data()] __device__(std::int64_t l) {
        return std::int64_t{count[l]};
      });
  w.long_tiles = sums_before(ctx, units,
                             [unit, slots, line_count, count = w.line_entries.data(),
                              before = w.line_before.data()] __device__(std::int64_t u) {
                               const std::int64_t first = u * unit,
                                                  end = min(first + unit, line_count);
                               const std::int64_t all = before[end] - before[first];
                               bool is_long = unit > 1 && all > slots - slots / 4;
                               for (std::int64_t l = first; l < end; ++l)
                                 is_long = is_long || count[l] > slots / 4;
                               return is_long ? (all + slots - 1) / slots : std::int64_t{0};
                             });
  w.line_weight = sums_before(ctx, line_count,
                              [unit, count = w.line_entries.data(),
                               tiles = w.long_tiles.data()] __device__(std::int64_t l) {
                                return tiles[l / unit + 1] > tiles[l / unit]
                                           ? std::int64_t{1}
                                           : std::int64_t{count[l]} + 1;
                              });
  std::int64_t last_weight = 0, long_tiles = 0;
  read_back(ctx, &last_weight, w.line_weight.data() + line_count - 1, 1);
  read_back(ctx, &long_tiles, w.long_tiles.data() + units, 1);
  const std::int64_t tile_weight = capacity - capacity / 4;
  w.lines = {line_count,
             unit,
             tile_weight,
             last_weight / tile_weight + 1,
             slots,
             w.line_entries.data(),
             w.line_before.data(),
             w.line_weight.data(),
             w.long_tiles.data()};
  w.tiles = w.lines.normal + long_tiles;
  w.first_line = work_words(ctx, w.tiles);
  for_each(ctx, line_count, "block_tree: tiles",
           [lines = w.lines, first = w.first_line.data()] __device__(std::int64_t l) {
             const std::int64_t own = lines.tile_of(l), u = l / lines.unit;
             if (l == 0 || lines.tile_of(l - 1) != own) first[own] = static_cast<std::uint32_t>(l);
             if (l % lines.unit != 0) return;
             for (std::int64_t t = lines.tiles[u]; t < lines.tiles[u + 1]; ++t)
               first[lines.normal + t] = static_cast<std::uint32_t>(l);
           });
  // Entries of a long unit stay in the order of leaves.
  const auto key = [line = line_of.data(), lines = w.lines] __device__(std::int64_t k) {
    const std::uint32_t l = line[k];
    return lines.is_long(l) ? l / lines.unit * lines.unit : l;
  };
  positions order = count_up(ctx, n);
  reorder(ctx, order, bits_up_to(line_count - 1), key);
  w.tile = work_words(ctx, n);
  w.place = array<std::uint16_t, space::device>(ctx, n);
  for_each(ctx, n, "block_tree: places",
           [key, lines = w.lines, order = order.data(), first = w.first_line.data(),
            tile = w.tile.data(), place = w.place.data()] __device__(std::int64_t j) {
             const std::uint32_t k = order[j], l = key(k);
             const std::int64_t offset = j - lines.before[l];
             if (lines.is_long(l)) {
               tile[k] = static_cast<std::uint32_t>(lines.normal + lines.tiles[l / lines.unit] +
                                                    offset / lines.capacity);
               place[k] = static_cast<std::uint16_t>(offset % lines.capacity);
               return;
             }
             const std::int64_t own = lines.tile_of(l);
             tile[k] = static_cast<std::uint32_t>(own);
             place[k] = static_cast<std::uint16_t>(lines.short_before(l) -
                                                   lines.short_before(first[own]) + offset);
           });
  if (unit > 1 && long_tiles > 0) place_in_long_tiles(ctx, w, order, line_of);
  return w;
}

/// Entries of each tile, and windows, before it.
struct work_tiles {
  work_sums entries, windows;
};
inline work_tiles count_tiles(const device_context& ctx, const work_order& w) {
  work_words count(ctx, w.tiles);
  for_each(ctx, w.tiles, "block_tree: tiles",
           [lines = w.lines, first = w.first_line.data(),
            count = count.data()] __device__(std::int64_t t) {
             const std::int64_t l = first[t], u = l / lines.unit;
             if (t >= lines.normal) {
               const std::int64_t done =
                   (t - lines.normal - lines.tiles[u]) * std::int64_t{lines.capacity};
               const std::int64_t all = lines.before[l + lines.lines_of(u)] - lines.before[l];
               count[t] = static_cast<std::uint32_t>(min(std::int64_t{lines.capacity}, all - done));
               return;
             }
             const std::int64_t end = t + 1 < lines.normal ? first[t + 1] : lines.count;
             count[t] = static_cast<std::uint32_t>(lines.short_before(end) - lines.short_before(l));
           });
  return {sums_before(
              ctx, w.tiles,
              [count = count.data()] __device__(std::int64_t t) { return std::int64_t{count[t]}; }),
          sums_before(ctx, w.tiles, [count = count.data()] __device__(std::int64_t t) {
            return (std::int64_t{count[t]} + 31) / 32;
          })};
}

/// Lists of one direction.
inline tree_work<space::device> make_direction(const device_context& ctx,
                                               const listed_tree_entries& list,
                                               const array<leaf_columns, space::device>& leaves,
                                               std::int64_t line_count, bool transposed,
                                               std::int64_t value_bytes, int capacity) {
  const std::int64_t n = list.row.size();
  const work_order w = order_by_lines(ctx, transposed ? list.col : list.row, line_count,
                                      work_unit(transposed), capacity);
  const work_tiles before = count_tiles(ctx, w);
  positions order = count_up(ctx, n);
  reorder(ctx, order, bits_up_to(w.tiles - 1),
          [tile = w.tile.data()] __device__(std::int64_t k) { return tile[k]; });
  const auto follows = [order = order.data(), tile = w.tile.data(), place = list.place.data(),
                        row = list.row.data()] __device__(std::int64_t j, bool same_row) {
    const std::uint32_t k = order[j], other = order[j - 1];
    return tile[k] == tile[other] && place[k] == place[other] + 1 &&
           (!same_row || row[k] == row[other]);
  };
  const auto pieces =
      number_groups(ctx, n, [follows] __device__(std::int64_t j) { return !follows(j, true); });
  const auto segments =
      number_groups(ctx, n,
                    [follows, order = order.data(), leaf = list.leaf.data(), row = list.row.data(),
                     leaves = leaves.data()] __device__(std::int64_t j) {
                      const std::uint32_t k = order[j], other = order[j - 1];
                      return leaf[k] != leaf[other] ||
                             !follows(j, leaves[leaf[k]].kind == tree_columns::following);
                    });
  std::int64_t windows = 0, piece_count = 0, segment_count = 0;
  read_back(ctx, &windows, before.windows.data() + w.tiles, 1);
  read_back(ctx, &piece_count, pieces.data() + n, 1);
  read_back(ctx, &segment_count, segments.data() + n, 1);
  tree_work<space::device> r;
  r.capacity = capacity;
  r.windows = array<tree_window, space::device>(ctx, windows);
  check(cudaMemsetAsync(r.windows.data(), 0, r.windows.bytes(), ctx.stream()),
        "block_tree: memset");
  if (transposed) {
    r.pieces = array<tree_piece, space::device>(ctx, piece_count);
    r.places = array<std::uint16_t, space::device>(ctx, 32 * windows);
    check(cudaMemsetAsync(r.places.data(), 0, r.places.bytes(), ctx.stream()),
          "block_tree: memset");
  } else {
    r.segments = array<tree_segment, space::device>(ctx, segment_count);
    r.shifts = array<std::int16_t, space::device>(ctx, piece_count);
  }
  for_each(ctx, n, "block_tree: slots",
           [transposed, value_bytes, order = order.data(), tile = w.tile.data(),
            tile_place = w.place.data(), before = before.entries.data(),
            windows_before = before.windows.data(), pieces = pieces.data(),
            segments = segments.data(), row = list.row.data(), col = list.col.data(),
            place = list.place.data(), leaf = list.leaf.data(), leaves = leaves.data(),
            to_windows = r.windows.data(), to_segments = r.segments.data(),
            to_shifts = r.shifts.data(), to_pieces = r.pieces.data(),
            to_places = r.places.data()] __device__(std::int64_t j) {
             const std::uint32_t k = order[j];
             const std::int64_t first = before[tile[k]], slot = j - first;
             tree_window& window = to_windows[windows_before[tile[k]] + slot / 32];
             const bool piece = pieces[j + 1] != pieces[j];
             const bool segment = !transposed && segments[j + 1] != segments[j];
             if (piece) atomicOr(&window.pieces, 1u << slot % 32);
             if (segment) atomicOr(&window.segments, 1u << slot % 32);
             if (slot % 32 == 0) {
               window.pieces_before = static_cast<std::uint16_t>(pieces[j] - pieces[first]);
               window.segments_before = static_cast<std::uint16_t>(segments[j] - segments[first]);
             }
             if (transposed) {
               to_places[32 * windows_before[tile[k]] + slot] = tile_place[k];
               if (piece)
                 to_pieces[pieces[j]] = {place[k] - static_cast<std::uint32_t>(slot), row[k]};
               return;
             }
             if (piece) to_shifts[pieces[j]] = static_cast<std::int16_t>(tile_place[k] - slot);
             if (!segment) return;
             const leaf_columns& own = leaves[leaf[k]];
             const std::int64_t inside = std::int64_t{place[k]} - own.values / value_bytes;
             const bool follow = own.kind == tree_columns::following;
             to_segments[segments[j]] = {(std::int64_t{place[k]} - slot) * value_bytes,
                                         own.columns + (inside - slot) * step_of(own.kind),
                                         (follow ? std::int64_t{col[k]} - slot : own.first) * 16 +
                                             static_cast<int>(own.kind)};
           });
  r.begins = array<std::uint16_t, space::device>(ctx, line_count + w.begins.size());
  for_each(ctx, r.begins.size(), "block_tree: lines",
           [lines = w.lines, first = w.first_line.data(), others = w.begins.data(),
            begins = r.begins.data()] __device__(std::int64_t l) {
             if (l >= lines.count) {
               begins[l] = others[l - lines.count];
               return;
             }
             const std::int64_t place =
                 lines.short_before(l) - lines.short_before(first[lines.tile_of(l)]);
             begins[l] = static_cast<std::uint16_t>(place | (lines.is_long(l) ? tree_long_bit : 0));
           });
  // Lines of several tiles: how many are before, and sums that wait.
  const auto joined = sums_before(ctx, line_count, [lines = w.lines] __device__(std::int64_t l) {
    return std::int64_t{lines.tiles_of(l / lines.unit) > 1};
  });
  const auto waiting = sums_before(ctx, line_count, [lines = w.lines] __device__(std::int64_t l) {
    const std::int64_t own = lines.tiles_of(l / lines.unit);
    return own > 1 ? own : std::int64_t{0};
  });
  std::int64_t long_count = 0;
  read_back(ctx, &long_count, joined.data() + line_count, 1);
  read_back(ctx, &r.waiting, waiting.data() + line_count, 1);
  r.long_lines = array<tree_long_line, space::device>(ctx, long_count);
  for_each(ctx, line_count, "block_tree: long lines",
           [joined = joined.data(), waiting = waiting.data(),
            to = r.long_lines.data()] __device__(std::int64_t l) {
             if (joined[l + 1] != joined[l])
               to[joined[l]] = {static_cast<std::uint32_t>(l),
                                static_cast<std::uint32_t>(waiting[l]),
                                static_cast<std::uint32_t>(waiting[l + 1] - waiting[l])};
           });
  r.tiles = array<tree_tile, space::device>(ctx, w.tiles);
  for_each(
      ctx, w.tiles, "block_tree: tiles",
      [transposed, lines = w.lines, first = w.first_line.data(), entries = before.entries.data(),
       windows = before.windows.data(), pieces = pieces.data(), segments = segments.data(),
       waiting = waiting.data(), to = r.tiles.data()] __device__(std::int64_t t) {
        const std::int64_t l = first[t];
        tree_tile tile{};
        tile.first_window = static_cast<std::uint32_t>(windows[t]);
        tile.first_piece = static_cast<std::uint32_t>(pieces[entries[t]]);
        if (!transposed) tile.first_segment = static_cast<std::uint32_t>(segments[entries[t]]);
        tile.first_line = tile.first_begin = first[t];
        tile.slots = static_cast<std::uint16_t>(entries[t + 1] - entries[t]);
        tile.waiting = -1;
        if (t < lines.normal) {
          tile.lines =
              static_cast<std::uint16_t>((t + 1 < lines.normal ? first[t + 1] : lines.count) - l);
        } else {
          const std::int64_t unit = l / lines.unit, own = t - lines.normal;
          if (lines.unit > 1) {
            tile.lines = static_cast<std::uint16_t>(lines.lines_of(unit));
            tile.first_begin = static_cast<std::uint32_t>(lines.count + own * lines.unit);
          }
          tile.parts = static_cast<std::uint32_t>(lines.tiles_of(unit));
          if (tile.parts > 1)
            tile.waiting = static_cast<std::int32_t>(waiting[l] + own - lines.tiles[unit]);
        }
        to[t] = tile;
      });
  return r;
}

} // namespace

/// Slots of a tile. Reasoned, not measured: enough tiles to fill the device twice.
inline int tree_tile_capacity(const device_context& ctx, std::int64_t entries) {
  const std::int64_t wanted = std::int64_t{16} * ctx.properties().multiprocessors;
  return entries > wanted * 1024 ? 2048 : entries > wanted * 512 ? 1024 : 512;
}

template <class T, class I>
tree_work_view<space::device> tree_work_of(const device_context& ctx,
                                           const tree_arrays<const T, I, space::device>& a,
                                           bool transposed) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (a.nnz >= most || std::int64_t{a.extent.row} >= most || std::int64_t{a.extent.col} >= most ||
      std::int64_t{a.pool.size()} * 16 / std::int64_t{sizeof(T)} > std::int64_t{1} << 32)
    throw unsupported("multiply: the block tree is too large for a device's lists");
  if (a.nnz == 0) return {};
  const device_guard guard(ctx.device());
  return a.work->get(transposed, [&](const device_context& maker) {
    const auto leaves = find_leaf_columns<T, I>(maker, a);
    const listed_tree_entries list = list_tree_entries<T, I>(maker, a);
    auto work = make_direction(maker, list, leaves, transposed ? a.extent.col : a.extent.row,
                               transposed, sizeof(T), tree_tile_capacity(maker, a.nnz));
    maker.synchronize(); // other streams may be the next to read it
    return work;
  });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template tree_work_view<space::device> tree_work_of<T, I>(                                       \
      const device_context&, const tree_arrays<const T, I, space::device>&, bool);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
