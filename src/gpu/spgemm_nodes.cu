// Matrices of several unknowns per node: whether all entries lie in blocks, and the symbolic pass
// over nodes, a warp each. Nothing is waited for until C's rows are counted.
#include "gpu/spgemm_nodes.cuh"

#include "gpu/spgemm_bins.cuh"
#include "gpu/spgemm_small.cuh"
#include "gpu/spgemm_words.cuh"

namespace lacuna::detail::gpu {
namespace {

constexpr int sampled_twins = 4096;
/// A sample takes some 15 us with its wait: a few hundredths of what so many products take.
constexpr double least_expected_of_nodes = 16e6;

/// Rows all over A, a thread each; not at a regular distance, which might be one of nodes.
template <class I, class O>
__global__ void __launch_bounds__(block_threads)
    sample_twins_kernel(const spgemm_factors<I, O> f, unsigned* alike) {
  const auto row =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(thread_index()) * 0x9e3779b97f4a7c15ull %
                                static_cast<std::uint64_t>(f.rows));
  const bool holds = looks_like_last(f, row, f.a_rowptr[row], f.a_rowptr[row + 1]);
  const unsigned votes = __ballot_sync(whole_warp, holds);
  if (threadIdx.x % 32 == 0 && votes != 0) atomicAdd(alike, static_cast<unsigned>(__popc(votes)));
}

/// Looks at the h rows of a node, one warp each, and writes its row of blocks. Notes in
/// `overflowed` if an entry lies in no block of which all entries are there, side by side.
template <int h, class I, class O>
__global__ void __launch_bounds__(block_threads)
    find_nodes_kernel(const O* rowptr, const I* colind, std::int64_t nodes, std::int64_t entries,
                      O* node_rowptr, I* node_colind, twin_totals* totals) {
  const std::int64_t node = thread_index() / 32;
  if (__any_sync(whole_warp,
                 node >= nodes || *static_cast<volatile unsigned*>(&totals->overflowed) != 0))
    return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const O mine = rowptr[h * node + min(lane, h)], begin = __shfl_sync(whole_warp, mine, 0);
  const O length = __shfl_sync(whole_warp, mine, 1) - begin;
  bool same = mine - begin == static_cast<O>(min(lane, h)) * length && mine <= entries;
  same = __all_sync(whole_warp, same && length % h == 0 && begin % (h * h) == 0);
  if (same) {
    const O first = begin / (h * h), blocks = length / h;
    if (lane == 0) {
      node_rowptr[node] = first;
      if (node == nodes - 1) node_rowptr[nodes] = first + blocks;
    }
    for (O b = lane; b < blocks; b += 32) {
      const I* const block = colind + begin + h * b;
      const I column = block[0];
      same &= column % h == 0;
#pragma unroll
      for (int r = 0; r < h; ++r)
#pragma unroll
        for (int t = 0; t < h; ++t) same &= block[r * length + t] == column + t;
      node_colind[first + b] = column / h;
    }
  }
  if (!same) totals->overflowed = 1;
}

/// Words of a row of C's nodes at most: all but one slot of a table.
constexpr int node_slots = 256;
constexpr int node_threads = 128;
/// A warp makes a row of nodes, so it may not meet too many blocks of B.
constexpr int most_node_searches = 1 << 16;

template <class I, class O>
__global__ void __launch_bounds__(node_threads)
    count_nodes_kernel(const spgemm_factors<I, O> nodes, int unknowns, std::int64_t* counts,
                       kept_word<I>* kept, unsigned char* kept_counts, twin_totals* totals) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  column_words<I> words(shared + threadIdx.x / 32 * column_words<I>::bytes(node_slots), node_slots);
  unsigned long long entries = 0, searches = 0; // the same in all lanes
  int longest = 0, most_words = 0;
  unsigned of_class = 0; // in lane c that of class c
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  for (std::int64_t node = thread_index() / 32; node < nodes.rows; node += stride) {
    if (__any_sync(whole_warp, *static_cast<volatile unsigned*>(&totals->overflowed) != 0)) break;
    const O begin = nodes.a_rowptr[node], end = nodes.a_rowptr[node + 1];
    unsigned long long met = 0;
    for (O k = begin + lane; k < end; k += 32) {
      const I j = nodes.a_colind[k];
      met += static_cast<unsigned long long>(nodes.b_rowptr[j + 1] - nodes.b_rowptr[j]);
    }
    __syncwarp();
    met = warp_sum(met);
    if (met > most_node_searches || !words.gather(nodes, begin, end, [](O) { return true; })) {
      if (lane == 0) totals->overflowed = 1;
      break;
    }
    const bool keeps = words.words <= most_kept_words;
    if (keeps) words.keep(kept + most_kept_words * node);
    if (lane == 0)
      kept_counts[node] = static_cast<unsigned char>(keeps ? words.words : no_kept_words);
    const int count = unknowns * words.count();
    if (lane < unknowns) counts[unknowns * node + lane] = count;
    entries += static_cast<unsigned long long>(unknowns) * static_cast<unsigned>(count);
    searches += met;
    longest = max(longest, count);
    most_words = max(most_words, words.words);
    int c = 0;
    while (c < twin_totals::classes && twin_totals::most_of(c) < count) ++c;
    if (lane == c) ++of_class;
    __syncwarp();
  }
  __syncwarp();
  if (lane < twin_totals::classes && of_class != 0) atomicAdd(totals->groups_of + lane, of_class);
  if (lane != 0) return;
  atomicAdd(&totals->entries, entries);
  atomicAdd(&totals->searches, searches);
  atomicMax(&totals->longest, longest);
  atomicMax(&totals->most_words, most_words);
}

} // namespace

template <class I, class O>
int sampled_unknowns(const device_context& ctx, const spgemm_factors<I, O>& f,
                     const spgemm::factor_sizes& sizes, const spgemm_thresholds& thresholds) {
  if (f.rows < sampled_twins ||
      expected_products(sizes) <
          std::max(least_expected_of_nodes, 1e3 * static_cast<double>(thresholds.twin_products)))
    return 1;
  // Not in the stream's scratch, as any_of has it.
  array<unsigned, space::device> counted(ctx, 1);
  check(cudaMemsetAsync(counted.data(), 0, counted.bytes(), ctx.stream()), "sampled_unknowns");
  sample_twins_kernel<<<sampled_twins / block_threads, block_threads, 0, ctx.stream()>>>(
      f, counted.data());
  check_launch("sample_twins_kernel");
  unsigned alike = 0;
  read_back(ctx, &alike, std::as_const(counted).data(), 1);
  return unknowns_of(alike, sampled_twins);
}

template <class I, class O>
typename node_product<I, O>::node_pattern
node_product<I, O>::find_nodes(const device_context& ctx, const O* rowptr, const I* colind,
                               std::int64_t rows, std::int64_t entries, twin_totals* found) const {
  const std::int64_t nodes = rows / unknowns_;
  node_pattern p{array<O, space::device>(ctx, nodes + 1),
                 array<I, space::device>(ctx, entries / (unknowns_ * unknowns_))};
  with_unknowns(unknowns_, [&](auto h) {
    find_nodes_kernel<h()><<<blocks_for(32 * nodes), block_threads, 0, ctx.stream()>>>(
        rowptr, colind, nodes, entries, p.rowptr.data(), p.colind.data(), found);
  });
  check_launch("find_nodes_kernel");
  return p;
}

template <class I, class O>
node_product<I, O>::node_product(const device_context& ctx, const spgemm_factors<I, O>& f,
                                 const spgemm::factor_sizes& sizes,
                                 const spgemm_thresholds& thresholds, int unknowns,
                                 std::int64_t* counts)
    : unknowns_(unknowns), rows_(f.rows), columns_(f.columns) {
  const std::int64_t block = std::int64_t{unknowns} * unknowns;
  if (unknowns < 2 || thresholds.twin_share > block * unknowns || f.rows == 0 ||
      sizes.b_rows == 0 || f.rows % unknowns != 0 || sizes.b_rows % unknowns != 0 ||
      sizes.a_entries % block != 0 || sizes.b_entries % block != 0)
    return;
  array<twin_totals, space::device> found(ctx, 1);
  check(cudaMemsetAsync(found.data(), 0, sizeof(twin_totals), ctx.stream()), "node_product");
  a_ = find_nodes(ctx, f.a_rowptr, f.a_colind, f.rows, sizes.a_entries, found.data());
  // A may be a view of B's first rows.
  is_square_ = f.a_rowptr == f.b_rowptr && f.a_colind == f.b_colind && f.rows == sizes.b_rows;
  if (!is_square_)
    b_ = find_nodes(ctx, f.b_rowptr, f.b_colind, sizes.b_rows, sizes.b_entries, found.data());
  constexpr int warps = node_threads / 32;
  constexpr std::size_t bytes = warps * column_words<I>::bytes(node_slots);
  const spgemm_factors<I, O> by_node = nodes();
  words_ = array<kept_word<I>, space::device>(ctx, most_kept_words * by_node.rows);
  word_counts_ = array<unsigned char, space::device>(ctx, by_node.rows);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
      (by_node.rows + warps - 1) / warps, std::int64_t{32} * ctx.properties().multiprocessors));
  count_nodes_kernel<<<blocks, node_threads, bytes, ctx.stream()>>>(
      by_node, unknowns, counts, words_.data(), word_counts_.data(), found.data());
  check_launch("count_nodes_kernel");
  read_back(ctx, &totals_, std::as_const(found).data(), 1);
  totals_.groups = static_cast<unsigned>(by_node.rows);
  totals_.largest_group = unknowns;
  pays_ =
      totals_.overflowed == 0 && totals_.longest <= twin_totals::most_of(twin_totals::classes - 1);
}

#define LACUNA_INSTANTIATE(I, O)                                                                   \
  template int sampled_unknowns<I, O>(const device_context&, const spgemm_factors<I, O>&,          \
                                      const spgemm::factor_sizes&, const spgemm_thresholds&);      \
  template class node_product<I, O>;
LACUNA_FOR_EACH_KERNEL_INDEX(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
