// Sparse matrices from diagonals, and random ones.
//
//   auto e = eye<double>(ctx, {m, n}, 1);                             1 on the first diagonal above
//   auto t = from_diagonals(ctx, {n, n}, {-1, 0, 1}, {d, e, f});      of std::vector<double>
//   auto r = random_csr<double>(ctx, {m, n}, 0.01, seed);             1 % of the elements
//
// The context is optional; without one, results are in host memory. Indices and offsets have 32
// bits unless named: eye<double, int64_t>(…). Diagonals are counted as tril counts them: element
// (i, j) is on diagonal j - i; they are given in host memory. Rows of results are sorted and
// unique.
//
// from_diagonals: diagonal k has as many elements as fit the shape (as SciPy's diags; element t is
// the one in row t, or in column t below the main diagonal), or one, which is repeated. Zeros are
// entries like others. Throws bad_input if a diagonal is outside of the shape or named twice,
// size_mismatch if its length does not fit. random_csr: exactly round(density m n) entries,
// distinct elements of a random permutation, uniform in [0, 1); the same for any number of threads
// and on every machine and engine. Throws bad_input if the density is not in [0, 1]. All are queued
// on a device.
#pragma once

#include <cmath>
#include <vector>

#include <lacuna/op/convert.hpp>

namespace lacuna {

namespace detail {
/// One diagonal: element (i, i + offset) is value[min(i, i + offset)], or value[0] of one.
template <class T> struct diagonal_values {
  std::int64_t offset = 0;
  const T* value = nullptr;
  bool repeated = false;
};
/// Elements on diagonal k of a shape; 0 if it is outside.
constexpr std::int64_t diagonal_length(std::int64_t rows, std::int64_t cols, std::int64_t k) {
  const std::int64_t length = k < 0 ? std::min(rows + k, cols) : std::min(rows, cols - k);
  return std::max<std::int64_t>(length, 0);
}
[[noreturn]] LACUNA_EXPORT void throw_bad_diagonal(std::int64_t k, std::int64_t rows,
                                                   std::int64_t cols);
[[noreturn]] LACUNA_EXPORT void throw_diagonal_twice(std::int64_t k);
[[noreturn]] LACUNA_EXPORT void throw_bad_density(double density);
} // namespace detail

namespace detail::cpu {
/// Offsets ascend.
template <class T, class I, class O>
LACUNA_EXPORT csr<T, I, O> csr_from_diagonals(const host_context& ctx, index<I> shape,
                                              const std::vector<diagonal_values<T>>& diagonals);
/// `entries` of them in an order that depends on the seed alone.
template <class T, class I, class O>
LACUNA_EXPORT coo<T, I, O> random_coo(const host_context& ctx, index<I> shape, std::int64_t entries,
                                      std::uint64_t seed);
} // namespace detail::cpu

namespace detail::gpu {
/// Reads the diagonals from host memory.
template <class T, class I, class O>
LACUNA_GPU_EXPORT csr<T, I, O, space::device>
csr_from_diagonals(const device_context& ctx, index<I> shape,
                   const std::vector<diagonal_values<T>>& diagonals);
template <class T, class I, class O>
LACUNA_GPU_EXPORT coo<T, I, O, space::device> random_coo(const device_context& ctx, index<I> shape,
                                                         std::int64_t entries, std::uint64_t seed);
} // namespace detail::gpu

namespace detail {
template <class T, class I, class O, space S>
csr<T, I, O, S> place_diagonals(const context<S>& ctx, index<I> shape,
                                const std::vector<diagonal_values<T>>& diagonals) {
  if constexpr (S == space::host)
    return detail::cpu::csr_from_diagonals<T, I, O>(ctx, shape, diagonals);
  else
    return detail::gpu::csr_from_diagonals<T, I, O>(ctx, shape, diagonals);
}
template <class T, class I, class O, space S>
coo<T, I, O, S> random_triples(const context<S>& ctx, index<I> shape, std::int64_t entries,
                               std::uint64_t seed) {
  if constexpr (S == space::host)
    return detail::cpu::random_coo<T, I, O>(ctx, shape, entries, seed);
  else
    return detail::gpu::random_coo<T, I, O>(ctx, shape, entries, seed);
}
} // namespace detail

/// Ones on diagonal k, which may be outside: no entries then.
template <class T, class I = index_t, class O = I, space S>
auto eye(const context<S>& ctx, index<I> shape, std::int64_t k = 0) {
  const T one{1};
  return detail::place_diagonals<T, I, O>(ctx, shape, {{k, &one, true}});
}
template <class T, class I = index_t, class O = I> auto eye(index<I> shape, std::int64_t k = 0) {
  return eye<T, I, O>(default_context<space::host>(), shape, k);
}

/// offsets[d] is the diagonal that diagonals[d] has the elements of.
template <class I = index_t, class O = I, space S, class T>
auto from_diagonals(const context<S>& ctx, index<I> shape, const std::vector<std::int64_t>& offsets,
                    const std::vector<std::vector<T>>& diagonals) {
  detail::require_same_size("from_diagonals", "offsets", std::ssize(offsets), "diagonals",
                            std::ssize(diagonals));
  std::vector<detail::diagonal_values<T>> list;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const std::int64_t k = offsets[d], length = std::ssize(diagonals[d]);
    const std::int64_t fits = detail::diagonal_length(shape.row, shape.col, k);
    if (fits == 0 && length > 0) detail::throw_bad_diagonal(k, shape.row, shape.col);
    if (length != 1)
      detail::require_same_size("from_diagonals", "a diagonal", length, "its place", fits);
    list.push_back({k, diagonals[d].data(), length == 1});
  }
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (std::size_t d = 1; d < list.size(); ++d)
    if (list[d].offset == list[d - 1].offset) detail::throw_diagonal_twice(list[d].offset);
  return detail::place_diagonals<T, I, O>(ctx, shape, list);
}
template <class I = index_t, class O = I, class T>
auto from_diagonals(index<I> shape, const std::vector<std::int64_t>& offsets,
                    const std::vector<std::vector<T>>& diagonals) {
  return from_diagonals<I, O>(default_context<space::host>(), shape, offsets, diagonals);
}

template <class T, class I = index_t, class O = I, space S>
auto random_csr(const context<S>& ctx, index<I> shape, double density, std::uint64_t seed) {
  if (!(density >= 0 && density <= 1)) detail::throw_bad_density(density);
  const auto elements = checked_mul(shape.row, shape.col);
  const auto wanted =
      static_cast<std::int64_t>(std::llround(density * static_cast<double>(elements)));
  const auto triples =
      detail::random_triples<T, I, O>(ctx, shape, std::min(wanted, elements), seed);
  auto result = detail::make_csr_of_checked(ctx, triples.view());
  sort(ctx, result);
  return result;
}
template <class T, class I = index_t, class O = I>
auto random_csr(index<I> shape, double density, std::uint64_t seed) {
  return random_csr<T, I, O>(default_context<space::host>(), shape, density, seed);
}

} // namespace lacuna
