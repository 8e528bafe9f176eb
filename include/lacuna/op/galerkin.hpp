// R A P, the product of algebraic multigrid, whole and in phases.
//
//   auto c = galerkin(ctx, r, a, p);               new owner
//
//   auto info = galerkin_compute(ctx, r, a, p);    counts; keeps the pattern of R A or of A P
//   csr<T, I, O, S> c(ctx, info.result_shape(), info.result_nnz());
//   galerkin_fill(ctx, info, r, a, p, c);          all of C
//   galerkin_refill(ctx, info, r, a2, p, c);       same patterns, other values: values alone
//
// The context is optional. What holds for infos of products (spgemm_phases.hpp) holds here.
#pragma once

#include <lacuna/op/spgemm_phases.hpp>

namespace lacuna {

namespace detail {

LACUNA_EXPORT std::string explain_galerkin(std::int64_t entries, bool left_first,
                                           std::int64_t between, std::size_t bytes);

template <class T, class I, class O, space S>
matrix_operand<T, I, O, S> unscaled(matrix_operand<T, I, O, S> op) {
  op.alpha = 1;
  return op;
}

/// Whether (R A) P promises fewer multiplications than R (A P): those of the first sparse product
/// are counted, those of the second are estimated from the mean row length.
template <class T, class I, class O, space S>
bool left_first(const context<S>& ctx, csr_view<const T, I, O, S> r, csr_view<const T, I, O, S> a,
                csr_view<const T, I, O, S> p) {
  const auto mean_row = [](double entries, std::int64_t rows) {
    return rows == 0 ? 0 : entries / static_cast<double>(rows);
  };
  const auto first_left = estimate(ctx, r, a);
  const auto first_right = estimate(ctx, a, p);
  const double by_left = static_cast<double>(first_left.products) +
                         static_cast<double>(first_left.most_entries) *
                             mean_row(static_cast<double>(p.size()), p.shape().row);
  const double by_right =
      static_cast<double>(first_right.products) +
      static_cast<double>(r.size()) *
          mean_row(static_cast<double>(first_right.most_entries), a.shape().row);
  return by_left <= by_right;
}

/// What galerkin_compute keeps.
template <class I, class O, space S> struct galerkin_inspection : inspection {
  bool left_first = false;
  std::shared_ptr<const product_inspection<I, O, O, S>> first, second;
  index<I> shape{};    ///< of the first product
  array<I, S> columns; ///< of the first product, whose rows begin as first->rowptr says

  [[nodiscard]] std::string explain() const override {
    return explain_galerkin(second->nnz, left_first, first->nnz, bytes());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return first->bytes() + second->bytes() + columns.bytes();
  }
  /// The first product, with these values.
  template <class T> csr_view<T, I, O, S> between(array<T, S>& values) const {
    return {values.data(), const_cast<O*>(first->rowptr.data()), const_cast<I*>(columns.data()),
            shape,         static_cast<O>(first->nnz),           {true, true}};
  }
};

template <space S, class R, class A, class P> constexpr void require_galerkin() {
  require_like_factors<S, operand_t<A>, operand_t<R>>();
  require_like_factors<S, operand_t<A>, operand_t<P>>();
}

template <space S, class T, class I, class O, class C>
void fill_galerkin(const context<S>& ctx, const char* op, const operation_info_t& info,
                   const matrix_operand<T, I, O, S>& r, const matrix_operand<T, I, O, S>& a,
                   const matrix_operand<T, I, O, S>& p, C&& c, product_part part) {
  using View = std::remove_cv_t<decltype(mutable_view(std::forward<C>(c)))>;
  static_assert(std::is_same_v<View, csr_view<T, I, O, S>>,
                "lacuna: C must be a csr of A's types, in A's space");
  const auto* kept = found_in<galerkin_inspection<I, O, S>>(info, op);
  if (kept == nullptr) throw_other_info(op);
  const auto& [x, y] = kept->left_first ? std::tie(r, a) : std::tie(a, p);
  kept->first->left.require(op, x);
  kept->first->right.require(op, y);
  const kept_factor<I, O, S>& last = kept->left_first ? kept->second->right : kept->second->left;
  last.require(op, kept->left_first ? p : r);
  const auto to =
      result_arrays(op, "C", std::forward<C>(c), info.result_shape(), info.result_nnz());
  array<T, S> values(ctx, kept->first->nnz);
  const csr_view<T, I, O, S> between = kept->between(values);
  make_product(ctx, op, *kept->first, unscaled(x), unscaled(y), between, product_part::values);
  matrix_operand<T, I, O, S> product{csr_view<const T, I, O, S>(between)};
  matrix_operand<T, I, O, S> other = kept->left_first ? p : r;
  other.alpha = r.alpha * a.alpha * p.alpha;
  if (kept->left_first)
    make_product(ctx, op, *kept->second, product, other, to, part);
  else
    make_product(ctx, op, *kept->second, other, product, to, part);
  if (part != product_part::values)
    state_result(std::forward<C>(c), info.result_nnz(), {true, true});
}

} // namespace detail

/// R A P as (R A) P or R (A P), whichever promises fewer multiplications.
template <space S, class R, class A, class P>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
auto galerkin(const context<S>& ctx, const R& r, const A& a, const P& p,
              const spgemm_options& options = {}) {
  detail::require_galerkin<S, R, A, P>();
  const auto r_op = detail::operand(r);
  const auto a_op = detail::operand(a);
  const auto p_op = detail::operand(p);
  using Op = std::remove_cv_t<decltype(a_op)>;
  using factor = detail::sparse_factor<typename Op::scalar_type, typename Op::index_type,
                                       typename Op::offset_type, S>;
  const factor left(ctx, r_op), middle(ctx, a_op), right(ctx, p_op);
  const double scale = r_op.alpha * a_op.alpha * p_op.alpha;
  if (detail::left_first(ctx, left.a, middle.a, right.a)) {
    const auto product = multiply(ctx, left.a, middle.a, options);
    return multiply(ctx, scaled(scale, product), right.a, options);
  }
  const auto product = multiply(ctx, middle.a, right.a, options);
  return multiply(ctx, scaled(scale, left.a), product, options);
}
template <class R, class A, class P>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
auto galerkin(const R& r, const A& a, const P& p, const spgemm_options& options = {}) {
  return galerkin(detail::default_context_of<A>(), r, a, p, options);
}

/// Counts the entries of C = R A P and keeps the pattern of the first product and what
/// multiply_compute keeps of both. Values are not read. Throws as galerkin does.
template <space S, class R, class A, class P>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
operation_info_t galerkin_compute(const context<S>& ctx, const R& r, const A& a, const P& p) {
  detail::require_galerkin<S, R, A, P>();
  const auto r_op = detail::operand(r);
  const auto a_op = detail::operand(a);
  const auto p_op = detail::operand(p);
  using Op = std::remove_cv_t<decltype(a_op)>;
  using T = typename Op::scalar_type;
  using I = typename Op::index_type;
  using O = typename Op::offset_type;
  const char* const op = "galerkin_compute";
  detail::require_same_size(op, "columns of R", r_op.cols(), "rows of A", a_op.rows());
  detail::require_same_size(op, "columns of A", a_op.cols(), "rows of P", p_op.rows());
  using kept = detail::kept_factor<I, O, S>;
  kept r_kept(ctx, "R", r_op), a_kept(ctx, "A", a_op), p_kept(ctx, "P", p_op);
  auto keeping = std::make_shared<detail::galerkin_inspection<I, O, S>>();
  {
    using factor = detail::factor<T, I, O, S>;
    const factor left(ctx, r_kept, r_op), middle(ctx, a_kept, a_op), right(ctx, p_kept, p_op);
    keeping->left_first = detail::left_first(ctx, left.view(), middle.view(), right.view());
  }
  const auto& [x, y] = keeping->left_first ? std::tie(r_op, a_op) : std::tie(a_op, p_op);
  const auto first = detail::count_kept<O>(ctx, keeping->left_first ? r_kept : a_kept, x,
                                           keeping->left_first ? a_kept : p_kept, y);
  keeping->first = first;
  keeping->shape = {static_cast<I>(x.rows()), static_cast<I>(y.cols())};
  keeping->columns = array<I, S>(ctx, first->nnz);
  array<T, S> values(ctx, first->nnz);
  const csr_view<T, I, O, S> between = keeping->between(values);
  detail::make_product(ctx, op, *first, x, y,
                       csr_view<T, I, O, S>(between.values().data(), nullptr,
                                            between.colind().data(), between.shape(),
                                            between.size()),
                       detail::product_part::pattern);
  const detail::matrix_operand<T, I, O, S> product{csr_view<const T, I, O, S>(between)};
  const kept product_kept(ctx, keeping->left_first ? "R A" : "A P", product);
  keeping->second = keeping->left_first
                        ? detail::count_kept<O>(ctx, product_kept, product, p_kept, p_op)
                        : detail::count_kept<O>(ctx, r_kept, r_op, product_kept, product);
  const std::int64_t nnz = keeping->second->nnz;
  return operation_info_t(std::move(keeping), {r_op.rows(), p_op.cols()}, nnz);
}
template <class R, class A, class P>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
operation_info_t galerkin_compute(const R& r, const A& a, const P& p) {
  return galerkin_compute(detail::default_context_of<A>(), r, a, p);
}

/// All of C, bit by bit what galerkin returns. Needs memory for the values of the first product.
/// Throws as multiply_fill does.
template <space S, class R, class A, class P, class C>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
void galerkin_fill(const context<S>& ctx, const operation_info_t& info, const R& r, const A& a,
                   const P& p, C&& c) {
  detail::require_galerkin<S, R, A, P>();
  detail::fill_galerkin(ctx, "galerkin_fill", info, detail::operand(r), detail::operand(a),
                        detail::operand(p), std::forward<C>(c), detail::product_part::all);
}
template <class R, class A, class P, class C>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
void galerkin_fill(const operation_info_t& info, const R& r, const A& a, const P& p, C&& c) {
  galerkin_fill(detail::default_context_of<A>(), info, r, a, p, std::forward<C>(c));
}

/// Values of C alone, whose pattern is as galerkin_fill left it.
template <space S, class R, class A, class P, class C>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
void galerkin_refill(const context<S>& ctx, const operation_info_t& info, const R& r, const A& a,
                     const P& p, C&& c) {
  detail::require_galerkin<S, R, A, P>();
  detail::fill_galerkin(ctx, "galerkin_refill", info, detail::operand(r), detail::operand(a),
                        detail::operand(p), std::forward<C>(c), detail::product_part::values);
}
template <class R, class A, class P, class C>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
void galerkin_refill(const operation_info_t& info, const R& r, const A& a, const P& p, C&& c) {
  galerkin_refill(detail::default_context_of<A>(), info, r, a, p, std::forward<C>(c));
}

} // namespace lacuna
