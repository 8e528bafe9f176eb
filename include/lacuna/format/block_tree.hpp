// A tree of d x d blocks, after Derler's HiSparse: an inner node has a place for each of d x d
// parts of its block, a leaf lists the entries of one, with coordinates of a byte each, or is
// dense. Stored once it multiplies in both directions alike, and transposing or scaling it changes
// a flag or a factor beside the tree. On the host and on a device, with the same bytes.
//
//   auto t = to_block_tree(ctx, a);              of a csr, csc or coo matrix; {.block = 256}
//   multiply(ctx, t, x, y);                      y = A x
//   multiply(ctx, scaled(2, transposed(t)), x, y);   y = 2 A^T x, from the same bytes
//   t.transpose(), t.scale(2)                    the tree itself: free
//   auto b = to_csr(ctx, t);                     sorted; duplicates were added up
//   auto u = copy_to(device, t);                 pool and lists as they are
//
// Copies of a tree share their nodes until one is written to. Sums have a fixed order: results are
// the same bits for any number of threads. On a device the first product in each direction waits,
// and makes lists that are kept with the nodes (block_tree_work.hpp); a tree's copies share them.
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
//   the list by columns: by row); a task's leaves lie in its lines, tasks' lines ascend; of tasks
//   that share their lines each has a slot for its sums, and the widest task's lines are known.
#pragma once

#include <memory>

#include <lacuna/format/block_tree_nodes.hpp>
#include <lacuna/format/block_tree_work.hpp>
#include <lacuna/op/add.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update_values.hpp>

namespace lacuna {

namespace detail {
/// What a product must know of tasks before it begins, in the host's memory.
struct tree_sums {
  std::int64_t widest = 0; ///< lines of a task, the most
  std::int64_t slots = 0;  ///< lines of tasks that share theirs
};
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
  tree_sums row_sums, column_sums;                 ///< of these tasks
  kept_tree_work<S>* work = nullptr;               ///< of products on a device; a host's has none

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
  tree_sums row_sums, column_sums;
  /// Of products on a device, made by the first one in each direction; null on a host.
  std::shared_ptr<kept_tree_work<S>> work = nullptr;

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
            column_tasks.view(),
            row_sums,
            column_sums,
            work.get()};
  }
  tree_arrays<T, I, S> arrays() {
    const auto self = std::as_const(*this).arrays();
    return {extent,      nnz,         bits,           levels,         root,
            pool.view(), self.items,  self.by_column, self.row_tasks, self.column_tasks,
            row_sums,    column_sums, work.get()};
  }
  /// Of nodes and lists.
  [[nodiscard]] std::size_t stored_bytes() const {
    return pool.bytes() + items.bytes() + by_column.bytes() + row_tasks.bytes() +
           column_tasks.bytes();
  }
  /// And of what products on a device have made.
  [[nodiscard]] std::size_t bytes() const { return stored_bytes() + (work ? work->bytes() : 0); }
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
  /// Bytes of nodes and lists, and of what products on a device keep beside them; copies that share
  /// them each count all.
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
/// Of a matrix of this shape. Throws bad_input, and unsupported beyond 2^62 rows or columns.
LACUNA_EXPORT int tree_bits(int block, std::int64_t rows, std::int64_t cols);
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

namespace detail::gpu {
/// Byte by byte the host's. Waits for numbers of runs, of each level's blocks, of leaves and bytes.
/// Scratch: some 60 bytes for each run of entries of one row and block, 270 per block. Throws
/// unsupported from 2^32 runs on.
template <class T, class I>
LACUNA_GPU_EXPORT std::shared_ptr<tree_content<T, I, space::device>>
build_tree(const device_context& ctx, const tree_source<T, I>& a, std::int64_t entries, int bits);
/// What products in a direction need beside nodes and lists, made from them and kept with the tree
/// where it is not there yet, by the context that made the tree, which is waited for then; scratch:
/// some 70 bytes per entry. May be called by several threads. Throws unsupported for trees with
/// 2^31 entries, rows, columns or more, or nodes of 2^32 values' bytes.
template <class T, class I>
LACUNA_GPU_EXPORT tree_work_view<space::device>
tree_work_of(const device_context& ctx, const tree_arrays<const T, I, space::device>& a,
             bool transposed);
/// Queued.
template <class T, class I>
LACUNA_GPU_EXPORT void place_in_tree(const device_context& ctx, const tree_source<T, I>& a,
                                     tree_arrays<T, I, space::device> to);
/// Of the tree as it is stored, times `scale`. Waits for the number of runs. Scratch: some 40 bytes
/// for each.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
tree_to_csr(const device_context& ctx, const tree_arrays<const T, I, space::device>& a, T scale);
/// Queued, behind tree_work_of. Each vector is a product of its own, which finds the leaves in L2.
/// Scratch: sums of parts of long lines. Throws what tree_work_of does, and unsupported for 2^31
/// tiles times vectors and more.
template <class T, class I>
LACUNA_GPU_EXPORT void
multiply_tree(const device_context& ctx, T alpha, const tree_arrays<const T, I, space::device>& a,
              bool transposed, dense_view<const T, space::device> x, T beta,
              dense_view<const T, space::device> z, dense_view<T, space::device> y);
} // namespace detail::gpu

namespace detail {
template <class T, class I, class O, space S>
void multiply_format(const context<S>& ctx, T alpha, block_tree_view<const T, I, O, S> a,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  const T factor = alpha * a.scale();
  if constexpr (S == space::host)
    cpu::multiply_tree<T, I>(ctx, factor, a.stored(), a.is_transposed(), x, beta, z, y);
  else
    gpu::multiply_tree<T, I>(ctx, factor, a.stored(), a.is_transposed(), x, beta, z, y);
}
template <class T, class I, space S>
std::shared_ptr<tree_content<T, I, S>> build_tree(const context<S>& ctx, const tree_source<T, I>& a,
                                                  std::int64_t entries, int bits) {
  if constexpr (S == space::host)
    return cpu::build_tree<T, I>(ctx, a, entries, bits);
  else
    return gpu::build_tree<T, I>(ctx, a, entries, bits);
}
template <class T, class I, space S>
void place_in_tree(const context<S>& ctx, const tree_source<T, I>& a, tree_arrays<T, I, S> to) {
  if constexpr (S == space::host)
    cpu::place_in_tree<T, I>(ctx, a, to);
  else
    gpu::place_in_tree<T, I>(ctx, a, to);
}
/// A csr matrix whose rows ascend, each column once: itself, or a copy.
template <class T, class I, class O, space S> class ascending_rows {
public:
  ascending_rows(const context<S>& ctx, csr_view<const T, I, O, S> a) : rows_(ctx, {a, 1, false}) {}
  [[nodiscard]] tree_source<T, I> source() const {
    const auto a = rows_.view();
    return {a.shape(),         std::int64_t{a.size()}, tree_offsets(a.rowptr().data()),
            a.colind().data(), a.values().data(),      {}};
  }

private:
  summand<T, I, O, S> rows_;
};
} // namespace detail

/// From a csr, csc or coo matrix. Reads the columns some three times and values once; scratch: an
/// index per entry, and a copy of a matrix that is not sorted and unique. On a device it waits.
/// Throws bad_input if d is none of the five, unsupported beyond 2^62 rows or columns.
template <space S, class A>
auto to_block_tree(const context<S>& ctx, const A& a, const block_tree_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = std::remove_cv_t<decltype(view)>;
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  const int bits = detail::tree_bits(options.block, view.shape().row, view.shape().col);
  if constexpr (std::is_same_v<V, csr_view<const T, I, O, S>>) {
    const detail::ascending_rows<T, I, O, S> rows(ctx, view);
    return block_tree<T, I, O, S>(
        detail::build_tree<T, I, S>(ctx, rows.source(), view.size(), bits));
  } else {
    return to_block_tree(ctx, to_csr(ctx, a), options);
  }
}
template <class A>
  requires(!detail::is_context<A>)
auto to_block_tree(const A& a, const block_tree_options& options = {}) {
  return to_block_tree(detail::default_context_for<A>(), a, options);
}

namespace detail {
template <class T, class I, space S, space From>
std::shared_ptr<tree_content<T, I, S>> copy_content(const context<S>& ctx,
                                                    const tree_content<T, I, From>& c) {
  using content = tree_content<T, I, S>;
  std::shared_ptr<kept_tree_work<S>> work;
  if constexpr (S == space::device) work = std::make_shared<kept_tree_work<S>>(ctx);
  return std::make_shared<content>(content{c.extent, c.nnz, c.entries, c.bits, c.levels, c.root,
                                           c.compressed, c.different_leaves, copy_to(ctx, c.pool),
                                           copy_to(ctx, c.items), copy_to(ctx, c.by_column),
                                           copy_to(ctx, c.row_tasks), copy_to(ctx, c.column_tasks),
                                           c.row_sums, c.column_sums, std::move(work)});
}
} // namespace detail

/// Within a space another owner of the same nodes; to another a copy of pool and lists.
template <space S, class T, class I, class O, space From>
block_tree<T, I, O, S> copy_to(const context<S>& ctx, const block_tree<T, I, O, From>& a) {
  if constexpr (S == From)
    return a;
  else if (!a.content())
    return {};
  else
    return block_tree<T, I, O, S>(detail::copy_content(ctx, *a.content()), a.is_transposed(),
                                  a.scale());
}

/// A tree on a device is tested on the host, from a copy.
template <class T, class I, class O, space S>
void check(const context<S>&, const block_tree_view<const T, I, O, S>& a) {
  if constexpr (S == space::host) {
    detail::cpu::check_tree<T, I>(a.stored());
  } else {
    const host_context host;
    const auto& t = a.stored();
    const auto pool = copy_to(host, t.pool);
    const auto items = copy_to(host, t.items);
    const auto by_column = copy_to(host, t.by_column);
    const auto row_tasks = copy_to(host, t.row_tasks);
    const auto column_tasks = copy_to(host, t.column_tasks);
    detail::cpu::check_tree<T, I>({t.extent, t.nnz, t.bits, t.levels, t.root, pool.view(),
                                   items.view(), by_column.view(), row_tasks.view(),
                                   column_tasks.view(), t.row_sums, t.column_sums});
  }
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const block_tree<T, I, O, S>& a) {
  check(ctx, a.view());
}

/// Sorted and unique; the tree's state is applied. On a device a transposed tree is transposed as
/// csr.
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const block_tree_view<const T, I, O, S>& a) {
  if constexpr (S == space::host) {
    return detail::cpu::tree_to_csr<T, I, O>(ctx, a);
  } else {
    auto rows = detail::gpu::tree_to_csr<T, I, O>(ctx, a.stored(), a.scale());
    return a.is_transposed() ? transpose(ctx, rows) : std::move(rows);
  }
}
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const block_tree<T, I, O, S>& a) {
  return to_csr(ctx, a.view());
}
template <class T, class I, class O, space S>
coo<T, I, O, S> to_coo(const context<S>& ctx, const block_tree<T, I, O, S>& a) {
  return to_coo(ctx, to_csr(ctx, a));
}

/// What nodes there are. Reads the leaves' first bytes alone; of a tree on a device, a copy.
template <class T, class I, class O, space S>
tree_statistics node_statistics(const block_tree<T, I, O, S>& a) {
  if (!a.content()) return {};
  if constexpr (S == space::host)
    return detail::cpu::tree_nodes<T, I>(*a.content());
  else
    return node_statistics(copy_to(host_context(), a));
}

namespace detail {
/// The tree's content for it alone: a copy, if others have it or its leaves have several parents.
/// Leaves are taken apart on the host.
template <class T, class I, class O, space S>
std::shared_ptr<tree_content<T, I, S>> own_content(const context<S>& ctx,
                                                   const block_tree<T, I, O, S>& a) {
  const auto& c = a.content();
  if (!c->compressed) return a.is_shared() ? copy_content(ctx, *c) : c;
  if constexpr (S == space::host) {
    return cpu::expand_tree<T, I>(ctx, *c);
  } else {
    const host_context host;
    return copy_content(ctx, *cpu::expand_tree<T, I>(host, *copy_content(host, *c)));
  }
}
} // namespace detail

/// New values for the same pattern; the tree's factor is 1 afterwards. Without scratch where A is
/// sorted and unique, the tree is not transposed and has its nodes for itself.
template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, block_tree<T, I, O, S>& to, const A& a) {
  if (!to.content()) return;
  const auto from =
      detail::new_values_of<T, I, S>(to.shape().row, to.shape().col, to.content()->entries, a);
  static_assert(std::is_same_v<typename decltype(from)::offset_type, O>,
                "lacuna: operands differ in the width of their offsets");
  csr<T, I, O, S> across;
  if (to.is_transposed()) across = transpose(ctx, from);
  const detail::ascending_rows<T, I, O, S> rows(
      ctx, to.is_transposed() ? std::as_const(across).view() : from);
  const auto content = detail::own_content(ctx, to);
  detail::place_in_tree<T, I, S>(ctx, rows.source(), content->arrays());
  to = block_tree<T, I, O, S>(content, to.is_transposed());
}

} // namespace lacuna
