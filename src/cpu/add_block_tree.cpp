// The sum of two block trees: both are gone down together, which gives a list of pairs, each a leaf
// of the result. Pairs are merged in parallel into places that have room for the longest result;
// when all sizes are known the leaves move to their tree.
#include <atomic>

#include <fmt/format.h>

#include <lacuna/op/block_tree_ops.hpp>

#include "cpu/block_tree_lists.hpp"
#include "cpu/rows.hpp"

namespace lacuna::detail {

void require_same_blocks(const char* operation, int a_bits, int b_bits) {
  if (a_bits != b_bits)
    throw bad_input(fmt::format("{}: the trees have blocks of {} and of {} rows", operation,
                                1 << a_bits, 1 << b_bits));
}

} // namespace lacuna::detail

namespace lacuna::detail::cpu {
namespace {

/// Nodes of both operands over one block; 0: none. The result has one leaf there.
template <class I> struct node_pair {
  I row, col;
  std::int32_t level;
  std::uint64_t a, b;
  std::int64_t a_entries, b_entries;
  std::int64_t place; ///< in the scratch
};

template <class T, class I> class tree_sum {
public:
  using int64 = std::int64_t;
  tree_sum(const host_context& ctx, const tree_operand<T, I>& a, const tree_operand<T, I>& b)
      : ctx_(ctx), bits_(a.a.bits), shape_(a.rows(), a.cols()), a_(a), b_(b) {}

  std::shared_ptr<tree_content<T, I, space::host>> add() {
    list_pairs();
    auto leaves = merge_pairs();
    auto result = make_frame<T, I>(ctx_, shape_, bits_, leaves);
    unsigned char* const pool = result->arrays().bytes();
    for_each_range(ctx_, leaves.size(), 64, [&](int64 begin, int64 end) {
      for (int64 k = begin; k < end; ++k)
        std::memcpy(pool + place_of(leaves[k].node), scratch() + leaves[k].from,
                    static_cast<std::size_t>(leaves[k].bytes));
    });
    return result;
  }

private:
  unsigned char* scratch() { return reinterpret_cast<unsigned char*>(scratch_.data()); }
  int64 rows_of(int level, int64 row) const {
    return std::min(block_extent(bits_, level), shape_.row - row);
  }
  int64 cols_of(int level, int64 col) const {
    return std::min(block_extent(bits_, level), shape_.col - col);
  }

  /// Calls f(a's node, b's node, level, row, column) for every leaf of the result.
  template <class F>
  void go_down(std::uint64_t a, std::uint64_t b, int level, int64 row, int64 col, F& f) const {
    const bool whole = (a == 0 || is_inner(a)) && (b == 0 || is_inner(b));
    if (!whole) return f(a, b, level, row, col);
    const int64 step = block_extent(bits_, level - 1);
    const auto down = [&](std::uint32_t coordinate, std::uint64_t x, std::uint64_t y) {
      go_down(x, y, level - 1, row + (coordinate >> 8) * step, col + (coordinate & 255) * step, f);
    };
    array<child_ref> left, right;
    if (a != 0) left = a_.children(ctx_, a, level, row, col);
    if (b != 0) right = b_.children(ctx_, b, level, row, col);
    int64 i = 0, j = 0;
    while (i < left.size() || j < right.size()) {
      const std::uint32_t x = i < left.size() ? left[i].coordinate : ~0U;
      const std::uint32_t y = j < right.size() ? right[j].coordinate : ~0U;
      down(std::min(x, y), x <= y ? left[i].node : 0, y <= x ? right[j].node : 0);
      i += x <= y ? 1 : 0;
      j += y <= x ? 1 : 0;
    }
  }
  void list_pairs() {
    int64 count = 0;
    auto counts = [&](std::uint64_t, std::uint64_t, int, int64, int64) { ++count; };
    const int top = a_.levels() - 1;
    if (a_.root() != 0 || b_.root() != 0) go_down(a_.root(), b_.root(), top, 0, 0, counts);
    pairs_ = array<node_pair<I>>(ctx_, count);
    count = 0;
    int64 place = 0;
    auto fills = [&](std::uint64_t a, std::uint64_t b, int level, int64 row, int64 col) {
      const int64 m = a_.entries(a, level, row, col), n = b_.entries(b, level, row, col);
      pairs_[count++] = {static_cast<I>(row), static_cast<I>(col), level, a, b, m, n, place};
      most_ = std::max({most_, m, n});
      most_of_both_ = std::max(most_of_both_, m + n);
      // As a list it takes the most; what is chosen takes no more.
      const int64 extent = block_extent(bits_, level);
      const tree_node list = extent <= 256     ? tree_node::coo4
                             : extent <= 65536 ? tree_node::coo_16
                                               : tree_node::coo_32;
      place += leaf_bytes(list, sizeof(T), m + n, 0, 0, 0) + 16;
    };
    if (a_.root() != 0 || b_.root() != 0) go_down(a_.root(), b_.root(), top, 0, 0, fills);
    scratch_ = array<tree_unit>(ctx_, place / 16);
  }
  array<tree_leaf<I>> merge_pairs() {
    const int64 count = pairs_.size();
    array<tree_leaf<I>> leaves(ctx_, count);
    constexpr int64 share = 16;
    const int threads = static_cast<int>(std::clamp<int64>(count / share, 1, ctx_.threads()));
    const int64 room = 4 * most_ + most_of_both_;
    array<tree_entry<T>> lists(ctx_, checked_mul(room, threads));
    std::atomic<int64> next{0};
    for_each_part(ctx_, threads, 1, [&](int worker, int) {
      tree_entry<T>* const scratch_lists = lists.data() + worker * room;
      for (int64 first = next.fetch_add(share); first < count; first = next.fetch_add(share))
        for (int64 k = first; k < std::min(first + share, count); ++k)
          leaves[k] = merge(pairs_[k], scratch_lists);
    });
    return leaves;
  }
  tree_leaf<I> merge(const node_pair<I>& p, tree_entry<T>* lists) {
    if (p.b == 0 && a_.as_stored()) return copy(p, a_.pool(), p.a);
    if (p.a == 0 && b_.as_stored()) return copy(p, b_.pool(), p.b);
    if (tree_leaf<I> sum; add_alike(p, sum)) return sum;
    int64 m = 0, n = 0;
    const tree_entry<T>* const left = a_.load(p.a, p.level, p.row, p.col, lists, lists + most_, m);
    const tree_entry<T>* const right =
        b_.load(p.b, p.level, p.row, p.col, lists + 2 * most_, lists + 3 * most_, n);
    const tree_entry<T>* list = m == 0 ? right : left;
    int64 entries = std::max(m, n);
    if (m > 0 && n > 0) {
      list = lists + 4 * most_;
      entries = merge_lists(left, m, right, n, lists + 4 * most_);
    }
    const int64 rows = rows_of(p.level, p.row), cols = cols_of(p.level, p.col);
    const int64 runs = count_runs(list, entries);
    const leaf_choice choice = smallest_leaf(sizeof(T), entries, runs, block_extent(bits_, p.level),
                                             p.level == 0, rows, cols);
    const tree_leaf<I> leaf{p.row,   p.col, p.level,      choice.type,
                            entries, runs,  choice.bytes, p.place};
    write_leaf(leaf, list, rows, cols, scratch() + p.place);
    return leaf;
  }
  /// A leaf that one of them has alone.
  tree_leaf<I> copy(const node_pair<I>& p, const unsigned char* pool, std::uint64_t node) {
    const int64 entries = node == p.a ? p.a_entries : p.b_entries;
    int64 runs = 0;
    if (is_rows(type_of(node)))
      with_lists<const T>(pool + place_of(node), node, [&](const auto& l) { runs = l.runs; });
    const int64 bytes = leaf_bytes(type_of(node), sizeof(T), entries, runs, rows_of(p.level, p.row),
                                   cols_of(p.level, p.col));
    std::memcpy(scratch() + p.place, pool + place_of(node), static_cast<std::size_t>(bytes));
    return {p.row, p.col, p.level, type_of(node), entries, runs, bytes, p.place};
  }
  /// Leaves with the same places: only values are added. False: they are none such.
  bool add_alike(const node_pair<I>& p, tree_leaf<I>& sum) {
    if (p.a == 0 || p.b == 0 || a_.transposed() || b_.transposed() || is_inner(p.a) ||
        type_of(p.a) != type_of(p.b) || p.a_entries != p.b_entries)
      return false;
    sum = copy(p, a_.pool(), p.a);
    const tree_node type = type_of(p.a);
    const bool full = type == tree_node::dense || type == tree_node::masked;
    const int64 head = has_header(type) ? 16 : 0;
    const int64 values = full            ? rows_of(p.level, p.row) * cols_of(p.level, p.col)
                         : is_rows(type) ? p.a_entries
                                         : padded_entries(type, p.a_entries);
    const int64 rest = head + values * static_cast<int64>(sizeof(T));
    const unsigned char* const left = a_.pool() + place_of(p.a);
    const unsigned char* const right = b_.pool() + place_of(p.b);
    if (std::memcmp(left, right, static_cast<std::size_t>(head)) != 0 ||
        std::memcmp(left + rest, right + rest, static_cast<std::size_t>(sum.bytes - rest)) != 0)
      return false;
    const T alpha = a_.alpha(), beta = b_.alpha();
    T* const to = reinterpret_cast<T*>(scratch() + p.place + head);
    const T* const x = reinterpret_cast<const T*>(left + head);
    const T* const y = reinterpret_cast<const T*>(right + head);
    for (int64 k = 0; k < values; ++k) to[k] = alpha * x[k] + beta * y[k];
    return true;
  }
  /// Steps without a branch on which of two places comes first, which nothing predicts.
  static int64 merge_lists(const tree_entry<T>* a, int64 m, const tree_entry<T>* b, int64 n,
                           tree_entry<T>* to) {
    int64 i = 0, j = 0, at = 0;
    while (i < m && j < n) {
      const std::uint64_t x = a[i].key, y = b[j].key;
      const T one = x <= y ? a[i].value : b[j].value, both = a[i].value + b[j].value;
      to[at++] = {std::min(x, y), x == y ? both : one};
      i += x <= y ? 1 : 0;
      j += y <= x ? 1 : 0;
    }
    for (; i < m; ++i) to[at++] = a[i];
    for (; j < n; ++j) to[at++] = b[j];
    return at;
  }

  const host_context& ctx_;
  int bits_;
  index<I> shape_;
  operand_nodes<T, I> a_, b_;
  array<node_pair<I>> pairs_;
  array<tree_unit> scratch_;
  int64 most_ = 0, most_of_both_ = 0;
};

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::host>>
add_trees(const host_context& ctx, const tree_operand<T, I>& a, const tree_operand<T, I>& b) {
  require_same_blocks("add", a.a.bits, b.a.bits);
  return tree_sum<T, I>(ctx, a, b).add();
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::host>> add_trees<T, I>(                       \
      const host_context&, const tree_operand<T, I>&, const tree_operand<T, I>&);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
