// A regular file's bytes, mapped read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lacuna::io {

class mapped_file {
public:
  /// Whether it is a regular file and says how long it is: not a pipe, a device or /proc's.
  static bool can_map(const std::string& path) noexcept;
  /// Throws bad_input with the system's reason.
  explicit mapped_file(const std::string& path);
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  [[nodiscard]] std::span<const char> bytes() const { return {data_, size_}; }
  /// Bytes [begin, end) are not needed again: their pages stop counting as this process's memory.
  void done_with(std::size_t begin, std::size_t end) const noexcept;

private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace lacuna::io
