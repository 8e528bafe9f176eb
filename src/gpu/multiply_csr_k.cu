// y = alpha A x + beta z on the device, A in CSR-k (Lane and Booth 2022):
//   k = 3: a block takes a super-super-row, its threads are spread over super-rows (the paper's z),
//          the rows of each (y) and, from 9 entries a row on, the entries of a row (x);
//   k = 2: a block takes a super-row, its threads are spread over rows and entries.
// Long rows are left out there: warps of the grid's first blocks sum their pieces, and the warp
// that finishes a row's last piece adds the pieces' sums up in their order. No atomics on values.
#include "gpu/multiply_csr.cuh"
#include "gpu/parts/launch_scratch.cuh"
#include "gpu/parts/load.cuh"
#include <lacuna/format/csr_k.hpp>

namespace lacuna::detail::gpu {
namespace {

/// Of a block; the paper's largest shape.
constexpr int most_threads = 512;

/// Where groups begin. Groups of one size need not be looked up: two loads less before a row's
/// own begin.
template <class I> struct starts_of_groups {
  const I* starts;
  std::int64_t size;  // of every group but the last; 0: they differ
  std::int64_t total; // of all
  __device__ std::int64_t operator()(std::int64_t group) const {
    return size > 0 ? min(group * size, total) : std::int64_t{starts[group]};
  }
};

template <class T, class I, class O> struct csr_k_arguments {
  multiply_arguments<T, I, O> p;
  starts_of_groups<I> super_rows;
  starts_of_groups<I> super_super_rows; // for k = 2 of one super-row each
  int rows_at_once;                     // rows of a super-row that a block works on at once
  int super_rows_at_once;
  std::int64_t long_row;
  std::int64_t piece_blocks; // the grid's first blocks
  const csr_k_piece<I, O>* pieces;
  std::int64_t piece_count;
  const std::int64_t* long_rows;
  T* sums;           // a place for each piece
  unsigned* arrived; // for each long row, its pieces that are summed; 0 before and after
};

/// Entries [first, last) by `lanes` neighbouring lanes, the sum in each of them. Four entries a
/// lane are loaded before the first is used. `once`: no other thread reads what shares their lines.
template <int lanes, bool once, class T, class I, class O>
__device__ T sum_entries(const multiply_arguments<T, I, O>& p, O first, O last) {
  constexpr int unroll = 4;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const auto load = [](const auto* from) { return once ? load_once(from) : __ldg(from); };
  // Counts down what is left of the row, so that nothing overflows near 2^31 entries.
  O left = last - first - lane;
  const I* columns = p.colind + first + lane;
  const T* values = p.values + first + lane;
  T sum{0};
  for (; left > 0; left -= lanes * unroll, columns += lanes * unroll, values += lanes * unroll) {
    I column[unroll];
    T value[unroll], gathered[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const bool inside = left > u * lanes;
      column[u] = inside ? load(columns + u * lanes) : I{-1};
      value[u] = inside ? load(values + u * lanes) : T{0};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) gathered[u] = column[u] >= 0 ? __ldg(p.x + column[u]) : T{0};
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum += value[u] * gathered[u];
  }
  const unsigned group = (0xffffffffu >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(group, sum, step, lanes);
  return sum;
}

/// A piece of a long row by a warp.
template <class T, class I, class O>
__device__ void multiply_piece(const csr_k_arguments<T, I, O>& a, std::int64_t k) {
  const csr_k_piece<I, O> piece = a.pieces[k];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  T sum = sum_entries<32, true>(a.p, piece.first, piece.last);
  const std::int64_t first = a.long_rows[piece.long_row], last = a.long_rows[piece.long_row + 1];
  if (last - first > 1) {
    unsigned before = 0;
    if (lane == 0) {
      a.sums[k] = sum;
      __threadfence(); // the sum is there before it is counted
      before = atomicAdd(a.arrived + piece.long_row, 1u);
      __threadfence(); // and the others' sums are read after they were
    }
    before = __shfl_sync(0xffffffffu, before, 0);
    if (before + 1 < last - first) return;
    __syncwarp();
    sum = T{0};
#pragma unroll 8
    for (std::int64_t i = first + lane; i < last; i += 32) sum += __ldcg(a.sums + i);
    sum = warp_sum(sum);
    if (lane == 0) a.arrived[piece.long_row] = 0;
  }
  if (lane == 0) a.p.y[piece.row] = finish(a.p.alpha, sum, a.p.beta, a.p.z, piece.row);
}

template <int lanes, class T, class I, class O>
__device__ void multiply_row(const csr_k_arguments<T, I, O>& a, bool has_long, std::int64_t row) {
  const O begin = a.p.rowptr[row], end = a.p.rowptr[row + 1];
  if (has_long && end - begin > a.long_row) return;
  const T sum = sum_entries<lanes, false>(a.p, begin, end);
  if (threadIdx.x % lanes == 0) a.p.y[row] = finish(a.p.alpha, sum, a.p.beta, a.p.z, row);
}

/// fits: groups of one size, whose rows the block's threads take all at once.
template <int lanes, bool has_long, bool fits, class T, class I, class O>
__global__ void __launch_bounds__(most_threads)
    super_rows_kernel(const csr_k_arguments<T, I, O> a) {
  const int thread = static_cast<int>(threadIdx.x);
  std::int64_t block = blockIdx.x;
  if constexpr (has_long) {
    if (block < a.piece_blocks) {
      const std::int64_t k = block * (blockDim.x / 32) + thread / 32;
      if (k < a.piece_count) multiply_piece(a, k);
      return;
    }
    block -= a.piece_blocks;
  }
  if constexpr (fits) {
    const std::int64_t row = block * (blockDim.x / lanes) + thread / lanes;
    if (row < a.p.rows) multiply_row<lanes>(a, has_long, row);
    return;
  }
  const int row_thread = thread / lanes % a.rows_at_once;
  const int super_row_thread = thread / lanes / a.rows_at_once;
  const std::int64_t last = a.super_super_rows(block + 1);
  for (std::int64_t s = a.super_super_rows(block) + super_row_thread; s < last;
       s += a.super_rows_at_once) {
    const std::int64_t end = a.super_rows(s + 1);
    for (std::int64_t row = a.super_rows(s) + row_thread; row < end; row += a.rows_at_once)
      multiply_row<lanes>(a, has_long, row);
  }
}

} // namespace

template <class T, class I, class O>
void multiply_format(const device_context& ctx, T alpha, csr_k_view<const T, I, O, space::device> m,
                     dense_view<const T, space::device> x, T beta,
                     dense_view<const T, space::device> z, dense_view<T, space::device> y) {
  if (!are_vectors(x, beta, z, y))
    return multiply_format(ctx, alpha, inspected_csr<T, I, O, space::device>{m.rows()}, x, beta, z,
                           y);
  if (y.shape().row == 0) return;
  const device_guard guard(ctx.device());
  const csr_k_grouping g = m.grouping();
  const bool k3 = g.k == 3;
  const std::int64_t super_rows = m.super_rows().size() - 1;
  const std::int64_t blocks = k3 ? m.super_super_rows().size() - 1 : super_rows;
  const int threads = g.block.threads();
  const std::int64_t pieces = m.pieces().size(), warps = threads / 32;
  const std::int64_t piece_blocks = (pieces + warps - 1) / warps;
  const bool joins = pieces > m.long_row_count();
  const launch_scratch<T> scratch(ctx, joins ? pieces : 0);
  const starts_of_groups<I> super_row_starts{m.super_rows().data(), g.super_row, m.shape().row};
  const starts_of_groups<I> block_starts =
      k3 ? starts_of_groups<I>{m.super_super_rows().data(), g.super_super_row, super_rows}
         : starts_of_groups<I>{nullptr, 1, super_rows};
  const csr_k_arguments<T, I, O> a{
      make_arguments(alpha, m.rows(), x.data(), beta, z.data(), y.data()),
      super_row_starts,
      block_starts,
      k3 ? g.block.rows : g.block.rows * g.block.super_rows,
      k3 ? g.block.super_rows : 1,
      g.long_row,
      piece_blocks,
      m.pieces().data(),
      pieces,
      m.long_rows().data(),
      scratch.sums(),
      scratch.tickets()};
  const bool fits = k3 ? g.super_row == g.block.rows && g.super_super_row == g.block.super_rows
                       : g.super_row == g.block.rows * g.block.super_rows;
  const auto launch = [&](auto lanes) {
    const unsigned grid = blocks_for((piece_blocks + blocks) * block_threads);
    const auto run = [&](auto has_long, auto all_at_once) {
      super_rows_kernel<lanes(), has_long(), all_at_once()><<<grid, threads, 0, ctx.stream()>>>(a);
    };
    if (pieces == 0)
      fits ? run(std::false_type{}, std::true_type{}) : run(std::false_type{}, std::false_type{});
    else
      fits ? run(std::true_type{}, std::true_type{}) : run(std::true_type{}, std::false_type{});
    check_launch("super_rows_kernel");
  };
  using std::integral_constant;
  switch (g.block.lanes) {
  case 1: return launch(integral_constant<int, 1>{});
  case 2: return launch(integral_constant<int, 2>{});
  case 4: return launch(integral_constant<int, 4>{});
  case 8: return launch(integral_constant<int, 8>{});
  case 16: return launch(integral_constant<int, 16>{});
  default: return launch(integral_constant<int, 32>{});
  }
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void multiply_format<T, I, O>(                                                          \
      const device_context&, T, csr_k_view<const T, I, O, space::device>,                          \
      dense_view<const T, space::device>, T, dense_view<const T, space::device>,                   \
      dense_view<T, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
