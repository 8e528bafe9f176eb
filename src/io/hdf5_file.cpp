#ifdef LACUNA_HAS_HDF5

#include "io/hdf5_file.hpp"

#include <algorithm>
#include <algorithm>
#include <cstring>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "io/deflate.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

std::mutex library;

/// Chunks smaller than this are taken whatever their data: the library holds one at a time.
constexpr std::uint64_t small_chunk = std::uint64_t{1} << 26;

// The library would copy the file twice. It may keep its pointers to our bytes instead, for it
// writes nothing to a file that is opened for reading.
void* lend(std::size_t, H5FD_file_image_op_t, void* bytes) { return bytes; }
void* copy_nothing(void* to, const void*, std::size_t, H5FD_file_image_op_t, void*) { return to; }
void* refuse_to_grow(void*, std::size_t, H5FD_file_image_op_t, void*) { return nullptr; }
herr_t keep(void*, H5FD_file_image_op_t, void*) { return 0; }
void* same(void* bytes) { return bytes; }
herr_t keep_user_data(void*) { return 0; }

hdf5_handle open_image(bytes_view file) {
  const hdf5_handle access(H5Pcreate(H5P_FILE_ACCESS));
  void* bytes = const_cast<char*>(file.data());
  H5FD_file_image_callbacks_t callbacks{lend, copy_nothing,   refuse_to_grow, keep,
                                        same, keep_user_data, bytes};
  if (!access || H5Pset_fapl_core(access.id(), 1 << 16, false) < 0 ||
      H5Pset_file_image_callbacks(access.id(), &callbacks) < 0 ||
      H5Pset_file_image(access.id(), bytes, file.size()) < 0)
    return {};
  // Files of the same name would be taken for the same file.
  return hdf5_handle(H5Fopen(fmt::format("memory {}", bytes).c_str(), H5F_ACC_RDONLY, access.id()));
}

struct number_type {
  number type;
  bool swapped;
};

/// Integers and floating-point numbers of the usual sizes.
bool plain_type_of(hid_t id, number_type& result) {
  const struct {
    number type;
    hid_t little, big;
  } types[] = {{number::int8, H5T_STD_I8LE, H5T_STD_I8BE},
               {number::uint8, H5T_STD_U8LE, H5T_STD_U8BE},
               {number::int16, H5T_STD_I16LE, H5T_STD_I16BE},
               {number::uint16, H5T_STD_U16LE, H5T_STD_U16BE},
               {number::int32, H5T_STD_I32LE, H5T_STD_I32BE},
               {number::uint32, H5T_STD_U32LE, H5T_STD_U32BE},
               {number::int64, H5T_STD_I64LE, H5T_STD_I64BE},
               {number::uint64, H5T_STD_U64LE, H5T_STD_U64BE},
               {number::float32, H5T_IEEE_F32LE, H5T_IEEE_F32BE},
               {number::float64, H5T_IEEE_F64LE, H5T_IEEE_F64BE}};
  for (const auto& t : types)
    for (const bool swapped : {false, true})
      if (H5Tequal(id, swapped ? t.big : t.little) > 0) {
        result = {t.type, swapped};
        return true;
      }
  return false;
}

/// Also h5py's booleans, an enumeration of bytes, and complex numbers, a pair of reals.
bool type_of(hid_t id, number_type& result) {
  if (plain_type_of(id, result)) return true;
  const H5T_class_t type_class = H5Tget_class(id);
  if (type_class == H5T_ENUM) {
    const hdf5_handle base(H5Tget_super(id));
    if (!base || !plain_type_of(base.id(), result) || size_of(result.type) != 1) return false;
    result.type = number::boolean;
    return true;
  }
  if (type_class != H5T_COMPOUND || H5Tget_nmembers(id) != 2) return false;
  const hdf5_handle real(H5Tget_member_type(id, 0)), imaginary(H5Tget_member_type(id, 1));
  number_type other{};
  if (!real || !imaginary || !plain_type_of(real.id(), result) ||
      !plain_type_of(imaginary.id(), other))
    return false;
  const auto size = static_cast<std::size_t>(size_of(result.type));
  if (result.type != other.type || result.swapped != other.swapped ||
      field_of(result.type) != field::real || H5Tget_member_offset(id, 0) != 0 ||
      H5Tget_member_offset(id, 1) != size || H5Tget_size(id) != 2 * size)
    return false;
  result.type = result.type == number::float32 ? number::complex64 : number::complex128;
  return true;
}

} // namespace

pid_t fork_beside_hdf5() {
  const std::lock_guard lock(library); // nobody is inside the library, whose state is copied
  return ::fork();
}

hdf5_session::hdf5_session(const std::string& file) : lock_(library) {
  load_hdf5(file);
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}
hdf5_session::~hdf5_session() {
  H5Eclear2(H5E_DEFAULT);
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::string hdf5_session::reason() const {
  std::string result;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* e, void* to) -> herr_t {
        *static_cast<std::string*>(to) = e->desc == nullptr ? "" : e->desc;
        return 1; // the innermost is enough
      },
      &result);
  // The library adds addresses and the time to what the system said.
  constexpr std::string_view said = "error message = '";
  if (const auto at = result.find(said); at != std::string::npos) {
    result.erase(0, at + said.size());
    result.resize(std::min(result.find('\''), result.size()));
  }
  return result.empty() ? "unknown reason" : result;
}

hdf5_reader::hdf5_reader(bytes_view file, const std::string& name)
    : bytes_(file), name_(name), session_(name), file_(open_image(file)) {
  if (!file_) fail("the file does not open");
}

void hdf5_reader::fail(const std::string& what) const {
  throw_bad(fmt::format("HDF5: {} ({})", what, session_.reason()), name_);
}

hdf5_reader::kind hdf5_reader::kind_of(const std::string& path) const {
  if (path != "/") {
    // Each step must be a plain link: others may lead to other files or round in circles.
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string step = path.substr(0, end);
      H5L_info_t about;
      if (H5Lexists(file_.id(), step.c_str(), H5P_DEFAULT) <= 0 ||
          H5Lget_info(file_.id(), step.c_str(), &about, H5P_DEFAULT) < 0 ||
          about.type != H5L_TYPE_HARD)
        return kind::nothing;
      if (end == std::string::npos) break;
    }
  }
  const hdf5_handle object(H5Oopen(file_.id(), path.c_str(), H5P_DEFAULT));
  if (!object) fail(path + " does not open");
  switch (H5Iget_type(object.id())) {
  case H5I_GROUP: return kind::group;
  case H5I_DATASET: return kind::array;
  default: return kind::nothing;
  }
}

hdf5_handle hdf5_reader::open(const std::string& path) const {
  if (kind_of(path) == kind::nothing) throw_bad("HDF5: there is no " + path, name_);
  return hdf5_handle(H5Oopen(file_.id(), path.c_str(), H5P_DEFAULT));
}

std::vector<std::string> hdf5_reader::names_in(const std::string& group) const {
  const hdf5_handle g = open(group);
  H5G_info_t about;
  if (H5Gget_info(g.id(), &about) < 0) fail(group + " is not a group");
  std::vector<std::string> result;
  for (hsize_t k = 0; k < std::min<hsize_t>(about.nlinks, 4096); ++k) {
    char text[1024];
    const ssize_t length = H5Lget_name_by_idx(g.id(), ".", H5_INDEX_NAME, H5_ITER_INC, k, text,
                                              sizeof text, H5P_DEFAULT);
    if (length < 0) fail("the list of " + group + " is damaged");
    if (static_cast<std::size_t>(length) < sizeof text) result.emplace_back(text);
  }
  return result;
}

hdf5_array hdf5_reader::read(const host_context& ctx, const std::string& path) const {
  const hdf5_handle set = open(path);
  if (H5Iget_type(set.id()) != H5I_DATASET) throw_bad("HDF5: " + path + " is no array", name_);
  const hdf5_handle space(H5Dget_space(set.id())), type(H5Dget_type(set.id())),
      creation(H5Dget_create_plist(set.id()));
  if (!space || !type || !creation) fail(path + " is damaged");
  number_type numbers{};
  if (!type_of(type.id(), numbers))
    throw unsupported("HDF5: the elements of " + path + " are not numbers", name_, 0);

  hdf5_array result;
  hsize_t dimensions[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank < 0 || H5Sget_simple_extent_dims(space.id(), dimensions, nullptr) < 0)
    fail(path + " is damaged");
  std::int64_t size = H5Sget_simple_extent_type(space.id()) == H5S_NULL ? 0 : 1;
  for (int k = 0; k < rank; ++k) {
    if (dimensions[k] > INT64_MAX) fail(path + " has a dimension beyond 2^63");
    result.shape.push_back(static_cast<std::int64_t>(dimensions[k]));
    if (dimensions[k] == 0) size = 0;
  }
  if (size != 0)
    for (const std::int64_t n : result.shape) size = product(size, n, name_);
  const auto bytes = static_cast<std::uint64_t>(product(size, size_of(numbers.type), name_));
  result.numbers = {path.substr(1), nullptr, size, numbers.type, numbers.swapped, {}};
  if (size == 0) return result;

  const H5D_layout_t layout = H5Pget_layout(creation.id());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.id()) != 0)
    throw unsupported("HDF5: " + path + " is spread over several files", name_, 0);
  if (layout == H5D_CONTIGUOUS) {
    const haddr_t at = H5Dget_offset(set.id());
    if (at == HADDR_UNDEF || at > bytes_.size() || bytes > bytes_.size() - at)
      throw_bad(fmt::format("HDF5: {} has {} bytes, the file not so many", path, bytes), name_);
    result.numbers.data = bytes_.data() + at;
    return result;
  }
  const std::uint64_t stored =
      std::min<std::uint64_t>(H5Dget_storage_size(set.id()), bytes_.size());
  // Compact arrays stand in the header as they are; the library would read past them.
  if (layout == H5D_COMPACT ? bytes > stored : bytes / most_inflated > stored)
    throw_bad(fmt::format("HDF5: {} has {} bytes, which {} compressed ones cannot become", path,
                          bytes, stored),
              name_);
  if (layout == H5D_CHUNKED) {
    hsize_t chunk[H5S_MAX_RANK];
    if (H5Pget_chunk(creation.id(), rank, chunk) != rank) fail(path + " is damaged");
    std::uint64_t chunk_bytes = static_cast<std::uint64_t>(size_of(numbers.type));
    for (int k = 0; k < rank; ++k)
      if (__builtin_mul_overflow(chunk_bytes, chunk[k], &chunk_bytes))
        throw_bad("HDF5: the chunks of " + path + " are too large", name_);
    if (chunk_bytes > small_chunk && chunk_bytes / most_inflated > stored)
      throw_bad("HDF5: the chunks of " + path + " are too large", name_);
  }
  result.numbers.owned = array<char>(ctx, static_cast<std::int64_t>(bytes));
  result.numbers.data = result.numbers.owned.data();
  if (H5Dread(set.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, result.numbers.owned.data()) < 0)
    fail(path + " cannot be read");
  return result;
}

/// One element of the class that is asked for; nothing if there is no such attribute.
std::optional<hdf5_reader::attribute> hdf5_reader::open_attribute(const std::string& path,
                                                                  const std::string& name,
                                                                  H5T_class_t wanted) const {
  const hdf5_handle object = open(path);
  if (H5Aexists(object.id(), name.c_str()) <= 0) return {};
  attribute result{hdf5_handle(H5Aopen(object.id(), name.c_str(), H5P_DEFAULT)), {}};
  if (!result.value) fail_attribute(path, name);
  result.type = hdf5_handle(H5Aget_type(result.value.id()));
  const hdf5_handle space(H5Aget_space(result.value.id()));
  if (!result.type || !space) fail_attribute(path, name);
  if (H5Tget_class(result.type.id()) != wanted || H5Sget_simple_extent_npoints(space.id()) != 1)
    return {};
  return result;
}

void hdf5_reader::fail_attribute(const std::string& path, const std::string& name) const {
  fail("attribute " + name + " of " + path + " is damaged");
}

std::optional<std::string> hdf5_reader::text_attribute(const std::string& path,
                                                       const std::string& name) const {
  const auto a = open_attribute(path, name, H5T_STRING);
  if (!a) return {};
  if (H5Tis_variable_str(a->type.id()) > 0) {
    const hdf5_handle character(H5Tget_super(a->type.id()));
    if (!character || H5Tget_size(character.id()) != 1) fail_attribute(path, name);
    char* text = nullptr;
    if (H5Aread(a->value.id(), a->type.id(), &text) < 0) fail_attribute(path, name);
    std::string result = text == nullptr ? "" : text;
    H5free_memory(text);
    return result;
  }
  const std::size_t size = H5Tget_size(a->type.id());
  if (size == 0 || size > bytes_.size()) fail_attribute(path, name);
  std::string result(size, '\0');
  if (H5Aread(a->value.id(), a->type.id(), result.data()) < 0) fail_attribute(path, name);
  result.resize(std::strlen(result.c_str()));
  return result;
}

std::optional<std::int64_t> hdf5_reader::integer_attribute(const std::string& path,
                                                           const std::string& name) const {
  const auto a = open_attribute(path, name, H5T_INTEGER);
  if (!a) return {};
  std::int64_t result = 0; // the library makes 2^63 - 1 of what does not fit
  if (H5Aread(a->value.id(), H5T_NATIVE_INT64, &result) < 0) fail_attribute(path, name);
  return result;
}

hdf5_writer::hdf5_writer(output_file& file, std::size_t front) : session_(file.path()) {
  const std::string name = file.name_for_libraries();
  file.reserve(1 << 16); // creating writes some bytes
  const hdf5_handle creation(H5Pcreate(H5P_FILE_CREATE));
  require(creation && H5Pset_userblock(creation.id(), front) >= 0, "prepare the file");
  file_ = hdf5_handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.id(), H5P_DEFAULT));
  require(static_cast<bool>(file_), "create the file");
}

void hdf5_writer::require(bool good, const char* doing) const {
  if (!good) throw failed(fmt::format("HDF5 cannot {}: {}", doing, session_.reason()));
}

void hdf5_writer::add_group(const std::string& path) {
  const hdf5_handle group(
      H5Gcreate2(file_.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  require(static_cast<bool>(group), "create a group");
}

void hdf5_writer::add_array(const std::string& path, hid_t type, const void* data,
                            std::int64_t size) {
  const auto extent = static_cast<hsize_t>(size);
  const hdf5_handle space(H5Screate_simple(1, &extent, nullptr));
  const hdf5_handle set(H5Dcreate2(file_.id(), path.c_str(), type, space.id(), H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT));
  require(static_cast<bool>(set), "create an array");
  if (size > 0)
    require(H5Dwrite(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "write an array");
}

void hdf5_writer::add_attribute(const std::string& path, const std::string& name, hid_t type,
                                const void* data) {
  const hdf5_handle object(H5Oopen(file_.id(), path.c_str(), H5P_DEFAULT));
  const hdf5_handle space(H5Screate(H5S_SCALAR));
  const hdf5_handle attribute(
      H5Acreate2(object.id(), name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT));
  require(attribute && H5Awrite(attribute.id(), type, data) >= 0, "write an attribute");
}
void hdf5_writer::add_attribute(const std::string& path, const std::string& name,
                                const std::string& text) {
  const hdf5_handle type(H5Tcopy(H5T_C_S1));
  require(type && H5Tset_size(type.id(), std::max<std::size_t>(text.size(), 1)) >= 0,
          "make a text type");
  add_attribute(path, name, type.id(), text.data());
}
void hdf5_writer::add_attribute(const std::string& path, const std::string& name,
                                std::uint64_t number) {
  add_attribute(path, name, H5T_NATIVE_UINT64, &number);
}

void hdf5_writer::close() {
  require(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) >= 0, "write the file");
  file_ = {};
}

} // namespace lacuna::io

#endif
