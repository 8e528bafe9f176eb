// plan(ctx, a): looks at a matrix once, keeps it in the format that multiplies fastest here, and
// says why.
//
//   auto op = plan(ctx, a, {.multiplies = 1000});
//   op.multiply(x, y);                 y = A x
//   op.multiply_transposed(x, y);      y = A^T x; announce with transposed_multiplies
//   op.multiply(X, Y);                 several vectors at once
//   op.explain(), op.json(), op.bytes()
//
// The plan owns what it made. Where CSR is the answer it keeps no copy but looks at a's arrays, and
// so do products with the transposed matrix that were not announced: keep `a` alive and its pattern
// unchanged as long as the plan. Values: a plan in CSR sees changed values, any other does not.
//
// Results are bitwise repeatable for the same plan. Plans with different formats differ in bits.
#pragma once

#include <memory>
#include <variant>

#include <lacuna/op/packed_csr.hpp>
#include <lacuna/plan/choose.hpp>

namespace lacuna {

namespace detail {
LACUNA_EXPORT std::string explain_plan(const plan_decision& decision, const spmv_machine& machine,
                                       const std::string& kernel);
LACUNA_EXPORT std::string plan_as_json(const plan_decision& decision, const spmv_machine& machine,
                                       const std::string& kernel, std::size_t bytes);

/// A reordered matrix, and room for the vectors in its order.
template <class T, class I, class O> struct reordered_csr_k {
  permutation<I> order;
  csr_k<T, I, O> matrix;
};

/// A matrix in the format that was chosen.
template <class T, class I, class O, space S> struct planned_storage {
  /// In place: the caller's arrays, or a transposed copy of them.
  struct in_csr {
    csr<T, I, O, S> own;
    csr_view<const T, I, O, S> a;
    multiply_inspection<T, I, O, S> found;
  };
  std::variant<in_csr, packed_csr<T, I, O, S>, ell_csr<T, I, S>, csr_k<T, I, O, S>,
               reordered_csr_k<T, I, O>>
      held;

  [[nodiscard]] std::size_t bytes() const {
    return std::visit(
        [](const auto& m) -> std::size_t {
          using M = std::remove_cvref_t<decltype(m)>;
          if constexpr (std::is_same_v<M, in_csr>)
            return m.own.bytes() + m.found.tiles.bytes();
          else if constexpr (std::is_same_v<M, reordered_csr_k<T, I, O>>)
            return m.matrix.bytes() + 2 * sizeof(I) * static_cast<std::size_t>(m.order.size());
          else
            return m.bytes();
        },
        held);
  }
};

template <class T, class I, class O, space S>
planned_storage<T, I, O, S> store(const context<S>& ctx, const plan_candidate& chosen,
                                  csr_view<const T, I, O, S> a) {
  using storage = planned_storage<T, I, O, S>;
  switch (chosen.format) {
  case spmv_format::packed_csr: return {to_packed_csr(ctx, a)};
  case spmv_format::ell_csr: return {to_ell_csr(ctx, a, chosen.ell)};
  case spmv_format::csr_k:
    if constexpr (S == space::host)
      if (chosen.reordered) {
        auto band = band_k(ctx, a, {chosen.csr_k.super_row});
        auto matrix = to_csr_k(ctx, permute(ctx, a, band.order), band);
        return {reordered_csr_k<T, I, O>{std::move(band.order), std::move(matrix)}};
      }
    return {to_csr_k(ctx, a, chosen.csr_k)};
  case spmv_format::csr: break;
  }
  typename storage::in_csr kept{{}, a, {}};
  kept.found.nnz = a.size();
  if constexpr (S == space::host)
    cpu::inspect_csr<T, I, O>(ctx, a, kept.found);
  else
    gpu::inspect_csr<T, I, O>(ctx, a, kept.found);
  return {std::move(kept)};
}

/// Y = alpha A X + beta Z with what is held.
template <class T, class I, class O, space S>
void multiply_stored(const context<S>& ctx, const planned_storage<T, I, O, S>& s, T alpha,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  using storage = planned_storage<T, I, O, S>;
  std::visit(
      [&](const auto& m) {
        using M = std::remove_cvref_t<decltype(m)>;
        if constexpr (std::is_same_v<M, typename storage::in_csr>) {
          const bool vectors = y.shape().col == 1 && x.row_stride() == 1 && y.row_stride() == 1 &&
                               (beta == T{0} || z.row_stride() == 1);
          const vector_view<const T, S> from(x.data(), x.shape().row), add(z.data(), z.shape().row);
          const vector_view<T, S> to(y.data(), y.shape().row);
          if constexpr (S == space::host) {
            if (vectors) return cpu::multiply_csr<T, I, O>(ctx, alpha, m.a, from, beta, add, to);
            cpu::multiply_csr_dense<T, I, O>(ctx, alpha, m.a, x, beta, z, y);
          } else {
            if (vectors)
              return gpu::multiply_csr<T, I, O>(ctx, &m.found, alpha, m.a, from, beta, add, to);
            gpu::multiply_csr_dense<T, I, O>(ctx, alpha, m.a, x, beta, z, y);
          }
        } else if constexpr (std::is_same_v<M, reordered_csr_k<T, I, O>>) {
          if constexpr (S == space::host) multiply_reordered(ctx, m, alpha, x, beta, z, y);
        } else {
          multiply_format(ctx, alpha, m.view(), x, beta, z, y);
        }
      },
      s.held);
}

/// Vectors go to the matrix's order and back, column by column.
template <class T, class I, class O>
void multiply_reordered(const host_context& ctx, const reordered_csr_k<T, I, O>& m, T alpha,
                        dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y) {
  const std::int64_t n = m.order.size();
  array<T> inside(ctx, n), sums(ctx, n);
  const auto to_old = m.order.new_to_old();
  const auto column = [](auto v, std::int64_t j) {
    return [v, j](std::int64_t i) -> decltype(auto) { return v(i, j); };
  };
  for (std::int64_t j = 0; j < y.shape().col; ++j) {
    const auto from = column(x, j), add = column(z, j);
    const auto to = column(y, j);
    for (std::int64_t i = 0; i < n; ++i) inside[i] = from(to_old[i]);
    multiply(ctx, m.matrix, inside, sums);
    for (std::int64_t i = 0; i < n; ++i) {
      T& result = to(to_old[i]);
      result = beta == T{0} ? alpha * sums[i] : alpha * sums[i] + beta * add(to_old[i]);
    }
  }
}
} // namespace detail

/// What plan() returns. Moves, does not copy.
template <class T, class I, class O, space S> class planned_operator {
public:
  using scalar_type = T;
  static constexpr space memory_space = S;

  planned_operator(const context<S>& ctx, csr_view<const T, I, O, S> a, const plan_hints& hints)
      : planned_operator(ctx, ctx, a, hints) {}
  /// Products run on ctx, the preparation on `worker`, which it waits for.
  planned_operator(const context<S>& ctx, const context<S>& worker, csr_view<const T, I, O, S> a,
                   const plan_hints& hints)
      : ctx_(ctx), a_(a), machine_(machine_of(ctx)),
        decision_(
            choose_plan(look_at(worker, a, forward(hints)), widths(), machine_, forward(hints))),
        stored_(detail::store(worker, decision_.chosen(), a)) {
    if (hints.transposed_multiplies >= 2) prepare_transposed(worker, hints);
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

  [[nodiscard]] lacuna::index<std::int64_t> shape() const {
    return {a_.shape().row, a_.shape().col};
  }
  [[nodiscard]] spmv_format format() const { return decision_.chosen().format; }
  /// The kernel's name, as in the plan's JSON.
  [[nodiscard]] std::string kernel() const {
    using in_csr = typename detail::planned_storage<T, I, O, S>::in_csr;
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
    return stored_.bytes() + (transposed_ ? transposed_->bytes() : 0);
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
  static constexpr type_widths widths() { return {sizeof(T), sizeof(I), sizeof(O)}; }
  /// Where A itself is not multiplied with, it stays as it is whatever format is asked for.
  static plan_hints forward(plan_hints hints) {
    if (hints.multiplies == 0) hints.format.reset();
    return hints;
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
    using in_csr = typename detail::planned_storage<T, I, O, S>::in_csr;
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
  csr_view<const T, I, O, S> a_;
  spmv_machine machine_;
  plan_decision decision_, transposed_decision_;
  detail::planned_storage<T, I, O, S> stored_;
  std::optional<detail::planned_storage<T, I, O, S>> transposed_;
};

/// Looks at `a` (csr or a view) and makes the format that is predicted to be fastest. Costs a
/// fraction of a product, and the conversion if one pays. Waits for the device. Throws bad_input,
/// out_of_memory; `a` is not changed.
template <space S, class A>
auto plan(const context<S>& ctx, const A& a, const plan_hints& hints = {}) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  detail::require_same_space<S, V>();
  return planned_operator<typename V::scalar_type, typename V::index_type, typename V::offset_type,
                          S>(ctx, view, hints);
}

} // namespace lacuna
