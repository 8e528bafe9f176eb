// Block CSR on the device: made from CSR, and given new values.
#include <lacuna/format/bsr.hpp>

#include "gpu/parts/cuda.cuh"
#include "gpu/parts/reduce.cuh"
#include "gpu/parts/sort.cuh"

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

/// Where an entry's value is kept; -1: nowhere, it is of another pattern.
template <class I, class O> struct block_places {
  const O* rowptr;
  const I* colind;
  int block;
  __device__ std::int64_t operator()(std::int64_t row, I column) const {
    const std::int64_t i = row / block, last = rowptr[i + 1];
    const auto wanted = static_cast<I>(column / block);
    const std::int64_t k = find_block(colind, std::int64_t{rowptr[i]}, last, wanted);
    const I stored = k < last ? colind[k] : I{-1};
    if (k == last || (stored < 0 ? ~stored : stored) != wanted) return -1;
    return k * block * block + column % block * block + row % block;
  }
};

/// Which blocks have entries: a matrix of blocks, its values unused.
template <class T, class I, class O>
csr_d<float, I, O> block_pattern(const device_context& ctx,
                                 csr_view<const T, I, O, space::device> a, int block) {
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

} // namespace

template <class T, class I, class O>
bsr<T, I, O, space::device> csr_to_bsr(const device_context& ctx,
                                       csr_view<const T, I, O, space::device> a,
                                       const bsr_options& options) {
  const device_guard guard(ctx.device());
  csr_d<float, I, O> pattern;
  int block = options.block;
  if (block != 0) {
    pattern = block_pattern(ctx, a, block);
  } else {
    double least = 0;
    for (const int tried : {2, 3, 4, 5, 6, 7, 8}) {
      csr_d<float, I, O> found = block_pattern(ctx, a, tried);
      const double bytes =
          static_cast<double>(found.size()) * (tried * tried * sizeof(T) + sizeof(I));
      if (block != 0 && bytes >= least) continue;
      least = bytes;
      block = tried;
      pattern = std::move(found);
    }
  }
  bsr<T, I, O, space::device> result{a.shape(), a.size(), block, {}, {}, {}, {}, false};
  const std::int64_t blocks = pattern.size();
  array<float, space::device> unused;
  std::tie(result.rowptr, result.colind, unused) = std::move(pattern).release();
  unused = {};
  result.values = array<T, space::device>(ctx, checked_mul(blocks, block * block));
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
  const auto lacking = reduce<std::int64_t>(
      ctx, blocks,
      [=] __device__(std::int64_t k) { return static_cast<std::int64_t>(bits[k] != all); },
      cuda::std::plus<>{}, 0);
  const auto taken = reduce<std::int64_t>(
      ctx, blocks,
      [=] __device__(std::int64_t k) { return static_cast<std::int64_t>(__popcll(bits[k])); },
      cuda::std::plus<>{}, 0);
  result.merged = taken != a.size();
  if (lacking > 0) {
    for_each(ctx, blocks, "to_bsr: columns", [=] __device__(std::int64_t k) {
      if (bits[k] != all) block_colind[k] = ~block_colind[k];
    });
    result.masks = std::move(masks);
  }
  place_in_bsr<T, I, O>(ctx, a.rowptr(), colind, nullptr, a.values().data(), result.view());
  return result;
}

template <class T, class I, class O>
void place_in_bsr(const device_context& ctx, vector_view<const O, space::device> rowptr,
                  const I* colind, const O* from, const T* values,
                  bsr_view<T, I, O, space::device> to) {
  const device_guard guard(ctx.device());
  const int block = to.block();
  const std::int64_t entries = to.size();
  const O* const rows = rowptr.data();
  const O* const block_rowptr = to.rowptr().data();
  const I* const block_colind = to.colind().data();
  T* const places = to.values().data();
  const std::int64_t row_count = to.shape().row;
  // -0 is what a sum begins with: it changes no bit of the first value.
  for_each(ctx, to.values().size(), "update_values: bsr",
           [=] __device__(std::int64_t k) { places[k] = -T{0}; });
  const block_places<I, O> place_of{block_rowptr, block_colind, block};
  if (!to.merged()) {
    for_each(ctx, rowptr.empty() ? 0 : entries, "update_values: bsr",
             [=] __device__(std::int64_t e) {
               const std::int64_t at = place_of(row_of(rows, row_count, e), colind[e]);
               if (at >= 0) places[at] = values[from == nullptr ? e : from[e]];
             });
    return;
  }
  // One thread per row, so that duplicates are added in their order.
  for_each(ctx, row_count, "update_values: bsr", [=] __device__(std::int64_t row) {
    for (O e = rows[row]; e < rows[row + 1]; ++e) {
      const std::int64_t at = place_of(row, colind[e]);
      if (at >= 0) places[at] += values[from == nullptr ? e : from[e]];
    }
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template bsr<T, I, O, space::device> csr_to_bsr<T, I, O>(                                        \
      const device_context&, csr_view<const T, I, O, space::device>, const bsr_options&);          \
  template void place_in_bsr<T, I, O>(const device_context&, vector_view<const O, space::device>,  \
                                      const I*, const O*, const T*,                                \
                                      bsr_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
