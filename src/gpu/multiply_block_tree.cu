// Y = alpha A X + beta Z on the device, A a block tree or its transpose, by tiles of its entries
// (block_tree_work.hpp). A thread block has a tile: its threads take slots, multiply values by x,
// and leave products in shared memory in the order of the lines; then a few lanes for each line add
// them up, always in the same order, and write y. Parts of long lines wait in scratch, and are
// added up by a second kernel.
//
// Memory-bound: of each entry value and column, or value, place and a share of its row, once; x
// about once, y once. What is read of leaves that only have a few entries is less dense.
#include "gpu/block_tree.cuh"
#include "gpu/parts/cuda.cuh"
#include <lacuna/op/block_tree_ops.hpp>

namespace lacuna::detail::gpu {
namespace {

template <class T> struct tree_multiply {
  const unsigned char* pool;
  const tree_tile* tiles;
  const tree_window* windows;
  const tree_segment* segments;
  const std::int16_t* shifts;
  const tree_piece* pieces;
  const std::uint16_t* places;
  const std::uint16_t* begins;
  const T* x;
  const T* z;
  T* y;
  T alpha, beta;
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column;
  unsigned vectors;
  std::int64_t parts; ///< of one vector in `waiting`
  T* waiting;         ///< sums of parts of lines

  __device__ void write(std::int64_t line, unsigned vector, T sum) const {
    T* const to = y + line * y_row + vector * y_column;
    *to = beta == T{0} ? alpha * sum : alpha * sum + beta * z[line * z_row + vector * z_column];
  }
};

constexpr int slots_per_thread = 8;
/// Slots of a thread whose loads are under way at a time, and threads of a multiprocessor that have
/// registers: of eight pairs the best, or within a tenth of it, on each of five matrices (H200).
constexpr int slots_at_once = 2, resident_threads = 1536;

/// Products of neighbouring lines lie in different banks.
__device__ inline int product_place(int place) { return place + place / 16; }

/// Which of a window's pieces, or segments, a lane is in.
__device__ inline std::uint32_t rank_in(std::uint32_t begins, std::uint32_t before, int lane) {
  return before + static_cast<std::uint32_t>(__popc(begins & (0xffffffffu >> (31 - lane)))) - 1;
}
/// A column of a segment's, from the word that it lies in, whatever its width.
__device__ inline std::uint32_t column_in(std::uint32_t word, std::int64_t place, tree_columns kind,
                                          std::uint32_t slot) {
  if (kind == tree_columns::following) return slot;
  if (kind >= tree_columns::four) return word;
  word >>= 8 * (static_cast<unsigned>(place) & 3);
  return word & (kind >= tree_columns::two ? 0xffffu : 0xffu);
}

/// Multiplies slots first, first + threads, … of a tile by x, and calls put(place, product) for
/// each. Without branches, so that loads of all slots are under way at once: a thread past the end
/// reads the last slot.
template <bool transposed, int threads, int count, class T, class Put>
__device__ void multiply_slots(const tree_multiply<T>& p, const tree_tile& tile,
                               std::uint32_t first, const T* x, const Put& put) {
  std::uint32_t slot[count], piece[count], segment[count];
#pragma unroll
  for (int u = 0; u < count; ++u) {
    slot[u] = min(first + u * threads, std::uint32_t{tile.slots} - 1);
    const tree_window window = load_whole(p.windows + tile.first_window + slot[u] / 32);
    const int lane = static_cast<int>(slot[u] % 32);
    piece[u] = tile.first_piece + rank_in(window.pieces, window.pieces_before, lane);
    segment[u] = 0;
    if constexpr (!transposed)
      segment[u] = tile.first_segment + rank_in(window.segments, window.segments_before, lane);
  }
  T value[count];
  std::uint32_t from[count]; // fits: trees with 2^31 lines are refused
  int place[count];
  if constexpr (transposed) {
    tree_piece own[count];
#pragma unroll
    for (int u = 0; u < count; ++u) {
      own[u] = load_whole(p.pieces + piece[u]);
      place[u] = load_once(p.places + std::int64_t{tile.first_window} * 32 + slot[u]);
    }
#pragma unroll
    for (int u = 0; u < count; ++u) {
      value[u] = reinterpret_cast<const T*>(p.pool)[own[u].value + slot[u]];
      from[u] = own[u].row;
    }
  } else {
    tree_segment own[count];
#pragma unroll
    for (int u = 0; u < count; ++u) {
      own[u] = load_whole(p.segments + segment[u]);
      place[u] = static_cast<int>(slot[u]) + p.shifts[piece[u]];
    }
    std::uint32_t word[count];
    std::int64_t at[count];
#pragma unroll
    for (int u = 0; u < count; ++u) {
      const int step = step_of(static_cast<tree_columns>(own[u].first & 15));
      at[u] = own[u].columns + std::int64_t{step} * slot[u];
      word[u] =
          load_once(reinterpret_cast<const std::uint32_t*>(p.pool + (at[u] & ~std::int64_t{3})));
      value[u] = load_once(reinterpret_cast<const T*>(p.pool + own[u].values) + slot[u]);
    }
#pragma unroll
    for (int u = 0; u < count; ++u)
      from[u] = static_cast<std::uint32_t>(own[u].first >> 4) +
                column_in(word[u], at[u], static_cast<tree_columns>(own[u].first & 15), slot[u]);
  }
  T other[count];
#pragma unroll
  for (int u = 0; u < count; ++u) other[u] = x[std::int64_t{from[u]} * p.x_row];
#pragma unroll
  for (int u = 0; u < count; ++u)
    if (first + u * threads < tile.slots) put(place[u], value[u] * other[u]);
}

template <bool transposed, int threads, int batch, int resident, class T>
__global__ void __launch_bounds__(threads, resident / threads)
    multiply_tree_tiles_kernel(const tree_multiply<T> p) {
  constexpr int capacity = slots_per_thread * threads;
  __shared__ T products[capacity + capacity / 16];
  const tree_tile tile = load_whole(p.tiles + blockIdx.x / p.vectors);
  const unsigned vector = blockIdx.x % p.vectors;
  const T* const x = p.x + vector * p.x_column;
  const bool whole = tile.lines > 0;
  T own{0};
  const auto put = [&](int place, T product) {
    if (whole)
      products[product_place(place)] = product;
    else
      own += product;
  };
  std::uint32_t first = threadIdx.x;
  for (; first - threadIdx.x + (batch - 1) * threads < tile.slots; first += batch * threads)
    multiply_slots<transposed, threads, batch>(p, tile, first, x, put);
  for (; first - threadIdx.x < tile.slots; first += 2 * threads)
    multiply_slots<transposed, threads, 2>(p, tile, first, x, put);
  if (!whole) {
    own = warp_sum(own);
    if (threadIdx.x % 32 == 0) products[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x > 0) return;
    T sum = products[0];
    for (int warp = 1; warp < threads / 32; ++warp) sum += products[warp];
    if (tile.waiting < 0)
      p.write(tile.first_line, vector, sum);
    else
      p.waiting[vector * p.parts + tile.waiting] = sum;
    return;
  }
  // Lanes of a line: a power of two.
  const int lines = static_cast<int>(tile.lines);
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * lines <= threads) lanes *= 2;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::uint16_t* const begins = p.begins + tile.first_begin;
  __syncthreads();
  for (int base = 0; base < lines; base += threads / lanes) {
    const int line = base + static_cast<int>(threadIdx.x) / lanes;
    const int begin = line < lines ? begins[line] : tree_long_bit;
    const bool here = (begin & tree_long_bit) == 0;
    T sum{0};
    if (here) {
      const int end =
          line + 1 < lines ? begins[line + 1] & (tree_long_bit - 1) : static_cast<int>(tile.slots);
      for (int k = begin + lane; k < end; k += lanes) sum += products[product_place(k)];
    }
    for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(whole_warp, sum, step);
    if (!here || lane > 0) continue;
    if (tile.waiting < 0)
      p.write(std::int64_t{tile.first_line} + line, vector, sum);
    else
      p.waiting[vector * p.parts + tile.waiting + std::int64_t{line} * tile.parts] = sum;
  }
}

/// A warp for each line of several tiles.
template <class T>
__global__ void join_tree_lines_kernel(const tree_multiply<T> p, const tree_long_line* lines,
                                       std::int64_t count) {
  const std::int64_t k = thread_index() / 32;
  const unsigned lane = threadIdx.x % 32;
  if (k >= count * p.vectors) return;
  const tree_long_line line = lines[k / p.vectors];
  const auto vector = static_cast<unsigned>(k % p.vectors);
  const T* const parts = p.waiting + vector * p.parts + line.first;
  T sum{0};
  for (std::uint32_t part = lane; part < line.count; part += 32) sum += parts[part];
  sum = warp_sum(sum);
  if (lane == 0) p.write(line.line, vector, sum);
}

template <bool transposed, class T>
void launch_tree_tiles(const device_context& ctx, const tree_multiply<T>& p, unsigned blocks,
                       int capacity) {
  const auto launch = [&]<int threads>(std::integral_constant<int, threads>) {
    multiply_tree_tiles_kernel<transposed, threads, slots_at_once, resident_threads>
        <<<blocks, threads, 0, ctx.stream()>>>(p);
  };
  if (capacity == 8 * 256)
    launch(std::integral_constant<int, 256>{});
  else if (capacity == 8 * 128)
    launch(std::integral_constant<int, 128>{});
  else
    launch(std::integral_constant<int, 64>{});
  check_launch("multiply_tree_tiles_kernel");
}

/// What one product of a tree in one direction needs, allocated before anything is written.
template <class T, class I> class tree_product {
public:
  tree_product(const device_context& ctx, const tree_arrays<const T, I, space::device>& a,
               bool transposed, std::int64_t columns)
      : ctx_(ctx), a_(a), transposed_(transposed), work_(tree_work_of<T, I>(ctx, a, transposed)),
        blocks_(unsigned_blocks(columns)), waiting_(ctx, checked_mul(work_.waiting, columns)) {}

  void run(T alpha, dense_view<const T, space::device> x, T beta,
           dense_view<const T, space::device> z, dense_view<T, space::device> y) {
    const std::int64_t lines = y.shape().row, columns = y.shape().col;
    if (lines == 0 || columns == 0) return;
    const tree_multiply<T> p{pool_of(a_),
                             work_.tiles.data(),
                             work_.windows.data(),
                             work_.segments.data(),
                             work_.shifts.data(),
                             work_.pieces.data(),
                             work_.places.data(),
                             work_.begins.data(),
                             x.data(),
                             z.data(),
                             y.data(),
                             alpha,
                             beta,
                             x.row_stride(),
                             x.col_stride(),
                             z.row_stride(),
                             z.col_stride(),
                             y.row_stride(),
                             y.col_stride(),
                             static_cast<unsigned>(columns),
                             work_.waiting,
                             waiting_.data()};
    if (work_.tiles.empty()) {
      for_each(ctx_, lines * columns, "multiply: block_tree, empty",
               [p] __device__(std::int64_t i) {
                 p.write(i / p.vectors, static_cast<unsigned>(i % p.vectors), T{0});
               });
      return;
    }
    if (transposed_)
      launch_tree_tiles<true>(ctx_, p, blocks_, work_.capacity);
    else
      launch_tree_tiles<false>(ctx_, p, blocks_, work_.capacity);
    if (work_.long_lines.empty()) return;
    const std::int64_t joined = work_.long_lines.size();
    join_tree_lines_kernel<<<blocks_for(checked_mul(joined * columns, 32)), block_threads, 0,
                             ctx_.stream()>>>(p, work_.long_lines.data(), joined);
    check_launch("join_tree_lines_kernel");
  }

private:
  unsigned unsigned_blocks(std::int64_t columns) const {
    const std::int64_t blocks = checked_mul(work_.tiles.size(), columns);
    if (blocks > 0x7fffffff || columns > 0x7fffffff)
      throw unsupported("multiply: the block tree has too many tiles for so many columns");
    return static_cast<unsigned>(blocks);
  }

  const device_context& ctx_;
  const tree_arrays<const T, I, space::device>& a_;
  bool transposed_;
  tree_work_view<space::device> work_;
  unsigned blocks_;
  array<T, space::device> waiting_;
};

} // namespace

template <class T, class I>
void multiply_tree(const device_context& ctx, T alpha,
                   const tree_arrays<const T, I, space::device>& a, bool transposed,
                   dense_view<const T, space::device> x, T beta,
                   dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const device_guard guard(ctx.device());
  tree_product<T, I>(ctx, a, transposed, y.shape().col).run(alpha, x, beta, z, y);
}

template <class T, class I>
void multiply_tree_both(const device_context& ctx, T alpha,
                        const tree_arrays<const T, I, space::device>& a,
                        vector_view<const T, space::device> x, vector_view<T, space::device> y,
                        vector_view<const T, space::device> w, vector_view<T, space::device> z) {
  const device_guard guard(ctx.device());
  tree_product<T, I> plain(ctx, a, false, 1), across(ctx, a, true, 1);
  plain.run(alpha, as_columns(x), T{0}, as_columns(x), as_columns(y));
  across.run(alpha, as_columns(w), T{0}, as_columns(w), as_columns(z));
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void multiply_tree<T, I>(                                                               \
      const device_context&, T, const tree_arrays<const T, I, space::device>&, bool,               \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);                                                               \
  template void multiply_tree_both<T, I>(                                                          \
      const device_context&, T, const tree_arrays<const T, I, space::device>&,                     \
      vector_view<const T, space::device>, vector_view<T, space::device>,                          \
      vector_view<const T, space::device>, vector_view<T, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
