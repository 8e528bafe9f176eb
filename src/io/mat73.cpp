// MATLAB files of version 7.3: HDF5. A sparse matrix is a group with the attribute MATLAB_sparse,
// its number of rows, and arrays ir, jc and data; a full one is an array with its dimensions
// reversed; a struct is a group of its fields.
#include "io/formats.hpp"
#include "io/hdf5_remote.hpp"
#include <lacuna/core/error.hpp>

#ifdef LACUNA_HAS_HDF5
#include <algorithm>

#include <fmt/format.h>
#endif

namespace lacuna::io {

#ifdef LACUNA_HAS_HDF5

namespace {

using kind = hdf5_remote::kind;

bool is_sparse(const hdf5_remote& file, const std::string& path) {
  return file.kind_of(path) == kind::group &&
         file.integer_attribute(path, "MATLAB_sparse").has_value();
}
bool is_numeric(const hdf5_remote& file, const std::string& path) {
  static constexpr const char* classes[] = {"double", "single", "logical", "int8",
                                            "uint8",  "int16",  "uint16",  "int32",
                                            "uint32", "int64",  "uint64"};
  if (file.kind_of(path) != kind::array) return false;
  const auto name = file.text_attribute(path, "MATLAB_class");
  return !name || std::find(std::begin(classes), std::end(classes), *name) != std::end(classes);
}

/// The path of the matrix that is asked for ("variable" or "variable.field"); else of the first
/// sparse one, SuiteSparse's Problem.A, or the first full one.
std::string choose(const hdf5_remote& file, std::string wanted, const std::string& name) {
  const auto is_struct = [&](const std::string& path) {
    return file.kind_of(path) == kind::group && !is_sparse(file, path);
  };
  if (!wanted.empty()) {
    std::replace(wanted.begin(), wanted.end(), '.', '/');
    std::string path = "/" + wanted;
    if (is_struct(path)) path += "/A";
    if (file.kind_of(path) == kind::nothing)
      throw_bad("there is no variable " + path.substr(1), name);
    return path;
  }
  std::vector<std::string> names = file.names_in("/");
  std::erase_if(names, [](const std::string& n) { return n.starts_with('#'); }); // MATLAB's own
  for (const std::string& n : names)
    if (is_sparse(file, "/" + n)) return "/" + n;
  if (file.kind_of("/Problem") == kind::group && file.kind_of("/Problem/A") != kind::nothing)
    return "/Problem/A";
  for (const std::string& n : names)
    if (is_numeric(file, "/" + n)) return "/" + n;
  throw_bad("there is no numeric matrix in the file", name);
}

/// Which variable or field it is, and the names of the others.
void tell_members(const hdf5_remote& file, const std::string& path, file_info& about) {
  const auto dotted = [](std::string p) {
    p.erase(0, 1);
    std::replace(p.begin(), p.end(), '/', '.');
    return p;
  };
  about.member = dotted(path);
  std::string group = "/";
  while (true) {
    const std::size_t end = path.find('/', group.size() + 1);
    const std::string step = path.substr(0, end); // to the matrix
    for (const std::string& n : file.names_in(group)) {
      const std::string other = group == "/" ? "/" + n : group + "/" + n;
      if (other != step && !n.starts_with('#')) about.others.push_back(dotted(other));
    }
    if (end == std::string::npos) return;
    group = step;
  }
}

raw_array list(hdf5_array a, const std::string& name) {
  std::int64_t longest = 1;
  for (const std::int64_t n : a.shape) longest = std::max(longest, n);
  if (a.numbers.size > longest) throw_bad(a.numbers.what + " is not a list", name);
  return std::move(a.numbers);
}

template <class T>
file_triplets<T> read_sparse(const host_context& ctx, const hdf5_remote& file,
                             const std::string& path, file_info about,
                             const read_options& options) {
  const raw_array jc = list(file.read(ctx, path + "/jc"), about.file);
  about.rows = *file.integer_attribute(path, "MATLAB_sparse");
  about.cols = jc.size - 1;
  if (about.rows < 0 || about.cols < 0)
    throw_bad(fmt::format("{} has a shape of {} x {}", path.substr(1), about.rows, about.cols),
              about.file);
  raw_array ir{path.substr(1) + "/ir", nullptr, 0, number::uint64, false, {}}, data;
  if (file.kind_of(path + "/ir") != kind::nothing) { // a matrix without entries has none
    ir = list(file.read(ctx, path + "/ir"), about.file);
    data = list(file.read(ctx, path + "/data"), about.file);
  }
  if (file.text_attribute(path, "MATLAB_class") == "logical" && size_of(data.type) == 1)
    data.type = number::boolean;
  about.format = "MATLAB 7.3 sparse";
  about.values = field_of(data.type);
  auto values = values_of<T>(ctx, data, options.complex, about.file);
  return from_compressed<T>(ctx, std::move(about), major::column, jc, ir, std::move(values));
}

template <class T>
file_triplets<T> read_full(const host_context& ctx, const hdf5_remote& file,
                           const std::string& path, file_info about, const read_options& options) {
  hdf5_array a = file.read(ctx, path);
  about.format = "MATLAB 7.3 full";
  about.values = field_of(a.numbers.type);
  // An empty matrix is stored as the list of its dimensions.
  if (file.integer_attribute(path, "MATLAB_empty").value_or(0) != 0) {
    if (a.numbers.size != 2) throw unsupported(path.substr(1) + " is not a matrix", about.file, 0);
    about.rows = integer_at(a.numbers, 0, about.file);
    about.cols = integer_at(a.numbers, 1, about.file);
    a.numbers.size = 0;
  } else {
    if (a.shape.size() != 2)
      throw unsupported(fmt::format("{} has {} dimensions", path.substr(1), a.shape.size()),
                        about.file, 0);
    about.rows = a.shape[1];
    about.cols = a.shape[0];
  }
  if (about.rows < 0 || about.cols < 0)
    throw_bad(fmt::format("{} has a shape of {} x {}", path.substr(1), about.rows, about.cols),
              about.file);
  if (file.text_attribute(path, "MATLAB_class") == "logical" && size_of(a.numbers.type) == 1)
    a.numbers.type = number::boolean;
  auto values = values_of<T>(ctx, a.numbers, options.complex, about.file);
  return from_dense<T>(ctx, std::move(about), major::column, std::move(values));
}

} // namespace

template <class T>
file_triplets<T> read_mat73(const host_context& ctx, bytes_view file, const std::string& name,
                            const read_options& options) {
  const hdf5_remote reader(file, name);
  const std::string path = choose(reader, options.member, name);
  file_info about;
  about.file = name;
  tell_members(reader, path, about);
  if (is_sparse(reader, path)) return read_sparse<T>(ctx, reader, path, std::move(about), options);
  if (!is_numeric(reader, path))
    throw unsupported(path.substr(1) + " is not a numeric matrix", name, 0);
  return read_full<T>(ctx, reader, path, std::move(about), options);
}

#else

template <class T>
file_triplets<T> read_mat73(const host_context&, bytes_view, const std::string& name,
                            const read_options&) {
  throw unsupported("MATLAB 7.3 needs HDF5, which this build lacks: install libhdf5-dev and build "
                    "again",
                    name, 0);
}

#endif

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_mat73(const host_context&, bytes_view, const std::string&,        \
                                       const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
