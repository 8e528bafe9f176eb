// What a reader gives: the entries as they stand in the file, and what the file says about them.
// Readers know no matrix type; io/read.hpp makes matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <lacuna/core/array.hpp>
#include <lacuna/format/common.hpp>

namespace lacuna::io {

/// Kind of the values in the file. A pattern has none: its entries count as 1.
enum class field { real, integer, pattern, complex };
/// Which entries the file leaves out: those above (or below) the diagonal that follow from others.
enum class symmetry { general, symmetric, skew_symmetric, hermitian };

/// "real", "skew-symmetric": the words of Matrix Market.
LACUNA_EXPORT const char* name_of(field f) noexcept;
LACUNA_EXPORT const char* name_of(symmetry s) noexcept;

struct file_info {
  std::string file;   ///< as it was named
  std::string format; ///< "Matrix Market coordinate", "SciPy csr"
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stored_entries = 0; ///< in the file: before symmetry is unfolded or zeros dropped
  field values = field::real;
  symmetry structure = symmetry::general;
  std::string comment; ///< of the file, without comment signs; lines end in '\n'
  /// Of a file that may hold several matrices (an archive, .mat, .npz of arrays, HDF5): which one
  /// this is, and the names of what else is there.
  std::string member = {};
  std::vector<std::string> others = {};
};

/// Entries in the order of the file, 0-based and within the shape. Of a symmetric matrix one
/// triangle is here, or parts of both but no off-diagonal pair (i, j) and (j, i).
template <class T, class I> struct triplets {
  index<I> shape;
  array<I> rowind;
  array<I> colind;
  array<T> values;         ///< empty if the field is pattern
  array<T> imaginary = {}; ///< parts of complex values that are kept; else empty
};

template <class T> struct file_triplets {
  /// 32-bit indices if rows and columns fit them, else 64-bit ones.
  std::variant<triplets<T, std::int32_t>, triplets<T, std::int64_t>> entries;
  file_info about;
};

/// What to make of complex values: throw unsupported, take the real part or the absolute value, or
/// keep both parts (read_triplets and read_complex; a real matrix cannot hold them).
enum class complex_rule { refuse, real, abs, keep };

struct read_options {
  lacuna::duplicates duplicates = lacuna::duplicates::sum; ///< entries with the same coordinate
  complex_rule complex = complex_rule::refuse;
  /// Which matrix of a file that holds several: a variable of a .mat file, a group of an HDF5
  /// file, a file of an archive. Empty: the only one, or the first, or the archive's own.
  std::string member = {};
  /// Called now and then with bytes read and bytes in all (0: unknown), from one thread at a time.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

} // namespace lacuna::io
