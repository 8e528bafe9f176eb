// packed_csr: made from CSR, multiplied with, and taken apart again.
//
//   auto p = to_packed_csr(ctx, a);   entries and their order as in a
//   multiply(ctx, p, x, y);           y = A x: the bits of multiply(ctx, info, a, x, y) with an
//                                     inspected CSR matrix, from fewer bytes
//   auto b = to_csr(ctx, p);          a again
//
// Several columns: the host unpacks about a thousand columns at a time and multiplies them with all
// columns of X. The device multiplies a tile with eight columns of X before it is read again; what
// is not stored by columns there passes through scratch of rows + cols elements a column of X.
#pragma once

#include <lacuna/format/packed_csr.hpp>
#include <lacuna/op/check.hpp>
#include <lacuna/op/convert.hpp>
#include <lacuna/op/multiply.hpp>

namespace lacuna {

namespace detail::cpu {
template <class T, class I, class O>
LACUNA_EXPORT packed_csr<T, I, O> csr_to_packed_csr(const host_context& ctx,
                                                    csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> packed_csr_to_csr(const host_context& ctx,
                                             packed_csr_view<const T, I, O> a);
template <class T, class I, class O>
LACUNA_EXPORT void check_packed_csr(const host_context& ctx, packed_csr_view<const T, I, O> a);
/// y = alpha A x + beta z; z is not read if beta is 0.
template <class T, class I, class O>
LACUNA_EXPORT void multiply_packed_csr(const host_context& ctx, T alpha,
                                       packed_csr_view<const T, I, O> a, vector_view<const T> x,
                                       T beta, vector_view<const T> z, vector_view<T> y);
template <class T, class I, class O>
LACUNA_EXPORT void
multiply_packed_csr_dense(const host_context& ctx, T alpha, packed_csr_view<const T, I, O> a,
                          dense_view<const T> x, T beta, dense_view<const T> z, dense_view<T> y);
} // namespace detail::cpu

namespace detail::gpu {
template <class T, class I, class O>
using device_packed_csr = packed_csr_view<const T, I, O, space::device>;
template <class T, class I, class O>
LACUNA_GPU_EXPORT packed_csr<T, I, O, space::device> csr_to_packed_csr(const device_context& ctx,
                                                                       device_csr<T, I, O> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr_d<T, I, O> packed_csr_to_csr(const device_context& ctx,
                                                   device_packed_csr<T, I, O> a);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void check_packed_csr(const device_context& ctx, device_packed_csr<T, I, O> a);
/// Queued, as is the next.
template <class T, class I, class O>
LACUNA_GPU_EXPORT void multiply_packed_csr(const device_context& ctx, T alpha,
                                           device_packed_csr<T, I, O> a, device_in<T> x, T beta,
                                           device_in<T> z, device_out<T> y);
template <class T, class I, class O>
LACUNA_GPU_EXPORT void
multiply_packed_csr_dense(const device_context& ctx, T alpha, device_packed_csr<T, I, O> a,
                          dense_view<const T, space::device> x, T beta,
                          dense_view<const T, space::device> z, dense_view<T, space::device> y);
} // namespace detail::gpu

/// From a csr matrix or view. Two passes over the columns and one over the rest; on the device it
/// waits for the size of the columns and for the row lengths. Throws bad_input where 32-bit columns
/// would take more than 64 GiB when packed.
template <space S, class A> auto to_packed_csr(const context<S>& ctx, const A& a) {
  const auto view = detail::const_view(a);
  using V = decltype(view);
  using T = typename V::scalar_type;
  using I = typename V::index_type;
  using O = typename V::offset_type;
  detail::require_same_space<S, V>();
  static_assert(std::is_convertible_v<V, csr_view<const T, I, O, S>>,
                "lacuna: to_packed_csr takes csr; use to_csr before");
  if constexpr (S == space::host)
    return detail::cpu::csr_to_packed_csr<T, I, O>(ctx, view);
  else
    return detail::gpu::csr_to_packed_csr<T, I, O>(ctx, view);
}

/// The matrix it was made from, facts included.
template <space S, class T, class I, class O>
csr<T, I, O, S> to_csr(const context<S>& ctx, packed_csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    return detail::cpu::packed_csr_to_csr<T, I, O>(ctx, a);
  else
    return detail::gpu::packed_csr_to_csr<T, I, O>(ctx, a);
}
template <space S, class T, class I, class O>
csr<T, I, O, S> to_csr(const context<S>& ctx, const packed_csr<T, I, O, S>& a) {
  return to_csr(ctx, a.view());
}

/// To the device it waits for the row lengths.
template <space S, class T, class I, class O, space From>
packed_csr<T, I, O, S> copy_to(const context<S>& ctx, packed_csr_view<const T, I, O, From> a) {
  auto rowptr = copy_to(ctx, a.rowptr());
  multiply_inspection<T, I, O, S> found;
  if constexpr (S == space::device)
    detail::gpu::inspect_csr<T, I, O>(ctx, {nullptr, rowptr.data(), nullptr, a.shape(), a.size()},
                                      found);
  return {a.shape(),
          std::move(rowptr),
          copy_to(ctx, a.chunks()),
          copy_to(ctx, a.columns()),
          copy_to(ctx, a.values()),
          a.order(),
          std::move(found)};
}
template <space S, class T, class I, class O, space From>
packed_csr<T, I, O, S> copy_to(const context<S>& ctx, const packed_csr<T, I, O, From>& a) {
  return copy_to(ctx, a.view());
}

namespace detail {
/// Scratch: the columns, unpacked.
template <class T, class I, class O, space S>
void check_view(const context<S>& ctx, packed_csr_view<const T, I, O, S> a) {
  if constexpr (S == space::host)
    detail::cpu::check_packed_csr<T, I, O>(ctx, a);
  else
    detail::gpu::check_packed_csr<T, I, O>(ctx, a);
}
/// One column whose elements are side by side.
template <class T, space S> bool is_vector(dense_view<T, S> v) {
  return v.shape().col == 1 && v.row_stride() == 1;
}
template <class T, space S> vector_view<T, S> as_vector(dense_view<T, S> v) {
  return {v.data(), v.shape().row};
}
template <class T, class I, class O, space S>
void multiply_format(const context<S>& ctx, T alpha, packed_csr_view<const T, I, O, S> a,
                     dense_view<const T, S> x, T beta, dense_view<const T, S> z,
                     dense_view<T, S> y) {
  const bool one = is_vector(x) && is_vector(y) && (beta == T{0} || is_vector(z));
  if constexpr (S == space::host) {
    if (one)
      return detail::cpu::multiply_packed_csr<T, I, O>(ctx, alpha, a, as_vector(x), beta,
                                                       as_vector(z), as_vector(y));
    detail::cpu::multiply_packed_csr_dense<T, I, O>(ctx, alpha, a, x, beta, z, y);
  } else {
    if (one)
      return detail::gpu::multiply_packed_csr<T, I, O>(ctx, alpha, a, as_vector(x), beta,
                                                       as_vector(z), as_vector(y));
    detail::gpu::multiply_packed_csr_dense<T, I, O>(ctx, alpha, a, x, beta, z, y);
  }
}
} // namespace detail

template <space S, class T, class I, class O>
void check(const context<S>& ctx, packed_csr_view<const T, I, O, S> a) {
  detail::check_view(ctx, a);
}
template <space S, class T, class I, class O>
void check(const context<S>& ctx, const packed_csr<T, I, O, S>& a) {
  check(ctx, a.view());
}

template <class A>
  requires(!detail::is_context<A>)
auto to_packed_csr(const A& a) { return to_packed_csr(detail::default_context_for<A>(), a); }

} // namespace lacuna
