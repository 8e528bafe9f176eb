// A file that appears under its name when it is complete, or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <lacuna/core/export.hpp>

namespace lacuna::io {

/// Writes go to a nameless file in the same folder (or, where the file system has none, to a hidden
/// one that is removed again), until commit() gives it the name. As cp does it, an existing file
/// keeps its mode and owner, and a link is followed: its target is written. What cannot be replaced
/// so, a file with several names, an access list or an owner that cannot be given, or in a folder
/// that cannot be written, is overwritten by commit() instead; pipes and devices are written as
/// they are. "-" is standard output.
class LACUNA_EXPORT output_file {
public:
  /// Whether only write() is used, so that a pipe can be fed as the bytes come.
  enum class access { in_order, anywhere };

  /// Throws error with the system's reason, as all here do.
  explicit output_file(const std::string& path, access how = access::in_order);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file(); ///< without commit(): nothing was written

  /// Appends.
  void write(std::string_view bytes);
  /// Overwrites what is at `position`. Needs access::anywhere.
  void write_at(std::int64_t position, std::string_view bytes);
  [[nodiscard]] std::int64_t size() const { return size_; } ///< bytes appended so far
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Makes sure that the file can become so large, where the system can tell: libraries that
  /// cannot write on are not to be trusted.
  void reserve(std::int64_t bytes);
  /// A name under which a library may open the file for itself; write() must not be used then.
  /// Needs access::anywhere.
  [[nodiscard]] std::string name_for_libraries();
  /// Flushes to disk and renames, or copies.
  void commit();

private:
  enum class ending { stay, rename, copy };
  [[noreturn]] void fail() const;
  bool open_temporary(const std::string& folder);
  void put_name();
  void copy_to_target() const;

  std::string path_;      // as it was given
  std::string target_;    // with links followed
  std::string stem_;      // of names of temporary files: "folder/.name"
  std::string temporary_; // empty: nameless so far
  int fd_ = -1;
  ending end_ = ending::stay;
  std::int64_t size_ = 0;
};

/// Throws what writing `path` would throw at once (no such folder, no permission), without touching
/// what is there.
LACUNA_EXPORT void require_writable(const std::string& path);
/// Whether writing one would overwrite the other. Devices may be named twice.
LACUNA_EXPORT bool is_same_output(const std::string& a, const std::string& b);
/// Whether `path` is there and is a pipe or a device, which has no format by its name.
LACUNA_EXPORT bool is_pipe_or_device(const std::string& path);

/// Removes hidden temporary files that are not committed. For signal handlers: async-signal-safe.
LACUNA_EXPORT void remove_unfinished_files() noexcept;

} // namespace lacuna::io
