// The files of a tar archive (POSIX ustar and pax, GNU long names), one after the other.
#pragma once

#include "io/byte_stream.hpp"

namespace lacuna::io {

/// Whether these are the first bytes of an archive (of any since 1988).
bool is_tar(std::span<const char> first);

/// Reads the bytes of the file that next() went to.
class tar_stream : public byte_stream {
public:
  tar_stream(std::unique_ptr<byte_stream> archive, std::string name)
      : archive_(std::move(archive)), name_(std::move(name)) {}

  /// Goes to the next file, whether or not this one was read. False at the archive's end, when all
  /// its bytes have been read, and so checked if they are compressed. Throws bad_input if it is
  /// broken or cut off.
  bool next();
  [[nodiscard]] const std::string& path() const { return path_; } ///< of this file

  std::size_t read(char* to, std::size_t size) override;
  [[nodiscard]] std::int64_t consumed() const override { return archive_->consumed(); }
  [[nodiscard]] std::int64_t total() const override { return archive_->total(); }

private:
  void read_header(char* to);
  std::string text();
  void skip(std::int64_t bytes);

  std::unique_ptr<byte_stream> archive_;
  std::string name_, path_;
  std::int64_t left_ = 0, padding_ = 0; // bytes of this file
  bool ended_ = false;
};

} // namespace lacuna::io
