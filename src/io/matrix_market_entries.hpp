// One block of a Matrix Market file's entries, parsed. No allocation and no exception in here: a
// fault is kept with its line and reported in the file's order by whoever joins the blocks.
#pragma once

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "io/matrix_market.hpp"
#include "io/parse_number.hpp"
#include "io/text.hpp"

namespace lacuna::io {

/// Where entries of a block go: room for as many as the block's text can hold.
template <class T, class I> struct parsed_block {
  array<I> rowind, colind;
  array<T> values, imaginary;
  std::int64_t count = 0;
  std::int64_t lines = 0;                        ///< in the block, or up to the fault
  std::int64_t first_below = 0, first_above = 0; ///< the diagonal: lines, 0 if there is none
  std::string fault;

  /// The shortest entry is "1 1\n"; of an array "1\n".
  void reserve(const host_context& ctx, const matrix_market_header& h, complex_rule part,
               std::size_t text) {
    const auto room = static_cast<std::int64_t>(text) / (!h.coordinate                ? 2
                                                         : h.values == field::pattern ? 4
                                                                                      : 6) +
                      1;
    const auto grow = [&](auto& a) {
      if (a.size() < room) a = {};
      if (a.size() < room) a = std::remove_reference_t<decltype(a)>(ctx, room);
    };
    if (h.coordinate) grow(rowind), grow(colind);
    if (h.values != field::pattern) grow(values);
    if (h.values == field::complex && part == complex_rule::keep) grow(imaginary);
  }
};

inline std::string token_at(const char* p) {
  return shown({p, static_cast<std::size_t>(token_end(p) - p)});
}

/// Reads one value from p on; sets the fault and returns nullptr if there is none. K says how.
enum class value_kind { none, real, whole, whole_unsigned, real_part, absolute, both_parts };

template <value_kind K, class T>
const char* parse_value(const char* p, T& value, T& imaginary, std::string& fault) {
  const auto missing = [&](const char* what) {
    fault = *p == '\n' || *p == '\r'
                ? fmt::format("{} is missing", what)
                : fmt::format("'{}' is not a {}", token_at(p),
                              K == value_kind::whole || K == value_kind::whole_unsigned
                                  ? "whole number, as the field 'integer' has"
                                  : "number");
    return nullptr;
  };
  if constexpr (K == value_kind::whole || K == value_kind::whole_unsigned) {
    const char* end = nullptr;
    switch (parse_whole(p, K == value_kind::whole, end, value)) {
    case whole_number::right: return end;
    case whole_number::none: return missing("the value");
    case whole_number::inexact:
      fault = fmt::format("no double is {}: integers beyond 2^53 would change; as values of the "
                          "field 'real' they are rounded",
                          token_at(p));
      return nullptr;
    default: fault = fmt::format("'{}' does not fit 64 bits", token_at(p)); return nullptr;
    }
  } else {
    const char* end = parse_real(p, value);
    if (end == nullptr) return missing("the value");
    if constexpr (K == value_kind::real) return end;
    p = skip_blanks(end);
    end = parse_real(p, imaginary);
    if (end == nullptr) return missing("the imaginary part");
    if constexpr (K == value_kind::absolute) value = std::hypot(value, imaginary);
    return end;
  }
}

template <class I>
const char* parse_coordinate(const char* p, std::int64_t size, const char* what, I& index,
                             std::string& fault) {
  std::int64_t value = 0;
  const char* const end = parse_index(p, value);
  if (end == nullptr) {
    fault = *p == '\n' ? fmt::format("the {} index is missing", what)
                       : fmt::format("'{}' is not a {} index", token_at(p), what);
    return nullptr;
  }
  // 0 wraps to the largest number.
  if (static_cast<std::uint64_t>(value) - 1 >= static_cast<std::uint64_t>(size)) [[unlikely]] {
    fault = value == 0 ? fmt::format("{} index 0: indices start at 1", what)
                       : fmt::format("{} index {} is beyond {} {}s", what, token_at(p), size, what);
    return nullptr;
  }
  index = static_cast<I>(value - 1);
  return skip_blanks(end);
}

template <value_kind K, class T, class I>
const char* parse_entry(const char* p, const matrix_market_header& h, parsed_block<T, I>& out) {
  I row = 0, col = 0;
  if (h.coordinate) {
    p = parse_coordinate(p, h.rows, "row", row, out.fault);
    if (p == nullptr) return nullptr;
    p = parse_coordinate(p, h.cols, "column", col, out.fault);
    if (p == nullptr) return nullptr;
    out.rowind[out.count] = row;
    out.colind[out.count] = col;
  }
  if constexpr (K != value_kind::none) {
    T part = 0;
    p = parse_value<K>(p, out.values[out.count], part, out.fault);
    if constexpr (K == value_kind::both_parts) out.imaginary[out.count] = part;
    if (p == nullptr) return nullptr;
    p = skip_blanks(p);
  }
  if (*p != '\n') {
    out.fault = fmt::format("'{}' is one too many on this line", token_at(p));
    return nullptr;
  }
  if (h.structure != symmetry::general && h.coordinate) {
    if (row > col && out.first_below == 0) out.first_below = out.lines + 1;
    if (row < col && out.first_above == 0) out.first_above = out.lines + 1;
    if constexpr (K != value_kind::none)
      if (row == col && h.structure == symmetry::skew_symmetric &&
          (out.values[out.count] != 0 ||
           (K == value_kind::both_parts && out.imaginary[out.count] != 0))) {
        out.fault =
            fmt::format("({0}, {0}) is on the diagonal of a skew-symmetric matrix, but not 0",
                        std::int64_t{row} + 1);
        return nullptr;
      }
  }
  ++out.count;
  return p;
}

/// Stops at the first fault, or behind `limit` entries.
template <value_kind K, class T, class I>
void parse_lines(std::string_view text, const matrix_market_header& h, std::int64_t limit,
                 parsed_block<T, I>& out) {
  out.count = out.lines = out.first_below = out.first_above = 0;
  out.fault.clear();
  const char *p = text.data(), *const end = p + text.size();
  while (p != end && out.count < limit) {
    p = skip_blanks(p);
    if (*p == '%') [[unlikely]]
      while (*p != '\n') ++p;
    else if (*p != '\n') {
      p = parse_entry<K>(p, h, out);
      if (p == nullptr) return;
    }
    ++p;
    ++out.lines;
  }
}

template <class T, class I>
void parse_block(std::string_view text, const matrix_market_header& h, complex_rule part,
                 std::int64_t limit, parsed_block<T, I>& out) {
  switch (h.values) {
  case field::pattern: return parse_lines<value_kind::none>(text, h, limit, out);
  case field::real: return parse_lines<value_kind::real>(text, h, limit, out);
  case field::integer:
    return h.is_unsigned ? parse_lines<value_kind::whole_unsigned>(text, h, limit, out)
                         : parse_lines<value_kind::whole>(text, h, limit, out);
  case field::complex:
    return part == complex_rule::abs    ? parse_lines<value_kind::absolute>(text, h, limit, out)
           : part == complex_rule::keep ? parse_lines<value_kind::both_parts>(text, h, limit, out)
                                        : parse_lines<value_kind::real_part>(text, h, limit, out);
  }
}

} // namespace lacuna::io
