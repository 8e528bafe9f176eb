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
#pragma once

#include <lacuna/format/csr.hpp>

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

} // namespace lacuna
