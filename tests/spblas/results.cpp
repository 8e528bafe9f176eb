// The flows of the C++ Sparse BLAS whose results are matrices, and the views around them: phases
// with updated views, spare capacity, csc results, unsorted rows, mdspans, triangular solves.
//
// Values are small integers, so every sum is exact and results are compared with a plain dense loop
// bit by bit.
#include <array>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <lacuna/lacuna.hpp>

#include "support/battery.hpp"

namespace spblas = lacuna;

namespace {

using T = float;
using I = spblas::index_t;

/// Row by row, or column by column; entries of a line in no order.
struct lines {
  std::vector<T> values;
  std::vector<I> start, other;
  spblas::csr_view<T, I> csr(I m, I n) { return {values, start, other, {m, n}, values.size()}; }
  spblas::csc_view<T, I> csc(I m, I n) { return {values, start, other, {m, n}, values.size()}; }
};
using dense = std::vector<std::vector<T>>;

lines make_lines(I count, I length, std::int64_t per_line, std::uint64_t seed) {
  lacuna::test::random_source random(seed);
  lines a{{}, {0}, {}};
  for (I i = 0; i < count; ++i) {
    std::vector<I> at(static_cast<std::size_t>(length));
    for (I j = 0; j < length; ++j) at[static_cast<std::size_t>(j)] = j;
    const std::int64_t entries = std::min<std::int64_t>(random.below(2 * per_line + 1), length);
    for (std::int64_t k = 0; k < entries; ++k) { // a few distinct ones, shuffled
      std::swap(at[static_cast<std::size_t>(k)],
                at[static_cast<std::size_t>(k + random.below(length - k))]);
      a.other.push_back(at[static_cast<std::size_t>(k)]);
      a.values.push_back(static_cast<T>(random.below(9) - 4));
    }
    a.start.push_back(static_cast<I>(a.values.size()));
  }
  return a;
}

template <class View> dense spread(const View& a) {
  const auto [m, n] = a.shape();
  dense d(static_cast<std::size_t>(m), std::vector<T>(static_cast<std::size_t>(n)));
  constexpr bool by_columns = requires { a.colptr(); };
  const auto start = [&] {
    if constexpr (by_columns)
      return a.colptr();
    else
      return a.rowptr();
  }();
  const auto other = [&] {
    if constexpr (by_columns)
      return a.rowind();
    else
      return a.colind();
  }();
  for (I i = 0; i < (by_columns ? n : m); ++i)
    for (I k = start[i]; k < start[i + 1]; ++k) {
      const I row = by_columns ? other[k] : i, col = by_columns ? i : other[k];
      d[static_cast<std::size_t>(row)][static_cast<std::size_t>(col)] += a.values()[k];
    }
  return d;
}
dense product(const dense& a, const dense& b, T alpha = 1) {
  dense c(a.size(), std::vector<T>(b.empty() ? 0 : b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < b[k].size(); ++j) c[i][j] += alpha * a[i][k] * b[k][j];
  return c;
}

constexpr std::array<std::tuple<I, I, I>, 3> sizes{{{60, 30, 50}, {1, 40, 1}, {25, 25, 25}}};

/// A and B as csr or csc, C as csr or csc: computed, given memory with room to spare, filled, and
/// filled again after the values have changed.
template <class MakeA, class MakeB, class C>
void expect_product_in_phases(MakeA make_a, MakeB make_b, I m, I n, C c, std::size_t starts) {
  auto a_lines = make_a(), b_lines = make_b();
  auto& [a, a_view] = a_lines;
  auto& [b, b_view] = b_lines;
  std::vector<I> start(starts);
  c = C(nullptr, start.data(), nullptr, {m, n}, 0);
  spblas::operation_info_t info = spblas::multiply_compute(spblas::scaled(2, a_view), b_view, c);
  EXPECT_EQ(info.result_shape()[0], m);
  EXPECT_EQ(info.result_shape()[1], n);
  std::vector<T> values(static_cast<std::size_t>(info.result_nnz()) + 7, -1);
  std::vector<I> other(static_cast<std::size_t>(info.result_nnz()) + 3, -1);
  c.update(values, start, other);
  spblas::multiply_fill(info, spblas::scaled(2, a_view), b_view, c);
  EXPECT_EQ(c.size(), info.result_nnz());
  EXPECT_EQ(spread(c), product(spread(a_view), spread(b_view), 2));
  for (T& v : a.values) v = 3 - v;
  spblas::multiply_numeric(info, spblas::scaled(2, a_view), b_view, c);
  EXPECT_EQ(spread(c), product(spread(a_view), spread(b_view), 2));
}

TEST(SpGEMM, EveryMixOfFormats) {
  for (const auto& [m, k, n] : sizes) {
    lines a_rows = make_lines(m, k, 4, 1), b_rows = make_lines(k, n, 4, 2);
    lines a_columns = make_lines(k, m, 4, 3), b_columns = make_lines(n, k, 4, 4);
    const auto as = [](lines& from, auto view) {
      return [&from, view] { return std::tuple<lines&, decltype(view)>(from, view); };
    };
    const auto by_rows = as(a_rows, a_rows.csr(m, k));
    const auto by_columns = as(a_columns, a_columns.csc(m, k));
    const auto other_rows = as(b_rows, b_rows.csr(k, n));
    const auto other_columns = as(b_columns, b_columns.csc(k, n));
    const auto row_starts = static_cast<std::size_t>(m) + 1;
    const auto column_starts = static_cast<std::size_t>(n) + 1;
    const spblas::csr_view<T, I> c_rows;
    const spblas::csc_view<T, I> c_columns;
    expect_product_in_phases(by_rows, other_rows, m, n, c_rows, row_starts);
    expect_product_in_phases(by_rows, other_columns, m, n, c_rows, row_starts);
    expect_product_in_phases(by_columns, other_rows, m, n, c_rows, row_starts);
    expect_product_in_phases(by_columns, other_columns, m, n, c_rows, row_starts);
    expect_product_in_phases(by_rows, other_rows, m, n, c_columns, column_starts);
    expect_product_in_phases(by_rows, other_columns, m, n, c_columns, column_starts);
    expect_product_in_phases(by_columns, other_rows, m, n, c_columns, column_starts);
    expect_product_in_phases(by_columns, other_columns, m, n, c_columns, column_starts);
  }
}

TEST(SpGEMM, InOneCallIfThereIsRoom) {
  lines a = make_lines(20, 20, 3, 5);
  const auto view = a.csr(20, 20);
  std::vector<I> start(21);
  std::vector<T> values(400);
  std::vector<I> other(400);
  spblas::csr_view<T, I> c(values, start, other, {20, 20}, 0);
  spblas::multiply(view, view, c);
  EXPECT_EQ(spread(c), product(spread(view), spread(view)));
  spblas::csr_view<T, I> too_small(std::span(values).first(5), start, std::span(other).first(5),
                                   {20, 20}, 0);
  EXPECT_THROW(spblas::multiply(view, view, too_small), std::invalid_argument);
}

TEST(SpGEMM, OfOptimisedMatrices) {
  lines a = make_lines(30, 30, 3, 6);
  const auto view = a.csr(30, 30);
  const spblas::matrix_opt opt(view);
  std::vector<I> start(31);
  spblas::csr_view<T, I> c(nullptr, start.data(), nullptr, {30, 30}, 0);
  auto info = spblas::multiply_compute(opt, opt, c);
  std::vector<T> values(static_cast<std::size_t>(info.result_nnz()));
  std::vector<I> other(values.size());
  c.update(values, start, other);
  spblas::multiply_fill(info, opt, opt, c);
  EXPECT_EQ(spread(c), product(spread(view), spread(view)));
}

TEST(Add, InPhasesAndInOneCall) {
  lines a = make_lines(40, 30, 4, 7), b = make_lines(40, 30, 4, 8);
  const auto left = a.csr(40, 30), right = b.csr(40, 30);
  dense want = spread(left);
  const dense more = spread(right);
  for (std::size_t i = 0; i < want.size(); ++i)
    for (std::size_t j = 0; j < want[i].size(); ++j) want[i][j] += more[i][j];
  std::vector<I> start(41);
  spblas::csr_view<T, I> c(nullptr, start.data(), nullptr, {40, 30}, 0);
  auto info = spblas::add_inspect(left, right, c);
  std::vector<T> values(static_cast<std::size_t>(info.result_nnz()) + 2);
  std::vector<I> other(values.size());
  c.update(values, start, other);
  spblas::add_compute(info, left, right, c);
  EXPECT_EQ(c.size(), info.result_nnz());
  EXPECT_EQ(spread(c), want);
  spblas::csr_view<T, I> d(values, start, other, {40, 30}, 0);
  spblas::add(left, right, d);
  EXPECT_EQ(spread(d), want);
}

TEST(Transpose, IntoSpareCapacity) {
  lines a = make_lines(15, 35, 4, 9);
  const auto view = a.csr(15, 35);
  std::vector<T> values(a.values.size() + 5);
  std::vector<I> start(36), other(a.values.size() + 5);
  spblas::csr_view<T, I> b(values, start, other, {35, 15}, 0);
  spblas::transpose(view, b);
  EXPECT_EQ(b.size(), view.size());
  // The transpose in CSR has the arrays of the matrix in CSC.
  spblas::csc_view<T, I> again(b.values(), b.rowptr(), b.colind(), {15, 35}, b.size());
  EXPECT_EQ(spread(again), spread(view));
}

TEST(MatrixOpt, MultipliesAsTheMatrixDoes) {
  for (const auto& [m, n, unused] : sizes) {
    lines a = make_lines(m, n, 5, 10), b = make_lines(n, m, 5, 11);
    std::vector<T> x(static_cast<std::size_t>(n), 2), y(static_cast<std::size_t>(m)), z = y;
    const spblas::matrix_opt rows(a.csr(m, n));
    spblas::operation_info_t info = spblas::multiply_inspect(rows, x, y);
    spblas::multiply(info, rows, x, y);
    spblas::multiply(a.csr(m, n), x, z);
    EXPECT_EQ(y, z);
    spblas::matrix_opt columns(b.csc(m, n));
    spblas::multiply(columns, spblas::scaled(3, x), y);
    spblas::multiply(b.csc(m, n), spblas::scaled(3, x), z);
    EXPECT_EQ(y, z);
    for (T& v : b.values) v += 1;
    columns.update_values();
    spblas::multiply(columns, x, y);
    spblas::multiply(b.csc(m, n), x, z);
    EXPECT_EQ(y, z);
  }
}

/// A stand-in for std::mdspan: Lacuna takes any type with these members.
template <class U> struct mdspan {
  U* data;
  std::array<I, 2> extents, strides;
  static constexpr std::size_t rank() { return 2; }
  [[nodiscard]] I extent(std::size_t i) const { return extents[i]; }
  [[nodiscard]] I stride(std::size_t i) const { return strides[i]; }
  [[nodiscard]] U* data_handle() const { return data; }
};

TEST(SpMM, ThroughMdspans) {
  const I m = 30, k = 20;
  lines a = make_lines(m, k, 4, 12);
  for (const I n : {1, 3, 8}) {
    std::vector<T> x(static_cast<std::size_t>(k * n)), y(static_cast<std::size_t>(m * n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 7) - 3;
    const dense rows = spread(a.csr(m, k));
    for (const bool by_rows : {true, false}) {
      const auto strides = [&](I height) {
        return by_rows ? std::array<I, 2>{n, 1} : std::array<I, 2>{1, height};
      };
      const mdspan<const T> from{x.data(), {k, n}, strides(k)};
      spblas::multiply(spblas::scaled(2, a.csr(m, k)), from,
                       mdspan<T>{y.data(), {m, n}, strides(m)});
      for (I i = 0; i < m; ++i)
        for (I j = 0; j < n; ++j) {
          T want = 0;
          for (I l = 0; l < k; ++l)
            want += 2 * rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(l)] *
                    x[static_cast<std::size_t>(l * from.strides[0] + j * from.strides[1])];
          const auto at = static_cast<std::size_t>(i * strides(m)[0] + j * strides(m)[1]);
          ASSERT_EQ(y[at], want) << i << ", " << j;
        }
    }
  }
}

/// Integer solutions of triangular systems with diagonals of powers of two are found exactly.
template <class Triangle, class Diagonal>
void expect_solved(Triangle triangle, Diagonal diagonal, bool upper, bool unit) {
  const I n = 24;
  lines a = make_lines(n, n, 3, 13);
  for (I i = 0; i < n; ++i) // the diagonal, wherever the row has it
    for (I k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1];
         ++k)
      if (a.other[static_cast<std::size_t>(k)] == i) a.values[static_cast<std::size_t>(k)] = 0;
  lines with_diagonal{{}, {0}, {}};
  for (I i = 0; i < n; ++i) {
    with_diagonal.values.push_back(static_cast<T>(1 << (i % 3)));
    with_diagonal.other.push_back(i);
    for (I k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1];
         ++k) {
      with_diagonal.values.push_back(a.values[static_cast<std::size_t>(k)]);
      with_diagonal.other.push_back(a.other[static_cast<std::size_t>(k)]);
    }
    with_diagonal.start.push_back(static_cast<I>(with_diagonal.values.size()));
  }
  const auto view = with_diagonal.csr(n, n);
  const dense full = spread(view);
  std::vector<T> want(static_cast<std::size_t>(n)), b(want.size()), x(want.size(), -99);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = static_cast<T>(i % 5) - 2;
  for (std::size_t i = 0; i < want.size(); ++i)
    for (std::size_t j = 0; j < want.size(); ++j) {
      if (i == j)
        b[i] += (unit ? 1 : full[i][i]) * want[i];
      else if ((j > i) == upper)
        b[i] += full[i][j] * want[j];
    }
  spblas::operation_info_t info = spblas::triangular_solve_inspect(view, triangle, diagonal, b, x);
  spblas::triangular_solve(info, view, triangle, diagonal, b, x);
  EXPECT_EQ(x, want);
}

TEST(TriangularSolve, FourTags) {
  expect_solved(spblas::lower_triangle, spblas::explicit_diagonal, false, false);
  expect_solved(spblas::upper_triangle, spblas::explicit_diagonal, true, false);
  expect_solved(spblas::lower_triangle_t{}, spblas::implicit_unit_diagonal_t{}, false, true);
  expect_solved(spblas::upper_triangle_t{}, spblas::implicit_unit_diagonal_t{}, true, true);
}

TEST(Errors, AreInvalidArguments) {
  lines a = make_lines(3, 4, 1, 14);
  std::vector<T> x(5), y(3);
  EXPECT_THROW(spblas::multiply(a.csr(3, 4), x, y), std::invalid_argument);
}

} // namespace
