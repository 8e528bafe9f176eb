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
//
//   auto e = to_ell_csr(ctx, a);            thresholds for this matrix and device
//   multiply(ctx, e, x, y);                 y = A x, one launch
//   auto b = to_csr(ctx, e);                a again, entry by entry
//
// Every row's sum has a fixed order: in its lanes entry by entry, then lane with lane, then piece
// by piece. So results are bitwise repeatable, for any number of threads; with one lane per row
// they are those of a plain loop.
#pragma once

#include <lacuna/op/check.hpp>
#include <lacuna/op/copy.hpp>
#include <lacuna/op/update_values.hpp>

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

/// How rows are dealt out. The letters are those of Matam and Kothapalli.
struct ell_csr_options {
  static constexpr std::int64_t none = std::int64_t{1} << 62;

  std::int64_t long_row = 65;     ///< T: rows of so many entries or more get a warp, or several
  std::int64_t lane_entries = 64; ///< M: entries a lane takes at most; longer rows get more lanes
  std::int64_t piece = 2048;      ///< L: entries of a long row that one warp sums
  std::int64_t window = 8192;     ///< rows are put in order of length within so many; 1: never
  bool packed = true;             ///< false: columns with all their bits
};

/// The paper's thresholds, from the row lengths: T is the multiple of 32 just above the mean length
/// of the rows shorter than 256, at most 256; M that mean, held in 6 .. 32; L = 32 M, or 32 x 32
/// where no row is shorter than 256. `short_rows` and `short_entries` count rows shorter than 256.
LACUNA_EXPORT ell_csr_options paper_thresholds(std::int64_t short_rows, std::int64_t short_entries);

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT ell_csr<T, I> csr_to_ell_csr(const host_context& ctx, csr_view<const T, I, O> a,
                                           const ell_csr_options& options);
template <class T, class I>
LACUNA_EXPORT csr<T, I, std::int64_t> ell_csr_to_csr(const host_context& ctx,
                                                     ell_csr_view<const T, I> a);
template <class T, class I>
LACUNA_EXPORT void check_ell_csr(const host_context& ctx, ell_csr_view<const T, I> a);
/// Several columns one after another: the matrix is read once for each.
template <class T, class I>
LACUNA_EXPORT void multiply_format(const host_context& ctx, T alpha, ell_csr_view<const T, I> a,
                                   dense_view<const T> x, T beta, dense_view<const T> z,
                                   dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits twice, for sizes.
template <class T, class I, class O>
LACUNA_GPU_EXPORT ell_csr<T, I, space::device>
csr_to_ell_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a,
               const ell_csr_options& options);
template <class T, class I>
LACUNA_GPU_EXPORT void
multiply_format(const device_context& ctx, T alpha, ell_csr_view<const T, I, space::device> a,
                dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
                dense_view<T, space::device> y);
} // namespace detail::gpu

/// Costs about 10 products; memory for the result and about 20 bytes a row. Throws bad_input if an
/// option is less than 1.
template <space S, class A>
auto to_ell_csr(const context<S>& ctx, const A& a, const ell_csr_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  detail::require_same_space<S, V>();
  if (std::min({options.long_row, options.lane_entries, options.piece, options.window}) < 1)
    throw bad_input("to_ell_csr: every threshold must be at least 1");
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  if constexpr (S == space::host)
    return detail::cpu::csr_to_ell_csr<T, I, O>(ctx, view, options);
  else
    return detail::gpu::csr_to_ell_csr<T, I, O>(ctx, view, options);
}

template <space S, class T, class I, space From>
ell_csr<std::remove_const_t<T>, I, S> copy_to(const context<S>& ctx, ell_csr_view<T, I, From> a) {
  return {a.shape(),
          a.size(),
          copy_to(ctx, a.slices()),
          copy_to(ctx, a.steps()),
          copy_to(ctx, a.columns()),
          copy_to(ctx, a.values()),
          copy_to(ctx, a.rows()),
          copy_to(ctx, a.pieces()),
          a.even()};
}
template <space S, class T, class I, space From>
auto copy_to(const context<S>& ctx, const ell_csr<T, I, From>& a) {
  return copy_to(ctx, a.view());
}

namespace detail {
using cpu::multiply_format;
using gpu::multiply_format;
} // namespace detail

/// Tests the written invariants; throws bad_input. A matrix on a device is tested on the host, from
/// a copy.
template <class T, class I, space S>
void check(const context<S>& ctx, const ell_csr_view<const T, I, S>& a) {
  if constexpr (S == space::host) {
    detail::cpu::check_ell_csr<T, I>(ctx, a);
  } else {
    ctx.synchronize();
    const host_context host;
    const auto copy = copy_to(host, a);
    detail::cpu::check_ell_csr<T, I>(host, copy.view());
  }
}
template <class T, class I, space S> void check(const context<S>& ctx, const ell_csr<T, I, S>& a) {
  check(ctx, a.view());
}

/// The matrix it was made from, with offsets of 64 bits. From a device by way of the host.
template <class T, class I, space S>
csr<T, I, std::int64_t, S> to_csr(const context<S>& ctx, const ell_csr<T, I, S>& a) {
  if constexpr (S == space::host) {
    return detail::cpu::ell_csr_to_csr<T, I>(ctx, a.view());
  } else {
    ctx.synchronize();
    const host_context host;
    const auto copy = copy_to(host, a);
    return copy_to(ctx, detail::cpu::ell_csr_to_csr<T, I>(host, copy.view()));
  }
}

template <class A>
  requires(!detail::is_context<A>)
auto to_ell_csr(const A& a, const ell_csr_options& options = {}) {
  return to_ell_csr(detail::default_context_for<A>(), a, options);
}

namespace detail::cpu {
/// Values into slices, from values[from[k]], or values[k] where from is null: entry k is the k-th
/// of the rows in rowptr.
template <class T, class I, class O>
LACUNA_EXPORT void place_in_ell_csr(const host_context& ctx, vector_view<const O> rowptr,
                                    const O* from, vector_view<const T> values,
                                    ell_csr_view<T, I> to);
} // namespace detail::cpu
namespace detail::gpu {
/// Queued.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void place_in_ell_csr(const device_context& ctx,
                                        vector_view<const O, space::device> rowptr, const O* from,
                                        vector_view<const T, space::device> values,
                                        ell_csr_view<T, I, space::device> to);
} // namespace detail::gpu
namespace detail {
template <class T, class I, class O, space S>
void place_values(const context<S>& ctx, vector_view<const O, S> rowptr, const O* from,
                  vector_view<const T, S> values, ell_csr<T, I, S>& to) {
  const ell_csr_view<T, I, S> view(to.extent, to.nnz, std::as_const(to.slices).view(),
                                   std::as_const(to.steps).view(), std::as_const(to.columns).view(),
                                   to.values.view(), std::as_const(to.rows).view(),
                                   std::as_const(to.pieces).view(), to.even);
  if constexpr (S == space::host)
    detail::cpu::place_in_ell_csr<T, I, O>(ctx, rowptr, from, values, view);
  else
    detail::gpu::place_in_ell_csr<T, I, O>(ctx, rowptr, from, values, view);
}

} // namespace detail

template <class T, class I, space S, class A>
void update_values(const context<S>& ctx, ell_csr<T, I, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  using O = typename decltype(from)::offset_type;
  detail::place_values<T, I, O, S>(ctx, from.rowptr(), nullptr, from.values(), to);
}

} // namespace lacuna
