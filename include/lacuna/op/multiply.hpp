// y = A x and Y = A X, with A sparse (csr, csc) and x, X dense; scaled and transposed operands.
//
//   multiply(a, x, y)                               y = A x
//   multiply(scaled(alpha, a), x, scaled(beta, z), y)   y = alpha A x + beta z; z may be y itself
//   auto info = multiply_inspect(a, x, y);          work done once for a matrix
//   multiply(info, a, x, y)                         and used again and again
//
// Each takes a context as an optional first argument; without one, the default context of the
// operands' space. x is a vector (std::vector, std::span, array, vector_view) or a dense matrix.
// y may not overlap x. With beta = 0 or no z, y is only written: what it held does not matter.
//
// Results are bitwise repeatable: on the host for any number of threads (transposed without info:
// for a fixed number), on the device for the same device and inspection.
#pragma once

#include <lacuna/op/inspection.hpp>
#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail::cpu {
/// y = alpha A x + beta z; z is not read if beta is 0.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_csr(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                vector_view<const T> x, T beta, vector_view<const T> z,
                                vector_view<T> y);
/// y = alpha A^T x + beta z. Scratch: the column windows of up to `threads` row ranges.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_csr_transposed(const host_context& ctx, T alpha,
                                           csr_view<const T, I, O> a, vector_view<const T> x,
                                           T beta, vector_view<const T> z, vector_view<T> y);
template <class T, class I, class O>
LACUNA_EXPORT void multiply_csr_dense(const host_context& ctx, T alpha, csr_view<const T, I, O> a,
                                      dense_view<const T> x, T beta, dense_view<const T> z,
                                      dense_view<T> y);
template <class T, class I, class O>
LACUNA_EXPORT void inspect_csr(const host_context& ctx, csr_view<const T, I, O> a,
                               multiply_inspection<T, I, O, space::host>& result);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O> using device_csr = csr_view<const T, I, O, space::device>;
template <class T> using device_in = vector_view<const T, space::device>;
template <class T> using device_out = vector_view<T, space::device>;

/// y = alpha A x + beta z, queued. Without an inspection by split tiles, which suit
/// any rows; with one, what the inspection chose.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void multiply_csr(const device_context& ctx,
                                    const multiply_inspection<T, I, O, space::device>* info,
                                    T alpha, device_csr<T, I, O> a, device_in<T> x, T beta,
                                    device_in<T> z, device_out<T> y);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void multiply_csr_dense(const device_context& ctx, T alpha, device_csr<T, I, O> a,
                                          dense_view<const T, space::device> x, T beta,
                                          dense_view<const T, space::device> z,
                                          dense_view<T, space::device> y);
/// Reads the row lengths and waits for their statistics.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void inspect_csr(const device_context& ctx, device_csr<T, I, O> a,
                                   multiply_inspection<T, I, O, space::device>& result);
} // namespace detail::gpu

} // namespace lacuna

#include <lacuna/op/transpose.hpp>

namespace lacuna {
namespace detail {

template <class T, class I, class O, space S>
void multiply_vector(const context<S>& ctx, const operation_info_t* info,
                     matrix_operand<T, I, O, S> a, dense_operand<vector_view<const T, S>> x,
                     dense_operand<vector_view<const T, S>> z, vector_view<T, S> y) {
  require_same_size("multiply", "x", x.x.size(), a.transposed ? "rows of A" : "columns of A",
                    a.cols());
  require_same_size("multiply", "y", y.size(), a.transposed ? "columns of A" : "rows of A",
                    a.rows());
  if (z.alpha != 0) require_same_size("multiply", "z", z.x.size(), "y", y.size());
  require_apart<T>("multiply", "x", x.x.data(), x.x.size(), "y", y.data(), y.size());
  const T alpha = static_cast<T>(a.alpha * x.alpha), beta = static_cast<T>(z.alpha);
  const auto* found = find_inspection<T, I, O, S>(info, a);
  if constexpr (S == space::host) {
    if (!a.transposed)
      return detail::cpu::multiply_csr<T, I, O>(ctx, alpha, a.a, x.x, beta, z.x, y);
    if (found) {
      const auto t = found->transpose_of(ctx, a.a.values().data());
      return detail::cpu::multiply_csr<T, I, O>(ctx, alpha, t.a, x.x, beta, z.x, y);
    }
    detail::cpu::multiply_csr_transposed<T, I, O>(ctx, alpha, a.a, x.x, beta, z.x, y);
  } else {
    if (!a.transposed)
      return detail::gpu::multiply_csr<T, I, O>(ctx, found, alpha, a.a, x.x, beta, z.x, y);
    if (found) {
      const auto t = found->transpose_of(ctx, a.a.values().data());
      return detail::gpu::multiply_csr<T, I, O>(ctx, found, alpha, t.a, x.x, beta, z.x, y);
    }
    const auto t = transpose(ctx, a.a);
    detail::gpu::multiply_csr<T, I, O>(ctx, nullptr, alpha, t.view(), x.x, beta, z.x, y);
  }
}

template <class T, class I, class O, space S>
void multiply_dense(const context<S>& ctx, const operation_info_t* info,
                    matrix_operand<T, I, O, S> a, dense_operand<dense_view<const T, S>> x,
                    dense_operand<dense_view<const T, S>> z, dense_view<T, S> y) {
  require_same_size("multiply", "rows of X", x.x.shape().row,
                    a.transposed ? "rows of A" : "columns of A", a.cols());
  require_same_size("multiply", "rows of Y", y.shape().row,
                    a.transposed ? "columns of A" : "rows of A", a.rows());
  require_same_size("multiply", "columns of X", x.x.shape().col, "columns of Y", y.shape().col);
  if (z.alpha != 0) {
    require_same_size("multiply", "rows of Z", z.x.shape().row, "rows of Y", y.shape().row);
    require_same_size("multiply", "columns of Z", z.x.shape().col, "columns of Y", y.shape().col);
  }
  require_apart<T>("multiply", "X", x.x.data(), x.x.extent(), "Y", y.data(), y.extent());
  const T alpha = static_cast<T>(a.alpha * x.alpha), beta = static_cast<T>(z.alpha);
  const auto run = [&](csr_view<const T, I, O, S> matrix) {
    if constexpr (S == space::host)
      detail::cpu::multiply_csr_dense<T, I, O>(ctx, alpha, matrix, x.x, beta, z.x, y);
    else
      detail::gpu::multiply_csr_dense<T, I, O>(ctx, alpha, matrix, x.x, beta, z.x, y);
  };
  const auto* found = find_inspection<T, I, O, S>(info, a);
  if (!a.transposed) return run(a.a);
  if (found) return run(found->transpose_of(ctx, a.a.values().data()).a);
  const auto t = transpose(ctx, a.a);
  run(t.view());
}

/// One column whose elements are side by side.
template <class T, space S> bool is_vector(dense_view<T, S> v) {
  return v.shape().col == 1 && v.row_stride() == 1;
}
template <class T, space S> vector_view<T, S> as_vector(dense_view<T, S> v) {
  return {v.data(), v.shape().row};
}
/// Y = alpha A X + beta Z by the kernel for one column or for several; found: null, or of A.
template <class T, class I, class O, space S>
void multiply_csr_columns(const context<S>& ctx, const multiply_inspection<T, I, O, S>* found,
                          T alpha, csr_view<const T, I, O, S> a, dense_view<const T, S> x, T beta,
                          dense_view<const T, S> z, dense_view<T, S> y) {
  const bool one = is_vector(x) && is_vector(y) && (beta == T{0} || is_vector(z));
  if constexpr (S == space::host) {
    if (one)
      return detail::cpu::multiply_csr<T, I, O>(ctx, alpha, a, as_vector(x), beta, as_vector(z),
                                                as_vector(y));
    detail::cpu::multiply_csr_dense<T, I, O>(ctx, alpha, a, x, beta, z, y);
  } else {
    if (one)
      return detail::gpu::multiply_csr<T, I, O>(ctx, found, alpha, a, as_vector(x), beta,
                                                as_vector(z), as_vector(y));
    detail::gpu::multiply_csr_dense<T, I, O>(ctx, alpha, a, x, beta, z, y);
  }
}
template <class T, class I, class O, space S>
void inspect_csr(const context<S>& ctx, csr_view<const T, I, O, S> a,
                 multiply_inspection<T, I, O, S>& result) {
  if constexpr (S == space::host)
    detail::cpu::inspect_csr<T, I, O>(ctx, a, result);
  else
    detail::gpu::inspect_csr<T, I, O>(ctx, a, result);
}

/// A vector as a matrix of one column; a dense matrix as it is.
template <class T, space S> dense_view<T, S> as_columns(vector_view<T, S> x) {
  return {x.data(), {x.size(), 1}, layout::column_major};
}
template <class T, space S> dense_view<T, S> as_columns(dense_view<T, S> x) { return x; }

/// Y = alpha A X + beta Z with A in a format made for multiplication alone: checks, then
/// multiply_format, which the format's header declares.
template <class View, space S, class X, class Y>
void multiply_product(const context<S>& ctx, sparse_operand<View> a, dense_operand<X> x,
                      dense_operand<X> z, Y y) {
  using T = typename View::scalar_type;
  if (a.transposed)
    throw unsupported("multiply: this format multiplies in one direction; plan() with "
                      "transposed_multiplies, or make it from the transposed matrix");
  const auto x_columns = as_columns(x.x), z_columns = as_columns(z.x);
  const auto y_columns = as_columns(y);
  const auto [rows, cols] = a.a.shape();
  require_same_size("multiply", "x", x_columns.shape().row, "columns of A", cols);
  require_same_size("multiply", "y", y_columns.shape().row, "rows of A", rows);
  require_same_size("multiply", "columns of X", x_columns.shape().col, "columns of Y",
                    y_columns.shape().col);
  if (z.alpha != 0) {
    require_same_size("multiply", "z", z_columns.shape().row, "y", y_columns.shape().row);
    require_same_size("multiply", "columns of Z", z_columns.shape().col, "columns of Y",
                      y_columns.shape().col);
  }
  require_apart<T>("multiply", "x", x_columns.data(), x_columns.extent(), "y", y_columns.data(),
                   y_columns.extent());
  multiply_format(ctx, static_cast<T>(a.alpha * x.alpha), a.a, x_columns, static_cast<T>(z.alpha),
                  z_columns, y_columns);
}

/// Unwraps operands and picks the vector or the dense form; Z may be `no_addend`. What does not fit
/// is told before anything else is instantiated, so that it is the compiler's first error.
struct no_addend {};
template <space S, class A, class X, class Z, class Y>
void multiply_unwrapped(const context<S>& ctx, const operation_info_t* info, const A& a, const X& x,
                        const Z& z, Y&& y) {
  using A_op = operand_t<A>;
  using X_op = operand_t<X>;
  using T = typename A_op::scalar_type;
  constexpr bool has_addend = !std::is_same_v<Z, no_addend>;
  using Z_op = operand_t<std::conditional_t<has_addend, Z, X>>;
  constexpr bool can_write = is_writable<Y>;
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write) {
    using Y_op = dense_operand<decltype(mutable_view(std::forward<Y>(y)))>;
    constexpr bool one_space = are_in<S, A_op, X_op, Y_op, Z_op>;
    constexpr bool one_type = are_of<T, X_op, Y_op, Z_op>;
    constexpr bool alike = !one_space || !one_type || std::is_same_v<X_op, Z_op>;
    static_assert(one_space,
                  "lacuna: host and device memory are mixed in one operation; use copy_to");
    static_assert(one_type, "lacuna: operands differ in value type (float, double); use cast");
    static_assert(alike,
                  "lacuna: the addend must be a vector where x is, a dense matrix where X is");
    if constexpr (one_space && one_type && alike) {
      const auto a_op = operand(a);
      const auto x_op = operand(x);
      const auto y_view = mutable_view(std::forward<Y>(y));
      auto z_op = x_op;
      z_op.alpha = 0;
      if constexpr (has_addend) z_op = operand(z);
      if constexpr (requires { typename decltype(a_op.a)::product_format; })
        multiply_product(ctx, a_op, x_op, z_op, y_view);
      else if constexpr (requires { x_op.x.ld(); })
        multiply_dense(ctx, info, a_op, x_op, z_op, y_view);
      else
        multiply_vector(ctx, info, a_op, x_op, z_op, y_view);
    }
  }
}

template <class A> const auto& default_context_of() {
  return default_context<operand_t<A>::memory_space>();
}

} // namespace detail

template <class A, class X, class Y>
  requires(detail::is_matrix_operand<A> && !detail::is_matrix_operand<X>)
void multiply(const A& a, const X& x, Y&& y) {
  detail::multiply_unwrapped(detail::default_context_of<A>(), nullptr, a, x, detail::no_addend{},
                             std::forward<Y>(y));
}
template <class A, class X, class Z, class Y>
  requires(detail::is_matrix_operand<A>)
void multiply(const A& a, const X& x, const Z& z, Y&& y) {
  detail::multiply_unwrapped(detail::default_context_of<A>(), nullptr, a, x, z, std::forward<Y>(y));
}
template <space S, class A, class X, class Y>
  requires(!(detail::is_matrix_operand<A> && detail::is_matrix_operand<X>)) // that is spgemm.hpp's
void multiply(const context<S>& ctx, const A& a, const X& x, Y&& y) {
  detail::multiply_unwrapped(ctx, nullptr, a, x, detail::no_addend{}, std::forward<Y>(y));
}
template <space S, class A, class X, class Z, class Y>
  requires(detail::is_matrix_operand<A>)
void multiply(const context<S>& ctx, const A& a, const X& x, const Z& z, Y&& y) {
  detail::multiply_unwrapped(ctx, nullptr, a, x, z, std::forward<Y>(y));
}
template <class A, class X, class Y>
void multiply(const operation_info_t& info, const A& a, const X& x, Y&& y) {
  detail::multiply_unwrapped(detail::default_context_of<A>(), &info, a, x, detail::no_addend{},
                             std::forward<Y>(y));
}
template <class A, class X, class Z, class Y>
void multiply(const operation_info_t& info, const A& a, const X& x, const Z& z, Y&& y) {
  detail::multiply_unwrapped(detail::default_context_of<A>(), &info, a, x, z, std::forward<Y>(y));
}
template <space S, class A, class X, class Y>
void multiply(const context<S>& ctx, const operation_info_t& info, const A& a, const X& x, Y&& y) {
  detail::multiply_unwrapped(ctx, &info, a, x, detail::no_addend{}, std::forward<Y>(y));
}
template <space S, class A, class X, class Z, class Y>
void multiply(const context<S>& ctx, const operation_info_t& info, const A& a, const X& x,
              const Z& z, Y&& y) {
  detail::multiply_unwrapped(ctx, &info, a, x, z, std::forward<Y>(y));
}

/// Looks at A once; products see the values that A has then, whatever they were here. For
/// transposed(a) it keeps the pattern of A^T and where its values are in A: each product fetches
/// them first, which takes about as long as the product itself, into memory of its own. Where they
/// never change, {.values_stay = true} saves that. For a plain A on the device it chooses the
/// kernel from the row lengths. An info is for matrices with A's pattern: sizes are compared, the
/// pattern itself is not checked. Costs about one pass over the row pointers (plain) or one
/// transposition; waits for the device.
template <space S, class A, class X, class Y>
  requires(!detail::is_matrix_operand<X>)
operation_info_t multiply_inspect(const context<S>& ctx, const A& a, const X&, const Y&,
                                  const inspect_options& options = {}) {
  const auto op = detail::operand(a);
  using Op = decltype(op);
  using T = typename Op::scalar_type;
  using I = typename Op::index_type;
  using O = typename Op::offset_type;
  detail::require_same_space<S, Op>();
  auto result = std::make_shared<multiply_inspection<T, I, O, S>>();
  result->nnz = op.a.size();
  if (op.transposed) {
    result->transposed = detail::keep_transposed(ctx, op.a);
    result->values_stay = options.values_stay;
    if (options.values_stay) {
      result->values = array<T, S>(ctx, op.a.size());
      detail::gather_values(ctx, op.a.values().data(), result->transposed.from,
                            result->values.data());
      result->transposed.from = {};
    }
  }
  // Row lengths are looked at, and no values.
  const csr_view<const T, I, O, S> used =
      op.transposed ? result->transposed.template view<T>(nullptr) : op.a;
  detail::inspect_csr<T, I, O, S>(ctx, used, *result);
  return operation_info_t(std::move(result), {op.rows(), op.cols()});
}
template <class A, class X, class Y>
  requires(detail::is_matrix_operand<A> && !detail::is_matrix_operand<X>)
operation_info_t multiply_inspect(const A& a, const X& x, const Y& y,
                                  const inspect_options& options = {}) {
  return multiply_inspect(detail::default_context_of<A>(), a, x, y, options);
}
template <space S, class A, class X, class Y>
void multiply_inspect(const context<S>& ctx, operation_info_t& info, const A& a, const X& x,
                      const Y& y) {
  info = multiply_inspect(ctx, a, x, y);
}
template <class A, class X, class Y>
  requires(detail::is_matrix_operand<A>)
void multiply_inspect(operation_info_t& info, const A& a, const X& x, const Y& y) {
  info = multiply_inspect(a, x, y);
}

} // namespace lacuna
