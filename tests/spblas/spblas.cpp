// Lacuna in the words of the C++ Sparse BLAS: a program written for that interface moves over by
// changing a namespace.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <lacuna/lacuna.hpp>

#include "support/battery.hpp"

namespace spblas = lacuna;

namespace {

using T = float;
using I = spblas::index_t;
using O = spblas::offset_t;

/// A matrix as the caller's own vectors.
struct csr_arrays {
  std::vector<T> values;
  std::vector<O> rowptr;
  std::vector<I> colind;
  spblas::index<I> shape;
  O nnz;
};

csr_arrays make(I m, I n, O nnz) {
  lacuna::test::random_source random(static_cast<std::uint64_t>(m) * 7919U +
                                     static_cast<std::uint64_t>(n));
  std::vector<std::tuple<I, I>> at;
  for (O k = 0; k < nnz; ++k)
    at.emplace_back(static_cast<I>(random.below(m)), static_cast<I>(random.below(n)));
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  csr_arrays a{{}, std::vector<O>(static_cast<std::size_t>(m) + 1), {}, {m, n}, 0};
  for (const auto& [i, j] : at) {
    ++a.rowptr[static_cast<std::size_t>(i) + 1];
    a.colind.push_back(j);
    a.values.push_back(static_cast<T>(random.value()));
  }
  for (std::size_t i = 1; i < a.rowptr.size(); ++i) a.rowptr[i] += a.rowptr[i - 1];
  a.nnz = static_cast<O>(at.size());
  return a;
}

const std::tuple<I, I, O> dims[] = {{1000, 100, 100}, {100, 1000, 10000}, {40, 40, 1000},
                                    {1, 1, 1},        {30, 500, 2},       {500, 30, 4000}};

void expect_near(const std::vector<T>& got, const std::vector<double>& want, double scale) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 64 * double{std::numeric_limits<T>::epsilon()} * scale) << i;
}

/// alpha A b, or alpha A^T b.
std::vector<double> plain(double alpha, const csr_arrays& a, const std::vector<T>& b,
                          bool across = false) {
  std::vector<double> c(static_cast<std::size_t>(across ? a.shape[1] : a.shape[0]));
  for (std::size_t i = 0; i + 1 < a.rowptr.size(); ++i)
    for (auto k = static_cast<std::size_t>(a.rowptr[i]);
         k < static_cast<std::size_t>(a.rowptr[i + 1]); ++k) {
      const auto j = static_cast<std::size_t>(a.colind[k]);
      c[across ? j : i] += alpha * double{a.values[k]} * double{b[across ? i : j]};
    }
  return c;
}

TEST(CsrView, SpMV) {
  for (const auto& [m, n, nnz] : dims) {
    const auto arrays = make(m, n, nnz);
    const auto& [values, rowptr, colind, shape, actual] = arrays;
    spblas::csr_view<const T, I, O> a(values.data(), rowptr.data(), colind.data(), shape, actual);
    std::vector<T> b(static_cast<std::size_t>(n), 1), c(static_cast<std::size_t>(m), 7);
    spblas::multiply(a, b, c);
    expect_near(c, plain(1, arrays, b), 100);
  }
}

TEST(CsrView, SpMVWithInspect) {
  for (const auto& [m, n, nnz] : dims) {
    auto arrays = make(m, n, nnz);
    auto& [values, rowptr, colind, shape, actual] = arrays;
    spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
    std::vector<T> b(static_cast<std::size_t>(n), 2), c(static_cast<std::size_t>(m));
    spblas::operation_info_t info = spblas::multiply_inspect(a, b, c);
    spblas::multiply(info, a, b, c);
    expect_near(c, plain(1, arrays, b), 200);
    EXPECT_EQ(info.shape()[0], m);
    EXPECT_EQ(info.shape()[1], n);
  }
}

TEST(CsrView, SpMVOfScaled) {
  for (const double alpha : {0.0, 1.0, -1.5, 3.25})
    for (const auto& [m, n, nnz] : dims) {
      auto arrays = make(m, n, nnz);
      auto& [values, rowptr, colind, shape, actual] = arrays;
      spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
      std::vector<T> b(static_cast<std::size_t>(n), 1), c(static_cast<std::size_t>(m), 5);
      spblas::multiply(spblas::scaled(alpha, a), b, c);
      expect_near(c, plain(alpha, arrays, b), 400);
      std::fill(c.begin(), c.end(), T{5});
      spblas::multiply(a, spblas::scaled(alpha, b), c);
      expect_near(c, plain(alpha, arrays, b), 400);
    }
}

TEST(CsrView, SpMVOfTransposed) {
  for (const auto& [m, n, nnz] : dims) {
    auto arrays = make(m, n, nnz);
    auto& [values, rowptr, colind, shape, actual] = arrays;
    spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
    std::vector<T> b(static_cast<std::size_t>(m), 1), c(static_cast<std::size_t>(n), 5);
    spblas::multiply(spblas::transposed(a), b, c);
    expect_near(c, plain(1, arrays, b, true), 100);
    auto info = spblas::multiply_inspect(spblas::transposed(a), b, c);
    spblas::multiply(info, spblas::scaled(2, spblas::transposed(a)), b, c);
    expect_near(c, plain(2, arrays, b, true), 200);
  }
}

TEST(CsrView, SpMVWithAddend) {
  const auto& [m, n, nnz] = dims[1];
  auto arrays = make(m, n, nnz);
  auto& [values, rowptr, colind, shape, actual] = arrays;
  spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
  std::vector<T> x(static_cast<std::size_t>(n), 1), y(static_cast<std::size_t>(m), 3);
  auto want = plain(0.5, arrays, x);
  for (double& w : want) w += -2.0 * 3;
  spblas::multiply(spblas::scaled(0.5, a), x, spblas::scaled(-2, y), y);
  expect_near(y, want, 100);
}

TEST(CsrView, Transpose) {
  for (const auto& [m, n, nnz] : dims) {
    auto arrays = make(m, n, nnz);
    auto& [values, rowptr, colind, shape, actual] = arrays;
    spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
    std::vector<T> b_values(static_cast<std::size_t>(actual));
    std::vector<O> b_rowptr(static_cast<std::size_t>(n) + 1);
    std::vector<I> b_colind(static_cast<std::size_t>(actual));
    spblas::csr_view<T, I, O> b(b_values, b_rowptr, b_colind, {n, m}, actual);
    auto info = spblas::transpose_inspect(a, b);
    spblas::transpose(info, a, b);
    // (i, j) of A is (j, i) of B, found where it should be.
    EXPECT_EQ(b_rowptr.back(), actual);
    for (I i = 0; i < m; ++i)
      for (O k = rowptr[static_cast<std::size_t>(i)]; k < rowptr[static_cast<std::size_t>(i) + 1];
           ++k) {
        const auto j = static_cast<std::size_t>(colind[static_cast<std::size_t>(k)]);
        const auto first = b_colind.begin() + b_rowptr[j],
                   last = b_colind.begin() + b_rowptr[j + 1];
        const auto match = std::lower_bound(first, last, i);
        ASSERT_TRUE(match != last && *match == i);
        EXPECT_EQ(b_values[static_cast<std::size_t>(match - b_colind.begin())],
                  values[static_cast<std::size_t>(k)]);
      }
  }
}

TEST(CsrView, SpMM) {
  const auto& [m, n, nnz] = dims[2];
  auto arrays = make(m, n, nnz);
  auto& [values, rowptr, colind, shape, actual] = arrays;
  spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
  constexpr std::int64_t k = 8;
  std::vector<T> x(static_cast<std::size_t>(n * k), 1), y(static_cast<std::size_t>(m * k));
  spblas::multiply(a, spblas::dense_view<T>(x.data(), {n, k}),
                   spblas::dense_view<T>(y.data(), {m, k}));
  const auto one = plain(1, arrays, std::vector<T>(static_cast<std::size_t>(n), 1));
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], one[i / k], 1e-3);
}

TEST(CscView, SpMV) {
  // The arrays of A in CSR are those of A^T in CSC.
  for (const auto& [m, n, nnz] : dims) {
    auto arrays = make(m, n, nnz);
    auto& [values, rowptr, colind, shape, actual] = arrays;
    spblas::csc_view<T, I, O> at(values, rowptr, colind, {n, m}, actual);
    std::vector<T> b(static_cast<std::size_t>(m), 1), c(static_cast<std::size_t>(n), 5);
    spblas::multiply(at, b, c);
    expect_near(c, plain(1, arrays, b, true), 100);
  }
}

TEST(Norms, OfMatrices) {
  auto arrays = make(40, 40, 200);
  auto& [values, rowptr, colind, shape, actual] = arrays;
  spblas::csr_view<T, I, O> a(values, rowptr, colind, shape, actual);
  double squares = 0;
  for (const T v : values) squares += double{v} * double{v};
  EXPECT_NEAR(spblas::matrix_frob_norm(a), std::sqrt(squares), 1e-4);
  EXPECT_GT(spblas::matrix_inf_norm(a), 0);
  spblas::scale(2, a);
  EXPECT_NEAR(spblas::matrix_frob_norm(a), 2 * std::sqrt(squares), 1e-4);
}

} // namespace
