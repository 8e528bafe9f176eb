// A x = b on the ranks of MPI_COMM_WORLD: PETSc's methods over Lacuna's blocks.
#include "mpi_solve.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <petscksp.h>

#include "common/vectors.hpp"
#include "plugin.hpp"
#include "read_rows.hpp"
#include "together.hpp"
#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>
#include <lacuna/solver/solve.hpp>

extern "C" PETSC_VISIBILITY_PUBLIC PetscErrorCode PetscDLLibraryRegister_lacunapetsc();

namespace lacuna::petsc {
namespace {

/// A call of PETSc that fails ends the job with PETSc's message, on all ranks.
#define LACUNA_PETSC(call) PetscCallAbort(PETSC_COMM_WORLD, call)

/// PETSc and MPI, from here to the end of the scope.
class session {
public:
  explicit session(const mpi_solve_request& request) {
    // Signals are the program's: it removes unfinished files.
    static char name[] = "lacuna", option[] = "-no_signal_handler";
    static char* words[] = {name, option, nullptr};
    int count = 2;
    char** arguments = words;
    LACUNA_PETSC(PetscInitialize(&count, &arguments, nullptr, nullptr));
    LACUNA_PETSC(PetscDLLibraryRegister_lacunapetsc());
    LACUNA_PETSC(PetscOptionsSetValue(nullptr, "-mat_seqaij_type", matrix_type));
    LACUNA_PETSC(
        PetscOptionsSetValue(nullptr, "-lacuna_threads", std::to_string(request.threads).c_str()));
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { static_cast<void>(PetscFinalize()); }
};

struct distributed {
  Mat a = nullptr;
  Vec b = nullptr, x = nullptr;
  KSP ksp = nullptr;
  distributed() = default;
  distributed(const distributed&) = delete;
  distributed& operator=(const distributed&) = delete;
  ~distributed() {
    static_cast<void>(KSPDestroy(&ksp));
    static_cast<void>(MatDestroy(&a));
    static_cast<void>(VecDestroy(&b));
    static_cast<void>(VecDestroy(&x));
  }
};

void make_matrix(const owned_rows& mine, Mat& a) {
  const auto rows = static_cast<PetscInt>(mine.end - mine.begin);
  std::vector<PetscInt> rowptr(mine.matrix.rowptr().begin(), mine.matrix.rowptr().end());
  std::vector<PetscInt> colind(mine.matrix.colind().begin(), mine.matrix.colind().end());
  if (rowptr.empty()) rowptr.push_back(0);
  const double* const values = mine.matrix.values().data();
  LACUNA_PETSC(MatCreate(PETSC_COMM_WORLD, &a));
  LACUNA_PETSC(MatSetSizes(a, rows, rows, static_cast<PetscInt>(mine.rows),
                           static_cast<PetscInt>(mine.cols)));
  LACUNA_PETSC(MatSetType(a, MATAIJ));
  LACUNA_PETSC(MatSeqAIJSetPreallocationCSR(a, rowptr.data(), colind.data(), values));
  LACUNA_PETSC(MatMPIAIJSetPreallocationCSR(a, rowptr.data(), colind.data(), values));
}

std::vector<int> counts_of(const owned_rows& mine, int ranks, std::vector<int>& first) {
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  const int own = static_cast<int>(mine.end - mine.begin), begin = static_cast<int>(mine.begin);
  first.resize(static_cast<std::size_t>(ranks));
  MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, PETSC_COMM_WORLD);
  MPI_Allgather(&begin, 1, MPI_INT, first.data(), 1, MPI_INT, PETSC_COMM_WORLD);
  return counts;
}

/// From its file, which rank 0 reads, or seeded as without MPI.
void fill_right_side(const mpi_solve_request& request, const owned_rows& mine,
                     const mpi_solve_outcome& at, Vec b) {
  PetscScalar* own = nullptr;
  LACUNA_PETSC(VecGetArrayWrite(b, &own));
  if (request.b.empty()) {
    for (std::int64_t i = mine.begin; i < mine.end; ++i)
      own[i - mine.begin] = app::seeded_element(request.seed, i);
  } else {
    array<double> whole;
    together(PETSC_COMM_WORLD, [&] {
      if (at.rank == 0) whole = io::read_vector<double>(host_context({1}), request.b, {});
      if (at.rank == 0)
        detail::require_same_size(request.matrix + " and " + request.b + ": solve", "rows of A",
                                  mine.rows, "elements of b", whole.size());
    });
    std::vector<int> first;
    const std::vector<int> counts = counts_of(mine, at.ranks, first);
    MPI_Scatterv(whole.data(), counts.data(), first.data(), MPI_DOUBLE, own,
                 static_cast<int>(mine.end - mine.begin), MPI_DOUBLE, 0, PETSC_COMM_WORLD);
  }
  LACUNA_PETSC(VecRestoreArrayWrite(b, &own));
}

/// Rows in which A v and A^T v differ by more than rounding, for a v of no meaning: none, if A is
/// symmetric.
std::int64_t unsymmetric_rows(Mat a, const owned_rows& mine) {
  Vec v = nullptr, forth = nullptr, back = nullptr;
  LACUNA_PETSC(MatCreateVecs(a, &v, &forth));
  LACUNA_PETSC(VecDuplicate(forth, &back));
  PetscScalar* element = nullptr;
  LACUNA_PETSC(VecGetArrayWrite(v, &element));
  for (std::int64_t i = mine.begin; i < mine.end; ++i)
    element[i - mine.begin] = app::seeded_element(17, i);
  LACUNA_PETSC(VecRestoreArrayWrite(v, &element));
  LACUNA_PETSC(MatMult(a, v, forth));
  LACUNA_PETSC(MatMultTranspose(a, v, back));
  double largest = 0;
  LACUNA_PETSC(VecNorm(forth, NORM_INFINITY, &largest));
  const PetscScalar *f = nullptr, *t = nullptr;
  LACUNA_PETSC(VecGetArrayRead(forth, &f));
  LACUNA_PETSC(VecGetArrayRead(back, &t));
  std::int64_t differ = 0;
  for (std::int64_t i = 0; i < mine.end - mine.begin; ++i)
    differ += std::abs(f[i] - t[i]) > 1e-12 * largest ? 1 : 0;
  LACUNA_PETSC(VecRestoreArrayRead(forth, &f));
  LACUNA_PETSC(VecRestoreArrayRead(back, &t));
  for (Vec* each : {&v, &forth, &back}) LACUNA_PETSC(VecDestroy(each));
  return differ;
}

/// What look_at_system finds, of all ranks' rows.
system_features look_at_rows(Mat a, const owned_rows& mine) {
  std::int64_t found[5] = {}; // unsymmetric, zero, negative, dominant, not finite
  found[0] = unsymmetric_rows(a, mine);
  for (std::int64_t r = mine.begin; r < mine.end; ++r) {
    double diagonal = 0, others = 0;
    for (auto k = mine.matrix.rowptr()[r - mine.begin];
         k < mine.matrix.rowptr()[r - mine.begin + 1]; ++k) {
      const double value = mine.matrix.values()[k];
      if (!std::isfinite(value)) ++found[4];
      if (mine.matrix.colind()[k] == r)
        diagonal += value;
      else
        others += std::abs(value);
    }
    found[1] += diagonal == 0 ? 1 : 0;
    found[2] += diagonal < 0 ? 1 : 0;
    found[3] += std::abs(diagonal) >= others ? 1 : 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, found, 5, MPI_INT64_T, MPI_SUM, PETSC_COMM_WORLD);
  system_features f;
  f.rows = mine.rows;
  f.entries = mine.entries;
  f.unsymmetric = found[0];
  f.zero_diagonals = found[1];
  f.negative_diagonals = found[2];
  f.dominant_rows = found[3];
  f.not_finite = found[4];
  return f;
}

/// PETSc's names for the blocks of each rank.
struct block_names {
  const char *name, *block;
};
constexpr block_names blocks[] = {{"ilu0", PCILU}, {"ic0", PCICC}, {"amg", preconditioner_type}};

/// Sets PC of the KSP; returns what to call it.
std::string set_preconditioner(PC pc, const std::string& name, int ranks) {
  if (name == "none" || name == "jacobi") {
    LACUNA_PETSC(PCSetType(pc, name == "none" ? PCNONE : PCJACOBI));
    return name;
  }
  for (const block_names& b : blocks)
    if (name == b.name) {
      LACUNA_PETSC(PCSetType(pc, ranks == 1 ? b.block : PCBJACOBI));
      if (ranks == 1) return name;
      LACUNA_PETSC(PetscOptionsSetValue(nullptr, "-sub_pc_type", b.block));
      return fmt::format("block jacobi, {} of each rank", name);
    }
  throw unsupported(fmt::format("--precond {} is not there with --mpi", name));
}

void set_method(KSP ksp, krylov_method method, int restart) {
  const char* type = KSPCG;
  switch (method) {
  case krylov_method::cg: type = KSPCG; break;
  case krylov_method::flexible_cg: type = KSPFCG; break;
  case krylov_method::minres: type = KSPMINRES; break;
  case krylov_method::bicgstab: type = KSPBCGS; break;
  case krylov_method::gmres: type = KSPGMRES; break;
  }
  LACUNA_PETSC(KSPSetType(ksp, type));
  // Methods measure the residual itself, as Lacuna's do; MINRES can measure it by M alone.
  if (method == krylov_method::minres) return;
  if (method == krylov_method::gmres || method == krylov_method::bicgstab)
    LACUNA_PETSC(KSPSetPCSide(ksp, PC_RIGHT));
  if (method == krylov_method::gmres) LACUNA_PETSC(KSPGMRESSetRestart(ksp, restart));
  LACUNA_PETSC(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
}

/// PETSc's own test, and the clock of the slowest rank.
struct clock_test {
  double began = 0, seconds = 0;
  void* own = nullptr;
  bool late = false;
};
PetscErrorCode test_with_clock(KSP ksp, PetscInt iteration, PetscReal norm,
                               KSPConvergedReason* reason, void* context) {
  PetscFunctionBegin;
  auto& clock = *static_cast<clock_test*>(context);
  PetscCall(KSPConvergedDefault(ksp, iteration, norm, reason, clock.own));
  if (*reason != KSP_CONVERGED_ITERATING || clock.seconds <= 0) PetscFunctionReturn(0);
  double taken = MPI_Wtime() - clock.began;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  if (taken > clock.seconds) {
    clock.late = true;
    *reason = KSP_DIVERGED_ITS;
  }
  PetscFunctionReturn(0);
}

stop_reason reason_of(KSPConvergedReason reason, bool late) {
  if (late) return stop_reason::time_limit;
  if (reason > 0) return stop_reason::converged;
  switch (reason) {
  case KSP_DIVERGED_ITS: return stop_reason::iteration_limit;
  case KSP_DIVERGED_NANORINF: return stop_reason::nan;
  case KSP_DIVERGED_INDEFINITE_PC:
  case KSP_DIVERGED_INDEFINITE_MAT: return stop_reason::indefinite;
  case KSP_DIVERGED_DTOL: return stop_reason::stagnation;
  default: return stop_reason::breakdown_pivot;
  }
}

/// |b - A x| by plain loops, for which every rank has all of x.
double plain_residual(const distributed& d, const owned_rows& mine, int ranks) {
  std::vector<double> whole(static_cast<std::size_t>(mine.rows));
  const PetscScalar *x = nullptr, *b = nullptr;
  std::vector<int> first;
  const std::vector<int> counts = counts_of(mine, ranks, first);
  LACUNA_PETSC(VecGetArrayRead(d.x, &x));
  LACUNA_PETSC(VecGetArrayRead(d.b, &b));
  MPI_Allgatherv(x, static_cast<int>(mine.end - mine.begin), MPI_DOUBLE, whole.data(),
                 counts.data(), first.data(), MPI_DOUBLE, PETSC_COMM_WORLD);
  double squares[2] = {0, 0};
  for (std::int64_t r = 0; r < mine.end - mine.begin; ++r) {
    double rest = b[r];
    for (auto k = mine.matrix.rowptr()[r]; k < mine.matrix.rowptr()[r + 1]; ++k)
      rest -= mine.matrix.values()[k] * whole[static_cast<std::size_t>(mine.matrix.colind()[k])];
    squares[0] += rest * rest;
    squares[1] += b[r] * b[r];
  }
  LACUNA_PETSC(VecRestoreArrayRead(d.x, &x));
  LACUNA_PETSC(VecRestoreArrayRead(d.b, &b));
  MPI_Allreduce(MPI_IN_PLACE, squares, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
  return std::sqrt(squares[1] > 0 ? squares[0] / squares[1] : squares[0]);
}

/// All of x on rank 0, which writes it.
void write_solution(const distributed& d, const owned_rows& mine, const mpi_solve_outcome& at,
                    const std::string& path) {
  const host_context one({1});
  array<double> whole;
  together(PETSC_COMM_WORLD, [&] { whole = array<double>(one, at.rank == 0 ? mine.rows : 0); });
  std::vector<int> first;
  const std::vector<int> counts = counts_of(mine, at.ranks, first);
  const PetscScalar* x = nullptr;
  LACUNA_PETSC(VecGetArrayRead(d.x, &x));
  MPI_Gatherv(x, static_cast<int>(mine.end - mine.begin), MPI_DOUBLE, whole.data(), counts.data(),
              first.data(), MPI_DOUBLE, 0, PETSC_COMM_WORLD);
  LACUNA_PETSC(VecRestoreArrayRead(d.x, &x));
  together(PETSC_COMM_WORLD, [&] {
    if (at.rank == 0) io::write_vector<double>(one, path, std::as_const(whole).view());
  });
}

double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  return seconds;
}

/// Sets up and runs the method; fills the report.
void solve_rows(const mpi_solve_request& request, const owned_rows& mine, distributed& d,
                mpi_solve_outcome& result) {
  solve_report& r = result.report;
  const double began = MPI_Wtime();
  const system_features found = look_at_rows(d.a, mine);
  const solver_choice choice = choose_solver(found, request.method, request.preconditioner);
  r.method = name_of(choice.method);
  r.choice = choice.reasons;
  if (found.unsymmetric > 0 && request.method == "auto") // counted here by rows
    r.choice.front() =
        fmt::format("not symmetric: A v and A^T v differ in {} rows", found.unsymmetric);
  r.storage = fmt::format("{}, planned by each rank", matrix_type);
  r.tolerance = request.stop.relative < 0 ? 1e-8 : request.stop.relative;
  LACUNA_PETSC(KSPCreate(PETSC_COMM_WORLD, &d.ksp));
  LACUNA_PETSC(KSPSetOperators(d.ksp, d.a, d.a));
  set_method(d.ksp, choice.method, request.restart);
  PC pc = nullptr;
  LACUNA_PETSC(KSPGetPC(d.ksp, &pc));
  r.preconditioner = set_preconditioner(pc, choice.preconditioner, result.ranks);
  const std::int64_t most = request.stop.iterations > 0
                                ? request.stop.iterations
                                : std::clamp<std::int64_t>(10 * mine.rows, 1000, 50000);
  LACUNA_PETSC(KSPSetTolerances(d.ksp, r.tolerance, std::max(request.stop.absolute, 1e-300),
                                PETSC_DEFAULT, static_cast<PetscInt>(most)));
  clock_test clock;
  clock.seconds = request.stop.seconds;
  LACUNA_PETSC(KSPConvergedDefaultCreate(&clock.own));
  LACUNA_PETSC(KSPSetConvergenceTest(d.ksp, test_with_clock, &clock, nullptr));
  std::vector<double> history(static_cast<std::size_t>(most) + 1);
  LACUNA_PETSC(KSPSetResidualHistory(d.ksp, history.data(), static_cast<PetscInt>(history.size()),
                                     PETSC_TRUE));
  LACUNA_PETSC(KSPSetFromOptions(d.ksp));
  LACUNA_PETSC(KSPSetUp(d.ksp));
  LACUNA_PETSC(KSPSetUpOnBlocks(d.ksp));
  r.setup_seconds = slowest(MPI_Wtime() - began);
  clock.began = MPI_Wtime();
  LACUNA_PETSC(KSPSolve(d.ksp, d.b, d.x));
  r.solve_seconds = slowest(MPI_Wtime() - clock.began);
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt iterations = 0, kept = 0;
  LACUNA_PETSC(KSPGetConvergedReason(d.ksp, &reason));
  LACUNA_PETSC(KSPGetIterationNumber(d.ksp, &iterations));
  const PetscReal* norms = nullptr;
  LACUNA_PETSC(KSPGetResidualHistory(d.ksp, &norms, &kept));
  LACUNA_PETSC(KSPConvergedDefaultDestroy(clock.own));
  const double start = kept > 0 && norms[0] > 0 ? norms[0] : 1;
  for (PetscInt k = 0; k < kept; ++k) r.history.push_back(norms[k] / start);
  r.iterations = iterations;
  r.reason = reason_of(reason, clock.late);
}

/// The residual anew, and whether it is what was asked for: CG's own may have drifted.
void judge(distributed& d, mpi_solve_outcome& result) {
  solve_report& r = result.report;
  Vec rest = nullptr;
  double size = 0;
  LACUNA_PETSC(VecDuplicate(d.b, &rest));
  LACUNA_PETSC(MatResidual(d.a, d.b, d.x, rest));
  LACUNA_PETSC(VecNorm(rest, NORM_2, &r.residual));
  LACUNA_PETSC(VecNorm(d.b, NORM_2, &size));
  LACUNA_PETSC(VecDestroy(&rest));
  r.relative_residual = size > 0 ? r.residual / size : 0;
  const bool small = r.relative_residual <= 1.5 * r.tolerance;
  if (r.reason == stop_reason::converged && !small) r.reason = stop_reason::stagnation;
  r.converged = r.reason == stop_reason::converged;
  r.columns = {{r.converged, r.reason, r.iterations, r.residual, r.relative_residual}};
}

/// Blocks that were nobody's wish and cannot be factored.
bool gives_way(const mpi_solve_request& request, const solve_report& r) {
  return request.preconditioner == "auto" && r.preconditioner != "jacobi" &&
         r.preconditioner != "none" && r.iterations == 0 &&
         (r.reason == stop_reason::nan || r.reason == stop_reason::breakdown_pivot);
}

void run(const mpi_solve_request& request, mpi_solve_outcome& result) {
  const session running(request);
  MPI_Comm_rank(PETSC_COMM_WORLD, &result.rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &result.ranks);
  const owned_rows mine = read_rows(PETSC_COMM_WORLD, request.matrix, request.read);
  result.rows = mine.rows;
  result.entries = mine.entries;
  detail::require_same_size(request.matrix + ": solve", "rows of A", mine.rows, "columns of A",
                            mine.cols);
  distributed d;
  make_matrix(mine, d.a);
  LACUNA_PETSC(MatCreateVecs(d.a, &d.x, &d.b));
  fill_right_side(request, mine, result, d.b);
  LACUNA_PETSC(VecSet(d.x, 0));
  together(PETSC_COMM_WORLD, [&] { solve_rows(request, mine, d, result); });
  judge(d, result);
  if (gives_way(request, result.report)) {
    mpi_solve_request other = request;
    other.method = result.report.method;
    other.preconditioner = "jacobi";
    std::vector<std::string> why = std::move(result.report.choice);
    why.push_back(result.report.preconditioner + " failed, so jacobi instead");
    result.report = {};
    LACUNA_PETSC(KSPDestroy(&d.ksp));
    LACUNA_PETSC(VecSet(d.x, 0));
    together(PETSC_COMM_WORLD, [&] { solve_rows(other, mine, d, result); });
    judge(d, result);
    result.report.choice = std::move(why);
  }
  if (request.verify) result.verified = plain_residual(d, mine, result.ranks);
  if (!request.x.empty() && result.report.converged) write_solution(d, mine, result, request.x);
}

} // namespace
} // namespace lacuna::petsc

extern "C" PETSC_VISIBILITY_PUBLIC void
lacuna_mpi_solve(const lacuna::petsc::mpi_solve_request& request,
                 lacuna::petsc::mpi_solve_outcome& outcome) {
  try {
    lacuna::petsc::run(request, outcome);
  } catch (const std::bad_alloc&) { // of this rank alone: the others wait for it
    fmt::print(stderr, "lacuna: rank {} is out of memory\n", outcome.rank);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
}
