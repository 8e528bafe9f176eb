// Matrices and vectors from files, pipes and standard input ("-"), by their first bytes or, where
// these say nothing, their extension:
//
//   .mtx             Matrix Market
//   .npz .npy        SciPy: csr, csc, coo, bsr, dia; NumPy arrays
//   .mat             MATLAB, sparse or full: version 4 to 7, and 7.3 (needs HDF5)
//   .bsp.h5          Binsparse 0.1 (needs HDF5): CSR, CSC, COO, DMAT, DVEC
//   .rb .rua .rsa …  Rutherford-Boeing and Harwell-Boeing
//   .tar             an archive of such files, as SuiteSparse's: NAME/NAME.mtx of NAME.tar.gz
//
// .mtx, .rb and .tar may be compressed: .gz, .zst, .bz2.
//
//   auto [a, about] = io::read<double>(ctx, "bcsstk18.mtx.gz");   // widths chosen by the size
//   auto b = io::read_csr<double>(ctx, "cage10.mtx");             // widths chosen by the caller
//
// Result: rows sorted, every coordinate once, symmetry unfolded. Explicit zeros of sparse files
// stay; of dense ones (Matrix Market array, full MATLAB, DMAT) what is not 0 becomes an entry.
// Memory is bounded by the file's size, never by what its header claims. Whatever is wrong with
// a file is bad_input with its name and, for text, line; complex values and formats that this
// build cannot read are unsupported. Whole numbers that no double has (beyond 2^53) are bad_input.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <lacuna/format/csr.hpp>
#include <lacuna/io/triplets.hpp>

namespace lacuna::io {

/// A matrix of the narrowest widths that hold it. One whose columns need 64 bits has offsets of 64
/// bits, too.
template <class T>
using any_csr = std::variant<csr<T, std::int32_t, std::int32_t>, csr<T, std::int32_t, std::int64_t>,
                             csr<T, std::int64_t, std::int64_t>>;

template <class T> struct file_matrix {
  any_csr<T> matrix;
  file_info about;
};

template <class T>
LACUNA_EXPORT file_matrix<T> read(const host_context& ctx, const std::string& path,
                                  const read_options& options = {});
/// The entries as they are in the file.
template <class T>
LACUNA_EXPORT file_triplets<T> read_triplets(const host_context& ctx, const std::string& path,
                                             const read_options& options = {});
/// Throws bad_input if the matrix does not fit the widths.
template <class T, class I = index_t, class O = I>
LACUNA_EXPORT csr<T, I, O> read_csr(const host_context& ctx, const std::string& path,
                                    const read_options& options = {});
/// Real and imaginary parts: two matrices of the same pattern.
template <class T> struct complex_file_matrix {
  any_csr<T> real;
  std::optional<any_csr<T>> imaginary; ///< nothing if the file's values are not complex
  file_info about;
};
/// As read(), but complex values are kept, whatever the options say of them.
template <class T>
LACUNA_EXPORT complex_file_matrix<T> read_complex(const host_context& ctx, const std::string& path,
                                                  const read_options& options = {});
/// A matrix of one column or one row, sparse or not, as a dense vector; of .npy also an array of
/// one dimension.
template <class T>
LACUNA_EXPORT array<T> read_vector(const host_context& ctx, const std::string& path,
                                   const read_options& options = {});

/// The same with all threads of the host.
template <class T = double>
file_matrix<T> read(const std::string& path, const read_options& options = {}) {
  return read<T>(default_context<space::host>(), path, options);
}
template <class T = double, class I = index_t, class O = I>
csr<T, I, O> read_csr(const std::string& path, const read_options& options = {}) {
  return read_csr<T, I, O>(default_context<space::host>(), path, options);
}
template <class T = double>
array<T> read_vector(const std::string& path, const read_options& options = {}) {
  return read_vector<T>(default_context<space::host>(), path, options);
}

/// Unfolds symmetry, sorts, treats duplicates as the options say. Takes the entries' memory over.
/// Throws unsupported if they are complex.
template <class T>
LACUNA_EXPORT any_csr<T> assemble(const host_context& ctx, file_triplets<T> entries,
                                  duplicates rule = duplicates::sum);

/// Whether read() and write() know this name's extension.
LACUNA_EXPORT bool is_readable_name(const std::string& path);
LACUNA_EXPORT bool is_writable_name(const std::string& path);

} // namespace lacuna::io
