// Lines along which entries are stored are reduced in tiles of equal size, whatever their lengths:
// entries and ends of lines in one sequence (merge path, Merrill and Garland 2016), a few
// consecutive items per thread, what threads leave open joined by a scan over the block, what tiles
// leave open by a second launch. Across them, entries are sorted by line first, stably. Everything
// is joined in an order that the matrix alone fixes, in double.
//
// Bytes, with 4-byte indices and 8-byte values: along lines 8 per entry and 16 per line; across
// them 36 more per entry, and 16 for every 8 bits of the indices.
#include "gpu/parts/load.cuh"
#include "gpu/parts/offsets.cuh"
#include "gpu/parts/reduce.cuh"
#include "gpu/parts/sort.cuh"
#include <lacuna/op/reduce.hpp>

namespace lacuna::detail::gpu {
namespace {

/// What is done with values, and with what came of them; a number, so that a kernel is compiled
/// once. Once NaN, a largest or smallest element stays NaN.
struct reducer {
  reduction how;

  __host__ __device__ bool is_extreme() const {
    return how == reduction::max || how == reduction::min;
  }
  __host__ __device__ double none() const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    return how == reduction::max ? -infinite : how == reduction::min ? infinite : 0.0;
  }
  __device__ double of(double v) const {
    return how == reduction::sum_of_magnitudes ? fabs(v)
           : how == reduction::sum_of_squares  ? v * v
                                               : v;
  }
  __host__ __device__ double operator()(double a, double b) const {
    if (!is_extreme()) return a + b;
    return (how == reduction::max ? b > a : b < a) || b != b ? b : a;
  }
  /// With the zeros that are not stored.
  __host__ __device__ double finished(double reduced, bool full) const {
    return is_extreme() && !full ? (*this)(reduced, 0) : reduced;
  }
};

/// Lines of `length` elements; line i holds entries [starts[i], starts[i + 1]).
template <class T> struct stored_lines {
  read_offsets starts;
  std::int64_t lines, entries, length;
  const T* values;
  T* result;

  /// The item with which a line begins.
  __device__ std::int64_t first_item(std::int64_t line) const { return starts[line] + line; }
  __device__ void store(const reducer& r, std::int64_t line, double reduced) const {
    result[line] = static_cast<T>(r.finished(reduced, starts[line + 1] - starts[line] == length));
  }
};

/// Odd: neighbouring threads walk about this distance apart, and would meet in the same banks.
constexpr int reduced_per_thread = 9;
constexpr int reduced_items = block_threads * reduced_per_thread;

/// What a sequence of items leaves: whether a line ends in it, and what is open behind the last
/// end.
struct open_line {
  double open;
  bool ends;
};
__device__ open_line followed_by(const reducer& r, const open_line& a, const open_line& b) {
  return b.ends ? b : open_line{r(a.open, b.open), a.ends};
}
__device__ open_line lane_before(const open_line& x, int distance) {
  const int from = static_cast<int>(threadIdx.x) % 32 - distance;
  return {__shfl_sync(whole_warp, x.open, max(from, 0)),
          __shfl_sync(whole_warp, x.ends ? 1 : 0, max(from, 0)) != 0};
}

/// Of the threads of a block: what those before this one leave, and what all do.
struct open_lines {
  open_line before, all;
};
__device__ open_lines scan_block(const reducer& r, open_line own, open_line* of_warp) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int distance = 1; distance < 32; distance *= 2) {
    const open_line other = lane_before(own, distance);
    if (lane >= distance) own = followed_by(r, other, own);
  }
  if (lane == 31) of_warp[warp] = own;
  __syncthreads();
  open_line result{r.none(), false}, all = result;
  for (int w = 0; w < block_threads / 32; ++w) {
    if (w == warp) result = all;
    all = followed_by(r, all, of_warp[w]);
  }
  const open_line neighbour = lane_before(own, 1);
  if (lane > 0) result = followed_by(r, result, neighbour);
  return {result, all};
}

/// What tiles leave to the second launch: of the first line that ends in a tile its part, if it
/// began before the tile, and what is open at the tile's end.
struct open_tile {
  std::int64_t line; ///< -1: there is no such line
  double part, open;
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    reduce_tiles_kernel(const stored_lines<T> a, const reducer r, open_tile* tiles) {
  __shared__ double held[reduced_items];
  __shared__ std::uint16_t ends[reduced_items]; // of each line that ends in the tile
  __shared__ std::int64_t cuts[2];
  __shared__ open_line of_warp[block_threads / 32];

  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const std::int64_t item = std::int64_t{blockIdx.x} * reduced_items;
  const std::int64_t end = min(item + reduced_items, a.lines + a.entries);
  if (warp < 2) { // the line that each end of the tile lies in
    const std::int64_t at = warp == 0 ? item : end;
    const std::int64_t line =
        last_of_warp(a.lines + 1, [&](std::int64_t i) { return a.first_item(i) <= at; });
    if (thread % 32 == 0) cuts[warp] = line;
  }
  __syncthreads();
  const std::int64_t first_line = cuts[0], first_entry = item - first_line;
  const int lines = static_cast<int>(cuts[1] - first_line);
  const int items = static_cast<int>(end - item), entries = items - lines;
#pragma unroll
  for (int u = 0; u < reduced_per_thread; ++u)
    if (const int k = thread + u * block_threads; k < entries)
      held[k] = r.of(static_cast<double>(load_once(a.values + first_entry + k)));
  for (int j = thread; j < lines; j += block_threads)
    ends[j] = static_cast<std::uint16_t>(a.starts[first_line + j + 1] - first_entry);
  __syncthreads();

  open_line own{r.none(), false};
  double part = 0; // of the first line that ends among this thread's items
  int first_end = 0;
  const int first = min(thread * reduced_per_thread, items);
  int line = 0, high = lines; // ends before the first item
  while (line < high) {
    const int middle = (line + high) / 2;
    if (ends[middle] + middle < first)
      line = middle + 1;
    else
      high = middle;
  }
  int k = first - line;
  for (int u = 0; u < reduced_per_thread && first + u < items; ++u) {
    if (line == lines || k < ends[line]) {
      own.open = r(own.open, held[k++]);
      continue;
    }
    if (own.ends) {
      a.store(r, first_line + line, own.open);
    } else {
      part = own.open;
      first_end = line;
    }
    own = {r.none(), true};
    ++line;
  }

  const open_lines others = scan_block(r, own, of_warp);
  if (thread == 0) tiles[blockIdx.x] = {-1, 0, others.all.open};
  __syncthreads();
  if (!own.ends) return;
  part = r(others.before.open, part);
  if (!others.before.ends && a.first_item(first_line) < item) {
    tiles[blockIdx.x].line = first_line;
    tiles[blockIdx.x].part = part;
  } else {
    a.store(r, first_line + first_end, part);
  }
}

/// One warp for each tile in which a line ends that began before.
template <class T>
__global__ void __launch_bounds__(block_threads)
    join_tiles_kernel(const stored_lines<T> a, const reducer r, const open_tile* tiles,
                      std::int64_t count) {
  const std::int64_t tile = thread_index() / 32;
  if (tile >= count || tiles[tile].line < 0) return;
  const std::int64_t line = tiles[tile].line;
  double reduced = r.none();
  for (std::int64_t t = a.first_item(line) / reduced_items + threadIdx.x % 32; t < tile; t += 32)
    reduced = r(reduced, tiles[t].open);
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    reduced = r(reduced, __shfl_xor_sync(whole_warp, reduced, step));
  if (threadIdx.x % 32 == 0) a.store(r, line, r(reduced, tiles[tile].part));
}

template <class T>
void reduce_stored(const device_context& ctx, const reducer& r, const stored_lines<T>& a) {
  if (a.lines == 0) return;
  const std::int64_t count = (a.lines + a.entries + reduced_items - 1) / reduced_items;
  array<open_tile, space::device> tiles(ctx, count);
  reduce_tiles_kernel<<<blocks_for(count * block_threads), block_threads, 0, ctx.stream()>>>(
      a, r, tiles.data());
  check_launch("reduce_tiles_kernel");
  join_tiles_kernel<<<blocks_for(count * 32), block_threads, 0, ctx.stream()>>>(a, r, tiles.data(),
                                                                                count);
  check_launch("join_tiles_kernel");
}

/// The values of entries by line, and where each line's begin.
template <class T> struct sorted_values {
  array<T, space::device> values;
  array<std::int64_t, space::device> starts;
};
template <class Position, class T, class I>
sorted_values<T> sort_by_line(const device_context& ctx, vector_view<const I, space::device> lines,
                              vector_view<const T, space::device> values, std::int64_t count) {
  const std::int64_t n = lines.size();
  const auto order = sort_indices<Position>(ctx, lines.data(), n, count);
  sorted_values<T> result{array<T, space::device>(ctx, n),
                          array<std::int64_t, space::device>(ctx, count + 1)};
  for_each(
      ctx, n, "reduce: values",
      [values = values.data(), positions = order.positions.data(),
       to = result.values.data()] __device__(std::int64_t k) { to[k] = values[positions[k]]; });
  find_starts(ctx, order.keys.data(), n, result.starts.view());
  return result;
}

} // namespace

template <class T, class O>
void reduce_lines(const device_context& ctx, reduction how, std::int64_t length,
                  vector_view<const O, space::device> starts,
                  vector_view<const T, space::device> values,
                  vector_view<T, space::device> result) {
  const device_guard guard(ctx.device());
  reduce_stored<T>(
      ctx, {how},
      {starts.data(), result.size(), values.size(), length, values.data(), result.data()});
}

template <class T, class I>
void reduce_across(const device_context& ctx, reduction how, std::int64_t length,
                   vector_view<const I, space::device> indices,
                   vector_view<const T, space::device> values,
                   vector_view<T, space::device> result) {
  const device_guard guard(ctx.device());
  with_position_type(indices.size(), [&](auto position) {
    const auto sorted = sort_by_line<decltype(position), T, I>(ctx, indices, values, result.size());
    reduce_stored<T>(ctx, {how},
                     {sorted.starts.data(), result.size(), values.size(), length,
                      sorted.values.data(), result.data()});
  });
}

template <class T>
T reduce_values(const device_context& ctx, reduction how, std::int64_t elements,
                vector_view<const T, space::device> values) {
  const device_guard guard(ctx.device());
  const reducer r{how};
  const double all = reduce<double>(
      ctx, values.size(),
      [r, values = values.data()] __device__(std::int64_t k) -> double {
        return r.of(static_cast<double>(values[k]));
      },
      r, r.none());
  return static_cast<T>(r.finished(all, values.size() == elements));
}

template <class O>
void line_sizes(const device_context& ctx, vector_view<const O, space::device> starts,
                vector_view<O, space::device> result) {
  const device_guard guard(ctx.device());
  for_each(ctx, result.size(), "row_sizes",
           [starts = starts.data(), result = result.data()] __device__(std::int64_t i) {
             result[i] = starts[i + 1] - starts[i];
           });
}

template <class I, class O>
void count_indices(const device_context& ctx, vector_view<const I, space::device> indices,
                   vector_view<O, space::device> result) {
  const device_guard guard(ctx.device());
  if (result.empty()) return;
  using count = std::conditional_t<sizeof(O) == 8, unsigned long long, unsigned>;
  check(cudaMemsetAsync(result.data(), 0, static_cast<std::size_t>(result.size()) * sizeof(O),
                        ctx.stream()),
        "column_sizes");
  for_each(ctx, indices.size(), "column_sizes",
           [indices = indices.data(), counts = reinterpret_cast<count*>(result.data())] __device__(
               std::int64_t k) { atomicAdd(counts + indices[k], count{1}); });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void reduce_lines<T, I>(                                                                \
      const device_context&, reduction, std::int64_t, vector_view<const I, space::device>,         \
      vector_view<const T, space::device>, vector_view<T, space::device>);                         \
  template void reduce_across<T, I>(                                                               \
      const device_context&, reduction, std::int64_t, vector_view<const I, space::device>,         \
      vector_view<const T, space::device>, vector_view<T, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T)                                                                      \
  template T reduce_values<T>(const device_context&, reduction, std::int64_t,                      \
                              vector_view<const T, space::device>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template void count_indices<I, O>(const device_context&, vector_view<const I, space::device>,    \
                                    vector_view<O, space::device>);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
template void line_sizes(const device_context&, vector_view<const std::int32_t, space::device>,
                         vector_view<std::int32_t, space::device>);
template void line_sizes(const device_context&, vector_view<const std::int64_t, space::device>,
                         vector_view<std::int64_t, space::device>);

} // namespace lacuna::detail::gpu
