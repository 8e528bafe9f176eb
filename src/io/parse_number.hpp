// Numbers in text whose lines all end in '\n': nothing here looks further than that, so no end
// needs to be checked. Each returns where the number ends, or nullptr if there is none or
// something other than white space follows.
#pragma once

#include <cstdint>
#include <type_traits>

namespace lacuna::io {

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
constexpr bool ends_token(char c) { return is_blank(c) || c == '\n'; }

inline const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}
inline const char* token_end(const char* p) {
  while (!ends_token(*p)) ++p;
  return p;
}

/// Digits, with a '+' at most. A number beyond 64 bits becomes 2^63 - 1.
inline const char* parse_index(const char* p, std::int64_t& value) {
  if (*p == '+') ++p;
  const char* first = p;
  std::uint64_t v = 0;
  while (is_digit(*p)) v = 10 * v + static_cast<std::uint64_t>(*p++ - '0');
  if (p == first || !ends_token(*p)) return nullptr;
  if (p - first > 18) { // v may have wrapped
    while (*first == '0') ++first;
    if (p - first > 19 || v > INT64_MAX) v = INT64_MAX;
  }
  value = static_cast<std::int64_t>(v);
  return p;
}

/// What parse_real does not see at first glance: long numbers, "1.5D+03", "nan", 1e400 (becomes
/// infinite), 1e-400 (becomes 0).
template <class T> const char* parse_real_slowly(const char* p, T& value);

/// Correctly rounded. Numbers whose digits and power of ten are exact in T, which most are, need
/// one multiplication (Clinger 1990).
template <class T> const char* parse_real(const char* p, T& value) {
  static constexpr T powers[] = {T(1e0),  T(1e1),  T(1e2),  T(1e3),  T(1e4),  T(1e5),
                                 T(1e6),  T(1e7),  T(1e8),  T(1e9),  T(1e10), T(1e11),
                                 T(1e12), T(1e13), T(1e14), T(1e15), T(1e16), T(1e17),
                                 T(1e18), T(1e19), T(1e20), T(1e21), T(1e22)};
  constexpr int exact_power = std::is_same_v<T, double> ? 22 : 10;
  constexpr std::uint64_t exact_digits = std::uint64_t{1} << (std::is_same_v<T, double> ? 53 : 24);
  const char* const token = p;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const first = p;
  std::uint64_t digits = 0;
  while (is_digit(*p)) digits = 10 * digits + static_cast<std::uint64_t>(*p++ - '0');
  auto count = p - first;
  std::int64_t exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (is_digit(*p)) digits = 10 * digits + static_cast<std::uint64_t>(*p++ - '0');
    exponent = fraction - p;
    count += p - fraction;
  }
  if (count == 0 || count > 19 || digits > exact_digits) return parse_real_slowly(token, value);
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    const char* const start = p;
    std::int64_t e = 0;
    while (is_digit(*p) && p - start < 5) e = 10 * e + (*p++ - '0');
    if (p == start) return nullptr;
    exponent += down ? -e : e;
  }
  if (!ends_token(*p) || exponent < -exact_power || exponent > exact_power)
    return parse_real_slowly(token, value);
  const T magnitude = exponent < 0 ? static_cast<T>(digits) / powers[-exponent]
                                   : static_cast<T>(digits) * powers[exponent];
  value = negative ? -magnitude : magnitude;
  return p;
}

enum class whole_number { right, none, too_large, inexact };
/// A whole number of 64 bits, with or without sign; inexact if no double is equal to it.
template <class T>
whole_number parse_whole(const char* p, bool is_signed, const char*& end, T& value);

} // namespace lacuna::io
