// Block CSR on the device: made from CSR, and given new values.
#include <lacuna/format/bsr.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/sort.cuh"
#include "op/smallest_blocks.hpp"

namespace lacuna::detail::gpu {
namespace {

__host__ __device__ constexpr std::uint64_t all_of(int block) {
  return ~std::uint64_t{0} >> (64 - block * block);
}

/// The block of a block row that holds a column, or `end`.
template <class I>
__device__ std::int64_t find_block(const I* colind, std::int64_t begin, std::int64_t end,
                                   I block_column) {
  while (begin < end) {
    const std::int64_t middle = (begin + end) / 2;
    const I stored = colind[middle];
    if ((stored < 0 ? ~stored : stored) < block_column)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// Which blocks have entries: a matrix of blocks, its values unused.
template <class I, class O>
csr_d<float, I, O> block_pattern(const device_context& ctx,
                                 csr_view<const float, I, O, space::device> a, int block) {
  const std::int64_t rows = a.shape().row, cols = a.shape().col;
  const index<I> shape{(rows + block - 1) / block, (cols + block - 1) / block};
  csr_d<float, I, O> blocks(ctx, shape, a.size());
  const O* const from_rowptr = a.rowptr().data();
  const I* const from_colind = a.colind().data();
  O* const rowptr = blocks.rowptr().data();
  I* const colind = blocks.colind().data();
  for_each(ctx, std::int64_t{shape.row} + 1, "to_bsr: rows",
           [=] __device__(std::int64_t i) { rowptr[i] = from_rowptr[min(i * block, rows)]; });
  for_each(ctx, a.size(), "to_bsr: columns",
           [=] __device__(std::int64_t k) { colind[k] = from_colind[k] / static_cast<I>(block); });
  check(cudaMemsetAsync(blocks.values().data(), 0, blocks.values().size() * sizeof(float),
                        ctx.stream()),
        "to_bsr: memset");
  sort_csr<float, I, O>(ctx, blocks.view());
  return merge_csr<float, I, O>(ctx, std::as_const(blocks).view(), duplicates::first);
}

/// New values from rows that are sorted and unique: their entries come in the order of the blocks,
/// so a place knows its entry by counting. One warp per block row, 32 blocks at a time: lanes count
/// what is before each block in its b rows, then write the places one after the other.
template <class T, class I, class O>
__global__ void __launch_bounds__(block_threads)
    gather_blocks(bsr_values<T, I, O, space::device> v, bsr_view<T, I, O, space::device> to) {
  constexpr int warps = block_threads / 32;
  __shared__ O first_entry[warps][8][32]; // of row r of the block that a lane has
  __shared__ std::uint64_t masks[warps][32];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + warp;
  if (i >= to.block_rows()) return;
  const auto b = static_cast<unsigned>(to.block()), places = b * b;
  const std::int64_t rows = to.shape().row, entries = to.size();
  const std::uint64_t all = all_of(static_cast<int>(b));
  const unsigned of_column = 65536 / b + 1; // place / b by a product: places are less than 64
  std::uint64_t row_bits = 0;               // bits of a block's row 0
  for (unsigned c = 0; c < b; ++c) row_bits |= std::uint64_t{1} << (c * b);
  const std::int64_t begin = to.rowptr().data()[i], end = to.rowptr().data()[i + 1];
  // Lane r < b has the next entry of row r.
  O next = lane < b && i * b + lane < rows ? v.rowptr.data()[i * b + lane] : O(entries);

  for (std::int64_t k = begin; k < end; k += 32) {
    const auto count = static_cast<unsigned>(min(std::int64_t{32}, end - k));
    const std::uint64_t mask = lane >= count        ? 0
                               : to.masks().empty() ? all
                                                    : to.masks().data()[k + lane];
    masks[warp][lane] = mask;
    const bool full = __all_sync(0xffffffffu, mask == all || lane >= count);
    for (unsigned r = 0; r < b; ++r) {
      int before = lane * static_cast<int>(b), total = static_cast<int>(count * b);
      if (!full) {
        const int own = __popcll(mask & row_bits << r);
        int up_to_here = own;
        for (int step = 1; step < 32; step *= 2) {
          const int other = __shfl_up_sync(0xffffffffu, up_to_here, step);
          if (lane >= step) up_to_here += other;
        }
        before = up_to_here - own;
        total = __shfl_sync(0xffffffffu, up_to_here, 31);
      }
      first_entry[warp][r][lane] = __shfl_sync(0xffffffffu, next, r) + before;
      if (lane == r) next += total;
    }
    __syncwarp();
    T* const written = to.values().data() + k * places;
    unsigned block = lane / places, place = lane % places;
    for (unsigned t = lane; t < count * places; t += 32) {
      const unsigned c = place * of_column >> 16, r = place - c * b;
      const std::uint64_t has = masks[warp][block], bit = std::uint64_t{1} << place;
      const std::int64_t e =
          first_entry[warp][r][block] +
          (has == all ? static_cast<int>(c) : __popcll(has & row_bits << r & (bit - 1)));
      // A matrix of another pattern may have too few entries: none are read beyond its last.
      written[t] = (has & bit) != 0 && e < entries ? v.value(e) : -T{0};
      block += 32 / places;
      place += 32 % places;
      if (place >= places) place -= places, ++block;
    }
    __syncwarp();
  }
}

/// New values from rows in any order, with duplicates: blocks are searched for. One thread per row,
/// so that duplicates are added in their order.
template <class T, class I, class O>
void place_by_search(const device_context& ctx, const bsr_values<T, I, O, space::device>& v,
                     bsr_view<T, I, O, space::device> to) {
  T* const places = to.values().data();
  // -0 is what a sum begins with: it changes no bit of the first value.
  for_each(ctx, to.values().size(), "update_values: bsr",
           [=] __device__(std::int64_t k) { places[k] = -T{0}; });
  for_each(ctx, to.shape().row, "update_values: bsr", [=] __device__(std::int64_t row) {
    const int block = to.block();
    const std::int64_t i = row / block, last = to.rowptr().data()[i + 1];
    const I* const colind = to.colind().data();
    for (O e = v.rowptr.data()[row]; e < v.rowptr.data()[row + 1]; ++e) {
      const I column = v.colind[e];
      const auto wanted = static_cast<I>(column / block);
      const std::int64_t k = find_block(colind, std::int64_t{to.rowptr().data()[i]}, last, wanted);
      const I stored = k < last ? colind[k] : I{-1};
      if (k == last || (stored < 0 ? ~stored : stored) != wanted) continue; // of another pattern
      places[k * block * block + column % block * block + row % block] += v.value(e);
    }
  });
}

} // namespace

template <class I, class O>
bsr_blocks<I, O, space::device> find_blocks(const device_context& ctx,
                                            csr_view<const float, I, O, space::device> a, int asked,
                                            std::size_t value_bytes) {
  const device_guard guard(ctx.device());
  auto smallest = smallest_blocks(asked, value_bytes, sizeof(I),
                                  [&](int tried) { return block_pattern(ctx, a, tried); });
  const int block = smallest.first;
  bsr_blocks<I, O, space::device> result{block, {}, {}, {}, false};
  const std::int64_t blocks = smallest.second.size();
  array<float, space::device> unused;
  std::tie(result.rowptr, result.colind, unused) = std::move(smallest.second).release();
  unused = {};
  array<std::uint64_t, space::device> masks(ctx, blocks);
  check(cudaMemsetAsync(masks.data(), 0, masks.bytes(), ctx.stream()), "to_bsr: memset");

  const O* const rowptr = a.rowptr().data();
  const I* const colind = a.colind().data();
  const O* const block_rowptr = result.rowptr.data();
  I* const block_colind = result.colind.data();
  auto* const bits = reinterpret_cast<unsigned long long*>(masks.data());
  const std::int64_t rows = a.shape().row;
  for_each(ctx, a.size(), "to_bsr: masks", [=] __device__(std::int64_t e) {
    const std::int64_t row = row_of(rowptr, rows, e), i = row / block;
    const I column = colind[e];
    const std::int64_t k = find_block(block_colind, block_rowptr[i], block_rowptr[i + 1],
                                      static_cast<I>(column / block));
    atomicOr(bits + k, 1ULL << (column % block * block + row % block));
  });
  const std::uint64_t all = all_of(block);
  array<unsigned long long, space::device> totals(ctx, 2); // blocks that lack entries; places taken
  check(cudaMemsetAsync(totals.data(), 0, totals.bytes(), ctx.stream()), "to_bsr: memset");
  for_each(ctx, blocks, "to_bsr: totals", [=, totals = totals.data()] __device__(std::int64_t k) {
    const unsigned lanes = __activemask();
    const int lacking = __popc(__ballot_sync(lanes, bits[k] != all));
    const unsigned taken = __reduce_add_sync(lanes, static_cast<unsigned>(__popcll(bits[k])));
    if (static_cast<int>(threadIdx.x % 32) != __ffs(static_cast<int>(lanes)) - 1) return;
    atomicAdd(totals, static_cast<unsigned long long>(lacking));
    atomicAdd(totals + 1, static_cast<unsigned long long>(taken));
  });
  unsigned long long counted[2];
  read_back(ctx, counted, totals.data(), 2);
  const auto lacking = static_cast<std::int64_t>(counted[0]);
  const auto taken = static_cast<std::int64_t>(counted[1]);
  result.merged = taken != a.size();
  if (lacking > 0) {
    for_each(ctx, blocks, "to_bsr: columns", [=] __device__(std::int64_t k) {
      if (bits[k] != all) block_colind[k] = ~block_colind[k];
    });
    result.masks = std::move(masks);
  }
  return result;
}

template <class T, class I, class O>
void place_in_bsr(const device_context& ctx, const bsr_values<T, I, O, space::device>& v,
                  bsr_view<T, I, O, space::device> to) {
  const device_guard guard(ctx.device());
  if (to.block_rows() == 0) return;
  if (!v.sorted || to.merged()) return place_by_search(ctx, v, to);
  gather_blocks<<<blocks_for(to.block_rows() * 32), block_threads, 0, ctx.stream()>>>(v, to);
  check_launch("gather_blocks");
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template bsr_blocks<I, O, space::device> find_blocks<I, O>(                                      \
      const device_context&, csr_view<const float, I, O, space::device>, int, std::size_t);
LACUNA_FOR_EACH_INDEX(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void place_in_bsr<T, I, O>(const device_context&,                                       \
                                      const bsr_values<T, I, O, space::device>&,                   \
                                      bsr_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
