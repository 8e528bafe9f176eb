// Text in blocks of whole lines: slices of a mapped file, or what a stream gives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_stream.hpp"
#include "io/mapped_file.hpp"

namespace lacuna::io {

/// Ends in '\n', whether or not the file's last line does: parsers need not look for the end.
struct text_block {
  std::string_view text;
  std::int64_t consumed = 0; ///< of the file's bytes, including this block
  std::vector<char> storage; ///< where the text is, unless it is a slice
};

class text_source {
public:
  /// Over bytes that outlive it.
  explicit text_source(std::span<const char> bytes) : file_(bytes) {}
  explicit text_source(const mapped_file& file) : file_(file.bytes()), mapped_(&file) {}
  /// Over a stream. `name` is for messages.
  text_source(std::unique_ptr<byte_stream> stream, std::string name)
      : stream_(std::move(stream)), name_(std::move(name)) {}

  /// False at the end. Not for two threads at once.
  bool next(text_block& block);
  /// All blocks up to this one's `consumed` are parsed: their memory may go.
  void done_with(std::int64_t consumed);
  /// Bytes of the file (compressed ones if it is compressed); 0 if unknown.
  [[nodiscard]] std::int64_t total_bytes() const;
  /// The most bytes of text that can come; 0 if unknown.
  [[nodiscard]] std::int64_t text_bound() const;

private:
  bool next_slice(text_block& block);
  bool next_from_stream(text_block& block);

  std::span<const char> file_;
  const mapped_file* mapped_ = nullptr;
  std::int64_t released_ = 0;
  std::size_t position_ = 0;
  std::unique_ptr<byte_stream> stream_;
  std::string name_;
  std::vector<char> rest_; // of a stream: begins a line whose end has not come yet
};

} // namespace lacuna::io
