// Matrix Market files (Boisvert, Pozo, Remington 1996): the reader and the writer.
#pragma once

#include "io/formats.hpp"
#include "io/text_source.hpp"

namespace lacuna::io {

/// What stands above the entries.
struct matrix_market_header {
  bool coordinate = true; ///< else array: all values, column by column
  field values = field::real;
  bool is_unsigned = false; ///< unsigned-integer
  symmetry structure = symmetry::general;
  std::int64_t rows = 0, cols = 0;
  std::int64_t entries = 0; ///< that the file must hold
  std::string comment;
};

/// Takes lines from the source, which is at the file's beginning, and leaves in `rest` the text of
/// the current block behind the size line. `line` counts lines.
matrix_market_header read_matrix_market_header(text_source& source, const std::string& name,
                                               text_block& rest, std::int64_t& line);

template <class T>
file_triplets<T> read_matrix_market(const host_context& ctx, text_source& source,
                                    const std::string& name, const read_options& options);

/// The lines of the first two entries of this coordinate (0-based; of a symmetric file also its
/// mirror image); 0 for what there is not. Reads the file again: for messages.
std::pair<std::int64_t, std::int64_t> find_lines(text_source& source, const std::string& name,
                                                 std::int64_t row, std::int64_t col);

template <class T, class I, class O>
void write_matrix_market(const host_context& ctx, output_file& file, const matrix_parts<T, I, O>& a,
                         const write_options& options, compression packed);
template <class T>
void write_matrix_market_vector(const host_context& ctx, output_file& file, vector_view<const T> v,
                                compression packed);

} // namespace lacuna::io
