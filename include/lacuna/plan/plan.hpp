// plan(ctx, a): looks at a matrix once, keeps it in the format that multiplies fastest here, and
// says why.
//
//   auto op = plan(ctx, a, {.multiplies = 1000});
//   op.multiply(x, y);                 y = A x
//   op.multiply_transposed(x, y);      y = A^T x; announce with transposed_multiplies
//   op.multiply(X, Y);                 several vectors at once
//   op.explain(), op.json(), op.bytes()
//
//   op.update_values(a);               new values, the same pattern: nothing is chosen again
//
//   auto op = plan(ctx, a, {.updates = 50});       entries will be inserted or erased
//   insert(ctx, op.dynamic(), batch);
//
// Who owns what: the plan owns what it made. Given a matrix that lives elsewhere (an owner by name,
// a view), it keeps no copy where CSR is the answer but looks at the caller's arrays, and so do
// products with the transposed matrix that were not announced: keep `a` alive and its pattern
// unchanged as long as the plan. Given a temporary, or std::move(a), it takes the matrix over.
// Changed values are seen after update_values; a plan in CSR that looks at the caller's arrays sees
// them at once.
//
// Several threads may multiply with one plan at the same time; update_values wants it alone.
// Results are bitwise repeatable for the same plan. Plans with different formats differ in bits.
#pragma once

#include <memory>

#include <lacuna/op/convert.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/update_values.hpp>
#include <lacuna/plan/decision.hpp>

namespace lacuna {

namespace detail {
template <class A> inline constexpr bool is_csr_owner = false;
template <class T, class I, class O, space S>
inline constexpr bool is_csr_owner<csr<T, I, O, S>> = true;
template <class A> inline constexpr bool is_csc = false;
template <class T, class I, class O, space S> inline constexpr bool is_csc<csc<T, I, O, S>> = true;
template <class T, class I, class O, space S>
inline constexpr bool is_csc<csc_view<T, I, O, S>> = true;
/// A csr matrix that was passed as a temporary or by std::move: it is taken over.
template <class A>
inline constexpr bool is_given_away =
    !std::is_lvalue_reference_v<A> && is_csr_owner<std::remove_cvref_t<A>>;
template <class A> constexpr void require_can_be_taken() {
  static_assert(!(is_given_away<A> && std::is_const_v<A>),
                "lacuna: a const temporary can be neither looked at nor taken over");
}
} // namespace detail

template <class T, class I, class O, space S> class async_operator;
template <class T, std::signed_integral I, std::signed_integral O, space S> class dynamic_csr;

/// What plan() returns. Moves, does not copy.
template <class T, class I, class O, space S> class LACUNA_EXPORT planned_operator {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;

  /// Looks at a.
  planned_operator(const context<S>& ctx, csr_view<const T, I, O, S> a, const plan_hints& hints);
  /// Takes a over; if it throws, a is as it was.
  planned_operator(const context<S>& ctx, csr<T, I, O, S>&& a, const plan_hints& hints);
  planned_operator(planned_operator&&) noexcept;
  planned_operator& operator=(planned_operator&&) noexcept;
  ~planned_operator();

  /// y = A x. x and y are vectors, or dense matrices of several columns; they may not overlap.
  template <class X, class Y> void multiply(const X& x, Y&& y) const {
    multiply_stored(false, 1, in(x), 0, in(x), out(std::forward<Y>(y)));
  }
  /// y = alpha A x + beta y.
  template <class X, class Y> void multiply(double alpha, const X& x, double beta, Y&& y) const {
    multiply_stored(false, alpha, in(x), beta, in(y), out(std::forward<Y>(y)));
  }
  /// y = alpha A x + beta z, on another context of the plan's device: a stream that is captured.
  template <class X, class Z, class Y>
  void multiply(const context<S>& ctx, double alpha, const X& x, double beta, const Z& z,
                Y&& y) const {
    multiply_stored(false, alpha, in(x), beta, in(z), out(std::forward<Y>(y)), &ctx);
  }
  /// y = A^T x. Not announced by transposed_multiplies: by way of A's CSR arrays.
  template <class X, class Y> void multiply_transposed(const X& x, Y&& y) const {
    multiply_stored(true, 1, in(x), 0, in(x), out(std::forward<Y>(y)));
  }
  template <class X, class Y>
  void multiply_transposed(double alpha, const X& x, double beta, Y&& y) const {
    multiply_stored(true, alpha, in(x), beta, in(y), out(std::forward<Y>(y)));
  }

  /// New values, from a matrix of the pattern that was planned (csr, its view; csc is converted
  /// first): afterwards the plan is what plan() would make of `a` in this format, bit by bit. One
  /// pass over the values, at most two products' time; for the transposed matrix and for reordered
  /// plans by a map of one offset per entry, which the first call makes (it costs what making the
  /// format did) unless the hint value_updates had it made. On a device it is queued.
  ///
  /// `a` replaces the matrix that was planned: a plan that owns its matrix copies the values, or
  /// takes a temporary over; one that looks at the caller's looks at `a` from now on. Throws
  /// size_mismatch, out_of_memory: then nothing has changed. A pattern that differs in other than
  /// the number of entries is not noticed.
  template <class A> void update_values(A&& a) {
    if constexpr (detail::is_csc<std::remove_cvref_t<A>>) {
      update_values(to_csr(where(), a));
    } else {
      detail::require_can_be_taken<A>();
      const auto [rows, cols] = shape();
      const csr_view<const T, I, O, S> from = detail::new_values_of<T, I, S>(rows, cols, size(), a);
      if constexpr (detail::is_given_away<A>)
        update(std::move(a));
      else
        update(from);
    }
  }

  /// The matrix of a plan with announced updates, for insert, erase and the like (op/update.hpp):
  /// products, with its transpose too, see what it holds. Alone, as update_values. Throws
  /// unsupported if the format is another than dynamic_csr.
  dynamic_csr<T, I, O, S>& dynamic();

  [[nodiscard]] lacuna::index<std::int64_t> shape() const;
  /// Entries of the matrix.
  [[nodiscard]] std::int64_t size() const;
  /// "ell_csr": one of planned_formats().
  [[nodiscard]] const std::string& format() const;
  /// The kernel's name, as in the plan's JSON.
  [[nodiscard]] std::string kernel() const;
  /// Memory that the plan owns, in its space; nothing of the caller's is counted.
  [[nodiscard]] std::size_t bytes() const;
  /// Format, kernel, reasons and runners-up, in sentences, one per line.
  [[nodiscard]] std::string explain() const;
  /// The same as a JSON object: format kernel device bytes reasons[] candidates[].
  [[nodiscard]] std::string json() const;
  [[nodiscard]] const plan_decision& decision() const;
  /// The same for the transposed matrix; nothing if no products with it were announced.
  [[nodiscard]] const plan_decision* transposed_decision() const;
  [[nodiscard]] const context<S>& where() const;

private:
  friend class async_operator<T, I, O, S>;
  struct state;
  explicit planned_operator(std::unique_ptr<state> made);

  template <class V> static V checked(V v) {
    detail::require_same_space<S, V>();
    detail::require_same_value<T, V>();
    return v;
  }
  /// A vector as a matrix of one column; a dense matrix as it is.
  template <class X> static auto in(const X& x) {
    return checked(detail::as_columns(detail::const_view(x)));
  }
  template <class Y> static auto out(Y&& y) {
    return checked(detail::as_columns(detail::mutable_view(std::forward<Y>(y))));
  }
  /// Checks sizes, and multiplies with what is stored; without ctx on the plan's own.
  void multiply_stored(bool transposed, double alpha, dense_view<const T, S> x, double beta,
                       dense_view<const T, S> z, dense_view<T, S> y,
                       const context<S>* ctx = nullptr) const;
  void update(csr_view<const T, I, O, S> from);
  void update(csr<T, I, O, S>&& from);

  std::unique_ptr<state> state_;
};

/// Looks at `a` (csr, csc or a view) and makes the format that is predicted to be fastest. Costs a
/// fraction of a product, and the conversion if one pays; csc is converted to csr first, which the
/// plan owns. A temporary csr, or one that is moved, is taken over, any other matrix is looked at
/// as long as the plan lives. Waits for the device. Throws bad_input, out_of_memory; `a` is not
/// changed then.
template <space S, class A> auto plan(const context<S>& ctx, A&& a, const plan_hints& hints = {}) {
  detail::require_can_be_taken<A>();
  if constexpr (detail::is_csc<std::remove_cvref_t<A>>) {
    return plan(ctx, to_csr(ctx, a), hints);
  } else {
    const auto view = detail::const_view(a);
    using V = decltype(view);
    detail::require_same_space<S, V>();
    using operator_type = planned_operator<typename V::scalar_type, typename V::index_type,
                                           typename V::offset_type, S>;
    if constexpr (detail::is_given_away<A>)
      return operator_type(ctx, std::move(a), hints);
    else
      return operator_type(ctx, view, hints);
  }
}

template <class A>
  requires(!detail::is_context<std::remove_cvref_t<A>>)
auto plan(A&& a, const plan_hints& hints = {}) {
  return plan(detail::default_context_for<std::remove_cvref_t<A>>(), std::forward<A>(a), hints);
}

} // namespace lacuna
