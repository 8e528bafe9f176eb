// The files of a journal as the system has them: one writer, files that appear complete or not at
// all, and bytes behind the end of a log.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace lacuna::io {

/// Owns a file descriptor.
class descriptor_owner {
public:
  explicit descriptor_owner(int fd = -1) : fd_(fd) {}
  descriptor_owner(descriptor_owner&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  descriptor_owner& operator=(descriptor_owner&& other) noexcept;
  ~descriptor_owner();
  [[nodiscard]] int get() const { return fd_; }

private:
  int fd_;
};

/// A folder that is locked for this object's life. All here throw failed with the system's reason.
class journal_folder {
public:
  /// `make`: it need not be there yet. Throws bad_input if it is not, else.
  journal_folder(const std::string& path, bool make);

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] bool has(const std::string& name) const;
  /// For reading and writing.
  [[nodiscard]] descriptor_owner open(const std::string& name) const;
  /// A new file in the place of the one of this name, on the disk itself when it returns, each part
  /// filled up with zeros to a multiple of 8 bytes. Returns it open.
  descriptor_owner replace(const std::string& name,
                           std::initializer_list<std::span<const char>> parts) const;

private:
  std::string path_;
  descriptor_owner folder_, lock_;
};

/// Zeros that fill `bytes` up to a multiple of 8.
std::span<const char> filling(std::size_t bytes);
/// All parts at `offset`, one behind the other; returns 0 or the system's reason.
int write_parts(int fd, std::int64_t offset, std::span<const std::span<const char>> parts);

} // namespace lacuna::io
