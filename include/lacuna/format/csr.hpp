// Compressed sparse rows.
//
// Invariants, tested by check():
//   rowptr has rows + 1 elements, rowptr[0] == 0, never decreases, rowptr[rows] == nnz;
//   colind and values have nnz elements; 0 <= colind[k] < cols;
//   order().sorted: columns ascend within each row; order().unique: no column twice in a row.
// Explicit zeros are entries like any other.
#pragma once

#include <tuple>

#include <lacuna/format/common.hpp>

namespace lacuna {

/// View of a CSR matrix; same constructors and accessors as the C++ Sparse BLAS. A const T makes
/// all three arrays read-only. The arrays may have room for more than the nnz entries there are:
/// operations that write a result into a view use that capacity and set its size.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class csr_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I> && detail::is_index<O>, "lacuna: indices are int32 or int64");

  constexpr csr_view() = default;
  /// nnz is an integer of any type; throws bad_input if it does not fit O.
  template <std::integral N>
  constexpr csr_view(T* values, detail::like<T, O>* rowptr, detail::like<T, I>* colind,
                     index<I> shape, N nnz, facts f = {})
      : values_(values), rowptr_(rowptr), colind_(colind), shape_(shape),
        nnz_(detail::integer<O>(nnz, "entries")), capacity_(nnz_), facts_(f) {}
  /// Over pointers to other integers of the same width: long long is int64_t.
  template <class P, class J, std::integral N>
    requires(!std::is_same_v<P, detail::like<T, O>> || !std::is_same_v<J, detail::like<T, I>>)
  constexpr csr_view(T* values, P* rowptr, J* colind, index<I> shape, N nnz, facts f = {})
      : csr_view(values, detail::index_pointer<detail::like<T, O>>(rowptr),
                 detail::index_pointer<detail::like<T, I>>(colind), shape, nnz, f) {}
  /// Over host ranges; throws size_mismatch if one is too short for the shape and nnz.
  template <std::ranges::contiguous_range V, std::ranges::contiguous_range R,
            std::ranges::contiguous_range C, std::integral N>
    requires(S == space::host)
  csr_view(V&& values, R&& rowptr, C&& colind, index<I> shape, N nnz, facts f = {})
      : shape_(shape), nnz_(detail::integer<O>(nnz, "entries")), facts_(f) {
    detail::require_lasting<V>();
    detail::require_lasting<R>();
    detail::require_lasting<C>();
    detail::require_shape("csr_view", shape.row, shape.col, nnz_);
    take(
        {std::ranges::data(values), std::ssize(values)},
        {detail::index_pointer<detail::like<T, O>>(std::ranges::data(rowptr)), std::ssize(rowptr)},
        {detail::index_pointer<detail::like<T, I>>(std::ranges::data(colind)), std::ssize(colind)});
  }
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr csr_view(const csr_view<U, I, O, S>& a) // NOLINT(google-explicit-constructor)
      : csr_view(a.values().data(), a.rowptr().data(), a.colind().data(), a.shape(), a.size(),
                 a.order()) {
    capacity_ = a.capacity();
  }

  /// Other arrays for the same shape and number of entries, as after an operation has told how many
  /// entries its result will have. Throws size_mismatch if one is too short.
  void update(vector_view<T, S> values, vector_view<detail::like<T, O>, S> rowptr,
              vector_view<detail::like<T, I>, S> colind) {
    take(values, rowptr, colind);
  }
  template <std::integral N>
  void update(vector_view<T, S> values, vector_view<detail::like<T, O>, S> rowptr,
              vector_view<detail::like<T, I>, S> colind, index<I> shape, N nnz, facts f = {}) {
    csr_view other;
    other.shape_ = shape;
    other.nnz_ = detail::integer<O>(nnz, "entries");
    other.facts_ = f;
    detail::require_shape("csr_view", shape.row, shape.col, other.nnz_);
    other.take(values, rowptr, colind);
    *this = other;
  }

  constexpr vector_view<T, S> values() const { return {values_, nnz_}; }
  /// Empty if there is none: a matrix that was default-constructed or moved from.
  constexpr vector_view<detail::like<T, O>, S> rowptr() const {
    return {rowptr_, rowptr_ == nullptr ? 0 : std::int64_t{shape_.row} + 1};
  }
  constexpr vector_view<detail::like<T, I>, S> colind() const { return {colind_, nnz_}; }
  constexpr index<I> shape() const { return shape_; }
  constexpr O size() const { return nnz_; }
  /// Entries that values and colind have room for.
  constexpr std::int64_t capacity() const { return capacity_; }
  constexpr facts order() const { return facts_; }

private:
  void take(vector_view<T, S> values, vector_view<detail::like<T, O>, S> rowptr,
            vector_view<detail::like<T, I>, S> colind) {
    detail::require_room("csr_view", "values", values.size(), nnz_);
    detail::require_room("csr_view", "rowptr", rowptr.size(), std::int64_t{shape_.row} + 1);
    detail::require_room("csr_view", "colind", colind.size(), nnz_);
    values_ = values.data();
    rowptr_ = rowptr.data();
    colind_ = colind.data();
    capacity_ = std::min(values.size(), colind.size());
  }

  T* values_ = nullptr;
  detail::like<T, O>* rowptr_ = nullptr;
  detail::like<T, I>* colind_ = nullptr;
  index<I> shape_{};
  O nnz_ = 0;
  std::int64_t capacity_ = 0;
  facts facts_{};
};

/// Types follow the arrays: indices from colind, offsets from rowptr; read-only if one of them is.
template <class V, class R, class C, class J, class N>
csr_view(V&&, R&&, C&&, index<J>, N, facts = {})
    -> csr_view<detail::const_if_any<detail::range_element<V>, detail::range_element<R>,
                                     detail::range_element<C>>,
                detail::index_like<std::ranges::range_value_t<C>>,
                detail::index_like<std::ranges::range_value_t<R>>>;
template <class T, class O, class I, class J, class N>
csr_view(T*, O*, I*, index<J>, N, facts = {})
    -> csr_view<detail::const_if_any<T, O, I>, detail::index_like<std::remove_const_t<I>>,
                detail::index_like<std::remove_const_t<O>>>;

/// Owner. New memory is uninitialised: fill it, then state the order.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class csr {
public:
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  using view_type = csr_view<T, I, O, S>;
  using const_view_type = csr_view<const T, I, O, S>;
  static constexpr space memory_space = S;

  csr() = default;
  csr(const context<S>& ctx, index<I> shape, O nnz, facts f = {}) : shape_(shape), facts_(f) {
    detail::require_shape("csr", shape.row, shape.col, nnz);
    rowptr_ = array<O, S>(ctx, std::int64_t{shape.row} + 1);
    colind_ = array<I, S>(ctx, nnz);
    values_ = array<T, S>(ctx, nnz);
  }
  /// Takes over arrays that fit the shape.
  csr(index<I> shape, array<O, S> rowptr, array<I, S> colind, array<T, S> values, facts f)
      : shape_(shape), rowptr_(std::move(rowptr)), colind_(std::move(colind)),
        values_(std::move(values)), facts_(f) {}

  view_type view() {
    return {values_.data(), rowptr_.data(), colind_.data(), shape_, size(), facts_};
  }
  const_view_type view() const {
    return {values_.data(), rowptr_.data(), colind_.data(), shape_, size(), facts_};
  }
  operator view_type() & { return view(); }            // NOLINT(google-explicit-constructor)
  operator const_view_type() const& { return view(); } // NOLINT(google-explicit-constructor)
  operator const_view_type() const&& = delete;         // it would dangle

  /// The three arrays, given away: rowptr, colind, values.
  std::tuple<array<O, S>, array<I, S>, array<T, S>> release() && {
    shape_ = {};
    return {std::move(rowptr_), std::move(colind_), std::move(values_)};
  }

  vector_view<T, S> values() { return values_.view(); }
  vector_view<const T, S> values() const { return values_.view(); }
  vector_view<O, S> rowptr() { return rowptr_.view(); }
  vector_view<const O, S> rowptr() const { return rowptr_.view(); }
  vector_view<I, S> colind() { return colind_.view(); }
  vector_view<const I, S> colind() const { return colind_.view(); }
  index<I> shape() const { return shape_; }
  O size() const { return static_cast<O>(values_.size()); }
  facts order() const { return facts_; }
  /// States facts about the entries as they are now; check() holds the owner to them.
  void state(facts f) { facts_ = f; }
  [[nodiscard]] std::size_t bytes() const {
    return rowptr_.bytes() + colind_.bytes() + values_.bytes();
  }

private:
  index<I> shape_{};
  array<O, S> rowptr_;
  array<I, S> colind_;
  array<T, S> values_;
  facts facts_{};
};

} // namespace lacuna
