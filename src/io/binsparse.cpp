// Binsparse 0.1 in HDF5: arrays with fixed names, and a JSON text that says what they are in the
// attribute "binsparse" of their group. https://graphblas.org/binsparse-specification
#include "io/formats.hpp"
#include "io/hdf5_remote.hpp"
#include <lacuna/core/error.hpp>

#ifdef LACUNA_HAS_HDF5
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cpu/rows.hpp"
#include "io/require_field.hpp"
#include "io/write_progress.hpp"
#include <lacuna/op/convert.hpp>
#endif

namespace lacuna::io {

#ifdef LACUNA_HAS_HDF5

namespace {

using nlohmann::json;

/// What the JSON text says.
struct descriptor {
  std::string format;
  std::vector<std::int64_t> shape;
  std::int64_t stored = -1; // values; -1: not told
  json types;
  symmetry structure = symmetry::general;
  bool upper = false; // which triangle is stored
};

class binsparse_reader {
public:
  binsparse_reader(const host_context& ctx, bytes_view file, const std::string& name,
                   const read_options& options)
      : ctx_(ctx), name_(name), options_(options), file_(file, name), group_(find_group()),
        about_(describe()) {}

  template <class T> file_triplets<T> read() {
    const descriptor& d = about_;
    file_info about;
    about.file = name_;
    about.format = "Binsparse " + d.format;
    about.member = group_.substr(1);
    for (const std::string& n : file_.names_in("/"))
      if ("/" + n != group_ && is_matrix("/" + n)) about.others.push_back(n);
    const bool is_vector = d.format == "DVEC" || d.format == "CVEC";
    if (d.shape.size() != (is_vector ? 1 : 2))
      throw_bad(fmt::format("{} with a shape of {} dimensions", d.format, d.shape.size()), name_);
    about.rows = d.shape[0];
    about.cols = is_vector ? 1 : d.shape[1];
    about.structure = d.structure;

    if (d.format == "CSR" || d.format == "CSC") {
      const raw_array pointers = list("pointers_to_1"), indices = list("indices_1");
      auto values = read_values<T>(indices.size, about);
      return checked(from_compressed<T>(ctx_, std::move(about),
                                        d.format == "CSR" ? major::row : major::column, pointers,
                                        indices, std::move(values)));
    }
    if (d.format == "COO" || d.format == "COOR" || d.format == "COOC") {
      raw_array rows = list("indices_0"), cols = list("indices_1");
      if (d.format == "COOC") std::swap(rows, cols);
      auto values = read_values<T>(rows.size, about);
      return checked(from_coordinates<T>(ctx_, std::move(about), rows, cols, std::move(values)));
    }
    if (d.format == "CVEC") {
      const raw_array rows = list("indices_0");
      array<char> zeros(ctx_, rows.size);
      std::fill(zeros.begin(), zeros.end(), '\0');
      const raw_array cols{"columns", zeros.data(), rows.size, number::int8, false, {}};
      auto values = read_values<T>(rows.size, about);
      return checked(from_coordinates<T>(ctx_, std::move(about), rows, cols, std::move(values)));
    }
    if (d.format == "DMAT" || d.format == "DMATR" || d.format == "DMATC" || d.format == "DVEC") {
      // One value for all would let a small file ask for any amount of memory.
      if (type_name("values").starts_with("iso["))
        throw unsupported("Binsparse: a dense matrix of equal values", name_, 0);
      auto values = read_values<T>(product(about.rows, about.cols, name_), about);
      return checked(from_dense<T>(ctx_, std::move(about),
                                   d.format == "DMATC" ? major::column : major::row,
                                   std::move(values)));
    }
    throw unsupported("Binsparse format " + d.format, name_, 0);
  }

private:
  [[noreturn]] void bad(const std::string& what) const { throw_bad("Binsparse: " + what, name_); }
  [[nodiscard]] std::string path(const std::string& array) const {
    return group_ == "/" ? "/" + array : group_ + "/" + array;
  }

  [[nodiscard]] bool is_matrix(const std::string& group) const {
    return file_.kind_of(group) == hdf5_remote::kind::group &&
           file_.text_attribute(group, "binsparse").has_value();
  }
  /// The group that is asked for; else the root, or the first group that has a descriptor.
  [[nodiscard]] std::string find_group() const {
    if (!options_.member.empty()) return "/" + options_.member;
    if (file_.text_attribute("/", "binsparse")) return "/";
    for (const std::string& n : file_.names_in("/"))
      if (is_matrix("/" + n)) return "/" + n;
    bad("no group has the attribute \"binsparse\"");
  }

  [[nodiscard]] std::int64_t size_in(const json& value, const char* key) const {
    if (!value.is_number_integer() || value < 0 || value > INT64_MAX)
      bad(fmt::format("\"{}\" is not a size: {}", key, value.dump()));
    return value.get<std::int64_t>();
  }

  [[nodiscard]] descriptor describe() const {
    const auto text = file_.text_attribute(group_, "binsparse");
    if (!text) bad(group_ + " has no attribute \"binsparse\"");
    const json all = json::parse(*text, nullptr, false);
    if (!all.is_object() || !all.contains("binsparse") || !all["binsparse"].is_object())
      bad("the descriptor is not JSON with the key \"binsparse\"");
    const json& about = all["binsparse"];
    const auto needed = [&](const char* key) -> const json& {
      if (!about.contains(key)) bad(fmt::format("the descriptor has no \"{}\"", key));
      return about[key];
    };
    descriptor d;
    if (about.contains("version") && about["version"] != "0.1")
      throw unsupported("Binsparse version " + about["version"].dump(), name_, 0);
    if (!needed("format").is_string())
      throw unsupported("Binsparse: a format made of levels", name_, 0);
    d.format = needed("format");
    if (!needed("shape").is_array()) bad("\"shape\" is not a list");
    for (const json& n : needed("shape")) d.shape.push_back(size_in(n, "shape"));
    if (about.contains("number_of_stored_values"))
      d.stored = size_in(about["number_of_stored_values"], "number_of_stored_values");
    d.types = needed("data_types");
    if (!d.types.is_object()) bad("\"data_types\" is not an object");
    if (about.contains("fill") && about["fill"] != false)
      throw unsupported("Binsparse: a fill value other than 0", name_, 0);
    if (about.contains("structure")) read_structure(about["structure"], d);
    return d;
  }

  void read_structure(const json& value, descriptor& d) const {
    static const struct {
      const char* name;
      symmetry structure;
    } names[] = {{"symmetric", symmetry::symmetric},
                 {"skew_symmetric", symmetry::skew_symmetric},
                 {"hermitian", symmetry::hermitian}};
    for (const auto& n : names)
      for (const bool upper : {false, true})
        if (value == fmt::format("{}_{}", n.name, upper ? "upper" : "lower")) {
          d.structure = n.structure;
          d.upper = upper;
          return;
        }
    if (value != "general") throw unsupported("Binsparse structure " + value.dump(), name_, 0);
  }

  /// An array of the type that the descriptor tells.
  [[nodiscard]] raw_array list(const std::string& array) const {
    hdf5_array a = file_.read(ctx_, path(array));
    if (a.shape.size() != 1) bad(fmt::format("{} has {} dimensions", array, a.shape.size()));
    require_type(array, type_name(array), a.numbers.type);
    return std::move(a.numbers);
  }
  [[nodiscard]] std::string type_name(const std::string& array) const {
    if (!about_.types.contains(array) || !about_.types[array].is_string())
      bad("\"data_types\" does not tell the type of " + array);
    return about_.types[array];
  }
  void require_type(const std::string& array, const std::string& told, number type) const {
    static const std::pair<const char*, number> names[] = {
        {"int8", number::int8},       {"uint8", number::uint8},   {"int16", number::int16},
        {"uint16", number::uint16},   {"int32", number::int32},   {"uint32", number::uint32},
        {"int64", number::int64},     {"uint64", number::uint64}, {"float32", number::float32},
        {"float64", number::float64}, {"bint8", number::boolean}};
    for (const auto& [name, known] : names)
      if (told == name) {
        if (known == type || (known == number::boolean && size_of(type) == 1)) return;
        bad(fmt::format("{} is not of type {}, as the descriptor says", array, told));
      }
    throw unsupported("Binsparse: values of type " + told, name_, 0);
  }

  /// The values of `entries` entries, and their kind. Types may be wrapped: iso[…] holds one value
  /// for all, complex[…] holds pairs.
  template <class T> entry_values<T> read_values(std::int64_t entries, file_info& about) const {
    if (about_.stored >= 0 && about_.stored != entries)
      bad(fmt::format("number_of_stored_values is {}, there are {} entries", about_.stored,
                      entries));
    std::string told = type_name("values");
    const auto unwrap = [&](const std::string& modifier) {
      if (!told.starts_with(modifier + "[") || !told.ends_with("]")) return false;
      told = told.substr(modifier.size() + 1, told.size() - modifier.size() - 2);
      return true;
    };
    const bool iso = unwrap("iso"), complex = unwrap("complex");
    raw_array a = file_.read(ctx_, path("values")).numbers;
    if (is_complex(a.type) && complex) {
      require_type("values", told, a.type == number::complex64 ? number::float32 : number::float64);
    } else {
      require_type("values", told, a.type);
      if (told == "bint8") a.type = number::boolean;
      if (complex) {
        if (field_of(a.type) != field::real || a.size % 2 != 0) bad("values are not complex pairs");
        a.type = a.type == number::float32 ? number::complex64 : number::complex128;
        a.size /= 2;
      }
    }
    if (a.size != (iso ? 1 : entries))
      bad(fmt::format("{} values for {} entries", a.size, entries));
    about.values = field_of(a.type);
    about.structure = structure_of_real(about.structure, complex, options_.complex);
    auto values = values_of<T>(ctx_, a, options_.complex, name_);
    if (!iso) return values;
    if (values.real[0] == 1 && !complex && about.structure != symmetry::skew_symmetric) {
      about.values = field::pattern;
      return {};
    }
    entry_values<T> same{array<T>(ctx_, entries)};
    std::fill(same.real.begin(), same.real.end(), values.real[0]);
    if (!values.imaginary.empty()) {
      same.imaginary = array<T>(ctx_, entries);
      std::fill(same.imaginary.begin(), same.imaginary.end(), values.imaginary[0]);
    }
    return same;
  }

  /// All entries must be in the triangle that is stored; all in the other is as wrong.
  template <class T> file_triplets<T> checked(file_triplets<T> entries) const {
    if (about_.structure == symmetry::general) return entries;
    std::visit(
        [&](const auto& e) {
          for (std::int64_t k = 0; k < e.rowind.size(); ++k)
            if (about_.upper ? e.rowind[k] > e.colind[k] : e.rowind[k] < e.colind[k])
              bad(fmt::format("entry ({}, {}) is not in the {} triangle", e.rowind[k], e.colind[k],
                              about_.upper ? "upper" : "lower"));
        },
        entries.entries);
    return entries;
  }

  const host_context& ctx_;
  const std::string& name_;
  const read_options& options_;
  hdf5_remote file_;
  std::string group_;
  descriptor about_;
};

template <class U> hid_t type_in_memory() {
  if constexpr (std::is_same_v<U, float>) return H5T_NATIVE_FLOAT;
  if constexpr (std::is_same_v<U, double>) return H5T_NATIVE_DOUBLE;
  if constexpr (std::is_same_v<U, std::int8_t>) return H5T_NATIVE_INT8;
  // Indices and pointers, which are not negative.
  return sizeof(U) == 4 ? H5T_NATIVE_UINT32 : H5T_NATIVE_UINT64;
}
template <class U> const char* type_in_words() {
  if constexpr (std::is_same_v<U, float>) return "float32";
  if constexpr (std::is_same_v<U, double>) return "float64";
  return sizeof(U) == 4 ? "uint32" : "uint64";
}

template <class T>
array<std::int64_t> whole_numbers(const host_context& ctx, vector_view<const T> values) {
  array<std::int64_t> result(ctx, values.size());
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

/// The entries up to the diagonal of a sorted matrix.
template <class T, class I, class O>
csr<T, I, O> lower_triangle(const host_context& ctx, csr_view<const T, I, O> a) {
  const auto length = [&](std::int64_t i) {
    const I* const begin = a.colind().data() + a.rowptr()[i];
    return std::upper_bound(begin, a.colind().data() + a.rowptr()[i + 1], static_cast<I>(i)) -
           begin;
  };
  O size = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i) size = static_cast<O>(size + length(i));
  csr<T, I, O> result(ctx, a.shape(), size, a.order());
  result.rowptr()[0] = 0;
  for (std::int64_t i = 0; i < a.shape().row; ++i) {
    const auto n = length(i);
    const O from = a.rowptr()[i], to = result.rowptr()[i];
    std::copy_n(a.colind().data() + from, n, result.colind().data() + to);
    std::copy_n(a.values().data() + from, n, result.values().data() + to);
    result.rowptr()[i + 1] = static_cast<O>(to + n);
  }
  return result;
}

} // namespace

template <class T>
file_triplets<T> read_binsparse(const host_context& ctx, bytes_view file, const std::string& name,
                                const read_options& options) {
  return binsparse_reader(ctx, file, name, options).read<T>();
}

template <class T, class I, class O>
void write_binsparse(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& parts,
                     const write_options& options) {
  // Sorted and without duplicates, as the format asks for, and of a symmetric one the lower
  // triangle.
  const auto prepared = [&](csr_view<const T, I, O> a, csr<T, I, O>& owned) {
    if (a.rowptr().empty()) { // a matrix that was never given memory
      owned = csr<T, I, O>(ctx, {0, 0}, 0, {true, true});
      owned.rowptr()[0] = 0;
      a = std::as_const(owned).view();
    } else if (!a.order().sorted || !a.order().unique) {
      owned = to_csr(ctx, a);
      sort(ctx, owned);
      if (!a.order().unique) owned = merge_duplicates(ctx, owned, duplicates::sum);
      a = std::as_const(owned).view();
    }
    if (options.structure == symmetry::general) return a;
    owned = lower_triangle(ctx, a);
    return std::as_const(owned).view();
  };
  csr<T, I, O> owned, owned_imaginary;
  const auto a = prepared(parts.real, owned);
  std::string structure = name_of(options.structure);
  std::replace(structure.begin(), structure.end(), '-', '_');
  structure = options.structure == symmetry::general
                  ? ""
                  : fmt::format(", \"structure\": \"{}_lower\"", structure);
  const T one[] = {1};
  array<std::int64_t> whole;
  array<T> pairs;
  for (const T v : a.values()) require_field(v, options.values);
  std::string values_type = type_in_words<T>();
  if (parts.complex) {
    const auto imaginary = prepared(parts.imaginary, owned_imaginary);
    pairs = array<T>(ctx, checked_mul(2, a.size()));
    for (std::int64_t k = 0; k < a.size(); ++k) {
      pairs[2 * k] = a.values()[k];
      pairs[2 * k + 1] = imaginary.values()[k];
    }
    values_type = "complex[" + values_type + "]";
  } else if (options.values == field::pattern) {
    values_type = "iso[" + values_type + "]";
  } else if (options.values == field::integer) {
    whole = whole_numbers(ctx, a.values());
    values_type = "int64";
  }

  const std::int64_t value_bytes = parts.complex ? 2 * sizeof(T) : sizeof(T);
  write_progress progress(options, a.size(),
                          static_cast<std::int64_t>(sizeof(O)) * a.rowptr().size() +
                              (static_cast<std::int64_t>(sizeof(I)) + value_bytes) * a.size());
  hdf5_writer out(file);
  file.reserve(hdf5_room + static_cast<std::int64_t>(sizeof(O)) * a.rowptr().size() +
               (static_cast<std::int64_t>(sizeof(I)) + std::max<std::int64_t>(value_bytes, 8)) *
                   a.size());
  out.add_array("/pointers_to_1", type_in_memory<O>(), a.rowptr().data(), a.rowptr().size());
  progress.add(static_cast<std::int64_t>(sizeof(O)) * a.rowptr().size());
  out.add_array("/indices_1", type_in_memory<I>(), a.colind().data(), a.size());
  progress.add(static_cast<std::int64_t>(sizeof(I)) * a.size());
  if (parts.complex)
    out.add_array("/values", type_in_memory<T>(), pairs.data(), pairs.size());
  else if (options.values == field::pattern)
    out.add_array("/values", type_in_memory<T>(), one, 1);
  else if (options.values == field::integer)
    out.add_array("/values", H5T_NATIVE_INT64, whole.data(), whole.size());
  else
    out.add_array("/values", type_in_memory<T>(), a.values().data(), a.size());
  out.add_attribute(
      "/", "binsparse",
      fmt::format(
          "{{\"binsparse\": {{\"version\": \"0.1\", \"format\": \"CSR\", \"shape\": [{}, {}], "
          "\"number_of_stored_values\": {}{}, \"data_types\": {{\"pointers_to_1\": \"{}\", "
          "\"indices_1\": \"{}\", \"values\": \"{}\"}}}}}}",
          a.shape().row, a.shape().col, a.size(), structure, type_in_words<O>(), type_in_words<I>(),
          values_type));
  out.close();
  progress.add(value_bytes * a.size());
}

template <class T>
void write_binsparse_vector(const host_context&, output_file& file, vector_view<const T> v) {
  hdf5_writer out(file);
  file.reserve(hdf5_room + static_cast<std::int64_t>(sizeof(T)) * v.size());
  out.add_array("/values", type_in_memory<T>(), v.data(), v.size());
  out.add_attribute(
      "/", "binsparse",
      fmt::format("{{\"binsparse\": {{\"version\": \"0.1\", \"format\": \"DVEC\", \"shape\": [{}], "
                  "\"number_of_stored_values\": {}, \"data_types\": {{\"values\": \"{}\"}}}}}}",
                  v.size(), v.size(), type_in_words<T>()));
  out.close();
}

#else

namespace {
constexpr const char* no_hdf5 =
    "Binsparse needs HDF5, which this build lacks: install libhdf5-dev and build again";
} // namespace

template <class T>
file_triplets<T> read_binsparse(const host_context&, bytes_view, const std::string& name,
                                const read_options&) {
  throw unsupported(no_hdf5, name, 0);
}
template <class T, class I, class O>
void write_binsparse(const host_context&, output_file&, const matrix_parts<T, I, O>&,
                     const write_options&) {
  throw unsupported(no_hdf5);
}
template <class T>
void write_binsparse_vector(const host_context&, output_file&, vector_view<const T>) {
  throw unsupported(no_hdf5);
}

#endif

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_binsparse(const host_context&, bytes_view, const std::string&,    \
                                           const read_options&);                                   \
  template void write_binsparse_vector(const host_context&, output_file&, vector_view<const T>);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write_binsparse(const host_context&, output_file&, const matrix_parts<T, I, O>&,   \
                                const write_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::io
