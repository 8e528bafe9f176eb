#include "io/parse_number.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "io/raw_array.hpp"

namespace lacuna::io {
namespace {

/// Of a well-formed number that T does not hold: whether it is too large, not too small.
bool is_large(std::string_view number) {
  std::int64_t point = 0; // power of ten before the first digit that is not 0
  bool seen_point = false, seen_digit = false;
  std::size_t k = 0;
  for (; k < number.size(); ++k) {
    const char c = number[k];
    if (c == '.')
      seen_point = true;
    else if (is_digit(c)) {
      seen_digit = seen_digit || c != '0';
      if (!seen_point && seen_digit) ++point;
      if (seen_point && !seen_digit) --point;
    } else if (c != '-')
      break;
  }
  std::int64_t exponent = 0;
  bool down = false;
  for (++k; k < number.size(); ++k) {
    if (number[k] == '-') down = true;
    if (is_digit(number[k]))
      exponent = std::min<std::int64_t>(10 * exponent + (number[k] - '0'), INT64_C(1) << 50);
  }
  return point + (down ? -exponent : exponent) > 0;
}

} // namespace

template <class T> const char* parse_real_slowly(const char* p, T& value) {
  const char* const end = token_end(p);
  if (*p == '+') ++p;
  if (p == end || *p == '+' || (*p == '-' && *(p - 1) == '+')) return nullptr;
  std::string with_e; // Fortran's exponents
  const char *first = p, *last = end;
  const auto d = std::find_if(p, end, [](char c) { return c == 'd' || c == 'D'; });
  if (d != end && is_digit(*(end - 1))) {
    with_e.assign(p, end);
    with_e[static_cast<std::size_t>(d - p)] = 'e';
    first = with_e.data();
    last = first + with_e.size();
  }
  const auto [stop, status] = std::from_chars(first, last, value);
  if (stop != last || status == std::errc::invalid_argument) return nullptr;
  if (status == std::errc::result_out_of_range) {
    const T magnitude = is_large({first, static_cast<std::size_t>(last - first)})
                            ? std::numeric_limits<T>::infinity()
                            : T(0);
    value = *first == '-' ? -magnitude : magnitude;
  }
  return end;
}

template <class T>
whole_number parse_whole(const char* p, bool is_signed, const char*& end, T& value) {
  end = token_end(p);
  if (*p == '+' && is_digit(p[1])) ++p;
  std::int64_t with_sign = 0;
  std::uint64_t without = 0;
  const auto [stop, status] =
      is_signed ? std::from_chars(p, end, with_sign) : std::from_chars(p, end, without);
  if (stop != end || status == std::errc::invalid_argument || p == end) return whole_number::none;
  if (status == std::errc::result_out_of_range) return whole_number::too_large;
  value = is_signed ? static_cast<T>(with_sign) : static_cast<T>(without);
  return is_exact(is_signed ? magnitude_of(with_sign) : without) ? whole_number::right
                                                                 : whole_number::inexact;
}

template const char* parse_real_slowly(const char*, float&);
template const char* parse_real_slowly(const char*, double&);
template whole_number parse_whole(const char*, bool, const char*&, float&);
template whole_number parse_whole(const char*, bool, const char*&, double&);

} // namespace lacuna::io
