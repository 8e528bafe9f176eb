// Rutherford-Boeing and Harwell-Boeing: text in columns of fixed width, which Fortran formats in
// the header tell. Four lines of header (five with right-hand sides), then the pointers, the row
// indices and the values of a matrix by columns, each beginning on a new line.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include "io/formats.hpp"
#include "io/raw_array.hpp"
#include "io/text.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

/// "(1P,5D16.8)": five fields of 16 characters per line.
struct fortran_format {
  std::string text;
  std::int64_t per_line = 0;
  std::int64_t width = 0;
  std::int64_t decimals = 0; // digits behind a point that is not written
  bool scaled = false;       // P: numbers without exponent are shifted
  bool integer = false;
};

/// Lines of the file, taken from the front.
struct cursor {
  std::string_view rest;
  const std::string& name;
  std::int64_t line = 0; // of what was taken last, from 1

  [[noreturn]] void bad(const std::string& what) const { throw bad_input(what, name, line); }
  std::string_view next() {
    ++line;
    if (rest.empty()) bad("the file ends here");
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view result = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (result.ends_with('\r')) result.remove_suffix(1);
    return result;
  }
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool parse_whole(std::string_view text, std::int64_t& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [p, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && p == text.data() + text.size();
}

std::vector<std::int64_t> whole_numbers(const cursor& at, std::string_view line) {
  std::vector<std::int64_t> result;
  for (line = trimmed(line); !line.empty();) {
    const std::string_view token = line.substr(0, line.find_first_of(" \t"));
    if (!parse_whole(token, result.emplace_back()) || result.back() < 0)
      at.bad(fmt::format("\"{}\" is not a size", token));
    line = trimmed(line.substr(token.size()));
  }
  return result;
}

/// (16I5), (4E20.12), (1P,5D16.8), (1P5E16.8E3), (3(1X,E19.12)) is not read.
fortran_format parse_format(const cursor& at, std::string_view text) {
  fortran_format f{std::string(text)};
  std::string s; // without blanks, in capitals
  for (const char c : text.substr(1, text.size() - 2))
    if (c != ' ' && c != '\t') s += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const char* p = s.c_str();
  const auto number = [&]() -> std::int64_t {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(p, s.c_str() + s.size(), n);
    if (error != std::errc{} || n < 0 || n > 1 << 20) return -1;
    p = end;
    return n;
  };
  const auto fail = [&] { at.bad(fmt::format("\"{}\" is not a format of columns", text)); };
  f.per_line = *p >= '0' && *p <= '9' ? number() : 1;
  if (*p == 'P') {
    f.scaled = f.per_line != 0;
    ++p;
    if (*p == ',') ++p;
    f.per_line = *p >= '0' && *p <= '9' ? number() : 1;
  }
  if (*p == '\0' || std::strchr("IEDFG", *p) == nullptr) fail();
  f.integer = *p++ == 'I';
  f.width = number();
  if (*p == '.') {
    ++p;
    f.decimals = number();
  }
  if (*p == 'E') { // digits of the exponent
    ++p;
    if (number() < 0) fail();
  }
  if (*p != '\0' || f.per_line < 1 || f.width < 1 || f.decimals < 0) fail();
  if (f.integer) f.decimals = 0;
  return f;
}

/// What is between parentheses, one after the other.
std::vector<fortran_format> parse_formats(const cursor& at, std::string_view line) {
  std::vector<fortran_format> result;
  for (auto begin = line.find('('); begin != std::string_view::npos; begin = line.find('(')) {
    const auto end = line.find(')', begin);
    if (end == std::string_view::npos) at.bad("a format without its \")\"");
    result.push_back(parse_format(at, line.substr(begin, end - begin + 1)));
    line.remove_prefix(end + 1);
  }
  return result;
}

/// Where one of the three lists stands, and how its fields are cut.
struct section {
  fortran_format format;
  const char* what;
  std::int64_t size;
  std::int64_t first_line;
  array<const char*> lines; // where each begins, and the end of the last
};

/// Takes the section's lines. The file must have them, and characters enough for its fields, before
/// memory for them is asked for.
section take_section(const host_context& ctx, cursor& at, const fortran_format& format,
                     const char* what, std::int64_t size, std::int64_t told_lines) {
  const std::int64_t lines = size / format.per_line + (size % format.per_line != 0 ? 1 : 0);
  if (told_lines != lines)
    throw bad_input(fmt::format("{} {} in format {} take {} lines, the header says {}", size, what,
                                format.text, lines, told_lines),
                    at.name, 2);
  const auto left = static_cast<std::int64_t>(at.rest.size());
  if (lines > left || size > left) {
    at.line += static_cast<std::int64_t>(std::count(at.rest.begin(), at.rest.end(), '\n')) + 1;
    at.bad(fmt::format("the file ends here, before all of its {} {}", size, what));
  }
  section result{format, what, size, at.line + 1, array<const char*>(ctx, lines + 1)};
  for (std::int64_t k = 0; k < lines; ++k) {
    result.lines[k] = at.rest.data();
    at.next();
  }
  result.lines[lines] = at.rest.data();
  return result;
}

enum class fault { none, missing, no_number, no_point, no_exponent, out_of_range, inexact };

std::size_t count_words(std::string_view line) {
  std::size_t count = 0;
  bool inside = false;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t';
    count += !blank && !inside ? 1 : 0;
    inside = !blank;
  }
  return count;
}

/// Calls parse(field, k) for each field of the section; throws at the first that is at fault.
/// Blanks between all fields go before their widths: SciPy writes narrower fields than it says.
template <class Parse>
void for_each_field(const host_context& ctx, const section& s, const std::string& name,
                    Parse parse) {
  const std::int64_t lines = s.lines.size() - 1;
  const auto in_line = [&](std::int64_t l, auto f) {
    std::string_view line(s.lines[l], static_cast<std::size_t>(s.lines[l + 1] - s.lines[l]));
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    const std::int64_t begin = l * s.format.per_line;
    const std::int64_t end = std::min(begin + s.format.per_line, s.size);
    const bool separate = count_words(line) == static_cast<std::size_t>(end - begin);
    for (std::int64_t k = begin; k < end; ++k) {
      if (separate) line = trimmed(line);
      const std::size_t width =
          separate ? line.find_first_of(" \t") : static_cast<std::size_t>(s.format.width);
      const std::string_view field = line.substr(0, width);
      line.remove_prefix(field.size());
      if (!f(trimmed(field), k)) return;
    }
  };
  std::atomic<std::int64_t> first_bad{lines};
  detail::cpu::for_each_range(ctx, lines, detail::cpu::entry_grain / 8,
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t l = begin; l < end && l < first_bad; ++l)
                                  in_line(l, [&](std::string_view field, std::int64_t k) {
                                    if (!field.empty() && parse(field, k) == fault::none)
                                      return true;
                                    for (auto seen = first_bad.load();
                                         l < seen && !first_bad.compare_exchange_weak(seen, l);) {
                                    }
                                    return false;
                                  });
                              });
  if (first_bad == lines) return;
  in_line(first_bad, [&](std::string_view field, std::int64_t k) {
    const fault f = field.empty() ? fault::missing : parse(field, k);
    const auto bad = [&](const std::string& what) {
      throw bad_input(what, name, s.first_line + first_bad);
    };
    switch (f) {
    case fault::none: return true;
    case fault::missing:
      bad(fmt::format("number {} of the {} {} is missing", k + 1, s.size, s.what));
      break;
    case fault::no_number: bad(fmt::format("\"{}\" is not a number", field)); break;
    case fault::no_point:
      bad(fmt::format("\"{}\" has no point, which format {} would put before its last {} digits",
                      field, s.format.text, s.format.decimals));
      break;
    case fault::no_exponent:
      bad(fmt::format("\"{}\" has no exponent, so that format {} would shift its point", field,
                      s.format.text));
      break;
    case fault::inexact:
      bad(fmt::format("no double is {}: integers beyond 2^53 would change", field));
      break;
    case fault::out_of_range:
      bad(fmt::format("{} is out of range among the {}", field, s.what));
      break;
    }
    return false;
  });
}

/// "1.5", "-1.5E+03", "1.5D3", "1.5+3". What a Fortran program would read otherwise than it looks
/// is refused.
template <class T> fault parse_real(std::string_view field, const fortran_format& f, T& value) {
  char text[128];
  if (field.size() >= sizeof text - 1) return fault::no_number;
  if (field[0] == '+') field.remove_prefix(1);
  bool point = false, exponent = false, zero = true;
  char* to = text;
  for (std::size_t k = 0; k < field.size(); ++k) {
    char c = field[k];
    if (c == '.') point = true;
    if (c >= '1' && c <= '9' && !exponent) zero = false;
    if (c == 'D' || c == 'd' || c == 'E' || c == 'e' || c == 'Q' || c == 'q') {
      exponent = true;
      c = 'e';
    } else if ((c == '+' || c == '-') && k > 0 && !exponent) {
      exponent = true; // the letter was left out
      *to++ = 'e';
    } else if (c == ' ' || c == 'x' || c == 'X') {
      return fault::no_number;
    }
    if (c == '+' && to != text && to[-1] == 'e') continue; // from_chars takes no plus
    *to++ = c;
  }
  const auto [p, error] = std::from_chars(text, to, value);
  if (p != to) return fault::no_number;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: as arithmetic would have it.
    *to = '\0';
    value = static_cast<T>(std::strtod(text, nullptr));
  } else if (error != std::errc{}) {
    return fault::no_number;
  }
  if (zero || !std::isfinite(value)) return fault::none;
  if (!point && f.decimals > 0) return fault::no_point;
  if (!exponent && f.scaled) return fault::no_exponent;
  return fault::none;
}

/// 1-based numbers, of which each must be in [1, limit]; 0-based in the result.
array<std::int64_t> read_indices(const host_context& ctx, const section& s, std::int64_t limit,
                                 const std::string& name) {
  array<std::int64_t> result(ctx, s.size);
  for_each_field(ctx, s, name, [&](std::string_view field, std::int64_t k) {
    std::int64_t n = 0;
    if (!parse_whole(field, n)) return fault::no_number;
    if (n < 1 || n > limit) return fault::out_of_range;
    result[k] = n - 1;
    return fault::none;
  });
  return result;
}

/// Where each column begins: never before the one to its left, the first at 0.
array<std::int64_t> read_pointers(const host_context& ctx, const section& s, std::int64_t entries,
                                  const std::string& name) {
  auto result = read_indices(ctx, s, entries + 1, name);
  const auto bad = [&](std::int64_t k, std::int64_t expected, const char* relation) {
    throw bad_input(
        fmt::format("pointer {} is {}, not {}{}", k + 1, result[k] + 1, relation, expected + 1),
        name, s.first_line + k / s.format.per_line);
  };
  if (result[0] != 0) bad(0, 0, "");
  for (std::int64_t k = 1; k < s.size; ++k)
    if (result[k] < result[k - 1]) bad(k, result[k - 1], "at least ");
  if (result[s.size - 1] != entries) bad(s.size - 1, entries, "");
  return result;
}

template <class T>
array<T> read_reals(const host_context& ctx, const section& s, const std::string& name) {
  array<T> result(ctx, s.size);
  for_each_field(ctx, s, name, [&](std::string_view field, std::int64_t k) {
    if (!s.format.integer) return parse_real(field, s.format, result[k]);
    std::int64_t n = 0;
    if (!parse_whole(field, n)) return fault::no_number;
    result[k] = static_cast<T>(n);
    return is_exact(magnitude_of(n)) ? fault::none : fault::inexact;
  });
  return result;
}

struct header {
  file_info about;
  std::int64_t entries = 0;
  std::int64_t pointer_lines = 0, index_lines = 0, value_lines = 0;
  fortran_format pointers, indices, values;
};

header read_header(cursor& at, const read_options& options) {
  header h;
  h.about.file = at.name;
  h.about.format = "Rutherford-Boeing";
  const std::string_view title = trimmed(at.next());
  if (!title.empty()) h.about.comment = std::string(title) + '\n';
  const auto lines = whole_numbers(at, at.next());
  if (lines.size() < 4) at.bad("4 or 5 numbers of lines are expected");
  h.pointer_lines = lines[1];
  h.index_lines = lines[2];
  h.value_lines = lines[3];

  const std::string_view third = trimmed(at.next());
  std::string type(third.substr(0, 3));
  type = lower_case(type);
  static constexpr std::pair<char, field> fields[] = {
      {'r', field::real}, {'i', field::integer}, {'p', field::pattern}, {'c', field::complex}};
  static constexpr std::pair<char, symmetry> structures[] = {{'u', symmetry::general},
                                                             {'r', symmetry::general},
                                                             {'s', symmetry::symmetric},
                                                             {'z', symmetry::skew_symmetric},
                                                             {'h', symmetry::hermitian}};
  const auto is = [](char c) { return [c](const auto& known) { return known.first == c; }; };
  const auto f = std::find_if(std::begin(fields), std::end(fields), is(type.empty() ? 0 : type[0]));
  const auto s =
      std::find_if(std::begin(structures), std::end(structures), is(type.size() < 3 ? 0 : type[1]));
  if (f == std::end(fields) || s == std::end(structures) || (type[2] != 'a' && type[2] != 'e'))
    at.bad(fmt::format("\"{}\" is not a type of matrix such as rua", type));
  if (type[2] == 'e') throw unsupported("a matrix of finite elements", at.name, at.line);
  h.about.values = f->second;
  h.about.structure = s->second;
  const auto sizes = whole_numbers(at, third.substr(3));
  if (sizes.size() < 3) at.bad("rows, columns and entries are expected");
  h.about.rows = sizes[0];
  h.about.cols = sizes[1];
  h.entries = sizes[2];
  if (h.about.structure != symmetry::general && h.about.rows != h.about.cols)
    at.bad(fmt::format("{} matrix of {} rows and {} columns", name_of(h.about.structure),
                       h.about.rows, h.about.cols));
  if (h.about.values == field::complex && options.complex == complex_rule::refuse)
    throw unsupported("the values are complex; --complex real|abs reads their real parts or "
                      "absolute values",
                      at.name, at.line);

  const auto formats = parse_formats(at, at.next());
  const bool pattern = h.about.values == field::pattern;
  if (formats.size() < (pattern ? 2 : 3))
    at.bad("formats of pointers, indices and values expected");
  h.pointers = formats[0];
  h.indices = formats[1];
  if (!pattern) h.values = formats[2];
  if (!h.pointers.integer || !h.indices.integer) at.bad("pointers and indices are not integers");
  if (lines.size() > 4 && lines[4] > 0) at.next(); // about right-hand sides
  return h;
}

template <class T>
entry_values<T> read_values(const host_context& ctx, const header& h, const section& s,
                            const read_options& options, const std::string& name) {
  array<T> all = read_reals<T>(ctx, s, name);
  if (h.about.values != field::complex) return {std::move(all)};
  const raw_array pairs{"values",  reinterpret_cast<const char*>(all.data()),
                        h.entries, sizeof(T) == 4 ? number::complex64 : number::complex128,
                        false,     {}};
  return values_of<T>(ctx, pairs, options.complex, name);
}

raw_array as_raw(const char* what, const array<std::int64_t>& a) {
  return {what, reinterpret_cast<const char*>(a.data()), a.size(), number::int64, false, {}};
}

} // namespace

template <class T>
file_triplets<T> read_rutherford_boeing(const host_context& ctx, bytes_view file,
                                        const std::string& name, const read_options& options) {
  cursor at{{file.data(), file.size()}, name};
  header h = read_header(at, options);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  if (h.about.cols > most || h.entries > most) at.bad("a matrix that no file holds");
  const section pointers =
      take_section(ctx, at, h.pointers, "pointers", h.about.cols + 1, h.pointer_lines);
  const auto starts = read_pointers(ctx, pointers, h.entries, name);
  const section indices = take_section(ctx, at, h.indices, "row indices", h.entries, h.index_lines);
  const auto rows = read_indices(ctx, indices, h.about.rows, name);
  entry_values<T> values;
  if (h.about.values != field::pattern) {
    const std::int64_t per_entry = h.about.values == field::complex ? 2 : 1;
    const section reals =
        take_section(ctx, at, h.values, "values", per_entry * h.entries, h.value_lines);
    values = read_values<T>(ctx, h, reals, options, name);
  }
  h.about.structure =
      structure_of_real(h.about.structure, h.about.values == field::complex, options.complex);
  auto result =
      from_compressed<T>(ctx, std::move(h.about), major::column, as_raw("pointers", starts),
                         as_raw("row indices", rows), std::move(values));
  const auto size = static_cast<std::int64_t>(file.size());
  if (options.progress) options.progress(size, size);
  return result;
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_rutherford_boeing(const host_context&, bytes_view,                \
                                                   const std::string&, const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::io
