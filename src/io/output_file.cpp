#include "io/output_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

/// Names of temporary files, for remove_unfinished_files. A slot is free while it is null. Names
/// are not freed while a signal handler may see them: a slot's name is taken out first.
constexpr int slots = 16;
std::atomic<const char*> unfinished[slots];

void remember(const char* name) {
  for (auto& slot : unfinished) {
    const char* expected = nullptr;
    if (slot.compare_exchange_strong(expected, name)) return;
  }
}
void forget(const char* name) {
  for (auto& slot : unfinished) {
    const char* expected = name;
    if (slot.compare_exchange_strong(expected, nullptr)) return;
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

mode_t default_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

} // namespace

output_file::output_file(const std::string& path) : path_(path) {
  if (path == "-") {
    fd_ = STDOUT_FILENO;
    return;
  }
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    // A pipe or a device such as /dev/stdout cannot be renamed over; a folder fails here.
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail("write");
    direct_ = true;
    return;
  }
  fd_ = ::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0) return;
  // NFS and other file systems without nameless files.
  temporary_ = fmt::format("{}.{}.XXXXXX", path.substr(0, path.rfind('/') + 1),
                           path.substr(path.rfind('/') + 1));
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) {
    temporary_.clear();
    fail("write");
  }
  remember(temporary_.c_str());
  ::fchmod(fd_, default_mode());
}

output_file::~output_file() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    forget(temporary_.c_str());
  }
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
}

void output_file::fail(const char* doing) const {
  throw failed(fmt::format("cannot {} {}: {}", doing, path_ == "-" ? "standard output" : path_,
                           std::strerror(errno)));
}

void output_file::write(std::string_view bytes) {
  if (!write_all(fd_, bytes)) fail("write");
  size_ += static_cast<std::int64_t>(bytes.size());
}

void output_file::write_at(std::int64_t position, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), position);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write");
    bytes.remove_prefix(static_cast<std::size_t>(done));
    position += done;
  }
}

std::string output_file::name_for_libraries() {
  if (direct_) return path_;
  if (temporary_.empty())
    put_name(); // HDF5 asks for the real path, which /proc/self/fd does not give
  return temporary_;
}

void output_file::put_name() {
  // linkat cannot replace a file, so the nameless file first gets a hidden name, then the real one.
  const std::string self = fmt::format("/proc/self/fd/{}", fd_);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = fmt::format("{}.{}.{}-{}", path_.substr(0, path_.rfind('/') + 1),
                                   path_.substr(path_.rfind('/') + 1), ::getpid(), attempt);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      remember(temporary_.c_str());
      return;
    }
    if (errno != EEXIST) break;
  }
  fail("write");
}

void output_file::commit() {
  if (path_ == "-" || direct_) return;
  if (::fsync(fd_) != 0) fail("write");
  if (temporary_.empty()) put_name();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write");
  forget(temporary_.c_str());
  temporary_.clear();
}

void remove_unfinished_files() noexcept {
  for (auto& slot : unfinished)
    if (const char* const name = slot.load()) ::unlink(name);
}

} // namespace lacuna::io
