#include <lacuna/io/read.hpp>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include <lacuna/core/error.hpp>

#include "cpu/rows.hpp"
#include "io/assemble.hpp"
#include "io/file_kind.hpp"
#include "io/formats.hpp"
#include "io/matrix_market.hpp"
#include "io/naming.hpp"
#include "io/tar.hpp"

namespace lacuna::io {
namespace {

/// Of pipes and packed files: formats other than text and archives are held in whole.
constexpr std::size_t most_held = std::size_t{1} << 30;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string shown_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::vector<char> all_of(byte_stream& stream, const std::string& name) {
  std::vector<char> all;
  std::size_t size = 0;
  while (true) {
    all.resize(std::max<std::size_t>(2 * size, 1 << 16));
    const std::size_t got = stream.read(all.data() + size, all.size() - size);
    size += got;
    if (size > most_held)
      throw unsupported("more than 1 GiB from a pipe or packed, in a format that is not text: save "
                        "it as a plain file",
                        name, 0);
    if (got == 0) break;
  }
  all.resize(size);
  return all;
}

/// Another stream, which outlives it.
class borrowed_stream : public byte_stream {
public:
  explicit borrowed_stream(byte_stream& from) : from_(from) {}
  std::size_t read(char* to, std::size_t size) override { return from_.read(to, size); }
  [[nodiscard]] std::int64_t consumed() const override { return from_.consumed(); }
  [[nodiscard]] std::int64_t total() const override { return from_.total(); }

private:
  byte_stream& from_;
};

[[noreturn]] void throw_unknown(const std::string& name) {
  throw bad_input(fmt::format("neither its name nor its first bytes say what it is; known are {}",
                              readable_endings),
                  name, 0);
}

using stream_maker = std::function<std::unique_ptr<byte_stream>()>;

template <class T>
file_triplets<T> read_archive(const host_context& ctx, const stream_maker& open,
                              const std::string& path, const std::string& name,
                              const read_options& options);

/// A file of a known kind, other than Matrix Market, whose bytes are in memory.
template <class T>
file_triplets<T> read_bytes(const host_context& ctx, file_kind kind, bytes_view bytes,
                            const std::string& path, const std::string& name,
                            const read_options& options) {
  switch (kind) {
  case file_kind::npz: return read_npz<T>(ctx, bytes, name, options);
  case file_kind::npy: return read_npy<T>(ctx, bytes, name, options);
  case file_kind::mat:
    if (is_hdf5(bytes)) return read_mat73<T>(ctx, bytes, name, options);
    return is_mat4(bytes) ? read_mat4<T>(ctx, bytes, name, options)
                          : read_mat5<T>(ctx, bytes, name, options);
  case file_kind::binsparse: return read_binsparse<T>(ctx, bytes, name, options);
  case file_kind::rutherford_boeing: return read_rutherford_boeing<T>(ctx, bytes, name, options);
  case file_kind::archive:
    return read_archive<T>(
        ctx, [&] { return memory_stream(bytes); }, path, name, options);
  case file_kind::matrix_market:
  case file_kind::unknown: break;
  }
  throw_unknown(name);
}

/// Whatever a stream gives, compressed or not. Text is never held in whole.
template <class T>
file_triplets<T> read_stream(const host_context& ctx, std::unique_ptr<byte_stream> from,
                             const std::string& path, const std::string& name,
                             const read_options& options) {
  auto packed = std::make_unique<peeked_stream>(std::move(from));
  const compression c = compression_of(packed->peek(kind_bytes));
  auto plain = std::make_unique<peeked_stream>(decompress(std::move(packed), c, name));
  const file_kind kind = kind_of(path, plain->peek(kind_bytes));
  if (kind == file_kind::unknown) throw_unknown(name);
  if (kind != file_kind::matrix_market)
    return read_bytes<T>(ctx, kind, all_of(*plain, name), path, name, options);
  text_source source(std::move(plain), name);
  return read_matrix_market<T>(ctx, source, name, options);
}

std::string joined(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t k = 0; k < std::min<std::size_t>(names.size(), 10); ++k)
    result += (k == 0 ? "" : ", ") + names[k];
  return names.size() > 10 ? result + ", …" : result;
}

/// The matrix in an archive whose name does not tell it: the only one in a folder of its own name
/// (SuiteSparse's NAME/NAME.mtx, beside NAME/NAME_b.mtx), or the only one at all.
const std::string& choose_member(const std::vector<std::string>& matrices,
                                 const std::vector<std::string>& all, const std::string& name) {
  if (matrices.empty())
    throw bad_input("as a tar archive: no matrix in it; it has " +
                        (all.empty() ? "nothing" : joined(all)),
                    name, 0);
  if (matrices.size() == 1) return matrices[0];
  std::vector<const std::string*> main;
  for (const std::string& m : matrices) {
    const std::string file = file_name(m),
                      folder = file_name(m.substr(0, m.size() - file.size() - (m == file ? 0 : 1)));
    if (file.starts_with(folder + ".")) main.push_back(&m);
  }
  if (main.size() == 1) return *main[0];
  throw bad_input(fmt::format("{} matrices in it, none of the archive's name; choose one with "
                              "--member: {}",
                              matrices.size(), joined(matrices)),
                  name, 0);
}

/// The matrix of an archive: the member asked for, or NAME.mtx or NAME.rb of NAME.tar.gz, or what
/// choose_member says, for which the archive is read twice. All of it is read in any case: its
/// checksum is known at its end.
template <class T>
file_triplets<T> read_archive(const host_context& ctx, const stream_maker& open,
                              const std::string& path, const std::string& name,
                              const read_options& options) {
  const std::string stem = archive_stem(path);
  const auto is_wanted = [&](const std::string& member) {
    const std::string file = file_name(member);
    return options.member.empty() ? file == stem + ".mtx" || file == stem + ".rb"
                                  : member == options.member || file == options.member;
  };
  std::vector<std::string> all, matrices;
  const auto read_member = [&](tar_stream& tar) {
    const std::string member = tar.path();
    read_options plain = options;
    plain.member.clear();
    auto result = read_stream<T>(ctx, std::make_unique<borrowed_stream>(tar), member,
                                 name + ":" + member, plain);
    while (tar.next()) all.push_back(tar.path());
    result.about.member = member;
    result.about.others = std::move(all);
    return result;
  };
  {
    tar_stream tar(open(), name);
    while (tar.next()) {
      if (is_wanted(tar.path())) return read_member(tar);
      all.push_back(tar.path());
      peeked_stream file(std::make_unique<borrowed_stream>(tar));
      if (kind_of_name(all.back()) != file_kind::unknown ||
          kind_of_bytes(file.peek(kind_bytes)) != file_kind::unknown)
        matrices.push_back(all.back());
    }
  }
  if (!options.member.empty())
    throw bad_input(fmt::format("as a tar archive: no {} in it; it has {}", options.member,
                                all.empty() ? "nothing" : joined(all)),
                    name, 0);
  const std::string& chosen = choose_member(matrices, all, name);
  all.clear();
  tar_stream tar(open(), name);
  while (tar.next() && tar.path() != chosen) all.push_back(tar.path());
  return read_member(tar);
}

template <class T>
file_triplets<T> read_file(const host_context& ctx, const std::string& path,
                           const read_options& options) {
  if (path == "-" || !mapped_file::can_map(path)) {
    const std::string name = shown_name(path);
    return read_stream<T>(ctx, open_stream(path, name), path, name, options);
  }
  const mapped_file file(path);
  const auto open = [&] { return decompress(file.bytes(), path); };
  const bool packed = compression_of(file.bytes()) != compression::none;
  const auto kind =
      packed ? kind_of(path, peeked_stream(open()).peek(kind_bytes))
             : kind_of(path, file.bytes().first(std::min(file.bytes().size(), kind_bytes)));
  if (kind == file_kind::archive) return read_archive<T>(ctx, open, path, path, options);
  if (packed) return read_stream<T>(ctx, memory_stream(file.bytes()), path, path, options);
  if (kind != file_kind::matrix_market)
    return read_bytes<T>(ctx, kind, file.bytes(), path, path, options);
  text_source source(file);
  return read_matrix_market<T>(ctx, source, path, options);
}

[[noreturn]] void throw_repeated(const file_info& about, const std::string& path, std::int64_t row,
                                 std::int64_t col) {
  std::string what = fmt::format("entry ({}, {}) is stored more than once", row + 1, col + 1);
  const bool text = about.format == "Matrix Market coordinate" && path == about.file;
  if (!text || !mapped_file::can_map(path)) throw bad_input(what, about.file, 0);
  const mapped_file file(path);
  text_source source(decompress(file.bytes(), path), path);
  const auto [first, second] = find_lines(source, path, row, col);
  throw bad_input(fmt::format("{}, first on line {}", what, first), path, second);
}

template <class T>
any_csr<T> assemble_file(const host_context& ctx, file_triplets<T> entries, const std::string& path,
                         duplicates rule) {
  const file_info about = entries.about;
  return assemble(ctx, std::move(entries), rule, [&](std::int64_t row, std::int64_t col) {
    throw_repeated(about, path, row, col);
  });
}

/// Takes the imaginary parts out, as the values of entries at the same places.
template <class T>
file_triplets<T> take_imaginary(const host_context& ctx, file_triplets<T>& entries) {
  file_triplets<T> result{{}, entries.about};
  if (result.about.structure == symmetry::hermitian)
    result.about.structure = symmetry::skew_symmetric;
  std::visit(
      [&]<class I>(triplets<T, I>& e) {
        triplets<T, I> copy{e.shape, array<I>(ctx, e.rowind.size()), array<I>(ctx, e.colind.size()),
                            std::move(e.imaginary)};
        std::copy(e.rowind.begin(), e.rowind.end(), copy.rowind.begin());
        std::copy(e.colind.begin(), e.colind.end(), copy.colind.begin());
        e.imaginary = {};
        result.entries = std::move(copy);
      },
      entries.entries);
  return result;
}

/// Copies with other widths.
template <class To, class From> array<To> with_width(const host_context& ctx, array<From> from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else {
    array<To> to(ctx, from.size());
    detail::cpu::for_each_range(ctx, from.size(), detail::cpu::entry_grain,
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
  return naming(shown_name(path), [&] { return read_file<T>(ctx, path, options); });
}

template <class T>
file_matrix<T> read(const host_context& ctx, const std::string& path, const read_options& options) {
  return naming(shown_name(path), [&]() -> file_matrix<T> {
    auto entries = read_file<T>(ctx, path, options);
    file_info about = entries.about;
    return {assemble_file(ctx, std::move(entries), path, options.duplicates), std::move(about)};
  });
}

template <class T>
complex_file_matrix<T> read_complex(const host_context& ctx, const std::string& path,
                                    const read_options& options) {
  return naming(shown_name(path), [&]() -> complex_file_matrix<T> {
    read_options all = options;
    all.complex = complex_rule::keep;
    auto entries = read_file<T>(ctx, path, all);
    file_info about = entries.about;
    std::optional<any_csr<T>> imaginary;
    if (about.values == field::complex)
      imaginary = assemble_file(ctx, take_imaginary(ctx, entries), path, options.duplicates);
    return {assemble_file(ctx, std::move(entries), path, options.duplicates), std::move(imaginary),
            std::move(about)};
  });
}

template <class T, class I, class O>
csr<T, I, O> read_csr(const host_context& ctx, const std::string& path,
                      const read_options& options) {
  return naming(shown_name(path), [&] {
    auto entries = read_file<T>(ctx, path, options);
    // A matrix with too many rows is not made first.
    const index<I> shape{checked_cast<I>(entries.about.rows, "rows"),
                         checked_cast<I>(entries.about.cols, "columns")};
    auto matrix = assemble_file(ctx, std::move(entries), path, options.duplicates);
    return std::visit(
        [&]<class I2, class O2>(csr<T, I2, O2>&& a) -> csr<T, I, O> {
          checked_cast<O>(a.size(), "the number of entries");
          auto [rowptr, colind, values] = std::move(a).release();
          return {shape,
                  with_width<O>(ctx, std::move(rowptr)),
                  with_width<I>(ctx, std::move(colind)),
                  std::move(values),
                  {true, true}};
        },
        std::move(matrix));
  });
}

template <class T>
array<T> read_vector(const host_context& ctx, const std::string& path,
                     const read_options& options) {
  read_options chosen = options;
  if (kind_of_name(path) == file_kind::archive && options.member.empty())
    chosen.member = archive_stem(path) + "_b.mtx";
  const auto [matrix, info] = read<T>(ctx, path, chosen);
  const file_info& about = info; // lambdas cannot take names of a structured binding
  if (about.rows != 1 && about.cols != 1)
    throw bad_input(fmt::format("{} x {} is not a vector: that has one column or one row",
                                about.rows, about.cols),
                    path, 0);
  // Room for all elements: a file of few entries may claim many.
  auto v = naming(shown_name(path), [&, size = about.cols == 1 ? about.rows : about.cols] {
    return array<T>(ctx, size);
  });
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
bool is_writable_name(const std::string& path) { return kind_to_write(path) != file_kind::unknown; }

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_triplets(const host_context&, const std::string&,                 \
                                          const read_options&);                                    \
  template file_matrix<T> read(const host_context&, const std::string&, const read_options&);      \
  template complex_file_matrix<T> read_complex(const host_context&, const std::string&,            \
                                               const read_options&);                               \
  template array<T> read_vector(const host_context&, const std::string&, const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template csr<T, I, O> read_csr(const host_context&, const std::string&, const read_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
