#include "io/file_kind.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "io/output_file.hpp"
#include "io/tar.hpp"
#include "io/text.hpp"

namespace lacuna::io {
namespace {

bool ends_with_any(const std::string& path, std::initializer_list<const char*> endings) {
  return std::ranges::any_of(endings, [&](const char* e) { return path.ends_with(e); });
}

/// .rb, or a type of Harwell-Boeing's as an ending: .rua, .psa
bool is_rutherford_boeing_name(const std::string& path) {
  if (path.ends_with(".rb") || path.ends_with(".hb")) return true;
  const auto dot = path.rfind('.');
  if (dot == std::string::npos || path.size() - dot != 4) return false;
  const auto is_one_of = [&](std::size_t k, std::string_view letters) {
    return letters.find(path[dot + k]) != std::string_view::npos;
  };
  return is_one_of(1, "rpicq") && is_one_of(2, "suhzr") && is_one_of(3, "ae");
}

/// Takes .gz, .zst or .bz2 off a name; whether there was one.
bool strip_packing(std::string& name) {
  for (const char* ending : {".gz", ".zst", ".bz2"})
    if (name.ends_with(ending)) {
      name.resize(name.size() - std::string_view(ending).size());
      return true;
    }
  return false;
}

std::uint32_t word_at(std::span<const char> file, std::size_t at, bool swapped) {
  std::uint32_t w;
  std::memcpy(&w, file.data() + at, sizeof w);
  return swapped ? __builtin_bswap32(w) : w;
}

/// From the first byte that is not blank or a byte order mark.
std::string_view first_words(std::span<const char> file) {
  const std::string_view all(file.data(), file.size());
  return all.substr(std::min(all.find_first_not_of(" \t\r\n\xef\xbb\xbf"), all.size()));
}

} // namespace

file_kind kind_of_name(const std::string& path) {
  std::string name = lower_case(path);
  if (ends_with_any(name, {".tgz", ".tbz2"})) return file_kind::archive;
  const bool packed = strip_packing(name);
  if (name == "-" || ends_with_any(name, {".mtx", ".mm"})) return file_kind::matrix_market;
  if (name.ends_with(".tar")) return file_kind::archive;
  if (is_rutherford_boeing_name(name)) return file_kind::rutherford_boeing;
  if (packed) return file_kind::unknown;
  if (name.ends_with(".npz")) return file_kind::npz;
  if (name.ends_with(".npy")) return file_kind::npy;
  if (name.ends_with(".mat")) return file_kind::mat;
  if (ends_with_any(name, {".bsp.h5", ".h5", ".hdf5"})) return file_kind::binsparse;
  return file_kind::unknown;
}

file_kind kind_to_write(const std::string& path) {
  const std::string name = lower_case(path);
  const file_kind named = kind_of_name(path);
  switch (named) {
  case file_kind::matrix_market: return name.ends_with(".bz2") ? file_kind::unknown : named;
  case file_kind::rutherford_boeing: return name.ends_with(".rb") ? named : file_kind::unknown;
  case file_kind::npz:
  case file_kind::mat:
  case file_kind::binsparse: return named;
  case file_kind::unknown:
    return is_pipe_or_device(path) ? file_kind::matrix_market : file_kind::unknown;
  default: return file_kind::unknown;
  }
}

bool is_hdf5(std::span<const char> file) {
  constexpr std::string_view magic("\x89HDF\r\n\x1a\n", 8);
  const std::string_view all(file.data(), file.size());
  return all.starts_with(magic) || (all.size() > 520 && all.substr(512).starts_with(magic));
}

bool is_mat4(std::span<const char> file) {
  if (file.size() < 22) return false;
  const bool swapped = word_at(file, 0, false) >= 5000;
  const std::uint32_t type = word_at(file, 0, swapped), name = word_at(file, 16, swapped);
  // Thousands: the machine (0: this one's byte order, 1: the other); tens: the number type; ones:
  // full, text or sparse.
  if (type / 1000 != (swapped ? 1U : 0U) || type / 100 % 10 != 0 || type / 10 % 10 > 5 ||
      type % 10 > 2)
    return false;
  if (word_at(file, 12, swapped) > 1 || name < 2 || name > 64 || 20 + name > file.size())
    return false;
  const std::string_view text(file.data() + 20, name);
  return text.find('\0') == name - 1 && ((text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'z');
}

file_kind kind_of_bytes(std::span<const char> first) {
  const std::string_view all(first.data(), first.size());
  if (all.starts_with("PK\x03\x04")) return file_kind::npz;
  if (all.starts_with("\x93NUMPY")) return file_kind::npy;
  if (all.starts_with("MATLAB")) return file_kind::mat;
  if (is_hdf5(first)) return file_kind::binsparse;
  if (is_tar(first)) return file_kind::archive;
  if (is_mat4(first)) return file_kind::mat;
  const std::string word = lower_case(first_words(first).substr(0, 14));
  if (word.starts_with("%%matrixmarket") || word.starts_with("%matrixmarket"))
    return file_kind::matrix_market;
  return file_kind::unknown;
}

file_kind kind_of(const std::string& path, std::span<const char> first) {
  const file_kind by_name = kind_of_name(path), by_bytes = kind_of_bytes(first);
  // Files of MATLAB 7.3 need not begin with its words.
  if (by_bytes == file_kind::binsparse && by_name == file_kind::mat) return by_name;
  if (by_bytes != file_kind::unknown) return by_bytes;
  if (by_name == file_kind::unknown && first_words(first).starts_with('%'))
    return file_kind::matrix_market;
  return by_name;
}

std::string archive_stem(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string lower = lower_case(name);
  strip_packing(lower);
  for (const char* ending : {".tar", ".tgz", ".tbz2"})
    if (lower.ends_with(ending))
      return name.substr(0, lower.size() - std::string_view(ending).size());
  return name.substr(0, lower.size());
}

} // namespace lacuna::io
