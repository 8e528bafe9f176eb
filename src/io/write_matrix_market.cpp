#include <charconv>
#include <exception>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "cpu/rows.hpp"
#include "io/matrix_market.hpp"
#include "io/pack.hpp"
#include "io/require_field.hpp"

namespace lacuna::io {
namespace {

/// Text is made in chunks of about this many entries, a round of them side by side, and written
/// in order: memory for some MB of text per thread.
constexpr std::int64_t entries_per_chunk = std::int64_t{1} << 16;
/// Two indices of 20 digits, two values of 24, blanks and the line's end.
constexpr std::size_t longest_line = 96;

char* put(char* p, std::int64_t number) { return std::to_chars(p, p + 20, number).ptr; }
/// The fewest digits that give the same bits when read.
template <class T> char* put(char* p, T value) { return std::to_chars(p, p + 32, value).ptr; }

/// Makes chunks [0, count) by text(chunk, string&) and appends them to the file.
template <class Text>
void write_chunks(const host_context& ctx, output_file& file, std::int64_t count, compression c,
                  Text text, const std::function<void(std::int64_t)>& written) {
  const int round = ctx.threads();
  std::vector<std::string> plain(static_cast<std::size_t>(round)), packed(plain.size());
  for (std::int64_t first = 0; first < count; first += round) {
    const int size = static_cast<int>(std::min<std::int64_t>(round, count - first));
    std::exception_ptr failure;
    detail::cpu::for_each_part(ctx, size, 1, [&](int k, int) {
      try {
        const auto at = static_cast<std::size_t>(k);
        plain[at].clear();
        text(first + k, plain[at]);
        if (c != compression::none) pack(plain[at], c, packed[at]);
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
    for (int k = 0; k < size; ++k) {
      const auto at = static_cast<std::size_t>(k);
      file.write(c == compression::none ? plain[at] : packed[at]);
    }
    if (written) written(first + size);
  }
}

void write_text(output_file& file, const std::string& text, compression c) {
  std::string packed;
  pack(text, c, packed);
  file.write(packed);
}

std::string comment_lines(std::string_view comment) {
  std::string result;
  while (!comment.empty()) {
    const auto line = comment.substr(0, comment.find('\n'));
    comment.remove_prefix(std::min(comment.size(), line.size() + 1));
    result += fmt::format("%{}\n", line);
  }
  return result;
}

/// Entries of row i that the file holds: all, or those up to the diagonal.
template <class I> bool is_written(symmetry s, std::int64_t row, I col) {
  if (s == symmetry::general) return true;
  return s == symmetry::skew_symmetric ? col < row : col <= row;
}

/// Entries [begin, end).
template <class T, class I, class O>
void format_entries(const matrix_parts<T, I, O>& parts, const write_options& o, std::int64_t begin,
                    std::int64_t end, std::string& text) {
  const csr_view<const T, I, O>& a = parts.real;
  text.resize(static_cast<std::size_t>(end - begin) * longest_line);
  char* p = text.data();
  detail::cpu::for_each_row_piece(a.rowptr().data(), a.shape().row, begin, end,
                                  [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                                    char head[24];
                                    char* const head_end = put(head, row + 1);
                                    for (std::int64_t k = first; k < last; ++k) {
                                      const I col = a.colind()[k];
                                      const T value = a.values()[k];
                                      require_field(value, o.values);
                                      if (!is_written(o.structure, row, col)) continue;
                                      p = std::copy(head, head_end, p);
                                      *p++ = ' ';
                                      p = put(p, std::int64_t{col} + 1);
                                      if (o.values != field::pattern) {
                                        *p++ = ' ';
                                        p = o.values == field::integer
                                                ? put(p, static_cast<std::int64_t>(value))
                                                : put(p, value);
                                      }
                                      if (parts.complex) {
                                        *p++ = ' ';
                                        p = put(p, parts.imaginary.values()[k]);
                                      }
                                      *p++ = '\n';
                                    }
                                  });
  text.resize(static_cast<std::size_t>(p - text.data()));
}

template <class T, class I, class O>
std::int64_t count_written(const host_context& ctx, csr_view<const T, I, O> a, symmetry s) {
  if (s == symmetry::general) return a.size();
  std::int64_t total = 0;
  detail::cpu::for_each_range(ctx, a.size(), detail::cpu::entry_grain,
                              [&](std::int64_t begin, std::int64_t end) {
                                std::int64_t count = 0;
                                detail::cpu::for_each_row_piece(
                                    a.rowptr().data(), a.shape().row, begin, end,
                                    [&](std::int64_t row, std::int64_t first, std::int64_t last) {
                                      for (std::int64_t k = first; k < last; ++k)
                                        count += is_written(s, row, a.colind()[k]) ? 1 : 0;
                                    });
#pragma omp atomic
                                total += count;
                              });
  return total;
}

} // namespace

template <class T, class I, class O>
void write_matrix_market(const host_context& ctx, output_file& file,
                         const matrix_parts<T, I, O>& parts, const write_options& o,
                         compression c) {
  const csr_view<const T, I, O>& a = parts.real;
  write_text(file,
             fmt::format("%%MatrixMarket matrix coordinate {} {}\n{}{} {} {}\n", name_of(o.values),
                         name_of(o.structure), comment_lines(o.comment), a.shape().row,
                         a.shape().col, count_written(ctx, a, o.structure)),
             c);
  const std::int64_t nnz = a.size(), chunks = (nnz + entries_per_chunk - 1) / entries_per_chunk;
  write_chunks(
      ctx, file, chunks, c,
      [&](std::int64_t chunk, std::string& text) {
        const std::int64_t begin = chunk * entries_per_chunk;
        format_entries(parts, o, begin, std::min(begin + entries_per_chunk, nnz), text);
      },
      [&](std::int64_t done) {
        if (o.progress) o.progress(std::min(done * entries_per_chunk, nnz), nnz);
      });
}

template <class T>
void write_matrix_market_vector(const host_context& ctx, output_file& file, vector_view<const T> v,
                                compression c) {
  write_text(file, fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", v.size()), c);
  const std::int64_t chunks = (v.size() + entries_per_chunk - 1) / entries_per_chunk;
  write_chunks(ctx, file, chunks, c,
               [&](std::int64_t chunk, std::string& text) {
                 const std::int64_t begin = chunk * entries_per_chunk;
                 const std::int64_t end = std::min(begin + entries_per_chunk, v.size());
                 text.resize(static_cast<std::size_t>(end - begin) * longest_line);
                 char* p = text.data();
                 for (std::int64_t k = begin; k < end; ++k) {
                   p = put(p, v[k]);
                   *p++ = '\n';
                 }
                 text.resize(static_cast<std::size_t>(p - text.data()));
               },
               {});
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write_matrix_market(const host_context&, output_file&,                             \
                                    const matrix_parts<T, I, O>&, const write_options&,            \
                                    compression);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T)                                                                      \
  template void write_matrix_market_vector(const host_context&, output_file&,                      \
                                           vector_view<const T>, compression);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
