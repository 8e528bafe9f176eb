// Dense matrices: right-hand sides and results of several vectors at once.
//
// Invariants, tested by check(): ld >= cols if row-major, ld >= rows if column-major; element
// (i, j) is at values[i * ld + j] or values[i + j * ld].
#pragma once

#include <lacuna/format/common.hpp>

namespace lacuna {

enum class layout { row_major, column_major };

/// View of a dense matrix. Shapes are 64-bit: a dense matrix has no index array to save.
template <class T, space S = space::host> class dense_view {
public:
  using scalar_type = std::remove_const_t<T>;
  static constexpr space memory_space = S;
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");

  constexpr dense_view() = default;
  /// ld is the distance of rows (row-major) or columns (column-major); 0: no gap. Throws
  /// size_mismatch if rows or columns would overlap.
  constexpr dense_view(T* values, index<std::int64_t> shape,
                       lacuna::layout l = lacuna::layout::row_major, std::int64_t ld = 0)
      : values_(values), shape_(shape), layout_(l),
        ld_(ld != 0 ? ld : (l == lacuna::layout::row_major ? shape.col : shape.row)) {
    if (shape.row < 0 || shape.col < 0)
      detail::throw_bad_shape("dense_view", shape.row, shape.col, 0);
    const std::int64_t least = l == lacuna::layout::row_major ? shape.col : shape.row;
    if (ld_ < least) detail::throw_small_ld(ld_, least);
  }
  /// Over a host range; throws size_mismatch if it is too short.
  template <std::ranges::contiguous_range V>
    requires(S == space::host)
  dense_view(V&& values, index<std::int64_t> shape, lacuna::layout l = lacuna::layout::row_major,
             std::int64_t ld = 0)
      : dense_view(std::ranges::data(values), shape, l, ld) {
    detail::require_lasting<V>();
    detail::require_room("dense_view", "values", std::ssize(values), extent());
  }
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr dense_view(const dense_view<U, S>& a) // NOLINT(google-explicit-constructor)
      : dense_view(a.data(), a.shape(), a.layout(), a.ld()) {}

  constexpr T* data() const { return values_; }
  constexpr index<std::int64_t> shape() const { return shape_; }
  constexpr lacuna::layout layout() const { return layout_; }
  constexpr std::int64_t ld() const { return ld_; }
  /// Elements from the first to one past the last, gaps included.
  constexpr std::int64_t extent() const {
    if (shape_.row == 0 || shape_.col == 0) return 0;
    return (shape_.row - 1) * row_stride() + (shape_.col - 1) * col_stride() + 1;
  }
  /// Distance in elements from (i, j) to (i + 1, j), and to (i, j + 1).
  constexpr std::int64_t row_stride() const {
    return layout_ == lacuna::layout::row_major ? ld_ : 1;
  }
  constexpr std::int64_t col_stride() const {
    return layout_ == lacuna::layout::row_major ? 1 : ld_;
  }
  constexpr T& operator()(std::int64_t i, std::int64_t j) const requires(S == space::host) {
    return values_[i * row_stride() + j * col_stride()];
  }

private:
  T* values_ = nullptr;
  index<std::int64_t> shape_{};
  lacuna::layout layout_ = lacuna::layout::row_major;
  std::int64_t ld_ = 0;
};

template <class V>
dense_view(V&&, index<std::int64_t>, layout = layout::row_major, std::int64_t = 0)
    -> dense_view<detail::range_element<V>>;
template <class T>
dense_view(T*, index<std::int64_t>, layout = layout::row_major, std::int64_t = 0) -> dense_view<T>;

/// Owner, without gaps. New memory is uninitialised.
template <class T, space S = space::host> class dense {
public:
  using scalar_type = T;
  using view_type = dense_view<T, S>;
  using const_view_type = dense_view<const T, S>;
  static constexpr space memory_space = S;

  dense() = default;
  dense(const context<S>& ctx, index<std::int64_t> shape,
        lacuna::layout l = lacuna::layout::row_major)
      : shape_(shape), layout_(l) {
    detail::require_shape("dense", shape.row, shape.col, 0);
    values_ = array<T, S>(ctx, checked_mul(shape.row, shape.col));
  }

  view_type view() { return {values_.data(), shape_, layout_}; }
  const_view_type view() const { return {values_.data(), shape_, layout_}; }
  operator view_type() & { return view(); }            // NOLINT(google-explicit-constructor)
  operator const_view_type() const& { return view(); } // NOLINT(google-explicit-constructor)
  operator const_view_type() const&& = delete;         // it would dangle

  vector_view<T, S> values() { return values_.view(); }
  vector_view<const T, S> values() const { return values_.view(); }
  index<std::int64_t> shape() const { return shape_; }
  lacuna::layout layout() const { return layout_; }
  [[nodiscard]] std::size_t bytes() const { return values_.bytes(); }
  T& operator()(std::int64_t i, std::int64_t j) requires(S == space::host) { return view()(i, j); }
  const T& operator()(std::int64_t i, std::int64_t j) const requires(S == space::host) {
    return view()(i, j);
  }

private:
  index<std::int64_t> shape_{};
  lacuna::layout layout_ = lacuna::layout::row_major;
  array<T, S> values_;
};

} // namespace lacuna
