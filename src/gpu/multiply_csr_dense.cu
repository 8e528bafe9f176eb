// Y = alpha A X + beta Z on the device, A in CSR, X with several columns.
//   rows of X in 16-byte packets: row tiles (multiply_row_tiles.cuh);
//   an X stored otherwise, by columns say: is copied so first if A reads its rows twice or more,
//                   unless the device finds that reading it as it is moves less;
//   row-major X:    else lanes along the columns of X, each group walks an equal share of rows and
//                   entries (Yang, Buluc and Owens 2018); a row of X is one coalesced read;
//   column-major:   else the tiles of multiply_csr.cu, a tile multiplied with column after column.
// No atomics; sums in a fixed order.
#include <limits>

#include <lacuna/core/checked.hpp>

#include "gpu/multiply_packed_rows.cuh"
#include "gpu/multiply_row_tiles.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Rows and entries a group of lanes walks: long enough to repay its start and the carry it
/// leaves, short enough that 10^6 entries fill an H200.
constexpr int walk_items = 128;

/// Strides of X, Z and Y for element (row, column).
struct dense_strides {
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column;
};

/// `lanes` lanes a group, `per_lane` vectors a lane; blockIdx.y counts blocks of vectors.
template <int lanes, int per_lane, class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    walk_kernel(const multiply_arguments<T, I, O> p, const dense_strides strides,
                const tile_start<I, O>* __restrict__ starts, std::int64_t tiles,
                I* __restrict__ carry_row, T* __restrict__ carry_sum) {
  const std::int64_t tile = thread_index() / lanes;
  if (tile >= tiles) return;
  const std::int64_t first_vector =
      std::int64_t{blockIdx.y} * lanes * per_lane + threadIdx.x % lanes;
  const tile_start<I, O> begin = starts[tile], end = starts[tile + 1];

  const T* x[per_lane];
  bool inside[per_lane];
#pragma unroll
  for (int v = 0; v < per_lane; ++v) {
    const std::int64_t vector = first_vector + v * lanes;
    inside[v] = vector < p.vectors;
    x[v] = p.x + (inside[v] ? vector : 0) * strides.x_column;
  }
  T sum[per_lane] = {};
  O k = begin.entry;
  for (std::int64_t row = begin.row;; ++row) {
    const bool closes = row < end.row;
    const O stop = closes ? p.rowptr[row + 1] : end.entry;
#pragma unroll 4
    for (; k < stop; ++k) {
      const std::int64_t offset = static_cast<std::int64_t>(__ldg(p.colind + k)) * strides.x_row;
      const T a = __ldg(p.values + k);
#pragma unroll
      for (int v = 0; v < per_lane; ++v) sum[v] += a * __ldg(x[v] + offset);
    }
    if (!closes) break;
#pragma unroll
    for (int v = 0; v < per_lane; ++v) {
      const std::int64_t vector = first_vector + v * lanes;
      if (inside[v])
        p.y[row * strides.y_row + vector * strides.y_column] =
            finish(p.alpha, sum[v], p.beta, p.z, row * strides.z_row + vector * strides.z_column);
      sum[v] = T{0};
    }
  }
#pragma unroll
  for (int v = 0; v < per_lane; ++v)
    if (inside[v]) carry_sum[tile * p.vectors + first_vector + v * lanes] = sum[v];
  if (blockIdx.y == 0 && threadIdx.x % lanes == 0) carry_row[tile] = end.row;
}

/// Adds what tiles carried out of their last row to that row, in tile order: a warp for each run
/// of tiles that end in one row, lanes along the vectors.
template <class T, class I, class O>
__global__ void add_walk_carries_kernel(const multiply_arguments<T, I, O> p,
                                        const dense_strides strides, std::int64_t tiles,
                                        const I* __restrict__ carry_row,
                                        const T* __restrict__ carry_sum) {
  const std::int64_t tile = thread_index() / 32;
  if (tile >= tiles) return;
  const std::int64_t row = carry_row[tile];
  if (row >= p.rows || (tile > 0 && carry_row[tile - 1] == row)) return;
  // The row closes in the tile that holds its end on the merge list.
  const std::int64_t last = (p.rowptr[row + 1] + row) / walk_items;
  for (std::int64_t vector = threadIdx.x % 32; vector < p.vectors; vector += 32) {
    T sum{0};
#pragma unroll 8
    for (std::int64_t t = tile; t < last; ++t) sum += carry_sum[t * p.vectors + vector];
    p.y[row * strides.y_row + vector * strides.y_column] += p.alpha * sum;
  }
}

template <int lanes, int per_lane, class T, class I, class O>
void multiply_walk(const device_context& ctx, const multiply_arguments<T, I, O>& p,
                   const dense_strides& strides) {
  const auto starts = find_tiles<I>(ctx, p.rowptr, p.rows, p.entries, {walk_items, 1, true});
  const std::int64_t tiles = starts.size() - 1;
  array<I, space::device> carry_row(ctx, tiles);
  array<T, space::device> carry_sum(ctx, checked_mul(tiles, p.vectors));
  const auto blocks =
      static_cast<unsigned>((p.vectors + lanes * per_lane - 1) / (lanes * per_lane));
  walk_kernel<lanes, per_lane>
      <<<dim3(blocks_for(tiles * lanes), blocks), block_threads, 0, ctx.stream()>>>(
          p, strides, starts.data(), tiles, carry_row.data(), carry_sum.data());
  check_launch("walk_kernel");
  add_walk_carries_kernel<<<blocks_for(tiles * 32), block_threads, 0, ctx.stream()>>>(
      p, strides, tiles, carry_row.data(), carry_sum.data());
  check_launch("add_walk_carries_kernel");
}

/// Mean entries of rows that a lane each may take: a tile of longer ones would leave lanes idle.
constexpr std::int64_t rows_by_lanes = 16;

/// H200, geometric means of 9 matrices over cuSPARSE: tiles of 2048 gain up to a tenth on those of
/// 1024 where rows of X have up to 8 packets; 16 lanes with a packet each 1.75, 8 with two 1.29.
template <int lanes_> struct tile_shape_for {
  static constexpr row_tile_shape value{lanes_, 1, 8, lanes_ <= 8 ? 2048 : 1024, block_threads, 4};
};

/// X by columns, where the device chooses between them and p.x, their copy in packets; else null.
template <class T> struct columns_of_x {
  const T* x = nullptr;
  const int* alike = nullptr;
};

template <class Shape, class T, class I, class O>
void run_row_tiles(const device_context& ctx, const multiply_arguments<T, I, O>& p,
                   const row_strides& strides, const columns_of_x<T>& columns) {
  constexpr row_tile_shape shape = Shape::value;
  constexpr int block_vectors = shape.lanes * shape.per_lane * packet<T>::size;
  const auto starts = find_tiles<I>(ctx, p.rowptr, p.rows, p.entries, {shape.share, 1, true});
  const std::int64_t tiles = starts.size() - 1;
  array<I, space::device> carry_row(ctx, tiles);
  array<T, space::device> carry_sum(ctx, checked_mul(tiles, p.vectors));
  const dim3 grid(blocks_for(tiles * block_threads),
                  static_cast<unsigned>((p.vectors + block_vectors - 1) / block_vectors));
  const auto launch = [&](auto two_ways) {
    row_tiles_kernel<Shape, two_ways()><<<grid, shape.threads, 0, ctx.stream()>>>(
        p, strides, columns.x, columns.alike, starts.data(), carry_row.data(), carry_sum.data());
    check_launch("row_tiles_kernel");
  };
  columns.alike == nullptr ? launch(std::false_type{}) : launch(std::true_type{});
  add_row_carries_kernel<<<blocks_for(tiles * 32), block_threads, 0, ctx.stream()>>>(
      p, strides, tiles, shape.share, carry_row.data(), carry_sum.data());
  check_launch("add_row_carries_kernel");
}

template <class T, class I, class O>
void multiply_row_tiles(const device_context& ctx, const multiply_arguments<T, I, O>& p,
                        const row_strides& strides, const columns_of_x<T>& columns = {}) {
  const std::int64_t packets_of_row = (p.vectors + packet<T>::size - 1) / packet<T>::size;
  if (packets_of_row <= 2) return run_row_tiles<tile_shape_for<2>>(ctx, p, strides, columns);
  if (packets_of_row <= 4) return run_row_tiles<tile_shape_for<4>>(ctx, p, strides, columns);
  if (packets_of_row <= 8) return run_row_tiles<tile_shape_for<8>>(ctx, p, strides, columns);
  run_row_tiles<tile_shape_for<16>>(ctx, p, strides, columns);
}

/// Whether all rows begin at 16 bytes and are whole packets.
template <class T> bool in_packets(dense_view<T, space::device> v) {
  constexpr std::int64_t size = packet<std::remove_const_t<T>>::size;
  return v.col_stride() == 1 && v.row_stride() % size == 0 && v.shape().col % size == 0 &&
         reinterpret_cast<std::uintptr_t>(v.data()) % 16 == 0;
}

/// X in rows of whole packets; nothing is written where *alike is not 0.
template <class T>
array<T, space::device> packed_rows(const device_context& ctx, dense_view<const T, space::device> x,
                                    int width_of_row, const int* alike) {
  const std::int64_t rows = x.shape().row, vectors = x.shape().col;
  array<T, space::device> result(ctx, checked_mul(rows, std::int64_t{width_of_row}));
  const auto launch = [&](auto rows_constant, auto columns_constant) {
    constexpr int columns = columns_constant(), block_rows = rows_constant() * pack_rounds;
    const dim3 grid(static_cast<unsigned>((rows + block_rows - 1) / block_rows),
                    static_cast<unsigned>((width_of_row + columns - 1) / columns));
    pack_rows_kernel<rows_constant(), columns>
        <<<grid, block_threads, 0, ctx.stream()>>>(x.data(), x.row_stride(), x.col_stride(), rows,
                                                   vectors, width_of_row, alike, result.data());
    check_launch("pack_rows_kernel");
  };
  if (width_of_row <= 8)
    launch(std::integral_constant<int, 128>{}, std::integral_constant<int, 8>{});
  else
    launch(std::integral_constant<int, 64>{}, std::integral_constant<int, 32>{});
  return result;
}

/// Vectors at a time, whole packets of them: a grid has 65535 blocks along them, of 8 or more.
constexpr std::int64_t most_vectors = std::int64_t{65535} * 8;

/// Columns [first, first + count) of v; of no memory, v.
template <class T>
dense_view<T, space::device> slab(dense_view<T, space::device> v, std::int64_t first,
                                  std::int64_t count) {
  if (v.data() == nullptr) return v;
  return {v.data() + first * v.col_stride(), {v.shape().row, count}, v.layout(), v.ld()};
}

template <class T, class I, class O>
void multiply_slab(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                   dense_view<const T, space::device> x, T beta,
                   dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const std::int64_t vectors = y.shape().col;
  auto p = make_arguments(alpha, a, x.data(), beta, z.data(), y.data());
  p.vectors = vectors;
  const dense_strides strides{x.row_stride(), x.col_stride(), z.row_stride(),
                              z.col_stride(), y.row_stride(), y.col_stride()};
  constexpr std::int64_t size = packet<T>::size, largest = std::numeric_limits<int>::max() - size;
  row_strides by_rows{
      0, in_packets(y), strides.z_row, strides.z_column, strides.y_row, strides.y_column};
  if (vectors > 1 && in_packets(x) && x.row_stride() <= largest) {
    by_rows.x_row = static_cast<int>(x.row_stride());
    return multiply_row_tiles(ctx, p, by_rows);
  }
  // A vector's elements are neighbours in either layout unless rows are apart.
  const auto is_by_columns = [&](const auto& v) { return v.row_stride() == 1; };
  const bool by_columns =
      is_by_columns(x) && is_by_columns(y) && (beta == T{0} || is_by_columns(z));
  // The copy is read and written once, each of its rows as often as its column has entries.
  if (vectors > 1 && p.entries > 0 && p.entries >= 2 * x.shape().row) {
    by_rows.x_row = static_cast<int>((vectors + size - 1) / size * size);
    array<int, space::device> alike;
    columns_of_x<T> columns;
    if (by_columns && p.entries <= rows_by_lanes * p.rows) {
      alike = array<int, space::device>(ctx, 1);
      columns = {x.data(), alike.data()};
      p.x_stride = x.col_stride();
      look_at_columns_kernel<<<1, 1024, 0, ctx.stream()>>>(p, x.shape().row, alike.data());
      check_launch("look_at_columns_kernel");
    }
    const auto rows_of_x = packed_rows(ctx, x, by_rows.x_row, columns.alike);
    p.x = rows_of_x.data();
    return multiply_row_tiles(ctx, p, by_rows, columns);
  }
  if (by_columns) {
    p.x_stride = x.col_stride();
    p.z_stride = z.col_stride();
    p.y_stride = y.col_stride();
    const auto starts = find_tiles<I>(ctx, p.rowptr, p.rows, p.entries, split_tiles);
    return multiply_tiles<T, I, O>(ctx, p, tile_kind::split, starts.view());
  }
  if (vectors <= 8) return multiply_walk<8, 1>(ctx, p, strides);
  if (vectors <= 16) return multiply_walk<16, 1>(ctx, p, strides);
  if (vectors <= 32) return multiply_walk<32, 1>(ctx, p, strides);
  if (vectors <= 64) return multiply_walk<32, 2>(ctx, p, strides);
  multiply_walk<32, 4>(ctx, p, strides);
}

} // namespace

template <class T, class I, class O>
void multiply_csr_dense(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                        dense_view<const T, space::device> x, T beta,
                        dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const std::int64_t vectors = y.shape().col;
  for (std::int64_t first = 0; first < vectors; first += most_vectors) {
    const std::int64_t count = std::min(most_vectors, vectors - first);
    multiply_slab<T, I, O>(ctx, alpha, a, slab(x, first, count), beta, slab(z, first, count),
                           slab(y, first, count));
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_csr_dense<T, I, O>(                                                       \
      const device_context&, T, device_csr<T, I, O>, dense_view<const T, space::device>, T,        \
      dense_view<const T, space::device>, dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
