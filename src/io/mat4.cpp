// MATLAB files of version 4: one variable after the other, each a header of 20 bytes (type, rows,
// columns, whether it is complex, length of the name), the name, and the numbers by columns. A
// sparse matrix is a full one with one row per entry (row, column, value) and a last row for the
// sizes.
#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "io/formats.hpp"
#include "io/raw_array.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

constexpr std::size_t header_bytes = 20;

struct variable {
  std::string name;
  bool sparse = false, text = false, complex = false;
  std::int64_t rows = 0, cols = 0; // as stored
  number type = number::float64;
  bool swapped = false;
  bytes_view data; // real parts, then imaginary ones

  [[nodiscard]] std::int64_t size() const { return rows * cols; }
  /// Column by column, from element `first` on.
  [[nodiscard]] raw_array numbers(const char* part, std::int64_t first, std::int64_t count) const {
    return {name + ": " + part, data.data() + first * size_of(type), count, type, swapped, {}};
  }
};

/// Takes the variable at the front of `rest`.
variable take(bytes_view& rest, const std::string& file) {
  if (rest.size() < header_bytes) throw_bad("the file is cut off within a header", file);
  std::uint32_t words[5];
  std::memcpy(words, rest.data(), sizeof words);
  variable v;
  v.swapped = words[0] >= 5000;
  if (v.swapped)
    for (std::uint32_t& w : words) w = __builtin_bswap32(w);
  static constexpr number types[] = {number::float64, number::float32, number::int32,
                                     number::int16,   number::uint16,  number::uint8};
  const std::uint32_t type = words[0];
  if (type >= 2000 && type < 5000)
    throw unsupported("a MATLAB file with numbers of a VAX or a Cray", file, 0);
  if (type / 1000 != (v.swapped ? 1U : 0U) || type / 100 % 10 != 0 || type / 10 % 10 > 5 ||
      type % 10 > 2 || words[3] > 1)
    throw_bad(fmt::format("{} is no type of a variable of MATLAB 4", type), file);
  v.type = types[type / 10 % 10];
  v.text = type % 10 == 1;
  v.sparse = type % 10 == 2;
  v.complex = words[3] == 1;
  v.rows = words[1];
  v.cols = words[2];
  rest = rest.subspan(header_bytes);
  const std::int64_t bytes = product(product(product(v.rows, v.cols, file), size_of(v.type), file),
                                     v.complex ? 2 : 1, file);
  if (words[4] > rest.size() || static_cast<std::uint64_t>(bytes) > rest.size() - words[4])
    throw_bad(fmt::format("a variable of {} x {} is cut off", v.rows, v.cols), file);
  v.name.assign(rest.data(), words[4]);
  v.name.resize(std::min(v.name.find('\0'), v.name.size()));
  v.data = rest.subspan(words[4], static_cast<std::size_t>(bytes));
  rest = rest.subspan(words[4] + static_cast<std::size_t>(bytes));
  return v;
}

/// The one that is asked for; else the first sparse one, or the first of numbers.
const variable& choose(const std::vector<variable>& all, const std::string& wanted,
                       const std::string& file) {
  const auto first = [&](auto test) { return std::find_if(all.begin(), all.end(), test); };
  auto v = wanted.empty() ? first([](const variable& x) { return x.sparse; })
                          : first([&](const variable& x) { return x.name == wanted; });
  if (v == all.end() && wanted.empty()) v = first([](const variable& x) { return !x.text; });
  if (v != all.end()) return *v;
  std::string names;
  for (const variable& x : all) names += (names.empty() ? "" : ", ") + x.name;
  throw_bad(fmt::format("no {} among the variables: {}", wanted.empty() ? "numeric matrix" : wanted,
                        names),
            file);
}

/// 1-based whole numbers that are stored as real ones, 0-based.
array<std::int64_t> indices_of(const host_context& ctx, const raw_array& a, std::int64_t limit,
                               const std::string& file) {
  const array<double> reals = values_of<double>(ctx, a, complex_rule::refuse, file).real;
  array<std::int64_t> result(ctx, reals.size());
  for (std::int64_t k = 0; k < reals.size(); ++k) {
    if (!(reals[k] >= 1 && reals[k] <= static_cast<double>(limit)) ||
        reals[k] != static_cast<double>(static_cast<std::int64_t>(reals[k])))
      throw_bad(fmt::format("{}[{}] is {}, not in 1..{}", a.what, k, reals[k], limit), file);
    result[k] = static_cast<std::int64_t>(reals[k]) - 1;
  }
  return result;
}

raw_array as_raw(const char* what, const array<std::int64_t>& a) {
  return {what, reinterpret_cast<const char*>(a.data()), a.size(), number::int64, false, {}};
}

template <class T>
file_triplets<T> read_sparse(const host_context& ctx, const variable& v, file_info about,
                             complex_rule rule) {
  if (v.rows < 1 || v.cols < 3 || v.cols > 4 || v.complex)
    throw_bad(fmt::format("{}: {} x {} numbers are no sparse matrix", v.name, v.rows, v.cols),
              about.file);
  const std::int64_t entries = v.rows - 1;
  const auto size_at = [&](std::int64_t column) -> std::int64_t { // in the last row
    const double n = values_of<double>(ctx, v.numbers("sizes", column * v.rows + entries, 1),
                                       complex_rule::refuse, about.file)
                         .real[0];
    if (!(n >= 0 && n <= 0x1p53) || n != static_cast<double>(static_cast<std::int64_t>(n)))
      throw_bad(fmt::format("{} has a size of {}", v.name, n), about.file);
    return static_cast<std::int64_t>(n);
  };
  about.format = "MATLAB 4 sparse";
  about.rows = size_at(0);
  about.cols = size_at(1);
  const auto rows = indices_of(ctx, v.numbers("rows", 0, entries), about.rows, about.file);
  const auto cols = indices_of(ctx, v.numbers("columns", v.rows, entries), about.cols, about.file);
  const raw_array real = v.numbers("values", 2 * v.rows, entries);
  if (v.cols == 4) about.values = field::complex;
  auto values = v.cols == 3
                    ? values_of<T>(ctx, real, rule, about.file)
                    : values_of<T>(ctx, real, v.numbers("imaginary parts", 3 * v.rows, entries),
                                   rule, about.file);
  return from_coordinates<T>(ctx, std::move(about), as_raw("rows", rows), as_raw("columns", cols),
                             std::move(values));
}

template <class T>
file_triplets<T> read_full(const host_context& ctx, const variable& v, file_info about,
                           complex_rule rule) {
  if (v.text) throw unsupported(v.name + " is text, not a matrix", about.file, 0);
  about.format = "MATLAB 4 full";
  about.rows = v.rows;
  about.cols = v.cols;
  about.values = v.complex ? field::complex : field_of(v.type);
  const raw_array real = v.numbers("values", 0, v.size());
  auto values = v.complex
                    ? values_of<T>(ctx, real, v.numbers("imaginary parts", v.size(), v.size()),
                                   rule, about.file)
                    : values_of<T>(ctx, real, rule, about.file);
  return from_dense<T>(ctx, std::move(about), major::column, std::move(values));
}

} // namespace

template <class T>
file_triplets<T> read_mat4(const host_context& ctx, bytes_view file, const std::string& name,
                           const read_options& options) {
  std::vector<variable> all;
  for (bytes_view rest = file; !rest.empty();) all.push_back(take(rest, name));
  const variable& v = choose(all, options.member, name);
  file_info about;
  about.file = name;
  about.member = v.name;
  for (const variable& x : all)
    if (&x != &v) about.others.push_back(x.name);
  auto result = v.sparse ? read_sparse<T>(ctx, v, std::move(about), options.complex)
                         : read_full<T>(ctx, v, std::move(about), options.complex);
  const auto size = static_cast<std::int64_t>(file.size());
  if (options.progress) options.progress(size, size);
  return result;
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_mat4(const host_context&, bytes_view, const std::string&,         \
                                      const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
