// Generated matrices for examples, tests and benchmarks, on the host: sorted, unique, the same bits
// on every machine and for every number of threads. Throws bad_input if the widths are too narrow
// for the result.
//
//   auto a = gen::poisson3d<double>(ctx, 128);
//   auto b = gen::generate<double, std::int32_t, std::int64_t>(ctx, "rmat:scale=18,edges=20");
//
// Stencils have their usual values, with the neighbours outside the grid left out; the other
// matrices have values in [-1, 1), never 0, exact in float.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <lacuna/format/csr.hpp>

namespace lacuna::gen {

/// 5-point Laplacian on an n x n grid, and the 9-point one with the corners.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> poisson2d(const host_context& ctx, std::int64_t n);
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> poisson2d9(const host_context& ctx, std::int64_t n);
/// 7-point and 27-point Laplacian on an n x n x n grid.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> poisson3d(const host_context& ctx, std::int64_t n);
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> poisson3d27(const host_context& ctx, std::int64_t n);
/// 27-point Laplacian with dof unknowns a node, coupled by dense dof x dof blocks; positive
/// definite.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> fem3d(const host_context& ctx, std::int64_t n, std::int64_t dof);
/// (-1, 2, -1).
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> tridiagonal(const host_context& ctx, std::int64_t n);
/// Every entry with |row - column| <= half_bandwidth.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> banded(const host_context& ctx, std::int64_t n,
                                  std::int64_t half_bandwidth, std::uint64_t seed = 1);
/// Every entry is stored.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> dense(const host_context& ctx, std::int64_t n, std::int64_t m,
                                 std::uint64_t seed = 1);
/// First row, first column and diagonal.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> arrow(const host_context& ctx, std::int64_t n, std::uint64_t seed = 1);
/// per_row entries in every row: one at random in each of per_row equal shares of the columns.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> uniform(const host_context& ctx, std::int64_t rows, std::int64_t cols,
                                   std::int64_t per_row, std::uint64_t seed = 1);
/// R-MAT graph of 2^scale vertices with Graph500's 0.57, 0.19, 0.19, 0.05; repeated edges are
/// summed, vertices not renumbered. Needs memory for all edges before they are merged.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> rmat(const host_context& ctx, std::int64_t scale,
                                std::int64_t edges_per_vertex, std::uint64_t seed = 1);
/// R + R^T of such a graph; bitwise symmetric.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> kron(const host_context& ctx, std::int64_t scale,
                                std::int64_t edges_per_vertex, std::uint64_t seed = 1);
/// A circuit's shape: four or five entries a row near the diagonal, and four hubs whose rows and
/// columns have n / 10 each.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> circuit(const host_context& ctx, std::int64_t n, std::uint64_t seed = 1);

/// By name: "poisson3d:n=128", parameters as key=value separated by commas; what is left out has
/// its default. Throws bad_input that lists what exists.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> generate(const host_context& ctx, std::string_view spec);

struct description {
  std::string name;
  std::string parameters; ///< with their defaults: "rows=100000,cols=0,per_row=16,seed=1"
  std::string summary;    ///< one line
};
/// All that generate() knows.
LACUNA_EXPORT std::vector<description> generators();

} // namespace lacuna::gen
