// The kernels of add_csr.cu and combine.cu: the entries of A and B in one sequence, row by row and
// by column within rows, with one more item at the end of each row, cut into tiles of equal size
// (merge path, Green, McColl and Bader 2012). A row may be cut anywhere: its length does not
// matter.
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/parts/offsets.cuh"
#include "gpu/parts/scan.cuh"
#include <lacuna/format/csr.hpp>

namespace lacuna::detail::gpu {

/// Odd: neighbouring threads walk through shared memory about half this distance apart, and at a
/// distance of 4 would meet in the same banks.
constexpr int add_items_per_thread = 9;
constexpr int add_tile_items = block_threads * add_items_per_thread;

/// Before entry a of A and entry b of B, both in row `row` or at its end.
template <class I, class O> struct add_cut {
  I row;
  O a, b;
};

/// The patterns of A and B, of the same shape.
template <class I, class O> struct pattern_pair {
  std::int64_t rows;
  const O *a_rowptr, *b_rowptr;
  const I *a_col, *b_col;

  /// Items before a row.
  __device__ std::int64_t before(std::int64_t row) const {
    return row + a_rowptr[row] + b_rowptr[row];
  }
};

/// How many of the first `taken` of two ascending sequences are A's; of equal ones A's is first.
template <class I>
__device__ std::int64_t split_path(const I* a, std::int64_t a_size, const I* b, std::int64_t b_size,
                                   std::int64_t taken) {
  std::int64_t low = taken > b_size ? taken - b_size : 0, high = min(taken, a_size);
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (a[middle] <= b[taken - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Where item `item` is; one past the last: the end.
template <class I, class O>
__device__ add_cut<I, O> find_cut(const pattern_pair<I, O>& p, std::int64_t item) {
  std::int64_t low = 0, high = p.rows + 1; // before(low) <= item
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (p.before(middle) <= item)
      low = middle;
    else
      high = middle;
  }
  const O a = p.a_rowptr[low], b = p.b_rowptr[low];
  if (low == p.rows) return {static_cast<I>(low), a, b};
  const std::int64_t taken = item - p.before(low);
  const std::int64_t of_a =
      split_path(p.a_col + a, static_cast<std::int64_t>(p.a_rowptr[low + 1] - a), p.b_col + b,
                 static_cast<std::int64_t>(p.b_rowptr[low + 1] - b), taken);
  return {static_cast<I>(low), static_cast<O>(a + of_a), static_cast<O>(b + (taken - of_a))};
}

/// What an item of a tile is.
enum class add_item : unsigned {
  none,      ///< behind the last
  a,         ///< an entry of A that B lacks
  both,      ///< an entry of A with B's next one, of the same column
  b,         ///< an entry of B that A lacks
  b_of_both, ///< an entry of B that went with A's before it
  row_end
};
/// The items of a thread, found by the pass that counts and used by the one that fills: three bits
/// each, and entries of A and rows of the tile before the first.
class add_walk {
public:
  add_walk() = default;
  __device__ add_walk(int a, int row)
      : items_(0), a_(static_cast<std::uint16_t>(a)), row_(static_cast<std::uint16_t>(row)) {}
  __device__ void set(int u, add_item item) { items_ |= static_cast<unsigned>(item) << (3 * u); }
  __device__ add_item operator[](int u) const {
    return static_cast<add_item>(items_ >> (3 * u) & 7u);
  }
  __device__ int first_a() const { return a_; }
  __device__ int first_row() const { return row_; }

private:
  unsigned items_;
  std::uint16_t a_, row_;
};
static_assert(3 * add_items_per_thread <= 32 && sizeof(add_walk) == 8);

/// Where C has entries.
enum class add_entries { of_either, of_both };
template <add_entries which> __device__ bool begins_entry(add_item item) {
  return item == add_item::both ||
         (which == add_entries::of_either && (item == add_item::a || item == add_item::b));
}
/// Entries of C among a thread's items.
template <add_entries which> __device__ int entries_of(const add_walk& walk) {
  int entries = 0;
#pragma unroll
  for (int u = 0; u < add_items_per_thread; ++u) entries += begins_entry<which>(walk[u]) ? 1 : 0;
  return entries;
}

/// The entries of A and of B that an entry of C is made of, counted from the tile's first.
class add_source {
public:
  add_source() = default;
  __device__ add_source(bool has_a, int a, bool has_b, int b)
      : bits_((has_a ? static_cast<std::uint32_t>(a) : none) |
              (has_b ? static_cast<std::uint32_t>(b) : none) << 16) {}
  __device__ bool has_a() const { return a() != none; }
  __device__ bool has_b() const { return b() != none; }
  __device__ std::uint32_t a() const { return bits_ & 0xffff; }
  __device__ std::uint32_t b() const { return bits_ >> 16; }

private:
  static constexpr std::uint32_t none = 0xffff;
  std::uint32_t bits_;
};

/// Counts entries of C in each tile: one tile per block, a few consecutive items per thread.
/// Columns are read once, together; then threads find where their items begin, and walk them. Does
/// nothing if `differ` is there and 0.
template <add_entries which, class I, class O>
__global__ void __launch_bounds__(block_threads)
    walk_tiles_kernel(const pattern_pair<I, O> p, const add_cut<I, O>* cuts,
                      const std::int64_t* differ, add_walk* walks, int* counts) {
  using block_reduce = cub::BlockReduce<int, block_threads>;
  // The column of A before the tile, A's, B's, the column of B behind the tile.
  __shared__ I columns[add_tile_items + 2];
  __shared__ std::uint16_t ends_a[add_tile_items + 1], ends_b[add_tile_items + 1]; // of each row
  __shared__ typename block_reduce::TempStorage reduce;

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tile = blockIdx.x;
  if (differ != nullptr && *differ == 0) {
    if (thread == 0) counts[tile] = 0;
    return;
  }
  const add_cut<I, O> begin = cuts[tile], end = cuts[tile + 1];
  const int a_size = static_cast<int>(end.a - begin.a), b_size = static_cast<int>(end.b - begin.b);
  const int rows = static_cast<int>(end.row - begin.row); // that end in the tile
  const int items = a_size + b_size + rows;
  I* const a_col = columns + 1;
  I* const b_col = a_col + a_size;

  {
    const I* const from_a = p.a_col + begin.a;
    const I* const from_b = p.b_col + begin.b;
    I loaded[add_items_per_thread];
#pragma unroll
    for (int u = 0; u < add_items_per_thread; ++u) {
      const int k = thread + u * block_threads;
      if (k < a_size)
        loaded[u] = load_once(from_a + k);
      else if (k < a_size + b_size)
        loaded[u] = load_once(from_b + (k - a_size));
    }
#pragma unroll
    for (int u = 0; u < add_items_per_thread; ++u) {
      const int k = thread + u * block_threads;
      if (k < a_size + b_size) a_col[k] = loaded[u];
    }
  }
  for (int j = thread; j <= rows; j += block_threads) {
    const std::int64_t row = begin.row + static_cast<std::int64_t>(j);
    ends_a[j] = static_cast<std::uint16_t>(
        j < rows ? static_cast<int>(p.a_rowptr[row + 1] - begin.a) : a_size);
    ends_b[j] = static_cast<std::uint16_t>(
        j < rows ? static_cast<int>(p.b_rowptr[row + 1] - begin.b) : b_size);
  }
  // An entry of A at the end of one tile and its equal of B at the beginning of the next are one
  // entry of C, the former's.
  if (thread == 0)
    columns[0] =
        begin.row < p.rows && begin.a > p.a_rowptr[begin.row] ? p.a_col[begin.a - 1] : I{-1};
  if (thread == 32)
    b_col[b_size] =
        end.row < p.rows && end.b < p.b_rowptr[std::int64_t{end.row} + 1] ? p.b_col[end.b] : I{-1};
  __syncthreads();

  add_walk walk(0, 0);
  const int first_item = thread * add_items_per_thread;
  if (first_item < items) {
    const auto row_begin = [&](int j) { return j == 0 ? 0 : ends_a[j - 1] + ends_b[j - 1] + j; };
    int row = 0, high = rows + 1;
    while (high - row > 1) {
      const int middle = (row + high) / 2;
      if (row_begin(middle) <= first_item)
        row = middle;
      else
        high = middle;
    }
    const int a_begin = row == 0 ? 0 : ends_a[row - 1], b_begin = row == 0 ? 0 : ends_b[row - 1];
    int a_end = ends_a[row], b_end = ends_b[row];
    const int taken = first_item - row_begin(row);
    int low = max(0, taken - (b_end - b_begin)), top = min(taken, a_end - a_begin);
    while (low < top) {
      const int middle = (low + top) / 2;
      if (a_col[a_begin + middle] <= b_col[b_begin + taken - 1 - middle])
        low = middle + 1;
      else
        top = middle;
    }
    int a = a_begin + low, b = b_begin + taken - low;
    walk = add_walk(a, row);
    I last = a > a_begin || row == 0 ? a_col[a - 1] : I{-1}; // A's latest in this row
    // Without branches: neighbours would take different ones.
#pragma unroll
    for (int u = 0; u < add_items_per_thread; ++u) {
      if (first_item + u >= items) break;
      const I x = a_col[a], y = b_col[b];
      const bool has_a = a < a_end, has_b = b < b_end;
      const bool is_a = has_a && (!has_b || x <= y), is_b = !is_a && has_b;
      // In the tile's last row the match may lie behind the tile.
      const bool both = x == y && (has_b || row == rows);
      walk.set(u, is_a   ? (both ? add_item::both : add_item::a)
                  : is_b ? (y == last ? add_item::b_of_both : add_item::b)
                         : add_item::row_end);
      last = is_a ? x : is_b ? last : I{-1};
      a += is_a ? 1 : 0;
      b += is_b ? 1 : 0;
      if (!is_a && !is_b) {
        ++row;
        a_end = ends_a[row];
        b_end = ends_b[row];
      }
    }
  }
  walks[tile * block_threads + thread] = walk;
  const int total = block_reduce(reduce).Sum(entries_of<which>(walk));
  if (thread == 0) counts[tile] = total;
}

template <class T, class I, class O> struct add_arguments {
  pattern_pair<I, O> pattern;
  const add_cut<I, O>* cuts; ///< where each tile begins, and the end
  const add_walk* walks;     ///< of each thread
  const std::int64_t* first; ///< entry of C of each tile
  T alpha, beta;
  const T *a_value, *b_value;
  write_offsets rowptr;
  I* col;
  T* value;
};

__device__ inline float scaled_value(float s, float x) { return __fmul_rn(s, x); }
__device__ inline double scaled_value(double s, double x) { return __dmul_rn(s, x); }
/// Never fused: A + B and B + A have the same bits, and those of the host.
__device__ inline float summed(float x, float y) { return __fadd_rn(x, y); }
__device__ inline double summed(double x, double y) { return __dadd_rn(x, y); }

using add_scan = cub::BlockScan<int, block_threads>;
/// Lists what each entry of C in this block's tile is made of, and returns their number. Calls
/// row_end(j, at) where the j-th row of the tile ends, counted from 1, with the entries before.
template <add_entries which, class T, class I, class O, class RowEnd>
__device__ int list_sources(const add_arguments<T, I, O>& p, add_source* sources,
                            add_scan::TempStorage& scan, const RowEnd& row_end) {
  const int thread = static_cast<int>(threadIdx.x);
  const add_walk walk = p.walks[std::int64_t{blockIdx.x} * block_threads + thread];
  int at = 0, total = 0;
  add_scan(scan).ExclusiveSum(entries_of<which>(walk), at, total);
  int a = walk.first_a(), row = walk.first_row();
  int b = thread * add_items_per_thread - a - row;
#pragma unroll
  for (int u = 0; u < add_items_per_thread; ++u) {
    const add_item item = walk[u];
    const bool of_a = item == add_item::a || item == add_item::both;
    if (begins_entry<which>(item)) sources[at++] = add_source(of_a, a, item != add_item::a, b);
    if (of_a) ++a;
    if (item == add_item::b || item == add_item::b_of_both) ++b;
    if (item == add_item::row_end) row_end(++row, at);
  }
  return total;
}

enum class add_fill {
  all,     ///< of C
  values,  ///< alone: C is A, which has an entry wherever B has one
  products ///< of entries that both have
};
template <add_fill what>
inline constexpr add_entries filled_entries =
    what == add_fill::products ? add_entries::of_both : add_entries::of_either;

/// Threads say for each entry of C which of A's and B's it is made of; then those are read and C is
/// written, together.
template <add_fill what, class T, class I, class O>
__global__ void __launch_bounds__(block_threads, 8)
    fill_tiles_kernel(const add_arguments<T, I, O> p) {
  __shared__ add_source sources[add_tile_items];
  __shared__ add_scan::TempStorage scan;

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tile = blockIdx.x;
  const add_cut<I, O> begin = p.cuts[tile];
  const std::int64_t base = p.first[tile];
  const int total = list_sources<filled_entries<what>>(p, sources, scan, [&](int row, int at) {
    if (what != add_fill::values)
      p.rowptr.set(begin.row + static_cast<std::int64_t>(row), base + at);
  });
  if (what != add_fill::values && tile == 0 && thread == 0) p.rowptr.set(0, 0);
  __syncthreads();
  const T* const a_value = p.a_value + begin.a;
  const T* const b_value = p.b_value + begin.b;
  const I* const a_col = p.pattern.a_col + begin.a;
  const I* const b_col = p.pattern.b_col + begin.b;
#pragma unroll 4
  for (int k = thread; k < total; k += block_threads) {
    const add_source source = sources[k];
    const bool has_a = source.has_a(), has_b = source.has_b();
    if constexpr (what == add_fill::values) {
      if (!has_b) continue;
      const T right = scaled_value(p.beta, load_once(b_value + source.b()));
      p.value[begin.a + source.a()] = summed(p.value[begin.a + source.a()], right);
    } else {
      const T left = has_a ? scaled_value(p.alpha, load_once(a_value + source.a())) : T{0};
      const T right = has_b ? scaled_value(p.beta, load_once(b_value + source.b())) : T{0};
      p.col[base + k] = load_once(has_a ? a_col + source.a() : b_col + source.b());
      p.value[base + k] = what == add_fill::products ? scaled_value(left, right)
                          : !has_a                   ? right
                          : !has_b                   ? left
                                                     : summed(left, right);
    }
  }
}

/// Where each tile begins, and the end.
template <class I, class O>
void find_tile_cuts(const device_context& ctx, const pattern_pair<I, O>& pattern,
                    std::int64_t items, array<add_cut<I, O>, space::device>& cuts) {
  for_each(ctx, cuts.size(), "add: cuts",
           [pattern, items, cuts = cuts.data()] __device__(std::int64_t tile) {
             cuts[tile] = find_cut(pattern, min(tile * add_tile_items, items));
           });
}

/// A and B cut into tiles; needs a row at least.
template <class T, class I, class O> class tiled_pair {
public:
  using view = csr_view<const T, I, O, space::device>;
  tiled_pair(const device_context& ctx, view a, view b)
      : ctx_(ctx), a_(a), b_(b), pattern_{a.shape().row, a.rowptr().data(), b.rowptr().data(),
                                          a.colind().data(), b.colind().data()},
        items_(std::int64_t{a.shape().row} + a.size() + b.size()),
        tiles_((items_ + add_tile_items - 1) / add_tile_items), cuts_(ctx, tiles_ + 1),
        walks_(ctx, tiles_ * block_threads), counts_(ctx, tiles_), first_(ctx, tiles_ + 2) {
    find_tile_cuts(ctx, pattern_, items_, cuts_);
  }
  /// Finds the items of every thread, and counts the entries of C in each tile; nothing and none if
  /// `differ` is there and 0.
  template <add_entries which> void walk(const std::int64_t* differ) {
    walk_tiles_kernel<which><<<grid(), block_threads, 0, ctx_.stream()>>>(
        pattern_, cuts_.data(), differ, walks_.data(), counts_.data());
    check_launch("walk_tiles_kernel");
  }
  /// Of a walked pair: where each tile's entries go.
  void place() { exclusive_sums(ctx_, tiles_, counts_.data(), first_.data()); }
  /// After place: entries of C. Waits.
  [[nodiscard]] std::int64_t count() const {
    std::int64_t entries = 0;
    read_back(ctx_, &entries, total(), 1);
    return entries;
  }

  [[nodiscard]] unsigned grid() const { return blocks_for(tiles_ * block_threads); }
  [[nodiscard]] std::int64_t tiles() const { return tiles_; }
  [[nodiscard]] int* counts() { return counts_.data(); }
  /// All entries, and behind them a word that is the caller's: one copy brings both to the host.
  [[nodiscard]] std::int64_t* total() { return first_.data() + tiles_; }
  [[nodiscard]] const std::int64_t* total() const { return first_.data() + tiles_; }
  /// The rest is what a caller adds.
  [[nodiscard]] add_arguments<T, I, O> arguments(T alpha, T beta) const {
    add_arguments<T, I, O> p{};
    p.pattern = pattern_;
    p.cuts = cuts_.data();
    p.walks = walks_.data();
    p.first = first_.data();
    p.alpha = alpha;
    p.beta = beta;
    p.a_value = a_.values().data();
    p.b_value = b_.values().data();
    return p;
  }
  template <add_fill what> void fill(const add_arguments<T, I, O>& p) const {
    fill_tiles_kernel<what><<<grid(), block_threads, 0, ctx_.stream()>>>(p);
    check_launch("fill_tiles_kernel");
  }

private:
  const device_context& ctx_;
  view a_, b_;
  pattern_pair<I, O> pattern_;
  std::int64_t items_, tiles_;
  array<add_cut<I, O>, space::device> cuts_;
  array<add_walk, space::device> walks_; // nearly one byte per item
  array<int, space::device> counts_;
  array<std::int64_t, space::device> first_;
};

} // namespace lacuna::detail::gpu
