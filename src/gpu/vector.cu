// Dense vectors on the device. Sums are accumulated in double and formed by CUB in a fixed order.
#include <cmath>

#include <lacuna/op/reduce.hpp>

#include "gpu/parts/reduce.cuh"

namespace lacuna::detail::gpu {
namespace {

struct plus {
  __device__ double operator()(double a, double b) const { return a + b; }
};
/// The larger; NaN if either is.
struct largest {
  __device__ double operator()(double a, double b) const {
    return isnan(a) || isnan(b) ? a + b : (a > b ? a : b);
  }
};

template <class T> double largest_element(const device_context& ctx, device_in<T> x) {
  return reduce<double>(
      ctx, x.size(),
      [x = x.data()] __device__(std::int64_t i) { return static_cast<double>(abs(x[i])); },
      largest{}, 0.0);
}

} // namespace

template <class T> T dot(const device_context& ctx, device_in<T> x, device_in<T> y) {
  const device_guard guard(ctx.device());
  return static_cast<T>(reduce<double>(
      ctx, x.size(),
      [x = x.data(), y = y.data()] __device__(std::int64_t i) {
        return static_cast<double>(x[i]) * static_cast<double>(y[i]);
      },
      plus{}, 0.0));
}

template <class T>
void axpby(const device_context& ctx, T alpha, device_in<T> x, T beta, device_out<T> y) {
  const device_guard guard(ctx.device());
  if (alpha == T{0} && beta == T{0}) return detail::gpu::fill<T>(ctx, T{0}, y);
  if (beta == T{0})
    return for_each(
        ctx, y.size(), "axpby",
        [alpha, x = x.data(), y = y.data()] __device__(std::int64_t i) { y[i] = alpha * x[i]; });
  if (alpha == T{0})
    return for_each(ctx, y.size(), "axpby",
                    [beta, y = y.data()] __device__(std::int64_t i) { y[i] *= beta; });
  for_each(ctx, y.size(), "axpby",
           [alpha, x = x.data(), beta, y = y.data()] __device__(std::int64_t i) {
             y[i] = alpha * x[i] + beta * y[i];
           });
}

template <class T> void fill(const device_context& ctx, T value, device_out<T> x) {
  const device_guard guard(ctx.device());
  for_each(ctx, x.size(), "fill",
           [value, x = x.data()] __device__(std::int64_t i) { x[i] = value; });
}

template <class T> T norm1(const device_context& ctx, device_in<T> x) {
  const device_guard guard(ctx.device());
  return static_cast<T>(reduce<double>(
      ctx, x.size(),
      [x = x.data()] __device__(std::int64_t i) { return static_cast<double>(abs(x[i])); }, plus{},
      0.0));
}

template <class T> T norm2(const device_context& ctx, device_in<T> x) {
  const device_guard guard(ctx.device());
  const auto sum_of_squares = [&](double by) {
    return reduce<double>(
        ctx, x.size(),
        [x = x.data(), by] __device__(std::int64_t i) {
          const double scaled = static_cast<double>(x[i]) / by;
          return scaled * scaled;
        },
        plus{}, 0.0);
  };
  const double squares = sum_of_squares(1);
  // Squares of floats fit a double; those of doubles may not: divide by the largest and repeat.
  if (sizeof(T) == 4 || (std::isfinite(squares) && squares > 1e-280))
    return static_cast<T>(std::sqrt(squares));
  const double scale = largest_element(ctx, x);
  if (scale == 0 || !std::isfinite(scale)) return static_cast<T>(scale);
  return static_cast<T>(scale * std::sqrt(sum_of_squares(scale)));
}

template <class T> T norm_inf(const device_context& ctx, device_in<T> x) {
  const device_guard guard(ctx.device());
  return static_cast<T>(largest_element(ctx, x));
}

template <class T, class I, class O>
T matrix_inf_norm(const device_context& ctx, csr_view<const T, I, O, space::device> a) {
  array<T, space::device> sums(ctx, a.shape().row);
  reduce_lines<T, O>(ctx, reduction::sum_of_magnitudes, a.shape().col, a.rowptr(), a.values(),
                     sums);
  return detail::gpu::norm_inf<T>(ctx, std::as_const(sums).view());
}

#define LACUNA_INSTANTIATE_VALUE(T)                                                                \
  template T dot<T>(const device_context&, device_in<T>, device_in<T>);                            \
  template void axpby<T>(const device_context&, T, device_in<T>, T, device_out<T>);                \
  template void fill<T>(const device_context&, T, device_out<T>);                                  \
  template T norm1<T>(const device_context&, device_in<T>);                                        \
  template T norm2<T>(const device_context&, device_in<T>);                                        \
  template T norm_inf<T>(const device_context&, device_in<T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE_VALUE)
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template T matrix_inf_norm<T, I, O>(const device_context&,                                       \
                                      csr_view<const T, I, O, space::device>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
