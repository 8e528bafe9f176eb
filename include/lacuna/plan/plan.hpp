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

#include <lacuna/op/convert.hpp>
#include <lacuna/plan/storage.hpp>

namespace lacuna {

namespace detail {
LACUNA_EXPORT std::string explain_plan(const plan_decision& decision, const spmv_machine& machine,
                                       const std::string& kernel);
LACUNA_EXPORT std::string plan_as_json(const plan_decision& decision, const spmv_machine& machine,
                                       const std::string& kernel, std::size_t bytes);

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

/// What plan() returns. Moves, does not copy.
template <class T, class I, class O, space S> class planned_operator {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;

  /// Looks at a.
  planned_operator(const context<S>& ctx, csr_view<const T, I, O, S> a, const plan_hints& hints)
      : planned_operator(ctx, ctx, a, hints) {}
  /// Takes a over; if it throws, a is as it was.
  planned_operator(const context<S>& ctx, csr<T, I, O, S>&& a, const plan_hints& hints)
      : planned_operator(ctx, ctx, std::as_const(a).view(), hints) {
    own_ = std::make_shared<csr<T, I, O, S>>(std::move(a));
  }
  /// Products run on ctx, the preparation on `worker`, which it waits for.
  planned_operator(const context<S>& ctx, const context<S>& worker, csr_view<const T, I, O, S> a,
                   const plan_hints& hints)
      : ctx_(ctx), a_(a), machine_(machine_of(ctx)),
        decision_(
            choose_plan(look_at(worker, a, forward(hints)), widths(), machine_, forward(hints))),
        stored_(detail::store(worker, decision_.chosen(), a)) {
    if (hints.transposed_multiplies >= 2) prepare_transposed(worker, with_environment(hints));
    if (hints.value_updates > 0) make_maps(worker, a);
    if (&worker != &ctx) worker.synchronize();
  }
  /// y = A x. x and y are vectors, or dense matrices of several columns; they may not overlap.
  template <class X, class Y> void multiply(const X& x, Y&& y) const {
    run(false, 1, x, 0, x, std::forward<Y>(y));
  }
  /// y = alpha A x + beta y.
  template <class X, class Y> void multiply(double alpha, const X& x, double beta, Y&& y) const {
    run(false, alpha, x, beta, y, y);
  }
  /// y = A^T x. Not announced by transposed_multiplies: by way of A's CSR arrays.
  template <class X, class Y> void multiply_transposed(const X& x, Y&& y) const {
    run(true, 1, x, 0, x, std::forward<Y>(y));
  }
  template <class X, class Y>
  void multiply_transposed(double alpha, const X& x, double beta, Y&& y) const {
    run(true, alpha, x, beta, y, y);
  }

  /// New values, from a matrix of the pattern that was planned (csr, its view; csc is converted
  /// first): afterwards the plan is what plan() would make of `a` in this format, bit by bit. One
  /// pass over the values, at most two products' time; for the transposed matrix and for reordered
  /// plans by a map of an offset an entry, which the first call makes (it costs what making the
  /// format did) unless the hint value_updates had it made. On a device it is queued.
  ///
  /// `a` replaces the matrix that was planned: a plan that owns its matrix copies the values, or
  /// takes a temporary over; one that looks at the caller's looks at `a` from now on. Throws
  /// size_mismatch, out_of_memory: then nothing has changed. A pattern that differs in other than
  /// the number of entries is not noticed.
  template <class A> void update_values(A&& a) {
    if constexpr (detail::is_csc<std::remove_cvref_t<A>>) {
      update_values(to_csr(ctx_, a));
    } else {
      detail::require_can_be_taken<A>();
      const auto [rows, cols] = shape();
      const csr_view<const T, I, O, S> from =
          detail::new_values_of<T, I, S>(rows, cols, a_.size(), a);
      if constexpr (detail::is_given_away<A>) {
        const auto taken = std::make_shared<csr<T, I, O, S>>();
        update(from, taken);
        *taken = std::move(a);
      } else {
        update(from, nullptr);
      }
    }
  }

  [[nodiscard]] lacuna::index<std::int64_t> shape() const {
    return {a_.shape().row, a_.shape().col};
  }
  /// Entries of the matrix.
  [[nodiscard]] std::int64_t size() const { return a_.size(); }
  [[nodiscard]] spmv_format format() const { return decision_.chosen().format; }
  /// The kernel's name, as in the plan's JSON.
  [[nodiscard]] std::string kernel() const {
    const auto* kept = std::get_if<in_csr>(&stored_.held);
    if (kept == nullptr || S == space::host) return name_of(decision_.chosen().kernel);
    switch (kept->found.kernel.method) {
    case spmv_method::rows: return name_of(spmv_class::csr_rows);
    case spmv_method::whole_row_tiles: return name_of(spmv_class::csr_tiles);
    case spmv_method::split_tiles: break;
    }
    return name_of(spmv_class::csr_split);
  }
  /// Memory that the plan owns, in its space; nothing of the caller's is counted.
  [[nodiscard]] std::size_t bytes() const {
    return (own_ ? own_->bytes() : 0) + stored_.bytes() + (transposed_ ? transposed_->bytes() : 0);
  }
  /// Format, kernel, reasons and runners-up, in sentences, a line each.
  [[nodiscard]] std::string explain() const {
    return detail::explain_plan(decision_, machine_, kernel());
  }
  /// The same as a JSON object: format kernel device bytes reasons[] candidates[].
  [[nodiscard]] std::string json() const {
    return detail::plan_as_json(decision_, machine_, kernel(), bytes());
  }
  [[nodiscard]] const plan_decision& decision() const { return decision_; }
  /// The same for the transposed matrix; nothing if no products with it were announced.
  [[nodiscard]] const plan_decision* transposed_decision() const {
    return transposed_ ? &transposed_decision_ : nullptr;
  }
  [[nodiscard]] const context<S>& where() const { return ctx_; }

private:
  friend class async_operator<T, I, O, S>;
  using in_csr = typename detail::planned_storage<T, I, O, S>::in_csr;
  static constexpr type_widths widths() { return {sizeof(T), sizeof(I), sizeof(O)}; }
  /// Where A itself is not multiplied with, it stays as it is whatever format is asked for.
  static plan_hints forward(const plan_hints& hints) {
    plan_hints heeded = with_environment(hints);
    if (hints.multiplies == 0) heeded.format.reset();
    return heeded;
  }
  /// `taken` is about to own what `from` shows; null: the caller keeps it.
  void update(csr_view<const T, I, O, S> from, std::shared_ptr<csr<T, I, O, S>> taken) {
    make_maps(ctx_, from);
    detail::update_stored<T, I, O, S>(ctx_, stored_, from);
    if (transposed_) detail::update_stored<T, I, O, S>(ctx_, *transposed_, from);
    if (own_ && !taken) {
      detail::place_values<T, O, S>(ctx_, nullptr, from.values(), own_->values());
      if (auto* kept = std::get_if<in_csr>(&stored_.held)) kept->a = a_;
    } else {
      own_ = std::move(taken);
      a_ = from;
    }
  }
  /// The ways that values of `a` go, where these are not simply in order. All are there or none.
  void make_maps(const context<S>& ctx, csr_view<const T, I, O, S> a) {
    detail::value_map<O, S> straight, turned;
    if (stored_.is_reordered() && stored_.map.from.empty())
      straight = detail::make_value_map<T, I, O, S>(ctx, stored_, a, false);
    if (transposed_ && transposed_->map.from.empty())
      turned = detail::make_value_map<T, I, O, S>(ctx, *transposed_, a, true);
    if (!straight.from.empty()) stored_.map = std::move(straight);
    if (!turned.from.empty()) transposed_->map = std::move(turned);
  }

  /// What the choice needs: of a matrix that stays in CSR anyway, only its size.
  static spmv_features look_at(const context<S>& ctx, csr_view<const T, I, O, S> a,
                               const plan_hints& hints) {
    const bool stays = hints.format ? *hints.format == spmv_format::csr
                                    : hints.will_change || hints.multiplies < 2;
    if (!stays) return find_features(ctx, a);
    spmv_features size;
    size.rows = a.shape().row;
    size.cols = a.shape().col;
    size.entries = a.size();
    return size;
  }

  void prepare_transposed(const context<S>& worker, const plan_hints& hints) {
    csr<T, I, O, S> turned = transpose(worker, a_);
    plan_hints other = hints;
    other.multiplies = hints.transposed_multiplies;
    const csr_view<const T, I, O, S> view = std::as_const(turned).view();
    transposed_decision_ = choose_plan(look_at(worker, view, other), widths(), machine_, other);
    transposed_.emplace(detail::store(worker, transposed_decision_.chosen(), view));
    if (auto* kept = std::get_if<in_csr>(&transposed_->held)) kept->own = std::move(turned);
  }

  template <class X, class Z, class Y>
  void run(bool transposed, double alpha, const X& x, double beta, const Z& z, Y&& y) const {
    const auto x_view = detail::as_columns(detail::const_view(x));
    const auto z_view = detail::as_columns(detail::const_view(z));
    const auto y_view = detail::as_columns(detail::mutable_view(std::forward<Y>(y)));
    detail::require_same_space<S, decltype(x_view), decltype(y_view)>();
    static_assert(std::is_same_v<typename decltype(x_view)::scalar_type, T> &&
                      std::is_same_v<typename decltype(y_view)::scalar_type, T>,
                  "lacuna: operands differ in value type (float, double)");
    const char* const name = transposed ? "multiply_transposed" : "multiply";
    const auto [rows, cols] = shape();
    detail::require_same_size(name, "x", x_view.shape().row, "columns of the operator",
                              transposed ? rows : cols);
    detail::require_same_size(name, "y", y_view.shape().row, "rows of the operator",
                              transposed ? cols : rows);
    detail::require_same_size(name, "columns of X", x_view.shape().col, "columns of Y",
                              y_view.shape().col);
    detail::require_apart<T>(name, "x", x_view.data(), x_view.extent(), "y", y_view.data(),
                             y_view.extent());
    const T a = static_cast<T>(alpha), b = static_cast<T>(beta);
    if (!transposed)
      return detail::multiply_stored<T, I, O, S>(ctx_, stored_, a, x_view, b, z_view, y_view);
    if (transposed_)
      return detail::multiply_stored<T, I, O, S>(ctx_, *transposed_, a, x_view, b, z_view, y_view);
    lacuna::multiply(ctx_, scaled(alpha, lacuna::transposed(a_)), x_view, scaled(beta, z_view),
                     y_view);
  }

  context<S> ctx_;
  std::shared_ptr<csr<T, I, O, S>> own_; // null: a_ is the caller's
  csr_view<const T, I, O, S> a_;
  spmv_machine machine_;
  plan_decision decision_, transposed_decision_;
  detail::planned_storage<T, I, O, S> stored_;
  std::optional<detail::planned_storage<T, I, O, S>> transposed_;
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
