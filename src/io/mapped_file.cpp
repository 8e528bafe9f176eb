#include "io/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

struct descriptor {
  int fd;
  ~descriptor() { ::close(fd); }
};

[[noreturn]] void fail(const std::string& path) {
  throw bad_input(std::string("cannot read: ") + std::strerror(errno), path, 0);
}

} // namespace

bool mapped_file::can_map(const std::string& path) noexcept {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
}

mapped_file::mapped_file(const std::string& path) {
  const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(path);
  struct stat about {};
  if (::fstat(file.fd, &about) != 0) fail(path);
  size_ = static_cast<std::size_t>(about.st_size);
  if (size_ == 0) return;
  void* const p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (p == MAP_FAILED) fail(path);
  ::madvise(p, size_, MADV_SEQUENTIAL);
  data_ = static_cast<const char*>(p);
}

mapped_file::~mapped_file() {
  if (size_ > 0) ::munmap(const_cast<char*>(data_), size_);
}

void mapped_file::done_with(std::size_t begin, std::size_t end) const noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end) ::madvise(const_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

} // namespace lacuna::io
