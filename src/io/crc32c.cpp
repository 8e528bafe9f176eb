#include "io/crc32c.hpp"

#include <array>
#include <cstring>

namespace lacuna::io {
namespace {

/// tables[j][b]: the remainder of byte b with j zero bytes behind it.
constexpr auto tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> result{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t r = b;
    for (int bit = 0; bit < 8; ++bit) r = (r >> 1U) ^ ((r & 1U) != 0 ? 0x82f63b78U : 0U);
    result[0][b] = r;
  }
  for (std::size_t j = 1; j < 8; ++j)
    for (std::size_t b = 0; b < 256; ++b)
      result[j][b] = (result[j - 1][b] >> 8U) ^ result[0][result[j - 1][b] & 0xffU];
  return result;
}();

/// Eight bytes at a time ("slicing by 8"): about 2 GB/s.
std::uint32_t by_tables(const char* p, std::size_t n, std::uint32_t r) {
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= r;
    r = 0;
    for (unsigned j = 0; j < 8; ++j) r ^= tables[7 - j][(word >> (8 * j)) & 0xffU];
  }
  for (; n > 0; --n, ++p) r = (r >> 8U) ^ tables[0][(r ^ static_cast<unsigned char>(*p)) & 0xffU];
  return r;
}

#if defined(__x86_64__)
/// By the processor's instruction: about 8 GB/s.
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const char* p, std::size_t n,
                                                               std::uint32_t r) {
  std::uint64_t wide = r;
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return by_tables(p, n, static_cast<std::uint32_t>(wide));
}
#endif

} // namespace

std::uint32_t crc32c(std::span<const char> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~by_instruction(bytes.data(), bytes.size(), ~before);
#endif
  return ~by_tables(bytes.data(), bytes.size(), ~before);
}

} // namespace lacuna::io
