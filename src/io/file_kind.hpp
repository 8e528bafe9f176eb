// Which format a file has: by its name's end or, where that says nothing, by its first bytes.
#pragma once

#include <span>
#include <string>

namespace lacuna::io {

enum class file_kind {
  unknown,
  matrix_market, ///< compressed or not
  npz,
  mat,
  binsparse,
  rutherford_boeing,
  archive ///< tar, compressed or not
};

file_kind kind_of_name(const std::string& path);
/// The same for a file to write: pipes and devices of no known ending get Matrix Market.
file_kind kind_to_write(const std::string& path);
file_kind kind_of_bytes(std::span<const char> file);
/// Whether there is a writer for it.
constexpr bool is_writable_kind(file_kind kind) {
  return kind == file_kind::matrix_market || kind == file_kind::npz || kind == file_kind::mat ||
         kind == file_kind::binsparse;
}
/// HDF5's signature, at the begin or behind the 512 bytes that MATLAB puts before it.
bool is_hdf5(std::span<const char> file);
/// "…/name.tar.gz" -> "name"
std::string archive_stem(const std::string& path);

/// For messages.
inline constexpr const char* readable_endings =
    ".mtx, .mtx.gz, .mtx.zst, .npz, .mat, .bsp.h5, .rb, .tar.gz";
inline constexpr const char* writable_endings = ".mtx, .mtx.gz, .mtx.zst, .npz, .mat, .bsp.h5";

} // namespace lacuna::io
