// Coordinates: one (row, column, value) triplet per entry, in any order unless stated.
//
// Invariants, tested by check():
//   rowind, colind and values have nnz elements; 0 <= rowind[k] < rows, 0 <= colind[k] < cols;
//   order().sorted: (row, column) never decreases; order().unique: no pair appears twice.
#pragma once

#include <lacuna/format/common.hpp>

namespace lacuna {

/// View of a COO matrix; a const T makes all three arrays read-only. O counts entries.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class coo_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;
  static_assert(detail::is_value<scalar_type>, "lacuna: values are float or double");
  static_assert(detail::is_index<I> && detail::is_index<O>, "lacuna: indices are int32 or int64");

  constexpr coo_view() = default;
  template <std::integral N>
  constexpr coo_view(T* values, detail::like<T, I>* rowind, detail::like<T, I>* colind,
                     index<I> shape, N nnz, facts f = {})
      : values_(values), rowind_(rowind), colind_(colind), shape_(shape),
        nnz_(detail::integer<O>(nnz, "entries")), facts_(f) {}
  /// Over host ranges; throws size_mismatch if one is too short for nnz.
  template <std::ranges::contiguous_range V, std::ranges::contiguous_range R,
            std::ranges::contiguous_range C, std::integral N>
    requires(S == space::host)
  coo_view(V&& values, R&& rowind, C&& colind, index<I> shape, N nnz, facts f = {})
      : values_(std::ranges::data(values)),
        rowind_(detail::index_pointer<detail::like<T, I>>(std::ranges::data(rowind))),
        colind_(detail::index_pointer<detail::like<T, I>>(std::ranges::data(colind))),
        shape_(shape), nnz_(detail::integer<O>(nnz, "entries")), facts_(f) {
    detail::require_lasting<V>();
    detail::require_lasting<R>();
    detail::require_lasting<C>();
    detail::require_shape("coo_view", shape.row, shape.col, nnz_);
    detail::require_room("coo_view", "values", std::ssize(values), nnz_);
    detail::require_room("coo_view", "rowind", std::ssize(rowind), nnz_);
    detail::require_room("coo_view", "colind", std::ssize(colind), nnz_);
  }
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr coo_view(const coo_view<U, I, O, S>& a) // NOLINT(google-explicit-constructor)
      : coo_view(a.values().data(), a.rowind().data(), a.colind().data(), a.shape(), a.size(),
                 a.order()) {}

  constexpr vector_view<T, S> values() const { return {values_, nnz_}; }
  constexpr vector_view<detail::like<T, I>, S> rowind() const { return {rowind_, nnz_}; }
  constexpr vector_view<detail::like<T, I>, S> colind() const { return {colind_, nnz_}; }
  constexpr index<I> shape() const { return shape_; }
  constexpr O size() const { return nnz_; }
  constexpr facts order() const { return facts_; }

private:
  T* values_ = nullptr;
  detail::like<T, I>* rowind_ = nullptr;
  detail::like<T, I>* colind_ = nullptr;
  index<I> shape_{};
  O nnz_ = 0;
  facts facts_{};
};

template <class V, class R, class C, class J, class N>
coo_view(V&&, R&&, C&&, index<J>, N, facts = {})
    -> coo_view<detail::const_if_any<detail::range_element<V>, detail::range_element<R>,
                                     detail::range_element<C>>,
                detail::index_like<std::ranges::range_value_t<C>>>;
template <class T, class I, class J, class N>
coo_view(T*, I*, I*, index<J>, N, facts = {})
    -> coo_view<detail::const_if_any<T, I>, detail::index_like<std::remove_const_t<I>>>;

/// Owner. New memory is uninitialised: fill it, then state the order.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class coo {
public:
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  using view_type = coo_view<T, I, O, S>;
  using const_view_type = coo_view<const T, I, O, S>;
  static constexpr space memory_space = S;

  coo() = default;
  coo(const context<S>& ctx, index<I> shape, O nnz, facts f = {}) : shape_(shape), facts_(f) {
    detail::require_shape("coo", shape.row, shape.col, nnz);
    rowind_ = array<I, S>(ctx, nnz);
    colind_ = array<I, S>(ctx, nnz);
    values_ = array<T, S>(ctx, nnz);
  }
  /// Takes over three arrays of one length.
  coo(index<I> shape, array<I, S> rowind, array<I, S> colind, array<T, S> values, facts f)
      : shape_(shape), rowind_(std::move(rowind)), colind_(std::move(colind)),
        values_(std::move(values)), facts_(f) {}

  view_type view() {
    return {values_.data(), rowind_.data(), colind_.data(), shape_, size(), facts_};
  }
  const_view_type view() const {
    return {values_.data(), rowind_.data(), colind_.data(), shape_, size(), facts_};
  }
  operator view_type() & { return view(); }            // NOLINT(google-explicit-constructor)
  operator const_view_type() const& { return view(); } // NOLINT(google-explicit-constructor)
  operator const_view_type() const&& = delete;         // it would dangle

  vector_view<T, S> values() { return values_.view(); }
  vector_view<const T, S> values() const { return values_.view(); }
  vector_view<I, S> rowind() { return rowind_.view(); }
  vector_view<const I, S> rowind() const { return rowind_.view(); }
  vector_view<I, S> colind() { return colind_.view(); }
  vector_view<const I, S> colind() const { return colind_.view(); }
  index<I> shape() const { return shape_; }
  O size() const { return static_cast<O>(values_.size()); }
  facts order() const { return facts_; }
  /// States facts about the entries as they are now; check() holds the owner to them.
  void state(facts f) { facts_ = f; }
  [[nodiscard]] std::size_t bytes() const {
    return rowind_.bytes() + colind_.bytes() + values_.bytes();
  }

private:
  index<I> shape_{};
  array<I, S> rowind_;
  array<I, S> colind_;
  array<T, S> values_;
  facts facts_{};
};

} // namespace lacuna
