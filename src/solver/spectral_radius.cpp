#include <lacuna/solver/spectral_radius.hpp>

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <lacuna/op/multiply.hpp>
#include <lacuna/op/vector.hpp>
#include <lacuna/solver/jacobi.hpp>

namespace lacuna::detail {
namespace {

template <class T, space S>
weighted_products weighted_sums_of(const context<S>& ctx, const array<T, S>& w,
                                   const array<T, S>& x, const array<T, S>& y) {
  if constexpr (S == space::host)
    return detail::cpu::weighted_sums<T>(ctx, w.view(), x.view(), y.view());
  else
    return detail::gpu::weighted_sums<T>(ctx, w.view(), x.view(), y.view());
}

/// A symmetric tridiagonal matrix of a few rows.
struct tridiagonal {
  std::vector<double> diagonal, beside; // beside[i] couples rows i and i + 1

  /// Eigenvalues below x: signs of the pivots of T - x I.
  [[nodiscard]] std::size_t count_below(double x) const {
    std::size_t count = 0;
    double pivot = 1;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      const double b = i == 0 ? 0 : beside[i - 1];
      pivot = diagonal[i] - x - (i == 0 ? 0 : b * b / pivot);
      if (pivot == 0) pivot = -1e-300;
      if (pivot < 0) ++count;
    }
    return count;
  }
  /// The largest |eigenvalue|, by bisection.
  [[nodiscard]] double radius() const {
    double reach = 0; // Gershgorin's
    for (std::size_t i = 0; i < diagonal.size(); ++i)
      reach = std::max(reach, std::abs(diagonal[i]) + (i > 0 ? std::abs(beside[i - 1]) : 0) +
                                  (i + 1 < diagonal.size() ? std::abs(beside[i]) : 0));
    double low = 0, high = reach;
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      const bool within = count_below(-middle) == 0 && count_below(middle) == diagonal.size();
      (within ? high : low) = middle;
    }
    return high;
  }
};

void require_finite(double value) {
  if (!std::isfinite(value))
    throw bad_input("estimate_spectral_radius: the matrix has values that are not finite, or "
                    "products overflow");
}

/// Vectors of both iterations.
template <class T, space S> struct iteration_vectors {
  array<T, S> v, w, product;
  iteration_vectors(const context<S>& ctx, std::int64_t n, std::uint64_t seed)
      : v(ctx, n), w(ctx, n), product(ctx, n) {
    fill_random(ctx, seed, v);
    fill(ctx, 0, w);
  }
};

/// In the inner product x^T |D| y, where D^-1 A is symmetric; sign: that of D's elements.
template <class T, space S, class Multiply>
double by_lanczos(const context<S>& ctx, const array<T, S>& d, const array<T, S>& inverse,
                  double sign, const spectral_radius_options& options, Multiply multiply_a) {
  iteration_vectors<T, S> u(ctx, d.size(), options.seed);
  scale(ctx, 1 / std::sqrt(sign * weighted_sums_of(ctx, d, u.v, u.v).xx), u.v);
  tridiagonal t;
  double beta = 0;
  for (int j = 0; j < options.iterations; ++j) {
    multiply_a(u.v, u.product);
    multiply_elements(ctx, 1, inverse, u.product, -beta, u.w); // w was the v before
    const weighted_products sums = weighted_sums_of(ctx, d, u.w, u.v);
    // Divided by what v's length is now: taken for 1, its rounding would grow fourfold per step.
    const double alpha = sums.xy / sums.yy, left = sign * (sums.xx - alpha * sums.xy);
    require_finite(alpha);
    require_finite(left);
    t.diagonal.push_back(alpha);
    // What is left of w is rounding: all eigenvalues that v can show are there.
    if (left <= 1e-12 * sign * sums.xx || j + 1 == options.iterations) break;
    beta = std::sqrt(left);
    t.beside.push_back(beta);
    axpby(ctx, -alpha / beta, u.v, 1 / beta, u.w);
    std::swap(u.v, u.w);
  }
  return t.radius();
}

/// The mean growth, of logarithms, over the second half of the iterations.
template <class T, space S, class Multiply>
double by_power(const context<S>& ctx, const array<T, S>& inverse,
                const spectral_radius_options& options, Multiply multiply_a) {
  iteration_vectors<T, S> u(ctx, inverse.size(), options.seed);
  scale(ctx, 1 / static_cast<double>(norm2(ctx, u.v)), u.v);
  double sum = 0;
  for (int j = 0; j < options.iterations; ++j) {
    multiply_a(u.v, u.product);
    multiply_elements(ctx, inverse, u.product, u.v);
    const double growth = static_cast<double>(norm2(ctx, u.v));
    require_finite(growth);
    if (growth == 0) return 0;
    if (j >= options.iterations / 2) sum += std::log(growth);
    scale(ctx, 1 / growth, u.v);
  }
  return std::exp(sum / (options.iterations - options.iterations / 2));
}

} // namespace

template <class T, class I, class O, space S>
double spectral_radius(const context<S>& ctx, csr_view<const T, I, O, S> a,
                       const spectral_radius_options& options) {
  const char* const op = "estimate_spectral_radius";
  if (options.iterations < 1)
    throw bad_input(fmt::format("{}: iterations = {} is below 1", op, options.iterations));
  const array<T, S> d = square_diagonal(ctx, op, a);
  if (d.empty()) return 0;
  array<T, S> inverse(ctx, d.size());
  const divisors signs = invert_diagonal<T, S>(ctx, op, 1, d.view(), inverse.view());
  const auto info = multiply_inspect(ctx, a, d, inverse);
  const auto multiply_a = [&](const array<T, S>& x, array<T, S>& y) {
    multiply(ctx, info, a, x, y);
  };
  if (options.symmetric && !(signs.positive && signs.negative))
    return by_lanczos(ctx, d, inverse, signs.negative ? -1 : 1, options, multiply_a);
  return by_power(ctx, inverse, options, multiply_a);
}

#define LACUNA_INSTANTIATE_FOR(T, I, S)                                                            \
  template double spectral_radius<T, I, I, S>(const context<S>&, csr_view<const T, I, I, S>,       \
                                              const spectral_radius_options&);
#define LACUNA_INSTANTIATE(T, I)                                                                   \
  LACUNA_INSTANTIATE_FOR(T, I, space::host) LACUNA_INSTANTIATE_FOR(T, I, space::device)
LACUNA_FOR_EACH_PAIR(LACUNA_INSTANTIATE)

} // namespace lacuna::detail
