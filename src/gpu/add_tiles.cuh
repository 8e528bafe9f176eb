// The kernels of add_csr.cu: the entries of A and B in one sequence, row by row and by column
// within rows, with an item more at the end of each row, cut into tiles of equal size (merge path,
// Green, McColl and Bader 2012). A row may be cut anywhere: its length does not matter.
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::gpu {

/// Odd: neighbouring threads walk through shared memory at a distance of about half of it, and
/// would meet in the same banks at one of 4.
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

enum class add_pass {
  count, ///< entries of C in each tile
  fill,  ///< all of C
  values ///< values alone: C is A, which has an entry wherever B has one
};

template <class T, class I, class O, class OC> struct add_arguments {
  pattern_pair<I, O> pattern;
  const add_cut<I, O>* cuts; ///< where each tile begins, and the end
  T alpha, beta;
  const T *a_value, *b_value;
  int* counts;                ///< count: of each tile
  const std::int64_t* differ; ///< count: nothing to do if it is there and 0
  const std::int64_t* first;  ///< else: first entry of C of each tile
  OC* rowptr;
  I* col;
  T* value;
};

__device__ inline float scaled_value(float s, float x) { return __fmul_rn(s, x); }
__device__ inline double scaled_value(double s, double x) { return __dmul_rn(s, x); }
/// Never fused: A + B and B + A have the same bits, and those of the host.
__device__ inline float summed(float x, float y) { return __fadd_rn(x, y); }
__device__ inline double summed(double x, double y) { return __dadd_rn(x, y); }

/// A tile a block, a few consecutive items a thread. Columns are read once, together; then threads
/// find where their items begin, walk them and note for each entry of C which of A's and B's it is
/// made of; last, values are read and C is written, together again.
template <add_pass pass, class T, class I, class O, class OC>
__global__ void __launch_bounds__(block_threads)
    add_tiles_kernel(const add_arguments<T, I, O, OC> p) {
  constexpr std::uint32_t none = 0xffff;
  using block_scan = cub::BlockScan<int, block_threads>;
  using block_reduce = cub::BlockReduce<int, block_threads>;
  // The column of A before the tile, A's, B's, the column of B behind the tile.
  __shared__ I columns[add_tile_items + 2];
  __shared__ union {
    struct {
      std::uint16_t a[add_tile_items + 1], b[add_tile_items + 1];
    } end;                                // of each row, in the tile
    std::uint32_t source[add_tile_items]; // of each entry of C: A's in the low half, B's above
  } shared;
  __shared__ union {
    typename block_scan::TempStorage scan;
    typename block_reduce::TempStorage reduce;
  } cub_storage;

  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t tile = blockIdx.x;
  if (pass == add_pass::count && p.differ != nullptr && *p.differ == 0) {
    if (thread == 0) p.counts[tile] = 0;
    return;
  }
  const add_cut<I, O> begin = p.cuts[tile], end = p.cuts[tile + 1];
  const int a_size = static_cast<int>(end.a - begin.a), b_size = static_cast<int>(end.b - begin.b);
  const int rows = static_cast<int>(end.row - begin.row); // that end in the tile
  const int items = a_size + b_size + rows;
  I* const a_col = columns + 1;
  I* const b_col = a_col + a_size;

  {
    const I* const from_a = p.pattern.a_col + begin.a;
    const I* const from_b = p.pattern.b_col + begin.b;
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
    shared.end.a[j] = static_cast<std::uint16_t>(
        j < rows ? static_cast<int>(p.pattern.a_rowptr[row + 1] - begin.a) : a_size);
    shared.end.b[j] = static_cast<std::uint16_t>(
        j < rows ? static_cast<int>(p.pattern.b_rowptr[row + 1] - begin.b) : b_size);
  }
  // An entry of A at the end of one tile and its equal of B at the beginning of the next are one
  // entry of C, the former's.
  if (thread == 0)
    columns[0] = begin.row < p.pattern.rows && begin.a > p.pattern.a_rowptr[begin.row]
                     ? p.pattern.a_col[begin.a - 1]
                     : I{-1};
  if (thread == 32)
    b_col[b_size] =
        end.row < p.pattern.rows && end.b < p.pattern.b_rowptr[std::int64_t{end.row} + 1]
            ? p.pattern.b_col[end.b]
            : I{-1};
  __syncthreads();

  std::uint32_t source[add_items_per_thread];
  unsigned heads = 0, row_ends = 0; // bit u: item u is an entry of C, the end of a row
  int row = 0;
  const int first_item = thread * add_items_per_thread;
  if (first_item < items) {
    const auto row_begin = [&](int j) {
      return j == 0 ? 0 : shared.end.a[j - 1] + shared.end.b[j - 1] + j;
    };
    int high = rows + 1;
    while (high - row > 1) {
      const int middle = (row + high) / 2;
      if (row_begin(middle) <= first_item)
        row = middle;
      else
        high = middle;
    }
    const int a_begin = row == 0 ? 0 : shared.end.a[row - 1];
    const int b_begin = row == 0 ? 0 : shared.end.b[row - 1];
    int a_end = shared.end.a[row], b_end = shared.end.b[row];
    const int taken = first_item - row_begin(row);
    int low = max(0, taken - (b_end - b_begin)), top = min(taken, a_end - a_begin);
    while (low < top) {
      const int middle = (low + top) / 2;
      if (a_col[a_begin + middle] <= b_col[b_begin + taken - 1 - middle])
        low = middle + 1;
      else
        top = middle;
    }
    int a = a_begin + low, b = b_begin + taken - low, j = row;
    I last = a > a_begin || row == 0 ? a_col[a - 1] : I{-1}; // A's latest in this row
    I x = a_col[a], y = b_col[b];
#pragma unroll
    for (int u = 0; u < add_items_per_thread; ++u) {
      if (first_item + u >= items) break;
      const bool has_a = a < a_end, has_b = b < b_end;
      if (has_a && (!has_b || x <= y)) {
        // In the tile's last row the match may lie behind the tile.
        const bool both = x == y && (has_b || (j == rows && b == b_size));
        heads |= 1u << u;
        source[u] = static_cast<std::uint32_t>(a) |
                    (both ? static_cast<std::uint32_t>(b) << 16 : none << 16);
        last = x;
        x = a_col[++a];
      } else if (has_b) {
        if (y != last) heads |= 1u << u;
        source[u] = none | static_cast<std::uint32_t>(b) << 16;
        y = b_col[++b];
      } else {
        row_ends |= 1u << u;
        ++j;
        a_end = shared.end.a[j];
        b_end = shared.end.b[j];
        last = I{-1};
      }
    }
  }

  if constexpr (pass == add_pass::count) {
    const int total = block_reduce(cub_storage.reduce).Sum(__popc(heads));
    if (thread == 0) p.counts[tile] = total;
  } else {
    int at = 0, total = 0;
    // Its barrier is also the one between the last use of shared.end and the first of source.
    block_scan(cub_storage.scan).ExclusiveSum(__popc(heads), at, total);
    const std::int64_t base = p.first[tile];
#pragma unroll
    for (int u = 0; u < add_items_per_thread; ++u) {
      if (heads >> u & 1u) shared.source[at++] = source[u];
      if (pass == add_pass::fill && (row_ends >> u & 1u))
        p.rowptr[begin.row + static_cast<std::int64_t>(++row)] = static_cast<OC>(base + at);
    }
    if (pass == add_pass::fill && tile == 0 && thread == 0) p.rowptr[0] = 0;
    __syncthreads();
    const T* const from_a = p.a_value + begin.a;
    const T* const from_b = p.b_value + begin.b;
#pragma unroll 4
    for (int k = thread; k < total; k += block_threads) {
      const std::uint32_t both = shared.source[k];
      const std::uint32_t a = both & 0xffff, b = both >> 16;
      if constexpr (pass == add_pass::values) {
        if (b == none) continue;
        const T right = scaled_value(p.beta, load_once(from_b + b));
        p.value[begin.a + a] = summed(p.value[begin.a + a], right);
      } else {
        const T left = a != none ? scaled_value(p.alpha, load_once(from_a + a)) : T{0};
        const T right = b != none ? scaled_value(p.beta, load_once(from_b + b)) : T{0};
        p.col[base + k] = a != none ? a_col[a] : b_col[b];
        p.value[base + k] = a == none ? right : b == none ? left : summed(left, right);
      }
    }
  }
}

} // namespace lacuna::gpu
