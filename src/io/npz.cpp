// SciPy's save_npz: a zip archive of NumPy arrays, among them one with the name of the format.
// An archive without it (numpy.savez) is read as a dense matrix or vector.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include "io/formats.hpp"
#include "io/npy.hpp"
#include "io/zip.hpp"
#include <lacuna/core/error.hpp>

namespace lacuna::io {
namespace {

struct archive {
  const host_context& ctx;
  const std::string& file;
  const read_options& options;
  std::vector<zip_member> members;

  [[nodiscard]] const zip_member* find(const std::string& name) const {
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const zip_member& m) { return m.name == name + ".npy"; });
    return member == members.end() ? nullptr : &*member;
  }
};

std::string stem_of(const zip_member& m) {
  return m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name;
}

/// What the header of an array that is a matrix or a vector says.
void about_array(const npy& a, const std::string& what, const std::string& file, file_info& about) {
  if (a.shape.empty() || a.shape.size() > 2)
    throw unsupported(
        fmt::format("{} has {} dimensions; vectors and matrices are read", what, a.shape.size()),
        file, 0);
  about.file = file;
  about.format = "NumPy array";
  about.rows = a.shape[0];
  about.cols = a.shape.size() == 2 ? a.shape[1] : 1;
  about.values = field_of(numbers_of(a, what, file).type);
}

/// One array of the archive. Its header is read at once, its elements when they are asked for: what
/// headers say is compared before anything large is inflated.
struct npz_array : npy {
  std::string name;

  npz_array(const archive& from, const zip_member& member) : name(member.name), member_(&member) {
    std::string start;
    static_cast<npy&>(*this) =
        parse_npy_header(unzip_first(member, most_npy_header, start, from.file),
                         static_cast<std::uint64_t>(member.size), name, from.file);
  }
  npz_array(const archive& from, const std::string& stem) : npz_array(from, needed(from, stem)) {}

  void require_dimensions(const archive& from, std::size_t dimensions) const {
    if (shape.size() != dimensions)
      throw_bad(fmt::format("{} has {} dimensions, not {}", name, shape.size(), dimensions),
                from.file);
  }
  void load(const archive& from) {
    if (data.empty()) data = unzip(from.ctx, *member_, owned_, from.file).subspan(header_bytes);
  }
  [[nodiscard]] raw_array numbers(const archive& from) {
    load(from);
    return numbers_of(*this, name, from.file);
  }
  [[nodiscard]] number type(const archive& from) const {
    return numbers_of(*this, name, from.file).type;
  }
  /// The numbers of a one-dimensional array.
  [[nodiscard]] raw_array list(const archive& from) {
    require_dimensions(from, 1);
    return numbers(from);
  }

private:
  static const zip_member& needed(const archive& from, const std::string& stem) {
    const zip_member* member = from.find(stem);
    if (member == nullptr) throw_bad("the archive has no array " + stem, from.file);
    return *member;
  }

  const zip_member* member_;
  array<char> owned_;
};

/// Pointers of `rows` rows, checked against the number of indices, whose own header is enough.
raw_array pointers_of(const archive& from, npz_array& indptr, std::int64_t rows,
                      const npz_array& indices) {
  indptr.require_dimensions(from, 1);
  indices.require_dimensions(from, 1);
  if (indptr.size - 1 != rows)
    throw_bad(fmt::format("{} has {} elements, the shape asks for {}", indptr.name, indptr.size,
                          static_cast<std::uint64_t>(rows) + 1),
              from.file);
  raw_array result = indptr.list(from);
  check_pointers(result, rows, indices.size, from.file);
  return result;
}

void require_values(const archive& from, std::int64_t values, std::int64_t entries) {
  if (values != entries)
    throw_bad(fmt::format("{} values for {} entries", values, entries), from.file);
}

template <class T> entry_values<T> values_of(const archive& from, npz_array& data) {
  return values_of<T>(from.ctx, data.numbers(from), from.options.complex, from.file);
}

template <class T>
file_triplets<T> read_compressed(const archive& from, file_info about, major order) {
  npz_array indptr(from, "indptr"), indices(from, "indices"), data(from, "data");
  data.require_dimensions(from, 1);
  about.values = field_of(data.type(from));
  const auto pointers =
      pointers_of(from, indptr, order == major::row ? about.rows : about.cols, indices);
  require_values(from, data.size, indices.size);
  return from_compressed<T>(from.ctx, std::move(about), order, pointers, indices.list(from),
                            values_of<T>(from, data));
}

template <class T> file_triplets<T> read_coordinates(const archive& from, file_info about) {
  npz_array row(from, "row"), col(from, "col"), data(from, "data");
  data.require_dimensions(from, 1);
  about.values = field_of(data.type(from));
  if (row.size != col.size)
    throw_bad(fmt::format("{} has {} elements, {} has {}", row.name, row.size, col.name, col.size),
              from.file);
  require_values(from, data.size, row.size);
  return from_coordinates<T>(from.ctx, std::move(about), row.list(from), col.list(from),
                             values_of<T>(from, data));
}

/// The entries of dense blocks whose coordinates, in blocks, are given.
template <class T, class I, class B>
triplets<T, I> unfold_blocks(const host_context& ctx, const triplets<T, B>& blocks, index<I> block,
                             bool column_major, index<I> shape, const entry_values<T>& values) {
  const std::int64_t count = blocks.rowind.size(), size = values.real.size();
  const bool complex = !values.imaginary.empty();
  triplets<T, I> result{shape, array<I>(ctx, size), array<I>(ctx, size), array<T>(ctx, size)};
  if (complex) result.imaginary = array<T>(ctx, size);
  if (count == 0) return result;
  const std::int64_t per_block = std::int64_t{block.row} * block.col;
  detail::cpu::for_each_range(
      ctx, count, detail::cpu::entry_grain / std::max<std::int64_t>(per_block, 1),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b)
          for (std::int64_t i = 0; i < block.row; ++i)
            for (std::int64_t j = 0; j < block.col; ++j) {
              const std::int64_t to = b * per_block + i * block.col + j;
              result.rowind[to] = static_cast<I>(blocks.rowind[b] * std::int64_t{block.row} + i);
              result.colind[to] = static_cast<I>(blocks.colind[b] * std::int64_t{block.col} + j);
              // Column-major is the whole three-dimensional array reversed.
              const std::int64_t at = column_major ? b + count * (i + block.row * j) : to;
              result.values[to] = values.real[at];
              if (complex) result.imaginary[to] = values.imaginary[at];
            }
      });
  return result;
}

template <class T> file_triplets<T> read_blocks(const archive& from, file_info about) {
  npz_array indptr(from, "indptr"), indices(from, "indices"), data(from, "data");
  data.require_dimensions(from, 3);
  const std::int64_t height = data.shape[1], width = data.shape[2];
  if (height < 1 || width < 1 || about.rows % height != 0 || about.cols % width != 0)
    throw_bad(fmt::format("blocks of {} x {} do not tile a matrix of {} x {}", height, width,
                          about.rows, about.cols),
              from.file);
  if (data.shape[0] != indices.size)
    throw_bad(fmt::format("{} has {} blocks, {} has {}", data.name, data.shape[0], indices.name,
                          indices.size),
              from.file);
  file_info in_blocks = about;
  in_blocks.rows /= height;
  in_blocks.cols /= width;
  in_blocks.values = field::pattern;
  const auto pointers = pointers_of(from, indptr, in_blocks.rows, indices);
  const auto blocks = from_compressed<T>(from.ctx, std::move(in_blocks), major::row, pointers,
                                         indices.list(from), {});
  about.values = field_of(data.type(from));
  about.stored_entries = data.size;
  const auto values = values_of<T>(from, data);
  const auto build = [&]<class I>(I) {
    return std::visit(
        [&](const auto& b) {
          return file_triplets<T>{
              unfold_blocks<T, I>(from.ctx, b, {static_cast<I>(height), static_cast<I>(width)},
                                  data.column_major,
                                  {static_cast<I>(about.rows), static_cast<I>(about.cols)}, values),
              about};
        },
        blocks.entries);
  };
  return fits<std::int32_t>(about.rows) && fits<std::int32_t>(about.cols) ? build(std::int32_t{})
                                                                          : build(std::int64_t{});
}

/// data[k][j] is the entry in column j of the diagonal that is offsets[k] above the main one. What
/// is not 0 becomes an entry, as in SciPy.
template <class T> file_triplets<T> read_diagonals(const archive& from, file_info about) {
  npz_array offsets(from, "offsets"), data(from, "data");
  offsets.require_dimensions(from, 1);
  if (data.shape.size() != 2 || data.shape[0] != offsets.size)
    throw_bad("data.npy does not have a row for each of offsets.npy", from.file);
  const std::int64_t count = offsets.size, length = data.shape[1];
  const std::int64_t diagonals = checked_add(about.rows, about.cols);
  if (count > diagonals || length > diagonals) // SciPy lets diagonals be longer than they need be
    throw_bad(fmt::format("{} diagonals of {} elements for a matrix of {} x {}", count, length,
                          about.rows, about.cols),
              from.file);
  const raw_array list = offsets.list(from);
  std::vector<std::int64_t> offset;
  for (std::int64_t k = 0; k < count; ++k) offset.push_back(integer_at(list, k, from.file));
  auto sorted = offset;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw_bad("offsets.npy has a diagonal twice", from.file);
  about.values = field_of(data.type(from));
  about.stored_entries = data.size;
  const auto values = values_of<T>(from, data);
  const bool complex = !values.imaginary.empty();

  const auto for_each_entry = [&](auto f) {
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t o = offset[static_cast<std::size_t>(k)];
      std::int64_t end = std::min(length, about.cols);
      if (o < end - about.rows) end = about.rows + o;
      for (std::int64_t j = std::max<std::int64_t>(o, 0); j < end; ++j)
        if (const std::int64_t at = data.column_major ? k + count * j : k * length + j;
            values.real[at] != 0 || (complex && values.imaginary[at] != 0))
          f(j - o, j, at);
    }
  };
  std::int64_t size = 0;
  for_each_entry([&](std::int64_t, std::int64_t, std::int64_t) { ++size; });
  const auto build = [&]<class I>(I) {
    triplets<T, I> result{{static_cast<I>(about.rows), static_cast<I>(about.cols)},
                          array<I>(from.ctx, size),
                          array<I>(from.ctx, size),
                          array<T>(from.ctx, size)};
    if (complex) result.imaginary = array<T>(from.ctx, size);
    std::int64_t to = 0;
    for_each_entry([&](std::int64_t i, std::int64_t j, std::int64_t at) {
      result.rowind[to] = static_cast<I>(i);
      result.colind[to] = static_cast<I>(j);
      if (complex) result.imaginary[to] = values.imaginary[at];
      result.values[to++] = values.real[at];
    });
    return file_triplets<T>{std::move(result), about};
  };
  return fits<std::int32_t>(about.rows) && fits<std::int32_t>(about.cols) ? build(std::int32_t{})
                                                                          : build(std::int64_t{});
}

/// numpy.savez: the array that is asked for, or the only one. A vector is a column.
template <class T> file_triplets<T> read_dense(const archive& from, file_info about) {
  const std::string& wanted = from.options.member;
  if (wanted.empty() && from.members.size() != 1)
    throw_bad(
        fmt::format("no SciPy matrix (there is no array format), and {} arrays to choose from",
                    from.members.size()),
        from.file);
  auto data = wanted.empty() ? npz_array(from, from.members[0]) : npz_array(from, wanted);
  for (const zip_member& m : from.members)
    (m.name == data.name ? about.member = stem_of(m) : about.others.emplace_back(stem_of(m)));
  about_array(data, data.name, from.file, about);
  return from_dense<T>(from.ctx, std::move(about), data.column_major ? major::column : major::row,
                       values_of<T>(from, data));
}

template <class T> file_triplets<T> read_archive(const archive& from) {
  file_info about;
  about.file = from.file;
  if (from.find("format") == nullptr) return read_dense<T>(from, std::move(about));
  if (!from.options.member.empty())
    throw_bad("a SciPy file holds one matrix, none by the name " + from.options.member, from.file);
  npz_array word(from, "format"), shape(from, "shape");
  if (word.size == 1 && word.item_size <= 64) word.load(from); // else it is no word
  const std::string format = text_of(word);
  about.format = "SciPy " + format;
  shape.require_dimensions(from, 1);
  if (shape.size != 2)
    throw unsupported(fmt::format("SciPy array of {} dimensions", shape.size), from.file, 0);
  const raw_array dimensions = shape.list(from);
  about.rows = integer_at(dimensions, 0, from.file);
  about.cols = integer_at(dimensions, 1, from.file);
  if (about.rows < 0 || about.cols < 0)
    throw_bad(fmt::format("a shape of {} x {}", about.rows, about.cols), from.file);
  if (format == "csr") return read_compressed<T>(from, std::move(about), major::row);
  if (format == "csc") return read_compressed<T>(from, std::move(about), major::column);
  if (format == "coo") return read_coordinates<T>(from, std::move(about));
  if (format == "bsr") return read_blocks<T>(from, std::move(about));
  if (format == "dia") return read_diagonals<T>(from, std::move(about));
  throw_bad("SciPy has no format \"" + format + '"', from.file);
}

template <class V> std::string_view bytes_of(vector_view<V> v) {
  return {reinterpret_cast<const char*>(v.data()), static_cast<std::size_t>(v.size()) * sizeof(V)};
}
template <class I> const char* integer_descr() { return sizeof(I) == 4 ? "<i4" : "<i8"; }

} // namespace

template <class T>
file_triplets<T> read_npz(const host_context& ctx, bytes_view file, const std::string& name,
                          const read_options& options) {
  auto result = read_archive<T>({ctx, name, options, zip_members(file, name)});
  const auto size = static_cast<std::int64_t>(file.size());
  if (options.progress) options.progress(size, size);
  return result;
}

template <class T>
file_triplets<T> read_npy(const host_context& ctx, bytes_view file, const std::string& name,
                          const read_options& options) {
  const npy data = parse_npy(file, "the array", name);
  file_info about;
  about_array(data, "the array", name, about);
  auto values = values_of<T>(ctx, numbers_of(data, "the array", name), options.complex, name);
  auto result = from_dense<T>(ctx, std::move(about), data.column_major ? major::column : major::row,
                              std::move(values));
  const auto size = static_cast<std::int64_t>(file.size());
  if (options.progress) options.progress(size, size);
  return result;
}

template <class T, class I, class O>
void write_npz(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& parts,
               const write_options& options) {
  const csr_view<const T, I, O>& a = parts.real;
  const auto list = [](std::int64_t size) { return fmt::format("({},)", size); };
  const std::int64_t shape[] = {a.shape().row, a.shape().col};
  const O no_rows[] = {0}; // a matrix that was never given memory has no pointers
  const vector_view<const O> rowptr = a.rowptr().empty() ? no_rows : a.rowptr();
  write_progress progress(
      options, a.size(),
      static_cast<std::int64_t>(bytes_of(a.colind()).size() + bytes_of(rowptr).size() +
                                bytes_of(a.values()).size() * (parts.complex ? 2 : 1)));
  zip_writer zip(file, progress);
  zip.add(ctx, "indices.npy", npy_header(integer_descr<I>(), list(a.size())), bytes_of(a.colind()));
  zip.add(ctx, "indptr.npy", npy_header(integer_descr<O>(), list(rowptr.size())), bytes_of(rowptr));
  zip.add(ctx, "format.npy", npy_header("|S3", "()"), "csr");
  zip.add(ctx, "shape.npy", npy_header("<i8", list(2)),
          bytes_of(vector_view<const std::int64_t>(shape)));
  if (parts.complex) {
    array<T> pairs(ctx, checked_mul(2, a.size()));
    for (std::int64_t k = 0; k < a.size(); ++k) {
      pairs[2 * k] = a.values()[k];
      pairs[2 * k + 1] = parts.imaginary.values()[k];
    }
    zip.add(ctx, "data.npy", npy_header(sizeof(T) == 4 ? "<c8" : "<c16", list(a.size())),
            bytes_of(vector_view<const T>(std::as_const(pairs).view())));
  } else {
    zip.add(ctx, "data.npy", npy_header(sizeof(T) == 4 ? "<f4" : "<f8", list(a.size())),
            bytes_of(a.values()));
  }
  zip.finish();
}

#define LACUNA_INSTANTIATE(T)                                                                      \
  template file_triplets<T> read_npz(const host_context&, bytes_view, const std::string&,          \
                                     const read_options&);                                         \
  template file_triplets<T> read_npy(const host_context&, bytes_view, const std::string&,          \
                                     const read_options&);
LACUNA_FOR_EACH_VALUE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE
#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write_npz(const host_context&, output_file&, const matrix_parts<T, I, O>&,         \
                          const write_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)
#undef LACUNA_INSTANTIATE

} // namespace lacuna::io
