// The numeric pass over nodes: one warp per row of C's nodes, which is h rows of C. It gathers C's
// nodes; then, block of A after block, its lanes lie along the h rows of B that the block meets, a
// column each: h x h products a lane, h sums, and one look for the place of each of B's blocks.
#include <bit>

#include "gpu/spgemm_bins.cuh"
#include "gpu/spgemm_nodes.cuh"
#include "gpu/spgemm_words.cuh"

namespace lacuna::detail::gpu {
namespace {

/// A block of A, row by row, as many bytes as loads of 16 take.
template <int h, class T> struct alignas(16) staged_block { T of[h * h]; };
/// Blocks of A that wait in shared memory: as many as a lane a column takes.
template <int h> inline constexpr int staged_blocks = 32 / h;

/// Shared memory of a warp: sums of a node's rows, blocks of A, words.
struct node_room {
  int least, columns, slots; // for rows of C with more than `least` and up to `columns` entries
  template <int h, class T, class I> LACUNA_BOTH std::size_t bytes() const {
    const std::size_t bytes = column_words<I>::bytes(slots) +
                              sizeof(staged_block<h, T>) * staged_blocks<h> +
                              sizeof(T) * static_cast<std::size_t>(h * columns);
    return (bytes + 15) / 16 * 16;
  }
};

/// Adds the products of A's blocks [begin, end).
template <int h, class T, class I, class O>
__device__ void add_nodes(const spgemm_factors<I, O>& nodes, const spgemm_values<T>& v, O begin,
                          O end, const column_words<I>& words, int columns, T* sums,
                          staged_block<h, T>* staged) {
  constexpr int at_once = staged_blocks<h>;
  const int lane = static_cast<int>(threadIdx.x) % 32, node_of_lane = lane / h;
  const O a_length = h * (end - begin);
  for (O base = begin; base < end; base += at_once) {
    const int count = static_cast<int>(min(static_cast<O>(at_once), end - base));
    O b = 0;
    int blocks = 0; // of B's row of nodes that a lane's block of A meets
    if (lane < count) {
      const I j = nodes.a_colind[base + lane];
      b = nodes.b_rowptr[j];
      blocks = static_cast<int>(nodes.b_rowptr[j + 1] - b);
    }
    if (lane < h * count) {
      const O at = h * h * begin + h * (base - begin) + lane;
#pragma unroll
      for (int r = 0; r < h; ++r)
        staged[node_of_lane].of[r * h + lane - h * node_of_lane] = v.factor(at + r * a_length);
    }
    // What a lane has first of the next block of A is on its way before this one is added.
    const T* from = nullptr; // this lane's first entry in B's first row
    int b_blocks = 0;
    I node = 0; // of the lane's block of B's row of nodes
    T value[h];
    const auto load = [&](int column) {
#pragma unroll
      for (int t = 0; t < h; ++t) value[t] = __ldg(from + column + t * h * b_blocks);
    };
    const auto ask = [&](int k) {
      const O first = __shfl_sync(whole_warp, b, k);
      b_blocks = __shfl_sync(whole_warp, blocks, k);
      from = v.b + h * h * first + lane;
      if (lane < b_blocks) node = __ldg(nodes.b_colind + first + lane);
      if (lane < h * b_blocks) load(0);
    };
    ask(0);
    __syncwarp();
    for (int k = 0; k < count; ++k) {
      const int width = h * b_blocks;
      int place = lane < b_blocks ? h * words.place(node) : 0;
      T factor[h <= 3 ? h * h : 1];
      if constexpr (h <= 3) {
        const staged_block<h, T> whole = staged[k];
#pragma unroll
        for (int i = 0; i < h * h; ++i) factor[i] = whole.of[i];
      }
      for (int column = 0, first = 0;; column += 32) { // first: whose place lane 0 has
        if (column - h * first >= 32 * h) {
          first += 32;
          const O next = __shfl_sync(whole_warp, b, k) + first + lane;
          if (first + lane < b_blocks) place = h * words.place(__ldg(nodes.b_colind + next));
        }
        T its_value[h];
#pragma unroll
        for (int t = 0; t < h; ++t) its_value[t] = value[t];
        const bool more = column + 32 < width;
        if (more) {
          if (column + 32 + lane < width) load(column + 32);
        } else if (k + 1 < count) {
          ask(k + 1);
        }
        const int at = column + lane, block = at / h;
        const int to = __shfl_sync(whole_warp, place, block - first) + at - h * block;
        if (at < width) {
          T* const sum = sums + to;
          T of_row[h];
#pragma unroll
          for (int r = 0; r < h; ++r) of_row[r] = sum[r * columns];
#pragma unroll
          for (int t = 0; t < h; ++t)
#pragma unroll
            for (int r = 0; r < h; ++r) {
              if constexpr (h <= 3)
                of_row[r] += rounded_product(factor[r * h + t], its_value[t]);
              else
                of_row[r] += rounded_product(staged[k].of[r * h + t], its_value[t]);
            }
#pragma unroll
          for (int r = 0; r < h; ++r) sum[r * columns] = of_row[r];
        }
        if (!more) break;
      }
      __syncwarp(); // the next block of A finds these sums
    }
  }
}

/// One warp per row of nodes, of those that have room.
template <int h, class T, class I, class O>
__global__ void __launch_bounds__(128, 6)
    fill_nodes_kernel(const spgemm_factors<I, O> nodes, const spgemm_values<T> v,
                      const kept_word<I>* kept, const unsigned char* kept_counts,
                      const node_room room, read_offsets rowptr, fill_target<T, I> c, int* wrong) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t node = thread_index() / 32;
  if (node >= nodes.rows) return;
  const std::int64_t to = rowptr[h * node];
  const std::int64_t expected = rowptr[h * node + 1] - to;
  if (expected <= room.least || expected > room.columns) return;
  unsigned char* const mine = shared + threadIdx.x / 32 * room.bytes<h, T, I>();
  auto* const staged = reinterpret_cast<staged_block<h, T>*>(mine);
  unsigned char* const behind = mine + sizeof(staged_block<h, T>) * staged_blocks<h>;
  column_words<I> words(behind, room.slots);
  T* const sums = reinterpret_cast<T*>(behind + column_words<I>::bytes(room.slots));
  const O begin = nodes.a_rowptr[node], end = nodes.a_rowptr[node + 1];
  const int of_node = kept_counts[node];
  bool fits = true;
  if (of_node != no_kept_words)
    words.restore(kept + most_kept_words * node, of_node);
  else
    fits = words.gather(nodes, begin, end, [](O) { return true; });
  const int count = h * words.count();
  if (!fits || count != expected || rowptr[h * (node + 1)] - to != h * expected) {
    if (lane == 0 && wrong != nullptr) atomicOr(wrong, 1); // a pattern that is no product's
    return;
  }
  if (of_node == no_kept_words) words.order();
  if (!v.pattern) {
    for (int s = lane; s < count; s += 32)
#pragma unroll
      for (int r = 0; r < h; ++r) sums[r * room.columns + s] = no_product<T>();
    __syncwarp();
    add_nodes<h>(nodes, v, begin, end, words, room.columns, sums, staged);
  }
  for (int s = lane; s < count; s += 32)
#pragma unroll
    for (int r = 0; r < h; ++r)
      c.values[to + r * count + s] = v.pattern ? T{1} : sums[r * room.columns + s];
  if (c.colind == nullptr) return;
  __syncwarp();
  I* const columns = reinterpret_cast<I*>(sums); // which are used up
  words.write(columns);
  for (int s = lane; s < count; s += 32) {
    const int block = s / h;
    const I column = h * columns[block] + static_cast<I>(s - h * block);
#pragma unroll
    for (int r = 0; r < h; ++r) c.put_column(to + r * count + s, column, wrong);
  }
}

} // namespace

template <class T, class I, class O>
void fill_nodes(const device_context& ctx, const spgemm_values<T>& v,
                const node_product<I, O>& product, read_offsets rowptr,
                const fill_target<T, I>& target, int* wrong) {
  const twin_totals& totals = product.totals();
  const spgemm_factors<I, O> nodes = product.nodes();
  // Gathering needs room for a warp's columns beside the words.
  const int slots =
      totals.most_words <= most_kept_words
          ? 2 * most_kept_words
          : static_cast<int>(std::bit_ceil(static_cast<unsigned>(totals.most_words + 33)));
  for_each_twin_class(totals, [&](int least, int longest) {
    const node_room room{least, (std::max(longest, 1) + 31) / 32 * 32, slots};
    with_unknowns(product.unknowns(), [&](auto h) {
      const std::size_t each = room.bytes<h(), T, I>();
      const int warps = warps_of_twin_block(ctx.properties().shared_bytes_per_block, each);
      const std::size_t bytes = each * static_cast<std::size_t>(warps);
      auto* const kernel = fill_nodes_kernel<h(), T, I, O>;
      allow_shared(kernel, bytes);
      // A block for every few nodes: those at work are neighbours then, whose rows of B are the
      // same.
      const auto blocks = static_cast<unsigned>((nodes.rows + warps - 1) / warps);
      kernel<<<blocks, static_cast<unsigned>(32 * warps), bytes, ctx.stream()>>>(
          nodes, v, product.words(), product.word_counts(), room, rowptr, target, wrong);
    });
    check_launch("fill_nodes_kernel");
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void fill_nodes<T, I, O>(const device_context&, const spgemm_values<T>&,                \
                                    const node_product<I, O>&, read_offsets,                       \
                                    const fill_target<T, I>&, int*);
LACUNA_FOR_EACH_KERNEL_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
