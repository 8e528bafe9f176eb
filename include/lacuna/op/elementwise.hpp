// Vectors element by element.
//
//   multiply_elements(ctx, d, x, y);                  y[i] = d[i] x[i]
//   multiply_elements(ctx, alpha, d, x, beta, y);     y[i] = alpha d[i] x[i] + beta y[i]
//   fill_random(ctx, seed, x);                        numbers in [-1, 1) that follow from seed and
//   i
//
// The context is optional. y may be x or d itself. With beta 0, y is only written. Queued on a
// device, no scratch.
#pragma once

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail {
/// What was found in elements that were divided by.
struct divisors {
  std::int64_t bad = -1;                   ///< the first that is 0 or not finite; -1: none
  bool positive = false, negative = false; ///< whether there are such
};
/// Sums of w x y, w x x and w y y.
struct weighted_products {
  double xy = 0, xx = 0, yy = 0;
};
} // namespace detail

namespace detail::cpu {
template <class T>
LACUNA_EXPORT void multiply_elements(const host_context& ctx, T alpha, vector_view<const T> d,
                                     vector_view<const T> x, T beta, vector_view<T> y);
template <class T>
LACUNA_EXPORT void fill_random(const host_context& ctx, std::uint64_t seed, vector_view<T> x);
/// to[i] = alpha / d[i].
template <class T>
LACUNA_EXPORT divisors divide_by_elements(const host_context& ctx, T alpha, vector_view<const T> d,
                                          vector_view<T> to);
/// In an order that the size alone fixes, in double.
template <class T>
LACUNA_EXPORT weighted_products weighted_sums(const host_context& ctx, vector_view<const T> w,
                                              vector_view<const T> x, vector_view<const T> y);
/// p = alpha d r + beta p, then z = z + p.
template <class T>
LACUNA_EXPORT void step_elements(const host_context& ctx, T alpha, vector_view<const T> d,
                                 vector_view<const T> r, T beta, vector_view<T> p,
                                 vector_view<T> z);
} // namespace detail::cpu

namespace detail::gpu {
template <class T>
LACUNA_GPU_EXPORT void
multiply_elements(const device_context& ctx, T alpha, vector_view<const T, space::device> d,
                  vector_view<const T, space::device> x, T beta, vector_view<T, space::device> y);
template <class T>
LACUNA_GPU_EXPORT void fill_random(const device_context& ctx, std::uint64_t seed,
                                   vector_view<T, space::device> x);
/// Waits.
template <class T>
LACUNA_GPU_EXPORT divisors divide_by_elements(const device_context& ctx, T alpha,
                                              vector_view<const T, space::device> d,
                                              vector_view<T, space::device> to);
/// Waits.
template <class T>
LACUNA_GPU_EXPORT weighted_products weighted_sums(const device_context& ctx,
                                                  vector_view<const T, space::device> w,
                                                  vector_view<const T, space::device> x,
                                                  vector_view<const T, space::device> y);
template <class T>
LACUNA_GPU_EXPORT void
step_elements(const device_context& ctx, T alpha, vector_view<const T, space::device> d,
              vector_view<const T, space::device> r, T beta, vector_view<T, space::device> p,
              vector_view<T, space::device> z);
} // namespace detail::gpu

template <space S, class D, class X, class Y>
void multiply_elements(const context<S>& ctx, double alpha, const D& d, const X& x, double beta,
                       Y&& y) {
  constexpr bool can_write = detail::is_writable<Y>;
  static_assert(can_write, "lacuna: the result must be writable and must outlive the call");
  if constexpr (can_write) {
    const auto d_view = detail::const_view(d);
    const auto x_view = detail::const_view(x);
    const auto y_view = detail::mutable_view(std::forward<Y>(y));
    using T = typename decltype(y_view)::scalar_type;
    detail::require_same_space<S, decltype(d_view), decltype(x_view), decltype(y_view)>();
    detail::require_same_value<T, decltype(d_view), decltype(x_view)>();
    if constexpr (detail::are_in<S, decltype(d_view), decltype(x_view), decltype(y_view)> &&
                  detail::are_of<T, decltype(d_view), decltype(x_view)>) {
      detail::require_same_size("multiply_elements", "d", d_view.size(), "y", y_view.size());
      detail::require_same_size("multiply_elements", "x", x_view.size(), "y", y_view.size());
      const T by = static_cast<T>(alpha), keep = static_cast<T>(beta);
      if constexpr (S == space::host)
        detail::cpu::multiply_elements<T>(ctx, by, d_view, x_view, keep, y_view);
      else
        detail::gpu::multiply_elements<T>(ctx, by, d_view, x_view, keep, y_view);
    }
  }
}
template <space S, class D, class X, class Y>
void multiply_elements(const context<S>& ctx, const D& d, const X& x, Y&& y) {
  multiply_elements(ctx, 1, d, x, 0, std::forward<Y>(y));
}
template <class D, class X, class Y>
  requires(!detail::is_context<D>)
void multiply_elements(const D& d, const X& x, Y&& y) {
  multiply_elements(detail::default_context_for<D>(), 1, d, x, 0, std::forward<Y>(y));
}

/// The same numbers on every machine and in every space.
template <space S, class X> void fill_random(const context<S>& ctx, std::uint64_t seed, X&& x) {
  const auto v = detail::mutable_view(std::forward<X>(x));
  using T = typename decltype(v)::scalar_type;
  detail::require_same_space<S, decltype(v)>();
  if constexpr (S == space::host)
    detail::cpu::fill_random<T>(ctx, seed, v);
  else
    detail::gpu::fill_random<T>(ctx, seed, v);
}
template <class X> void fill_random(std::uint64_t seed, X&& x) {
  fill_random(detail::default_context_for<std::remove_cvref_t<X>>(), seed, std::forward<X>(x));
}

} // namespace lacuna
