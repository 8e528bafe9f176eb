// A tree of d x d blocks, after Derler's HiSparse: an inner node has a place for each of d x d
// parts of its block, a leaf lists the entries of one, with coordinates of a byte each, or is
// dense. Stored once it multiplies in both directions alike, and transposing or scaling it changes
// a flag or a factor beside the tree. On the host; a device has none yet.
//
//   auto t = to_block_tree(ctx, a);              of a csr, csc or coo matrix; {.block = 256}
//   multiply(ctx, t, x, y);                      y = A x
//   multiply(ctx, scaled(2, transposed(t)), x, y);   y = 2 A^T x, from the same bytes
//   t.transpose(), t.scale(2)                    the tree itself: free
//   auto b = to_csr(ctx, t);                     sorted; duplicates were added up
//
// Copies of a tree share their nodes until one is written to. Sums have a fixed order: results are
// the same bits for any number of threads.
//
// Which nodes: of each block the leaf with the fewest bytes (block_tree_nodes.hpp lists them). A
// block of any level whose tree would take more bytes than a flat list of its entries, with
// coordinates of 2 or 4 bytes, is one leaf: so that no matrix takes much more than CSR.
//
// Invariants, tested by check():
//   d is 16, 32, 64, 128 or 256; the tree has the fewest levels l with d^l >= rows and columns;
//   every place is a multiple of 16, past the pool's first 16 bytes, and its node inside the pool;
//   a node's entries, or its children, are inside the matrix and ascend by (row, column);
//   inner nodes have a child at least, leaves an entry; types fit levels and numbers of entries;
//   items are the leaves of the tree: by the list's tasks, in a task by queue, then by column (in
//   the list by columns: by row); a task's leaves lie in its lines, tasks' lines ascend.
#pragma once

#include <memory>

#include <lacuna/format/block_tree_nodes.hpp>
#include <lacuna/op/add.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update_values.hpp>

namespace lacuna {

namespace detail {
/// What a tree consists of. T is const where it is only read.
template <class T, class I, space S> struct tree_arrays {
  index<I> extent{}; ///< as it is stored
  std::int64_t nnz = 0;
  int bits = 7; ///< d = 2^bits
  int levels = 1;
  std::uint64_t root = 0;
  vector_view<like<T, tree_unit>, S> pool;
  vector_view<const tree_item<I>, S> items;        ///< by rows
  vector_view<const std::int64_t, S> by_column;    ///< the same: numbers of items
  vector_view<const tree_task<I>, S> row_tasks;    ///< and one more, where they end
  vector_view<const tree_task<I>, S> column_tasks; ///< and one more

  [[nodiscard]] auto bytes() const {
    return reinterpret_cast<like<T, unsigned char>*>(pool.data());
  }
  /// Rows and columns of a block of the lowest level that begins at `at`.
  constexpr std::int64_t rows_from(std::int64_t at) const {
    return std::min<std::int64_t>(std::int64_t{1} << bits, extent.row - at);
  }
  constexpr std::int64_t cols_from(std::int64_t at) const {
    return std::min<std::int64_t>(std::int64_t{1} << bits, extent.col - at);
  }
};
template <class T, class I, space S> struct tree_content {
  index<I> extent{};
  std::int64_t nnz = 0;     ///< different places
  std::int64_t entries = 0; ///< of the matrix it was made from
  int bits = 7;
  int levels = 1;
  std::uint64_t root = 0;
  bool compressed = false;            ///< some leaves may have several parents
  std::int64_t different_leaves = -1; ///< where it is compressed
  array<tree_unit, S> pool;
  array<tree_item<I>, S> items;
  array<std::int64_t, S> by_column;
  array<tree_task<I>, S> row_tasks, column_tasks;

  tree_arrays<const T, I, S> arrays() const {
    return {extent,
            nnz,
            bits,
            levels,
            root,
            pool.view(),
            items.view(),
            by_column.view(),
            row_tasks.view(),
            column_tasks.view()};
  }
  tree_arrays<T, I, S> arrays() {
    const auto self = std::as_const(*this).arrays();
    return {extent,      nnz,        bits,           levels,         root,
            pool.view(), self.items, self.by_column, self.row_tasks, self.column_tasks};
  }
  [[nodiscard]] std::size_t bytes() const {
    return pool.bytes() + items.bytes() + by_column.bytes() + row_tasks.bytes() +
           column_tasks.bytes();
  }
};
} // namespace detail

/// View: the tree's nodes, and its state: whether it is transposed, and a factor.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class block_tree_view : public detail::product_view {
public:
  using two_way_format = void;
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(std::is_const_v<T>, "lacuna: views of block trees are read-only");
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I> && detail::is_index<O>, "lacuna: indices are int32 or int64");

  constexpr block_tree_view() = default;
  constexpr block_tree_view(detail::tree_arrays<T, I, S> arrays, bool transposed, scalar_type scale)
      : arrays_(arrays), transposed_(transposed), scale_(scale) {}

  constexpr index<I> shape() const {
    return transposed_ ? index<I>{arrays_.extent.col, arrays_.extent.row} : arrays_.extent;
  }
  /// Entries; duplicates were added up.
  constexpr std::int64_t size() const { return arrays_.nnz; }
  constexpr int block() const { return 1 << arrays_.bits; }
  constexpr bool is_transposed() const { return transposed_; }
  constexpr scalar_type scale() const { return scale_; }
  /// The nodes and lists, as they are stored.
  constexpr const detail::tree_arrays<T, I, S>& stored() const { return arrays_; }
  /// The transposed matrix: the same nodes.
  constexpr block_tree_view transpose() const { return {arrays_, !transposed_, scale_}; }
  constexpr block_tree_view scaled_by(scalar_type alpha) const {
    return {arrays_, transposed_, scale_ * alpha};
  }

private:
  detail::tree_arrays<T, I, S> arrays_;
  bool transposed_ = false;
  scalar_type scale_ = 1;
};

/// Owner, with others of the nodes. Made by to_block_tree. A copy costs nothing.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class block_tree {
public:
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  using content_type = detail::tree_content<T, I, S>;
  static constexpr space memory_space = S;

  block_tree() = default;
  explicit block_tree(std::shared_ptr<content_type> content, bool transposed = false, T scale = 1)
      : content_(std::move(content)), transposed_(transposed), scale_(scale) {}

  lacuna::index<I> shape() const { return view().shape(); }
  /// Entries; duplicates were added up.
  [[nodiscard]] std::int64_t size() const { return content_ ? content_->nnz : 0; }
  [[nodiscard]] int block() const { return content_ ? 1 << content_->bits : 128; }
  block_tree_view<const T, I, O, S> view() const {
    if (!content_) return {};
    return {std::as_const(*content_).arrays(), transposed_, scale_};
  }
  /// Turns it into its transpose: no node is touched.
  void transpose() { transposed_ = !transposed_; }
  /// Multiplies it by alpha: no node is touched.
  void scale(T alpha) { scale_ *= alpha; }
  [[nodiscard]] bool is_transposed() const { return transposed_; }
  [[nodiscard]] T scale() const { return scale_; }
  /// Bytes of nodes and lists; copies that share them each count all.
  [[nodiscard]] std::size_t bytes() const { return content_ ? content_->bytes() : 0; }
  /// Whether another tree has the same nodes.
  [[nodiscard]] bool is_shared() const { return content_.use_count() > 1; }
  const std::shared_ptr<content_type>& content() const { return content_; }

private:
  std::shared_ptr<content_type> content_; // null: a matrix without rows and columns
  bool transposed_ = false;
  T scale_ = 1;
};

struct block_tree_options {
  int block = 128; ///< d: 16, 32, 64, 128 or 256
};

/// How many nodes of a kind there are, and what they hold.
struct tree_statistics {
  struct kind {
    std::int64_t nodes = 0;
    std::int64_t entries = 0; ///< of inner nodes: children
    std::int64_t bytes = 0;
  };
  int block = 0;
  int levels = 0;
  kind of[tree_node_types]; ///< by tree_node
  std::int64_t bytes = 0;   ///< nodes and lists
  std::int64_t list_bytes = 0;
  [[nodiscard]] kind sum(tree_node first, tree_node last) const {
    kind all;
    for (int t = static_cast<int>(first); t <= static_cast<int>(last); ++t) {
      all.nodes += of[t].nodes;
      all.entries += of[t].entries;
      all.bytes += of[t].bytes;
    }
    return all;
  }
};

namespace detail {
/// A pattern with values: entry k of row i is (col[k], values[from[k]]), or values[k] where from is
/// null; rows ascend. Row pointers of either width, so that trees are compiled for one.
struct tree_offsets {
  const std::int32_t* narrow = nullptr;
  const std::int64_t* wide = nullptr;
  tree_offsets() = default;
  explicit tree_offsets(const std::int32_t* p) : narrow(p) {}
  explicit tree_offsets(const std::int64_t* p) : wide(p) {}
  std::int64_t operator[](std::int64_t i) const {
    return wide != nullptr ? wide[i] : std::int64_t{narrow[i]};
  }
};
template <class T, class I> struct tree_source {
  index<I> shape;
  std::int64_t nnz = 0;
  tree_offsets rowptr;
  const I* col = nullptr;
  const T* values = nullptr;
  tree_offsets from; ///< both null: entry k has value k
  [[nodiscard]] bool in_order() const { return from.narrow == nullptr && from.wide == nullptr; }
  T value(std::int64_t k) const { return values[in_order() ? k : from[k]]; }
};
LACUNA_EXPORT int tree_bits(int block); ///< throws bad_input
} // namespace detail

namespace detail::cpu {
template <class T, class I>
LACUNA_EXPORT std::shared_ptr<tree_content<T, I, space::host>>
build_tree(const host_context& ctx, const tree_source<T, I>& a, std::int64_t entries, int bits);
/// New values for a tree of a's pattern.
template <class T, class I>
LACUNA_EXPORT void place_in_tree(const host_context& ctx, const tree_source<T, I>& a,
                                 tree_arrays<T, I, space::host> to);
/// The same matrix with a leaf for each block.
template <class T, class I>
LACUNA_EXPORT std::shared_ptr<tree_content<T, I, space::host>>
expand_tree(const host_context& ctx, const tree_content<T, I, space::host>& a);
template <class T, class I>
LACUNA_EXPORT void check_tree(const tree_arrays<const T, I, space::host>& a);
template <class T, class I>
LACUNA_EXPORT tree_statistics tree_nodes(const tree_content<T, I, space::host>& a);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> tree_to_csr(const host_context& ctx, block_tree_view<const T, I, O> a);
/// Y = alpha op(A) X + beta Z, op by the tree's own state. Scratch: sums of the widest stripe for
/// each thread, and of stripes that several tasks share.
template <class T, class I>
LACUNA_EXPORT void multiply_tree(const host_context& ctx, T alpha,
                                 const tree_arrays<const T, I, space::host>& a, bool transposed,
                                 dense_view<const T> x, T beta, dense_view<const T> z,
                                 dense_view<T> y);
} // namespace detail::cpu

namespace detail {
template <class T, class I, class O>
void multiply_format(const host_context& ctx, T alpha, block_tree_view<const T, I, O> a,
                     dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  cpu::multiply_tree<T, I>(ctx, alpha * a.scale(), a.stored(), a.is_transposed(), x, beta, z, y);
}
/// A csr matrix whose rows ascend, each column once: itself, or a copy.
template <class T, class I, class O> class ascending_rows {
public:
  ascending_rows(const host_context& ctx, csr_view<const T, I, O> a) : a_(a) {
    if (cpu::rows_ascend<T, I, O>(ctx, a)) return;
    own_ = copy_to(ctx, a);
    if (!a.order().sorted) cpu::sort_csr<T, I, O>(ctx, own_.view());
    own_ = cpu::merge_csr<T, I, O>(ctx, std::as_const(own_).view(), duplicates::sum);
    a_ = std::as_const(own_).view();
  }
  ascending_rows(const ascending_rows&) = delete;
  ascending_rows& operator=(const ascending_rows&) = delete;
  [[nodiscard]] tree_source<T, I> source() const {
    return {a_.shape(),         std::int64_t{a_.size()}, tree_offsets(a_.rowptr().data()),
            a_.colind().data(), a_.values().data(),      {}};
  }

private:
  csr<T, I, O> own_;
  csr_view<const T, I, O> a_;
};
template <space S> constexpr void require_tree_space() {
  static_assert(S == space::host, "lacuna: block trees are on the host; a device has none yet");
}
} // namespace detail

/// From a csr, csc or coo matrix. Reads the columns some three times and values once; scratch: an
/// index per entry, and a copy of a matrix that is not sorted and unique. Throws bad_input if d is
/// none of the five.
template <space S, class A>
auto to_block_tree(const context<S>& ctx, const A& a, const block_tree_options& options = {}) {
  detail::require_tree_space<S>();
  const auto view = detail::const_view(a);
  using V = std::remove_cv_t<decltype(view)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  const int bits = detail::tree_bits(options.block);
  if constexpr (std::is_same_v<V, csr_view<const T, I, O, S>>) {
    const detail::ascending_rows<T, I, O> rows(ctx, view);
    return block_tree<T, I, O, S>(
        detail::cpu::build_tree<T, I>(ctx, rows.source(), view.size(), bits));
  } else {
    return to_block_tree(ctx, to_csr(ctx, a), options);
  }
}
template <class A>
  requires(!detail::is_context<A>)
auto to_block_tree(const A& a, const block_tree_options& options = {}) {
  return to_block_tree(detail::default_context_for<A>(), a, options);
}

/// Another owner of the same nodes.
template <class T, class I, class O>
block_tree<T, I, O> copy_to(const host_context&, const block_tree<T, I, O>& a) {
  return a;
}

template <class T, class I, class O>
void check(const host_context&, const block_tree_view<const T, I, O>& a) {
  detail::cpu::check_tree<T, I>(a.stored());
}
template <class T, class I, class O>
void check(const host_context& ctx, const block_tree<T, I, O>& a) {
  check(ctx, a.view());
}

/// Sorted and unique; the tree's state is applied.
template <class T, class I, class O>
csr<T, I, O> to_csr(const host_context& ctx, const block_tree_view<const T, I, O>& a) {
  return detail::cpu::tree_to_csr<T, I, O>(ctx, a);
}
template <class T, class I, class O>
csr<T, I, O> to_csr(const host_context& ctx, const block_tree<T, I, O>& a) {
  return to_csr(ctx, a.view());
}
template <class T, class I, class O>
coo<T, I, O> to_coo(const host_context& ctx, const block_tree<T, I, O>& a) {
  return to_coo(ctx, to_csr(ctx, a));
}

/// What nodes there are. Reads the leaves' first bytes alone.
template <class T, class I, class O> tree_statistics node_statistics(const block_tree<T, I, O>& a) {
  return a.content() ? detail::cpu::tree_nodes<T, I>(*a.content()) : tree_statistics{};
}

namespace detail {
/// The tree's content for it alone: a copy, if others have it or its leaves have several parents.
template <class T, class I, class O>
std::shared_ptr<tree_content<T, I, space::host>> own_content(const host_context& ctx,
                                                             const block_tree<T, I, O>& a) {
  const auto& c = a.content();
  if (c->compressed) return cpu::expand_tree<T, I>(ctx, *c);
  if (!a.is_shared()) return c;
  using content = tree_content<T, I, space::host>;
  return std::make_shared<content>(content{
      c->extent, c->nnz, c->entries, c->bits, c->levels, c->root, c->compressed,
      c->different_leaves, copy_to(ctx, c->pool), copy_to(ctx, c->items),
      copy_to(ctx, c->by_column), copy_to(ctx, c->row_tasks), copy_to(ctx, c->column_tasks)});
}
} // namespace detail

/// New values for the same pattern; the tree's factor is 1 afterwards. Without scratch where A is
/// sorted and unique, the tree is not transposed and has its nodes for itself.
template <class T, class I, class O, class A>
void update_values(const host_context& ctx, block_tree<T, I, O>& to, const A& a) {
  if (!to.content()) return;
  const auto from = detail::new_values_of<T, I, space::host>(to.shape().row, to.shape().col,
                                                             to.content()->entries, a);
  static_assert(std::is_same_v<typename decltype(from)::offset_type, O>,
                "lacuna: operands differ in the width of their offsets");
  csr<T, I, O> across;
  if (to.is_transposed()) across = transpose(ctx, from);
  const detail::ascending_rows<T, I, O> rows(ctx, to.is_transposed() ? std::as_const(across).view()
                                                                     : from);
  const auto content = detail::own_content(ctx, to);
  detail::cpu::place_in_tree<T, I>(ctx, rows.source(), content->arrays());
  to = block_tree<T, I, O>(content, to.is_transposed());
}

} // namespace lacuna
