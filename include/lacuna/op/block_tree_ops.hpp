// Operations on block trees, each plain or transposed, scaled or not; results are trees. On a
// device sums and products of trees with many flat leaves are those of csr matrices, made trees
// again, as are products of leaves that have few; for_each_stripe is the host's.
//
//   auto c = add(ctx, a, scaled(2, transposed(b)));    C = A + 2 B^T
//   auto c = add(ctx, a, transposed(a));               A + A^T, without a transposed copy
//   auto c = multiply(ctx, a, transposed(b));          C = A B^T, a tree
//   update_entries(ctx, t, batch);                     t(i, j) = value, where t has an entry
//   multiply_both(ctx, t, x, y, w, z);                 y = A x and z = A^T w, reading A once
//   auto saved = compress(ctx, t);                     equal leaves are kept once
//   for_each_stripe(ctx, t, f);                        an operation of your own: docs/block_tree.md
//
// Operands have blocks of one size. C has an entry where one of them has; an entry of both is
// round(round(alpha a) + round(beta b)), as in sums of csr matrices, bit by bit.
#pragma once

#include <lacuna/format/block_tree.hpp>
#include <lacuna/op/spgemm.hpp>
#include <lacuna/op/update.hpp>

namespace lacuna {

/// How the product of two trees is made. Each gives the same bits.
enum class tree_product_method {
  adaptive, ///< by blocks where leaves that meet have many products (and on a host the operands
            ///< rows with like columns), by rows elsewhere
  blocks,   ///< leaves that meet are multiplied into a dense block for each leaf of the result
  rows      ///< as csr matrices, and made a tree again
};

namespace detail {
template <class A> inline constexpr bool is_tree_view = false;
template <class T, class I, class O, space S>
inline constexpr bool is_tree_view<block_tree_view<T, I, O, S>> = true;
/// A block tree, scaled or transposed or not.
template <class A> inline constexpr bool is_tree = requires {
  requires is_tree_view<std::remove_cvref_t<decltype(std::declval<operand_t<A>>().a)>>;
};

/// A tree as an operand: alpha op(A).
template <class T, class I, space S = space::host> struct tree_operand {
  tree_arrays<const T, I, S> a;
  bool transposed;
  T alpha;
  [[nodiscard]] std::int64_t rows() const { return transposed ? a.extent.col : a.extent.row; }
  [[nodiscard]] std::int64_t cols() const { return transposed ? a.extent.row : a.extent.col; }
};
template <class A> auto tree_operand_of(const A& a) {
  const auto op = operand(a);
  using V = std::remove_cvref_t<decltype(op.a)>;
  using T = typename V::scalar_type;
  return tree_operand<T, typename V::index_type, V::memory_space>{
      op.a.stored(), op.a.is_transposed() != op.transposed,
      static_cast<T>(op.alpha) * op.a.scale()};
}
/// bad_input: the operands' blocks differ in size.
LACUNA_EXPORT void require_same_blocks(const char* operation, int a_bits, int b_bits);
/// bad_input: a batch has an entry that the tree lacks, or one outside of it.
[[noreturn]] LACUNA_EXPORT void throw_no_tree_entry(std::int64_t row, std::int64_t col,
                                                    bool inside);
} // namespace detail

namespace detail::cpu {
template <class T, class I>
LACUNA_EXPORT std::shared_ptr<tree_content<T, I, space::host>>
add_trees(const host_context& ctx, const tree_operand<T, I>& a, const tree_operand<T, I>& b);
template <class T, class I>
LACUNA_EXPORT std::shared_ptr<tree_content<T, I, space::host>>
multiply_trees(const host_context& ctx, const tree_operand<T, I>& a, const tree_operand<T, I>& b,
               tree_product_method method);
/// Adds or replaces values; before any is written, throws bad_input for an entry that t lacks.
template <class T, class I>
LACUNA_EXPORT void update_in_tree(const host_context& ctx, vector_view<const I> rows,
                                  vector_view<const I> cols, vector_view<const T> values,
                                  bool transposed, T scale, bool adds,
                                  tree_arrays<T, I, space::host> to);
template <class T, class I>
LACUNA_EXPORT std::shared_ptr<tree_content<T, I, space::host>>
compress_tree(const host_context& ctx, const tree_content<T, I, space::host>& a);
template <class T, class I>
LACUNA_EXPORT void multiply_tree_both(const host_context& ctx, T alpha,
                                      const tree_arrays<const T, I, space::host>& a,
                                      vector_view<const T> x, vector_view<T> y,
                                      vector_view<const T> w, vector_view<T> z);
/// Calls f(with, i) for i in [0, count), on the context's threads.
LACUNA_EXPORT void call_shared(const host_context& ctx, std::int64_t count,
                               void (*f)(const void* with, std::int64_t i), const void* with);
} // namespace detail::cpu

namespace detail::gpu {
/// Null where a tree has flat leaves that are not cut, no entries or blocks of 16, or is mostly
/// empty rows of blocks. Waits once, and once for each tree with flat leaves. Scratch: some 100
/// bytes for each leaf of both trees, as many for each entry of flat leaves, and 20 for each place
/// where the sum may have an inner node: up to 64 times as many as there are leaves.
template <class T, class I>
LACUNA_GPU_EXPORT std::shared_ptr<tree_content<T, I, space::device>>
add_trees(const device_context& ctx, const tree_operand<T, I, space::device>& a,
          const tree_operand<T, I, space::device>& b);
/// Null by rows, where a tree has flat leaves that are not cut, no entries or blocks of 16, where C
/// has none or should have flat ones; adaptive, where leaves that meet have few products, or memory
/// does not suffice. Waits five times, once for each level of C between lowest and highest, and
/// once for each tree with flat leaves.
template <class T, class I>
LACUNA_GPU_EXPORT std::shared_ptr<tree_content<T, I, space::device>>
multiply_trees(const device_context& ctx, const tree_operand<T, I, space::device>& a,
               const tree_operand<T, I, space::device>& b, tree_product_method method);
/// As the host's. Waits; sorts the batch by places.
template <class T, class I>
LACUNA_GPU_EXPORT void
update_in_tree(const device_context& ctx, vector_view<const I, space::device> rows,
               vector_view<const I, space::device> cols, vector_view<const T, space::device> values,
               bool transposed, T scale, bool adds, tree_arrays<T, I, space::device> to);
/// Two products one after the other, queued, behind tree_work_of in both directions.
template <class T, class I>
LACUNA_GPU_EXPORT void
multiply_tree_both(const device_context& ctx, T alpha,
                   const tree_arrays<const T, I, space::device>& a,
                   vector_view<const T, space::device> x, vector_view<T, space::device> y,
                   vector_view<const T, space::device> w, vector_view<T, space::device> z);
} // namespace detail::gpu

namespace detail {
/// op(A) of an operand on a device, without its factor.
template <class T, class I, class O>
csr<T, I, O, space::device> rows_of_tree(const device_context& ctx,
                                         const tree_operand<T, I, space::device>& t) {
  auto rows = gpu::tree_to_csr<T, I, O>(ctx, t.a, T{1});
  return t.transposed ? transpose(ctx, rows) : std::move(rows);
}
} // namespace detail

/// C = alpha op(A) + beta op(B). Both trees are gone down together: a node that one of them has is
/// copied, nodes of both are merged, and every leaf's type is chosen anew. A block that is a list
/// in one and a tree in the other becomes a list. Throws size_mismatch, out_of_memory, bad_input if
/// the blocks differ in size. O(nnz(A) + nnz(B)); scratch: about what C takes.
template <class A, class B>
  requires(detail::is_tree<A>&& detail::is_tree<B>)
auto add(const host_context& ctx, const A& a, const B& b) {
  using V = std::remove_cvref_t<decltype(detail::operand(a).a)>;
  using W = std::remove_cvref_t<decltype(detail::operand(b).a)>;
  static_assert(std::is_same_v<V, W>, "lacuna: trees differ in the types of values or indices");
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  const auto left = detail::tree_operand_of(a);
  const auto right = detail::tree_operand_of(b);
  detail::require_same_size("add", "rows of B", right.rows(), "rows of A", left.rows());
  detail::require_same_size("add", "columns of B", right.cols(), "columns of A", left.cols());
  return block_tree<T, I, typename V::offset_type>(detail::cpu::add_trees<T, I>(ctx, left, right));
}

/// On a device leaf by leaf, as the host does, where both trees have leaves of the lowest level
/// alone and blocks of 32 or more, as those of meshes have; with blocks of 64 or 128 a tree may
/// have some flat leaves of the second level, with a fourth of its entries, which C has cut into
/// leaves of the lowest. It waits once, and once for each tree with flat leaves. Other trees go by
/// way of csr matrices: scratch is both operands and C as csr, and what makes the tree.
template <class A, class B>
  requires(detail::is_tree<A>&& detail::is_tree<B>)
auto add(const device_context& ctx, const A& a, const B& b) {
  using V = std::remove_cvref_t<decltype(detail::operand(a).a)>;
  using W = std::remove_cvref_t<decltype(detail::operand(b).a)>;
  static_assert(std::is_same_v<V, W>, "lacuna: trees differ in the types of values or indices");
  detail::require_same_space<space::device, V>();
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  const auto left = detail::tree_operand_of(a);
  const auto right = detail::tree_operand_of(b);
  detail::require_same_size("add", "rows of B", right.rows(), "rows of A", left.rows());
  detail::require_same_size("add", "columns of B", right.cols(), "columns of A", left.cols());
  detail::require_same_blocks("add", left.a.bits, right.a.bits);
  if (auto sum = detail::gpu::add_trees<T, I>(ctx, left, right))
    return block_tree<T, I, O, space::device>(std::move(sum));
  const auto x = detail::rows_of_tree<T, I, O>(ctx, left);
  const bool is_twice = left.a.pool.data() == right.a.pool.data();
  if (is_twice && left.transposed == right.transposed)
    return to_block_tree(ctx, add(ctx, scaled(left.alpha, x), scaled(right.alpha, x)),
                         {1 << left.a.bits});
  const auto y = is_twice ? transpose(ctx, x) : detail::rows_of_tree<T, I, O>(ctx, right);
  return to_block_tree(ctx, add(ctx, scaled(left.alpha, x), scaled(right.alpha, y)),
                       {1 << left.a.bits});
}

/// C = alpha op(A) op(B), a tree with the blocks of both; a tree times its own transpose is read
/// from one storage. C has an entry wherever products fall, and the bits of the product of csr
/// matrices: products of an entry are added in the order of A's row. Throws size_mismatch,
/// out_of_memory, bad_input if the blocks differ in size. Scratch, by blocks: C once more, 40 bytes
/// per leaf, for each thread some blocks and what A has in a row of blocks; by rows: both operands
/// and C as csr.
template <class A, class B>
  requires(detail::is_tree<A>&& detail::is_tree<B>)
auto multiply(const host_context& ctx, const A& a, const B& b,
              tree_product_method method = tree_product_method::adaptive) {
  using V = std::remove_cvref_t<decltype(detail::operand(a).a)>;
  using W = std::remove_cvref_t<decltype(detail::operand(b).a)>;
  static_assert(std::is_same_v<V, W>, "lacuna: trees differ in the types of values or indices");
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  const auto left = detail::tree_operand_of(a);
  const auto right = detail::tree_operand_of(b);
  detail::require_same_size("multiply", "columns of A", left.cols(), "rows of B", right.rows());
  return block_tree<T, I, typename V::offset_type>(
      detail::cpu::multiply_trees<T, I>(ctx, left, right, method));
}

/// On a device by blocks as on the host, where both trees have leaves of the lowest level alone and
/// blocks of 32 or more, or some flat leaves as `add` cuts them, and C should have no flat leaf; by
/// rows elsewhere, whatever method is asked for. It waits. Scratch, by blocks: values and columns
/// of both operands once more, d (4 + d / 8) bytes for each leaf of theirs and block of C, some 60
/// for each pair of leaves that meet; by rows: both operands and C as csr, and what makes the tree.
template <class A, class B>
  requires(detail::is_tree<A>&& detail::is_tree<B>)
auto multiply(const device_context& ctx, const A& a, const B& b,
              tree_product_method method = tree_product_method::adaptive) {
  using V = std::remove_cvref_t<decltype(detail::operand(a).a)>;
  using W = std::remove_cvref_t<decltype(detail::operand(b).a)>;
  static_assert(std::is_same_v<V, W>, "lacuna: trees differ in the types of values or indices");
  detail::require_same_space<space::device, V>();
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  const auto left = detail::tree_operand_of(a);
  const auto right = detail::tree_operand_of(b);
  detail::require_same_size("multiply", "columns of A", left.cols(), "rows of B", right.rows());
  detail::require_same_blocks("multiply", left.a.bits, right.a.bits);
  if (auto product = detail::gpu::multiply_trees<T, I>(ctx, left, right, method))
    return block_tree<T, I, O, space::device>(std::move(product));
  const auto x = detail::rows_of_tree<T, I, O>(ctx, left);
  const auto y = detail::rows_of_tree<T, I, O>(ctx, right);
  return to_block_tree(ctx, multiply(ctx, scaled(left.alpha * right.alpha, x), y),
                       {1 << left.a.bits});
}

/// Values of entries that t has: replaced, or added to, in the order of the batch. A tree that
/// shares its nodes gets nodes of its own first; its factor becomes 1. Throws bad_input, and leaves
/// t as it was, if an entry of the batch has no place; the message names it. O(log) per entry of
/// the batch, and the runs before its own where the leaf is by rows.
template <class T, class I, class O, space S>
void update_entries(const context<S>& ctx, block_tree<T, I, O, S>& t,
                    std::type_identity_t<coo_view<const T, I, O, S>> batch,
                    existing rule = existing::replace) {
  if (rule != existing::add && rule != existing::replace)
    throw bad_input("update_entries: entries are replaced or added to");
  detail::require_same_size("update_entries", "rows of the batch", batch.shape().row,
                            "rows of the tree", t.shape().row);
  detail::require_same_size("update_entries", "columns of the batch", batch.shape().col,
                            "columns of the tree", t.shape().col);
  if (batch.size() == 0) return;
  if (!t.content()) throw bad_input("update_entries: the tree has no entries");
  const auto content = detail::own_content(ctx, t);
  const auto update = [&] {
    if constexpr (S == space::host)
      return detail::cpu::update_in_tree<T, I>;
    else
      return detail::gpu::update_in_tree<T, I>;
  }();
  update(ctx, batch.rowind(), batch.colind(), batch.values(), t.is_transposed(), t.scale(),
         rule == existing::add, content->arrays());
  t = block_tree<T, I, O, S>(content, t.is_transposed());
}

/// y = A x and z = A^T w in one walk over the tree: each leaf is used for both while it is in a
/// cache. Scratch: about twice z. Bits are the same for any number of threads. On a device two
/// products one after the other, queued; it waits where one is the first in its direction.
template <space S, class A, class X, class Y, class W, class Z>
  requires(detail::is_tree<A>)
void multiply_both(const context<S>& ctx, const A& a, const X& x, Y&& y, const W& w, Z&& z) {
  const auto t = detail::tree_operand_of(a);
  using V = std::remove_cvref_t<decltype(detail::operand(a).a)>;
  detail::require_same_space<S, V>();
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  const vector_view<const T, S> x_view = detail::const_view(x), w_view = detail::const_view(w);
  const vector_view<T, S> y_view = detail::mutable_view(std::forward<Y>(y));
  const vector_view<T, S> z_view = detail::mutable_view(std::forward<Z>(z));
  detail::require_same_size("multiply_both", "x", x_view.size(), "columns of A", t.cols());
  detail::require_same_size("multiply_both", "y", y_view.size(), "rows of A", t.rows());
  detail::require_same_size("multiply_both", "w", w_view.size(), "rows of A", t.rows());
  detail::require_same_size("multiply_both", "z", z_view.size(), "columns of A", t.cols());
  for (const vector_view<const T, S>& in : {x_view, w_view})
    for (const vector_view<T, S>& out : {y_view, z_view})
      detail::require_apart<T>("multiply_both", "an operand", in.data(), in.size(), "a result",
                               out.data(), out.size());
  detail::require_apart<T>("multiply_both", "y", y_view.data(), y_view.size(), "z", z_view.data(),
                           z_view.size());
  const auto both = [] {
    if constexpr (S == space::host)
      return detail::cpu::multiply_tree_both<T, I>;
    else
      return detail::gpu::multiply_tree_both<T, I>;
  }();
  // Transposed, the two change places.
  both(ctx, t.alpha, t.a, t.transposed ? w_view : x_view, t.transposed ? z_view : y_view,
       t.transposed ? x_view : w_view, t.transposed ? y_view : z_view);
}

struct tree_compression {
  std::size_t bytes_before = 0, bytes_after = 0; ///< nodes and lists
  std::int64_t leaves = 0, kept = 0;             ///< leaves of the tree, different ones
};
/// Leaves with the same bytes are kept once. Products and sums read it as any tree; what writes
/// takes the leaves apart again. O(bytes). From a device by way of the host.
template <class T, class I, class O, space S>
tree_compression compress(const context<S>& ctx, block_tree<T, I, O, S>& t) {
  if (!t.content()) return {};
  const auto content = [&] {
    if constexpr (S == space::host) {
      return detail::cpu::compress_tree<T, I>(ctx, *t.content());
    } else {
      const host_context host;
      const auto copy = detail::copy_content(host, *t.content());
      return detail::copy_content(ctx, *detail::cpu::compress_tree<T, I>(host, *copy));
    }
  }();
  const tree_compression result{t.content()->stored_bytes(), content->stored_bytes(),
                                content->items.size(), content->different_leaves};
  t = block_tree<T, I, O, S>(content, t.is_transposed(), t.scale());
  return result;
}

/// Rows [begin(), end()) of a tree, which no other stripe's entries touch, and their entries.
template <class T, class I, class O> class tree_stripe {
public:
  tree_stripe(const block_tree_view<const T, I, O>& t, std::int64_t task)
      : t_(t), tasks_(t.is_transposed() ? t.stored().column_tasks : t.stored().row_tasks),
        first_(task) {}
  [[nodiscard]] std::int64_t begin() const { return tasks_[first_].begin; }
  [[nodiscard]] std::int64_t end() const { return tasks_[first_].end; }
  /// Calls f(row, column, value), the tree's state applied: leaf by leaf, always in the same order,
  /// columns of a row not always ascending from leaf to leaf.
  template <class F> void for_each(F f) const {
    const auto& a = t_.stored();
    const bool across = t_.is_transposed();
    for (std::int64_t k = tasks_[first_].first; k < tasks_[first_ + tasks_[first_].parts].first;
         ++k) {
      const tree_item<I>& item = a.items[across ? a.by_column[k] : k];
      detail::for_each_entry<const T>(
          a.bytes(), item.node, a.rows_from(item.row), a.cols_from(item.col),
          [&](std::int64_t r, std::int64_t c, const T& value) {
            const std::int64_t row = item.row + r, col = item.col + c;
            f(across ? col : row, across ? row : col, t_.scale() * value);
          });
    }
  }

private:
  block_tree_view<const T, I, O> t_;
  vector_view<const tree_task<I>> tasks_;
  std::int64_t first_;
};

/// Calls f(stripe) for every stripe of a tree that has entries, in parallel. f owns the stripe's
/// rows: what it adds up for them needs no lock and has the same bits for any number of threads. f
/// must not throw.
template <class T, class I, class O, class F>
void for_each_stripe(const host_context& ctx, const block_tree_view<const T, I, O>& t, F f) {
  const auto tasks = t.is_transposed() ? t.stored().column_tasks : t.stored().row_tasks;
  if (tasks.empty()) return;
  const auto run = [&](std::int64_t task) {
    if (tasks[task].part == 0) f(tree_stripe<T, I, O>(t, task));
  };
  using Run = decltype(run);
  detail::cpu::call_shared(
      ctx, tasks.size() - 1,
      [](const void* with, std::int64_t task) { (*static_cast<const Run*>(with))(task); }, &run);
}

} // namespace lacuna
