// Which format a file has: by its first bytes or, where they say nothing, by its name's end.
#pragma once

#include <span>
#include <string>

namespace lacuna::io {

enum class file_kind {
  unknown,
  matrix_market,
  npz,
  npy,
  mat,
  binsparse,
  rutherford_boeing,
  archive ///< tar
};

/// Text and archives may be compressed: their names may end in .gz, .zst or .bz2 besides.
file_kind kind_of_name(const std::string& path);
/// Of the first bytes of a file, decompressed; `unknown` unless they leave no doubt.
file_kind kind_of_bytes(std::span<const char> first);
/// Bytes that are enough for it.
inline constexpr std::size_t kind_bytes = 1024;
/// By the bytes, else by the name; a comment at the beginning makes Matrix Market of what has
/// neither.
file_kind kind_of(const std::string& path, std::span<const char> first);

/// What a file of this name is written as; `unknown` if there is no writer for it. Pipes and
/// devices of no known ending get Matrix Market.
file_kind kind_to_write(const std::string& path);
/// HDF5's signature, at the beginning or behind the 512 bytes that MATLAB puts before it.
bool is_hdf5(std::span<const char> file);
/// The header of a variable of MATLAB's version 4, which has no signature.
bool is_mat4(std::span<const char> file);
/// "…/name.tar.gz" -> "name"
std::string archive_stem(const std::string& path);

/// For messages.
inline constexpr const char* readable_endings =
    ".mtx, .npz, .npy, .mat, .bsp.h5, .rb, .tar, text and archives also with .gz, .zst or .bz2";
inline constexpr const char* writable_endings = ".mtx, .mtx.gz, .mtx.zst, .npz, .mat, .bsp.h5, .rb";

} // namespace lacuna::io
