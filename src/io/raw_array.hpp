// Arrays as binary files hold them, in one of many number types and either byte order; and how
// triplets are made of them. Every function checks what it reads: bad_input names array and place.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include <lacuna/io/triplets.hpp>

namespace lacuna::io {

enum class number : std::uint8_t {
  boolean, ///< a byte; whatever is not 0 is true
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  complex64,
  complex128 ///< pairs of float32, of float64
};

std::int64_t size_of(number type) noexcept; ///< in bytes
bool is_complex(number type) noexcept;
/// integer, real or complex.
field field_of(number type) noexcept;

/// `size` numbers, at any alignment.
struct raw_array {
  std::string what;           ///< for messages: "indices.npy", "A.ir"
  const char* data = nullptr; ///< into the file, or into `owned`
  std::int64_t size = 0;
  number type = number::float64;
  bool swapped = false; ///< the other byte order than this machine's
  array<char> owned;
};

[[noreturn]] void throw_bad(const std::string& what, const std::string& file);
/// Complex values and complex_rule::refuse: throws unsupported that names the options.
void require_complex_rule(complex_rule rule, const std::string& file);

/// One element of an integer array.
std::int64_t integer_at(const raw_array& a, std::int64_t k, const std::string& file);
/// a * b of sizes from a file.
std::int64_t product(std::int64_t a, std::int64_t b, const std::string& file);

/// Whether a double has all its digits: not every whole number beyond 2^53 does.
inline bool is_exact(std::uint64_t magnitude) {
  return static_cast<int>(std::bit_width(magnitude)) - std::countr_zero(magnitude) <= 53;
}
inline std::uint64_t magnitude_of(std::int64_t n) {
  return n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
}

/// Values of entries. There are imaginary parts only of complex values that are kept.
template <class T> struct entry_values {
  array<T> real;
  array<T> imaginary = {};
};

/// All elements, as T. Complex ones by the rule; integers that no double has are bad_input.
template <class T>
entry_values<T> values_of(const host_context& ctx, const raw_array& a, complex_rule rule,
                          const std::string& file);
/// Real and imaginary parts in arrays of their own.
template <class T>
entry_values<T> values_of(const host_context& ctx, const raw_array& real,
                          const raw_array& imaginary, complex_rule rule, const std::string& file);

// The entries of a matrix. `about` has the file, the format, the shape, the kind of values and the
// structure; `values` is empty for a pattern.

enum class major { row, column };
/// CSR and CSC: pointers has one element per row (column) and one more, from 0 to the number of
/// entries, which is the size of `indices`.
template <class T>
file_triplets<T> from_compressed(const host_context& ctx, file_info about, major order,
                                 const raw_array& pointers, const raw_array& indices,
                                 entry_values<T> values);
/// What from_compressed() asks of the pointers of `rows` rows. Throws bad_input.
void check_pointers(const raw_array& pointers, std::int64_t rows, std::int64_t entries,
                    const std::string& file);
template <class T>
file_triplets<T> from_coordinates(const host_context& ctx, file_info about, const raw_array& rows,
                                  const raw_array& cols, entry_values<T> values);
/// All rows * cols values; those that are not 0, and -0, become entries.
template <class T>
file_triplets<T> from_dense(const host_context& ctx, file_info about, major order,
                            entry_values<T> values);

/// What a structure becomes when complex values are made real: |a| of a skew-symmetric matrix is
/// symmetric.
symmetry structure_of_real(symmetry structure, bool complex_values, complex_rule rule) noexcept;
/// Symmetric, skew-symmetric and Hermitian: square, all entries on one side of the diagonal, and
/// for skew-symmetric nothing but 0 on it. Throws bad_input.
template <class T> void check_structure(const host_context& ctx, const file_triplets<T>& entries);

} // namespace lacuna::io
