// A matrix by its name, each rank its rows.
//
// A Matrix Market coordinate file that is not compressed is read by byte ranges: each rank parses
// its share of the text and sends entries to the ranks that own their rows. A rank holds then, at
// most, its share of the text, of the entries twice, and 16 numbers for each rank. Other files and
// generated matrices are read or made whole by every rank, which keeps its rows of them.
#pragma once

#include <mpi.h>
#include <string>

#include <lacuna/format/csr.hpp>
#include <lacuna/io/triplets.hpp>

namespace lacuna::petsc {

/// Rows [begin, end) of a matrix, columns as in the whole.
struct owned_rows {
  std::int64_t begin = 0, end = 0, rows = 0, cols = 0;
  std::int64_t entries = 0; ///< of the whole
  csr<double, std::int32_t, std::int32_t> matrix;
};

/// Shares of about equal entries. Throws, on all ranks alike, what io::read and gen::generate
/// throw, and bad_input if rows, columns or a rank's entries pass 2^31.
owned_rows read_rows(MPI_Comm comm, const std::string& name, const io::read_options& options);

} // namespace lacuna::petsc
