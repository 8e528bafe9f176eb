// Generated matrices for examples, tests and benchmarks, on the host: sorted, unique, the same bits
// on every machine and for every number of threads. docs/generators.md lists them.
//
//   auto a = gen::poisson3d<double>(ctx, 128);
//   auto b = gen::generate<double, std::int32_t, std::int64_t>(ctx, "rmat:scale=18,edges=20");
//
// Throws bad_input if the widths are too narrow for the result, out_of_memory if this machine's
// memory is. Those that model something have its values; the others have values in
// [-1, 1), never 0, exact in float.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <lacuna/format/csr.hpp>

namespace lacuna::gen {

/// By name: "poisson3d:n=128", parameters as key=value separated by commas; what is left out has
/// its default. Throws bad_input that lists what exists and what is allowed.
template <class T = double, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> generate(const host_context& ctx, std::string_view spec);

template <class T = double, class I = index_t, class O = I>
csr<T, I, O> generate(std::string_view spec) {
  return generate<T, I, O>(default_context<space::host>(), spec);
}

struct size {
  std::int64_t rows = 0, cols = 0;
  std::int64_t entries = 0; ///< exact or an upper bound
};
/// What generate(ctx, spec) would make, to choose the widths by; O(1). Throws as it does for a
/// spec.
LACUNA_EXPORT size expected_size(std::string_view spec);

struct description {
  std::string name;
  std::string parameters; ///< with their defaults: "rows=100000,cols=rows,per_row=16,seed=1"
  std::string summary;    ///< one line
  std::string resembles;  ///< matrices of practice, mostly SuiteSparse's; empty: none in particular
};
/// All that generate() knows.
LACUNA_EXPORT std::vector<description> generators();

/// 5-point Laplacian on an n x n grid.
template <class T = double, class I = index_t, class O = I>
csr<T, I, O> poisson2d(const host_context& ctx, std::int64_t n) {
  return generate<T, I, O>(ctx, "poisson2d:n=" + std::to_string(n));
}
/// 7-point Laplacian on an n x n x n grid.
template <class T = double, class I = index_t, class O = I>
csr<T, I, O> poisson3d(const host_context& ctx, std::int64_t n) {
  return generate<T, I, O>(ctx, "poisson3d:n=" + std::to_string(n));
}
/// (-1, 2, -1).
template <class T = double, class I = index_t, class O = I>
csr<T, I, O> tridiagonal(const host_context& ctx, std::int64_t n) {
  return generate<T, I, O>(ctx, "tridiagonal:n=" + std::to_string(n));
}
/// Every entry with |row - column| <= half_bandwidth.
template <class T = double, class I = index_t, class O = I>
csr<T, I, O> banded(const host_context& ctx, std::int64_t n, std::int64_t half_bandwidth,
                    std::uint64_t seed = 1) {
  return generate<T, I, O>(ctx, "banded:n=" + std::to_string(n) +
                                    ",half_bandwidth=" + std::to_string(half_bandwidth) +
                                    ",seed=" + std::to_string(seed));
}
/// per_row entries in every row: one at random in each of per_row equal shares of the columns.
template <class T = double, class I = index_t, class O = I>
csr<T, I, O> uniform(const host_context& ctx, std::int64_t rows, std::int64_t cols,
                     std::int64_t per_row, std::uint64_t seed = 1) {
  return generate<T, I, O>(
      ctx, "uniform:rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) +
               ",per_row=" + std::to_string(per_row) + ",seed=" + std::to_string(seed));
}

} // namespace lacuna::gen
