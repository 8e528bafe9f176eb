// Block CSR: small dense blocks of b x b entries, b from 2 to 8, one column index each. At home
// where a node of a mesh has several unknowns.
//
//   auto m = to_bsr(ctx, a, {.block = 3});   blocks of 3 x 3, aligned to multiples of 3
//   auto m = to_bsr(ctx, a);                 the size that takes the fewest bytes
//   multiply(ctx, m, x, y);                  y = A x
//   auto b = to_csr(ctx, m);                 a again, sorted; duplicates were added up
//
// Duplicates are added up before they meet x: where x has Inf that may give Inf for CSR's NaN.
//
// A block that lacks entries keeps a mask of those it has: places without an entry take part in
// nothing, so Inf and NaN in x stay where the matrix says. Every row's sum has a fixed order, so
// results are bitwise repeatable: on the host for any number of threads.
//
// Invariants, tested by check():
//   rowptr has an element more than there are block rows, ceil(rows / b), begins with 0, never
//   decreases and ends with the number of blocks;
//   a block's column, or its complement ~column where entries are missing, is inside the matrix;
//   columns of a block row ascend;
//   values has b b places per block, column by column;
//   masks is empty if no block lacks entries, else has one element per block: bit c b + r says that
//   (r, c) is an entry; blocks whose column is not complemented have all b b bits, and no bit is
//   outside the matrix.
#pragma once

#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/update_values.hpp>

namespace lacuna {

/// View; read-only but for a T that is not const.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class bsr_view : public detail::product_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I> && detail::is_index<O>, "lacuna: indices are int32 or int64");

  constexpr bsr_view() = default;
  constexpr bsr_view(index<I> shape, std::int64_t nnz, int block, vector_view<const O, S> rowptr,
                     vector_view<const I, S> colind, vector_view<T, S> values,
                     vector_view<const std::uint64_t, S> masks, bool merged)
      : shape_(shape), nnz_(nnz), block_(block), rowptr_(rowptr), colind_(colind), values_(values),
        masks_(masks), merged_(merged) {}
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr bsr_view(const bsr_view<U, I, O, S>& a) // NOLINT(google-explicit-constructor)
      : bsr_view(a.shape(), a.size(), a.block(), a.rowptr(), a.colind(), a.values(), a.masks(),
                 a.merged()) {}

  constexpr index<I> shape() const { return shape_; }
  /// Entries of the matrix it was made from.
  constexpr std::int64_t size() const { return nnz_; }
  /// b: rows and columns of a block.
  constexpr int block() const { return block_; }
  constexpr std::int64_t block_rows() const { return rowptr_.empty() ? 0 : rowptr_.size() - 1; }
  constexpr vector_view<const O, S> rowptr() const { return rowptr_; }
  constexpr vector_view<const I, S> colind() const { return colind_; }
  constexpr vector_view<T, S> values() const { return values_; }
  constexpr vector_view<const std::uint64_t, S> masks() const { return masks_; }
  /// Whether the matrix had duplicates: some places hold a sum.
  constexpr bool merged() const { return merged_; }

private:
  index<I> shape_{};
  std::int64_t nnz_ = 0;
  int block_ = 2;
  vector_view<const O, S> rowptr_;
  vector_view<const I, S> colind_;
  vector_view<T, S> values_;
  vector_view<const std::uint64_t, S> masks_;
  bool merged_ = false;
};

/// Owner. Made by to_bsr.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
struct bsr {
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  lacuna::index<I> extent{};
  std::int64_t nnz = 0;
  int block = 2;
  array<O, S> rowptr;
  array<I, S> colind;
  array<T, S> values;
  array<std::uint64_t, S> masks;
  bool merged = false;

  lacuna::index<I> shape() const { return extent; }
  [[nodiscard]] std::int64_t size() const { return nnz; }
  bsr_view<const T, I, O, S> view() const {
    return {extent, nnz, block, rowptr.view(), colind.view(), values.view(), masks.view(), merged};
  }
  bsr_view<T, I, O, S> view() {
    return {extent,
            nnz,
            block,
            std::as_const(rowptr).view(),
            std::as_const(colind).view(),
            values.view(),
            std::as_const(masks).view(),
            merged};
  }
  [[nodiscard]] std::size_t bytes() const {
    return rowptr.bytes() + colind.bytes() + values.bytes() + masks.bytes();
  }
};

struct bsr_options {
  int block = 0; ///< 2 to 8; 0: the size with the fewest bytes
};

namespace detail {
/// Which blocks have entries, and which: a bsr without its values.
template <class I, class O, space S> struct bsr_blocks {
  int block;
  array<O, S> rowptr;
  array<I, S> colind;
  array<std::uint64_t, S> masks;
  bool merged;
};
/// New values for a bsr: entry k of the rows in rowptr and colind is values[from[k]], or values[k]
/// where from is null. The pattern is that of the bsr.
template <class T, class I, class O, space S> struct bsr_values {
  vector_view<const O, S> rowptr;
  const I* colind;
  bool sorted; ///< the columns of each row; unsorted ones are searched for
  const O* from;
  const T* values;
  constexpr T value(std::int64_t k) const {
    return values[from == nullptr ? k : std::int64_t{from[k]}];
  }
};
/// A's pattern; the type of values is another's.
template <class T, class I, class O, space S>
csr_view<const float, I, O, S> pattern_of(csr_view<const T, I, O, S> a) {
  return {nullptr, a.rowptr().data(), a.colind().data(), a.shape(), a.size(), a.order()};
}
} // namespace detail

namespace detail::cpu {
/// Blocks of a pattern; block 0: of the size that takes the fewest bytes with values of that size.
template <class I, class O>
LACUNA_EXPORT bsr_blocks<I, O, space::host> find_blocks(const host_context& ctx,
                                                        csr_view<const float, I, O> pattern,
                                                        int block, std::size_t value_bytes);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> bsr_to_csr(const host_context& ctx, bsr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void check_bsr(const host_context& ctx, bsr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void place_in_bsr(const host_context& ctx,
                                const bsr_values<T, I, O, space::host>& from, bsr_view<T, I, O> to);
/// Several columns: a block row is read from memory once for all of them.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_format(const host_context& ctx, T alpha, bsr_view<const T, I, O> a,
                                   dense_view<const T> x, T beta, dense_view<const T> z,
                                   dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits for the number of blocks.
template <class I, class O>
LACUNA_GPU_EXPORT bsr_blocks<I, O, space::device>
find_blocks(const device_context& ctx, csr_view<const float, I, O, space::device> pattern,
            int block, std::size_t value_bytes);
/// Queued.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void place_in_bsr(const device_context& ctx,
                                    const bsr_values<T, I, O, space::device>& from,
                                    bsr_view<T, I, O, space::device> to);
/// Queued. Four columns at a time.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
multiply_format(const device_context& ctx, T alpha, bsr_view<const T, I, O, space::device> a,
                dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
                dense_view<T, space::device> y);
} // namespace detail::gpu

namespace detail {
template <class T, class I, class O, space S>
void place_values(const context<S>& ctx, const bsr_values<T, I, O, S>& from,
                  bsr_view<T, I, O, S> to) {
  if constexpr (S == space::host)
    detail::cpu::place_in_bsr<T, I, O>(ctx, from, to);
  else
    detail::gpu::place_in_bsr<T, I, O>(ctx, from, to);
}
} // namespace detail

/// From a csr matrix or view. Costs a sort of the block columns; scratch: 4 bytes and an index per
/// entry. Throws bad_input if the size is not 0 or 2 to 8.
template <space S, class A>
auto to_bsr(const context<S>& ctx, const A& a, const bsr_options& options = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  if (options.block != 0 && (options.block < 2 || options.block > 8))
    throw bad_input("to_bsr: blocks have 2 to 8 rows, not " + std::to_string(options.block));
  auto blocks = [&] {
    if constexpr (S == space::host)
      return detail::cpu::find_blocks<I, O>(ctx, detail::pattern_of(view), options.block,
                                            sizeof(T));
    else
      return detail::gpu::find_blocks<I, O>(ctx, detail::pattern_of(view), options.block,
                                            sizeof(T));
  }();
  const std::int64_t places = checked_mul(blocks.colind.size(), blocks.block * blocks.block);
  bsr<T, I, O, S> result{view.shape(),
                         view.size(),
                         blocks.block,
                         std::move(blocks.rowptr),
                         std::move(blocks.colind),
                         array<T, S>(ctx, places),
                         std::move(blocks.masks),
                         blocks.merged};
  detail::place_values<T, I, O, S>(
      ctx,
      {view.rowptr(), view.colind().data(), view.order().sorted, nullptr, view.values().data()},
      result.view());
  return result;
}
template <class A>
  requires(!detail::is_context<A>)
auto to_bsr(const A& a, const bsr_options& options = {}) {
  return to_bsr(detail::default_context_for<A>(), a, options);
}

template <space S, class T, class I, class O, space From>
bsr<std::remove_const_t<T>, I, O, S> copy_to(const context<S>& ctx, bsr_view<T, I, O, From> a) {
  return {a.shape(),
          a.size(),
          a.block(),
          copy_to(ctx, a.rowptr()),
          copy_to(ctx, a.colind()),
          copy_to(ctx, a.values()),
          copy_to(ctx, a.masks()),
          a.merged()};
}
template <space S, class T, class I, class O, space From>
auto copy_to(const context<S>& ctx, const bsr<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}

namespace detail {
using cpu::multiply_format;
using gpu::multiply_format;
/// A matrix on a device is tested on the host, from a copy.
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, bsr_view<const T, I, O, S> a) {
  if constexpr (S == space::host) {
    detail::cpu::check_bsr<T, I, O>(ctx, a);
  } else {
    const host_context host;
    const auto copy = copy_to(host, a);
    detail::cpu::check_bsr<T, I, O>(host, copy.view());
  }
}
} // namespace detail

template <class T, class I, class O, space S>
void check(const context<S>& ctx, const bsr<T, I, O, S>& a) {
  detail::check_view(ctx, a.view());
}
template <class T, class I, class O, space S>
void check(const context<S>& ctx, const bsr_view<const T, I, O, S>& a) {
  detail::check_view(ctx, a);
}

/// Sorted and unique. From a device by way of the host.
template <class T, class I, class O, space S>
csr<T, I, O, S> to_csr(const context<S>& ctx, const bsr<T, I, O, S>& a) {
  if constexpr (S == space::host) {
    return detail::cpu::bsr_to_csr<T, I, O>(ctx, a.view());
  } else {
    const host_context host;
    const auto copy = copy_to(host, a);
    return copy_to(ctx, detail::cpu::bsr_to_csr<T, I, O>(host, std::as_const(copy).view()));
  }
}

template <class T, class I, class O, space S, class A>
void update_values(const context<S>& ctx, bsr<T, I, O, S>& to, const A& a) {
  const auto from = detail::new_values_of<T, I, S>(to, a);
  static_assert(std::is_same_v<typename decltype(from)::offset_type, O>,
                "lacuna: operands differ in the width of their offsets");
  detail::place_values<T, I, O, S>(
      ctx,
      {from.rowptr(), from.colind().data(), from.order().sorted, nullptr, from.values().data()},
      to.view());
}

} // namespace lacuna
