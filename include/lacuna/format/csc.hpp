// Compressed sparse columns: the CSR arrays of the transpose, so every CSR kernel serves it too.
//
// Invariants, tested by check(): those of csr with rows and columns exchanged:
//   colptr has cols + 1 elements, colptr[0] == 0, never decreases, colptr[cols] == nnz;
//   rowind and values have nnz elements; 0 <= rowind[k] < rows;
//   order().sorted: rows ascend within each column; order().unique: no row twice in a column.
#pragma once

#include <lacuna/format/csr.hpp>

namespace lacuna {

/// View of a CSC matrix; a const T makes all three arrays read-only.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class csc_view {
public:
  using scalar_type = std::remove_const_t<T>;
  using index_type = I;
  using offset_type = O;
  static constexpr space memory_space = S;

  constexpr csc_view() = default;
  template <std::integral N>
  constexpr csc_view(T* values, detail::like<T, O>* colptr, detail::like<T, I>* rowind,
                     index<I> shape, N nnz, facts f = {})
      : t_(values, colptr, rowind, {shape.col, shape.row}, nnz, f) {}
  /// Over host ranges; throws size_mismatch if one is too short for the shape and nnz.
  template <std::ranges::contiguous_range V, std::ranges::contiguous_range P,
            std::ranges::contiguous_range R, std::integral N>
    requires(S == space::host)
  csc_view(V&& values, P&& colptr, R&& rowind, index<I> shape, N nnz, facts f = {})
      : t_(std::forward<V>(values), std::forward<P>(colptr), std::forward<R>(rowind),
           index<I>{shape.col, shape.row}, nnz, f) {}
  /// The same arrays read as columns: the view of A^T in CSR becomes A in CSC.
  constexpr explicit csc_view(csr_view<T, I, O, S> transpose) : t_(transpose) {}
  /// A read-only view of what a writable one shows.
  template <class U>
    requires(std::is_const_v<T>&& std::is_same_v<U, scalar_type>)
  constexpr csc_view(const csc_view<U, I, O, S>& a) // NOLINT(google-explicit-constructor)
      : t_(a.transpose()) {}

  /// As csr_view's.
  void update(vector_view<T, S> values, vector_view<detail::like<T, O>, S> colptr,
              vector_view<detail::like<T, I>, S> rowind) {
    t_.update(values, colptr, rowind);
  }
  template <std::integral N>
  void update(vector_view<T, S> values, vector_view<detail::like<T, O>, S> colptr,
              vector_view<detail::like<T, I>, S> rowind, index<I> shape, N nnz, facts f = {}) {
    t_.update(values, colptr, rowind, {shape.col, shape.row}, nnz, f);
  }

  constexpr vector_view<T, S> values() const { return t_.values(); }
  constexpr vector_view<detail::like<T, O>, S> colptr() const { return t_.rowptr(); }
  constexpr vector_view<detail::like<T, I>, S> rowind() const { return t_.colind(); }
  constexpr index<I> shape() const { return {t_.shape().col, t_.shape().row}; }
  constexpr O size() const { return t_.size(); }
  constexpr std::int64_t capacity() const { return t_.capacity(); }
  constexpr facts order() const { return t_.order(); }
  /// The transpose in CSR, over the same memory.
  constexpr csr_view<T, I, O, S> transpose() const { return t_; }

private:
  csr_view<T, I, O, S> t_;
};

template <class V, class P, class R, class J, class N>
csc_view(V&&, P&&, R&&, index<J>, N, facts = {})
    -> csc_view<detail::const_if_any<detail::range_element<V>, detail::range_element<P>,
                                     detail::range_element<R>>,
                detail::index_like<std::ranges::range_value_t<R>>,
                detail::index_like<std::ranges::range_value_t<P>>>;
template <class T, class O, class I, class J, class N>
csc_view(T*, O*, I*, index<J>, N, facts = {})
    -> csc_view<detail::const_if_any<T, O, I>, detail::index_like<std::remove_const_t<I>>,
                detail::index_like<std::remove_const_t<O>>>;

/// Owner. New memory is uninitialised: fill it, then state the order.
template <class T, std::signed_integral I = index_t, std::signed_integral O = I,
          space S = space::host>
class csc {
public:
  using scalar_type = T;
  using index_type = I;
  using offset_type = O;
  using view_type = csc_view<T, I, O, S>;
  using const_view_type = csc_view<const T, I, O, S>;
  static constexpr space memory_space = S;

  csc() = default;
  csc(const context<S>& ctx, index<I> shape, O nnz, facts f = {})
      : t_(ctx, {shape.col, shape.row}, nnz, f) {}
  /// Takes over A^T in CSR and calls it A in CSC.
  explicit csc(csr<T, I, O, S> transpose) : t_(std::move(transpose)) {}

  view_type view() { return view_type(t_.view()); }
  const_view_type view() const { return const_view_type(t_.view()); }
  operator view_type() & { return view(); }            // NOLINT(google-explicit-constructor)
  operator const_view_type() const& { return view(); } // NOLINT(google-explicit-constructor)
  operator const_view_type() const&& = delete;         // it would dangle

  vector_view<T, S> values() { return t_.values(); }
  vector_view<const T, S> values() const { return t_.values(); }
  vector_view<O, S> colptr() { return t_.rowptr(); }
  vector_view<const O, S> colptr() const { return t_.rowptr(); }
  vector_view<I, S> rowind() { return t_.colind(); }
  vector_view<const I, S> rowind() const { return t_.colind(); }
  index<I> shape() const { return {t_.shape().col, t_.shape().row}; }
  O size() const { return t_.size(); }
  facts order() const { return t_.order(); }
  void state(facts f) { t_.state(f); }
  [[nodiscard]] std::size_t bytes() const { return t_.bytes(); }
  /// The transpose in CSR, over the same memory.
  csr<T, I, O, S>& transpose() { return t_; }
  const csr<T, I, O, S>& transpose() const { return t_; }

private:
  csr<T, I, O, S> t_;
};

} // namespace lacuna
