// Leaves of a product of block trees. Operands' leaves are listed by rows first, in memory of their
// own: a warp for each. Then a thread for each row of a block of C finds where products fall: the
// bits of rows of B's leaves, or-ed, 16 bytes for each entry of A and leaf of B (d = 128). Last,
// some lanes for each row of C add up products in shared memory: for each entry of A's row, in its
// order, they go along the row of B's leaf that it meets. Rows are a warp's own: no atomics, and no
// warp waits for another; those of a thread block go through the same leaves of B, which L1 keeps.
//
// Instructions, reasoned: some 15 for each entry of A and leaf of B that meet, for 32 / lanes rows
// at a time, and for each row of C and pair of leaves some 12, which is what many nearly empty
// leaves cost. L2 gives B's leaves to every thread block of a leaf of C: those have 8192 sums.
#include <algorithm>

#include "gpu/block_tree_places.cuh"
#include "gpu/block_tree_writer.cuh"
#include "gpu/parts/allow_shared.cuh"
#include "gpu/spgemm.cuh"
#include "gpu/spgemm_block_tree.cuh"

namespace lacuna::detail::gpu {
namespace {

/// A row's bits, loaded at once.
template <int words> struct alignas(words < 4 ? 4 * words : 16) row_marks { unsigned word[words]; };

template <int words> __device__ int count_marks(const unsigned* marks) {
  int count = 0;
#pragma unroll
  for (int w = 0; w < words; ++w) count += __popc(marks[w]);
  return count;
}

/// Warps of a thread block: 36 KB where leaves have 256 rows.
constexpr int list_warps = 4;

template <int words, class T>
__global__ void __launch_bounds__(32 * list_warps)
    list_rows_of_leaves_kernel(std::int64_t leaves, const factor_leaf* from, bool transposed,
                               const factor_lists<T> to, unsigned long long* filled) {
  constexpr int d = 32 * words;
  __shared__ unsigned all_marks[list_warps][d * words];
  __shared__ std::uint16_t all_starts[list_warps][d];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned* const marks = all_marks[threadIdx.x / 32];
  std::uint16_t* const starts = all_starts[threadIdx.x / 32];
  const std::int64_t k = thread_index() / 32;
  if (k >= leaves) return;
  for (int i = lane; i < d * words; i += 32) marks[i] = 0;
  __syncwarp();
  const factor_leaf leaf = from[k];
  const auto places = leaf_places_of<T>(leaf.pool, leaf.node, leaf.rows, leaf.cols);
  for_each_place<1>(places, 0, [&](int, int row, int col) {
    const int r = transposed ? col : row, c = transposed ? row : col;
    atomicOr(marks + r * words + c / 32, 1u << (c % 32));
  });
  __syncwarp();
  int entries = 0, lines = 0;
  for (int row = lane; row < d; row += 32) {
    const int length = count_marks<words>(marks + row * words);
    int total;
    const int before = entries + sums_before_lane(length, total);
    starts[row] = static_cast<std::uint16_t>(before);
    to.rows[k * d + row] = static_cast<std::uint32_t>(before << row_count_bits | length);
    entries += total;
    lines += length > 0 ? 1 : 0;
  }
  for (int i = lane; i < d * words; i += 32) to.marks[k * d * words + i] = marks[i];
  lines = warp_sum(lines);
  if (lane == 0) atomicAdd(filled, static_cast<unsigned long long>(lines));
  __syncwarp();
  unsigned char* const cols = to.cols + to.first[k];
  T* const values = to.values + to.first[k];
  for_each_place<1>(places, 0, [&](int from_place, int row, int col) {
    const int r = transposed ? col : row, c = transposed ? row : col;
    int at = starts[r] + __popc(marks[r * words + c / 32] & ((1u << (c % 32)) - 1));
    for (int w = 0; w < c / 32; ++w) at += __popc(marks[r * words + w]);
    cols[at] = static_cast<unsigned char>(c);
    values[at] = places.values[from_place];
  });
}

/// A thread block for each block of C, a thread for each of its rows.
template <int words>
__global__ void __launch_bounds__(32 * words) mark_products_kernel(const meeting_places c) {
  constexpr int d = 32 * words;
  __shared__ int of_warps[words];
  const int row = static_cast<int>(threadIdx.x), lane = row % 32, warp = row / 32;
  const std::int64_t block = blockIdx.x;
  row_marks<words> own{};
  const std::int64_t end = c.first_pair[block + 1];
  for (std::int64_t k = c.first_pair[block]; k < end; ++k) {
    const met_leaves pair = c.pairs[k];
    const std::uint32_t of_a = c.a.rows[std::int64_t{pair.a} * d + row];
    const unsigned char* const cols = c.a.cols + c.a.first[pair.a] + (of_a >> row_count_bits);
    const auto count = static_cast<int>(of_a & ((1u << row_count_bits) - 1));
    const auto* const of_b =
        reinterpret_cast<const row_marks<words>*>(c.b.marks) + std::int64_t{pair.b} * d;
    for (int e = 0; e < count; ++e) {
      const row_marks<words> more = of_b[cols[e]];
#pragma unroll
      for (int w = 0; w < words; ++w) own.word[w] |= more.word[w];
    }
  }
  const int length = count_marks<words>(own.word);
  int of_warp;
  int before = sums_before_lane(length + (length > 0 ? 1 << run_shift : 0), of_warp);
  const unsigned filled = __ballot_sync(whole_warp, length > 0);
  if (lane == 0) {
    of_warps[warp] = of_warp;
    c.filled[block * words + warp] = filled;
  }
  __syncthreads();
  int total = 0;
  for (int w = 0; w < words; ++w) {
    if (w < warp) before += of_warps[w];
    total += of_warps[w];
  }
  reinterpret_cast<row_marks<words>*>(c.marks)[block * d + row] = own;
  c.starts[block * d + row] = static_cast<std::uint32_t>(before);
  if (row == 0) c.counts[block] = static_cast<std::uint32_t>(total);
}

/// Entries of A whose rows of B are under way at a time.
constexpr int entries_ahead = 4;

/// Warps of a thread block that multiplies: with 4 lanes for a row 64 rows or fewer, and then three
/// blocks on a multiprocessor.
constexpr int most_product_warps(int lanes) { return lanes == 4 ? 8 : 16; }
/// 8192 sums at most, 64 KB of doubles, and no more rows than leaves have. Powers of two, all.
constexpr int product_warps(int bits, int lanes) {
  const int groups = 32 / lanes, d = 1 << bits;
  return std::min({8192 / (groups * d), d / groups, most_product_warps(lanes)});
}
/// Rows of sums are so far apart that those of a warp's groups, which have columns near one
/// another, lie in different banks.
constexpr int sums_stride(int bits, int lanes) { return (1 << bits) + lanes; }

template <class T, int lanes>
__global__ void __launch_bounds__(32 * most_product_warps(lanes), lanes == 4 ? 3 : 2)
    multiply_leaves_kernel(const leaf_products<T> p, unsigned char* pool) {
  extern __shared__ __align__(16) unsigned char leaf_products_shared[];
  constexpr int groups = 32 / lanes;
  const int d = 1 << p.bits, words = d / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int parts = d / (warps * groups);
  const int lane = static_cast<int>(threadIdx.x) % 32, own = lane % lanes;
  const int in_block = static_cast<int>(threadIdx.x) / lanes; // row of the thread block
  const int row = static_cast<int>(blockIdx.x) % parts * warps * groups + in_block;
  const product_leaf leaf = p.leaves[blockIdx.x / parts];
  T* const sums =
      reinterpret_cast<T*>(leaf_products_shared) + in_block * sums_stride(p.bits, lanes);
  const std::int64_t of_c = (std::int64_t{leaf.block} << p.bits) + row;
  const unsigned* const marks = p.c.marks + of_c * words;
  int length = 0;
  for (int w = 0; w < words; ++w) {
    const unsigned of_word = marks[w];
    length += __popc(of_word);
    if (of_word == 0) continue;
    for (int c = own; c < 32; c += lanes) sums[32 * w + c] = no_product<T>();
  }
  if (__reduce_max_sync(whole_warp, length) == 0) return;
  __syncwarp();

  constexpr unsigned count_mask = (1u << row_count_bits) - 1;
  const std::int64_t end = p.c.first_pair[std::int64_t{leaf.block} + 1];
  for (std::int64_t k = p.c.first_pair[leaf.block]; k < end; ++k) {
    const met_leaves pair = p.c.pairs[k];
    const std::uint32_t of_a = p.a.rows[(std::int64_t{pair.a} << p.bits) + row];
    const auto count = static_cast<int>(of_a & count_mask);
    const int most = __reduce_max_sync(whole_warp, count);
    if (most == 0) continue;
    const std::int64_t a_first = p.a.first[pair.a] + (of_a >> row_count_bits);
    const std::uint32_t* const b_rows = p.b.rows + (std::int64_t{pair.b} << p.bits);
    const unsigned char* const b_cols = p.b.cols + p.b.first[pair.b];
    const T* const b_values = p.b.values + p.b.first[pair.b];
    for (int chunk = 0; chunk < most; chunk += lanes) {
      // Each lane has an entry of A, and the row of B that it meets.
      T factor = T{0};
      std::uint32_t of_b = 0;
      if (chunk + own < count) {
        const std::int64_t at = a_first + chunk + own;
        factor = p.a.values[at] * p.alpha;
        of_b = b_rows[p.a.cols[at]];
      }
      const int steps = min(lanes, most - chunk);
      for (int t = 0; t < steps; t += entries_ahead) {
        T factors[entries_ahead], values[entries_ahead] = {};
        std::uint32_t rows[entries_ahead];
        int cols[entries_ahead], longest = 0;
#pragma unroll
        for (int u = 0; u < entries_ahead; ++u) {
          factors[u] = __shfl_sync(whole_warp, factor, t + u, lanes);
          rows[u] = __shfl_sync(whole_warp, of_b, t + u, lanes);
          const auto length = static_cast<int>(rows[u] & count_mask);
          const int at = static_cast<int>(rows[u] >> row_count_bits) + own;
          longest = max(longest, length);
          cols[u] = -1;
          if (own < length) {
            cols[u] = b_cols[at];
            values[u] = __ldg(b_values + at);
          }
        }
        longest = __reduce_max_sync(whole_warp, longest);
        if (longest == 0) continue;
#pragma unroll
        for (int u = 0; u < entries_ahead; ++u) {
          if (cols[u] >= 0) sums[cols[u]] += rounded_product(factors[u], values[u]);
#pragma unroll 1
          for (int j = own + lanes; j - own < longest; j += lanes)
            if (j < static_cast<int>(rows[u] & count_mask)) {
              const int at = static_cast<int>(rows[u] >> row_count_bits) + j;
              sums[b_cols[at]] += rounded_product(factors[u], __ldg(b_values + at));
            }
          __syncwarp(); // another lane may have the next product of a column
        }
      }
    }
  }

  const leaf_writer<T> writer{leaf.leaf, pool + place_of(leaf.node), leaf.cols};
  const std::uint32_t start = p.c.starts[of_c];
  auto to = static_cast<int>(start & ((1u << run_shift) - 1));
  if (own == 0 && length > 0) writer.begin_run(static_cast<int>(start >> run_shift), row, length);
  for (int w = 0; w < words; ++w) {
    const unsigned of_word = marks[w];
    if (of_word == 0) continue;
    if (own == 0) writer.write_mask(row, leaf.rows, 32 * w, of_word);
    for (int c = own; c < 32; c += lanes)
      if ((of_word >> c & 1) != 0)
        writer.write(to + __popc(of_word & ((1u << c) - 1)), row, 32 * w + c, sums[32 * w + c]);
    to += __popc(of_word);
  }
}

/// Calls f with the words of a row's bits.
template <class F> void with_row_words(int bits, const F& f) {
  switch (bits) {
  case 5: return f(std::integral_constant<int, 1>{});
  case 6: return f(std::integral_constant<int, 2>{});
  case 7: return f(std::integral_constant<int, 4>{});
  default: return f(std::integral_constant<int, 8>{});
  }
}

template <int lanes, class T>
void launch_leaf_products(const device_context& ctx, const leaf_products<T>& p,
                          unsigned char* pool) {
  const int warps = product_warps(p.bits, lanes), rows = warps * (32 / lanes);
  const int bytes = rows * sums_stride(p.bits, lanes) * static_cast<int>(sizeof(T));
  allow_shared(multiply_leaves_kernel<T, lanes>, static_cast<std::size_t>(bytes));
  const std::int64_t blocks = p.count * ((1 << p.bits) / rows);
  multiply_leaves_kernel<T, lanes>
      <<<static_cast<unsigned>(blocks), static_cast<unsigned>(32 * warps),
         static_cast<std::size_t>(bytes), ctx.stream()>>>(p, pool);
  check_launch("multiply_leaves_kernel");
}

} // namespace

template <class T>
void list_rows_of_leaves(const device_context& ctx, int bits, std::int64_t leaves,
                         const factor_leaf* from, bool transposed, const factor_lists<T>& to,
                         unsigned long long* filled) {
  with_row_words(bits, [&](auto words) {
    list_rows_of_leaves_kernel<words(), T>
        <<<static_cast<unsigned>((leaves + list_warps - 1) / list_warps), 32 * list_warps, 0,
           ctx.stream()>>>(leaves, from, transposed, to, filled);
    check_launch("list_rows_of_leaves_kernel");
  });
}

void mark_products(const device_context& ctx, int bits, const meeting_places& c) {
  with_row_words(bits, [&](auto words) {
    mark_products_kernel<words()>
        <<<static_cast<unsigned>(c.blocks), 32 * words(), 0, ctx.stream()>>>(c);
    check_launch("mark_products_kernel");
  });
}

template <class T>
void multiply_leaves(const device_context& ctx, const leaf_products<T>& p, double row_length,
                     unsigned char* pool) {
  // Reasoned: a second step along a row takes some 9 instructions more, where half the lanes would
  // have taken 15 for half as many rows; but each group loads from a line of its own.
  if (row_length <= 6) return launch_leaf_products<4>(ctx, p, pool);
  if (row_length <= 12) return launch_leaf_products<8>(ctx, p, pool);
  if (row_length <= 24) return launch_leaf_products<16>(ctx, p, pool);
  launch_leaf_products<32>(ctx, p, pool);
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void list_rows_of_leaves<T>(const device_context&, int, std::int64_t,                   \
                                       const factor_leaf*, bool, const factor_lists<T>&,           \
                                       unsigned long long*);                                       \
  template void multiply_leaves<T>(const device_context&, const leaf_products<T>&, double,         \
                                   unsigned char*);
LACUNA_INSTANTIATE(float)
LACUNA_INSTANTIATE(double)

} // namespace lacuna::detail::gpu
