// MATLAB files of level 5 (versions 5, 6 and 7): a header of 128 bytes, then elements, each a tag
// (type, bytes) and data padded to 8 bytes. A variable is an element of type "matrix" that holds
// flags, dimensions, name and numbers as elements of their own; in version 7 it is compressed.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "io/deflate.hpp"
#include "io/formats.hpp"
#include "io/raw_array.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

constexpr std::size_t header_bytes = 128;
enum element_type : std::uint32_t { mi_matrix = 14, mi_compressed = 15 };
enum array_class : std::uint8_t {
  mx_struct = 2,
  mx_sparse = 5,
  mx_double = 6,
  mx_single = 7,
  mx_uint64 = 15
};

struct source {
  const host_context& ctx;
  const std::string& file;
  const read_options& options;
  bool swapped; // the other byte order than this machine's
};

struct element {
  std::uint32_t type = 0;
  bytes_view data;
};

/// Takes elements off the front of some bytes.
class elements {
public:
  elements(const source& from, bytes_view bytes, std::string what)
      : from_(from), rest_(bytes), what_(std::move(what)) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }
  element next() {
    if (rest_.size() < 8) fail();
    std::uint32_t type = word(0), size = word(4);
    std::size_t begin = 8, all = 0;
    if (type >> 16 != 0) { // up to 4 bytes of data stand in the tag
      size = type >> 16;
      type &= 0xffff;
      begin = 4;
      all = 8;
      if (size > 4) fail();
    } else {
      all = begin + size;
      if (all > rest_.size()) fail();
      // Compressed elements are not padded, and the last one need not be.
      if (type != mi_compressed) all = std::min((all + 7) / 8 * 8, rest_.size());
    }
    const element result{type, rest_.subspan(begin, size)};
    rest_ = rest_.subspan(all);
    return result;
  }
  /// The next element, which must hold numbers.
  raw_array next_numbers(const std::string& what) {
    const element e = next();
    static constexpr std::optional<number> types[] = {{},
                                                      number::int8,
                                                      number::uint8,
                                                      number::int16,
                                                      number::uint16,
                                                      number::int32,
                                                      number::uint32,
                                                      number::float32,
                                                      {},
                                                      number::float64,
                                                      {},
                                                      {},
                                                      number::int64,
                                                      number::uint64};
    if (e.type >= std::size(types) || !types[e.type])
      throw_bad(fmt::format("{}: {} has type {}, not numbers", what_, what, e.type), from_.file);
    const number type = *types[e.type];
    const auto bytes = static_cast<std::int64_t>(e.data.size());
    if (bytes % size_of(type) != 0)
      throw_bad(fmt::format("{}: {} ends within a number", what_, what), from_.file);
    return {what_ + ": " + what, e.data.data(), bytes / size_of(type), type, from_.swapped, {}};
  }
  [[nodiscard]] std::uint32_t word(std::size_t at) const {
    if (rest_.size() < at + 4) fail();
    std::uint32_t w;
    std::memcpy(&w, rest_.data() + at, 4);
    return from_.swapped ? __builtin_bswap32(w) : w;
  }

private:
  [[noreturn]] void fail() const { throw_bad(what_ + " is cut off", from_.file); }

  const source& from_;
  bytes_view rest_;
  std::string what_;
};

/// What stands at the front of a variable.
struct front {
  std::uint8_t type = 0; // an array_class
  bool complex = false;
  bool logical = false;
  std::vector<std::int64_t> dimensions;
  std::string name;

  [[nodiscard]] bool numeric() const { return type >= mx_double && type <= mx_uint64; }
};

front read_front(const source& from, elements& in) {
  front result;
  const raw_array flags = in.next_numbers("array flags");
  const auto word = static_cast<std::uint64_t>(integer_at(flags, 0, from.file));
  result.type = static_cast<std::uint8_t>(word & 0xff);
  result.complex = (word & 0x0800) != 0;
  result.logical = (word & 0x0200) != 0;
  const raw_array dimensions = in.next_numbers("dimensions");
  if (dimensions.size < 2 || dimensions.size > 32)
    throw_bad(fmt::format("an array of {} dimensions", dimensions.size), from.file);
  for (std::int64_t k = 0; k < dimensions.size; ++k) {
    result.dimensions.push_back(integer_at(dimensions, k, from.file));
    if (result.dimensions.back() < 0)
      throw_bad(fmt::format("an array with a dimension of {}", result.dimensions.back()),
                from.file);
  }
  const element name = in.next();
  result.name.assign(name.data.begin(), name.data.end());
  return result;
}

/// A variable where it stands in the file.
struct variable {
  element where;
  front first;
};

/// Enough for the front of every variable: names have at most 63 characters.
constexpr std::size_t front_bytes = 1024;

std::vector<variable> list_variables(const source& from, bytes_view file) {
  std::vector<variable> result;
  for (elements all(from, file.subspan(header_bytes), "the file"); !all.done();) {
    const element e = all.next();
    const auto what = fmt::format("the variable at byte {}", e.data.data() - file.data() - 8);
    std::string start;
    bytes_view bytes = e.data;
    if (e.type == mi_compressed) {
      start = inflate_first(e.data, front_bytes, wrapping::zlib, what, from.file);
      if (start.size() < 8 || elements(from, start, what).word(0) != mi_matrix) continue;
      bytes = bytes_view(start).subspan(8); // the tag tells the size of the whole
    } else if (e.type != mi_matrix) {
      continue;
    }
    elements inner(from, bytes, what);
    front first = read_front(from, inner);
    // What has no name is MATLAB's own.
    if (!first.name.empty()) result.push_back({e, std::move(first)});
  }
  return result;
}

/// The one that is asked for; else the first sparse one, SuiteSparse's Problem, or the first full
/// matrix.
const variable& choose(const std::vector<variable>& all, const std::string& wanted,
                       const std::string& file) {
  const auto first = [&](auto test) -> const variable* {
    const auto match = std::find_if(all.begin(), all.end(), test);
    return match == all.end() ? nullptr : &*match;
  };
  const variable* v = nullptr;
  if (!wanted.empty()) {
    v = first([&](const variable& x) { return x.first.name == wanted; });
  } else {
    v = first([](const variable& x) { return x.first.type == mx_sparse; });
    if (v == nullptr)
      v = first(
          [](const variable& x) { return x.first.type == mx_struct && x.first.name == "Problem"; });
    if (v == nullptr) v = first([](const variable& x) { return x.first.numeric(); });
  }
  if (v != nullptr) return *v;
  std::string names;
  for (const variable& x : all) names += (names.empty() ? "" : ", ") + x.first.name;
  throw_bad(fmt::format("no {} among the variables: {}", wanted.empty() ? "numeric matrix" : wanted,
                        names),
            file);
}

/// Values, or real and imaginary parts, as they stand next; `size` of them.
template <class T, class F>
entry_values<T> read_values(const source& from, const front& f, elements& in, F cut) {
  raw_array real = in.next_numbers("values");
  if (f.logical && size_of(real.type) == 1) real.type = number::boolean;
  cut(real);
  if (!f.complex) return values_of<T>(from.ctx, real, from.options.complex, from.file);
  raw_array imaginary = in.next_numbers("imaginary parts");
  cut(imaginary);
  return values_of<T>(from.ctx, real, imaginary, from.options.complex, from.file);
}

template <class T>
file_triplets<T> read_sparse(const source& from, const front& f, elements& in, file_info about) {
  raw_array ir = in.next_numbers("ir");
  const raw_array jc = in.next_numbers("jc");
  const std::int64_t entries = jc.size == 0 ? 0 : integer_at(jc, jc.size - 1, from.file);
  // The arrays may be longer than what is in use.
  const auto cut = [&](raw_array& a) {
    if (entries < 0 || a.size < entries)
      throw_bad(
          fmt::format("{} has {} elements, the last column ends at {}", a.what, a.size, entries),
          from.file);
    a.size = entries;
  };
  cut(ir);
  about.format = "MATLAB sparse";
  auto values = read_values<T>(from, f, in, cut);
  return from_compressed<T>(from.ctx, std::move(about), major::column, jc, ir, std::move(values));
}

template <class T>
file_triplets<T> read_full(const source& from, const front& f, elements& in, file_info about) {
  const std::int64_t size = product(about.rows, about.cols, from.file);
  about.format = "MATLAB full";
  auto values = read_values<T>(from, f, in, [&](const raw_array& a) {
    if (a.size != size)
      throw_bad(fmt::format("{} has {} elements, the matrix {} x {}", a.what, a.size, about.rows,
                            about.cols),
                from.file);
  });
  return from_dense<T>(from.ctx, std::move(about), major::column, std::move(values));
}

/// The field of a 1 x 1 struct whose front has been read. `others` gets the names of the rest.
element field_of_struct(const source& from, const front& f, elements& in, const std::string& wanted,
                        std::vector<std::string>& others) {
  if (f.dimensions != std::vector<std::int64_t>{1, 1})
    throw unsupported("variable " + f.name + " is an array of structs", from.file, 0);
  const std::int64_t length = integer_at(in.next_numbers("length of field names"), 0, from.file);
  const element names = in.next();
  if (length < 1 || static_cast<std::uint64_t>(length) > names.data.size() ||
      names.data.size() % static_cast<std::uint64_t>(length) != 0)
    throw_bad(
        fmt::format("{}: field names of {} bytes, {} each", f.name, names.data.size(), length),
        from.file);
  std::optional<element> field;
  for (std::size_t at = 0; at < names.data.size(); at += static_cast<std::size_t>(length)) {
    const std::string_view padded(names.data.data() + at, static_cast<std::size_t>(length));
    const std::string name(padded.substr(0, padded.find('\0')));
    const bool is_it = name == wanted && !field;
    if (!is_it) others.push_back(f.name + "." + name);
    if (field) continue;
    const element value = in.next();
    if (is_it) field = value;
  }
  if (!field) throw_bad(fmt::format("struct {} has no field {}", f.name, wanted), from.file);
  return *field;
}

/// The matrix in an element of type matrix.
template <class T>
file_triplets<T> read_matrix(const source& from, bytes_view bytes, const std::string& what,
                             const std::string& field, std::vector<std::string> others) {
  elements in(from, bytes, what);
  const front f = read_front(from, in);
  if (f.type == mx_struct && !field.empty()) {
    const element inside = field_of_struct(from, f, in, field, others);
    if (inside.type != mi_matrix) throw_bad(what + "." + field + " is no matrix", from.file);
    return read_matrix<T>(from, inside.data, what + "." + field, "", std::move(others));
  }
  if (f.type != mx_sparse && !f.numeric())
    throw unsupported(what + " is not a numeric matrix", from.file, 0);
  if (f.dimensions.size() != 2)
    throw unsupported(fmt::format("{} has {} dimensions", what, f.dimensions.size()), from.file, 0);
  file_info about;
  about.file = from.file;
  about.member = what;
  about.others = std::move(others);
  about.rows = f.dimensions[0];
  about.cols = f.dimensions[1];
  about.values = f.complex                         ? field::complex
                 : f.logical || f.type > mx_single ? field::integer
                                                   : field::real;
  return f.type == mx_sparse ? read_sparse<T>(from, f, in, std::move(about))
                             : read_full<T>(from, f, in, std::move(about));
}

} // namespace

template <class T>
file_triplets<T> read_mat5(const host_context& ctx, bytes_view file, const std::string& name,
                           const read_options& options) {
  const std::string_view text(file.data(), std::min(file.size(), header_bytes));
  const bool little = text.ends_with("IM");
  if (text.size() < header_bytes || (!little && !text.ends_with("MI")))
    throw_bad("not a MATLAB file", name);
  if (text[little ? 125 : 124] != 1)
    throw_bad("a MATLAB file of level " + std::to_string(int{text[little ? 125 : 124]}), name);
  const source from{ctx, name, options, !little};

  // A member is a variable, or "variable.field"; of a struct alone, its field A.
  const auto dot = options.member.find('.');
  const std::string field = dot == std::string::npos ? "A" : options.member.substr(dot + 1);
  const auto variables = list_variables(from, file);
  const variable& v = choose(variables, options.member.substr(0, dot), name);
  bytes_view bytes = v.where.data;
  array<char> inflated;
  if (v.where.type == mi_compressed) {
    const auto tag = inflate_first(bytes, 8, wrapping::zlib, v.first.name, name);
    const std::int64_t size = elements(from, tag, v.first.name).word(4);
    inflated = inflate(ctx, bytes, size + 8, wrapping::zlib, v.first.name, name);
    bytes = bytes_view(inflated.data(), static_cast<std::size_t>(inflated.size())).subspan(8);
  }
  std::vector<std::string> others;
  for (const variable& x : variables)
    if (&x != &v) others.push_back(x.first.name);
  auto result = read_matrix<T>(from, bytes, v.first.name, field, std::move(others));
  const auto size = static_cast<std::int64_t>(file.size());
  if (options.progress) options.progress(size, size);
  return result;
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_mat5(const host_context&, bytes_view, const std::string&,         \
                                      const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::io
