// `lacuna solve --mpi`: what the program asks of liblacunapetsc.so, which it loads only then, so
// that it links neither MPI nor PETSc itself.
#pragma once

#include <string>

#include <lacuna/io/triplets.hpp>
#include <lacuna/solver/report.hpp>

namespace lacuna::petsc {

struct mpi_solve_request {
  std::string matrix, b, x; ///< b empty: seeded; x empty: not written
  std::string method = "auto", preconditioner = "auto";
  stopping_rule stop;
  int restart = 30;
  int threads = 1; ///< of each rank
  std::uint64_t seed = 1;
  bool verify = false;
  io::read_options read;
};

struct mpi_solve_outcome {
  int rank = 0, ranks = 1; ///< known as soon as MPI runs, whatever is thrown later
  std::int64_t rows = 0, entries = 0;
  solve_report report; ///< the same on every rank
  double verified = 0; ///< relative residual by plain loops
};

/// Runs MPI and PETSc, from start to end; every rank calls it. Throws what solve() and the readers
/// throw, on all ranks the same. Rank 0 writes x, complete or not at all.
using mpi_solve_function = void(const mpi_solve_request& request, mpi_solve_outcome& outcome);
inline constexpr const char* mpi_solve_name = "lacuna_mpi_solve";
inline constexpr const char* mpi_solve_library = "liblacunapetsc.so";

} // namespace lacuna::petsc
