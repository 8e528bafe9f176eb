// The product of two block trees. Both are seen as grids of their lowest blocks; those of a row of
// A's and a column of B's that meet are multiplied into a dense block of sums, which stays in a
// cache, by panels (block_tree_panels.hpp). A leaf of C is made of each block when its last product
// is added, of the type with the fewest bytes. Rows of blocks are dealt out to threads; a block's
// products are added in the order of A's columns whoever makes it.
//
// Where leaves have few entries, or rows nothing in common with their neighbours, the product of
// csr matrices is faster, and its result is made a tree.
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <vector>

#include <lacuna/op/block_tree_ops.hpp>
#include <lacuna/op/spgemm.hpp>

#include "cpu/block_tree_flatten.hpp"
#include "cpu/block_tree_grid.hpp"
#include "cpu/block_tree_panels.hpp"
#include "cpu/block_tree_tile.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

using int64 = std::int64_t;

/// A block of A and one of B that meet; `col` is the column of the block of C.
template <class I> struct block_pair {
  I col;
  std::int32_t left; ///< A's block, counted from its row's first
  int64 right;
  friend bool operator<(const block_pair& x, const block_pair& y) {
    return std::tie(x.col, x.left) < std::tie(y.col, y.left);
  }
};

/// What the rows of blocks need at most, and what the product costs.
struct product_sizes {
  int64 left_entries = 0, left_panels = 0, left_blocks = 0, pairs = 0; ///< of a row of blocks
  int64 all_pairs = 0;
  double products = 0; ///< about
};

/// Products that two blocks that meet have on average, from which on blocks pay.
constexpr double products_per_pair = 256;

/// Bytes of the next leaf that are asked for while one is multiplied.
constexpr int64 most_ahead = 16384;

template <class T, class I> class tree_multiplier {
public:
  tree_multiplier(const host_context& ctx, const tree_operand<T, I>& a, const tree_operand<T, I>& b)
      : ctx_(ctx), bits_(a.a.bits), shape_(a.rows(), b.cols()), alpha_(a.alpha * b.alpha),
        symmetric_(a.a.pool.data() == b.a.pool.data() && a.a.root == b.a.root &&
                   a.transposed != b.transposed && std::abs(alpha_) == T{1}),
        a_(a), b_(b), left_(ctx, a), right_(ctx, b) {
    measure();
  }
  /// Whether the blocks that meet have work enough.
  [[nodiscard]] bool pays() const {
    return sizes_.products >= products_per_pair * static_cast<double>(sizes_.all_pairs);
  }

  std::shared_ptr<tree_content<T, I, space::host>> multiply() {
    make_rows();
    array<tree_leaf<I>> leaves(ctx_, count_leaves());
    int64 at = 0;
    for (const auto& w : workers_) at = w->leaves.copy_to(leaves.data(), at);
    leaf_chunks flat(ctx_);
    leaf_flattener<T, I>(ctx_, shape_, bits_, leaves, flat).run();
    auto result = make_frame<T, I>(ctx_, shape_, bits_, leaves);
    unsigned char* const pool = result->arrays().bytes();
    for_each_range(ctx_, leaves.size(), 64, [&](int64 begin, int64 end) {
      for (int64 k = begin; k < end; ++k)
        std::memcpy(pool + place_of(leaves[k].node), bytes_of(leaves[k]),
                    static_cast<std::size_t>(leaves[k].bytes));
    });
    return result;
  }

private:
  /// A thread's.
  struct worker {
    panel_store<T> left, right;
    panel_index<T> index;
    block_tile<T> tile, mirrored;
    array<int64> first_panel; ///< of each of A's blocks in the row
    array<block_pair<I>> pairs;
    leaf_chunks bytes;
    leaf_list<I> leaves;
    worker(const host_context& ctx, const product_sizes& s, int bits, bool symmetric)
        : left(ctx, 2 * s.left_entries, s.left_panels),
          right(ctx, int64{2} << (2 * bits), int64{1} << bits), index(ctx, int64{1} << bits),
          tile(ctx, int64{1} << bits), mirrored(ctx, symmetric ? int64{1} << bits : 0),
          first_panel(ctx, s.left_blocks + 1), pairs(ctx, s.pairs), bytes(ctx), leaves(ctx) {}
  };

  int64 count_leaves() const {
    int64 sum = 0;
    for (const auto& w : workers_) sum += w->leaves.size();
    return sum;
  }
  void measure() {
    const int64 d = int64{1} << bits_;
    array<int64> met(ctx_, right_.rows()); // entries of B's rows of blocks
    for (int64 k = 0; k < right_.rows(); ++k) {
      met[k] = 0;
      for (const auto& block : right_.row(k)) met[k] += block.entries;
    }
    for (int64 i = 0; i < left_.rows(); ++i) {
      int64 entries = 0, panels = 0, pairs = 0;
      for (const auto& block : left_.row(i)) {
        entries += block.entries;
        panels += std::min(block.entries, d);
        pairs += std::ssize(right_.row(block.col));
        sizes_.products += static_cast<double>(block.entries) * static_cast<double>(met[block.col]);
      }
      sizes_.left_entries = std::max(sizes_.left_entries, entries);
      sizes_.left_panels = std::max(sizes_.left_panels, panels);
      sizes_.left_blocks = std::max(sizes_.left_blocks, std::ssize(left_.row(i)));
      sizes_.pairs = std::max(sizes_.pairs, pairs);
      sizes_.all_pairs += pairs;
    }
    sizes_.products /= static_cast<double>(d);
  }
  /// Units are rows of blocks, or parts of their columns where those are few.
  void make_rows() {
    const int64 rows = left_.rows(), cols = right_.cols();
    const auto parts =
        static_cast<int>(std::clamp<int64>(4 * ctx_.threads() / std::max<int64>(rows, 1), 1,
                                           ctx_.threads() == 1 ? 1 : std::max<int64>(cols, 1)));
    const auto threads = static_cast<int>(std::clamp<int64>(sizes_.all_pairs, 1, ctx_.threads()));
    for (int t = 0; t < threads; ++t)
      workers_.push_back(std::make_unique<worker>(ctx_, sizes_, bits_, symmetric_));
    std::atomic<int64> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    for_each_part(ctx_, threads, 1, [&](int part, int) {
      try {
        worker& w = *workers_[static_cast<std::size_t>(part)];
        for (int64 u; (u = next++) < rows * parts && !stop.load();) {
          const auto of_row = static_cast<int>(u % parts);
          make_row(w, u / parts, part_begin(cols, of_row, parts),
                   part_begin(cols, of_row + 1, parts));
        }
      } catch (...) {
        if (!stop.exchange(true)) failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
  }
  /// Columns [begin, end) of row i, all of blocks.
  void make_row(worker& w, int64 i, int64 begin, int64 end) {
    const auto blocks = left_.row(i);
    int64 pairs = 0;
    for (std::size_t x = 0; x < blocks.size(); ++x) {
      const auto met = right_.row(blocks[x].col);
      for (std::size_t y = 0; y < met.size(); ++y)
        if (met[y].col >= begin && met[y].col < end && (!symmetric_ || met[y].col >= i))
          w.pairs[pairs++] = {met[y].col, static_cast<std::int32_t>(x),
                              right_.number(blocks[x].col) + static_cast<int64>(y)};
    }
    if (pairs == 0) return;
    std::sort(w.pairs.begin(), w.pairs.begin() + pairs);
    w.left.clear();
    for (std::size_t x = 0; x < blocks.size(); ++x) {
      w.first_panel[static_cast<int64>(x)] = w.left.size();
      append(w.left, a_, blocks[x], i, alpha_);
    }
    w.first_panel[std::ssize(blocks)] = w.left.size();
    const int64 row = i << bits_, rows = std::min(int64{1} << bits_, shape_.row - row);
    for (int64 k = 0; k < pairs; ++k) {
      const block_pair<I>& p = w.pairs[k];
      w.right.clear();
      const auto& block = right_.block(p.right);
      if (k + 1 < pairs) prefetch(right_.block(w.pairs[k + 1].right));
      append(w.right, b_, block, blocks[static_cast<std::size_t>(p.left)].col, T{1});
      const panel_rows<T> right = w.index.of(w.right.data(), w.right.size());
      const int64 first = w.first_panel[p.left];
      w.tile.add(w.left.data() + first, w.first_panel[p.left + 1] - first, right);
      if (k + 1 < pairs && w.pairs[k + 1].col == p.col) continue;
      const int64 col = int64{p.col} << bits_, cols = std::min(int64{1} << bits_, shape_.col - col);
      if (symmetric_ && col > row) {
        w.tile.copy_transposed(rows, w.mirrored);
        put(w, w.mirrored, col, row, cols, rows);
      }
      put(w, w.tile, row, col, rows, cols);
    }
  }
  /// B's leaves are strewn over memory. (gcc drops calls of what only prefetches.)
  [[gnu::always_inline]] static void prefetch(const grid_block<I>& block) {
    const int64 bytes = std::min(block.entries * static_cast<int64>(sizeof(T) + 1), most_ahead);
    for (int64 at = 0; at < bytes; at += 64) __builtin_prefetch(block.leaf + at);
  }
  static void put(worker& w, block_tile<T>& tile, int64 row, int64 col, int64 rows, int64 cols) {
    tree_leaf<I> leaf = tile.template measure<I>(rows, cols);
    if (leaf.entries == 0) return;
    unsigned char* const at = w.bytes.room(leaf.bytes);
    tile.take(leaf, rows, cols, at);
    leaf.row = static_cast<I>(row);
    leaf.col = static_cast<I>(col);
    leaf.from = place_of_bytes(at);
    w.leaves.push_back(leaf);
  }
  /// row: of blocks, in the operand.
  void append(panel_store<T>& to, const tree_operand<T, I>& t, const grid_block<I>& block,
              int64 row, T factor) const {
    const int64 first_row = row << bits_, first_col = int64{block.col} << bits_;
    to.append(block.leaf, block.node, t.a.rows_from(t.transposed ? first_col : first_row),
              t.a.cols_from(t.transposed ? first_row : first_col), t.transposed, factor);
  }

  const host_context& ctx_;
  int bits_;
  index<I> shape_;
  T alpha_;
  bool symmetric_; ///< C is, bit by bit: blocks above the diagonal are made, and exchanged
  tree_operand<T, I> a_, b_;
  block_lists<T, I> left_, right_;
  product_sizes sizes_;
  std::vector<std::unique_ptr<worker>> workers_;
};

/// How the rows of an operand go together.
struct panel_shape {
  double rows = 0;    ///< of a panel, on average over the entries
  double columns = 0; ///< that follow one another
};
/// Leaves that are looked at.
constexpr int64 sampled_leaves = 64;

/// Of a sample; operands that are flat leaves for the most part have neither.
template <class T, class I>
panel_shape shape_of(const host_context& ctx, const tree_operand<T, I>& t) {
  const int64 d = int64{1} << t.a.bits;
  int64 leaves = 0, in_leaves = 0;
  const auto counts = [&](std::uint64_t node, int level, int64, int64) {
    if (level > 0) return;
    ++leaves;
    in_leaves += count_of(node);
  };
  for_each_leaf(t.a, t.a.root, t.a.levels - 1, 0, 0, counts);
  if (2 * in_leaves < t.a.nnz || leaves == 0) return {};
  panel_store<T> panels(ctx, 2 * d * d, d);
  panel_index<T> index(ctx, d);
  int64 entries = 0, columns = 0, segments = 0, number = 0;
  const int64 step = (leaves + sampled_leaves - 1) / sampled_leaves;
  const auto looks = [&](std::uint64_t node, int level, int64 row, int64 col) {
    if (level > 0 || number++ % step != 0) return;
    panels.clear();
    panels.append(t.a.bytes() + place_of(node), node, t.a.rows_from(row), t.a.cols_from(col),
                  t.transposed, T{1});
    (void)index.of(panels.data(), panels.size());
    for (int64 p = 0; p < panels.size(); ++p) {
      const leaf_panel<T>& panel = panels.data()[p];
      columns += panel.cols;
      segments += int64{panel.rows} * panel.segments;
    }
    entries += count_of(node);
  };
  for_each_leaf(t.a, t.a.root, t.a.levels - 1, 0, 0, looks);
  return {static_cast<double>(entries) / static_cast<double>(columns),
          static_cast<double>(entries) / static_cast<double>(segments)};
}

/// A step of the kernel multiplies up to four rows of A's panel by columns of B that follow one
/// another. With fewer places than these csr matrices are faster.
constexpr double least_step = 7;
template <class T, class I>
bool have_panels(const host_context& ctx, const tree_operand<T, I>& a,
                 const tree_operand<T, I>& b) {
  return std::min(shape_of(ctx, a).rows, 4.0) * std::min(shape_of(ctx, b).columns, 16.0) >=
         least_step;
}

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>> multiply_by_rows(const host_context& ctx,
                                                                  const tree_operand<T, I>& a,
                                                                  const tree_operand<T, I>& b) {
  using view = block_tree_view<const T, I, int64>;
  csr<T, I, int64> c;
  {
    const auto left = tree_to_csr<T, I, int64>(ctx, view(a.a, a.transposed, T{1}));
    const auto right = tree_to_csr<T, I, int64>(ctx, view(b.a, b.transposed, T{1}));
    c = spgemm<T, I, int64, int64>(ctx, a.alpha * b.alpha, left.view(), right.view(), {}, false);
  }
  return build_tree<T, I>(ctx,
                          {c.shape(),
                           c.size(),
                           tree_offsets(c.rowptr().data()),
                           c.colind().data(),
                           c.values().data(),
                           {}},
                          c.size(), a.a.bits);
}

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
multiply_trees(const host_context& ctx, const tree_operand<T, I>& a, const tree_operand<T, I>& b,
               tree_product_method method) {
  require_same_blocks("multiply", a.a.bits, b.a.bits);
  const bool chooses = method == tree_product_method::adaptive;
  if (method == tree_product_method::rows || (chooses && !have_panels(ctx, a, b)))
    return multiply_by_rows(ctx, a, b);
  tree_multiplier<T, I> product(ctx, a, b);
  return chooses && !product.pays() ? multiply_by_rows(ctx, a, b) : product.multiply();
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::host>> multiply_trees<T, I>(                  \
      const host_context&, const tree_operand<T, I>&, const tree_operand<T, I>&,                   \
      tree_product_method);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
