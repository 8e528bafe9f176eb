// Patterns that are kept between calls, so that later calls move values alone.
#pragma once

#include <cstdint>
#include <utility>

#include <lacuna/op/operand.hpp>

namespace lacuna {

namespace detail {
/// The pattern of A^T, and where in A each of its entries is: O(1) memory per entry, an index and
/// an offset.
template <class I, class O, space S> struct transposed_pattern {
  index<I> shape{}; ///< of A^T
  array<O, S> rowptr;
  array<I, S> colind;
  array<O, S> from; ///< entry k of A^T is entry from[k] of A
  facts order{};
  template <class T> [[nodiscard]] csr_view<const T, I, O, S> view(const T* values) const {
    return {values, rowptr.data(), colind.data(), shape, static_cast<O>(colind.size()), order};
  }
  [[nodiscard]] std::size_t bytes() const { return rowptr.bytes() + colind.bytes() + from.bytes(); }
};

/// An odd number for element k; elements are multiplied by theirs and added up, modulo 2^64.
constexpr std::uint64_t stamp_weight(std::uint64_t k) {
  std::uint64_t z = (k + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 32U)) * 0xd6e8feb86659fd93ULL;
  return (z ^ (z >> 32U)) | 1U;
}
/// Offsets have other weights than columns.
inline constexpr std::uint64_t rowptr_weights = std::uint64_t{1} << 62U;

/// The arrays of a pattern; empty ones have the stamp 0.
template <class I, class O, space S> struct pattern_arrays {
  vector_view<const O, S> rowptr;
  vector_view<const I, S> colind;
};
template <class T, class I, class O, space S>
pattern_arrays<I, O, S> arrays_of(const csr_view<const T, I, O, S>& a) {
  return {a.rowptr(), {a.colind().data(), a.size()}};
}
/// Numbers that two patterns share by accident once in 2^64 times.
using stamp_pair = std::pair<std::uint64_t, std::uint64_t>;
} // namespace detail

namespace detail::cpu {
/// Fills all of `result`, whose arrays are there; values of A are not read. The order of entries is
/// transpose_csr's.
template <class I, class O>
LACUNA_EXPORT void transpose_pattern(const host_context& ctx, index<I> shape,
                                     detail::pattern_arrays<I, O, space::host> a,
                                     detail::transposed_pattern<I, O, space::host>& result);
/// to[k] = values[from[k]].
template <class T, class O>
LACUNA_EXPORT void gather_values(const host_context& ctx, const T* values,
                                 vector_view<const O> from, T* to);
/// One pass over the four arrays.
template <class I, class O>
LACUNA_EXPORT detail::stamp_pair stamp_patterns(const host_context& ctx,
                                                detail::pattern_arrays<I, O, space::host> a,
                                                detail::pattern_arrays<I, O, space::host> b);
} // namespace detail::cpu

namespace detail::gpu {
/// Queued. Scratch: about 16 bytes per entry.
template <class I, class O>
LACUNA_GPU_EXPORT void transpose_pattern(const device_context& ctx, index<I> shape,
                                         detail::pattern_arrays<I, O, space::device> a,
                                         detail::transposed_pattern<I, O, space::device>& result);
/// Queued.
template <class T, class O>
LACUNA_GPU_EXPORT void gather_values(const device_context& ctx, const T* values,
                                     vector_view<const O, space::device> from, T* to);
/// Waits.
template <class I, class O>
LACUNA_GPU_EXPORT detail::stamp_pair stamp_patterns(const device_context& ctx,
                                                    detail::pattern_arrays<I, O, space::device> a,
                                                    detail::pattern_arrays<I, O, space::device> b);
} // namespace detail::gpu

namespace detail {

template <class T, class I, class O, space S>
transposed_pattern<I, O, S> keep_transposed(const context<S>& ctx,
                                            const csr_view<const T, I, O, S>& a) {
  transposed_pattern<I, O, S> result;
  result.shape = {a.shape().col, a.shape().row};
  result.order = {true, a.order().unique};
  result.rowptr = array<O, S>(ctx, std::int64_t{result.shape.row} + 1);
  result.colind = array<I, S>(ctx, a.size());
  result.from = array<O, S>(ctx, a.size());
  if constexpr (S == space::host)
    detail::cpu::transpose_pattern<I, O>(ctx, a.shape(), arrays_of(a), result);
  else
    detail::gpu::transpose_pattern<I, O>(ctx, a.shape(), arrays_of(a), result);
  return result;
}

template <class T, class O, space S>
void gather_values(const context<S>& ctx, const T* values, const array<O, S>& from, T* to) {
  if constexpr (S == space::host)
    detail::cpu::gather_values<T, O>(ctx, values, from.view(), to);
  else
    detail::gpu::gather_values<T, O>(ctx, values, from.view(), to);
}

/// A^T with the values that A has now; the pattern is viewed.
template <class T, class I, class O, space S> struct regathered {
  array<T, S> values;
  csr_view<const T, I, O, S> a;
  regathered() = default;
  regathered(const context<S>& ctx, const transposed_pattern<I, O, S>& pattern, const T* from)
      : values(ctx, pattern.from.size()), a(pattern.view(std::as_const(values).data())) {
    gather_values(ctx, from, pattern.from, values.data());
  }
};

template <class I, class O, space S>
stamp_pair stamp_patterns(const context<S>& ctx, pattern_arrays<I, O, S> a,
                          pattern_arrays<I, O, S> b) {
  if constexpr (S == space::host)
    return detail::cpu::stamp_patterns<I, O>(ctx, a, b);
  else
    return detail::gpu::stamp_patterns<I, O>(ctx, a, b);
}

} // namespace detail
} // namespace lacuna
