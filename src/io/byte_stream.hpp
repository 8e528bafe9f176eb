// Bytes in order, decompressed on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

enum class compression { none, gzip, zstd, bzip2 };
/// By the first bytes, whatever the file's name is.
compression compression_of(std::span<const char> file);

/// A file, a pipe or a device, as it is read; "-" is standard input. Throws bad_input with the
/// system's reason.
std::unique_ptr<byte_stream> open_stream(const std::string& path, const std::string& name);
/// Bytes as they are; they outlive it.
std::unique_ptr<byte_stream> memory_stream(std::span<const char> bytes);

/// Shows the first bytes of another stream before they are read.
class peeked_stream : public byte_stream {
public:
  explicit peeked_stream(std::unique_ptr<byte_stream> from) : from_(std::move(from)) {}
  /// `size` bytes, fewer only if there are no more; nothing may have been read yet.
  std::span<const char> peek(std::size_t size);
  std::size_t read(char* to, std::size_t size) override;
  [[nodiscard]] std::int64_t consumed() const override { return from_->consumed(); }
  [[nodiscard]] std::int64_t total() const override { return from_->total(); }

private:
  std::unique_ptr<byte_stream> from_;
  std::vector<char> first_;
  std::size_t position_ = 0;
};

/// What the packed bytes hold, to their end: checksums are verified, and what follows the packed
/// data is bad_input. `name` is for messages. Throws unsupported, naming the package, if this build
/// lacks the library.
std::unique_ptr<byte_stream> decompress(std::unique_ptr<byte_stream> packed, compression c,
                                        const std::string& name);
/// Over bytes that outlive it, which compression_of() knows.
std::unique_ptr<byte_stream> decompress(std::span<const char> packed, const std::string& name);

} // namespace lacuna::io
