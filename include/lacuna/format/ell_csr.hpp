// Rows in slices, long rows cut into pieces, columns packed: what multiplies fastest.
//
// After Matam and Kothapalli (2011), who keep short rows in ELL and long ones in CSR and give a row
// as many threads as its length asks for. Here both parts have one layout. A slice is 32 lanes; a
// row has 1, 2, 4, 8 or 16 of them (ELL), and a piece of a long row has all 32 (CSR). Entry j of
// every lane is one step, stored side by side, so that a warp or a vector unit reads it at once;
// entry k of a row with L lanes is in its lane k mod L. Lanes without an entry hold 0.
//
// The columns of a slice are packed in one of four ways, the one with the fewest bytes:
//   diagonal  lane l has column base + l: nothing is stored but the step's base
//   bits8, bits16, full   base + a number of so many bits
// So an entry takes sizeof T + 0, 1, 2 or sizeof I bytes, and a 32nd of a step's head.
//
// Invariants, tested by check():
//   slices has one element more than there are slices; steps never decrease; a slice's columns
//   follow those of the slice before it;
//   the first pieces.size() slices are pieces of long rows, row by row, in the order of the row's
//   entries; all but a row's last are full;
//   rows is empty (lane l of slice s is row 32 s + l, every row has one lane and none is long) or
//   has the rows of each slice that is no piece, 32 places a slice, -1 for none; every row is in
//   one slice or has pieces; bit l of a step says whether lane l has an entry; columns are inside
//   the matrix; the bits add up to nnz; even: rows is empty, and every slice has that many steps
//   and that packing.
#pragma once

#include <lacuna/format/common.hpp>

namespace lacuna {

/// Lanes of a slice: a warp.
inline constexpr int slice_lanes = 32;

/// How the columns of a slice are stored.
enum class packing { diagonal, bits8, bits16, full };

/// Where a slice begins, and what it is.
struct ell_slice {
  std::int64_t step; ///< its first; its values begin at 32 times that
  /// First byte of its columns, a multiple of 32, plus the packing, plus 4 times the binary
  /// logarithm of the lanes a row has.
  std::int64_t columns;

  constexpr packing kind() const { return static_cast<packing>(columns & 3); }
  constexpr int row_lanes() const { return 1 << (columns >> 2 & 7); }
  constexpr std::int64_t first_byte() const { return columns & ~std::int64_t{31}; }
};
/// One entry of every lane.
template <class I> struct ell_step {
  I base;                       ///< smallest column; of a diagonal, that of lane 0, perhaps outside
  std::make_unsigned_t<I> mask; ///< bit l: lane l has an entry
};
/// Part of a long row.
template <class I> struct row_piece {
  I row;
  std::int32_t first; ///< the row's first piece
  std::int32_t count; ///< pieces of the row
};

/// Slices that all have `width` steps, packed alike; width 0: they differ.
struct even_slices {
  std::int64_t width = 0;
  packing kind = packing::full;
};

/// View; read-only but for a T that is not const.
template <class T, std::signed_integral I = index_t, space S = space::host>
class ell_csr_view : public detail::product_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  static constexpr space memory_space = S;
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I>, "lacuna: indices are int32 or int64");

  constexpr ell_csr_view() = default;
  constexpr ell_csr_view(index<I> shape, std::int64_t nnz, vector_view<const ell_slice, S> slices,
                         vector_view<const ell_step<I>, S> steps,
                         vector_view<const unsigned char, S> columns, vector_view<T, S> values,
                         vector_view<const I, S> rows, vector_view<const row_piece<I>, S> pieces,
                         even_slices even = {})
      : shape_(shape), nnz_(nnz), slices_(slices), steps_(steps), columns_(columns),
        values_(values), rows_(rows), pieces_(pieces), even_(even) {}
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr ell_csr_view(const ell_csr_view<U, I, S>& a) // NOLINT(google-explicit-constructor)
      : ell_csr_view(a.shape(), a.size(), a.slices(), a.steps(), a.columns(), a.values(), a.rows(),
                     a.pieces(), a.even()) {}

  constexpr index<I> shape() const { return shape_; }
  constexpr std::int64_t size() const { return nnz_; }
  constexpr std::int64_t slice_count() const { return slices_.empty() ? 0 : slices_.size() - 1; }
  constexpr vector_view<const ell_slice, S> slices() const { return slices_; }
  constexpr vector_view<const ell_step<I>, S> steps() const { return steps_; }
  constexpr vector_view<const unsigned char, S> columns() const { return columns_; }
  constexpr vector_view<T, S> values() const { return values_; }
  constexpr vector_view<const I, S> rows() const { return rows_; }
  constexpr vector_view<const row_piece<I>, S> pieces() const { return pieces_; }
  constexpr even_slices even() const { return even_; }

private:
  index<I> shape_{};
  std::int64_t nnz_ = 0;
  vector_view<const ell_slice, S> slices_;
  vector_view<const ell_step<I>, S> steps_;
  vector_view<const unsigned char, S> columns_;
  vector_view<T, S> values_;
  vector_view<const I, S> rows_;
  vector_view<const row_piece<I>, S> pieces_;
  even_slices even_;
};

/// Owner. Made by to_ell_csr.
template <class T, std::signed_integral I = index_t, space S = space::host> struct ell_csr {
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  static constexpr space memory_space = S;

  lacuna::index<I> extent{};
  std::int64_t nnz = 0;
  array<ell_slice, S> slices;
  array<ell_step<I>, S> steps;
  array<unsigned char, S> columns;
  array<T, S> values;
  array<I, S> rows;
  array<row_piece<I>, S> pieces;
  even_slices even;

  lacuna::index<I> shape() const { return extent; }
  [[nodiscard]] std::int64_t size() const { return nnz; }
  ell_csr_view<const T, I, S> view() const {
    return {extent,        nnz,         slices.view(), steps.view(), columns.view(),
            values.view(), rows.view(), pieces.view(), even};
  }
  [[nodiscard]] std::size_t bytes() const {
    return slices.bytes() + steps.bytes() + columns.bytes() + values.bytes() + rows.bytes() +
           pieces.bytes();
  }
};

} // namespace lacuna
