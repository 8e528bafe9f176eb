#include <lacuna/op/vector.hpp>

#include <array>
#include <cmath>
#include <limits>

#include "cpu/rows.hpp"

namespace lacuna::detail::cpu {
namespace {

constexpr std::int64_t vector_grain = std::int64_t{1} << 15;
constexpr std::int64_t lanes = 16;         // independent sums: hides the latency of an addition
constexpr std::int64_t most_blocks = 1024; // partial results stay on the stack
constexpr std::int64_t least_block = 4096;

/// Combines map(i) over [begin, end) in `lanes` interleaved accumulators.
template <class R, class Map, class Combine>
R reduce_block(std::int64_t begin, std::int64_t end, Map map, Combine combine) {
  R lane[lanes] = {};
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] = combine(lane[l], map(i + l));
  for (std::int64_t l = 0; i + l < end; ++l) lane[l] = combine(lane[l], map(i + l));
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t l = 0; l < width; ++l) lane[l] = combine(lane[l], lane[l + width]);
  return lane[0];
}

/// Over [0, size) in blocks that depend on the size alone.
template <class R, class Map, class Combine>
R reduce(const host_context& ctx, std::int64_t size, Map map, Combine combine) {
  const std::int64_t block = std::max(least_block, (size + most_blocks - 1) / most_blocks);
  const std::int64_t blocks = (size + block - 1) / block;
  std::array<R, most_blocks> partial;
  for_each_part(ctx, size, vector_grain, [&](int part, int parts) {
    const std::int64_t last = part_begin(blocks, part + 1, parts);
    for (std::int64_t b = part_begin(blocks, part, parts); b < last; ++b)
      partial[static_cast<std::size_t>(b)] =
          reduce_block<R>(b * block, std::min(size, (b + 1) * block), map, combine);
  });
  return reduce_block<R>(
      0, blocks, [&](std::int64_t b) { return partial[static_cast<std::size_t>(b)]; }, combine);
}

constexpr auto plus = [](double a, double b) { return a + b; };
/// The larger; once NaN, always NaN.
constexpr auto larger = [](auto largest, auto v) {
  return ((v > largest) | (v != v)) ? v : largest;
};

/// Sum of (scale x)^2; float squares are exact in double.
template <class T>
double sum_of_squares(const host_context& ctx, vector_view<const T> x, double scale) {
  const T* const p = x.data();
  return reduce<double>(
      ctx, x.size(),
      [=](std::int64_t i) {
        const double v = scale * p[i];
        return v * v;
      },
      plus);
}

} // namespace

template <class T> T dot(const host_context& ctx, vector_view<const T> x, vector_view<const T> y) {
  const T* const p = x.data();
  const T* const q = y.data();
  return static_cast<T>(reduce<double>(
      ctx, x.size(), [=](std::int64_t i) { return static_cast<double>(p[i]) * q[i]; }, plus));
}

template <class T>
void axpby(const host_context& ctx, T alpha, vector_view<const T> x, T beta, vector_view<T> y) {
  const T* const p = x.data();
  T* const q = y.data();
  // x may be y itself: no element depends on another one, which is what simd asserts.
  const auto for_each = [&](auto f) {
    for_each_range(ctx, y.size(), vector_grain, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) f(i);
    });
  };
  if (alpha == 0 && beta == 0) return detail::cpu::fill<T>(ctx, T{0}, y);
  if (alpha == 0) return for_each([=](std::int64_t i) { q[i] *= beta; });
  if (beta == 0) return for_each([=](std::int64_t i) { q[i] = alpha * p[i]; });
  for_each([=](std::int64_t i) { q[i] = alpha * p[i] + beta * q[i]; });
}

template <class T> void fill(const host_context& ctx, T value, vector_view<T> x) {
  for_each_range(ctx, x.size(), vector_grain, [=](std::int64_t begin, std::int64_t end) {
    std::fill(x.data() + begin, x.data() + end, value);
  });
}

template <class T> T norm1(const host_context& ctx, vector_view<const T> x) {
  const T* const p = x.data();
  return static_cast<T>(reduce<double>(
      ctx, x.size(), [=](std::int64_t i) { return static_cast<double>(std::abs(p[i])); }, plus));
}

template <class T> T norm2(const host_context& ctx, vector_view<const T> x) {
  const double sum = sum_of_squares(ctx, x, 1);
  if constexpr (sizeof(T) == sizeof(double)) {
    // Outside this range squares overflowed, or lost digits to underflow: again, scaled by a
    // power of two that brings the largest element near 1.
    constexpr double least =
        std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
    if (sum < least || std::isinf(sum)) {
      const double largest = norm_inf(ctx, x);
      if (largest == 0 || !std::isfinite(largest)) return largest;
      const int exponent = std::clamp(std::ilogb(largest), -1000, 1000);
      return std::ldexp(std::sqrt(sum_of_squares(ctx, x, std::ldexp(1.0, -exponent))), exponent);
    }
  }
  return static_cast<T>(std::sqrt(sum));
}

template <class T> T norm_inf(const host_context& ctx, vector_view<const T> x) {
  const T* const p = x.data();
  return reduce<T>(
      ctx, x.size(), [=](std::int64_t i) { return std::abs(p[i]); }, larger);
}

template <class T, class I, class O>
T matrix_inf_norm(const host_context& ctx, csr_view<const T, I, O> a) {
  const std::int64_t rows = a.shape().row;
  const O* const rowptr = a.rowptr().data();
  const T* const p = a.values().data();
  const int parts = part_count(ctx, rows + a.size(), entry_grain);
  array<double> largest(ctx, parts);
  for_each_part(ctx, parts, 1, [&](int part, int) {
    double largest_sum = 0;
    const std::int64_t end = first_row(rowptr, rows, part + 1, parts);
    for (std::int64_t i = first_row(rowptr, rows, part, parts); i < end; ++i)
      largest_sum =
          larger(largest_sum,
                 reduce_block<double>(
                     rowptr[i], rowptr[i + 1],
                     [=](std::int64_t k) { return static_cast<double>(std::abs(p[k])); }, plus));
    largest[part] = largest_sum;
  });
  double result = 0;
  for (const double v : largest) result = larger(result, v);
  return static_cast<T>(result);
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template T dot(const host_context&, vector_view<const T>, vector_view<const T>);                 \
  template void axpby(const host_context&, T, vector_view<const T>, T, vector_view<T>);            \
  template void fill(const host_context&, T, vector_view<T>);                                      \
  template T norm1(const host_context&, vector_view<const T>);                                     \
  template T norm2(const host_context&, vector_view<const T>);                                     \
  template T norm_inf(const host_context&, vector_view<const T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template T matrix_inf_norm(const host_context&, csr_view<const T, I, O>);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::detail::cpu
