// Dense vectors: dot, axpby, scale, fill, norms. Sums are formed in an order that depends on the
// length alone, so they repeat bit by bit, on the host for any number of threads.
//
// dot and the norms return a value to the host: on the device they wait for the stream.
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail::cpu {
template <class T>
LACUNA_EXPORT T dot(const host_context& ctx, vector_view<const T> x, vector_view<const T> y);
/// y = alpha x + beta y; with beta 0, y is only written, with alpha 0, x is not read.
template <class T>
LACUNA_EXPORT void axpby(const host_context& ctx, T alpha, vector_view<const T> x, T beta,
                         vector_view<T> y);
template <class T> LACUNA_EXPORT void fill(const host_context& ctx, T value, vector_view<T> x);
template <class T> LACUNA_EXPORT T norm1(const host_context& ctx, vector_view<const T> x);
template <class T> LACUNA_EXPORT T norm2(const host_context& ctx, vector_view<const T> x);
template <class T> LACUNA_EXPORT T norm_inf(const host_context& ctx, vector_view<const T> x);
template <class T, class I, class O>
LACUNA_EXPORT T matrix_inf_norm(const host_context& ctx, csr_view<const T, I, O> a);
} // namespace detail::cpu

namespace detail::gpu {
template <class T> using device_in = vector_view<const T, space::device>;
template <class T> using device_out = vector_view<T, space::device>;
template <class T>
LACUNA_GPU_EXPORT T dot(const device_context& ctx, device_in<T> x, device_in<T> y);
template <class T>
LACUNA_GPU_EXPORT void axpby(const device_context& ctx, T alpha, device_in<T> x, T beta,
                             device_out<T> y);
template <class T> LACUNA_GPU_EXPORT void fill(const device_context& ctx, T value, device_out<T> x);
template <class T> LACUNA_GPU_EXPORT T norm1(const device_context& ctx, device_in<T> x);
template <class T> LACUNA_GPU_EXPORT T norm2(const device_context& ctx, device_in<T> x);
template <class T> LACUNA_GPU_EXPORT T norm_inf(const device_context& ctx, device_in<T> x);
template <class T, class I, class O>
LACUNA_GPU_EXPORT T matrix_inf_norm(const device_context& ctx,
                                    csr_view<const T, I, O, space::device> a);
} // namespace detail::gpu

namespace detail {
/// The values of a matrix, or the vector itself.
template <class V> auto values_of(V v) {
  if constexpr (requires { v.values(); })
    return v.values();
  else
    return v;
}
} // namespace detail

/// Sum of x[i] * y[i].
template <space S, class X, class Y> auto dot(const context<S>& ctx, const X& x, const Y& y) {
  const auto x_view = detail::const_view(x);
  const auto y_view = detail::const_view(y);
  using T = typename decltype(x_view)::scalar_type;
  detail::require_same_space<S, decltype(x_view), decltype(y_view)>();
  detail::require_same_value<T, decltype(y_view)>();
  if constexpr (detail::are_in<S, decltype(x_view), decltype(y_view)> &&
                detail::are_of<T, decltype(y_view)>) {
    detail::require_same_size("dot", "x", x_view.size(), "y", y_view.size());
    if constexpr (S == space::host)
      return detail::cpu::dot<T>(ctx, x_view, y_view);
    else
      return detail::gpu::dot<T>(ctx, x_view, y_view);
  } else {
    return T{}; // refused above: no second error in a caller that uses the result
  }
}
template <class X, class Y>
  requires(!detail::is_context<X>)
auto dot(const X& x, const Y& y) { return dot(detail::default_context_for<X>(), x, y); }

/// y = alpha x + beta y. x and y are the same memory or do not overlap.
template <space S, class X, class Y>
void axpby(const context<S>& ctx, double alpha, const X& x, double beta, Y&& y) {
  constexpr bool can_write = detail::is_writable<Y>;
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write) {
    const auto x_view = detail::const_view(x);
    const auto y_view = detail::mutable_view(std::forward<Y>(y));
    using T = typename decltype(x_view)::scalar_type;
    detail::require_same_space<S, decltype(x_view), decltype(y_view)>();
    detail::require_same_value<T, decltype(y_view)>();
    if constexpr (detail::are_in<S, decltype(x_view), decltype(y_view)> &&
                  detail::are_of<T, decltype(y_view)>) {
      detail::require_same_size("axpby", "x", x_view.size(), "y", y_view.size());
      if constexpr (S == space::host)
        detail::cpu::axpby<T>(ctx, static_cast<T>(alpha), x_view, static_cast<T>(beta), y_view);
      else
        detail::gpu::axpby<T>(ctx, static_cast<T>(alpha), x_view, static_cast<T>(beta), y_view);
    }
  }
}
template <class X, class Y> void axpby(double alpha, const X& x, double beta, Y&& y) {
  axpby(detail::default_context_for<X>(), alpha, x, beta, std::forward<Y>(y));
}

/// a = alpha a, in place, for a vector or the values of a matrix. NaN and Inf times 0 are NaN.
template <space S, class A> void scale(const context<S>& ctx, double alpha, A&& a) {
  const auto v = detail::values_of(detail::mutable_view(std::forward<A>(a)));
  using T = typename decltype(v)::scalar_type;
  detail::require_same_space<S, decltype(v)>();
  // axpby does not read x when alpha is 0, so 0 a is formed as a - a.
  const T factor = static_cast<T>(alpha);
  const T times_x = factor == 0 ? T{1} : factor, times_y = factor == 0 ? T{-1} : T{0};
  if constexpr (S == space::host)
    detail::cpu::axpby<T>(ctx, times_x, v, times_y, v);
  else
    detail::gpu::axpby<T>(ctx, times_x, v, times_y, v);
}
template <class A> void scale(double alpha, A&& a) {
  scale(detail::default_context_for<std::remove_cvref_t<A>>(), alpha, std::forward<A>(a));
}

/// Every element becomes value.
template <space S, class X> void fill(const context<S>& ctx, double value, X&& x) {
  const auto v = detail::mutable_view(std::forward<X>(x));
  using T = typename decltype(v)::scalar_type;
  detail::require_same_space<S, decltype(v)>();
  if constexpr (S == space::host)
    detail::cpu::fill<T>(ctx, static_cast<T>(value), v);
  else
    detail::gpu::fill<T>(ctx, static_cast<T>(value), v);
}

template <class X> void fill(double value, X&& x) {
  fill(detail::default_context_for<std::remove_cvref_t<X>>(), value, std::forward<X>(x));
}

/// Sum of |x[i]|.
template <space S, class X> auto norm1(const context<S>& ctx, const X& x) {
  const auto v = detail::const_view(x);
  using T = typename decltype(v)::scalar_type;
  detail::require_same_space<S, decltype(v)>();
  if constexpr (S == space::host)
    return detail::cpu::norm1<T>(ctx, v);
  else
    return detail::gpu::norm1<T>(ctx, v);
}
template <class X> auto norm1(const X& x) { return norm1(detail::default_context_for<X>(), x); }

/// Euclidean length; neither overflows nor underflows on the way to a representable result.
template <space S, class X> auto norm2(const context<S>& ctx, const X& x) {
  const auto v = detail::const_view(x);
  using T = typename decltype(v)::scalar_type;
  detail::require_same_space<S, decltype(v)>();
  if constexpr (S == space::host)
    return detail::cpu::norm2<T>(ctx, v);
  else
    return detail::gpu::norm2<T>(ctx, v);
}
template <class X> auto norm2(const X& x) { return norm2(detail::default_context_for<X>(), x); }

/// Largest |x[i]|; NaN if any element is; 0 for an empty vector.
template <space S, class X> auto norm_inf(const context<S>& ctx, const X& x) {
  const auto v = detail::const_view(x);
  using T = typename decltype(v)::scalar_type;
  detail::require_same_space<S, decltype(v)>();
  if constexpr (S == space::host)
    return detail::cpu::norm_inf<T>(ctx, v);
  else
    return detail::gpu::norm_inf<T>(ctx, v);
}
template <class X> auto norm_inf(const X& x) {
  return norm_inf(detail::default_context_for<X>(), x);
}

/// Frobenius norm of the stored entries (duplicates count apart).
template <space S, class A> auto matrix_frob_norm(const context<S>& ctx, const A& a) {
  return norm2(ctx, detail::const_view(a).values());
}
template <class A> auto matrix_frob_norm(const A& a) {
  return matrix_frob_norm(detail::default_context_for<A>(), a);
}

/// Largest row sum of |a_ij| of the stored entries; a is csr.
template <space S, class A> auto matrix_inf_norm(const context<S>& ctx, const A& a) {
  const auto v = detail::const_view(a);
  using V = decltype(v);
  detail::require_same_space<S, V>();
  if constexpr (S == space::host)
    return detail::cpu::matrix_inf_norm<typename V::scalar_type, typename V::index_type,
                                        typename V::offset_type>(ctx, v);
  else
    return detail::gpu::matrix_inf_norm<typename V::scalar_type, typename V::index_type,
                                        typename V::offset_type>(ctx, v);
}
template <class A> auto matrix_inf_norm(const A& a) {
  return matrix_inf_norm(detail::default_context_for<A>(), a);
}

} // namespace lacuna
