// C = alpha op(A) op(B), all sparse: CSR in, CSR out, rows sorted and unique.
//
//   auto c = multiply(ctx, a, b);                               new owner
//   auto c = multiply(ctx, scaled(2.0, transposed(a)), b, {.memory_limit = 2'000'000'000});
//   auto c = multiply_wide(ctx, a, b);                          int64 offsets, beyond 2^31 entries
//   auto c = multiply_pattern(ctx, a, b);                       where C has entries; values are 1
//
//   multiply(ctx, a, b, c);                                     into memory of the caller's
//
// A result of the caller's is a csr or a csc (spgemm_phases.hpp, also for products in phases).
//
// A dynamic_csr that is not compact is copied as a csr first. One as the result:
// spgemm_dynamic.hpp.
//
// After Parger et al. (spECK, 2020): a light analysis of the rows picks an accumulator for each;
// or, if options.method says so, after King et al. (2016): rows are expanded and sorted. Every
// entry's products are added in the order of A's row, so results are bitwise repeatable, for any
// number of threads and on any run.
#pragma once

#include <vector>

#include <lacuna/op/cast.hpp>
#include <lacuna/op/multiply.hpp>
#include <lacuna/op/spgemm_options.hpp>

namespace lacuna {

namespace detail {
/// What a device's analysis of a product found.
struct LACUNA_EXPORT kept_analysis {
  virtual ~kept_analysis() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};
} // namespace detail

namespace detail::cpu {
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
/// Columns and values of C, whose rowptr is count_spgemm's. `pattern`: as in spgemm. Throws error
/// if a row turns out to have another number of entries: C's entries are unspecified then.
template <class T, class I, class O, class OC>
LACUNA_EXPORT void fill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                               csr_view<const T, I, O> b, csr_view<T, I, OC> c, bool pattern);
/// Values of C, whose pattern is there. Throws bad_input if a product falls outside of it: C's
/// values are unspecified then.
template <class T, class I, class O, class OC>
LACUNA_EXPORT void refill_spgemm(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                 csr_view<const T, I, O> b, csr_view<T, I, OC> c);
} // namespace detail::cpu

namespace detail::gpu {
/// The same on a device; each waits for the counts it needs.
template <class T, class I, class O>
LACUNA_GPU_EXPORT spgemm_estimate estimate_spgemm(const device_context& ctx, device_csr<T, I, O> a,
                                                  device_csr<T, I, O> b);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT csr<T, I, OC, space::device> spgemm(const device_context& ctx, T alpha,
                                                      device_csr<T, I, O> a, device_csr<T, I, O> b,
                                                      const spgemm_options& options, bool pattern);
/// Keeps what its analysis found of the rows, which later fills use instead of looking again: 12
/// to 24 bytes per row.
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT std::int64_t count_spgemm(const device_context& ctx, device_csr<T, I, O> a,
                                            device_csr<T, I, O> b,
                                            vector_view<OC, space::device> rowptr,
                                            std::shared_ptr<const detail::kept_analysis>& kept);
/// A and B must have the patterns that were counted: this is not checked, and rows that have more
/// products may be written anywhere.
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT void fill_spgemm(const device_context& ctx, const detail::kept_analysis& kept,
                                   T alpha, device_csr<T, I, O> a, device_csr<T, I, O> b,
                                   csr_view<T, I, OC, space::device> c, bool pattern);
template <class T, class I, class O, class OC>
LACUNA_GPU_EXPORT void refill_spgemm(const device_context& ctx, const detail::kept_analysis& kept,
                                     T alpha, device_csr<T, I, O> a, device_csr<T, I, O> b,
                                     csr_view<T, I, OC, space::device> c);
} // namespace detail::gpu

namespace detail {

/// A sparse operand as the CSR that the engines read: transposed ones are copied so.
template <class T, class I, class O, space S> struct sparse_factor {
  csr<T, I, O, S> transposed_copy;
  csr_view<const T, I, O, S> a;
  sparse_factor(const context<S>& ctx, const matrix_operand<T, I, O, S>& op) {
    if (op.transposed) transposed_copy = transpose(ctx, op.a);
    a = op.transposed ? std::as_const(transposed_copy).view() : op.a;
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
  using Op = decltype(a_op);
  using Other = decltype(b_op);
  using T = typename Op::scalar_type;
  constexpr bool fit = are_in<S, Op, Other> && are_of<T, Other> && are_compressed<Op, Other>;
  require_compressed<Op, Other>();
  require_same_space<S, Op, Other>();
  require_same_value<T, Other>();
  if constexpr (fit && has_row_format<Op, Other>) {
    const csr_rows_of left(ctx, a_op);
    const csr_rows_of right(ctx, b_op);
    return multiply_sparse<OC>(ctx, left.operand(), right.operand(), options, pattern);
  } else if constexpr (fit &&
                       !are_alike<Op, Other>) { // the narrower one is copied into wider types
    const widened<Op, Other> left(ctx, a_op);
    const widened<Other, Op> right(ctx, b_op);
    return multiply_sparse<OC>(ctx, left.operand(), right.operand(), options, pattern);
  } else if constexpr (fit) {
    using I = typename Op::index_type;
    using O = typename Op::offset_type;
    using Offset = std::conditional_t<std::is_void_v<OC>, O, OC>;
    require_same_size("multiply", "columns of A", a_op.cols(), "rows of B", b_op.rows());
    const sparse_factor<T, I, O, S> left(ctx, a_op), right(ctx, b_op);
    const T alpha = static_cast<T>(a_op.alpha * b_op.alpha);
    if constexpr (S == space::host)
      return detail::cpu::spgemm<T, I, O, Offset>(ctx, alpha, left.a, right.a, options, pattern);
    else
      return detail::gpu::spgemm<T, I, O, Offset>(ctx, alpha, left.a, right.a, options, pattern);
  }
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
auto multiply(const A& a, const B& b, const spgemm_options& options = {}) {
  return multiply(detail::default_context_of<A>(), a, b, options);
}
/// The same with offsets of 64 bits in C.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_wide(const context<S>& ctx, const A& a, const B& b,
                   const spgemm_options& options = {}) {
  return detail::multiply_sparse<std::int64_t>(ctx, a, b, options, false);
}
template <class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_wide(const A& a, const B& b, const spgemm_options& options = {}) {
  return multiply_wide(detail::default_context_of<A>(), a, b, options);
}
/// Where C has entries; no value is read, those of C are 1.
template <space S, class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_pattern(const context<S>& ctx, const A& a, const B& b,
                      const spgemm_options& options = {}) {
  return detail::multiply_sparse<void>(ctx, a, b, options, true);
}
template <class A, class B>
  requires(detail::are_sparse<A, B>)
auto multiply_pattern(const A& a, const B& b, const spgemm_options& options = {}) {
  return multiply_pattern(detail::default_context_of<A>(), a, b, options);
}

} // namespace lacuna
