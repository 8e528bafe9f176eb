// What is used of zlib: checksums, and deflated data in memory. Sizes may pass 4 GiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/formats.hpp"

namespace lacuna::io {

/// Deflate makes at most 1032 bytes of one: 258 bytes of two bits. Larger claims are lies.
inline constexpr std::uint64_t most_inflated = 1032;

enum class wrapping { none, zlib };

/// CRC-32 of bytes that follow others with the checksum `before`. Also in builds without zlib.
std::uint32_t crc32_of(const host_context& ctx, bytes_view bytes, std::uint32_t before = 0);

/// Exactly `size` bytes. Throws bad_input if there are fewer or more, or the data are damaged;
/// before anything is allocated if the packed bytes cannot hold that many. `what` is for messages.
array<char> inflate(const host_context& ctx, bytes_view packed, std::int64_t size, wrapping w,
                    const std::string& what, const std::string& file);
/// The first bytes: `size` of them, or fewer if there are no more.
std::string inflate_first(bytes_view packed, std::size_t size, wrapping w, const std::string& what,
                          const std::string& file);

/// Whether deflating works in this build.
bool can_deflate() noexcept;
/// Appends to a file what it is given, deflated with zlib's header and checksum.
class deflater {
public:
  explicit deflater(output_file& file);
  deflater(const deflater&) = delete;
  deflater& operator=(const deflater&) = delete;
  ~deflater();
  void write(std::string_view bytes);
  void finish();

private:
  void run(std::string_view bytes, int flush);
  struct state;
  output_file& file_;
  state* state_;
};

} // namespace lacuna::io
