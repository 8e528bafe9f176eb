// Whether C = alpha op(A) op(B), without another sparse product: Freivalds' check.
//
//   const auto verdict = verify_product(ctx, 1, a, b, c, seed);
//   if (!verdict.ok) …  // row verdict.row is wrong
//
// C x is compared with alpha A (B x) for random x, by products with vectors: O(nnz) for each round,
// at any size, in either space.
#pragma once

#include <cmath>
#include <limits>

#include <lacuna/op/copy.hpp>
#include <lacuna/op/multiply.hpp>

namespace lacuna {

struct product_check {
  bool ok = true;
  double worst = 0;      ///< largest difference of a row, in units of what rounding may cause
  std::int64_t row = -1; ///< where; -1 if nothing differs at all
};

namespace detail {

/// The same matrix with |values|; made on the host, wherever it is.
template <class T, class I, class O, space S> struct absolute_matrix {
  array<T, S> values;
  csr_view<const T, I, O, S> a;
  absolute_matrix(const context<S>& ctx, csr_view<const T, I, O, S> from) {
    auto on_host = copy_to(default_context<space::host>(), from.values());
    for (T& v : on_host) v = std::abs(v);
    if constexpr (S == space::host)
      values = std::move(on_host);
    else
      values = copy_to(ctx, on_host);
    a = {values.data(), from.rowptr().data(), from.colind().data(),
         from.shape(),  from.size(),          from.order()};
  }
};

/// Entries in each row: what an element of a product with the matrix is the sum of.
template <class T, class I, class O, space S>
array<std::int64_t> row_sizes(const matrix_operand<T, I, O, S>& op) {
  const auto& host = default_context<space::host>();
  array<std::int64_t> sizes(host, op.rows());
  if (!op.transposed) {
    const auto rowptr = copy_to(host, op.a.rowptr());
    for (std::int64_t i = 0; i < sizes.size(); ++i)
      sizes[i] = std::int64_t{rowptr[i + 1]} - rowptr[i];
  } else {
    std::fill(sizes.begin(), sizes.end(), 0);
    for (const I j : copy_to(host, op.a.colind())) ++sizes[j];
  }
  return sizes;
}

} // namespace detail

/// Rounds double the chance that an error hides in x; with x from 2^21 numbers one is enough for
/// all but bad luck. A difference counts if it is beyond
///   gamma |alpha| |A| (|B| 1),  gamma = 2 (nA nB' + nA + nB + nC + 8) eps,
/// with the entries nA and nC of the row in A and C, those of B's longest row nB, and nB' = 1 or,
/// where B states no uniqueness, nB: every rounding on both ways to a row is below eps times its
/// part of |A| |B| |x|, |x| <= 1, and an entry of C has at most nA nB' products. Wrong entries
/// below that bound cannot be told from rounding. Where A or B are not finite, C must not be
/// either. Takes copies of the values and some vectors.
template <space S, class A, class B, class C>
product_check verify_product(const context<S>& ctx, double alpha, const A& a, const B& b,
                             const C& c, std::uint64_t seed = 1, int rounds = 2) {
  const auto a_op = detail::operand(a);
  const auto b_op = detail::operand(b);
  const auto c_op = detail::operand(c);
  using A_op = std::remove_cv_t<decltype(a_op)>;
  using B_op = std::remove_cv_t<decltype(b_op)>;
  using T = typename A_op::scalar_type;
  detail::require_same_space<S, A_op, B_op, decltype(c_op)>();
  detail::require_same_value<T, A_op, B_op, decltype(c_op)>();
  using detail::require_same_size;
  require_same_size("verify_product", "columns of A", a_op.cols(), "rows of B", b_op.rows());
  require_same_size("verify_product", "rows of C", c_op.rows(), "rows of A", a_op.rows());
  require_same_size("verify_product", "columns of C", c_op.cols(), "columns of B", b_op.cols());
  const auto& host = default_context<space::host>();
  const std::int64_t rows = c_op.rows();
  const double scale = std::abs(alpha * a_op.alpha * b_op.alpha);

  // |A| (|B| 1)
  array<T> most(host, 0);
  {
    array<T> ones(host, b_op.cols());
    std::fill(ones.begin(), ones.end(), T{1});
    array<T, S> x = copy_to(ctx, ones), middle(ctx, b_op.rows()), y(ctx, rows);
    const auto product = [&](const auto& op, const auto& from, auto& to) {
      const detail::absolute_matrix absolute(ctx, op.a);
      if (op.transposed)
        multiply(ctx, transposed(absolute.a), from, to);
      else
        multiply(ctx, absolute.a, from, to);
    };
    product(b_op, x, middle);
    product(a_op, middle, y);
    most = copy_to(host, y);
  }
  const auto a_sizes = detail::row_sizes(a_op), c_sizes = detail::row_sizes(c_op);
  std::int64_t longest = 0;
  for (const std::int64_t size : detail::row_sizes(b_op)) longest = std::max(longest, size);
  const auto n_b = static_cast<double>(longest);
  const double repeats = b_op.a.order().unique ? 1 : n_b;
  const double eps = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::denorm_min();

  product_check result;
  array<T> random(host, b_op.cols());
  std::uint64_t state = seed;
  for (int round = 0; round < rounds; ++round) {
    for (T& v : random) { // splitmix64; multiples of 2^-20 in [-1, 1), exact in float
      std::uint64_t z = state += 0x9e3779b97f4a7c15U;
      z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
      v = static_cast<T>(static_cast<double>((z ^ (z >> 31U)) >> 43U) * 0x1p-20 - 1);
    }
    const array<T, S> x = copy_to(ctx, random);
    array<T, S> middle(ctx, b_op.rows()), by_factors(ctx, rows), by_c(ctx, rows);
    multiply(ctx, b, x, middle);
    multiply(ctx, scaled(alpha, a), middle, by_factors);
    multiply(ctx, c, x, by_c);
    const auto left = copy_to(host, by_c), right = copy_to(host, by_factors);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto n_a = static_cast<double>(a_sizes[i]), n_c = static_cast<double>(c_sizes[i]);
      const double gamma = 2 * (n_a * repeats + n_a + n_b + n_c + 8);
      const double bound =
          gamma * (eps * scale * static_cast<double>(most[i]) + tiny * (1 + scale) * (1 + n_a));
      const double difference =
          std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
      double error = difference / bound;
      if (!std::isfinite(left[i]) || !std::isfinite(right[i]))
        error = std::isfinite(left[i]) == std::isfinite(right[i])
                    ? 0
                    : std::numeric_limits<double>::infinity();
      if (!(error <= result.worst)) {
        result.worst = error;
        result.row = i;
      }
    }
  }
  result.ok = result.worst <= 1;
  return result;
}

} // namespace lacuna
