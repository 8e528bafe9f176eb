// The analysis of spECK (Parger et al. 2020, Algorithm 1): products of each row of C, the columns
// they can fall on, and how many rows need tables of which size. O(entries of A).
#include "gpu/parts/hash.cuh"
#include "gpu/parts/load.cuh"
#include "gpu/spgemm_bins.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Longer rows of A are cut into pieces, one block per piece.
constexpr int most_entries_of_lanes = 1024;
constexpr int piece_threads = 512, piece_entries = 4 * piece_threads;

/// What a thread finds of a row: products, and the columns that they can fall on.
template <class I> struct row_extent {
  unsigned long long products = 0, longest = 0; // longest: row of B
  I low, high = 0;

  /// Looks at every step-th entry of A's, four of them on their way at a time: at the lengths of
  /// their rows of B, at their columns, or both.
  template <bool lengths, bool columns, class O>
  __device__ void look_at(const spgemm_factors<I, O>& f, std::int64_t begin, std::int64_t end,
                          int step) {
    constexpr int at_once = 4;
    for (std::int64_t k = begin; k < end; k += at_once * step) {
      O b[at_once], e[at_once];
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        b[u] = e[u] = 0;
        if (k + u * step >= end) continue;
        const I j = f.a_colind[k + u * step];
        b[u] = f.b_rowptr[j];
        e[u] = f.b_rowptr[j + 1];
      }
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        const auto length = static_cast<unsigned long long>(e[u] - b[u]);
        if constexpr (lengths) {
          products += length;
          longest = max(longest, length);
        }
        if (!columns || length == 0) continue;
        low = min(low, f.b_colind[b[u]]);
        high = max(high, f.b_colind[e[u] - 1]);
      }
    }
  }
};

/// Numbers that a block's warps add to or raise, in shared memory.
struct block_numbers {
  unsigned long long of[4];
  __device__ void add(int i, unsigned long long value) {
    if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(of + i, value);
  }
  __device__ void raise(int i, unsigned long long value) {
    if (threadIdx.x % 32 == 0 && value != 0) atomicMax(of + i, value);
  }
};
/// What a block's rows add to all rows' totals: so many warps would wait for each other there.
struct block_notes {
  block_numbers sums, maxima;
  /// Before a barrier.
  __device__ void clear() {
    if (threadIdx.x < 4) sums.of[threadIdx.x] = maxima.of[threadIdx.x] = 0;
  }
  /// Behind a barrier. Whole numbers: the order of the additions does not matter.
  __device__ void flush(spgemm_totals* totals) {
    if (threadIdx.x != 0) return;
    atomicAdd(&totals->products, sums.of[0]);
    atomicAdd(&totals->most_entries, sums.of[1]);
    if (sums.of[2] > 0) atomicAdd(&totals->alike, sums.of[2]);
    if (sums.of[3] > 0) atomicAdd(&totals->shifted, sums.of[3]);
    atomicMax(&totals->longest, maxima.of[0]);
    atomicMax(&totals->longest_b, maxima.of[1]);
    atomicMax(&totals->longest_merged, maxima.of[2]);
  }
};

/// Totals of the rows that a thread has noted.
struct noted_rows {
  unsigned long long all = 0, all_most = 0, largest = 0, longest = 0, longest_merged = 0;
  unsigned long long alike = 0, shifted = 0;

  /// Notes a row; called by one thread for all that looked at the row.
  template <class I, class O>
  __device__ void note(const spgemm_factors<I, O>& f, const spgemm_thresholds& thresholds,
                       block_totals& block, const row_extent<I>& extent, std::int64_t row,
                       std::int64_t entries, std::uint32_t* products, I* first, I* last) {
    std::int64_t span = std::int64_t{1} << 40;
    if (extent.products > few_products) {
      span = std::int64_t{extent.high} - extent.low + 1;
      first[row] = extent.low;
      last[row] = extent.high;
    }
    products[row] = static_cast<std::uint32_t>(min(extent.products, 0xffffffffull));
    all += extent.products;
    all_most += min(extent.products, static_cast<unsigned long long>(min(span, f.columns)));
    largest = max(largest, extent.products);
    const auto many = static_cast<std::int64_t>(extent.products);
    const int c = spgemm::count_class(thresholds, {entries, many, span});
    block.add(c, many, entries);
    if (c == 0) longest_merged = max(longest_merged, static_cast<unsigned long long>(entries));
  }
  /// Called by whole warps.
  __device__ void add_to(block_notes& block) {
    block.sums.add(0, warp_sum(all));
    block.sums.add(1, warp_sum(all_most));
    block.sums.add(2, warp_sum(alike));
    block.sums.add(3, warp_sum(shifted));
    block.maxima.raise(0, warp_max(largest));
    block.maxima.raise(1, warp_max(longest));
    block.maxima.raise(2, warp_max(longest_merged));
  }
};

/// A row of A that several blocks look at, and what they have found of it so far.
template <class I> struct long_row {
  I row;
  unsigned left; // pieces that nobody has looked at
  unsigned long long products;
  long long low, high;
};
struct factor_piece {
  unsigned long_row, number;
};
/// Long rows and their pieces, in any order.
template <class I> struct long_rows {
  long_row<I>* rows;
  factor_piece* pieces;

  __device__ void add(spgemm_counters* counters, std::int64_t row, std::int64_t entries,
                      std::int64_t columns) const {
    const auto many = static_cast<unsigned>((entries + piece_entries - 1) / piece_entries);
    const unsigned to = atomicAdd(&counters->long_rows, 1u);
    const unsigned first = atomicAdd(&counters->pieces, many);
    rows[to] = {static_cast<I>(row), many, 0, columns - 1, 0};
    for (unsigned p = 0; p < many; ++p) pieces[first + p] = {to, p};
  }
};

/// One group of lanes per row; long rows are put aside.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    analyse_kernel(const spgemm_factors<I, O> f, const spgemm_thresholds thresholds, int lanes,
                   std::uint32_t* products, I* first, I* last, spgemm_counters* counters,
                   const long_rows<I> aside) {
  __shared__ block_totals block;
  __shared__ block_notes notes;
  notes.clear();
  block.clear();
  const lane_group g(lanes);
  noted_rows noted;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x / lanes;
  const std::int64_t rounds = (f.rows + stride - 1) / stride;
  std::int64_t row = thread_index() / lanes;
  for (std::int64_t round = 0; round < rounds; ++round, row += stride) {
    const O begin = row < f.rows ? f.a_rowptr[row] : O{0};
    O end = row < f.rows ? f.a_rowptr[row + 1] : O{0};
    const auto entries = static_cast<std::int64_t>(end - begin);
    const bool is_long = entries > most_entries_of_lanes;
    if (is_long) end = begin;
    row_extent<I> extent;
    extent.low = static_cast<I>(f.columns - 1);
    const bool many = entries > few_products; // as many products, or nearly: one look is enough
    if (many)
      extent.template look_at<true, true>(f, begin + g.lane, end, lanes);
    else
      extent.template look_at<true, false>(f, begin + g.lane, end, lanes);
    noted.longest = max(noted.longest, extent.longest);
    __syncwarp();
    extent.products = g.sum(extent.products);
    if (__any_sync(whole_warp, extent.products > few_products)) {
      if (extent.products > few_products && !many)
        extent.template look_at<false, true>(f, begin + g.lane, end, lanes);
      __syncwarp();
      for (int step = lanes / 2; step > 0; step /= 2) {
        extent.low = min(extent.low, __shfl_xor_sync(whole_warp, extent.low, step, lanes));
        extent.high = max(extent.high, __shfl_xor_sync(whole_warp, extent.high, step, lanes));
      }
    }
    if (g.lane == 0 && row < f.rows) {
      if (is_long)
        aside.add(counters, row, entries, f.columns);
      else
        noted.note(f, thresholds, block, extent, row, entries, products, first, last);
      noted.alike += looks_like_last(f, row, begin, f.a_rowptr[row + 1]) ? 1 : 0;
      noted.shifted += looks_shifted(f, row, begin, f.a_rowptr[row + 1]) ? 1 : 0;
    }
    __syncwarp();
  }
  noted.add_to(notes);
  block.flush(&counters->analysed);
  notes.flush(&counters->analysed);
}

/// One block per piece of a long row; the block that looks at the last piece notes the row.
template <class I, class O>
__global__ void __launch_bounds__(piece_threads)
    analyse_pieces_kernel(const spgemm_factors<I, O> f, const spgemm_thresholds thresholds,
                          std::uint32_t* products, I* first, I* last, spgemm_counters* counters,
                          const long_rows<I> aside) {
  if (blockIdx.x >= counters->pieces) return;
  __shared__ block_totals block;
  __shared__ block_notes notes;
  notes.clear();
  block.clear();
  noted_rows noted;
  for (unsigned i = blockIdx.x; i < counters->pieces; i += gridDim.x) {
    const factor_piece piece = aside.pieces[i];
    long_row<I>& record = aside.rows[piece.long_row];
    const std::int64_t row = record.row, row_begin = f.a_rowptr[row], row_end = f.a_rowptr[row + 1];
    const std::int64_t begin = row_begin + std::int64_t{piece.number} * piece_entries;
    row_extent<I> extent;
    extent.low = static_cast<I>(f.columns - 1);
    extent.template look_at<true, true>(f, begin + threadIdx.x, min(begin + piece_entries, row_end),
                                        piece_threads);
    noted.longest = max(noted.longest, extent.longest);
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
      extent.low = min(extent.low, __shfl_xor_sync(whole_warp, extent.low, step));
      extent.high = max(extent.high, __shfl_xor_sync(whole_warp, extent.high, step));
    }
    extent.products = warp_sum(extent.products);
    if (threadIdx.x % 32 == 0) {
      atomicAdd(&record.products, extent.products);
      atomicMin(&record.low, static_cast<long long>(extent.low));
      atomicMax(&record.high, static_cast<long long>(extent.high));
      __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0 && atomicSub(&record.left, 1u) == 1u) {
      __threadfence();
      extent.products = *static_cast<volatile unsigned long long*>(&record.products);
      extent.low = static_cast<I>(*static_cast<volatile long long*>(&record.low));
      extent.high = static_cast<I>(*static_cast<volatile long long*>(&record.high));
      noted.note(f, thresholds, block, extent, row, row_end - row_begin, products, first, last);
    }
  }
  __syncwarp();
  noted.add_to(notes);
  block.flush(&counters->analysed);
  notes.flush(&counters->analysed);
}

} // namespace

template <class I, class O>
void start_analysis(const device_context& ctx, const spgemm_factors<I, O>& f,
                    std::int64_t a_entries, const spgemm_thresholds& thresholds,
                    row_facts<I, O>& facts) {
  facts.a_rowptr = f.a_rowptr;
  facts.thresholds = thresholds;
  facts.products = array<std::uint32_t, space::device>(ctx, f.rows);
  facts.first = array<I, space::device>(ctx, f.rows);
  facts.last = array<I, space::device>(ctx, f.rows);
  facts.counters = array<spgemm_counters, space::device>(ctx, 1);
  spgemm_counters* const counters = facts.counters.data();
  check(cudaMemsetAsync(counters, 0, sizeof(spgemm_counters), ctx.stream()), "analyse_rows");
  if (f.rows == 0) return;
  // Two entries of A per lane.
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * f.rows < a_entries) lanes *= 2;
  const std::int64_t most_long = a_entries / most_entries_of_lanes;
  array<long_row<I>, space::device> rows(ctx, most_long);
  array<factor_piece, space::device> pieces(ctx, most_long + a_entries / piece_entries);
  const long_rows<I> aside{rows.data(), pieces.data()};
  analyse_kernel<<<resident_blocks(ctx, f.rows * lanes, 8), block_threads, 0, ctx.stream()>>>(
      f, thresholds, lanes, facts.products.data(), facts.first.data(), facts.last.data(), counters,
      aside);
  check_launch("analyse_kernel");
  if (pieces.empty()) return;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(pieces.size(), 4 * ctx.properties().multiprocessors));
  analyse_pieces_kernel<<<blocks, piece_threads, 0, ctx.stream()>>>(
      f, thresholds, facts.products.data(), facts.first.data(), facts.last.data(), counters, aside);
  check_launch("analyse_pieces_kernel");
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template void start_analysis<I, O>(const device_context&, const spgemm_factors<I, O>&,           \
                                     std::int64_t, const spgemm_thresholds&, row_facts<I, O>&);
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
