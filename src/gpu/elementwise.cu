// Vectors element by element. Sums are formed in double by CUB, in a fixed order.
#include <lacuna/op/elementwise.hpp>

#include "gpu/parts/reduce.cuh"
#include "op/random_element.hpp"

namespace lacuna::detail::gpu {
namespace {

struct add_weighted_products {
  __host__ __device__ weighted_products operator()(const weighted_products& a,
                                                   const weighted_products& b) const {
    return {a.xy + b.xy, a.xx + b.xx, a.yy + b.yy};
  }
};

} // namespace

template <class T>
void multiply_elements(const device_context& ctx, T alpha, vector_view<const T, space::device> d,
                       vector_view<const T, space::device> x, T beta,
                       vector_view<T, space::device> y) {
  const device_guard guard(ctx.device());
  for_each(ctx, y.size(), "multiply_elements",
           [alpha, d = d.data(), x = x.data(), beta, y = y.data()] __device__(std::int64_t i) {
             const T product = alpha * d[i] * x[i];
             y[i] = beta == T{0} ? product : product + beta * y[i];
           });
}

template <class T>
void fill_random(const device_context& ctx, std::uint64_t seed, vector_view<T, space::device> x) {
  const device_guard guard(ctx.device());
  for_each(ctx, x.size(), "fill_random", [seed, x = x.data()] __device__(std::int64_t i) {
    x[i] = static_cast<T>(random_element(seed, i));
  });
}

template <class T>
divisors divide_by_elements(const device_context& ctx, T alpha,
                            vector_view<const T, space::device> d,
                            vector_view<T, space::device> to) {
  const device_guard guard(ctx.device());
  using place = unsigned long long;
  // The first that cannot be divided by, the first above 0, the first below.
  array<place, space::device> firsts(ctx, 3);
  check(cudaMemsetAsync(firsts.data(), 0xff, firsts.bytes(), ctx.stream()), "divide");
  for_each(
      ctx, d.size(), "divide",
      [alpha, d = d.data(), to = to.data(), firsts = firsts.data()] __device__(std::int64_t i) {
        const T v = d[i];
        to[i] = alpha / v;
        if (v == T{0} || !isfinite(v)) atomicMin(firsts, static_cast<place>(i));
        // Signs are few: most threads see that theirs is known.
        place* const sign = firsts + (v > T{0} ? 1 : 2);
        if (v != T{0} && !isnan(v) && *sign == ~place{0}) *sign = static_cast<place>(i);
      });
  place found[3];
  read_back(ctx, found, firsts.data(), 3);
  constexpr place none = ~place{0};
  return {found[0] == none ? -1 : static_cast<std::int64_t>(found[0]), found[1] != none,
          found[2] != none};
}

template <class T>
weighted_products weighted_sums(const device_context& ctx, vector_view<const T, space::device> w,
                                vector_view<const T, space::device> x,
                                vector_view<const T, space::device> y) {
  const device_guard guard(ctx.device());
  return reduce<weighted_products>(
      ctx, x.size(),
      [w = w.data(), x = x.data(), y = y.data()] __device__(std::int64_t i) -> weighted_products {
        const double weight = static_cast<double>(w[i]), u = static_cast<double>(x[i]),
                     v = static_cast<double>(y[i]);
        return {weight * u * v, weight * u * u, weight * v * v};
      },
      add_weighted_products{}, weighted_products{});
}

template <class T>
void step_elements(const device_context& ctx, T alpha, vector_view<const T, space::device> d,
                   vector_view<const T, space::device> r, T beta, vector_view<T, space::device> p,
                   vector_view<T, space::device> z) {
  const device_guard guard(ctx.device());
  for_each(ctx, z.size(), "step_elements",
           [alpha, d = d.data(), r = r.data(), beta, p = p.data(),
            z = z.data()] __device__(std::int64_t i) {
             const T next = alpha * d[i] * r[i] + beta * p[i];
             p[i] = next;
             z[i] += next;
           });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void multiply_elements<T>(                                                              \
      const device_context&, T, vector_view<const T, space::device>,                               \
      vector_view<const T, space::device>, T, vector_view<T, space::device>);                      \
  template void fill_random<T>(const device_context&, std::uint64_t,                               \
                               vector_view<T, space::device>);                                     \
  template divisors divide_by_elements<T>(const device_context&, T,                                \
                                          vector_view<const T, space::device>,                     \
                                          vector_view<T, space::device>);                          \
  template weighted_products weighted_sums<T>(                                                     \
      const device_context&, vector_view<const T, space::device>,                                  \
      vector_view<const T, space::device>, vector_view<const T, space::device>);                   \
  template void step_elements<T>(const device_context&, T, vector_view<const T, space::device>,    \
                                 vector_view<const T, space::device>, T,                           \
                                 vector_view<T, space::device>, vector_view<T, space::device>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::gpu
