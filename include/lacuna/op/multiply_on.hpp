// C = A B on several devices of one process: ranges of A's rows are dealt out, B goes to all.
//
//   const auto c = multiply_on(ctx, contexts_on({0, 1, 2, 3}), a, b);
//
// A, B and C are in ctx's place. Ranges have like many products. Each device gets its rows of A and
// one copy of B, and sends its rows of C back. The bits are those of multiply(ctx, a, b), whatever
// the parts. Beside C, ctx's device holds the parts that were made on it.
#pragma once

#include <vector>

#include <lacuna/op/parts_options.hpp>
#include <lacuna/op/spgemm.hpp>

namespace lacuna {

namespace detail {
template <class T, class I, class O, space S>
LACUNA_EXPORT csr<T, I, O, S>
multiply_on(const context<S>& ctx, const std::vector<context<S>>& contexts,
            const matrix_operand<T, I, O, S>& a, const matrix_operand<T, I, O, S>& b,
            const spgemm_options& options, const parts_options& parts);
} // namespace detail

/// C = alpha op(A) op(B), a part for each context. Waits. Throws what multiply throws, and
/// bad_input if there are no contexts; operands are as they were.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_on(const context<S>& ctx, const std::vector<context<S>>& contexts, const A& a,
                 const B& b, const spgemm_options& options = {}, const parts_options& parts = {}) {
  detail::require_like_factors<S, detail::operand_t<A>, detail::operand_t<B>>();
  return detail::multiply_on(ctx, contexts, detail::operand(a), detail::operand(b), options, parts);
}

} // namespace lacuna
