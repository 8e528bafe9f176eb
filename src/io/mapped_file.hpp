// A file's bytes, read-only. Regular files are mapped; what cannot be mapped is read in whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lacuna::io {

class mapped_file {
public:
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
  bool mapped_ = false;
  std::vector<char> copy_; // what could not be mapped
};

} // namespace lacuna::io
