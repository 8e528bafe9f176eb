// Leaves of a sum of block trees: a warp for each, or several warps where it is large. Places of
// entries are marked in shared memory as the sum has them, a bit for each: the bits before an
// entry tell where it goes. Each operand's entries leave there where they come from; then lanes go
// along the sum's entries, load both values and write. So every loop is over entries, all lanes
// have work, and what is written follows one another.
//
// Memory: coordinates are read three times, the last from L1; values are read once, the sum is
// written once, every byte of it.
#include "gpu/add_block_tree.cuh"
#include "gpu/block_tree_places.cuh"
#include "gpu/block_tree_writer.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Warps of a large leaf, and of a small one: of 256 lines both have 8 KB of marks.
constexpr int warps_of_large(int bits) { return bits == 5 ? 1 : bits == 6 ? 2 : 4; }
constexpr int warps_of_small(int bits) { return bits == 8 ? 4 : 1; }

/// Threads for a sum's leaves: of so many warps for each.
template <int bits, int warps> struct leaf_group {
  static constexpr int lines = 1 << bits, words = lines / 32;
  static constexpr int threads = 32 * warps;       ///< of a leaf
  static constexpr int leaves = warps > 1 ? 1 : 4; ///< of a thread block
  static constexpr int rows = lines / threads;     ///< of a thread
  static constexpr int marks = lines * words;
  /// Thread blocks on a multiprocessor: 40 warps, 48 registers; marks of 256 lines leave room for
  /// fewer.
  static constexpr int blocks = bits == 8 ? 8 : 40 / (warps * leaves);

  __device__ static int leaf() { return static_cast<int>(threadIdx.x) / threads; }
  __device__ static int thread() { return static_cast<int>(threadIdx.x) % threads; }
  /// All threads of the leaf.
  __device__ static void wait() {
    if constexpr (warps == 1)
      __syncwarp();
    else
      __syncthreads();
  }
};

__device__ inline float scaled_entry(float s, float x) { return __fmul_rn(s, x); }
__device__ inline double scaled_entry(double s, double x) { return __dmul_rn(s, x); }
__device__ inline float added(float x, float y) { return __fadd_rn(x, y); }
__device__ inline double added(double x, double y) { return __dadd_rn(x, y); }

/// One of a pair's leaves, in shared memory.
template <class T> struct sum_part {
  leaf_places<T> places;
  int entries; ///< of a leaf that may be copied
  bool is_none, transposed;
  bool is_as_stored; ///< it is the sum's leaf, byte by byte, where the other has none
};
template <class T> struct sum_parts { sum_part<T> of[2]; };

template <class T> __device__ bool is_copied(const sum_parts<T>& parts) {
  return (parts.of[1].is_none && parts.of[0].is_as_stored) ||
         (parts.of[0].is_none && parts.of[1].is_as_stored);
}
template <class T, class I>
__device__ void find_part(const sum_operand<T, I>& from, std::int32_t leaf, sum_part<T>& part) {
  const auto& t = from.tree;
  part.places = {};
  part.is_none = leaf < 0;
  part.transposed = t.transposed;
  part.is_as_stored = false;
  if (leaf < 0) return;
  const bool is_piece = leaf >= from.items;
  const tree_item<I> of = is_piece ? from.pieces[leaf - from.items] : t.a.items.data()[leaf];
  part.places = leaf_places_of<T>(is_piece ? from.piece_pool : pool_of(t.a), of.node,
                                  static_cast<int>(t.a.rows_from(of.row)),
                                  static_cast<int>(t.a.cols_from(of.col)));
  part.entries = static_cast<int>(count_of(of.node));
  part.is_as_stored =
      !t.transposed && t.alpha == T{1} && !is_piece && !has_header(type_of(of.node));
}

/// Lines of a block that are inside of the matrix.
template <class I> __device__ int lines_inside(int bits, I block, I extent) {
  return static_cast<int>(
      min(std::int64_t{1} << bits, std::int64_t{extent} - (std::int64_t{block} << bits)));
}

/// Marks are word by word of all rows: those of neighbouring rows are in different banks.
template <class Group, int warps, class T>
__device__ void mark_places(unsigned* marks, const sum_parts<T>& parts) {
  auto* const units = reinterpret_cast<uint4*>(marks);
  for (int i = Group::thread(); i < Group::marks / 4; i += Group::threads) units[i] = {0, 0, 0, 0};
  Group::wait();
#pragma unroll 1
  for (const sum_part<T>& part : parts.of) {
    const bool transposed = part.transposed;
    for_each_place<warps>(part.places, Group::thread() / 32, [&](int, int row, int col) {
      const int i = transposed ? col : row, j = transposed ? row : col;
      atomicOr(marks + j / 32 * Group::lines + i, 1u << (j % 32));
    });
  }
  Group::wait();
}

/// A thread's rows, loaded at once.
template <class Number, int rows> struct alignas(rows * sizeof(Number)) number_of_rows {
  Number of[rows];
};

/// Entries of this thread's rows; both of them, and 2^20 for each row that has some, before the
/// thread, and of the leaf. of_warps: a number for each warp.
template <class Group, int warps>
__device__ int count_marked_rows(const unsigned* marks, int* of_warps, int (&lengths)[Group::rows],
                                 int& total) {
  using number = number_of_rows<unsigned, Group::rows>;
  const int thread = Group::thread(), warp = thread / 32;
#pragma unroll
  for (int w = 0; w < Group::words; ++w) {
    const number word = reinterpret_cast<const number*>(marks + w * Group::lines)[thread];
#pragma unroll
    for (int r = 0; r < Group::rows; ++r)
      lengths[r] = (w == 0 ? 0 : lengths[r]) + __popc(word.of[r]);
  }
  int own = 0;
#pragma unroll
  for (int r = 0; r < Group::rows; ++r) own += lengths[r] + (lengths[r] > 0 ? 1 << 20 : 0);
  int before = sums_before_lane(own, total);
  if constexpr (warps > 1) {
    if (thread % 32 == 31) of_warps[warp] = total;
    __syncthreads();
    total = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      if (w < warp) before += of_warps[w];
      total += of_warps[w];
    }
  }
  return before;
}

template <int bits, int warps, class T, class I>
__global__ void __launch_bounds__(leaf_group<bits, warps>::threads* leaf_group<bits, warps>::leaves,
                                  leaf_group<bits, warps>::blocks)
    count_sum_leaves_kernel(const sum_leaves<T, I> sum) {
  using group = leaf_group<bits, warps>;
  __shared__ sum_parts<T> all_parts[group::leaves];
  __shared__ __align__(16) unsigned all_marks[group::leaves][group::marks];
  __shared__ int totals[group::leaves], of_warps[warps];
  const std::int64_t first = std::int64_t{blockIdx.x} * group::leaves;
  const auto at = static_cast<int>(threadIdx.x);
  if (at < 2 * group::leaves && first + at / 2 < sum.room) {
    const leaf_pair<I> pair = sum.pairs[first + at / 2];
    find_part(sum.of[at % 2], at % 2 == 0 ? pair.a : pair.b, all_parts[at / 2].of[at % 2]);
  }
  __syncthreads();
  const int own = group::leaf();
  const sum_parts<T>& parts = all_parts[own];
  const bool is_none = first + own >= sum.room || (parts.of[0].is_none && parts.of[1].is_none);
  if (!is_none && !is_copied(parts)) {
    mark_places<group, warps>(all_marks[own], parts);
    int lengths[group::rows], total;
    (void)count_marked_rows<group, warps>(all_marks[own], of_warps, lengths, total);
    if (group::thread() == 0) totals[own] = total;
  }
  __syncthreads();
  // A thread for each leaf.
  if (at >= group::leaves || first + at >= sum.room) return;
  const leaf_pair<I> pair = sum.pairs[first + at];
  sum_leaf leaf{};
  if (!pair.is_none()) {
    const int rows = lines_inside(bits, pair.row, sum.extent.row),
              cols = lines_inside(bits, pair.col, sum.extent.col);
    leaf.copied = is_copied(all_parts[at]);
    if (leaf.copied) {
      const sum_part<T>& part = all_parts[at].of[pair.a < 0 ? 1 : 0];
      leaf.type = part.places.type;
      leaf.entries = part.entries;
      leaf.runs = static_cast<std::uint16_t>(part.places.runs);
      leaf.bytes = static_cast<std::int32_t>(
          leaf_bytes(leaf.type, sizeof(T), leaf.entries, leaf.runs, rows, cols));
    } else {
      leaf.entries = totals[at] & ((1 << 20) - 1);
      leaf.runs = static_cast<std::uint16_t>(totals[at] >> 20);
      const leaf_choice choice =
          smallest_leaf(sizeof(T), leaf.entries, leaf.runs, group::lines, true, rows, cols);
      leaf.type = choice.type;
      leaf.bytes = static_cast<std::int32_t>(choice.bytes);
    }
    leaf.queue = static_cast<std::uint8_t>(queue_of(tree_pointer(leaf.type, 0, leaf.entries)));
  }
  sum.leaves[first + at] = leaf;
}

/// Where an operand has no entry of the sum: row and column 0, which would be its first.
constexpr std::uint32_t no_source = 1;
/// Entries of a leaf that are written together: their sources are in shared memory, 8 bytes each.
/// 12 KB leave room for 12 thread blocks on a multiprocessor.
constexpr int source_window(int warps) { return warps == 1 ? most_small_entries : 1536; }

template <int bits, int warps, class T, class I>
__global__ void __launch_bounds__(leaf_group<bits, warps>::threads* leaf_group<bits, warps>::leaves,
                                  leaf_group<bits, warps>::blocks)
    fill_sum_leaves_kernel(const sum_leaves<T, I> sum, const std::int32_t* pairs,
                           std::int64_t count, const std::uint64_t* nodes, unsigned char* pool) {
  using group = leaf_group<bits, warps>;
  using number = number_of_rows<unsigned, group::rows>;
  using start_number = number_of_rows<std::uint16_t, group::rows>;
  constexpr int window = source_window(warps);
  __shared__ sum_parts<T> all_parts[group::leaves];
  __shared__ __align__(16) unsigned all_marks[group::leaves][group::marks];
  __shared__ __align__(16) std::uint16_t all_starts[group::leaves][group::marks];
  __shared__ __align__(16) std::uint32_t all_sources[group::leaves][2][window];
  __shared__ int of_warps[warps];
  const std::int64_t first = std::int64_t{blockIdx.x} * group::leaves;
  {
    const auto at = static_cast<int>(threadIdx.x);
    if (at < 2 * group::leaves && first + at / 2 < count) {
      const leaf_pair<I> pair = sum.pairs[pairs[first + at / 2]];
      find_part(sum.of[at % 2], at % 2 == 0 ? pair.a : pair.b, all_parts[at / 2].of[at % 2]);
    }
  }
  __syncthreads();
  const int own = group::leaf(), thread = group::thread();
  if (first + own >= count) return;
  const std::int32_t k = pairs[first + own];
  const leaf_pair<I> pair = sum.pairs[k];
  const sum_leaf leaf = sum.leaves[k];
  const sum_parts<T>& parts = all_parts[own];
  const int rows = lines_inside(bits, pair.row, sum.extent.row),
            cols = lines_inside(bits, pair.col, sum.extent.col);
  const leaf_writer<T> writer{leaf, pool + place_of(nodes[k]), cols};
  if (leaf.copied) {
    const auto* const from =
        reinterpret_cast<const uint4*>(parts.of[pair.a < 0 ? 1 : 0].places.values);
    for (int i = thread; i < leaf.bytes / 16; i += group::threads)
      reinterpret_cast<uint4*>(writer.at)[i] = from[i];
    return;
  }
  unsigned* const marks = all_marks[own];
  std::uint16_t* const starts = all_starts[own]; // entries before each word
  writer.clear(thread, group::threads);
  mark_places<group, warps>(marks, parts); // waits, for zeros of the leaf, too
  if (thread < 32) writer.begin(thread);
  int lengths[group::rows], total;
  int before = count_marked_rows<group, warps>(marks, of_warps, lengths, total);
#pragma unroll
  for (int r = 0; r < group::rows; ++r) {
    if (lengths[r] > 0) writer.begin_run(before >> 20, group::rows * thread + r, lengths[r]);
    const int length = lengths[r];
    lengths[r] = before; // where the row's next word begins
    before += length + (length > 0 ? 1 << 20 : 0);
  }
#pragma unroll
  for (int w = 0; w < group::words; ++w) {
    const number word = reinterpret_cast<const number*>(marks + w * group::lines)[thread];
    start_number start;
#pragma unroll
    for (int r = 0; r < group::rows; ++r) {
      start.of[r] = static_cast<std::uint16_t>(lengths[r]);
      lengths[r] += __popc(word.of[r]);
      writer.write_mask(group::rows * thread + r, rows, 32 * w, word.of[r]);
    }
    reinterpret_cast<start_number*>(starts + w * group::lines)[thread] = start;
  }

  auto& sources = all_sources[own];
  for (int from = 0; from < leaf.entries; from += window) {
    const int end = min(window, leaf.entries - from);
    for (int i = thread; i < end; i += group::threads) sources[0][i] = sources[1][i] = no_source;
    group::wait();
#pragma unroll 1
    for (int of = 0; of < 2; ++of) {
      const bool transposed = parts.of[of].transposed;
      std::uint32_t* const to = sources[of];
      for_each_place<warps>(parts.of[of].places, thread / 32, [&](int place, int row, int col) {
        const int i = transposed ? col : row, j = transposed ? row : col;
        const int word = j / 32 * group::lines + i;
        const int at = starts[word] + __popc(marks[word] & ((1u << (j % 32)) - 1)) - from;
        if (0 <= at && at < window) to[at] = static_cast<std::uint32_t>(i << 24 | j << 16 | place);
      });
    }
    group::wait();
    const T* const left_values = parts.of[0].places.values;
    const T* const right_values = parts.of[1].places.values;
    for (int i = thread; i < end; i += loads_ahead * group::threads) {
      std::uint32_t left[loads_ahead], right[loads_ahead];
      T x[loads_ahead] = {}, y[loads_ahead] = {};
#pragma unroll
      for (int u = 0; u < loads_ahead; ++u) {
        const int at = i + u * group::threads;
        left[u] = at < end ? sources[0][at] : no_source;
        right[u] = at < end ? sources[1][at] : no_source;
        if (left[u] != no_source)
          x[u] = scaled_entry(sum.of[0].tree.alpha, left_values[left[u] & 0xffff]);
        if (right[u] != no_source)
          y[u] = scaled_entry(sum.of[1].tree.alpha, right_values[right[u] & 0xffff]);
      }
#pragma unroll
      for (int u = 0; u < loads_ahead; ++u) {
        const bool has_left = left[u] != no_source, has_right = right[u] != no_source;
        const std::uint32_t place = has_left ? left[u] : right[u];
        if (has_left || has_right)
          writer.write(from + i + u * group::threads, static_cast<int>(place >> 24),
                       static_cast<int>(place >> 16 & 255),
                       !has_left    ? y[u]
                       : !has_right ? x[u]
                                    : added(x[u], y[u]));
      }
    }
    group::wait();
  }
}

/// Calls f with the blocks' bits, of the four sizes.
template <class F> void with_block_bits(int bits, const F& f) {
  switch (bits) {
  case 5: return f(std::integral_constant<int, 5>{});
  case 6: return f(std::integral_constant<int, 6>{});
  case 7: return f(std::integral_constant<int, 7>{});
  default: return f(std::integral_constant<int, 8>{});
  }
}
/// Calls f with the threads of small leaves, or of large ones.
template <class F> void with_leaf_group(int bits, bool large, const F& f) {
  with_block_bits(bits, [&](auto of) {
    if (large)
      f(of, std::integral_constant<int, warps_of_large(of())>{});
    else
      f(of, std::integral_constant<int, warps_of_small(of())>{});
  });
}

} // namespace

template <class T, class I>
void count_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum, bool large) {
  with_leaf_group(sum.of[0].tree.a.bits, large, [&](auto bits, auto warps) {
    using group = leaf_group<bits(), warps()>;
    const std::int64_t blocks = (sum.room + group::leaves - 1) / group::leaves;
    count_sum_leaves_kernel<bits(), warps(), T, I>
        <<<static_cast<unsigned>(blocks), group::threads * group::leaves, 0, ctx.stream()>>>(sum);
    check_launch("count_sum_leaves_kernel");
  });
}

template <class T, class I>
void fill_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum, bool large,
                     const std::int32_t* pairs, std::int64_t count, const std::uint64_t* nodes,
                     unsigned char* pool) {
  if (count == 0) return;
  with_leaf_group(sum.of[0].tree.a.bits, large, [&](auto bits, auto warps) {
    using group = leaf_group<bits(), warps()>;
    const std::int64_t blocks = (count + group::leaves - 1) / group::leaves;
    fill_sum_leaves_kernel<bits(), warps(), T, I>
        <<<static_cast<unsigned>(blocks), group::threads * group::leaves, 0, ctx.stream()>>>(
            sum, pairs, count, nodes, pool);
    check_launch("fill_sum_leaves_kernel");
  });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void count_sum_leaves<T, I>(const device_context&, const sum_leaves<T, I>&, bool);      \
  template void fill_sum_leaves<T, I>(const device_context&, const sum_leaves<T, I>&, bool,        \
                                      const std::int32_t*, std::int64_t, const std::uint64_t*,     \
                                      unsigned char*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
