// y = alpha A x + beta z on the device, A in ell_csr: a warp takes a slice, or a piece of a long
// row. One launch; no atomics on data, every sum in a fixed order.
//
// Bytes that must move: per entry sizeof T and 0, 1, 2 or sizeof I for its column; per step of 32
// entries a head of 2 sizeof I; per slice 16; x once and y once.
#include <lacuna/format/ell_csr.hpp>

#include "plan/ell_csr_layout.hpp"
#include "gpu/multiply_csr.cuh"
#include "gpu/parts/launch_scratch.cuh"
#include "gpu/parts/load.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int warps_per_block = 4;

template <class T, class I> struct slice_arguments {
  const ell_slice* slices;
  const ell_step<I>* steps;
  const unsigned char* columns;
  const T* values;
  const I* rows; // may be null: row 32 s + l
  const row_piece<I>* pieces;
  std::int64_t slice_count, piece_count, row_count;
  int slices_per_warp; // of long slices
  const T* x;
  const T* z; // may be y
  T* y;
  T alpha, beta;
  std::int64_t x_row, x_column, z_row, z_column, y_row, y_column; // strides; blockIdx.y is a column
  T* partial;        // a sum for each piece, where a row has several
  unsigned* tickets; // 0 when the kernel begins and when it ends
};

/// Columns of a step, read by lane.
struct diagonal_columns {
  static constexpr int step_bytes = 0;
  explicit __device__ diagonal_columns(const unsigned char*) {}
  __device__ int operator()(int, int lane) const { return lane; }
};
template <class D> struct stored_columns {
  static constexpr int step_bytes = slice_lanes * sizeof(D);
  const D* first;
  explicit __device__ stored_columns(const unsigned char* p)
      : first(reinterpret_cast<const D*>(p)) {}
  __device__ D operator()(int step, int lane) const {
    return load_once(first + step * slice_lanes + lane);
  }
};

/// A head in one load, kept in L1: all lanes read it.
__device__ inline ell_step<std::int32_t> load_head(const ell_step<std::int32_t>* p) {
  const int2 v = __ldg(reinterpret_cast<const int2*>(p));
  return {v.x, static_cast<std::uint32_t>(v.y)};
}
__device__ inline ell_step<std::int64_t> load_head(const ell_step<std::int64_t>* p) {
  const longlong2 v = __ldg(reinterpret_cast<const longlong2*>(p));
  return {v.x, static_cast<std::uint64_t>(v.y)};
}

/// Column numbers of a step's lanes, less its base, in bytes.
template <class I> __device__ int column_bytes(packing kind) {
  return kind == packing::diagonal ? 0
         : kind == packing::bits8  ? 1
         : kind == packing::bits16 ? 2
                                   : static_cast<int>(sizeof(I));
}

/// The columns of `left` steps, at most `unroll`, less their bases; those of a lane begin at
/// `from`. All lanes have the same kind.
template <int unroll, class I>
__device__ void load_columns(I (&column)[unroll], const unsigned char* from, packing kind, int lane,
                             int left) {
  const auto load = [&](auto type) {
    const auto* first = reinterpret_cast<const decltype(type)*>(from);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      column[u] = u < left ? static_cast<I>(load_once(first + u * slice_lanes)) : I{0};
  };
  switch (kind) {
  case packing::bits8: return load(std::uint8_t{});
  case packing::bits16: return load(std::uint16_t{});
  case packing::full: return load(std::make_unsigned_t<I>{});
  case packing::diagonal:
#pragma unroll
    for (int u = 0; u < unroll; ++u) column[u] = lane;
  }
}

/// What lane `lane` sums over `count` steps from `begin` on; `unroll` steps are loaded before the
/// first is used.
template <int unroll, bool strided, class T, class I>
__device__ T sum_steps(const slice_arguments<T, I>& p, const T* x, std::int64_t begin, int count,
                       packing kind, const unsigned char* columns) {
  const int lane = static_cast<int>(threadIdx.x) % slice_lanes;
  const int bytes = column_bytes<I>(kind);
  const ell_step<I>* heads = p.steps + begin;
  const T* values = p.values + begin * slice_lanes + lane;
  columns += lane * bytes;
  T sum{0};
  for (int left = count; left > 0; left -= unroll) {
    ell_step<I> head[unroll];
    I column[unroll];
    T value[unroll], gathered[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) head[u] = u < left ? load_head(heads + u) : ell_step<I>{0, 0};
    load_columns(column, columns, kind, lane, left);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      value[u] = u < left ? load_once(values + u * slice_lanes) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const I at = head[u].base + column[u];
      gathered[u] =
          (head[u].mask >> lane & 1) != 0 ? __ldg(x + (strided ? at * p.x_row : at)) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * gathered[u];
    heads += unroll;
    values += unroll * slice_lanes;
    columns += unroll * slice_lanes * bytes;
  }
  return sum;
}

/// Steps in flight of pieces and of long slices.
constexpr int most_in_flight = 8;

/// Heads of up to 32 steps, one in each lane: one load serves them all.
template <class I> struct step_heads {
  const ell_step<I>* steps;
  std::int64_t end;       // of the warp's steps
  std::int64_t first = 0; // of those that are held
  ell_step<I> held{0, 0};

  __device__ step_heads(const ell_step<I>* s, std::int64_t begin, std::int64_t e)
      : steps(s), end(e) {
    load(begin);
  }
  __device__ void load(std::int64_t begin) {
    first = begin;
    const std::int64_t mine = begin + threadIdx.x % 32;
    held = mine < end ? steps[mine] : ell_step<I>{0, 0};
  }
  /// Makes [begin, begin + count) readable; count is at most 32.
  __device__ void need(std::int64_t begin, int count) {
    if (begin + count > first + 32) load(begin);
  }
  __device__ ell_step<I> operator()(std::int64_t step) const {
    const int from = static_cast<int>(step - first);
    return {__shfl_sync(0xffffffffu, held.base, from), __shfl_sync(0xffffffffu, held.mask, from)};
  }
};

/// The same for long slices: their heads are loaded 32 at a time, one per lane, so that they are
/// not waited for in every batch.
template <class Columns, bool strided, class T, class I>
__device__ T sum_long_steps(const slice_arguments<T, I>& p, const T* x, step_heads<I>& heads,
                            std::int64_t begin, std::int64_t end, const unsigned char* packed) {
  constexpr int unroll = most_in_flight;
  const int lane = static_cast<int>(threadIdx.x) % slice_lanes;
  const int count = static_cast<int>(end - begin);
  const Columns columns(packed);
  const T* values = p.values + begin * slice_lanes + lane;
  T sum{0};
  for (int j = 0; j < count; j += unroll) {
    heads.need(begin + j, min(unroll, count - j));
    T value[unroll], gathered[unroll];
    I column[unroll];
    bool on[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const bool inside = j + u < count; // the same in all lanes
      value[u] = inside ? load_once(values + (j + u) * slice_lanes) : T{0};
      column[u] = inside ? static_cast<I>(columns(j + u, lane)) : I{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const ell_step<I> head = heads(begin + j + u);
      on[u] = j + u < count && (head.mask >> lane & 1) != 0;
      column[u] += head.base;
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      gathered[u] = on[u] ? __ldg(x + (strided ? column[u] * p.x_row : column[u])) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * gathered[u];
  }
  return sum;
}
template <bool strided, class T, class I>
__device__ T sum_long_slice(const slice_arguments<T, I>& p, const T* x, step_heads<I>& heads,
                            const ell_slice& slice, std::int64_t end) {
  const unsigned char* packed = p.columns + slice.first_byte();
  switch (slice.kind()) {
  case packing::diagonal:
    return sum_long_steps<diagonal_columns, strided>(p, x, heads, slice.step, end, packed);
  case packing::bits8:
    return sum_long_steps<stored_columns<std::uint8_t>, strided>(p, x, heads, slice.step, end,
                                                                 packed);
  case packing::bits16:
    return sum_long_steps<stored_columns<std::uint16_t>, strided>(p, x, heads, slice.step, end,
                                                                  packed);
  default:
    return sum_long_steps<stored_columns<std::make_unsigned_t<I>>, strided>(p, x, heads, slice.step,
                                                                            end, packed);
  }
}

template <class T, class I> __device__ void store(const slice_arguments<T, I>& p, I row, T sum) {
  const std::int64_t j = blockIdx.y;
  p.y[row * p.y_row + j * p.y_column] =
      finish(p.alpha, sum, p.beta, p.z, row * p.z_row + j * p.z_column);
}

/// A piece's sum is final if it is the row's only one; else the last of the row's warps to arrive
/// adds them all, in the order of the row.
template <class T, class I>
__device__ void finish_piece(const slice_arguments<T, I>& p, std::int64_t warp,
                             const row_piece<I>& piece, T sum) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  sum = warp_sum(sum);
  if (piece.count == 1) {
    if (lane == 0) store(p, piece.row, sum);
    return;
  }
  T* const partial = p.partial + std::int64_t{blockIdx.y} * p.piece_count;
  unsigned* const ticket = p.tickets + std::int64_t{blockIdx.y} * p.piece_count + piece.first;
  unsigned arrived = 0;
  if (lane == 0) {
    partial[warp] = sum;
    __threadfence();
    arrived = atomicAdd(ticket, 1u);
  }
  if (__shfl_sync(0xffffffffu, arrived, 0) + 1 != static_cast<unsigned>(piece.count)) return;
  __threadfence();
  T total{0};
  for (int i = lane; i < piece.count; i += 32) total += __ldcg(partial + piece.first + i);
  total = warp_sum(total);
  if (lane == 0) {
    store(p, piece.row, total);
    *ticket = 0;
  }
}

/// Blocks a multiprocessor is to hold: as many as have registers for what a lane has in flight.
template <int unroll, bool pieces, class I>
inline constexpr int slice_blocks = sizeof(I) == 8                       ? 6
                                    : pieces || unroll == most_in_flight ? 8
                                    : unroll == 4                        ? 12
                                                                         : 10;

/// A warp a slice. Measured on an H200 against several slices a warp, which share loads of their
/// places: 3 steps a slice 308 -> 418 GFLOP/s, 6 steps 403 -> 519, 14 steps 547 -> 584.
template <int unroll, bool pieces, bool strided, class T, class I>
__global__ void __launch_bounds__(32 * warps_per_block, (slice_blocks<unroll, pieces, I>))
    multiply_slices_kernel(const slice_arguments<T, I> p) {
  const int lane = static_cast<int>(threadIdx.x) % slice_lanes;
  const std::int64_t s = thread_index() / slice_lanes;
  if (s >= p.slice_count) return;
  const ell_slice slice = p.slices[s];
  const int count = static_cast<int>(p.slices[s + 1].step - slice.step);
  const auto sum_of = [&](auto in_flight) {
    return sum_steps<in_flight(), strided>(p, p.x + std::int64_t{blockIdx.y} * p.x_column,
                                           slice.step, count, slice.kind(),
                                           p.columns + slice.first_byte());
  };
  // What a sum is for is asked for before it is there.
  if (pieces && s < p.piece_count) {
    const row_piece<I> piece = p.pieces[s];
    return finish_piece(p, s, piece, sum_of(std::integral_constant<int, most_in_flight>{}));
  }
  const int lanes = slice.row_lanes();
  const std::int64_t place = (s - p.piece_count) * slice_lanes;
  I row = -1;
  if (p.rows == nullptr)
    row = place + lane < p.row_count ? static_cast<I>(place + lane) : I{-1};
  else if (lane % lanes == 0)
    row = load_once(p.rows + place + lane / lanes);
  T sum = sum_of(std::integral_constant<int, unroll>{});
  for (int step = 1; step < lanes; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (row >= 0) store(p, row, sum);
}

/// Long slices, and matrices that are mostly pieces. Several slices a warp share the loads of their
/// places and heads.
template <bool strided, class T, class I>
__global__ void __launch_bounds__(32 * warps_per_block, 6)
    multiply_long_slices_kernel(const slice_arguments<T, I> p) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t warp = thread_index() / 32;
  const T* const x = p.x + std::int64_t{blockIdx.y} * p.x_column;
  if (warp < p.piece_count) {
    const row_piece<I> piece = p.pieces[warp];
    const ell_slice slice = p.slices[warp];
    const std::int64_t end = p.slices[warp + 1].step;
    step_heads<I> heads(p.steps, slice.step, end);
    return finish_piece(p, warp, piece, sum_long_slice<strided>(p, x, heads, slice, end));
  }
  const std::int64_t first = p.piece_count + (warp - p.piece_count) * p.slices_per_warp;
  const int count = static_cast<int>(min(p.slice_count - first, std::int64_t{p.slices_per_warp}));
  if (count <= 0) return;
  // All of the warp's slices at once, and the heads of their first steps.
  const ell_slice mine = p.slices[first + min(lane, count)];
  const auto slice_of = [&](int k) {
    return ell_slice{__shfl_sync(0xffffffffu, mine.step, k),
                     __shfl_sync(0xffffffffu, mine.columns, k)};
  };
  ell_slice next = slice_of(0);
  step_heads<I> heads(p.steps, next.step, __shfl_sync(0xffffffffu, mine.step, count));
  for (int k = 0; k < count; ++k) {
    const ell_slice slice = next;
    next = slice_of(k + 1);
    const std::int64_t place = (first + k - p.piece_count) * slice_lanes;
    const int lanes = slice.row_lanes();
    I row = -1; // asked for before the sum is there
    if (p.rows == nullptr)
      row = place + lane < p.row_count ? static_cast<I>(place + lane) : I{-1};
    else if (lane % lanes == 0)
      row = load_once(p.rows + place + lane / lanes);
    T sum = sum_long_slice<strided>(p, x, heads, slice, next.step);
    for (int step = 1; step < lanes; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (row >= 0) store(p, row, sum);
  }
}

/// Slices of `width` steps each, one lane a row and rows in order: nothing must be read to know
/// where a slice's values are.
template <int width, class T, class I>
__global__ void __launch_bounds__(32 * warps_per_block)
    multiply_exact_slices_kernel(const slice_arguments<T, I> p, packing kind) {
  const int lane = static_cast<int>(threadIdx.x) % slice_lanes;
  const std::int64_t slice = thread_index() / slice_lanes;
  if (slice >= p.slice_count) return;
  const T sum =
      sum_steps<width, false>(p, p.x, slice * width, width, kind,
                              p.columns + slice * width * slice_lanes * column_bytes<I>(kind));
  const std::int64_t row = slice * slice_lanes + lane;
  if (row < p.row_count) p.y[row] = finish(p.alpha, sum, p.beta, p.z, row);
}

/// The same for any width; `batch` steps are loaded before the first is used.
template <class Columns, int batch, class T, class I>
__global__ void __launch_bounds__(32 * warps_per_block)
    multiply_even_slices_kernel(const slice_arguments<T, I> p, int width) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned bit = 1u << lane;
  const std::int64_t slice = thread_index() / 32;
  if (slice >= p.slice_count) return;
  const ell_step<I>* heads = p.steps + slice * width;
  const T* values = p.values + slice * width * slice_lanes + lane;
  const Columns columns(p.columns + slice * width * Columns::step_bytes);
  const T* const x = p.x + (Columns::step_bytes == 0 ? lane : 0);
  T sum{0};
  for (int j = 0; j < width; j += batch) {
    T value[batch], gathered[batch];
#pragma unroll
    for (int u = 0; u < batch; ++u) {
      const bool inside = j + u < width; // the same in all lanes
      value[u] = inside ? load_once(values + (j + u) * slice_lanes) : T{0};
      const ell_step<I> head = inside ? load_head(heads + j + u) : ell_step<I>{0, 0};
      I column = head.base;
      if (Columns::step_bytes != 0 && inside) column += static_cast<I>(columns(j + u, lane));
      gathered[u] = (head.mask & bit) != 0 ? __ldg(x + column) : T{0};
    }
#pragma unroll
    for (int u = 0; u < batch; ++u) sum += value[u] * gathered[u];
  }
  const std::int64_t row = slice * slice_lanes + lane;
  if (row < p.row_count) p.y[row] = finish(p.alpha, sum, p.beta, p.z, row);
}

/// Blocks that give every one of `warps` a warp; a matrix has far fewer than the grid allows.
unsigned blocks_of_warps(std::int64_t warps) {
  return static_cast<unsigned>((warps + warps_per_block - 1) / warps_per_block);
}

/// Slices are taken several at a time where there are more than enough of them: they share the
/// loads of their places and heads. Measured on an H200: 94 000 slices 357 -> 405 GFLOP/s, while
/// 31 000 slices lose from 2 on.
int choose_slices_per_warp(const device_context& ctx, std::int64_t slices) {
  const std::int64_t resident = 32 * std::int64_t{ctx.properties().multiprocessors};
  return slices >= 16 * resident ? 4 : slices >= 8 * resident ? 2 : 1;
}

/// Loads in flight a lane, chosen so that few of the last batch's are idle.
template <class Columns, class T, class I>
void launch_even(const device_context& ctx, const slice_arguments<T, I>& p, int width) {
  const unsigned blocks = blocks_of_warps(p.slice_count);
  const auto launch = [&](auto batch) {
    multiply_even_slices_kernel<Columns, batch()>
        <<<blocks, 32 * warps_per_block, 0, ctx.stream()>>>(p, width);
  };
  const auto idle = [&](int batch) { return (width + batch - 1) / batch * batch - width; };
  if (idle(5) < idle(4))
    launch(std::integral_constant<int, 5>{});
  else
    launch(std::integral_constant<int, 4>{});
  check_launch("multiply_even_slices_kernel");
}

template <class T, class I>
void multiply_even(const device_context& ctx, const slice_arguments<T, I>& p, even_slices even) {
  const int width = static_cast<int>(even.width);
  const auto launch_exact = [&](auto constant) {
    multiply_exact_slices_kernel<constant()>
        <<<blocks_of_warps(p.slice_count), 32 * warps_per_block, 0, ctx.stream()>>>(p, even.kind);
    check_launch("multiply_exact_slices_kernel");
  };
  using std::integral_constant;
  switch (width) {
  case 1: return launch_exact(integral_constant<int, 1>{});
  case 2: return launch_exact(integral_constant<int, 2>{});
  case 3: return launch_exact(integral_constant<int, 3>{});
  case 4: return launch_exact(integral_constant<int, 4>{});
  case 5: return launch_exact(integral_constant<int, 5>{});
  case 6: return launch_exact(integral_constant<int, 6>{});
  case 7: return launch_exact(integral_constant<int, 7>{});
  case 8: return launch_exact(integral_constant<int, 8>{});
  default: break;
  }
  switch (even.kind) {
  case packing::diagonal: return launch_even<diagonal_columns>(ctx, p, width);
  case packing::bits8: return launch_even<stored_columns<std::uint8_t>>(ctx, p, width);
  case packing::bits16: return launch_even<stored_columns<std::uint16_t>>(ctx, p, width);
  case packing::full: break;
  }
  launch_even<stored_columns<std::make_unsigned_t<I>>>(ctx, p, width);
}

} // namespace

template <class T, class I>
void multiply_format(const device_context& ctx, T alpha, ell_csr_view<const T, I, space::device> a,
                     dense_view<const T, space::device> x, T beta,
                     dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  const std::int64_t columns = y.shape().col, pieces = a.pieces().size();
  if (y.shape().row == 0 || columns == 0) return;
  const device_guard guard(ctx.device());
  slice_arguments<T, I> p{a.slices().data(),
                          a.steps().data(),
                          a.columns().data(),
                          a.values().data(),
                          a.rows().data(),
                          a.pieces().data(),
                          a.slice_count(),
                          pieces,
                          a.shape().row,
                          1,
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
                          nullptr,
                          nullptr};
  if (a.even().width > 0 && columns == 1 && p.x_row == 1 && p.y_row == 1 &&
      (beta == 0 || p.z_row == 1))
    return multiply_even(ctx, p, a.even());
  // On an H200 slices of up to 17 steps on the mean gain 7 to 9 % by a warp each, those of 22 and
  // more lose as much, and so do pieces.
  const bool is_long = a.steps().size() > 20 * p.slice_count || 2 * pieces > p.slice_count;
  const std::int64_t others = p.slice_count - pieces;
  if (is_long) p.slices_per_warp = choose_slices_per_warp(ctx, others);
  const unsigned blocks =
      blocks_of_warps(pieces + (others + p.slices_per_warp - 1) / p.slices_per_warp);
  const std::int64_t at_once = std::min<std::int64_t>(columns, 1 << 12);
  const launch_scratch<T> scratch(ctx, checked_mul(pieces, at_once));
  p.partial = scratch.sums();
  p.tickets = scratch.tickets();
  // Loads in flight that most slices leave idle cost registers, and so warps.
  const auto at_most = [&](std::int64_t width) {
    return a.steps().size() <= width * p.slice_count + p.slice_count / 8;
  };
  for (std::int64_t first = 0; first < columns; first += at_once) {
    const dim3 grid(blocks, static_cast<unsigned>(std::min(at_once, columns - first)));
    const auto launch = [&](auto unroll, auto with_pieces, auto strided) {
      multiply_slices_kernel<unroll(), with_pieces(), strided()>
          <<<grid, 32 * warps_per_block, 0, ctx.stream()>>>(p);
    };
    using std::integral_constant, std::true_type, std::false_type;
    if (is_long && p.x_row == 1)
      multiply_long_slices_kernel<false><<<grid, 32 * warps_per_block, 0, ctx.stream()>>>(p);
    else if (is_long)
      multiply_long_slices_kernel<true><<<grid, 32 * warps_per_block, 0, ctx.stream()>>>(p);
    else if (p.x_row != 1)
      launch(integral_constant<int, most_in_flight>{}, true_type{}, true_type{});
    else if (at_most(4) && pieces > 0)
      launch(integral_constant<int, 4>{}, true_type{}, false_type{});
    else if (at_most(4))
      launch(integral_constant<int, 4>{}, false_type{}, false_type{});
    else if (at_most(6) && pieces == 0)
      launch(integral_constant<int, 6>{}, false_type{}, false_type{});
    else
      launch(integral_constant<int, most_in_flight>{}, true_type{}, false_type{});
    check_launch("multiply_slices_kernel");
    p.x += at_once * p.x_column;
    p.y += at_once * p.y_column;
    if (p.beta != 0) p.z += at_once * p.z_column;
  }
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void multiply_format<T, I>(                                                             \
      const device_context&, T, ell_csr_view<const T, I, space::device>,                           \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
