// Files of the test: where they are, what is expected of them, and scratch ones.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lacuna::test {

inline const std::filesystem::path data_folder = LACUNA_TEST_DATA;

// Whether this build has the libraries.
#ifdef LACUNA_HAS_ZLIB
constexpr bool has_zlib() { return true; }
#else
constexpr bool has_zlib() { return false; }
#endif
#ifdef LACUNA_HAS_ZSTD
constexpr bool has_zstd() { return true; }
#else
constexpr bool has_zstd() { return false; }
#endif
#ifdef LACUNA_HAS_BZIP2
constexpr bool has_bzip2() { return true; }
#else
constexpr bool has_bzip2() { return false; }
#endif
#ifdef LACUNA_HAS_HDF5
constexpr bool has_hdf5() { return true; }
#else
constexpr bool has_hdf5() { return false; }
#endif

/// Of Matrix Market files that this build can compress.
inline std::vector<std::string> packed_endings() {
  std::vector<std::string> result;
  if (has_zlib()) result.emplace_back(".mtx.gz");
  if (has_zstd()) result.emplace_back(".mtx.zst");
  return result;
}

/// The fields of each line of a .tsv file that is not a comment.
inline std::vector<std::vector<std::string>> read_table(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> result;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields(1);
    for (const char c : line)
      if (c == '\t')
        fields.emplace_back();
      else
        fields.back() += c;
    result.push_back(std::move(fields));
  }
  return result;
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder of its own for a test, removed at its end.
class scratch_folder {
public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lacuna-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    path_ = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  /// Writes a file and returns its name.
  [[nodiscard]] std::string with(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace lacuna::test
