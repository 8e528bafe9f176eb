// Internal: what the features of a matrix say about its formats.
#pragma once

#include <lacuna/plan/choose.hpp>

namespace lacuna::planning {

/// A new format must be predicted this much faster than CSR, all told: predictions are not better.
inline constexpr double least_gain = 0.97;

/// Whether slices take fewer bytes when they are stored by diagonals.
bool is_diagonal(const spmv_features& f, const type_widths& w);
/// Whether all slices can be given one width.
bool is_even(const spmv_features& f);

/// Rows of `threshold` entries or more, as far as the histogram tells.
struct long_part {
  std::int64_t rows = 0;
  std::int64_t entries = 0;
};
long_part rows_from(const spmv_features& f, std::int64_t threshold);

/// Bytes of the matrix in the format of a class of kernels.
double matrix_bytes(const spmv_features& f, const type_widths& w, spmv_class kernel);

} // namespace lacuna::planning
