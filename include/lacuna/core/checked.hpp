// Arithmetic on sizes that cannot overflow silently.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include <lacuna/core/export.hpp>

namespace lacuna {

/// a + b and a * b of non-negative sizes; throws bad_input where 64 bits are not enough.
LACUNA_EXPORT std::int64_t checked_add(std::int64_t a, std::int64_t b);
LACUNA_EXPORT std::int64_t checked_mul(std::int64_t a, std::int64_t b);

namespace detail {

/// Largest value that a 32-bit index may take. 2^31 - 1, unless a test has lowered it to reach
/// on small matrices the code that serves those beyond 2^31 entries.
LACUNA_EXPORT std::int64_t narrow_limit() noexcept;

[[noreturn]] LACUNA_EXPORT void throw_does_not_fit(std::string_view what, std::int64_t value,
                                                   int bits);

} // namespace detail

template <std::signed_integral To> bool fits(std::int64_t value) noexcept {
  if constexpr (sizeof(To) == 8)
    return true;
  else
    return value >= std::numeric_limits<To>::min() && value <= detail::narrow_limit();
}

namespace detail {
/// Any integer of the caller's as To; throws bad_input if it does not fit. Usable in constants.
template <std::integral To, std::integral From> constexpr To integer(From value, const char* what) {
  if (!std::in_range<To>(value))
    throw_does_not_fit(what, static_cast<std::int64_t>(value), 8 * static_cast<int>(sizeof(To)));
  return static_cast<To>(value);
}
} // namespace detail

/// value as To, or bad_input that names `what`, the value and the width to use instead.
template <std::signed_integral To> To checked_cast(std::int64_t value, std::string_view what) {
  if (!fits<To>(value)) detail::throw_does_not_fit(what, value, 8 * static_cast<int>(sizeof(To)));
  return static_cast<To>(value);
}

} // namespace lacuna
