// What is used of HDF5: arrays and attributes of a file in memory, and files with such. The library
// is not safe to use from several threads: every object here holds one lock of the process, so a
// thread has one at a time. It also keeps the library from printing its errors.
#pragma once

#ifdef LACUNA_HAS_HDF5

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "io/formats.hpp"
#include "io/hdf5_library.hpp"
#include "io/raw_array.hpp"

namespace lacuna::io {

/// Owns one of the library's objects, of whatever kind.
class hdf5_handle {
public:
  hdf5_handle() = default;
  explicit hdf5_handle(hid_t id) : id_(id) {}
  hdf5_handle(hdf5_handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  hdf5_handle& operator=(hdf5_handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  hdf5_handle(const hdf5_handle&) = delete;
  hdf5_handle& operator=(const hdf5_handle&) = delete;
  ~hdf5_handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  [[nodiscard]] hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

private:
  hid_t id_ = H5I_INVALID_HID;
};

/// The library loaded for a file, the lock, and silence.
class hdf5_session {
public:
  explicit hdf5_session(const std::string& file);
  hdf5_session(const hdf5_session&) = delete;
  hdf5_session& operator=(const hdf5_session&) = delete;
  ~hdf5_session();
  /// What the library says went wrong in its last call.
  [[nodiscard]] std::string reason() const;

private:
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

struct hdf5_array {
  raw_array numbers;
  std::vector<std::int64_t> shape;
};

/// fork() while no thread is inside the library.
pid_t fork_beside_hdf5();

/// Reads a file whose bytes are in memory, without copying them. Paths are "/group/name" and do not
/// lead out of the file. All throw bad_input; unsupported for what is not numbers.
class hdf5_reader {
public:
  hdf5_reader(bytes_view file, const std::string& name);

  enum class kind { nothing, group, array };
  [[nodiscard]] kind kind_of(const std::string& path) const;
  /// Names in a group, in alphabetical order; no more than some thousands.
  [[nodiscard]] std::vector<std::string> names_in(const std::string& group) const;
  /// Where the elements stand in the file as they are, they are not copied. No more memory than
  /// the file's bytes can expand to.
  [[nodiscard]] hdf5_array read(const host_context& ctx, const std::string& path) const;
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& path,
                                                          const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> integer_attribute(const std::string& path,
                                                              const std::string& name) const;

private:
  struct attribute {
    hdf5_handle value, type;
  };
  [[nodiscard]] hdf5_handle open(const std::string& path) const;
  [[nodiscard]] std::optional<attribute>
  open_attribute(const std::string& path, const std::string& name, H5T_class_t wanted) const;
  [[noreturn]] void fail_attribute(const std::string& path, const std::string& name) const;
  [[noreturn]] void fail(const std::string& what) const;

  bytes_view bytes_;
  const std::string& name_;
  hdf5_session session_;
  hdf5_handle file_;
};

/// Bytes for what the library writes beside arrays.
inline constexpr std::int64_t hdf5_room = 1 << 16;

/// Writes a file of contiguous arrays. All throw error with the library's reason. Reserve the
/// file's room: version 1.10 crashes at the program's end after a write that failed.
class hdf5_writer {
public:
  /// `front` bytes before everything else are left to the caller.
  explicit hdf5_writer(output_file& file, std::size_t front = 0);
  void add_group(const std::string& path);
  /// A list of elements that are in memory as H5T_NATIVE_… says, and so in the file.
  void add_array(const std::string& path, hid_t type, const void* data, std::int64_t size);
  void add_attribute(const std::string& path, const std::string& name, const std::string& text);
  void add_attribute(const std::string& path, const std::string& name, std::uint64_t number);
  void close();

private:
  void require(bool good, const char* doing) const;
  void add_attribute(const std::string& path, const std::string& name, hid_t type,
                     const void* data);

  hdf5_session session_;
  hdf5_handle file_;
};

} // namespace lacuna::io

#endif
