// MATLAB files with one variable, A, a sparse matrix of doubles: version 7 (5 without zlib) where
// its 32-bit sizes do, else 7.3.
#include <limits>

#include <fmt/format.h>

#include "cpu/rows.hpp"
#include "io/deflate.hpp"
#include "io/formats.hpp"
#include "io/hdf5_file.hpp"
#include "io/write_progress.hpp"
#include <lacuna/core/error.hpp>
#include <lacuna/op/convert.hpp>

namespace lacuna::io {
namespace {

/// 124 bytes of text, then version and byte order.
std::string file_header(const char* version, std::uint16_t level) {
  std::string result =
      fmt::format("MATLAB {} MAT-file, Platform: any, Created by: Lacuna", version);
  result.resize(116, ' ');
  result.resize(124, '\0'); // no data of subsystems
  result += {static_cast<char>(level & 0xff), static_cast<char>(level >> 8), 'I', 'M'};
  return result;
}

template <class To, class V> array<To> copy_as(const host_context& ctx, vector_view<V> from) {
  array<To> to(ctx, from.size());
  detail::cpu::for_each_range(ctx, from.size(), detail::cpu::entry_grain,
                              [&](std::int64_t begin, std::int64_t end) {
                                for (std::int64_t k = begin; k < end; ++k)
                                  to[k] = static_cast<To>(from[k]);
                              });
  return to;
}

template <class To> std::string_view bytes_of(const array<To>& a) {
  return {reinterpret_cast<const char*>(a.data()), a.bytes()};
}

void put(std::string& to, std::uint32_t word) {
  to.append(reinterpret_cast<const char*>(&word), sizeof word);
}
constexpr std::int64_t padded(std::int64_t bytes) { return (bytes + 7) / 8 * 8; }

enum element_type : std::uint32_t {
  mi_int8 = 1,
  mi_int32 = 5,
  mi_uint32 = 6,
  mi_double = 9,
  mi_matrix = 14,
  mi_compressed = 15
};

/// Bytes of the variable: flags, dimensions, name, and three or four lists with a tag each.
std::int64_t variable_bytes(std::int64_t cols, std::int64_t entries, bool complex) {
  return 16 + 16 + 16 + 2 * 8 + padded(4 * entries) + padded(4 * (cols + 1)) +
         (complex ? 2 : 1) * (8 + 8 * entries);
}

/// A matrix by columns, and the imaginary parts of its entries.
template <class T, class I, class O> struct column_parts {
  csc<T, I, O> real, imaginary;
  bool complex;
  [[nodiscard]] std::int64_t bytes() const {
    return variable_bytes(real.shape().col, real.size(), complex);
  }
};

/// The variable's elements, in order, to `out`: anything with write(bytes).
template <class T, class I, class O, class Out>
void write_variable(const host_context& ctx, Out& out, const column_parts<T, I, O>& parts,
                    write_progress& progress) {
  const csc<T, I, O>& a = parts.real;
  const auto tag = [&](std::uint32_t type, std::int64_t bytes) {
    std::string result;
    put(result, type);
    put(result, static_cast<std::uint32_t>(bytes));
    return result;
  };
  const auto list = [&](std::uint32_t type, std::string_view bytes) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    out.write(tag(type, size));
    progress.write(out, bytes);
    out.write(std::string(static_cast<std::size_t>(padded(size) - size), '\0'));
  };
  const std::int64_t entries = a.size();
  std::string front = tag(mi_matrix, parts.bytes());
  front += tag(mi_uint32, 8);
  put(front, parts.complex ? 0x0805 : 0x0005);     // sparse
  put(front, static_cast<std::uint32_t>(entries)); // room, as it is called
  front += tag(mi_int32, 8);
  put(front, static_cast<std::uint32_t>(a.shape().row));
  put(front, static_cast<std::uint32_t>(a.shape().col));
  front += tag(mi_int8, 1);
  front += 'A';
  front.resize(front.size() + 7, '\0');
  out.write(front);
  list(mi_int32, bytes_of(copy_as<std::int32_t>(ctx, a.rowind())));
  list(mi_int32, bytes_of(copy_as<std::int32_t>(ctx, a.colptr())));
  list(mi_double, bytes_of(copy_as<double>(ctx, a.values())));
  if (parts.complex) list(mi_double, bytes_of(copy_as<double>(ctx, parts.imaginary.values())));
}

template <class T, class I, class O>
void write_mat5(const host_context& ctx, output_file& file, const column_parts<T, I, O>& a,
                write_progress& progress) {
  file.write(file_header("5.0", 0x0100));
  if (!can_deflate()) return write_variable(ctx, file, a, progress);
  std::string tag;
  put(tag, mi_compressed);
  put(tag, 0);
  file.write(tag);
  const std::int64_t begin = file.size();
  deflater out(file);
  write_variable(ctx, out, a, progress);
  out.finish();
  const auto size = static_cast<std::uint32_t>(file.size() - begin);
  file.write_at(begin - 4, {reinterpret_cast<const char*>(&size), sizeof size});
}

#ifdef LACUNA_HAS_HDF5

template <class T, class I, class O>
void write_mat73(const host_context& ctx, output_file& file, const column_parts<T, I, O>& parts,
                 write_progress& progress) {
  if (parts.complex)
    throw unsupported("a complex matrix of 2 GiB or more as a MATLAB file: write .bsp.h5 or .npz");
  const csc<T, I, O>& a = parts.real;
  constexpr std::size_t front = 512; // MATLAB's
  {
    hdf5_writer out(file, front);
    file.reserve(hdf5_room + 8 * (a.shape().col + 1) + 16 * a.size());
    out.add_group("/A");
    out.add_attribute("/A", "MATLAB_class", "double");
    out.add_attribute("/A", "MATLAB_sparse", static_cast<std::uint64_t>(a.shape().row));
    const auto jc = copy_as<std::uint64_t>(ctx, a.colptr());
    out.add_array("/A/jc", H5T_NATIVE_UINT64, jc.data(), jc.size());
    progress.add(4 * jc.size());
    if (a.size() > 0) {
      const auto ir = copy_as<std::uint64_t>(ctx, a.rowind());
      out.add_array("/A/ir", H5T_NATIVE_UINT64, ir.data(), ir.size());
      progress.add(4 * ir.size());
      const auto data = copy_as<double>(ctx, a.values());
      out.add_array("/A/data", H5T_NATIVE_DOUBLE, data.data(), data.size());
      progress.add(8 * data.size());
    }
    out.close();
  }
  file.write_at(0, file_header("7.3", 0x0200));
}

#else

template <class T, class I, class O>
void write_mat73(const host_context&, output_file&, const column_parts<T, I, O>&, write_progress&) {
  throw unsupported("a MATLAB file of 2 GiB or more needs HDF5, which this build lacks: install "
                    "libhdf5-dev and build again");
}

#endif

} // namespace

template <class T, class I, class O>
void write_mat(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& a,
               const write_options& options) {
  const auto columns_of = [&](csr_view<const T, I, O> part) { // rows ascend in each
    csc<T, I, O> columns = to_csc(ctx, part);
    return part.order().unique ? std::move(columns)
                               : merge_duplicates(ctx, columns, duplicates::sum);
  };
  const column_parts<T, I, O> columns{
      columns_of(a.real), a.complex ? columns_of(a.imaginary) : csc<T, I, O>(), a.complex};
  const std::int64_t rows = a.real.shape().row, cols = a.real.shape().col,
                     entries = columns.real.size();
  const bool narrow = fits<std::int32_t>(rows) && fits<std::int32_t>(cols) &&
                      fits<std::int32_t>(entries) && fits<std::int32_t>(columns.bytes());
  const std::int64_t value_bytes = a.complex ? 16 : 8;
  write_progress progress(options, entries, (4 + value_bytes) * entries + 4 * (cols + 1));
  narrow ? write_mat5(ctx, file, columns, progress) : write_mat73(ctx, file, columns, progress);
}

#define LACUNA_INSTANTIATE(T, I, O)                                                                \
  template void write_mat(const host_context&, output_file&, const matrix_parts<T, I, O>&,         \
                          const write_options&);
LACUNA_FOR_EACH_TYPE(LACUNA_INSTANTIATE)

} // namespace lacuna::io
