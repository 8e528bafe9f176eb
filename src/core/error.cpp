#include <lacuna/core/checked.hpp>
#include <lacuna/core/error.hpp>
#include <lacuna/core/printable.hpp>
#include <lacuna/op/operand.hpp>

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "core/narrow_limit.hpp"

namespace lacuna {

namespace detail {

std::string at_file(const std::string& what, const std::string& file, std::int64_t line) {
  return printable(line > 0 ? fmt::format("{}:{}: {}", file, line, what)
                            : fmt::format("{}: {}", file, what));
}

void throw_size_mismatch(std::string_view op, std::string_view left, std::int64_t left_size,
                         std::string_view right, std::int64_t right_size) {
  throw size_mismatch(
      fmt::format("{}: {} ({}) and {} ({}) must be equal", op, left, left_size, right, right_size));
}

void throw_does_not_fit(std::string_view what, std::int64_t value, int bits) {
  throw bad_input(
      fmt::format("{} = {} does not fit {}-bit indices; use 64-bit ones", what, value, bits));
}

void throw_short_range(const char* format, const char* what, std::int64_t size,
                       std::int64_t needed) {
  throw size_mismatch(
      fmt::format("{}: {} has {} elements, {} are needed", format, what, size, needed));
}

void throw_small_ld(std::int64_t ld, std::int64_t least) {
  throw size_mismatch(fmt::format(
      "dense_view: ld is {}, the least is {}: rows or columns would overlap", ld, least));
}

void throw_bad_shape(const char* format, std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  throw bad_input(
      fmt::format("{}: negative size: {} rows, {} columns, {} entries", format, rows, cols, nnz));
}

void throw_strided(std::int64_t down, std::int64_t along) {
  throw unsupported(fmt::format("a dense matrix with strides {} and {}: one of them must be 1, the "
                                "other span the rows or columns",
                                down, along));
}

namespace {
constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
std::atomic<std::int64_t> current_narrow_limit{int32_max};
} // namespace

std::int64_t narrow_limit() noexcept {
  return current_narrow_limit.load(std::memory_order_relaxed);
}
std::int64_t set_narrow_limit(std::int64_t limit) noexcept {
  return current_narrow_limit.exchange(limit > 0 && limit < int32_max ? limit : int32_max);
}

} // namespace detail

namespace {

/// Bytes of the UTF-8 character at the front that has a glyph or is a blank; 0 if there is none.
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= ' ' && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t k = 1; k < size; ++k)
    if ((byte(k) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f;
  const bool beyond = first == 0xf4 && byte(1) > 0x8f;
  const bool control = first == 0xc2 && byte(1) < 0xa0; // U+0080 to U+009F
  if (overlong || surrogate || beyond || control) return 0;
  // Marks that turn the direction of writing can make a name look like another.
  const bool turns = first == 0xe2 && ((byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||
                                       (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9));
  return turns ? 0 : size;
}

} // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = printable_bytes(text);
    if (size > 0)
      result += text.substr(0, size);
    else if (text[0] == '\n')
      result += "\\n";
    else if (text[0] == '\r')
      result += "\\r";
    else if (text[0] == '\t')
      result += "\\t";
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &result))
    throw bad_input(fmt::format("size {} + {} is negative or does not fit 64 bits", a, b));
  return result;
}

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result))
    throw bad_input(fmt::format("size {} * {} is negative or does not fit 64 bits", a, b));
  return result;
}

} // namespace lacuna
