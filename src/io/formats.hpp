// One reader and one writer per file format. Readers see bytes and a name for messages; they throw
// bad_input(message, name, line) and unsupported. Each is instantiated for float and double.
#pragma once

#include <span>
#include <string>

#include "io/output_file.hpp"
#include <lacuna/io/triplets.hpp>
#include <lacuna/io/write.hpp>

namespace lacuna::io {

using bytes_view = std::span<const char>;

template <class T>
file_triplets<T> read_npz(const host_context& ctx, bytes_view file, const std::string& name,
                          const read_options& options);
/// One array: a matrix, or a vector as a column.
template <class T>
file_triplets<T> read_npy(const host_context& ctx, bytes_view file, const std::string& name,
                          const read_options& options);
/// Version 4.
template <class T>
file_triplets<T> read_mat4(const host_context& ctx, bytes_view file, const std::string& name,
                           const read_options& options);
/// Level 5 to 7; 7.3 is HDF5 and goes to read_mat73.
template <class T>
file_triplets<T> read_mat5(const host_context& ctx, bytes_view file, const std::string& name,
                           const read_options& options);
template <class T>
file_triplets<T> read_mat73(const host_context& ctx, bytes_view file, const std::string& name,
                            const read_options& options);
template <class T>
file_triplets<T> read_binsparse(const host_context& ctx, bytes_view file, const std::string& name,
                                const read_options& options);
template <class T>
file_triplets<T> read_rutherford_boeing(const host_context& ctx, bytes_view file,
                                        const std::string& name, const read_options& options);

/// What a writer gets: a matrix, or the two parts of a complex one, which have the same pattern.
template <class T, class I, class O> struct matrix_parts {
  csr_view<const T, I, O> real;
  csr_view<const T, I, O> imaginary = {};
  bool complex = false;
};

template <class T, class I, class O>
void write_npz(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& a,
               const write_options& options);
template <class T, class I, class O>
void write_mat(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& a,
               const write_options& options);
template <class T, class I, class O>
void write_binsparse(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& a,
                     const write_options& options);
template <class T, class I, class O>
void write_rutherford_boeing(const host_context& ctx, output_file& file,
                             const matrix_parts<T, I, O>& a, const write_options& options);
template <class T>
void write_binsparse_vector(const host_context& ctx, output_file& file, vector_view<const T> v);

} // namespace lacuna::io
