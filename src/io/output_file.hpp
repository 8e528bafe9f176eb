// A file that appears under its name when it is complete, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lacuna/core/export.hpp>

namespace lacuna::io {

/// Writes go to a nameless file in the same folder (or, where the file system has none, to a hidden
/// one that is removed again), until commit() gives it the name. "-" is standard output.
class LACUNA_EXPORT output_file {
public:
  /// Throws error with the system's reason, as all here do.
  explicit output_file(const std::string& path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file(); ///< without commit(): nothing was written

  /// Appends.
  void write(std::string_view bytes);
  /// Overwrites what is at `position`.
  void write_at(std::int64_t position, std::string_view bytes);
  [[nodiscard]] std::int64_t size() const { return size_; } ///< bytes appended so far
  [[nodiscard]] const std::string& path() const { return path_; }
  /// A name under which a library may open the file for itself; write() must not be used then.
  [[nodiscard]] std::string name_for_libraries();
  /// Flushes to disk and renames.
  void commit();

private:
  [[noreturn]] void fail(const char* doing) const;
  void put_name();

  std::string path_;
  std::string temporary_; // empty: nameless so far
  int fd_ = -1;
  bool direct_ = false; // a pipe or device, written as it is
  std::int64_t size_ = 0;
};

/// Removes hidden temporary files that are not committed. For signal handlers: async-signal-safe.
LACUNA_EXPORT void remove_unfinished_files() noexcept;

} // namespace lacuna::io
