#include "io/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// The header is the text of a Python dictionary with the keys descr, fortran_order and shape.
class header_parser {
public:
  header_parser(std::string_view text, const std::string& what, const std::string& file)
      : rest_(text), what_(what), file_(file) {}

  void parse(npy& result) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        parse_descr(result);
        descr = true;
      } else if (key == "fortran_order" && !order) {
        result.column_major = boolean();
        order = true;
      } else if (key == "shape" && !shape) {
        parse_shape(result);
        shape = true;
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!descr || !order || !shape || !rest_.empty()) fail();
  }

private:
  [[noreturn]] void fail() const { throw_bad(what_ + ": the NumPy header is damaged", file_); }
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  bool accept(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string_view quoted() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail();
    const auto result = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) fail();
    return false;
  }
  /// "<f8": byte order, kind, bytes per element (characters for U).
  void parse_descr(npy& result) {
    skip_space();
    if (rest_.starts_with('[')) throw unsupported(what_ + " holds records, not numbers", file_, 0);
    const std::string_view descr = quoted();
    if (descr.size() < 2) fail();
    result.swapped = descr[0] == '>';
    result.kind = descr[1];
    if (result.kind == 'O') throw unsupported(what_ + " holds pickled Python objects", file_, 0);
    const char* end = descr.data() + descr.size();
    const auto [p, error] = std::from_chars(descr.data() + 2, end, result.item_size);
    if (error != std::errc{} || p != end || result.item_size < 0 || result.item_size > 1 << 20 ||
        std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
      throw unsupported(fmt::format("{} has elements of type {}", what_, descr), file_, 0);
    if (result.kind == 'U') result.item_size *= 4;
  }
  void parse_shape(npy& result) {
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t n = 0;
      const auto [p, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
      if (error != std::errc{} || n < 0 || result.shape.size() == 32) fail();
      rest_.remove_prefix(static_cast<std::size_t>(p - rest_.data()));
      accept('L'); // Python 2
      result.shape.push_back(n);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view rest_;
  const std::string& what_;
  const std::string& file_;
};

} // namespace

npy parse_npy_header(bytes_view first, std::uint64_t bytes, const std::string& what,
                     const std::string& file) {
  const std::string_view text(first.data(), first.size());
  if (!text.starts_with(magic) || text.size() < 10) throw_bad(what + " is not a NumPy array", file);
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3)
    throw unsupported(fmt::format("{}: NumPy format version {}", what, version), file, 0);
  std::size_t begin = 10;
  std::uint32_t length = 0;
  if (version == 1) {
    std::memcpy(&length, text.data() + 8, 2);
  } else {
    if (text.size() < 12) throw_bad(what + " is not a NumPy array", file);
    begin = 12;
    std::memcpy(&length, text.data() + 8, 4);
  }
  if (length > text.size() - begin) throw_bad(what + ": the NumPy header is cut off", file);

  npy result;
  header_parser(text.substr(begin, length), what, file).parse(result);
  result.size = 1;
  for (const std::int64_t n : result.shape)
    if (n == 0) result.size = 0;
  if (result.size != 0)
    for (const std::int64_t n : result.shape) result.size = product(result.size, n, file);
  result.header_bytes = begin + length;
  const std::int64_t needed = product(result.size, result.item_size, file);
  if (bytes < result.header_bytes ||
      static_cast<std::uint64_t>(needed) != bytes - result.header_bytes)
    throw_bad(fmt::format("{} has {} bytes of data, its header asks for {}", what,
                          bytes - std::min<std::uint64_t>(bytes, result.header_bytes), needed),
              file);
  return result;
}

npy parse_npy(bytes_view bytes, const std::string& what, const std::string& file) {
  npy result = parse_npy_header(bytes, bytes.size(), what, file);
  result.data = bytes.subspan(result.header_bytes);
  return result;
}

raw_array numbers_of(const npy& a, const std::string& what, const std::string& file) {
  struct known {
    char kind;
    std::int64_t size;
    number type;
  };
  static constexpr known types[] = {
      {'b', 1, number::boolean},    {'i', 1, number::int8},    {'i', 2, number::int16},
      {'i', 4, number::int32},      {'i', 8, number::int64},   {'u', 1, number::uint8},
      {'u', 2, number::uint16},     {'u', 4, number::uint32},  {'u', 8, number::uint64},
      {'f', 4, number::float32},    {'f', 8, number::float64}, {'c', 8, number::complex64},
      {'c', 16, number::complex128}};
  for (const known& t : types)
    if (t.kind == a.kind && t.size == a.item_size)
      return {what, a.data.data(), a.size, t.type, a.swapped, {}};
  throw unsupported(fmt::format("{} has elements of type {}{}", what, a.kind, a.item_size), file,
                    0);
}

std::string text_of(const npy& a) {
  if (a.size != 1 || (a.kind != 'S' && a.kind != 'U')) return {};
  const std::size_t step = a.kind == 'U' ? 4 : 1;
  std::string result;
  for (std::size_t at = a.kind == 'U' && a.swapped ? 3 : 0; at < a.data.size(); at += step)
    if (a.data[at] != 0) result += a.data[at];
  return result;
}

std::string npy_header(const std::string& descr, const std::string& shape) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  // The elements begin at a multiple of 64 bytes.
  const std::size_t length = (10 + dictionary.size() + 1 + 63) / 64 * 64 - 10;
  dictionary.resize(length - 1, ' ');
  std::string result(magic);
  result += {'\1', '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return result + dictionary + '\n';
}

} // namespace lacuna::io
