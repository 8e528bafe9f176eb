// The one list of value, column-index and offset types that Lacuna is compiled for.
#pragma once

#include <lacuna/core/require_cxx20.hpp>

#include <lacuna/core/config.hpp>

#include <cstdint>
#include <type_traits>

namespace lacuna {

/// Default widths, as in the C++ Sparse BLAS: `csr_view<double>` has 32-bit columns and offsets.
using index_t = std::int32_t;
using offset_t = std::int32_t;

/// Everything in the library is instantiated for exactly these (value, column, offset) triples.
/// 32-bit columns with 64-bit offsets serve matrices beyond 2^31 entries, 64-bit columns with
/// 32-bit offsets those of very many columns, nearly empty; builds of the programs alone, which
/// never meet these last ones, leave them out.
#if LACUNA_MIXED_WIDTHS
#define LACUNA_IF_MIXED_WIDTHS(...) __VA_ARGS__
#else
#define LACUNA_IF_MIXED_WIDTHS(...)
#endif
#define LACUNA_FOR_EACH_VALUE(X) X(float) X(double)
#define LACUNA_FOR_EACH_INDEX(X)                                                                   \
  X(std::int32_t, std::int32_t)                                                                    \
  X(std::int32_t, std::int64_t)                                                                    \
  LACUNA_IF_MIXED_WIDTHS(X(std::int64_t, std::int32_t)) X(std::int64_t, std::int64_t)
/// (value, column) pairs, for what has no offsets.
#define LACUNA_FOR_EACH_PAIR(X)                                                                    \
  X(float, std::int32_t) X(float, std::int64_t) X(double, std::int32_t) X(double, std::int64_t)
/// Pairs that 32-bit offsets go with.
#define LACUNA_FOR_EACH_NARROW_PAIR(X)                                                             \
  X(float, std::int32_t)                                                                           \
  LACUNA_IF_MIXED_WIDTHS(X(float, std::int64_t))                                                   \
  X(double, std::int32_t)                                                                          \
  LACUNA_IF_MIXED_WIDTHS(X(double, std::int64_t))
#define LACUNA_FOR_EACH_TYPE(X)                                                                    \
  X(float, std::int32_t, std::int32_t)                                                             \
  X(float, std::int32_t, std::int64_t)                                                             \
  LACUNA_IF_MIXED_WIDTHS(X(float, std::int64_t, std::int32_t))                                     \
  X(float, std::int64_t, std::int64_t)                                                             \
  X(double, std::int32_t, std::int32_t)                                                            \
  X(double, std::int32_t, std::int64_t)                                                            \
  LACUNA_IF_MIXED_WIDTHS(X(double, std::int64_t, std::int32_t))                                    \
  X(double, std::int64_t, std::int64_t)

namespace detail {

template <class T>
inline constexpr bool is_value = std::is_same_v<T, float> || std::is_same_v<T, double>;
template <class I>
inline constexpr bool is_index = std::is_same_v<I, std::int32_t> || std::is_same_v<I, std::int64_t>;

/// U, made const if T is: the arrays of a `csr_view<const T, …>` are all read-only.
template <class T, class U> using like = std::conditional_t<std::is_const_v<T>, const U, U>;

} // namespace detail
} // namespace lacuna
