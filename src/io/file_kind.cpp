#include "io/file_kind.hpp"

#include <algorithm>
#include <string_view>

#include "io/output_file.hpp"
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

} // namespace

file_kind kind_of_name(const std::string& path) {
  const std::string name = lower_case(path);
  if (name == "-" || ends_with_any(name, {".mtx", ".mtx.gz", ".mtx.zst", ".mm", ".mm.gz"}))
    return file_kind::matrix_market;
  if (name.ends_with(".npz")) return file_kind::npz;
  if (name.ends_with(".mat")) return file_kind::mat;
  if (ends_with_any(name, {".bsp.h5", ".h5", ".hdf5"})) return file_kind::binsparse;
  if (ends_with_any(name, {".tar.gz", ".tgz", ".tar", ".tar.zst"})) return file_kind::archive;
  if (is_rutherford_boeing_name(name)) return file_kind::rutherford_boeing;
  return file_kind::unknown;
}

file_kind kind_to_write(const std::string& path) {
  const file_kind named = kind_of_name(path);
  return named == file_kind::unknown && is_pipe_or_device(path) ? file_kind::matrix_market : named;
}

bool is_hdf5(std::span<const char> file) {
  constexpr std::string_view magic("\x89HDF\r\n\x1a\n", 8);
  const std::string_view all(file.data(), file.size());
  return all.starts_with(magic) || (all.size() > 520 && all.substr(512).starts_with(magic));
}

file_kind kind_of_bytes(std::span<const char> file) {
  const std::string_view all(file.data(), file.size());
  if (all.starts_with("PK\x03\x04")) return file_kind::npz;
  if (all.starts_with("MATLAB")) return file_kind::mat;
  if (is_hdf5(file)) return file_kind::binsparse;
  // Text that begins with a comment, or text compressed.
  const auto first = all.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && all[first] == '%') return file_kind::matrix_market;
  if (all.starts_with("\x1f\x8b") || all.starts_with("\x28\xb5\x2f\xfd"))
    return file_kind::matrix_market;
  return file_kind::unknown;
}

std::string archive_stem(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const char* ending : {".tar.gz", ".tgz", ".tar.zst", ".tar"})
    if (lower_case(name).ends_with(ending))
      return name.substr(0, name.size() - std::string_view(ending).size());
  return name;
}

} // namespace lacuna::io
