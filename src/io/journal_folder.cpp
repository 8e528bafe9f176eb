#include "io/journal_folder.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/core/printable.hpp>

namespace lacuna::io {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw failed(fmt::format("cannot write {}: {}", printable(path), std::strerror(errno)));
}
void flush(int fd, const std::string& path) {
  // Some file systems cannot flush folders.
  if (::fsync(fd) != 0 && errno != EINVAL) fail(path);
}
/// "a/b/" and "a/b" are in "a".
std::string folder_above(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t slash = end == std::string::npos ? 0 : path.rfind('/', end);
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

} // namespace

descriptor_owner& descriptor_owner::operator=(descriptor_owner&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
descriptor_owner::~descriptor_owner() {
  if (fd_ >= 0) ::close(fd_);
}

journal_folder::journal_folder(const std::string& path, bool make) : path_(path) {
  if (make && ::mkdir(path.c_str(), 0777) == 0) {
    const descriptor_owner above(
        ::open(folder_above(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (above.get() >= 0) flush(above.get(), path);
  } else if (make && errno != EEXIST) {
    fail(path);
  }
  folder_ = descriptor_owner(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_.get() < 0)
    throw bad_input(fmt::format("no journal: {}", std::strerror(errno)), path, 0);
  if (!make && !has("log") && !has("checkpoint"))
    throw bad_input("no journal: it has neither a log nor a checkpoint", path, 0);
  lock_ = descriptor_owner(
      ::openat(folder_.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (lock_.get() < 0) fail(file("lock"));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail(file("lock"));
    throw failed(fmt::format("journal {} is in use: it is open in another process, or a second "
                             "time in this one",
                             printable(path)));
  }
}

bool journal_folder::has(const std::string& name) const {
  struct stat about {};
  return ::fstatat(folder_.get(), name.c_str(), &about, 0) == 0;
}

descriptor_owner journal_folder::open(const std::string& name) const {
  descriptor_owner opened(::openat(folder_.get(), name.c_str(), O_RDWR | O_CLOEXEC));
  if (opened.get() < 0) fail(file(name));
  return opened;
}

descriptor_owner journal_folder::replace(const std::string& name,
                                         std::initializer_list<std::span<const char>> parts) const {
  const std::string unfinished = name + ".new"; // one that a kill has left is overwritten
  const auto throw_reason = [&](int reason) {
    ::unlinkat(folder_.get(), unfinished.c_str(), 0);
    errno = reason;
    fail(file(name));
  };
  descriptor_owner made(::openat(folder_.get(), unfinished.c_str(),
                                 O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (made.get() < 0) fail(file(name));
  std::int64_t at = 0;
  for (const std::span<const char> part : parts) {
    const std::array filled = {part, filling(part.size())};
    if (const int reason = write_parts(made.get(), at, filled); reason != 0) throw_reason(reason);
    at += static_cast<std::int64_t>(part.size() + filled[1].size());
  }
  if (::fsync(made.get()) != 0 ||
      ::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) != 0)
    throw_reason(errno);
  flush(folder_.get(), path_);
  return made;
}

std::span<const char> filling(std::size_t bytes) {
  static constexpr char zeros[8] = {};
  return {zeros, (8 - bytes % 8) % 8};
}

int write_parts(int fd, std::int64_t offset, std::span<const std::span<const char>> parts) {
  std::array<iovec, 8> left{};
  int count = 0;
  for (const std::span<const char> part : parts)
    if (!part.empty())
      left.at(static_cast<std::size_t>(count++)) = {const_cast<char*>(part.data()), part.size()};
  for (iovec* next = left.data(); count > 0;) {
    const ssize_t done = ::pwritev(fd, next, count, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    offset += done;
    auto bytes = static_cast<std::size_t>(done);
    for (; count > 0 && bytes >= next->iov_len; ++next, --count) bytes -= next->iov_len;
    if (count > 0) {
      next->iov_base = static_cast<char*>(next->iov_base) + bytes;
      next->iov_len -= bytes;
    }
  }
  return 0;
}

} // namespace lacuna::io
