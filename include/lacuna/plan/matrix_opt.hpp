// matrix_opt(a): a matrix with what makes products with it fast, as the C++ Sparse BLAS has it; a
// plan behind that interface.
//
//   matrix_opt a_opt(a);            a view of a; nothing is done yet
//   multiply(a_opt, x, y);          the first product makes the plan, later ones use it
//   multiply_inspect(a_opt, x, y);  makes it now
//
// In sparse products, sums and transposes it stands for a itself. The promise: a stays alive, and
// its values and pattern stay as they are from the first product on, or a_opt.update_values() is
// called after values have changed. Copies share the plan.
#pragma once

#include <lacuna/op/concepts.hpp>
#include <lacuna/plan/plan.hpp>

namespace lacuna {

namespace detail {
/// Makes this namespace one where const_view of a matrix_opt is looked for.
struct optimised_view {};
} // namespace detail

/// M: a csr_view or csc_view.
template <class M> class matrix_opt : public detail::optimised_view {
public:
  using scalar_type = typename M::scalar_type;
  using index_type = typename M::index_type;
  using offset_type = typename M::offset_type;
  static constexpr space memory_space = M::memory_space;
  using operator_type = planned_operator<scalar_type, index_type, offset_type, memory_space>;

  explicit matrix_opt(M matrix, plan_hints hints = {})
      : matrix_(matrix), hints_(hints), plan_(std::make_shared<std::optional<operator_type>>()) {}
  [[nodiscard]] const M& base() const { return matrix_; }
  [[nodiscard]] auto shape() const { return matrix_.shape(); }
  [[nodiscard]] auto size() const { return matrix_.size(); }
  /// The plan, made now if there is none yet. Not for several threads at once, the first time.
  const operator_type& plan(const context<memory_space>& ctx) const {
    if (!*plan_) plan_->emplace(ctx, rows(), planned_hints());
    return **plan_;
  }
  /// After the matrix's values have changed; its pattern has not.
  void update_values() {
    if (*plan_) (*plan_)->update_values(rows());
  }
  /// y = alpha A x + beta z of the matrix itself: a csc is planned by its transpose's rows.
  static constexpr bool by_columns = requires(const M& m) { m.colptr(); };

private:
  /// The CSR arrays behind the matrix.
  [[nodiscard]] csr_view<const scalar_type, index_type, offset_type, memory_space> rows() const {
    if constexpr (by_columns)
      return matrix_.transpose();
    else
      return matrix_;
  }
  [[nodiscard]] plan_hints planned_hints() const {
    plan_hints hints = hints_;
    if (by_columns) std::swap(hints.multiplies, hints.transposed_multiplies);
    return hints;
  }

  M matrix_;
  plan_hints hints_;
  std::shared_ptr<std::optional<operator_type>> plan_;
};
template <class M> matrix_opt(M) -> matrix_opt<M>;
template <class M> matrix_opt(M, plan_hints) -> matrix_opt<M>;

namespace detail {
template <class M> auto const_view(const matrix_opt<M>& a) { return const_view(a.base()); }
} // namespace detail

template <space S, class M, class X, class Y>
  requires(!detail::is_matrix_operand<X>)
void multiply(const context<S>& ctx, const matrix_opt<M>& a, const X& x, Y&& y) {
  const auto x_op = detail::operand(x);
  const auto& op = a.plan(ctx);
  const double alpha = x_op.alpha;
  const auto to = detail::mutable_view(std::forward<Y>(y));
  if constexpr (matrix_opt<M>::by_columns)
    op.multiply_transposed(alpha, x_op.x, 0.0, to);
  else
    op.multiply(alpha, x_op.x, 0.0, to);
}
template <class M, class X, class Y>
  requires(!detail::is_matrix_operand<X>)
void multiply(const matrix_opt<M>& a, const X& x, Y&& y) {
  multiply(default_context<M::memory_space>(), a, x, std::forward<Y>(y));
}
/// Makes the plan.
template <class M, class X, class Y>
  requires(!detail::is_matrix_operand<X>)
operation_info_t multiply_inspect(const matrix_opt<M>& a, const X&, const Y&) {
  a.plan(default_context<M::memory_space>());
  return operation_info_t(nullptr, {a.shape().row, a.shape().col});
}
template <class M, class X, class Y>
  requires(!detail::is_matrix_operand<X>)
void multiply_inspect(operation_info_t& info, const matrix_opt<M>& a, const X& x, const Y& y) {
  info = multiply_inspect(a, x, y);
}
template <class M, class X, class Y>
  requires(!detail::is_matrix_operand<X>)
void multiply(const operation_info_t&, const matrix_opt<M>& a, const X& x, Y&& y) {
  multiply(a, x, std::forward<Y>(y));
}

} // namespace lacuna
