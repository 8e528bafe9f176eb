// CSR-k (Lane and Booth 2022): a CSR matrix, and beside it where its rows fall into super-rows and
// those (k = 3) into super-super-rows: units of work that fit a thread, or a block and its threads.
// Rows much longer than the others are listed apart, cut into pieces.
//
// Invariants, tested by check():
//   rows() keeps those of csr;
//   super_rows begins with 0, ascends and ends with the number of rows: super-row j has the rows
//   from super_rows[j] to before super_rows[j + 1], and none is empty;
//   super_super_rows does the same with super-rows for k = 3, and has no elements for k = 2;
//   the long rows are those of more than grouping().long_row entries, in ascending order;
//   long_rows begins with 0 and ascends: pieces long_rows[i] to before long_rows[i + 1] are those
//   of the i-th long row, cover its entries in order and are not empty; it ends with their number.
// A matrix that was default-constructed or moved from has no arrays at all.
//
//   const auto a = to_csr_k(ctx, std::move(rows));   // a csr, taken over; a view is copied
//   multiply(ctx, a, x, y);                          // all that op/multiply.hpp says
//   const auto back = to_csr(ctx, a);
//
// With an ordering (op/reorder.hpp), whose groups are neighbours in the graph:
//
//   const auto b = band_k(ctx, rows, {12, 8});
//   const auto a = to_csr_k(ctx, permute(ctx, rows, b.order), b);
//
// Results are bitwise repeatable: on the host for any number of threads, on the device for the
// same matrix, grouping and device.
#pragma once

#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/reorder.hpp>
#include <lacuna/op/update_values.hpp>

namespace lacuna {

/// Threads of a device's block: along a row, on different rows of a super-row, on different
/// super-rows.
struct csr_k_block {
  int lanes = 1;
  int rows = 8;
  int super_rows = 12;
  [[nodiscard]] constexpr int threads() const { return lanes * rows * super_rows; }
  friend bool operator==(const csr_k_block&, const csr_k_block&) = default;
};

/// How rows were grouped, and what kernels are chosen by.
struct csr_k_grouping {
  int k = 2;
  std::int64_t super_row = 0;       ///< rows in a super-row but the last; 0: as an ordering says
  std::int64_t super_super_row = 0; ///< super-rows in a super-super-row; 0 also for k = 2
  std::int64_t long_row = 0;        ///< rows of more entries than this are long
  double mean = 0;                  ///< entries in a row that is not long
  bool regular = false;             ///< no long rows, and lengths whose variance is at most 10
  csr_k_block block = {};           ///< what works on a super-super-row, or for k = 2 a super-row
  friend bool operator==(const csr_k_grouping&, const csr_k_grouping&) = default;
};

/// Entries [first, last) of row `row`, which is the long_row-th long one: summed on their own.
template <class I, class O> struct csr_k_piece {
  I row;
  I long_row;
  O first;
  O last;
};

/// What a csr_k has beside its CSR matrix.
template <class I, class O, space S = space::host> struct csr_k_groups {
  csr_k_grouping grouping;
  array<I, S> super_rows, super_super_rows;
  array<std::int64_t, S> long_rows;
  array<csr_k_piece<I, O>, S> pieces;
};

/// Read-only view: csr_k_view<const T, …>.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class csr_k_view : public detail::product_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(std::is_const_v<T>, "lacuna: a csr_k_view is read-only: csr_k_view<const T, ...>");

  constexpr csr_k_view() = default;
  constexpr csr_k_view(csr_view<T, I, O, S> rows, csr_k_grouping grouping,
                       vector_view<const I, S> super_rows, vector_view<const I, S> super_super_rows,
                       vector_view<const std::int64_t, S> long_rows,
                       vector_view<const csr_k_piece<I, O>, S> pieces)
      : rows_(rows), grouping_(grouping), super_rows_(super_rows),
        super_super_rows_(super_super_rows), long_rows_(long_rows), pieces_(pieces) {}

  /// The whole matrix as plain CSR.
  constexpr csr_view<T, I, O, S> rows() const { return rows_; }
  constexpr csr_k_grouping grouping() const { return grouping_; }
  constexpr vector_view<const I, S> super_rows() const { return super_rows_; }
  constexpr vector_view<const I, S> super_super_rows() const { return super_super_rows_; }
  constexpr vector_view<const std::int64_t, S> long_rows() const { return long_rows_; }
  constexpr vector_view<const csr_k_piece<I, O>, S> pieces() const { return pieces_; }
  constexpr std::int64_t long_row_count() const {
    return long_rows_.empty() ? 0 : long_rows_.size() - 1;
  }
  constexpr index<I> shape() const { return rows_.shape(); }
  constexpr O size() const { return rows_.size(); }

private:
  csr_view<T, I, O, S> rows_;
  csr_k_grouping grouping_;
  vector_view<const I, S> super_rows_, super_super_rows_;
  vector_view<const std::int64_t, S> long_rows_;
  vector_view<const csr_k_piece<I, O>, S> pieces_;
};

/// Owner; made by to_csr_k. Its values may be changed in place, its pattern may not.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class csr_k {
public:
  using product_format = void; ///< made for multiplication
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  using const_view_type = csr_k_view<const T, I, O, S>;
  static constexpr space memory_space = S;

  csr_k() = default;
  /// Takes over a matrix and groups that fit it.
  csr_k(csr<T, I, O, S> rows, csr_k_groups<I, O, S> groups)
      : rows_(std::move(rows)), groups_(std::move(groups)) {}

  const_view_type view() const {
    return {std::as_const(rows_).view(),     groups_.grouping,         groups_.super_rows.view(),
            groups_.super_super_rows.view(), groups_.long_rows.view(), groups_.pieces.view()};
  }
  operator const_view_type() const { return view(); } // NOLINT(google-explicit-constructor)

  /// The whole matrix as plain CSR.
  csr_view<const T, I, O, S> rows() const { return rows_.view(); }
  vector_view<T, S> values() { return rows_.values(); }
  /// The matrix, given away; the groups are dropped.
  csr<T, I, O, S> release() && {
    groups_ = {};
    return std::move(rows_);
  }

  csr_k_grouping grouping() const { return groups_.grouping; }
  index<I> shape() const { return rows_.shape(); }
  O size() const { return rows_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return rows_.bytes() + groups_.super_rows.bytes() + groups_.super_super_rows.bytes() +
           groups_.long_rows.bytes() + groups_.pieces.bytes();
  }

private:
  csr<T, I, O, S> rows_;
  csr_k_groups<I, O, S> groups_;
};

struct csr_k_options {
  int k = 0;                        ///< 2 or 3; 0: 2 on the host, 3 on a device
  std::int64_t super_row = 0;       ///< rows in a super-row; 0: the model's
  std::int64_t super_super_row = 0; ///< super-rows in a super-super-row; 0: the model's
  std::int64_t long_row = 0;        ///< rows of more entries are cut into pieces; 0: the rule
};

namespace detail::cpu {
/// Groups of equal size, or those of `starts` (band_ordering::starts) unless that is null. Throws
/// bad_input if options or starts make no sense. Reads rowptr four times at most.
template <class I, class O>
LACUNA_EXPORT csr_k_groups<I, O> group_rows(const host_context& ctx, vector_view<const O> rowptr,
                                            const csr_k_options& options,
                                            const std::vector<array<I>>* starts);
/// The invariants beyond csr's; of rows() only the shape and rowptr are read.
template <class T, class I, class O> LACUNA_EXPORT void check_groups(csr_k_view<const T, I, O> a);
/// Vectors whose elements are neighbours go by super-rows; several columns, and one column of a
/// row-major block, by the CSR matrix inside. Scratch: a value for each piece, if a long row has
/// several.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_format(const host_context& ctx, T alpha, csr_k_view<const T, I, O> a,
                                   dense_view<const T> x, T beta, dense_view<const T> z,
                                   dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits for the statistics of the row lengths and the number of pieces.
template <class I, class O>
LACUNA_GPU_EXPORT csr_k_groups<I, O, space::device>
group_rows(const device_context& ctx, vector_view<const O, space::device> rowptr,
           const csr_k_options& options);
/// Queued. Scratch: as on the host, and a counter for each long row.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
multiply_format(const device_context& ctx, T alpha, csr_k_view<const T, I, O, space::device> a,
                dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
                dense_view<T, space::device> y);
} // namespace detail::gpu

namespace detail {
template <class I, class O, space S>
csr_k_groups<I, O, S> group_rows(const context<S>& ctx, vector_view<const O, S> rowptr,
                                 const csr_k_options& options) {
  if constexpr (S == space::host)
    return detail::cpu::group_rows<I, O>(ctx, rowptr, options, nullptr);
  else
    return detail::gpu::group_rows<I, O>(ctx, rowptr, options);
}

template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, csr_k_view<const T, I, O, S> a) {
  check_view(ctx, a.rows());
  if constexpr (S == space::host) {
    detail::cpu::check_groups<T, I, O>(a);
  } else {
    const host_context host(host_options{1});
    const auto rowptr = copy_to(host, a.rows().rowptr());
    const auto super_rows = copy_to(host, a.super_rows());
    const auto super_super_rows = copy_to(host, a.super_super_rows());
    const auto long_rows = copy_to(host, a.long_rows());
    const auto pieces = copy_to(host, a.pieces());
    detail::cpu::check_groups<T, I, O>({{nullptr, rowptr.data(), nullptr, a.shape(), a.size()},
                                        a.grouping(),
                                        super_rows.view(),
                                        super_super_rows.view(),
                                        long_rows.view(),
                                        pieces.view()});
  }
}
using cpu::multiply_format;
using gpu::multiply_format;
} // namespace detail

/// Takes a over. If it throws, a is as it was.
template <class T, class I, class O, space S>
csr_k<T, I, O, S> to_csr_k(const context<S>& ctx, csr<T, I, O, S>&& a,
                           const csr_k_options& options = {}) {
  auto groups = detail::group_rows<I, O>(ctx, std::as_const(a).rowptr(), options);
  return {std::move(a), std::move(groups)};
}
/// Copies a, a csr or a view of one.
template <space S, class A>
auto to_csr_k(const context<S>& ctx, const A& a, const csr_k_options& options = {}) {
  const auto view = detail::const_view(a);
  detail::require_same_space<S, decltype(view)>();
  return to_csr_k(ctx, copy_to(ctx, view), options);
}
/// With the groups of an ordering by which a was permuted. Of the options only long_row is free;
/// a k that is not the ordering's and sizes are bad_input.
template <class T, class I, class O, class J>
csr_k<T, I, O> to_csr_k(const host_context& ctx, csr<T, I, O>&& a, const band_ordering<J>& ordering,
                        const csr_k_options& options = {}) {
  static_assert(std::is_same_v<I, J>,
                "lacuna: the ordering's indices differ in width from the matrix's");
  detail::require_same_size("to_csr_k", "rows of A", a.shape().row, "the ordering",
                            ordering.order.size());
  auto groups =
      detail::cpu::group_rows<I, O>(ctx, std::as_const(a).rowptr(), options, &ordering.starts);
  return {std::move(a), std::move(groups)};
}
template <class A, class J>
auto to_csr_k(const host_context& ctx, const A& a, const band_ordering<J>& ordering,
              const csr_k_options& options = {}) {
  const auto view = detail::const_view(a);
  detail::require_same_space<space::host, decltype(view)>();
  return to_csr_k(ctx, copy_to(ctx, view), ordering, options);
}

/// The CSR matrix inside, copied; or given away.
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const csr_k<T, I, O, S>& a) {
  return copy_to(ctx, a.rows());
}
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>&, csr_k<T, I, O, S>&& a) {
  return std::move(a).release();
}

/// Groups are kept as they are: chosen for one space, they serve the other, but not as well.
template <space S, class T, class I, class O, space From>
csr_k<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, csr_k_view<T, I, O, From> a) {
  return {copy_to(ctx, a.rows()),
          {a.grouping(), copy_to(ctx, a.super_rows()), copy_to(ctx, a.super_super_rows()),
           copy_to(ctx, a.long_rows()), copy_to(ctx, a.pieces())}};
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const csr_k<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}

template <class T, class I, class O, space S>
void check(const context<S>& ctx, const csr_k<T, I, O, S>& a) {
  detail::check_view(ctx, a.view());
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const csr_k_view<const T, I, O, S>& a) {
  detail::check_view(ctx, a);
}

template <class A>
  requires(!detail::is_context<A>)
auto to_csr_k(const A& a, const csr_k_options& options = {}) {
  return to_csr_k(detail::default_context_for<A>(), a, options);
}

/// Of a matrix in the order it has inside.
template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, csr_k<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  detail::place_values<T, O, S>(ctx, nullptr, from.values(), to.values());
}

} // namespace lacuna
