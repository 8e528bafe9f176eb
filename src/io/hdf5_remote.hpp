// hdf5_reader in a process of its own. HDF5 trusts its files: damaged ones make it crash or run for
// ever. Then only that process ends, and the file is bad_input.
#pragma once

#ifdef LACUNA_HAS_HDF5

#include <sys/types.h>

#include "io/hdf5_file.hpp"

namespace lacuna::io {

/// What hdf5_reader has, with the same meaning.
class hdf5_remote {
public:
  hdf5_remote(bytes_view file, const std::string& name);

  using kind = hdf5_reader::kind;
  [[nodiscard]] kind kind_of(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> names_in(const std::string& group) const;
  [[nodiscard]] hdf5_array read(const host_context& ctx, const std::string& path) const;
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& path,
                                                          const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> integer_attribute(const std::string& path,
                                                              const std::string& name) const;

private:
  /// The other process and the socket to it; ends the one and closes the other.
  struct child {
    child() = default;
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child();
    pid_t process = -1;
    int socket = -1;
  };

  [[noreturn]] void throw_ended() const;
  void ask(std::int64_t what, const std::string& path, const std::string& name) const;
  void get(void* to, std::size_t size) const;
  [[nodiscard]] std::int64_t get_number() const;
  [[nodiscard]] std::string get_text() const;
  void get_outcome() const;

  bytes_view bytes_;
  const std::string& name_;
  child child_;
};

} // namespace lacuna::io

#endif
