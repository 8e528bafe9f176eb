// C = alpha op(A) op(B), all sparse, C a dynamic CSR.
//
//   multiply(ctx, a, b, m);                                          m = A B, whatever it was
//   multiply(ctx, a, b, m, {.method = spgemm_method::expand_sort});
//   insert(ctx, m, multiply(ctx, a, b));                             m += A B
//
// No entry of C is copied once it is made: a device's expand_sort makes rows in a pool, and they
// stay there; other ways make a csr, whose arrays become the pool. m keeps its options; with
// slack_at_start the rows are moved apart, which costs a copy. The pool that expand_sort leaves may
// be larger than C: by as many places as A and B have products, up to 1 GiB; compact() makes it
// fit. A and B may be m.
#pragma once

#include <lacuna/format/dynamic_csr.hpp>
#include <lacuna/op/spgemm.hpp>

namespace lacuna {

namespace detail {
template <class T, class I, class O, space S>
LACUNA_EXPORT dynamic_csr<T, I, O, S>
multiply_dynamic(const context<S>& ctx, T alpha, csr_view<const T, I, O, S> a,
                 csr_view<const T, I, O, S> b, const spgemm_options& spgemm,
                 const dynamic_csr_options& options);
} // namespace detail

/// Throws as multiply(ctx, a, b) does, and bad_input if m's pitch is too small for C's rows: m is
/// as it was. Snapshots of m stay what they are.
template <class T, class I, class O, space S, class A, class B>
  requires(detail::are_sparse<A, B>)
void multiply(const context<S>& ctx, const A& a, const B& b, dynamic_csr<T, I, O, S>& m,
              const spgemm_options& options = {}) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  using Op = std::remove_cv_t<decltype(a_op)>;
  using Other = std::remove_cv_t<decltype(b_op)>;
  detail::require_compressed<Op, Other>();
  detail::require_like_factors<S, Op, Other>();
  static_assert(detail::are_of<T, Op> && std::is_same_v<I, typename Op::index_type> &&
                    std::is_same_v<O, typename Op::offset_type>,
                "lacuna: C must have the values, indices and offsets that A and B have");
  detail::require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  const detail::csr_rows_of a_rows(ctx, a_op);
  const detail::csr_rows_of b_rows(ctx, b_op);
  const detail::sparse_factor<T, I, O, S> left(ctx, a_rows.operand()), right(ctx, b_rows.operand());
  m = detail::multiply_dynamic<T, I, O, S>(ctx, static_cast<T>(a_op.alpha * b_op.alpha), left.a,
                                           right.a, options, m.options());
}
template <class T, class I, class O, space S, class A, class B>
  requires(detail::are_sparse<A, B>)
void multiply(const A& a, const B& b, dynamic_csr<T, I, O, S>& m,
              const spgemm_options& options = {}) {
  multiply(default_context<S>(), a, b, m, options);
}

} // namespace lacuna
