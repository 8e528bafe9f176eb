// C = alpha op(A) op(B), all sparse: CSR in, CSR out, rows sorted and unique.
//
//   auto c = multiply(ctx, a, b);                               new owner
//   auto c = multiply(ctx, scaled(2.0, transposed(a)), b, {.memory_limit = 2'000'000'000});
//   auto c = multiply_wide(ctx, a, b);                          int64 offsets, beyond 2^31 entries
//   auto c = multiply_pattern(ctx, a, b);                       where C has entries; values are 1
//
// The phases of the C++ Sparse BLAS, for a result in memory of the caller's:
//
//   auto info = multiply_compute(ctx, a, b);    counts; info.nnz()
//   csr<T, I, O, S> c(ctx, info.shape(), info.nnz());
//   multiply_fill(ctx, info, a, b, c);          columns and values
//   multiply_fill(ctx, info, a2, b2, c);        again, same patterns: values only
//
// After Parger et al. (spECK, 2020): a light analysis of the rows picks an accumulator for each;
// or, if options.method says so, after King et al. (2016): rows are expanded and sorted. Every
// entry's products are added in the order of A's row, so results are bitwise repeatable, for any
// number of threads and on any run.
#pragma once

#include <vector>

#include <lacuna/op/multiply.hpp>
#include <lacuna/op/spgemm_options.hpp>

namespace lacuna {

namespace cpu {
template <class T, class I, class O>
LACUNA_EXPORT spgemm_estimate estimate_spgemm(const host_context& ctx, csr_view<const T, I, O> a,
                                              csr_view<const T, I, O> b);
/// C = alpha A B. `pattern`: values are not read, those of C are 1. Scratch for each thread: a
/// table of the longest row's size, or a dense row of B's columns where that is smaller.
template <class T, class I, class O, class OC>
LACUNA_EXPORT csr<T, I, OC> spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                   csr_view<const T, I, O> b, const spgemm_options& options,
                                   bool pattern);
/// rowptr of C, rows of A + 1 elements; returns its last, C's entries. Throws unsupported if they
/// do not fit OC.
template <class T, class I, class O, class OC>
LACUNA_EXPORT std::int64_t count_spgemm(const host_context& ctx, csr_view<const T, I, O> a,
                                        csr_view<const T, I, O> b, vector_view<OC> rowptr);
/// Columns and values of C, whose rowptr is count_spgemm's. Throws error if a row turns out to have
/// another number of entries: C's entries are unspecified then.
template <class T, class I, class O, class OC>
LACUNA_EXPORT void fill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                               csr_view<const T, I, O> b, csr_view<T, I, OC> c);
/// Values of C, whose pattern is there. Throws bad_input if a product falls outside of it: C's
/// values are unspecified then.
template <class T, class I, class O, class OC>
LACUNA_EXPORT void refill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                 csr_view<const T, I, O> b, csr_view<T, I, OC> c);
} // namespace cpu

namespace gpu {
/// The same on a device; each waits for the counts it needs.
template <class T, class I, class O>
LACUNA_GPU_EXPORT spgemm_estimate estimate_spgemm(const device_context& ctx, device_csr<T, I, O> a,
                                                  device_csr<T, I, O> b);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT csr<T, I, OC, space::device> spgemm(const device_context& ctx, T alpha,
                                                      device_csr<T, I, O> a, device_csr<T, I, O> b,
                                                      const spgemm_options& options, bool pattern);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT std::int64_t count_spgemm(const device_context& ctx, device_csr<T, I, O> a,
                                            device_csr<T, I, O> b,
                                            vector_view<OC, space::device> rowptr);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT void fill_spgemm(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                                   device_csr<T, I, O> b, csr_view<T, I, OC, space::device> c);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT void refill_spgemm(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                                     device_csr<T, I, O> b, csr_view<T, I, OC, space::device> c);
} // namespace gpu

namespace detail {

/// A sparse operand as the CSR that the engines read: transposed ones are turned into a copy.
template <class T, class I, class O, space S> struct sparse_factor {
  csr<T, I, O, S> turned;
  csr_view<const T, I, O, S> a;
  sparse_factor(const context<S>& ctx, const matrix_operand<T, I, O, S>& op) {
    if (op.transposed) turned = transpose(ctx, op.a);
    a = op.transposed ? std::as_const(turned).view() : op.a;
  }
};

template <space S, class A, class B> constexpr void require_like_factors() {
  require_same_space<S, A, B>();
  require_same_value<typename A::scalar_type, B>();
  static_assert(std::is_same_v<typename A::index_type, typename B::index_type> &&
                    std::is_same_v<typename A::offset_type, typename B::offset_type>,
                "lacuna: A and B differ in the width of their indices or offsets");
}

template <class OC, space S, class A, class B>
auto multiply_sparse(const context<S>& ctx, const A& a, const B& b, const spgemm_options& options,
                     bool pattern) {
  const auto a_op = operand(a);
  const auto b_op = operand(b);
  using T = typename decltype(a_op)::scalar_type;
  using I = typename decltype(a_op)::index_type;
  using O = typename decltype(a_op)::offset_type;
  require_like_factors<S, decltype(a_op), decltype(b_op)>();
  using Offset = std::conditional_t<std::is_void_v<OC>, O, OC>;
  require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  const sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
  const T alpha = static_cast<T>(a_op.alpha * b_op.alpha);
  if constexpr (S == space::host)
    return cpu::spgemm<T, I, O, Offset>(ctx, alpha, left.a, right.a, options, pattern);
  else
    return gpu::spgemm<T, I, O, Offset>(ctx, alpha, left.a, right.a, options, pattern);
}

template <class A, class B>
inline constexpr bool are_sparse = is_matrix_operand<A>&& is_matrix_operand<B>;

} // namespace detail

/// C = alpha op(A) op(B). Throws size_mismatch, out_of_memory (operands are as they were), and
/// unsupported if C's entries do not fit A's offsets: multiply_wide then.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply(const context<S>& ctx, const A& a, const B& b, const spgemm_options& options = {}) {
  return detail::multiply_sparse<void>(ctx, a, b, options, false);
}
template <class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply(const A& a, const B& b) { return multiply(detail::default_context_of<A>(), a, b); }
/// The same with offsets of 64 bits in C.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_wide(const context<S>& ctx, const A& a, const B& b,
                   const spgemm_options& options = {}) {
  return detail::multiply_sparse<std::int64_t>(ctx, a, b, options, false);
}
/// Where C has entries; no value is read, those of C are 1.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_pattern(const context<S>& ctx, const A& a, const B& b,
                      const spgemm_options& options = {}) {
  return detail::multiply_sparse<void>(ctx, a, b, options, true);
}

} // namespace lacuna
