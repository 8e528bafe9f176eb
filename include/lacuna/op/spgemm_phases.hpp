// C = alpha op(A) op(B) in phases, into memory of the caller's; and products of more than two
// matrices.
//
//   auto info = multiply_compute(ctx, a, b);    counts; waits for the number
//   csr<T, I, O, S> c(ctx, info.shape(), info.nnz());
//   multiply_fill(ctx, info, a, b, c);          columns and values
//   multiply_fill(ctx, info, a2, b2, c);        again into the same c: values only
//
//   auto c = multiply_transposed_self(ctx, a);  A^T A
//   auto c = galerkin(ctx, r, a, p);            R A P
#pragma once

#include <lacuna/op/copy.hpp>
#include <lacuna/op/spgemm.hpp>

namespace lacuna {

/// What multiply_compute found: the size of C and where its rows begin.
template <class I, class O, space S> class spgemm_info {
public:
  spgemm_info() = default;
  [[nodiscard]] index<I> shape() const { return shape_; }
  [[nodiscard]] O nnz() const { return nnz_; }
  /// The names of the C++ Sparse BLAS for the same.
  [[nodiscard]] index<I> result_shape() const { return shape_; }
  [[nodiscard]] O result_nnz() const { return nnz_; }
  [[nodiscard]] vector_view<const O, S> rowptr() const { return rowptr_.view(); }
  [[nodiscard]] std::size_t bytes() const { return rowptr_.bytes(); }
  /// Whether multiply_fill has filled this C, so that it would now write values alone.
  template <class T> [[nodiscard]] bool filled(const csr_view<T, I, O, S>& c) const {
    return filled_rowptr_ != nullptr && filled_rowptr_ == c.rowptr().data() &&
           filled_colind_ == c.colind().data();
  }

  // For multiply_compute and multiply_fill.
  spgemm_info(index<I> shape, O nnz, array<O, S> rowptr, std::int64_t a_nnz, std::int64_t b_nnz)
      : shape_(shape), nnz_(nnz), rowptr_(std::move(rowptr)), a_nnz_(a_nnz), b_nnz_(b_nnz) {}
  template <class T> void state_filled(const csr_view<T, I, O, S>& c) {
    filled_rowptr_ = c.rowptr().data();
    filled_colind_ = c.colind().data();
  }
  [[nodiscard]] bool made_for(std::int64_t a_nnz, std::int64_t b_nnz) const {
    return a_nnz == a_nnz_ && b_nnz == b_nnz_;
  }

private:
  index<I> shape_{};
  O nnz_ = 0;
  array<O, S> rowptr_;
  std::int64_t a_nnz_ = 0, b_nnz_ = 0;
  const O* filled_rowptr_ = nullptr;
  const I* filled_colind_ = nullptr;
};

namespace detail {

template <class OC, space S, class A, class B>
auto compute_product(const context<S>& ctx, const A& a, const B& b) {
  const auto a_op = operand(a);
  const auto b_op = operand(b);
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  using Offset = std::conditional_t<std::is_void_v<OC>, O, OC>;
  require_like_factors<S, decltype(a_op), decltype(b_op)>();
  require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  const sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
  array<Offset, S> rowptr(ctx, a_op.rows() + 1);
  std::int64_t nnz = 0;
  if constexpr (S == space::host)
    nnz = cpu::count_spgemm<T, I, O, Offset>(ctx, left.a, right.a, rowptr.view());
  else
    nnz = gpu::count_spgemm<T, I, O, Offset>(ctx, left.a, right.a, rowptr.view());
  return spgemm_info<I, Offset, S>({static_cast<I>(a_op.rows()), static_cast<I>(b_op.cols())},
                                   static_cast<Offset>(nnz), std::move(rowptr), a_op.a.size(),
                                   b_op.a.size());
}

} // namespace detail

/// Counts C's entries. Throws as multiply does. C's offsets are as wide as A's, or as those of the
/// matrix or view `c`, which is not read otherwise.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_compute(const context<S>& ctx, const A& a, const B& b) {
  return detail::compute_product<void>(ctx, a, b);
}
template <space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
auto multiply_compute(const context<S>& ctx, const A& a, const B& b, const C&) {
  return detail::compute_product<typename C::offset_type>(ctx, a, b);
}
template <class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_compute(const A& a, const B& b) {
  return multiply_compute(detail::default_context_of<A>(), a, b);
}
template <class A, class B, class C>
  requires(detail::are_sparse<A, B>)
auto multiply_compute(const A& a, const B& b, const C& c) {
  return multiply_compute(detail::default_context_of<A>(), a, b, c);
}

/// Fills C, an owner or a view with room for info.nnz() entries. The first time all three arrays;
/// after that, as long as C is at the same place, where its pattern must be as this function left
/// it, values alone: A and B may have other values, but no entries elsewhere.
/// Throws size_mismatch if C does not fit, bad_input (error) if A and B are not the matrices that
/// were counted: C's entries are unspecified then. After out_of_memory C is as it was.
template <space S, class I, class O, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_fill(const context<S>& ctx, spgemm_info<I, O, S>& info, const A& a, const B& b,
                   C&& c) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  const auto to = detail::mutable_view(std::forward<C>(c));
  using T = typename decltype(a_op)::scalar_type;
  using OA = typename decltype(a_op)::offset_type;
  detail::require_like_factors<S, decltype(a_op), decltype(b_op)>();
  detail::require_same_space<S, decltype(to)>();
  static_assert(std::is_same_v<std::remove_cv_t<decltype(to)>, csr_view<T, I, O, S>>,
                "lacuna: C must have the types that multiply_compute counted for");
  using detail::require_same_size;
  require_same_size("multiply_fill", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  require_same_size("multiply_fill", "rows of A", a_op.rows(), "rows of C as counted",
                    info.shape().row);
  require_same_size("multiply_fill", "columns of B", b_op.cols(), "columns of C as counted",
                    info.shape().col);
  require_same_size("multiply_fill", "rows of C", to.shape().row, "rows of A", a_op.rows());
  require_same_size("multiply_fill", "columns of C", to.shape().col, "columns of B", b_op.cols());
  require_same_size("multiply_fill", "entries of C", to.size(), "entries as counted", info.nnz());
  if (!info.made_for(a_op.a.size(), b_op.a.size()))
    throw bad_input("multiply_fill: A and B are not the matrices that were counted");
  if (info.rowptr().empty()) return; // nothing was counted
  const detail::sparse_factor<T, I, OA, S> left(ctx, a_op), right(ctx, b_op);
  const T alpha = static_cast<T>(a_op.alpha * b_op.alpha);
  if (info.filled(to)) {
    if constexpr (S == space::host)
      cpu::refill_spgemm<T, I, OA, O>(ctx, alpha, left.a, right.a, to);
    else
      gpu::refill_spgemm<T, I, OA, O>(ctx, alpha, left.a, right.a, to);
    return;
  }
  // C's own row pointers are written last: until then an exception leaves them as they were.
  const csr_view<T, I, O, S> filling(to.values().data(), const_cast<O*>(info.rowptr().data()),
                                     to.colind().data(), to.shape(), to.size());
  if constexpr (S == space::host)
    cpu::fill_spgemm<T, I, OA, O>(ctx, alpha, left.a, right.a, filling);
  else
    gpu::fill_spgemm<T, I, OA, O>(ctx, alpha, left.a, right.a, filling);
  detail::copy_bytes(ctx, to.rowptr().data(), info.rowptr().data(), info.bytes(), S);
  info.state_filled(to);
  if constexpr (requires { c.state(facts{}); }) c.state({true, true});
}
template <class I, class O, space S, class A, class B, class C>
  requires(detail::are_sparse<A, B>)
void multiply_fill(spgemm_info<I, O, S>& info, const A& a, const B& b, C&& c) {
  multiply_fill(default_context<S>(), info, a, b, std::forward<C>(c));
}

/// What a product would take, without doing it: reads B's row pointers once for each entry of A.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
spgemm_estimate estimate(const context<S>& ctx, const A& a, const B& b) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  detail::require_like_factors<S, decltype(a_op), decltype(b_op)>();
  detail::require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  const detail::sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
  if constexpr (S == space::host)
    return cpu::estimate_spgemm<T, I, O>(ctx, left.a, right.a);
  else
    return gpu::estimate_spgemm<T, I, O>(ctx, left.a, right.a);
}

/// A^T A, for a csr or csc or an operand. A transposed copy of A is made meanwhile.
template <space S, class A>
  requires(detail::is_matrix_operand<A>)
auto multiply_transposed_self(const context<S>& ctx, const A& a,
                              const spgemm_options& options = {}) {
  return multiply(ctx, transposed(a), a, options);
}
template <class A>
  requires(detail::is_matrix_operand<A>)
auto multiply_transposed_self(const A& a) {
  return multiply_transposed_self(detail::default_context_of<A>(), a);
}

/// R A P as (R A) P or R (A P), whichever promises fewer products: those of the first product are
/// counted, those of the second follow from the mean row.
template <space S, class R, class A, class P>
  requires(detail::are_sparse<R, A>&& detail::is_matrix_operand<P>)
auto galerkin(const context<S>& ctx, const R& r, const A& a, const P& p,
              const spgemm_options& options = {}) {
  const auto r_op = detail::operand(r);
  const auto a_op = detail::operand(a);
  const auto p_op = detail::operand(p);
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  detail::require_like_factors<S, decltype(a_op), decltype(r_op)>();
  detail::require_like_factors<S, decltype(a_op), decltype(p_op)>();
  const detail::sparse_factor<T, I, O, S> left(ctx, r_op), middle(ctx, a_op), right(ctx, p_op);
  const double scale = r_op.alpha * a_op.alpha * p_op.alpha;
  const auto mean_row = [](double entries, std::int64_t rows) {
    return rows == 0 ? 0 : entries / static_cast<double>(rows);
  };
  const auto first_left = estimate(ctx, left.a, middle.a);
  const auto first_right = estimate(ctx, middle.a, right.a);
  const double by_left = static_cast<double>(first_left.products) +
                         static_cast<double>(first_left.most_entries) *
                             mean_row(static_cast<double>(right.a.size()), right.a.shape().row);
  const double by_right =
      static_cast<double>(first_right.products) +
      static_cast<double>(left.a.size()) *
          mean_row(static_cast<double>(first_right.most_entries), middle.a.shape().row);
  if (by_left <= by_right)
    return multiply(ctx, scaled(scale, multiply(ctx, left.a, middle.a, options)), right.a, options);
  return multiply(ctx, scaled(scale, left.a), multiply(ctx, middle.a, right.a, options), options);
}

} // namespace lacuna
