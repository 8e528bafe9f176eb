#include "io/output_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>
#include <lacuna/core/printable.hpp>

namespace lacuna::io {
namespace {

/// With the slash; "" for the current one.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

[[noreturn]] void throw_unwritable(const std::string& path, int reason) {
  throw failed(fmt::format("cannot write {}: {}", path == "-" ? "standard output" : printable(path),
                           std::strerror(reason)));
}

/// Where a chain of links ends; what it names need not exist.
std::string follow_links(const std::string& path) {
  std::string name = path;
  for (int links = 0; links < 40; ++links) {
    std::string target(4096, '\0');
    const ssize_t size = ::readlink(name.c_str(), target.data(), target.size());
    if (size < 0) return name; // no link
    target.resize(static_cast<std::size_t>(size));
    name = target.starts_with('/') ? target : folder_of(name) + target;
  }
  throw_unwritable(path, ELOOP);
}

bool is_writable(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

/// Whether a new file of its name can be all that the old one was.
bool is_replaceable(const std::string& path, const struct stat& old) {
  return old.st_nlink == 1 && ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) <= 0;
}

bool give_owner_and_mode(int fd, const struct stat& old) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return false;
  const bool same = now.st_uid == old.st_uid && now.st_gid == old.st_gid;
  return (same || ::fchown(fd, old.st_uid, old.st_gid) == 0) &&
         ::fchmod(fd, old.st_mode & 07777) == 0;
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

output_file::output_file(const std::string& path, access how) : path_(path) {
  if (path == "-") {
    fd_ = STDOUT_FILENO;
    return;
  }
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail();
  if (exists && !S_ISREG(old.st_mode) && (how == access::in_order || S_ISDIR(old.st_mode))) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail();
    return;
  }
  target_ = follow_links(path);
  if (exists && !is_writable(target_)) fail();
  const bool regular = !exists || S_ISREG(old.st_mode);
  end_ = !exists || (regular && is_replaceable(target_, old)) ? ending::rename : ending::copy;
  if (!(regular && open_temporary(folder_of(target_)))) {
    if (!exists) fail();
    end_ = ending::copy;
    if (!open_temporary(std::filesystem::temp_directory_path() / "")) fail();
  }
  if (exists && end_ == ending::rename && !give_owner_and_mode(fd_, old)) end_ = ending::copy;
}

bool output_file::open_temporary(const std::string& folder) {
  stem_ = folder + "." + name_of(target_);
  fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0) return true;
  // NFS and other file systems without nameless files.
  temporary_ = stem_ + ".XXXXXX";
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) {
    temporary_.clear();
    return false;
  }
  remember(temporary_.c_str());
  ::fchmod(fd_, default_mode());
  return true;
}

output_file::~output_file() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    forget(temporary_.c_str());
  }
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
}

void output_file::fail() const { throw_unwritable(path_, errno); }

void output_file::write(std::string_view bytes) {
  if (!write_all(fd_, bytes)) fail();
  size_ += static_cast<std::int64_t>(bytes.size());
}

void output_file::write_at(std::int64_t position, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), position);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail();
    bytes.remove_prefix(static_cast<std::size_t>(done));
    position += done;
  }
}

void output_file::reserve(std::int64_t bytes) {
  rlimit most{};
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
      most.rlim_cur < static_cast<rlim_t>(bytes)) {
    errno = EFBIG;
    fail();
  }
  if (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS && errno != EINVAL)
    fail();
}

std::string output_file::name_for_libraries() {
  if (temporary_.empty())
    put_name(); // HDF5 asks for the real path, which /proc/self/fd does not give
  return temporary_;
}

void output_file::put_name() {
  // linkat cannot replace a file, so the nameless file first gets a hidden name, then the real one.
  const std::string self = fmt::format("/proc/self/fd/{}", fd_);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = fmt::format("{}.{}-{}", stem_, ::getpid(), attempt);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      remember(temporary_.c_str());
      return;
    }
    if (errno != EEXIST) break;
  }
  fail();
}

void output_file::copy_to_target() const {
  const int to = ::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (to < 0) fail();
  std::vector<char> buffer(1U << 20U);
  bool good = true;
  for (off_t at = 0; good;) {
    const ssize_t got = ::pread(fd_, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    good = got >= 0 && write_all(to, {buffer.data(), static_cast<std::size_t>(got)});
    if (got <= 0) break;
    at += got;
  }
  // Pipes and devices cannot be flushed to disk.
  if (good && ::fsync(to) != 0 && errno != EINVAL && errno != EROFS) good = false;
  const int reason = errno;
  ::close(to);
  if (!good) throw_unwritable(path_, reason);
}

void output_file::commit() {
  if (end_ == ending::stay) return;
  struct stat about {}; // what was reserved and not used goes back
  if (::fstat(fd_, &about) != 0 || ::ftruncate(fd_, about.st_size) != 0) fail();
  if (end_ == ending::copy) return copy_to_target();
  if (::fsync(fd_) != 0) fail();
  if (temporary_.empty()) put_name();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  forget(temporary_.c_str());
  temporary_.clear();
}

void require_writable(const std::string& path) {
  struct stat about {};
  if (path == "-") return;
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    // Not opened: a pipe's reader would take that for the end.
    if (S_ISDIR(about.st_mode)) throw_unwritable(path, EISDIR);
    if (!is_writable(path)) throw_unwritable(path, errno);
    return;
  }
  const output_file probe(path);
}

bool is_same_output(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  struct stat one {
  }, other{};
  const auto same = [&] { return one.st_dev == other.st_dev && one.st_ino == other.st_ino; };
  const bool has_a = ::stat(a.c_str(), &one) == 0, has_b = ::stat(b.c_str(), &other) == 0;
  if (has_a && has_b) return same() && !S_ISCHR(one.st_mode);
  if (has_a || has_b) return false;
  const std::string to_a = follow_links(a), to_b = follow_links(b);
  const auto folder = [](const std::string& path) { return folder_of(path) + "."; };
  return name_of(to_a) == name_of(to_b) && ::stat(folder(to_a).c_str(), &one) == 0 &&
         ::stat(folder(to_b).c_str(), &other) == 0 && same();
}

bool is_pipe_or_device(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

void remove_unfinished_files() noexcept {
  for (auto& slot : unfinished)
    if (const char* const name = slot.load()) ::unlink(name);
}

} // namespace lacuna::io
