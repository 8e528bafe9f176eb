// Two sparse matrices of one shape, element by element: CSR out, rows sorted and unique.
//
//   auto c = multiply_elements(ctx, a, b);                     entries that both have (Hadamard)
//   auto c = minimum(ctx, a, b);                               also maximum
//   auto c = compare(ctx, a, b, comparison::less);             1 where a_ij < b_ij
//   auto c = combine(ctx, a, scaled(2, b), element_rule::minus);
//   auto c = complement(ctx, a);                               1 where a has no entry
//
// The context is optional. Operands are what add takes (add.hpp): csr, csc, dynamic_csr, scaled,
// transposed, of unlike widths; rows that are not sorted and unique are copied, duplicates summed.
// What an operand does not store is 0.
//
// multiply_elements has an entry where both operands have one, also where the product is 0.
// The others have one where the result is not 0 (neither 0 nor -0; NaN is kept), so what is equal
// leaves nothing behind: what SciPy's operators do. An element is rule(round(alpha a), round(beta
// b)), rounded once: the same bits on every engine and for any number of threads.
//
// O(nnz(A) + nnz(B) + rows). On the host, where many elements come out as 0, a result of the size
// of both patterns is made first, and copied. A device is waited for: the size of the result must
// be known; of complement it is. Throws size_mismatch, out_of_memory, and bad_input if the entries
// (on the host: before zeros are dropped) do not fit the operands' offsets.
#pragma once

#include <lacuna/op/add.hpp>

namespace lacuna {

/// How an element of C follows from those of A and B.
enum class element_rule {
  plus,
  minus,
  times,        ///< of 0 and what is not finite: NaN, also where the 0 is not stored
  stored_times, ///< of entries that both store, zeros kept: multiply_elements
  minimum,      ///< NaN if one of them is
  maximum,
  not_equal, ///< 1 where it holds, also the next two; NaN is unequal to all
  less,
  greater
};

/// equal, less_equal and greater_equal hold wherever not_equal, greater and less do not: where
/// neither matrix has an entry (a result of up to rows x columns entries), and for the latter two
/// beside NaN.
enum class comparison { equal, not_equal, less, less_equal, greater, greater_equal };

namespace detail::cpu {
/// Rows of both ascend.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> combine_csr(const host_context& ctx, element_rule rule, T alpha,
                                       csr_view<const T, I, O> a, T beta,
                                       csr_view<const T, I, O> b);
/// Rows ascend.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> complement_csr(const host_context& ctx, csr_view<const T, I, O> a);
} // namespace detail::cpu

namespace detail::gpu {
/// Waits. Scratch: a byte for every entry and row.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
combine_csr(const device_context& ctx, element_rule rule, T alpha,
            csr_view<const T, I, O, space::device> a, T beta,
            csr_view<const T, I, O, space::device> b);
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
complement_csr(const device_context& ctx, csr_view<const T, I, O, space::device> a);
} // namespace detail::gpu

namespace detail {

template <space S, class A, class B>
auto combine_sparse(const context<S>& ctx, const char* op, element_rule rule, const A& a,
                    const B& b) {
  const auto a_op = operand(a);
  const auto b_op = operand(b);
  using Op = decltype(a_op);
  using Other = decltype(b_op);
  using T = typename Op::scalar_type;
  require_compressed<Op, Other>();
  require_same_space<S, Op, Other>();
  require_same_value<T, Other>();
  constexpr bool fit = are_in<S, Op, Other> && are_of<T, Other> && are_compressed<Op, Other>;
  if constexpr (fit && has_row_format<Op, Other>) {
    const csr_rows_of left(ctx, a_op);
    const csr_rows_of right(ctx, b_op);
    return combine_sparse(ctx, op, rule, left.operand(), right.operand());
  } else if constexpr (fit && !are_alike<Op, Other>) {
    const widened<Op, Other> left(ctx, a_op);
    const widened<Other, Op> right(ctx, b_op);
    return combine_sparse(ctx, op, rule, left.operand(), right.operand());
  } else if constexpr (fit) {
    using I = typename Op::index_type;
    using O = typename Op::offset_type;
    require_same_shape(op, a_op, b_op);
    const summand<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
    const T alpha = static_cast<T>(a_op.alpha), beta = static_cast<T>(b_op.alpha);
    if constexpr (S == space::host)
      return detail::cpu::combine_csr<T, I, O>(ctx, rule, alpha, left.view(), beta, right.view());
    else
      return detail::gpu::combine_csr<T, I, O>(ctx, rule, alpha, left.view(), beta, right.view());
  }
}

template <space S, class A> auto complement_sparse(const context<S>& ctx, const A& a) {
  const auto op = operand(a);
  using Op = std::remove_cv_t<decltype(op)>;
  require_compressed<Op>();
  require_same_space<S, Op>();
  if constexpr (are_in<S, Op> && are_compressed<Op>) {
    const csr_rows_of rows(ctx, op);
    using T = typename Op::scalar_type;
    using I = typename Op::index_type;
    using O = typename Op::offset_type;
    const summand<T, I, O, S> stored(ctx, rows.operand());
    if constexpr (S == space::host)
      return detail::cpu::complement_csr<T, I, O>(ctx, stored.view());
    else
      return detail::gpu::complement_csr<T, I, O>(ctx, stored.view());
  }
}

} // namespace detail

template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto combine(const context<S>& ctx, const A& a, const B& b, element_rule rule) {
  return detail::combine_sparse(ctx, "combine", rule, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto combine(const A& a, const B& b, element_rule rule) {
  return combine(detail::context_of_summand<A>(), a, b, rule);
}

/// C_ij = a_ij b_ij where both are stored.
template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto multiply_elements(const context<S>& ctx, const A& a, const B& b) {
  return detail::combine_sparse(ctx, "multiply_elements", element_rule::stored_times, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto multiply_elements(const A& a, const B& b) {
  return multiply_elements(detail::context_of_summand<A>(), a, b);
}

template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto minimum(const context<S>& ctx, const A& a, const B& b) {
  return detail::combine_sparse(ctx, "minimum", element_rule::minimum, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto minimum(const A& a, const B& b) { return minimum(detail::context_of_summand<A>(), a, b); }

template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto maximum(const context<S>& ctx, const A& a, const B& b) {
  return detail::combine_sparse(ctx, "maximum", element_rule::maximum, a, b);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto maximum(const A& a, const B& b) { return maximum(detail::context_of_summand<A>(), a, b); }

/// 1 where A has no entry, whatever the values of those it has. Scaling is of no matter.
template <space S, class A>
  requires(detail::is_summand<A>)
auto complement(const context<S>& ctx, const A& a) { return detail::complement_sparse(ctx, a); }
template <class A>
  requires(detail::is_summand<A>)
auto complement(const A& a) { return complement(detail::context_of_summand<A>(), a); }

/// 1 where the comparison of a_ij and b_ij holds.
template <space S, class A, class B>
  requires(detail::are_summands<A, B>)
auto compare(const context<S>& ctx, const A& a, const B& b, comparison holds) {
  const bool negated = holds == comparison::equal || holds == comparison::less_equal ||
                       holds == comparison::greater_equal;
  element_rule rule = element_rule::not_equal;
  if (holds == comparison::less || holds == comparison::greater_equal) rule = element_rule::less;
  if (holds == comparison::greater || holds == comparison::less_equal) rule = element_rule::greater;
  auto c = detail::combine_sparse(ctx, "compare", rule, a, b);
  return negated ? complement(ctx, c) : std::move(c);
}
template <class A, class B>
  requires(detail::are_summands<A, B>)
auto compare(const A& a, const B& b, comparison holds) {
  return compare(detail::context_of_summand<A>(), a, b, holds);
}

} // namespace lacuna
