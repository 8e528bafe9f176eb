// NumPy arrays as .npy files hold them (format versions 1 to 3).
#pragma once

#include <string>
#include <vector>

#include "io/formats.hpp"
#include "io/raw_array.hpp"

namespace lacuna::io {

struct npy {
  char kind = 0;              ///< NumPy's letter: b i u f c, S (bytes), U (text)
  std::int64_t item_size = 0; ///< in bytes
  bool swapped = false;       ///< the other byte order than this machine's
  bool column_major = false;
  std::vector<std::int64_t> shape; ///< empty: one element
  std::int64_t size = 0;           ///< elements
  std::size_t header_bytes = 0;    ///< before them
  bytes_view data;                 ///< exactly size * item_size, once they are read
};

/// The header, of which `first` has at least most_npy_header bytes or all of the `bytes` that the
/// array has; its data must be as long as it says. Throws bad_input; unsupported for records and
/// pickled objects. `what` is for messages.
npy parse_npy_header(bytes_view first, std::uint64_t bytes, const std::string& what,
                     const std::string& file);
/// NumPy writes longer ones only for records.
inline constexpr std::size_t most_npy_header = 10 + 65535;
/// Header and data.
npy parse_npy(bytes_view bytes, const std::string& what, const std::string& file);
/// Its elements as numbers, over the same bytes. Throws unsupported if they are none that we read.
raw_array numbers_of(const npy& a, const std::string& what, const std::string& file);
/// The only element of an array of kind S or U, if it is ASCII; else empty.
std::string text_of(const npy& a);

/// What stands before the elements of a little-endian array: descr is "<f8", shape "(3, 4)" or
/// "()".
std::string npy_header(const std::string& descr, const std::string& shape);

} // namespace lacuna::io
