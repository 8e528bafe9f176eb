// What each operation means: slow plain loops in double or wider, sharing no code with what they
// judge. Entries are triplets; every operation on them keeps the order it does not define.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <lacuna/format/coo.hpp>
#include <lacuna/format/csc.hpp>
#include <lacuna/format/csr.hpp>
#include <lacuna/format/dense.hpp>

namespace lacuna::reference {

/// The entries of a matrix in stored order.
struct triplets {
  index<std::int64_t> shape;
  std::vector<std::int64_t> row, col;
  std::vector<double> value;
  friend bool operator==(const triplets&, const triplets&) = default;
};

/// Values, and for each the error that rounding in T may cause.
struct expected {
  std::vector<double> value, bound;
};
struct expected_scalar {
  double value = 0, bound = 0;
};
/// A sparse matrix of them: rows and columns ascend, each coordinate once.
struct expected_matrix {
  index<std::int64_t> shape;
  std::vector<std::int64_t> row, col;
  expected entries;
};

template <class T, class I, class O> triplets entries(csr_view<const T, I, O> a);
/// Column by column, as stored.
template <class T, class I, class O> triplets entries(csc_view<const T, I, O> a);
template <class T, class I, class O> triplets entries(coo_view<const T, I, O> a);
/// What is not 0, row by row.
template <class T> triplets entries(dense_view<const T> a);

/// Rows ascend; within a row the order stays: what coo -> csr does.
triplets by_row(const triplets& a);
/// Rows and, within them, columns ascend; equal coordinates keep their order.
triplets sort(const triplets& a);
/// A^T with rows ascending: what transposing a csr does.
triplets transpose(const triplets& a);
/// Sorted, each coordinate once.
triplets merge(const triplets& a, duplicates rule);
/// alpha A + beta B: sorted, each coordinate of either once. Duplicates are summed in stored order
/// first; every product and every sum is rounded to T, so results are meant bit by bit.
template <class T> triplets add(double alpha, const triplets& a, double beta, const triplets& b);
/// Row-major without gaps; duplicates add up.
std::vector<double> to_dense(const triplets& a);

/// a_ii as sums of what is stored, min(rows, columns) of them.
template <class T> expected diagonal(const triplets& a);
/// Every entry times its row's and its column's factor, each product rounded to T; an empty vector
/// is all ones.
template <class T>
triplets scale(const triplets& a, const std::vector<T>& rows, const std::vector<T>& columns);
/// The entries for which keep(row, column, value).
triplets filter(const triplets& a,
                const std::function<bool(std::int64_t, std::int64_t, double)>& keep);
/// Row i is row rows[i], column j column columns[j]; the order within a row stays. Columns are
/// distinct.
triplets submatrix(const triplets& a, const std::vector<std::int64_t>& rows,
                   const std::vector<std::int64_t>& columns);

/// alpha op(A) x + beta z, op = transposition or nothing; z is not read if beta is 0.
/// bound[i] = (n + 4) eps (|alpha| sum |a x| + |beta z|), n entries in the sum.
template <class T, class I, class O>
expected multiply(csr_view<const T, I, O> a, vector_view<const T> x, bool transposed = false,
                  double alpha = 1, double beta = 0, vector_view<const T> z = {});
/// The same for several vectors; the result is row-major without gaps.
template <class T, class I, class O>
expected multiply(csr_view<const T, I, O> a, dense_view<const T> x, bool transposed = false,
                  double alpha = 1, double beta = 0, dense_view<const T> z = {});

/// alpha op(A) op(B). An entry wherever A and B have entries that meet, whatever their values;
/// bound = (n + 4) eps |alpha| sum |a b|, n products in the sum.
template <class T, class I, class O>
expected_matrix multiply_sparse(csr_view<const T, I, O> a, csr_view<const T, I, O> b,
                                double alpha = 1, bool a_transposed = false,
                                bool b_transposed = false);

/// An entry of value 1 wherever a path of one or more edges leads, or none if `reflexive`: a search
/// from every vertex.
template <class T, class I, class O> triplets closure(csr_view<const T, I, O> a, bool reflexive);

/// Incomplete factors of a square matrix on its own pattern, dense, row by row: L below the
/// diagonal and U (symmetric: nothing) above; the diagonal is U's (symmetric: L's, A = L L^T). In
/// long double.
std::vector<double> incomplete_factors(const triplets& a, bool symmetric);
/// The least colour that no neighbour before a row has, rows by falling weight.
std::vector<std::int32_t> colours(const triplets& a, const std::vector<std::uint64_t>& weight);
/// A^-1 b by Gaussian elimination of the dense matrix, with pivots, in long double. Throws
/// std::domain_error if a pivot is 0.
std::vector<double> solve(const triplets& a, const std::vector<double>& b);

template <class T> expected_scalar dot(vector_view<const T> x, vector_view<const T> y);
template <class T>
expected axpby(double alpha, vector_view<const T> x, double beta, vector_view<const T> y);
/// alpha d x + beta y, element by element.
template <class T>
expected multiply_elements(double alpha, vector_view<const T> d, vector_view<const T> x,
                           double beta, vector_view<const T> y);
template <class T> expected_scalar norm1(vector_view<const T> x);
template <class T> expected_scalar norm2(vector_view<const T> x);
template <class T> expected_scalar norm_inf(vector_view<const T> x);
template <class T, class I, class O> expected_scalar matrix_inf_norm(csr_view<const T, I, O> a);

/// Largest error in units of its bound, so 1 or less is right. NaN where NaN is expected and Inf
/// where the expected value is beyond T count 0; any other NaN or Inf, or another size, infinity.
template <class T> double worst_error(vector_view<const T> computed, const expected& e);
template <class T> double worst_error(dense_view<const T> computed, const expected& e);
template <class T> double worst_error(T computed, expected_scalar e);

} // namespace lacuna::reference
