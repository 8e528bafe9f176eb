// y = A x and Y = A X, with A sparse (csr, csc) and x, X dense; scaled and transposed operands.
//
//   multiply(a, x, y)                                   y = A x
//   multiply(scaled(alpha, a), x, scaled(beta, z), y)   y = alpha A x + beta z; z may be y itself
//   auto info = multiply_inspect(a, x, y);              work done once for a matrix
//   multiply(info, a, x, y)                             and used again and again
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

namespace detail {
/// A csr matrix, and what an inspection found of it or of its transpose; null: nothing.
template <class T, class I, class O, space S> struct inspected_csr {
  csr_view<const T, I, O, S> a;
  const multiply_inspection<T, I, O, S>* inspection = nullptr;
};
} // namespace detail

// Products, sizes checked: Y = alpha A X + beta Z; Z is not read if beta is 0. Every format has
// overloads of multiply_format, one for each space.
namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT void multiply_format(const host_context& ctx, T alpha,
                                   inspected_csr<T, I, O, space::host> a, dense_view<const T> x,
                                   T beta, dense_view<const T> z, dense_view<T> y);
/// y = alpha A^T x + beta z. Scratch: the column windows of up to `threads` row ranges.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_csr_transposed(const host_context& ctx, T alpha,
                                           csr_view<const T, I, O> a, vector_view<const T> x,
                                           T beta, vector_view<const T> z, vector_view<T> y);
template <class T, class I, class O>
LACUNA_EXPORT void inspect_csr(const host_context& ctx, csr_view<const T, I, O> a,
                               multiply_inspection<T, I, O, space::host>& result);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O> using device_csr = csr_view<const T, I, O, space::device>;
template <class T> using device_in = vector_view<const T, space::device>;
template <class T> using device_out = vector_view<T, space::device>;

/// Queued. One column without an inspection by split tiles, which suit any rows; with one, what the
/// inspection chose. Several columns: scratch of the size of X, its rows filled up to whole 16-byte
/// packets, where they are not that; and a value a column for every 1000 rows and entries.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
multiply_format(const device_context& ctx, T alpha, inspected_csr<T, I, O, space::device> a,
                dense_view<const T, space::device> x, T beta, dense_view<const T, space::device> z,
                dense_view<T, space::device> y);
/// y = alpha A^T x + beta z. By a transposed copy where the pattern is symmetric, which is looked
/// at, and waited for, where A is square and states sorted and unique rows; else products are
/// sorted by column. Scratch: about 30 bytes per entry.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void multiply_csr_transposed(const device_context& ctx, T alpha,
                                               device_csr<T, I, O> a, device_in<T> x, T beta,
                                               device_in<T> z, device_out<T> y);
/// Reads the row lengths and waits for their statistics.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void inspect_csr(const device_context& ctx, device_csr<T, I, O> a,
                                   multiply_inspection<T, I, O, space::device>& result);
} // namespace detail::gpu

} // namespace lacuna

#include <lacuna/op/transpose.hpp>

namespace lacuna {
namespace detail {

using cpu::multiply_format;
using gpu::multiply_format;

/// One column whose elements are side by side.
template <class T, space S> bool is_vector(dense_view<T, S> v) {
  return v.shape().col == 1 && v.row_stride() == 1;
}
template <class T, space S> vector_view<T, S> as_vector(dense_view<T, S> v) {
  return {v.data(), v.shape().row};
}
/// Whether Y = A X + beta Z is one of vectors.
template <class T, space S>
bool are_vectors(dense_view<const T, S> x, T beta, dense_view<const T, S> z, dense_view<T, S> y) {
  return is_vector(x) && is_vector(y) && (beta == T{0} || is_vector(z));
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

/// Sizes of an operand that is a vector (one column) or a dense matrix.
struct column_sizes {
  std::int64_t rows, columns;
  bool vector;
};
/// Throws size_mismatch; z: null where there is no addend.
LACUNA_EXPORT void require_product_sizes(std::int64_t rows, std::int64_t cols, bool transposed,
                                         column_sizes x, const column_sizes* z, column_sizes y);

template <class T, class I, class O, space S>
void multiply_columns(const context<S>& ctx, const operation_info_t* info,
                      const matrix_operand<T, I, O, S>& a, T alpha, dense_view<const T, S> x,
                      T beta, dense_view<const T, S> z, dense_view<T, S> y) {
  using inspected = inspected_csr<T, I, O, S>;
  const auto* inspection = find_inspection<T, I, O, S>(info, a);
  if (!a.transposed) return multiply_format(ctx, alpha, inspected{a.a, inspection}, x, beta, z, y);
  if (inspection != nullptr) {
    const auto t = inspection->transpose_of(ctx, a.a.values().data());
    return multiply_format(ctx, alpha, inspected{t.a, inspection}, x, beta, z, y);
  }
  if (are_vectors(x, beta, z, y)) {
    if constexpr (S == space::host)
      return cpu::multiply_csr_transposed<T, I, O>(ctx, alpha, a.a, as_vector(x), beta,
                                                   as_vector(z), as_vector(y));
    else
      return gpu::multiply_csr_transposed<T, I, O>(ctx, alpha, a.a, as_vector(x), beta,
                                                   as_vector(z), as_vector(y));
  }
  const auto t = transpose(ctx, a.a);
  multiply_format(ctx, alpha, inspected{t.view()}, x, beta, z, y);
}
/// A in a format made for multiplication; transposed, one that multiplies both ways or whose rows
/// are a csr's.
template <class View, class T, space S>
  requires(is_product_format<View>)
void multiply_columns(const context<S>& ctx, const operation_info_t*, const sparse_operand<View>& a,
                      T alpha, dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                      dense_view<T, S> y) {
  if (!a.transposed) return multiply_format(ctx, alpha, a.a, x, beta, z, y);
  if constexpr (is_two_way<View>) {
    multiply_format(ctx, alpha, a.a.transpose(), x, beta, z, y);
  } else if constexpr (is_row_format<View>) {
    if constexpr (S == space::host)
      if (!a.a.compact && are_vectors(x, beta, z, y))
        return multiply_transposed_rows(ctx, alpha, a.a, as_vector(x), beta, as_vector(z),
                                        as_vector(y));
    const csr_rows_of rows(ctx, a);
    multiply_columns(ctx, nullptr, rows.operand(), alpha, x, beta, z, y);
  }
}

/// Unwraps operands, vectors as matrices of one column, and checks them; Z may be `no_addend`. What
/// does not fit is told before anything else is instantiated, so that it is the compiler's first
/// error.
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
      auto z_op = x_op;
      z_op.alpha = 0;
      if constexpr (has_addend) z_op = operand(z);
      const dense_view<const T, S> x_columns = as_columns(x_op.x), z_columns = as_columns(z_op.x);
      const dense_view<T, S> y_columns = as_columns(mutable_view(std::forward<Y>(y)));
      const auto sizes = [](const auto& v) {
        constexpr bool vector = !requires { x_op.x.ld(); };
        return column_sizes{v.shape().row, v.shape().col, vector};
      };
      using View = decltype(a_op.a);
      if (is_product_format<View> && !is_row_format<View> && !is_two_way<View> && a_op.transposed)
        throw unsupported("multiply: this format multiplies in one direction; plan() with "
                          "transposed_multiplies, or make it from the transposed matrix");
      const column_sizes z_sizes = sizes(z_columns);
      require_product_sizes(a_op.rows(), a_op.cols(), a_op.transposed, sizes(x_columns),
                            z_op.alpha != 0 ? &z_sizes : nullptr, sizes(y_columns));
      require_apart<T>("multiply", "x", x_columns.data(), x_columns.extent(), "y", y_columns.data(),
                       y_columns.extent());
      multiply_columns(ctx, info, a_op, static_cast<T>(a_op.alpha * x_op.alpha), x_columns,
                       static_cast<T>(z_op.alpha), z_columns, y_columns);
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
  requires(detail::is_matrix_operand<A> && !detail::is_matrix_operand<X>)
void multiply(const A& a, const X& x, const Z& z, Y&& y) {
  detail::multiply_unwrapped(detail::default_context_of<A>(), nullptr, a, x, z, std::forward<Y>(y));
}
template <space S, class A, class X, class Y>
  requires(!(detail::is_matrix_operand<A> && detail::is_matrix_operand<X>)) // that is spgemm.hpp's
void multiply(const context<S>& ctx, const A& a, const X& x, Y&& y) {
  detail::multiply_unwrapped(ctx, nullptr, a, x, detail::no_addend{}, std::forward<Y>(y));
}
template <space S, class A, class X, class Z, class Y>
  requires(detail::is_matrix_operand<A> && !detail::is_matrix_operand<X>)
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
