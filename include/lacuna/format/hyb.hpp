// HYB: as many entries of every row as most rows have in ELL, the rest in CSR.
//
// After Bell and Garland (2009), whose rest is in coordinates. The ELL part has `width` columns of
// `stride` places, one a row, stored column by column: entry k of row i is at k stride + i. Places
// without an entry hold column -1 and value 0. The rest has the shape of the whole matrix; only
// rows of more than `width` entries have some there.
//
// Invariants, tested by check():
//   stride is the number of rows, rounded up to a multiple of 32; columns and values have width
//   times stride elements;
//   a row's entries come before its places without one; places beyond the last row have none;
//   columns are inside the matrix or -1, and values are 0 there;
//   the rest is a valid CSR matrix of the same shape, and where a row has entries there, all its
//   places are taken; the entries of both add up to nnz.
#pragma once

#include <lacuna/format/csr.hpp>

namespace lacuna {

/// View; read-only but for a T that is not const.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class hyb_view : public detail::product_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  constexpr hyb_view() = default;
  constexpr hyb_view(index<I> shape, std::int64_t nnz, std::int64_t width, std::int64_t stride,
                     vector_view<detail::like<T, I>, S> columns, vector_view<T, S> values,
                     csr_view<T, I, O, S> rest)
      : shape_(shape), nnz_(nnz), width_(width), stride_(stride), columns_(columns),
        values_(values), rest_(rest) {}
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr hyb_view(const hyb_view<U, I, O, S>& a) // NOLINT(google-explicit-constructor)
      : hyb_view(a.shape(), a.size(), a.width(), a.stride(), a.columns(), a.values(), a.rest()) {}

  constexpr index<I> shape() const { return shape_; }
  constexpr std::int64_t size() const { return nnz_; }
  constexpr std::int64_t width() const { return width_; }
  constexpr std::int64_t stride() const { return stride_; }
  constexpr vector_view<detail::like<T, I>, S> columns() const { return columns_; }
  constexpr vector_view<T, S> values() const { return values_; }
  constexpr csr_view<T, I, O, S> rest() const { return rest_; }

private:
  index<I> shape_{};
  std::int64_t nnz_ = 0;
  std::int64_t width_ = 0;
  std::int64_t stride_ = 0;
  vector_view<detail::like<T, I>, S> columns_;
  vector_view<T, S> values_;
  csr_view<T, I, O, S> rest_;
};

/// Owner. Made by to_hyb.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
struct hyb {
  using product_format = void;
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  lacuna::index<I> extent{};
  std::int64_t nnz = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;
  array<I, S> columns;
  array<T, S> values;
  csr<T, I, O, S> rest;

  lacuna::index<I> shape() const { return extent; }
  [[nodiscard]] std::int64_t size() const { return nnz; }
  hyb_view<const T, I, O, S> view() const {
    return {extent, nnz, width, stride, columns.view(), values.view(), rest.view()};
  }
  [[nodiscard]] std::size_t bytes() const {
    return columns.bytes() + values.bytes() + rest.bytes();
  }
};

} // namespace lacuna
