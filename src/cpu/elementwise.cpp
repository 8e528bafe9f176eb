#include <lacuna/op/elementwise.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "cpu/rows.hpp"
#include "op/random_element.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t element_grain = std::int64_t{1} << 15;

template <class F> void for_each_element(const host_context& ctx, std::int64_t size, F f) {
  for_each_range(ctx, size, element_grain, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

} // namespace

template <class T>
void multiply_elements(const host_context& ctx, T alpha, vector_view<const T> d,
                       vector_view<const T> x, T beta, vector_view<T> y) {
  const T* const p = d.data();
  const T* const q = x.data();
  T* const to = y.data();
  if (beta == 0)
    for_each_element(ctx, y.size(), [=](std::int64_t i) { to[i] = alpha * p[i] * q[i]; });
  else
    for_each_element(ctx, y.size(),
                     [=](std::int64_t i) { to[i] = alpha * p[i] * q[i] + beta * to[i]; });
}

template <class T> void fill_random(const host_context& ctx, std::uint64_t seed, vector_view<T> x) {
  T* const to = x.data();
  for_each_element(ctx, x.size(),
                   [=](std::int64_t i) { to[i] = static_cast<T>(random_element(seed, i)); });
}

template <class T>
divisors divide_by_elements(const host_context& ctx, T alpha, vector_view<const T> d,
                            vector_view<T> to) {
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> first{none};
  std::atomic<bool> positive{false}, negative{false};
  for_each_range(ctx, d.size(), element_grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t bad = none;
    bool above = false, below = false;
    for (std::int64_t i = end; i-- > begin;) {
      if (d[i] == 0 || !std::isfinite(d[i])) bad = i;
      above |= d[i] > 0;
      below |= d[i] < 0;
      to[i] = alpha / d[i];
    }
    if (above) positive = true;
    if (below) negative = true;
    std::int64_t seen = first.load();
    while (bad < seen && !first.compare_exchange_weak(seen, bad)) {
    }
  });
  return {first == none ? -1 : first.load(), positive, negative};
}

template <class T>
weighted_products weighted_sums(const host_context& ctx, vector_view<const T> w,
                                vector_view<const T> x, vector_view<const T> y) {
  constexpr std::int64_t most_blocks = 1024, least_block = 4096;
  constexpr std::int64_t lanes = 8; // independent sums: hides the latency of an addition
  const std::int64_t size = x.size();
  const std::int64_t block = std::max(least_block, (size + most_blocks - 1) / most_blocks);
  const std::int64_t blocks = (size + block - 1) / block;
  std::array<weighted_products, most_blocks> partial;
  for_each_range(ctx, blocks, 8, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b) {
      double xy[lanes] = {}, xx[lanes] = {}, yy[lanes] = {};
      const auto add = [&](std::int64_t i, std::int64_t l) {
        const double weight = w[i + l], u = x[i + l], v = y[i + l];
        xy[l] += weight * u * v;
        xx[l] += weight * u * u;
        yy[l] += weight * v * v;
      };
      const std::int64_t end = std::min(size, (b + 1) * block);
      std::int64_t i = b * block;
      for (; i + lanes <= end; i += lanes)
        for (std::int64_t l = 0; l < lanes; ++l) add(i, l);
      for (std::int64_t l = 0; i + l < end; ++l) add(i, l);
      weighted_products sums;
      for (std::int64_t l = 0; l < lanes; ++l) {
        sums.xy += xy[l];
        sums.xx += xx[l];
        sums.yy += yy[l];
      }
      partial[static_cast<std::size_t>(b)] = sums;
    }
  });
  weighted_products result;
  for (std::int64_t b = 0; b < blocks; ++b) {
    result.xy += partial[static_cast<std::size_t>(b)].xy;
    result.xx += partial[static_cast<std::size_t>(b)].xx;
    result.yy += partial[static_cast<std::size_t>(b)].yy;
  }
  return result;
}

template <class T>
void step_elements(const host_context& ctx, T alpha, vector_view<const T> d, vector_view<const T> r,
                   T beta, vector_view<T> p, vector_view<T> z) {
  const T* const by = d.data();
  const T* const residual = r.data();
  T* const step = p.data();
  T* const sum = z.data();
  for_each_element(ctx, z.size(), [=](std::int64_t i) {
    const T next = alpha * by[i] * residual[i] + beta * step[i];
    step[i] = next;
    sum[i] += next;
  });
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template void multiply_elements<T>(const host_context&, T, vector_view<const T>,                 \
                                     vector_view<const T>, T, vector_view<T>);                     \
  template void fill_random<T>(const host_context&, std::uint64_t, vector_view<T>);                \
  template divisors divide_by_elements<T>(const host_context&, T, vector_view<const T>,            \
                                          vector_view<T>);                                         \
  template weighted_products weighted_sums<T>(const host_context&, vector_view<const T>,           \
                                              vector_view<const T>, vector_view<const T>);         \
  template void step_elements<T>(const host_context&, T, vector_view<const T>,                     \
                                 vector_view<const T>, T, vector_view<T>, vector_view<T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
