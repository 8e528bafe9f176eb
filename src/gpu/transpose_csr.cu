// B = A^T. Entries of one column keep the order of A's rows.
//
// A square matrix with sorted, unique rows is first taken to have a symmetric pattern: B has A's
// columns then, and values are found by binary search. The first entry without a mirror ends that.
// Otherwise two stable splits, by the low and by the high half of the column's bits; one up to 2^11
// columns. Beyond 2^24 columns, a radix sort.
//
// Bytes an entry, 4-byte indices and 8-byte values: symmetric 28; two splits 76 (count 4, move 28,
// count 16, move 28) and 16 of scratch. The least is 24.
#include <bit>

#include "gpu/parts/reduce.cuh"
#include "gpu/transpose_split.cuh"
#include <lacuna/op/transpose.hpp>

namespace lacuna::gpu {
namespace {

template <class T, class I, class O> using device_view = csr_view<const T, I, O, space::device>;
template <class T, class I, class O> using device_result = csr_view<T, I, O, space::device>;

/// Counts, in place, become where each begins.
template <class P>
void scan_in_place(const device_context& ctx, array<P, space::device>& counts,
                   array<char, space::device>& scratch) {
  std::size_t bytes = scratch.bytes();
  check(cub::DeviceScan::ExclusiveSum(scratch.data(), bytes, counts.data(), counts.data(),
                                      counts.size(), ctx.stream()),
        "transpose: scan");
}
template <class P> std::size_t scan_bytes(std::int64_t n) {
  std::size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<P*>(nullptr),
                                      static_cast<P*>(nullptr), n),
        "transpose: scan");
  return bytes;
}

/// Launches both kernels of a split over `tiles` tiles.
template <class P, class Split>
void run_split(const device_context& ctx, const Split& s, int bits, std::int64_t tiles,
               array<P, space::device>& counts, array<char, space::device>& scratch) {
  const int bins = 1 << bits;
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), ctx.stream()), "transpose: memset");
  const unsigned blocks = blocks_for(tiles * block_threads);
  count_bins_kernel<<<blocks, block_threads, bins * sizeof(unsigned), ctx.stream()>>>(
      s, bins, tiles, counts.data());
  check_launch("count_bins_kernel");
  scan_in_place(ctx, counts, scratch);
  const std::size_t shared = bins * (sizeof(P) + split_warps * sizeof(std::uint16_t));
  const auto kernel = split_kernel<Split, P>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared)),
        "cudaFuncSetAttribute");
  kernel<<<blocks, block_threads, shared, ctx.stream()>>>(s, bits, tiles, counts.data());
  check_launch("split_kernel");
}

/// rowptr of B: what lies before the first tile of a column's low bits, in the bin of its high
/// bits. A column without such a tile begins where the next does.
template <class P, class T, class I, class O>
void find_column_starts(const device_context& ctx, std::int64_t columns, int low_bits,
                        const P* first, std::int64_t tiles, const unsigned* tile_begin,
                        device_result<T, I, O> b) {
  for_each(
      ctx, columns + 1, "transpose: rowptr",
      [=, entries = std::int64_t{b.size()}, rowptr = b.rowptr().data()] __device__(std::int64_t c) {
        if (c == columns)
          rowptr[c] = static_cast<O>(entries);
        else if (tile_begin == nullptr)
          rowptr[c] = static_cast<O>(first[c * tiles]);
        else
          rowptr[c] = static_cast<O>(
              first[(c >> low_bits) * tiles + tile_begin[c & ((1 << low_bits) - 1)]]);
      });
}

/// Scratch of the splits, allocated before anything is written.
template <class P, class T, class I, class O> class splitting {
public:
  splitting(const device_context& ctx, std::int64_t columns, std::int64_t entries)
      : bits_(
            std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(columns - 1))))),
        twice_(bits_ > 11), low_bits_(twice_ ? bits_ / 2 : bits_), high_bits_(bits_ - low_bits_),
        tiles_((entries + split_tile - 1) / split_tile),
        second_tiles_(twice_ ? tiles_ + (1 << low_bits_) : 0),
        counts_(ctx, (tiles_ << low_bits_) + 1),
        second_counts_(ctx, twice_ ? (second_tiles_ << high_bits_) + 1 : 0),
        tile_begin_(ctx, twice_ ? (1 << low_bits_) + 1 : 0), records_(ctx, twice_ ? entries : 0),
        scratch_(ctx, static_cast<std::int64_t>(std::max(
                          scan_bytes<P>(counts_.size()),
                          scan_bytes<P>(std::max<std::int64_t>(second_counts_.size(), 1))))) {}

  void run(const device_context& ctx, device_view<T, I, O> a, device_result<T, I, O> b) {
    const std::int64_t entries = a.size();
    const first_split<T, I, O, P> first{a.rowptr().data(),
                                        a.colind().data(),
                                        a.values().data(),
                                        a.shape().row,
                                        entries,
                                        low_bits_,
                                        twice_ ? records_.data() : nullptr,
                                        b.colind().data(),
                                        b.values().data()};
    run_split(ctx, first, low_bits_, tiles_, counts_, scratch_);
    if (!twice_)
      return find_column_starts<P>(ctx, a.shape().col, low_bits_, counts_.data(), tiles_, nullptr,
                                   b);
    const int first_bins = 1 << low_bits_;
    number_tiles_kernel<<<1, block_threads, 0, ctx.stream()>>>(counts_.data(), tiles_, first_bins,
                                                               entries, tile_begin_.data());
    check_launch("number_tiles_kernel");
    const second_split<T, I, P> second{records_.data(),    counts_.data(),   tiles_,
                                       tile_begin_.data(), first_bins,       entries,
                                       b.colind().data(),  b.values().data()};
    run_split(ctx, second, high_bits_, second_tiles_, second_counts_, scratch_);
    find_column_starts<P>(ctx, a.shape().col, low_bits_, second_counts_.data(), second_tiles_,
                          tile_begin_.data(), b);
  }

private:
  int bits_;
  bool twice_;
  int low_bits_, high_bits_;
  std::int64_t tiles_, second_tiles_;
  array<P, space::device> counts_, second_counts_; // one more than bins times tiles
  array<unsigned, space::device> tile_begin_;
  array<split_record<T, I>, space::device> records_;
  array<char, space::device> scratch_;
};

/// Whether the pattern was symmetric, and B is done; waits. B's arrays have been written in any
/// case.
template <class T, class I, class O>
bool mirrored(const device_context& ctx, device_view<T, I, O> a, device_result<T, I, O> b,
              array<int, space::device>& differs) {
  constexpr std::int64_t entries_per_thread = 8;
  check(cudaMemsetAsync(differs.data(), 0, differs.bytes(), ctx.stream()), "transpose: memset");
  const std::int64_t entries = a.size();
  mirror_kernel<<<blocks_for((entries + entries_per_thread - 1) / entries_per_thread + 31),
                  block_threads, 0, ctx.stream()>>>(
      a.rowptr().data(), a.colind().data(), a.values().data(), a.shape().row, entries,
      b.colind().data(), b.values().data(), differs.data());
  check_launch("mirror_kernel");
  int found = 0;
  read_back(ctx, &found, differs.data(), 1);
  if (found != 0) return false;
  check(cudaMemcpyAsync(b.rowptr().data(), a.rowptr().data(),
                        (static_cast<std::size_t>(a.shape().row) + 1) * sizeof(O),
                        cudaMemcpyDeviceToDevice, ctx.stream()),
        "transpose: rowptr");
  return true;
}

template <class P, class T, class I, class O>
void transpose_by_splits(const device_context& ctx, device_view<T, I, O> a,
                         device_result<T, I, O> b) {
  splitting<P, T, I, O> split(ctx, a.shape().col, a.size());
  if (a.shape().row == a.shape().col && a.order().sorted && a.order().unique) {
    array<int, space::device> differs(ctx, 1);
    if (mirrored(ctx, a, b, differs)) return;
  }
  split.run(ctx, a, b);
}

/// By a stable radix sort of A's columns: for matrices far wider than they have entries.
template <class P, class T, class I, class O>
void transpose_by_sort(const device_context& ctx, device_view<T, I, O> a,
                       device_result<T, I, O> b) {
  using key = std::make_unsigned_t<I>;
  const std::int64_t rows = a.shape().row, columns = a.shape().col, entries = a.size();
  sorted_keys<key, P> order{array<key, space::device>(ctx, entries),
                            array<P, space::device>(ctx, entries)};
  for_each(ctx, entries, "transpose: keys",
           [from = a.colind().data(), keys = order.keys.data(),
            positions = order.positions.data()] __device__(std::int64_t k) {
             keys[k] = static_cast<key>(from[k]);
             positions[k] = static_cast<P>(k);
           });
  order = sort_stably(ctx, std::move(order), columns);
  for_each(ctx, columns + 1, "transpose: rowptr",
           [keys = order.keys.data(), entries, columns,
            rowptr = b.rowptr().data()] __device__(std::int64_t c) {
             rowptr[c] = static_cast<O>(
                 c == columns ? entries : lower_bound(keys, entries, static_cast<key>(c)));
           });
  for_each(ctx, entries, "transpose: entries",
           [positions = order.positions.data(), rowptr = a.rowptr().data(), rows,
            from = a.values().data(), colind = b.colind().data(),
            values = b.values().data()] __device__(std::int64_t k) {
             const auto at = static_cast<std::int64_t>(positions[k]);
             colind[k] = static_cast<I>(row_of(rowptr, rows, at));
             values[k] = from[at];
           });
}

} // namespace

template <class T, class I, class O>
void transpose_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
                   csr_view<T, I, O, space::device> b) {
  const device_guard guard(ctx.device());
  const std::int64_t columns = a.shape().col;
  if (a.size() == 0) {
    if (b.rowptr().data() != nullptr)
      check(cudaMemsetAsync(b.rowptr().data(), 0,
                            (static_cast<std::size_t>(columns) + 1) * sizeof(O), ctx.stream()),
            "transpose: memset");
    return;
  }
  with_position_type(a.size(), [&](auto position) {
    using P = decltype(position);
    if (columns <= std::int64_t{1} << (2 * split_bits))
      transpose_by_splits<P>(ctx, a, b);
    else
      transpose_by_sort<P>(ctx, a, b);
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void transpose_csr<T, I, O>(const device_context&,                                      \
                                       csr_view<const T, I, O, space::device>,                     \
                                       csr_view<T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::gpu
