// The product of two block trees on the device. Both are seen as grids of their lowest blocks, flat
// leaves cut into such (cut_block_tree.cu). Leaves that meet are listed by A's leaves and sorted,
// stably, by the block of C that they go to: those of a block are in the order of A's columns.
// Entries of blocks are found, then types (spgemm_block_tree_choice.cu), places and inner nodes, as
// of any tree that is made (block_tree_frame.cu); then products are added up and written
// (spgemm_block_tree_leaves.cu).
//
// It waits for the numbers of leaves that meet and of blocks of C, where leaves are chosen, and for
// bytes; and once for each operand with flat leaves. What is made is byte by byte what the host
// makes: a C with flat leaves is refused.
#include "gpu/spgemm_block_tree.cuh"

namespace lacuna::detail::gpu {
namespace {

/// Whether blocks are faster than rows: they take 0.7 ms, 20 ns a pair of leaves that meet and 3 ps
/// a product; rows 1.2 ms, the product of csr matrices, and half of that again to make it a tree.
/// H200, meshes, clusters and a matrix of constraints.
bool blocks_pay(std::int64_t products, std::int64_t pairs) {
  const std::int64_t of_each = pairs <= 65'536 ? 64 : 4096;
  return products >= of_each * pairs;
}
/// So that numbers of thread blocks fit.
constexpr std::int64_t most_pairs = (std::int64_t{1} << 31) / most_leaf_blocks - 1;

/// An operand's leaves by rows of blocks, then by columns. Items that were cut, and room for pieces
/// that was not needed, come last, in the row after the last one, without entries.
template <class I> struct factor_grid {
  array<I, space::device> row, col; ///< in blocks
  array<factor_leaf, space::device> leaf;
  array<std::int64_t, space::device> before; ///< entries of leaves before each, and one more
  [[nodiscard]] std::int64_t size() const { return row.size(); }
};

template <class T, class I>
factor_grid<I> make_factor_grid(const device_context& ctx,
                                const tree_operand<T, I, space::device>& t,
                                const cut_leaves<I>& cut) {
  const std::int64_t items = t.a.items.size(), n = items + cut.pieces.size();
  const std::int64_t rows = ((t.rows() - 1) >> t.a.bits) + 1;
  const auto item = [t, items, pieces = cut.pieces.data()] __device__(std::int64_t k) {
    tree_item<I> of = k < items ? t.a.items.data()[k] : pieces[k - items];
    if (has_header(type_of(of.node))) of.node = 0;
    return of;
  };
  const auto row = [t, rows, item] __device__(std::int64_t k) {
    const tree_item<I> of = item(k);
    return of.node == 0 ? rows : std::int64_t{t.transposed ? of.col : of.row} >> t.a.bits;
  };
  const auto col = [t, item] __device__(std::int64_t k) {
    const tree_item<I> of = item(k);
    return of.node == 0 ? 0 : std::int64_t{t.transposed ? of.row : of.col} >> t.a.bits;
  };
  positions order = count_up(ctx, n);
  reorder_by_place(ctx, order, bits_up_to(rows), row, bits_up_to((t.cols() - 1) >> t.a.bits), col);
  factor_grid<I> g{array<I, space::device>(ctx, n),
                   array<I, space::device>(ctx, n),
                   array<factor_leaf, space::device>(ctx, n),
                   {}};
  for_each(ctx, n, "multiply: leaves",
           [=, piece_pool = reinterpret_cast<const unsigned char*>(cut.pool.data()),
            order = order.data(), to_row = g.row.data(), to_col = g.col.data(),
            leaf = g.leaf.data()] __device__(std::int64_t k) {
             const std::int64_t from = order[k];
             const tree_item<I> of = item(from);
             to_row[k] = static_cast<I>(row(from));
             to_col[k] = static_cast<I>(col(from));
             leaf[k] = {from < items ? pool_of(t.a) : piece_pool, of.node,
                        static_cast<std::int32_t>(t.a.rows_from(of.row)),
                        static_cast<std::int32_t>(t.a.cols_from(of.col))};
           });
  g.before = sums_before(ctx, n, [leaf = g.leaf.data()] __device__(std::int64_t k) {
    return leaf[k].node == 0 ? std::int64_t{0} : count_of(leaf[k].node);
  });
  return g;
}

/// Which of B's leaves each of A's meets.
struct grid_meetings {
  array<std::uint32_t, space::device> first; ///< the first; they follow one another
  array<std::int64_t, space::device> before; ///< pairs of leaves before each, and one more
};
/// What the host must know of it.
struct meeting_counts {
  std::int64_t a_leaves, b_leaves, a_entries, b_entries, pairs;
  std::int64_t products; ///< about
};

template <class T, class I>
grid_meetings find_meetings(const device_context& ctx,
                            const tree_operand<T, I, space::device>& left,
                            const tree_operand<T, I, space::device>& right, const factor_grid<I>& a,
                            const factor_grid<I>& b, meeting_counts& counts) {
  const std::int64_t of_a = a.size(), of_b = b.size();
  grid_meetings m;
  m.first = array<std::uint32_t, space::device>(ctx, of_a);
  m.before =
      sums_before(ctx, of_a,
                  [of_b, first = m.first.data(), col = a.col.data(), before = a.before.data(),
                   b_row = b.row.data()] __device__(std::int64_t k) {
                    if (before[k + 1] == before[k]) return std::int64_t{0};
                    const std::int64_t low = lower_bound(b_row, of_b, col[k]);
                    first[k] = static_cast<std::uint32_t>(low);
                    return lower_bound(b_row + low, of_b - low, static_cast<I>(col[k] + 1));
                  });
  const auto products = sums_before(
      ctx, of_a,
      [bits = left.a.bits, first = m.first.data(), pairs = m.before.data(),
       before = a.before.data(), b_before = b.before.data()] __device__(std::int64_t k) {
        const std::int64_t met = pairs[k + 1] - pairs[k];
        if (met == 0) return std::int64_t{0};
        return (before[k + 1] - before[k]) * (b_before[first[k] + met] - b_before[first[k]]) >>
               bits;
      });
  array<meeting_counts, space::device> found(ctx, 1);
  const auto rows_of = [](const auto& t) { return ((t.rows() - 1) >> t.a.bits) + 1; };
  for_each(ctx, 1, "multiply: counts",
           [=, a_rows = static_cast<I>(rows_of(left)), b_rows = static_cast<I>(rows_of(right)),
            a_row = a.row.data(), b_row = b.row.data(), a_before = a.before.data(),
            b_before = b.before.data(), pairs = m.before.data(), products = products.data(),
            found = found.data()] __device__(std::int64_t) {
             *found = {lower_bound(a_row, of_a, a_rows),
                       lower_bound(b_row, of_b, b_rows),
                       a_before[of_a],
                       b_before[of_b],
                       pairs[of_a],
                       products[of_a]};
           });
  read_back(ctx, &counts, found.data(), 1);
  return m;
}

/// Blocks of C and what meets in them.
template <class I> struct product_blocks {
  array<met_leaves, space::device> pairs;
  array<std::int64_t, space::device> first_pair;
  [[nodiscard]] std::int64_t size() const { return first_pair.size() - 1; }
};

template <class I>
product_blocks<I> sort_pairs(const device_context& ctx, std::int64_t count, const grid_meetings& m,
                             const factor_grid<I>& a, const factor_grid<I>& b, int row_bits,
                             int col_bits) {
  const std::int64_t of_a = a.size();
  array<met_leaves, space::device> listed(ctx, count);
  for_each(ctx, count, "multiply: pairs",
           [of_a, before = m.before.data(), first = m.first.data(),
            to = listed.data()] __device__(std::int64_t p) {
             const std::int64_t k = row_of(before, of_a, p);
             to[p] = {static_cast<std::uint32_t>(k),
                      first[k] + static_cast<std::uint32_t>(p - before[k])};
           });
  const auto row = [row = a.row.data(), listed = listed.data()] __device__(std::int64_t p) {
    return row[listed[p].a];
  };
  const auto col = [col = b.col.data(), listed = listed.data()] __device__(std::int64_t p) {
    return col[listed[p].b];
  };
  positions order = count_up(ctx, count);
  reorder_by_place(ctx, order, row_bits, row, col_bits, col);
  const auto groups =
      number_groups(ctx, count, [row, col, order = order.data()] __device__(std::int64_t k) {
        return row(order[k]) != row(order[k - 1]) || col(order[k]) != col(order[k - 1]);
      });
  std::int64_t blocks = 0;
  read_back(ctx, &blocks, groups.data() + count, 1);
  product_blocks<I> c{array<met_leaves, space::device>(ctx, count),
                      array<std::int64_t, space::device>(ctx, blocks + 1)};
  for_each(ctx, count, "multiply: pairs",
           [count, listed = listed.data(), order = order.data(), groups = groups.data(),
            pairs = c.pairs.data(), first = c.first_pair.data()] __device__(std::int64_t k) {
             pairs[k] = listed[order[k]];
             const std::int64_t own = groups[k + 1] - 1;
             if (k + 1 == count) first[own + 1] = count;
             if (groups[k] == own) first[own] = k;
           });
  return c;
}

/// An operand's leaves by rows.
template <class T> struct listed_factor {
  array<std::uint32_t, space::device> rows;
  array<unsigned, space::device> marks;
  array<unsigned char, space::device> cols;
  array<T, space::device> values;
  listed_factor() = default;
  listed_factor(const device_context& ctx, int bits, std::int64_t leaves, std::int64_t entries)
      : rows(ctx, checked_mul(leaves, std::int64_t{1} << bits)),
        marks(ctx, checked_mul(leaves, std::int64_t{1} << (2 * bits - 5))), cols(ctx, entries),
        values(ctx, entries) {}
  [[nodiscard]] factor_lists<T> view(const std::int64_t* first) {
    return {{first, rows.data(), marks.data(), cols.data()}, values.data()};
  }
};

template <class T, class I>
array<product_leaf, space::device>
leaves_to_multiply(const device_context& ctx, index<I> extent, int bits,
                   const product_leaves<I>& made, const array<std::uint64_t, space::device>& node) {
  const std::int64_t n = made.leaves.all.size();
  array<product_leaf, space::device> leaves(ctx, n);
  for_each(ctx, n, "multiply: leaves",
           [=, all = made.leaves.all.data(), block = made.block.data(), node = node.data(),
            to = leaves.data()] __device__(std::int64_t k) {
             const device_leaf<I> leaf = all[k];
             const std::int64_t d = std::int64_t{1} << bits;
             to[k] = {node[k],
                      {static_cast<std::int32_t>(leaf.entries),
                       static_cast<std::int32_t>(leaf.bytes), static_cast<std::uint16_t>(leaf.runs),
                       leaf.type, 0, false},
                      block[k],
                      static_cast<std::uint16_t>(min(d, std::int64_t{extent.row} - leaf.row)),
                      static_cast<std::uint16_t>(min(d, std::int64_t{extent.col} - leaf.col))};
           });
  return leaves;
}

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::device>>
multiply_by_blocks(const device_context& ctx, const tree_operand<T, I, space::device>& a,
                   const tree_operand<T, I, space::device>& b, bool chooses) {
  // With blocks of 16 a flat leaf looks as one of the lowest level.
  const std::int64_t fewest = std::min(a.a.items.size(), b.a.items.size()),
                     items = std::max(a.a.items.size(), b.a.items.size());
  if (a.a.bits < 5 || fewest == 0 || items > most_sum_leaves) return nullptr;
  const bool is_twice = a.a.pool.data() == b.a.pool.data() && a.a.root == b.a.root;
  const bool is_square = is_twice && a.transposed == b.transposed;
  cut_leaves<I> cuts[2];
  if (!has_lowest_leaves(a.a) && !cut_flat_leaves<T, I>(ctx, a.a, cuts[0])) return nullptr;
  if (!is_twice && !has_lowest_leaves(b.a) && !cut_flat_leaves<T, I>(ctx, b.a, cuts[1]))
    return nullptr;
  const int bits = a.a.bits;
  const index<I> extent{static_cast<I>(a.rows()), static_cast<I>(b.cols())};
  const auto left = make_factor_grid(ctx, a, cuts[0]);
  factor_grid<I> other;
  if (!is_square) other = make_factor_grid(ctx, b, cuts[is_twice ? 0 : 1]);
  const factor_grid<I>& right = is_square ? left : other;
  meeting_counts counts{};
  product_blocks<I> blocks;
  {
    const grid_meetings meetings = find_meetings(ctx, a, b, left, right, counts);
    if (counts.pairs == 0 || counts.pairs > most_pairs ||
        (chooses && !blocks_pay(counts.products, counts.pairs)))
      return nullptr;
    blocks = sort_pairs(ctx, counts.pairs, meetings, left, right,
                        bits_up_to((extent.row - 1) >> bits), bits_up_to((extent.col - 1) >> bits));
  }

  listed_factor<T> left_rows(ctx, bits, counts.a_leaves, counts.a_entries), other_rows;
  if (!is_square) other_rows = listed_factor<T>(ctx, bits, counts.b_leaves, counts.b_entries);
  const factor_lists<T> of_left = left_rows.view(left.before.data());
  const factor_lists<T> of_right = is_square ? of_left : other_rows.view(right.before.data());
  array<unsigned long long, space::device> filled_rows(ctx, 2);
  check(cudaMemsetAsync(filled_rows.data(), 0, filled_rows.bytes(), ctx.stream()),
        "multiply: memset");
  list_rows_of_leaves(ctx, bits, counts.a_leaves, left.leaf.data(), a.transposed, of_left,
                      filled_rows.data());
  if (!is_square)
    list_rows_of_leaves(ctx, bits, counts.b_leaves, right.leaf.data(), b.transposed, of_right,
                        filled_rows.data() + 1);

  const std::int64_t n = blocks.size(), d = std::int64_t{1} << bits;
  array<unsigned, space::device> marks(ctx, checked_mul(n, d * d / 32)), filled(ctx, n * d / 32);
  array<std::uint32_t, space::device> starts(ctx, n * d), block_counts(ctx, n);
  const meeting_places places{
      of_left,      of_right,      blocks.first_pair.data(), blocks.pairs.data(), n,
      marks.data(), starts.data(), block_counts.data(),      filled.data()};
  mark_products(ctx, bits, places);
  const auto made =
      choose_product_leaves<I>(ctx, extent, bits, sizeof(T), places, left.row.data(),
                               right.col.data(), filled_rows.data() + (is_square ? 0 : 1));
  if (made.leaves.all.size() == 0) return nullptr;
  device_frame<I> frame = make_device_frame<I>(ctx, extent, bits, sizeof(T), made.leaves);
  const auto leaves = leaves_to_multiply<T, I>(ctx, extent, bits, made, frame.node);
  multiply_leaves<T>(
      ctx, {of_left, of_right, places, a.alpha * b.alpha, leaves.data(), leaves.size(), bits},
      static_cast<double>(counts.b_entries) / static_cast<double>(made.b_rows),
      reinterpret_cast<unsigned char*>(frame.pool.data()));

  auto result = std::make_shared<tree_content<T, I, space::device>>();
  auto& t = *result;
  t.work = std::make_shared<kept_tree_work<space::device>>(ctx);
  t.extent = extent;
  t.nnz = t.entries = made.entries;
  t.bits = bits;
  t.levels = level_count(bits, extent.row, extent.col);
  std::move(frame).move_to(t);
  return result;
}

} // namespace

template <class T, class I>
std::shared_ptr<tree_content<T, I, space::device>>
multiply_trees(const device_context& ctx, const tree_operand<T, I, space::device>& a,
               const tree_operand<T, I, space::device>& b, tree_product_method method) {
  if (method == tree_product_method::rows) return nullptr;
  const device_guard guard(ctx.device());
  const bool chooses = method == tree_product_method::adaptive;
  try {
    return multiply_by_blocks(ctx, a, b, chooses);
  } catch (const out_of_memory&) {
    if (!chooses) throw;
    return nullptr; // rows take more for most matrices, but not for all
  }
}

#define LACUNA_INSTANTIATE(T, I)                                                                   \
  template std::shared_ptr<tree_content<T, I, space::device>> multiply_trees<T, I>(                \
      const device_context&, const tree_operand<T, I, space::device>&,                             \
      const tree_operand<T, I, space::device>&, tree_product_method);
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
