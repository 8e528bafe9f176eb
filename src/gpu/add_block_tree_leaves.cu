// Leaves of a sum of block trees: a warp for each. Places of entries are marked in shared memory, a
// bit for each, as they are stored and, of a transposed operand, once more as the sum has them. A
// row's bits give its entries in order; those before an entry in its leaf tell where its value is.
//
// Memory: coordinates are read twice, values once, the sum is written once, every byte of it.
#include "gpu/add_block_tree.cuh"
#include "gpu/block_tree_places.cuh"
#include "gpu/block_tree_writer.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Marks of one leaf.
template <int bits> struct place_bits {
  static constexpr int lines = 1 << bits, words = lines / 32;
  static constexpr int warps = bits == 8 ? 1 : 4; ///< of a block: 25 KB of marks, 27 where 4
};

__device__ inline float scaled_entry(float s, float x) { return __fmul_rn(s, x); }
__device__ inline double scaled_entry(double s, double x) { return __dmul_rn(s, x); }
__device__ inline float added(float x, float y) { return __fadd_rn(x, y); }
__device__ inline double added(double x, double y) { return __dadd_rn(x, y); }

/// One of a pair's leaves.
template <class T> struct sum_part {
  const unsigned char* pool;
  std::uint64_t node; ///< 0: there is none
  int rows, cols;     ///< inside of the matrix, as stored
  bool transposed;
  bool is_piece; ///< of a leaf that was cut
  T alpha;

  template <class F> __device__ void for_each_place_of(const F& f) const {
    if (node != 0) for_each_place<T>(pool, node, rows, cols, f);
  }
  [[nodiscard]] __device__ bool is_full() const {
    return type_of(node) == tree_node::dense || type_of(node) == tree_node::masked;
  }
  /// Whether it is the sum's leaf, byte by byte, where the other has none.
  [[nodiscard]] __device__ bool is_as_stored() const {
    return node != 0 && !transposed && alpha == T{1} && !is_piece && !has_header(type_of(node));
  }
  [[nodiscard]] __device__ const T* values() const {
    const int head = has_header(type_of(node)) ? 16 : 0;
    return reinterpret_cast<const T*>(pool + place_of(node) + head);
  }
};
template <class T, class I>
__device__ sum_part<T> part_of(const sum_operand<T, I>& from, std::int32_t leaf) {
  const auto& t = from.tree;
  sum_part<T> part{pool_of(t.a), 0, 0, 0, t.transposed, leaf >= from.items, t.alpha};
  if (leaf < 0) return part;
  const tree_item<I> of = part.is_piece ? from.pieces[leaf - from.items] : t.a.items.data()[leaf];
  if (part.is_piece) part.pool = from.piece_pool;
  part.node = of.node;
  part.rows = static_cast<int>(t.a.rows_from(of.row));
  part.cols = static_cast<int>(t.a.cols_from(of.col));
  return part;
}

template <int bits> __device__ void mark_place(unsigned* marks, int row, int col) {
  atomicOr(marks + row * place_bits<bits>::words + col / 32, 1u << (col % 32));
}
template <int bits> __device__ int marks_of_row(const unsigned* marks, int row) {
  int count = 0;
#pragma unroll
  for (int w = 0; w < place_bits<bits>::words; ++w)
    count += __popc(marks[row * place_bits<bits>::words + w]);
  return count;
}

/// What a leaf that is copied holds.
template <class T> __device__ sum_leaf copied_leaf(const sum_part<T>& part) {
  const tree_node type = type_of(part.node);
  const auto entries = static_cast<int>(count_of(part.node));
  int runs = 0;
  if (is_rows(type)) {
    const unsigned char* const list =
        part.pool + place_of(part.node) + entries * static_cast<int>(sizeof(T));
    runs = (list[0] | list[1] << 8) + 1;
  }
  const std::int64_t bytes = leaf_bytes(type, sizeof(T), entries, runs, part.rows, part.cols);
  return {entries, static_cast<std::int32_t>(bytes), static_cast<std::uint16_t>(runs), type, 0,
          true};
}

template <int bits, class T, class I>
__global__ void __launch_bounds__(32 * place_bits<bits>::warps)
    count_sum_leaves_kernel(const sum_leaves<T, I> sum) {
  constexpr int lines = place_bits<bits>::lines, words = place_bits<bits>::words;
  __shared__ unsigned all_marks[place_bits<bits>::warps][lines * words];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned* const marks = all_marks[threadIdx.x / 32];
  const std::int64_t k = thread_index() / 32;
  if (k >= sum.room) return;
  const leaf_pair<I> pair = sum.pairs[k];
  if (pair.is_none()) {
    if (lane == 0) sum.leaves[k] = {};
    return;
  }
  const sum_part<T> a = part_of(sum.a, pair.a), b = part_of(sum.b, pair.b);
  const bool a_alone = pair.b < 0 && a.is_as_stored(), b_alone = pair.a < 0 && b.is_as_stored();
  sum_leaf leaf{};
  if (a_alone || b_alone) {
    leaf = a_alone ? copied_leaf(a) : copied_leaf(b);
  } else {
    for (int i = lane; i < lines * words; i += 32) marks[i] = 0;
    __syncwarp();
    a.for_each_place_of([&](int row, int col) {
      mark_place<bits>(marks, a.transposed ? col : row, a.transposed ? row : col);
    });
    b.for_each_place_of([&](int row, int col) {
      mark_place<bits>(marks, b.transposed ? col : row, b.transposed ? row : col);
    });
    __syncwarp();
    int count = 0; // entries, and 2^20 for each run
    for (int row = lane; row < lines; row += 32) {
      const int of_row = marks_of_row<bits>(marks, row);
      count += of_row + (of_row > 0 ? 1 << 20 : 0);
    }
    count = warp_sum(count);
    leaf.entries = count & ((1 << 20) - 1);
    leaf.runs = static_cast<std::uint16_t>(count >> 20);
    const std::int64_t first_row = std::int64_t{pair.row} << bits,
                       first_col = std::int64_t{pair.col} << bits;
    const leaf_choice choice = smallest_leaf(sizeof(T), leaf.entries, leaf.runs, lines, true,
                                             min(std::int64_t{lines}, sum.extent.row - first_row),
                                             min(std::int64_t{lines}, sum.extent.col - first_col));
    leaf.type = choice.type;
    leaf.bytes = static_cast<std::int32_t>(choice.bytes);
  }
  leaf.queue = static_cast<std::uint8_t>(queue_of(tree_pointer(leaf.type, 0, leaf.entries)));
  if (lane == 0) sum.leaves[k] = leaf;
}

/// A leaf of one operand while the sum's is made: where values are.
template <int bits, class T> struct value_finder {
  sum_part<T> part;
  const unsigned* marks; ///< as stored
  std::uint16_t* starts; ///< entries before each stored row; transposed: before a row's word, too
  int next = 0;          ///< plain: of the row's next entry
  const T* values = nullptr;

  __device__ void begin() {
    if (part.node == 0) return;
    values = part.values();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int before = 0;
    for (int row = lane; row < place_bits<bits>::lines; row += 32) {
      int total;
      const int own = sums_before_lane(marks_of_row<bits>(marks, row), total);
      starts[row] = static_cast<std::uint16_t>(before + own);
      before += total;
    }
  }
  __device__ void begin_row(int row) {
    if (part.node != 0 && !part.transposed) next = starts[row];
  }
  /// The sum's next 32 rows: stored columns.
  __device__ void step(int word) const {
    if (part.node == 0 || !part.transposed) return;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int row = lane; row < place_bits<bits>::lines; row += 32)
      starts[row] = static_cast<std::uint16_t>(starts[row] +
                                               __popc(marks[row * place_bits<bits>::words + word]));
  }
  /// Where its value for the sum's entry (row, col) is; -1: it has none. Entries of a row in order.
  __device__ int find(int row, int col) {
    if (part.node == 0) return -1;
    const int i = part.transposed ? col : row, j = part.transposed ? row : col;
    const unsigned word = marks[i * place_bits<bits>::words + j / 32];
    if ((word >> (j % 32) & 1) == 0) return -1;
    if (part.is_full()) return i * part.cols + j;
    return part.transposed ? starts[i] + __popc(word & ((1u << (j % 32)) - 1)) : next++;
  }
};

template <int bits, class T, class I>
__global__ void __launch_bounds__(32 * place_bits<bits>::warps)
    fill_sum_leaves_kernel(const sum_leaves<T, I> sum, const std::uint64_t* nodes,
                           unsigned char* pool) {
  constexpr int lines = place_bits<bits>::lines, words = place_bits<bits>::words;
  __shared__ unsigned all_marks[place_bits<bits>::warps][3 * lines * words];
  __shared__ std::uint16_t all_starts[place_bits<bits>::warps][2][lines];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t k = thread_index() / 32;
  if (k >= sum.room) return;
  const leaf_pair<I> pair = sum.pairs[k];
  if (pair.is_none()) return;
  const sum_leaf leaf = sum.leaves[k];
  unsigned char* const at = pool + place_of(nodes[k]);
  sum_part<T> a = part_of(sum.a, pair.a), b = part_of(sum.b, pair.b);
  if (leaf.copied) {
    const unsigned char* const from =
        pair.a < 0 ? b.pool + place_of(b.node) : a.pool + place_of(a.node);
    for (int i = lane; i < leaf.bytes / 16; i += 32)
      reinterpret_cast<uint4*>(at)[i] = reinterpret_cast<const uint4*>(from)[i];
    return;
  }
  // As A has them, as B has them; what transposed operands have, as the sum has it.
  unsigned* const all = all_marks[warp];
  unsigned* const marks[3] = {all, all + lines * words, all + 2 * lines * words};
  for (int i = lane; i < 3 * lines * words; i += 32) all[i] = 0;
  const int rows =
      static_cast<int>(min(std::int64_t{lines}, sum.extent.row - (std::int64_t{pair.row} << bits)));
  const leaf_writer<T> writer{
      leaf, at,
      static_cast<int>(
          min(std::int64_t{lines}, sum.extent.col - (std::int64_t{pair.col} << bits)))};
  writer.begin();
  __syncwarp();
  a.for_each_place_of([&](int row, int col) {
    mark_place<bits>(marks[0], row, col);
    if (a.transposed) mark_place<bits>(marks[2], col, row);
  });
  b.for_each_place_of([&](int row, int col) {
    mark_place<bits>(marks[1], row, col);
    if (b.transposed) mark_place<bits>(marks[2], col, row);
  });
  __syncwarp();
  value_finder<bits, T> left{a, marks[0], all_starts[warp][0]},
      right{b, marks[1], all_starts[warp][1]};
  left.begin();
  right.begin();
  __syncwarp();
  int entries = 0, runs = 0;
  for (int block = 0; block < words; ++block) {
    const int row = 32 * block + lane;
    unsigned own[words];
    int length = 0;
#pragma unroll
    for (int w = 0; w < words; ++w) {
      own[w] = marks[2][row * words + w];
      if (!a.transposed) own[w] |= marks[0][row * words + w];
      if (!b.transposed) own[w] |= marks[1][row * words + w];
      length += __popc(own[w]);
      writer.write_mask(row, rows, 32 * w, own[w]);
    }
    int total;
    int to = entries + sums_before_lane(length, total);
    entries += total;
    const unsigned begins = __ballot_sync(whole_warp, length > 0);
    if (length > 0) writer.begin_run(runs + __popc(begins & ((1u << lane) - 1)), row, length);
    runs += __popc(begins);
    left.begin_row(row);
    right.begin_row(row);
#pragma unroll
    for (int w = 0; w < words; ++w) {
      for (unsigned rest = own[w]; rest != 0;) {
        int col[loads_ahead], x_at[loads_ahead], y_at[loads_ahead];
        T x[loads_ahead], y[loads_ahead];
        int taken = 0;
#pragma unroll
        for (int u = 0; u < loads_ahead; ++u) {
          x_at[u] = y_at[u] = -1;
          if (rest == 0) continue;
          col[u] = 32 * w + __ffs(static_cast<int>(rest)) - 1;
          rest &= rest - 1;
          x_at[u] = left.find(row, col[u]);
          y_at[u] = right.find(row, col[u]);
          ++taken;
        }
#pragma unroll
        for (int u = 0; u < loads_ahead; ++u) {
          x[u] = x_at[u] >= 0 ? left.values[x_at[u]] : T{0};
          y[u] = y_at[u] >= 0 ? right.values[y_at[u]] : T{0};
        }
#pragma unroll
        for (int u = 0; u < loads_ahead; ++u) {
          if (u >= taken) continue;
          const T left_value = scaled_entry(a.alpha, x[u]),
                  right_value = scaled_entry(b.alpha, y[u]);
          writer.write(to++, row, col[u],
                       x_at[u] < 0   ? right_value
                       : y_at[u] < 0 ? left_value
                                     : added(left_value, right_value));
        }
      }
    }
    __syncwarp();
    left.step(block);
    right.step(block);
    __syncwarp();
  }
}

template <int bits, class T, class I> unsigned blocks_for_leaves(const sum_leaves<T, I>& sum) {
  constexpr std::int64_t warps = place_bits<bits>::warps;
  return static_cast<unsigned>((sum.room + warps - 1) / warps);
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

} // namespace

template <class T, class I>
void count_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum) {
  with_block_bits(sum.a.tree.a.bits, [&](auto bits) {
    count_sum_leaves_kernel<bits(), T, I>
        <<<blocks_for_leaves<bits()>(sum), 32 * place_bits<bits()>::warps, 0, ctx.stream()>>>(sum);
    check_launch("count_sum_leaves_kernel");
  });
}

template <class T, class I>
void fill_sum_leaves(const device_context& ctx, const sum_leaves<T, I>& sum,
                     const std::uint64_t* nodes, unsigned char* pool) {
  with_block_bits(sum.a.tree.a.bits, [&](auto bits) {
    fill_sum_leaves_kernel<bits(), T, I>
        <<<blocks_for_leaves<bits()>(sum), 32 * place_bits<bits()>::warps, 0, ctx.stream()>>>(
            sum, nodes, pool);
    check_launch("fill_sum_leaves_kernel");
  });
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template void count_sum_leaves<T, I>(const device_context&, const sum_leaves<T, I>&);            \
  template void fill_sum_leaves<T, I>(const device_context&, const sum_leaves<T, I>&,              \
                                      const std::uint64_t*, unsigned char*);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
