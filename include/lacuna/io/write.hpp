// Matrices and vectors to files, in the format of the extension: .mtx, .mtx.gz, .mtx.zst, .npz,
// .mat, .bsp.h5, .rb. All go through a temporary file in the same folder that is renamed when it is
// complete and on disk: a full disk or a kill leaves nothing under the final name, or what was
// there before. Numbers are written such that reading them gives the same bits.
#pragma once

#include <functional>
#include <string>

#include <lacuna/format/csr.hpp>
#include <lacuna/io/triplets.hpp>

namespace lacuna::io {

struct write_options {
  /// pattern leaves the values out (they must be 1); integer writes them as whole numbers (they
  /// must be such). Formats without these notions store them as real.
  field values = field::real;
  /// symmetric and skew_symmetric store the lower triangle only; the matrix must be so, bit by
  /// bit. Formats without this notion store all of it.
  symmetry structure = symmetry::general;
  std::string comment = {}; ///< for Matrix Market: one '%' line for each of its lines
  /// Called now and then with entries written and entries in all, from one thread at a time.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

/// Throws error with the system's reason if the file cannot be written, bad_input if the extension
/// is unknown or the matrix is not what the options say, unsupported if this build lacks the
/// library. Rows need not be sorted. "-" is standard output, as Matrix Market.
template <class T, class I, class O>
LACUNA_EXPORT void write(const host_context& ctx, const std::string& path,
                         csr_view<const T, I, O> a, const write_options& options = {});
template <class T, class I, class O>
void write(const host_context& ctx, const std::string& path, const csr<T, I, O>& a,
           const write_options& options = {}) {
  write(ctx, path, a.view(), options);
}
/// A complex matrix: real and imaginary parts of the same pattern. Of the options, `values` does
/// not matter; hermitian stores the lower triangle of a matrix that is so.
template <class T, class I, class O>
LACUNA_EXPORT void write_complex(const host_context& ctx, const std::string& path,
                                 csr_view<const T, I, O> real, csr_view<const T, I, O> imaginary,
                                 const write_options& options = {});
template <class T, class I, class O>
void write(const std::string& path, const csr<T, I, O>& a, const write_options& options = {}) {
  write(default_context<space::host>(), path, a.view(), options);
}
/// A Matrix Market array with one column, a Binsparse DVEC, or an n x 1 matrix of the other
/// formats.
template <class T>
LACUNA_EXPORT void write_vector(const host_context& ctx, const std::string& path,
                                vector_view<const T> v);

} // namespace lacuna::io
