// Rutherford-Boeing: the header's four lines, then pointers, row indices and values by columns, in
// fields wide enough for the bits of every value.
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "io/formats.hpp"
#include "io/require_field.hpp"
#include "io/write_progress.hpp"
#include <lacuna/core/error.hpp>
#include <lacuna/op/convert.hpp>

namespace lacuna::io {
namespace {

constexpr std::int64_t line_width = 80;

/// One of the three lists: `size` numbers in fields of `width`.
struct section {
  std::int64_t size = 0, width = 1;
  std::string letters; // "I" or "E", and ".16"

  [[nodiscard]] std::int64_t per_line() const { return line_width / width; }
  [[nodiscard]] std::int64_t lines() const { return (size + per_line() - 1) / per_line(); }
  [[nodiscard]] std::string format() const {
    return fmt::format("({}{}{}{})", per_line(), letters[0], width, letters.substr(1));
  }
};

std::int64_t digits(std::int64_t number) {
  return static_cast<std::int64_t>(fmt::formatted_size("{}", number));
}

/// put(k, p) writes number k at p and returns its end.
template <class Put>
void write_section(output_file& file, write_progress& progress, const section& s, Put put) {
  constexpr std::int64_t chunk = 1 << 16; // numbers
  std::string text;
  char number[64];
  for (std::int64_t first = 0; first < s.size; first += chunk) {
    text.clear();
    for (std::int64_t k = first; k < std::min(first + chunk, s.size); ++k) {
      const auto length = put(k, number) - number;
      text.append(static_cast<std::size_t>(s.width - length), ' ').append(number, number + length);
      if ((k + 1) % s.per_line() == 0 || k + 1 == s.size) text += '\n';
    }
    progress.write(file, text);
  }
}

/// The entries that the file holds: all, or of each column those from the diagonal on.
struct stored_columns {
  array<std::int64_t> first; // entry of each column, and of the end
  array<std::int64_t> entry; // where each stands in the matrix
};

template <class T, class I, class O>
stored_columns stored(const host_context& ctx, const csc<T, I, O>& a, symmetry s) {
  const auto counts = [&](std::int64_t j, std::int64_t k) {
    const std::int64_t i = a.rowind()[k];
    return s == symmetry::general || i > j || (i == j && s != symmetry::skew_symmetric);
  };
  stored_columns result{array<std::int64_t>(ctx, a.shape().col + 1), {}};
  const auto for_each = [&](auto f) {
    for (std::int64_t j = 0; j < a.shape().col; ++j)
      for (std::int64_t k = a.colptr()[j]; k < a.colptr()[j + 1]; ++k)
        if (counts(j, k)) f(j, k);
  };
  std::fill(result.first.begin(), result.first.end(), 0);
  for_each([&](std::int64_t j, std::int64_t) { ++result.first[j + 1]; });
  for (std::int64_t j = 0; j < a.shape().col; ++j) result.first[j + 1] += result.first[j];
  result.entry = array<std::int64_t>(ctx, result.first[a.shape().col]);
  std::int64_t to = 0;
  for_each([&](std::int64_t, std::int64_t k) { result.entry[to++] = k; });
  return result;
}

std::string title_of(const std::string& comment) {
  std::string title = comment.substr(0, std::min(comment.find('\n'), std::size_t{72}));
  for (char& c : title)
    if (c < ' ' || c > '~') c = ' ';
  return title;
}

} // namespace

template <class T, class I, class O>
void write_rutherford_boeing(const host_context& ctx, output_file& file,
                             const matrix_parts<T, I, O>& parts, const write_options& o) {
  const auto columns_of = [&](csr_view<const T, I, O> a) { // rows ascend in each
    auto columns = to_csc(ctx, a);
    return a.order().unique ? std::move(columns) : merge_duplicates(ctx, columns, duplicates::sum);
  };
  const auto a = columns_of(parts.real);
  const csc<T, I, O> imaginary = parts.complex ? columns_of(parts.imaginary) : csc<T, I, O>();
  const auto held = stored(ctx, a, o.structure);
  const std::int64_t rows = a.shape().row, cols = a.shape().col, entries = held.entry.size();
  std::int64_t widest = 1;
  for (const T v : a.values()) {
    require_field(v, o.values);
    if (o.values == field::integer) widest = std::max(widest, digits(static_cast<std::int64_t>(v)));
  }

  const section pointers{cols + 1, digits(entries + 1) + 1, "I"};
  const section indices{entries, digits(rows) + 1, "I"};
  // As many digits as give the same bits, sign, point and exponent, and a blank.
  constexpr int decimals = std::numeric_limits<T>::max_digits10 - 1;
  section values{parts.complex ? 2 * entries : entries, decimals + (sizeof(T) == 4 ? 8 : 9),
                 fmt::format("E.{}", decimals)};
  if (o.values == field::integer) values = {entries, widest + 1, "I"};
  if (o.values == field::pattern) values.size = 0;

  const char field_letter = parts.complex                ? 'c'
                            : o.values == field::pattern ? 'p'
                            : o.values == field::integer ? 'i'
                                                         : 'r';
  const char structure_letter = o.structure == symmetry::symmetric        ? 's'
                                : o.structure == symmetry::skew_symmetric ? 'z'
                                : o.structure == symmetry::hermitian      ? 'h'
                                : rows == cols                            ? 'u'
                                                                          : 'r';
  file.write(fmt::format(
      "{:<80}\n{:14}{:14}{:14}{:14}\n{}{}a{:11}{:14}{:14}{:14}{:14}\n{:<16}{:<16}{:<20}\n",
      title_of(o.comment), pointers.lines() + indices.lines() + values.lines(), pointers.lines(),
      indices.lines(), values.lines(), field_letter, structure_letter, "", rows, cols, entries, 0,
      pointers.format(), indices.format(), o.values == field::pattern ? "" : values.format()));
  write_progress progress(o, parts.real.size(),
                          pointers.size * pointers.width + indices.size * indices.width +
                              values.size * values.width);
  const auto put_whole = [](char* p, std::int64_t n) { return std::to_chars(p, p + 24, n).ptr; };
  write_section(file, progress, pointers,
                [&](std::int64_t k, char* p) { return put_whole(p, held.first[k] + 1); });
  write_section(file, progress, indices, [&](std::int64_t k, char* p) {
    return put_whole(p, std::int64_t{a.rowind()[held.entry[k]]} + 1);
  });
  write_section(file, progress, values, [&](std::int64_t k, char* p) {
    const std::int64_t at = held.entry[parts.complex ? k / 2 : k];
    const T v = parts.complex && k % 2 == 1 ? imaginary.values()[at] : a.values()[at];
    if (o.values == field::integer) return put_whole(p, static_cast<std::int64_t>(v));
    return std::to_chars(p, p + 48, v, std::chars_format::scientific, decimals).ptr;
  });
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write_rutherford_boeing(const host_context&, output_file&,                         \
                                        const matrix_parts<T, I, O>&, const write_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
