// Arrays that go to SciPy's process and come back, as files of bare numbers.
#pragma once

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <unistd.h>

#include <lacuna/format/csr.hpp>

#include "bench/peers/scipy.hpp"

namespace lacuna::bench {

/// One Python for both precisions.
inline std::shared_ptr<scipy> shared_python() {
  static const auto python = std::make_shared<scipy>();
  return python;
}

/// The path that files of one exchange begin with; they are gone at the end.
class exchange {
public:
  exchange()
      : path_((std::filesystem::temp_directory_path() / fmt::format("lacuna-bench-{}", ::getpid()))
                  .string()) {}
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange() {
    std::error_code ignored;
    for (const char* end : {".rowptr", ".rowind", ".colind", ".values", ".x", ".y"})
      std::filesystem::remove(path_ + end, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  template <class T> void write(const char* end, const T* data, std::int64_t size) const {
    std::ofstream file(path_ + end, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data), size * std::int64_t{sizeof(T)});
    if (!file.flush()) throw bad_input("cannot write " + path_ + end);
  }
  template <class T> void write(csr_view<const T> a) const {
    write(".rowptr", a.rowptr().data(), a.rowptr().size());
    write(".colind", a.colind().data(), a.size());
    write(".values", a.values().data(), a.size());
  }
  template <class T> void read(const char* end, T* data, std::int64_t size) const {
    std::ifstream file(path_ + end, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(data), size * std::int64_t{sizeof(T)}))
      throw bad_input("cannot read " + path_ + end);
  }

private:
  std::string path_;
};

} // namespace lacuna::bench
