// x = inv(T) b, T one triangle of a sparse matrix; the tags of the C++ Sparse BLAS.
//
//   triangular_solve(a, lower_triangle, explicit_diagonal, b, x);
//   triangular_solve(ctx, transposed(a), upper_triangle, implicit_unit_diagonal, b, x);
//
// Entries outside of the triangle are not used, nor is a stored diagonal when it is implicit;
// duplicates count as their sum. alpha scales what is stored, not the implicit diagonal. b and x
// are vectors, or dense matrices of several columns; x may be b itself. Rows need not be sorted.
//
// One row after another, each summed in stored order: bitwise repeatable. Plain, for correctness:
// one thread on the host, one warp per column of b on the device. A transposed matrix or a csc is
// copied. O(nnz) per column of b.
//
// Throws size_mismatch if sizes do not fit; bad_input, before x is written, if an explicit diagonal
// has no entry or 0 in some row (to know that, the device is waited for).
#pragma once

#include <lacuna/op/multiply.hpp>

namespace lacuna {

struct upper_triangle_t {
  explicit upper_triangle_t() = default;
};
struct lower_triangle_t {
  explicit lower_triangle_t() = default;
};
struct implicit_unit_diagonal_t {
  explicit implicit_unit_diagonal_t() = default;
};
struct explicit_diagonal_t {
  explicit explicit_diagonal_t() = default;
};
inline constexpr upper_triangle_t upper_triangle{};
inline constexpr lower_triangle_t lower_triangle{};
inline constexpr implicit_unit_diagonal_t implicit_unit_diagonal{};
inline constexpr explicit_diagonal_t explicit_diagonal{};

namespace detail::cpu {
/// x = beta inv(T) b; T is alpha times the stored triangle.
template <class T, class I, class O>
LACUNA_EXPORT void triangular_solve_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                        bool upper, bool unit, T beta, dense_view<const T> b,
                                        dense_view<T> x);
/// The first row whose diagonal is not stored or sums up to 0; -1 if there is none.
template <class T, class I, class O>
LACUNA_EXPORT std::int64_t find_no_diagonal(const host_context& ctx, csr_view<const T, I, O> a);
} // namespace detail::cpu
namespace detail::gpu {
template <class T, class I, class O>
LACUNA_GPU_EXPORT void triangular_solve_csr(const device_context& ctx, T alpha,
                                            device_csr<T, I, O> a, bool upper, bool unit, T beta,
                                            dense_view<const T, space::device> b,
                                            dense_view<T, space::device> x);
template <class T, class I, class O>
LACUNA_GPU_EXPORT std::int64_t find_no_diagonal(const device_context& ctx, device_csr<T, I, O> a);
} // namespace detail::gpu

namespace detail {
[[noreturn]] LACUNA_EXPORT void throw_no_diagonal(std::int64_t row);

template <class T, class I, class O, space S>
void triangular_solve_columns(const context<S>& ctx, const matrix_operand<T, I, O, S>& a,
                              bool upper, bool unit, double beta, dense_view<const T, S> b,
                              dense_view<T, S> x) {
  require_same_size("triangular_solve", "rows of A", a.rows(), "columns of A", a.cols());
  require_same_size("triangular_solve", "b", b.shape().row, "rows of A", a.rows());
  require_same_size("triangular_solve", "x", x.shape().row, "rows of A", a.rows());
  require_same_size("triangular_solve", "columns of b", b.shape().col, "columns of x",
                    x.shape().col);
  const bool in_place = b.data() == x.data() && b.layout() == x.layout() && b.ld() == x.ld();
  if (!in_place)
    require_apart<T>("triangular_solve", "b", b.data(), b.extent(), "x", x.data(), x.extent());
  const csr<T, I, O, S> copy = a.transposed ? transpose(ctx, a.a) : csr<T, I, O, S>();
  const csr_view<const T, I, O, S> rows = a.transposed ? copy.view() : a.a;
  const T alpha = static_cast<T>(a.alpha), scale = static_cast<T>(beta);
  if (!unit) {
    std::int64_t row = -1;
    if constexpr (S == space::host)
      row = detail::cpu::find_no_diagonal<T, I, O>(ctx, rows);
    else
      row = detail::gpu::find_no_diagonal<T, I, O>(ctx, rows);
    if (row >= 0) throw_no_diagonal(row);
  }
  if constexpr (S == space::host)
    detail::cpu::triangular_solve_csr<T, I, O>(ctx, alpha, rows, upper, unit, scale, b, x);
  else
    detail::gpu::triangular_solve_csr<T, I, O>(ctx, alpha, rows, upper, unit, scale, b, x);
}
} // namespace detail

template <space S, class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve(const context<S>& ctx, const A& a, Triangle, Diagonal, const B& b, X&& x) {
  constexpr bool upper = std::is_same_v<Triangle, upper_triangle_t>;
  constexpr bool unit = std::is_same_v<Diagonal, implicit_unit_diagonal_t>;
  static_assert(upper || std::is_same_v<Triangle, lower_triangle_t>,
                "lacuna: the triangle is upper_triangle or lower_triangle");
  static_assert(unit || std::is_same_v<Diagonal, explicit_diagonal_t>,
                "lacuna: the diagonal is explicit_diagonal or implicit_unit_diagonal");
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  const auto to = detail::mutable_view(std::forward<X>(x));
  using T = typename decltype(a_op)::scalar_type;
  detail::require_same_space<S, decltype(a_op), decltype(b_op), decltype(to)>();
  detail::require_same_value<T, decltype(b_op), decltype(to)>();
  detail::triangular_solve_columns(ctx, a_op, upper, unit, b_op.alpha, detail::as_columns(b_op.x),
                                   detail::as_columns(to));
}
template <class A, class Triangle, class Diagonal, class B, class X>
  requires(detail::is_matrix_operand<A>)
void triangular_solve(const A& a, Triangle t, Diagonal d, const B& b, X&& x) {
  triangular_solve(detail::default_context_of<A>(), a, t, d, b, std::forward<X>(x));
}

/// Nothing is worth keeping between plain solves; the calls are there for the phases of the C++
/// Sparse BLAS.
template <class A, class Triangle, class Diagonal, class B, class X>
operation_info_t triangular_solve_inspect(const A& a, Triangle, Diagonal, const B&, const X&) {
  const auto op = detail::operand(a);
  return operation_info_t(nullptr, {op.rows(), op.cols()});
}
template <class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve_inspect(operation_info_t& info, const A& a, Triangle t, Diagonal d,
                              const B& b, const X& x) {
  info = triangular_solve_inspect(a, t, d, b, x);
}
template <class A, class Triangle, class Diagonal, class B, class X>
void triangular_solve(const operation_info_t&, const A& a, Triangle t, Diagonal d, const B& b,
                      X&& x) {
  triangular_solve(a, t, d, b, std::forward<X>(x));
}

} // namespace lacuna
