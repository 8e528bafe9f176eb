// Bytes in order, decompressed on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lacuna::io {

class byte_stream {
public:
  virtual ~byte_stream() = default;
  /// Up to `size` bytes; 0 only at the end. Throws bad_input.
  virtual std::size_t read(char* to, std::size_t size) = 0;
  /// Bytes taken from the file so far, and in all (0: unknown).
  [[nodiscard]] virtual std::int64_t consumed() const = 0;
  [[nodiscard]] virtual std::int64_t total() const = 0;
};

enum class compression { none, gzip, zstd };
/// By the first bytes, whatever the file's name is.
compression compression_of(std::span<const char> file);

/// Over bytes that outlive it; `name` is for messages. Throws unsupported, naming the package, if
/// this build lacks the library.
std::unique_ptr<byte_stream> decompress(std::span<const char> file, const std::string& name);
std::unique_ptr<byte_stream> standard_input();
/// Bytes as they are; they outlive it.
std::unique_ptr<byte_stream> memory_stream(std::span<const char> bytes);

} // namespace lacuna::io
