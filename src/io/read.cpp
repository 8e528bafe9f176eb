#include <lacuna/io/read.hpp>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "cpu/rows.hpp"
#include "io/assemble.hpp"
#include "io/file_kind.hpp"
#include "io/formats.hpp"
#include "io/matrix_market.hpp"
#include "io/tar.hpp"

namespace lacuna::io {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::unique_ptr<byte_stream> open_archive(const mapped_file& file, const std::string& path) {
  if (compression_of(file.bytes()) != compression::none) return decompress(file.bytes(), path);
  return memory_stream(file.bytes());
}

std::vector<char> all_of(byte_stream& stream) {
  std::vector<char> all;
  std::size_t size = 0;
  do {
    all.resize(std::max<std::size_t>(2 * size, 1 << 16));
    const std::size_t got = stream.read(all.data() + size, all.size() - size);
    size += got;
    if (got == 0) break;
  } while (true);
  all.resize(size);
  return all;
}

/// The matrix of a SuiteSparse archive: NAME.mtx or NAME.rb, or the member asked for.
template <class T>
file_triplets<T> read_archive(const host_context& ctx, const mapped_file& file,
                              const std::string& path, const read_options& options) {
  const std::string stem = archive_stem(path);
  std::string found;
  auto stream = open_in_tar(open_archive(file, path), path, [&](const std::string& member) {
    const std::string name = file_name(member);
    const bool wanted = options.member.empty() ? name == stem + ".mtx" || name == stem + ".rb"
                                               : member == options.member || name == options.member;
    if (wanted) found = member;
    return wanted;
  });
  const std::string name = path + ":" + found;
  if (kind_of_name(found) == file_kind::rutherford_boeing) {
    const auto bytes = all_of(*stream);
    return read_rutherford_boeing<T>(ctx, bytes, name, options);
  }
  text_source source(std::move(stream), name);
  return read_matrix_market<T>(ctx, source, name, options);
}

text_source open_text(const mapped_file& file, const std::string& path) {
  if (compression_of(file.bytes()) == compression::none) return text_source(file);
  return {decompress(file.bytes(), path), path};
}

[[noreturn]] void throw_repeated(const file_info& about, const std::string& path, std::int64_t row,
                                 std::int64_t col) {
  std::string what = fmt::format("entry ({}, {}) is stored more than once", row + 1, col + 1);
  const bool text = about.format == "Matrix Market coordinate" && path == about.file;
  if (!text) throw bad_input(what, about.file, 0);
  const mapped_file file(path);
  text_source source = open_text(file, path);
  const auto [first, second] = find_lines(source, path, row, col);
  throw bad_input(fmt::format("{}, first on line {}", what, first), path, second);
}

/// Copies with other widths.
template <class To, class From> array<To> with_width(const host_context& ctx, array<From> from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else {
    array<To> to(ctx, from.size());
    cpu::for_each_range(ctx, from.size(), cpu::entry_grain,
                        [&](std::int64_t begin, std::int64_t end) {
                          for (std::int64_t k = begin; k < end; ++k)
                            to[k] = static_cast<To>(from[k]);
                        });
    return to;
  }
}

} // namespace

template <class T>
file_triplets<T> read_triplets(const host_context& ctx, const std::string& path,
                               const read_options& options) {
  if (path == "-") {
    const std::string name = "standard input";
    text_source source(standard_input(), name);
    return read_matrix_market<T>(ctx, source, name, options);
  }
  const mapped_file file(path);
  file_kind kind = kind_of_name(path);
  if (kind == file_kind::unknown) kind = kind_of_bytes(file.bytes());
  switch (kind) {
  case file_kind::matrix_market: {
    text_source source = open_text(file, path);
    return read_matrix_market<T>(ctx, source, path, options);
  }
  case file_kind::npz: return read_npz<T>(ctx, file.bytes(), path, options);
  case file_kind::mat:
    return is_hdf5(file.bytes()) ? read_mat73<T>(ctx, file.bytes(), path, options)
                                 : read_mat5<T>(ctx, file.bytes(), path, options);
  case file_kind::binsparse: return read_binsparse<T>(ctx, file.bytes(), path, options);
  case file_kind::rutherford_boeing:
    return read_rutherford_boeing<T>(ctx, file.bytes(), path, options);
  case file_kind::archive: return read_archive<T>(ctx, file, path, options);
  case file_kind::unknown: break;
  }
  throw bad_input(fmt::format("neither its name nor its first bytes say what it is; known are {}",
                              readable_endings),
                  path, 0);
}

template <class T>
file_matrix<T> read(const host_context& ctx, const std::string& path, const read_options& options) {
  auto entries = read_triplets<T>(ctx, path, options);
  file_info about = entries.about;
  const auto repeated = [&](std::int64_t row, std::int64_t col) {
    throw_repeated(about, path, row, col);
  };
  return {assemble(ctx, std::move(entries), options.duplicates, repeated), std::move(about)};
}

template <class T, class I, class O>
csr<T, I, O> read_csr(const host_context& ctx, const std::string& path,
                      const read_options& options) {
  auto [matrix, about] = read<T>(ctx, path, options);
  return std::visit(
      [&]<class I2, class O2>(csr<T, I2, O2>&& a) -> csr<T, I, O> {
        const index<I> shape{checked_cast<I>(a.shape().row, "rows"),
                             checked_cast<I>(a.shape().col, "columns")};
        checked_cast<O>(a.size(), "the number of entries");
        auto [rowptr, colind, values] = std::move(a).release();
        return {shape,
                with_width<O>(ctx, std::move(rowptr)),
                with_width<I>(ctx, std::move(colind)),
                std::move(values),
                {true, true}};
      },
      std::move(matrix));
}

template <class T>
array<T> read_vector(const host_context& ctx, const std::string& path,
                     const read_options& options) {
  read_options chosen = options;
  if (kind_of_name(path) == file_kind::archive && options.member.empty())
    chosen.member = archive_stem(path) + "_b.mtx";
  const auto [matrix, about] = read<T>(ctx, path, chosen);
  if (about.rows != 1 && about.cols != 1)
    throw bad_input(fmt::format("{} x {} is not a vector: that has one column or one row",
                                about.rows, about.cols),
                    path, 0);
  // Room for all elements: a file of few entries may claim many.
  array<T> v(ctx, about.cols == 1 ? about.rows : about.cols);
  std::fill(v.begin(), v.end(), T{0});
  const bool column = about.cols == 1;
  std::visit(
      [&](const auto& a) {
        for (std::int64_t i = 0; i < a.shape().row; ++i)
          for (std::int64_t k = a.rowptr()[i]; k < a.rowptr()[i + 1]; ++k)
            v[column ? i : a.colind()[k]] = a.values()[k];
      },
      matrix);
  return v;
}

bool is_readable_name(const std::string& path) { return kind_of_name(path) != file_kind::unknown; }
bool is_writable_name(const std::string& path) { return is_writable_kind(kind_to_write(path)); }

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_triplets(const host_context&, const std::string&,                 \
                                          const read_options&);                                    \
  template file_matrix<T> read(const host_context&, const std::string&, const read_options&);      \
  template array<T> read_vector(const host_context&, const std::string&, const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> read_csr(const host_context&, const std::string&, const read_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
