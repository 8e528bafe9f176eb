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

std::vector<char> read_all(int fd, const std::string& path) {
  std::vector<char> all;
  std::size_t size = 0;
  while (true) {
    all.resize(std::max<std::size_t>(2 * size, 1 << 16));
    const ssize_t got = ::read(fd, all.data() + size, all.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  all.resize(size);
  return all;
}

} // namespace

mapped_file::mapped_file(const std::string& path) {
  const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(path);
  struct stat about {};
  if (::fstat(file.fd, &about) != 0) fail(path);
  if (S_ISREG(about.st_mode) && about.st_size > 0) {
    size_ = static_cast<std::size_t>(about.st_size);
    void* const p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (p != MAP_FAILED) {
      ::madvise(p, size_, MADV_SEQUENTIAL);
      data_ = static_cast<const char*>(p);
      mapped_ = true;
      return;
    }
  }
  copy_ = read_all(file.fd, path);
  data_ = copy_.data();
  size_ = copy_.size();
}

mapped_file::~mapped_file() {
  if (mapped_) ::munmap(const_cast<char*>(data_), size_);
}

void mapped_file::done_with(std::size_t begin, std::size_t end) const noexcept {
  if (!mapped_) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin < end) ::madvise(const_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

} // namespace lacuna::io
