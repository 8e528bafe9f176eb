// CSR that changes in place: a row is up to k segments of one pool of entries, and new entries go
// to free places of its last segment or to a new one. In other libraries "DCSR" means doubly
// compressed rows; this is King, Gilray, Kirby and Might's dynamic CSR (2016).
//
//   auto m = to_dynamic_csr(ctx, a);                     a copy of a's entries
//   dynamic_csr<double> blank(ctx, {rows, cols});        without entries
//   insert(ctx, m, batch);                               see op/update.hpp
//   multiply(ctx, m, x, y);
//   auto b = to_csr(ctx, m);                             columns ascending
//
// The table of segments has k planes of `pitch` places: row i's segment s is entries
// [begin[s pitch + i], end[s pitch + i]) of the pool. (The paper has begin and end side by side; in
// planes the first one is a CSR's row pointer as long as nothing has changed, and products are
// CSR's.) Unlike the paper's, segments are sorted, so that an entry is found by a binary search in
// each of at most k segments: a hub of 100,000 entries costs a look-up 17 steps.
//
// A row's entries are in the order of its segments, and that follows from the batches alone: never
// from threads or blocks, on either engine. So every sum is bitwise repeatable.
//
// Invariants, tested by check():
//   counts[i] <= k segments of row i are in use, in the pool below used(), apart from each other;
//   sizes[i] is the sum of their lengths, and all of these are size();
//   room[i] places after the end of its last segment are free, and nobody else's;
//   columns ascend in each segment, and are inside the matrix;
//   unique: no column is in a row twice; compact: begin's first plane is a CSR's row pointer.
#pragma once

#include <memory>
#include <mutex>

#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/inspection.hpp>

namespace lacuna {

/// The paper's parameters.
struct dynamic_csr_options {
  int segments = 4; ///< k: a row that would need more is rewritten as one. 1 to 64
  /// alpha: free places of a new segment; -1: the mean row length, but behind a further segment of
  /// a row no more than 8 for each entry that it begins with
  std::int64_t slack = -1;
  /// And at least this share of the row's entries, so that a row that is hit by every batch does
  /// not fill its segments every few batches. No segment has free places beyond 1024 entries.
  double slack_share = 0.125;
  std::int64_t width = 0; ///< mu: free places of every row of a blank matrix
  std::int64_t pitch = 0; ///< of the table; at least rows + 1; 0: that, in whole lines of 128 bytes
  /// Any thread may call snapshot() while another one changes the matrix. What every change costs
  /// then: a copy of the table, O(rows), and no row is changed in place, so there is no slack.
  bool concurrent = false;
  /// Rows of a matrix that is converted have their slack behind them from the start, so that the
  /// first batches go in place. Such a matrix is not compact.
  bool slack_at_start = false;
};

namespace detail {
/// The rows of a compact matrix on a device, cut into tiles of equal work for products; none: they
/// are cut when a product is made.
template <class I, class O> struct row_tiles {
  const tile_start<I, O>* starts = nullptr; ///< one more than tiles
  std::int64_t count = 0;
  std::int64_t longest = 0; ///< rows have at most so many entries; 0: tiles may cut rows
};
} // namespace detail

/// What a kernel needs to walk over rows: pointers and sizes, trivially copyable. Owns nothing.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class dynamic_csr_view : public detail::product_view {
public:
  using row_format = void; ///< sums, sparse products and transposition take it as they take a csr
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I> && detail::is_index<O>, "lacuna: indices are int32 or int64");

  constexpr dynamic_csr_view() = default;

  constexpr index<I> shape() const { return extent; }
  constexpr std::int64_t size() const { return nnz; }
  /// Entries of a row: its degree, where the matrix is a graph.
  constexpr std::int64_t row_size(std::int64_t row) const { return sizes[row]; }
  /// Segment s of a row: places [segment_begin, segment_end) of colind and values.
  constexpr int segment_count(std::int64_t row) const { return counts[row]; }
  constexpr std::int64_t segment_begin(std::int64_t row, int s) const {
    return begin[s * pitch + row];
  }
  constexpr std::int64_t segment_end(std::int64_t row, int s) const { return end[s * pitch + row]; }
  /// Calls f(column, value) for each entry of a row, in its order; in a kernel, too.
  template <class F> constexpr void for_each_in_row(std::int64_t row, F f) const {
    for (int s = 0; s < counts[row]; ++s)
      for (O k = begin[s * pitch + row]; k < end[s * pitch + row]; ++k) f(colind[k], values[k]);
  }
  /// The place of an entry in colind and values; -1: there is none. O(k log row).
  constexpr std::int64_t find(std::int64_t row, I column) const {
    for (int s = 0; s < counts[row]; ++s) {
      O low = begin[s * pitch + row];
      const O last = end[s * pitch + row];
      for (O high = last; low < high;) {
        const O middle = low + (high - low) / 2;
        if (colind[middle] < column)
          low = middle + 1;
        else
          high = middle;
      }
      if (low < last && colind[low] == column) return low;
    }
    return -1;
  }

  /// The same matrix; only where it is compact.
  constexpr csr_view<const scalar_type, I, O, S> csr_rows() const {
    return {values, begin, colind, extent, static_cast<O>(nnz), facts{true, unique}};
  }

  index<I> extent{};
  std::int64_t nnz = 0;
  std::int64_t pitch = 0;
  const O* begin = nullptr;
  const O* end = nullptr;
  const O* sizes = nullptr;
  const O* room = nullptr;
  const std::uint8_t* counts = nullptr;
  const I* colind = nullptr;
  T* values = nullptr;
  /// Those of more than mid_row, and of more than long_row, entries, and perhaps others.
  const I *mid_rows = nullptr, *long_rows = nullptr;
  std::int64_t mid_row_count = 0, long_row_count = 0;
  detail::row_tiles<I, O> tiles; ///< of a compact matrix
  std::int64_t used = 0;         ///< of the pool
  int segments = 0;              ///< k
  bool compact = false;          ///< begin's first plane is a CSR's row pointer
  bool unique = false;           ///< no column is in a row twice
};

namespace detail {
template <class T, class I, class O, space S> struct dynamic_storage;
template <class T, class I, class O, space S> struct dynamic_access;
template <class T, class I, class O, space S> struct row_replacement;

/// In products on a device a row of more entries gets a warp, or several blocks. These bins are
/// kept up to date by batches: the matrix lists their rows.
inline constexpr std::int64_t mid_row = 64, long_row = 2048;
/// Entries up to which a segment is kept sorted in place; one that is longer is not added to.
inline constexpr std::int64_t most_in_place = 1024;

template <class I, class O, space S> struct dynamic_table {
  array<O, S> begin, end;        // k planes
  array<O, S> sizes, room;       // per row
  array<std::uint8_t, S> counts; // per row
  [[nodiscard]] std::size_t bytes() const {
    return begin.bytes() + end.bytes() + sizes.bytes() + room.bytes() + counts.bytes();
  }
};
template <class T, class I, class O, space S> struct dynamic_pool {
  array<I, S> colind;
  array<T, S> values;
  array<I, S> mid_rows, long_rows;
  array<tile_start<I, O>, S> tiles; ///< see row_tiles: as the pool was filled
  [[nodiscard]] std::size_t bytes() const {
    return colind.bytes() + values.bytes() + mid_rows.bytes() + long_rows.bytes() + tiles.bytes();
  }
};
/// Free places behind `entries` entries of a new segment, for a row of `size` in all.
struct segment_slack {
  std::int64_t places = 0;
  double share = 0;
  /// Of a segment behind others, places for each of its entries at most; 0: `places` of them.
  std::int64_t each = 0;
  constexpr std::int64_t of(std::int64_t entries, std::int64_t size) const {
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(size));
    const std::int64_t few = each > 0 && entries < size ? each * entries : places;
    const std::int64_t fixed = few < places ? few : places;
    const std::int64_t wanted = fixed > part ? fixed : part, most = most_in_place - entries;
    return most <= 0 ? 0 : wanted < most ? wanted : most;
  }
};
/// That of options.slack -1, where rows have `mean` entries.
constexpr segment_slack usual_slack(std::int64_t mean, double share) { return {mean, share, 8}; }
} // namespace detail

/// One state of a matrix, which stays as it is while batches go into the matrix: cheap to take and
/// to copy. Its memory is freed when the last one goes.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class dynamic_csr_snapshot {
public:
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  dynamic_csr_snapshot() = default;
  dynamic_csr_view<const T, I, O, S> view() const { return view_; }
  index<I> shape() const { return view_.extent; }
  [[nodiscard]] std::int64_t size() const { return view_.nnz; }

private:
  template <class, std::signed_integral, std::signed_integral, space> friend class dynamic_csr;
  dynamic_csr_view<const T, I, O, S> view_;
  std::shared_ptr<const detail::dynamic_table<I, O, S>> table_;
  std::shared_ptr<const detail::dynamic_pool<T, I, O, S>> pool_;
};

template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class dynamic_csr;

namespace detail {
/// Whether nobody else holds it. Exchanging a reference orders what is written next behind what the
/// last reader, on whichever thread, has read: use_count() alone orders nothing.
template <class E> bool only_owner(const std::shared_ptr<E>& p) {
  if (p.use_count() > 1) return false;
  std::shared_ptr<E>(p).reset();
  return true;
}
/// What readers beside a writer get: the state after the last change that was complete.
template <class T, class I, class O, space S> struct published_state {
  std::mutex mutex; ///< held while `latest` is copied or exchanged, no longer
  dynamic_csr_snapshot<T, I, O, S> latest;
};
/// Of a CSR matrix whose columns ascend, or without entries: null.
template <class T, class I, class O, space S>
LACUNA_EXPORT dynamic_csr<T, I, O, S> make_dynamic(const context<S>& ctx, index<I> shape,
                                                   const csr_view<const T, I, O, S>* a,
                                                   const dynamic_csr_options& options);
/// Takes the arrays of a over as the pool; its columns ascend. If it throws, a is as it was.
template <class T, class I, class O, space S>
LACUNA_EXPORT dynamic_csr<T, I, O, S> take_dynamic(const context<S>& ctx, csr<T, I, O, S>&& a,
                                                   const dynamic_csr_options& options);
template <class T, class I, class O, space S>
LACUNA_EXPORT csr<T, I, O, S> dynamic_to_csr(const context<S>& ctx,
                                             dynamic_csr_view<const T, I, O, S> a);
} // namespace detail

/// Owner.
template <class T, std::signed_integral I, std::signed_integral O, space S> class dynamic_csr {
public:
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  dynamic_csr() = default;
  /// Without entries; with options.width free places in every row.
  /// Throws bad_input if options make no sense.
  dynamic_csr(const context<S>& ctx, lacuna::index<I> shape,
              const dynamic_csr_options& options = {})
      : dynamic_csr(detail::make_dynamic<T, I, O, S>(ctx, shape, nullptr, options)) {}
  dynamic_csr(dynamic_csr&&) noexcept = default;
  dynamic_csr& operator=(dynamic_csr&&) noexcept = default;

  lacuna::index<I> shape() const { return state_.extent; }
  [[nodiscard]] std::int64_t size() const { return state_.nnz; }
  [[nodiscard]] const dynamic_csr_options& options() const { return options_; }
  /// Entries that the pool has room for, and places of it that are taken: by entries, free places
  /// of segments, and what rows left behind, which a compaction reclaims.
  [[nodiscard]] std::int64_t capacity() const { return pool_ ? pool_->colind.size() : 0; }
  [[nodiscard]] std::int64_t used() const { return state_.used; }
  /// Segments of the row that has most.
  [[nodiscard]] int segments_max() const { return segments_max_; }
  [[nodiscard]] std::int64_t compactions() const { return compactions_; }
  /// Whether rows lie side by side without free places: products are CSR's.
  [[nodiscard]] bool is_compact() const { return state_.compact; }
  [[nodiscard]] std::size_t bytes() const {
    return (table_ ? table_->bytes() : 0) + (pool_ ? pool_->bytes() : 0);
  }

  /// Values of a compact matrix in the order of its rows. Throws unsupported if it is not compact,
  /// or if a snapshot shares them.
  vector_view<T, S> values() {
    if (state_.nnz > 0 && (!state_.compact || !detail::only_owner(pool_)))
      throw unsupported(
          "dynamic_csr: values lie side by side, and may be written, only in a compact "
          "matrix that no snapshot shares");
    return {pool_ ? pool_->values.data() : nullptr, state_.nnz};
  }
  dynamic_csr_view<const T, I, O, S> view() const {
    dynamic_csr_view<const T, I, O, S> v = state_;
    return v;
  }
  /// O(1). Call it where the matrix is changed from, by one thread at a time; the first batch after
  /// it copies the table, and the rows that it changes. With options().concurrent: by any thread,
  /// at any time; what it gives is the state after the last change that was complete.
  dynamic_csr_snapshot<T, I, O, S> snapshot() {
    if (published_) {
      const std::lock_guard guard(published_->mutex);
      return published_->latest;
    }
    frozen_ = state_.used;
    return current();
  }
  /// Back to a snapshot of this matrix, which goes on sharing its entries. O(1).
  void restore(const dynamic_csr_snapshot<T, I, O, S>& s) {
    state_ = s.view_;
    table_ = std::const_pointer_cast<detail::dynamic_table<I, O, S>>(s.table_);
    pool_ = std::const_pointer_cast<detail::dynamic_pool<T, I, O, S>>(s.pool_);
    frozen_ = state_.used;
    bins_old_ = true;
    if (!published_) return;
    auto latest = s; // what was published goes behind the lock
    const std::lock_guard guard(published_->mutex);
    std::swap(published_->latest, latest);
  }

private:
  template <class, class, class, space> friend struct detail::dynamic_storage;
  template <class, class, class, space> friend struct detail::dynamic_access;
  template <class, class, class, space> friend struct detail::row_replacement;
  dynamic_csr_snapshot<T, I, O, S> current() const {
    dynamic_csr_snapshot<T, I, O, S> s;
    s.view_ = view();
    s.table_ = table_;
    s.pool_ = pool_;
    return s;
  }

  dynamic_csr_view<const T, I, O, S> state_; // as it is read
  std::shared_ptr<detail::dynamic_table<I, O, S>> table_;
  std::shared_ptr<detail::dynamic_pool<T, I, O, S>> pool_;
  dynamic_csr_options options_;
  int segments_max_ = 0;
  std::int64_t compactions_ = 0;
  bool bins_old_ = false;   ///< rows of mid_rows and long_rows may have become short
  std::int64_t frozen_ = 0; ///< entries below are a snapshot's, if there is one
  std::unique_ptr<detail::published_state<T, I, O, S>> published_; ///< options_.concurrent
};

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT void multiply_format(const host_context& ctx, T alpha,
                                   dynamic_csr_view<const T, I, O> a, dense_view<const T> x, T beta,
                                   dense_view<const T> z, dense_view<T> y);
/// y = alpha A^T x + beta z, as multiply_csr_transposed: the bits depend on the number of threads.
template <class T, class I, class O>
LACUNA_EXPORT void
multiply_transposed_rows(const host_context& ctx, T alpha, dynamic_csr_view<const T, I, O> a,
                         vector_view<const T> x, T beta, vector_view<const T> z, vector_view<T> y);
template <class T, class I, class O>
LACUNA_EXPORT void check_dynamic(const host_context& ctx, dynamic_csr_view<const T, I, O> a);
} // namespace detail::cpu
namespace detail::gpu {
/// Queued.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void multiply_format(const device_context& ctx, T alpha,
                                       dynamic_csr_view<const T, I, O, space::device> a,
                                       dense_view<const T, space::device> x, T beta,
                                       dense_view<const T, space::device> z,
                                       dense_view<T, space::device> y);
} // namespace detail::gpu

namespace detail {
using cpu::multiply_format;
using cpu::multiply_transposed_rows;
using gpu::multiply_format;
template <class T, class I, class O, space S>
csr<T, I, O, S> make_csr(const context<S>& ctx, dynamic_csr_view<const T, I, O, S> a) {
  return dynamic_to_csr<T, I, O, S>(ctx, a);
}
/// A matrix on a device is tested on the host, from a copy.
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, dynamic_csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host) {
    cpu::check_dynamic<T, I, O>(ctx, a);
  } else {
    const host_context host;
    const std::int64_t rows = a.extent.row, places = a.segments * a.pitch + 1;
    const auto copied = [&](auto*& pointer, std::int64_t size) {
      using E = std::remove_cvref_t<decltype(*pointer)>;
      auto copy = copy_to(host, vector_view<const E, S>(pointer, size));
      pointer = copy.data();
      return copy;
    };
    dynamic_csr_view<const T, I, O> h;
    h.extent = a.extent, h.nnz = a.nnz, h.pitch = a.pitch, h.used = a.used;
    h.segments = a.segments, h.compact = a.compact, h.unique = a.unique;
    const auto begin = copied(h.begin = a.begin, places), end = copied(h.end = a.end, places);
    const auto sizes = copied(h.sizes = a.sizes, rows), room = copied(h.room = a.room, rows);
    const auto counts = copied(h.counts = a.counts, rows);
    const auto colind = copied(h.colind = a.colind, a.used);
    cpu::check_dynamic<T, I, O>(host, h);
  }
}
} // namespace detail

/// From a matrix or view of any format. Of a csr it costs a copy, of others the way to a csr; rows
/// that are not stated to be in order are put so.
template <space S, class A>
auto to_dynamic_csr(const context<S>& ctx, const A& a, const dynamic_csr_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  detail::require_same_space<S, V>();
  if constexpr (requires { view.rowptr(); }) {
    using T = typename V::scalar_type;
    using I = typename V::index_type;
    using O = typename V::offset_type;
    if (view.order().sorted)
      return detail::make_dynamic<T, I, O, S>(ctx, view.shape(), &view, options);
    return to_dynamic_csr(ctx, copy_to(ctx, view), options);
  } else {
    return to_dynamic_csr(ctx, to_csr(ctx, a), options);
  }
}
/// Takes a's arrays over: they become the pool, and the table is all that is made. There is no
/// room in that pool yet. If it throws, a's rows may have been put in order.
template <class T, class I, class O, space S>
dynamic_csr<T, I, O, S> to_dynamic_csr(const context<S>& ctx, csr<T, I, O, S>&& a,
                                       const dynamic_csr_options& options = {}) {
  sort(ctx, a);
  return detail::take_dynamic<T, I, O, S>(ctx, std::move(a), options);
}
template <class A>
  requires(!detail::is_context<A>)
auto to_dynamic_csr(const A& a, const dynamic_csr_options& options = {}) {
  return to_dynamic_csr(detail::default_context_for<A>(), a, options);
}

/// Columns ascending; unique where the matrix is. Costs a copy of the entries.
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const dynamic_csr<T, I, O, S>& a) {
  return detail::dynamic_to_csr<T, I, O, S>(ctx, a.view());
}
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const dynamic_csr_snapshot<T, I, O, S>& a) {
  return detail::dynamic_to_csr<T, I, O, S>(ctx, a.view());
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const dynamic_csr<T, I, O, S>& a) {
  detail::check_view(ctx, a.view());
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const dynamic_csr_snapshot<T, I, O, S>& a) {
  detail::check_view(ctx, a.view());
}

} // namespace lacuna
