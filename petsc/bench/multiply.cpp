// MatMult with PETSc's own kernels and with Lacuna's, in turn, over generated matrices:
//
//   mpirun -n 2 lacuna-bench-petsc -dll_append liblacunapetsc.so -matrices
//   "poisson3d:n=64;fem3d:n=16,dof=3"
//
// Names of files are read where a generator's name would stand. Prints seconds of a product with
// either, their ratio, what the plan took, in products of PETSc's, and after how many products it
// is repaid. Options of the plug-in (-lacuna_multiplies …) hold here, too. With -type seqaij
// PETSc's kernels run on both sides: the ratios then are those of the measuring.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <petscmat.h>

#include <lacuna/core/error.hpp>
#include <lacuna/gen/generate.hpp>
#include <lacuna/io/read.hpp>

namespace {

/// About 10 MB each, as lacuna-bench's small set, and 150 to 250 MB, as its medium one.
constexpr const char* small_set =
    "poisson2d:n=400;poisson3d:n=48;poisson3d27:n=32;fem3d:n=16,dof=3;tridiagonal:n=300000;"
    "banded:n=30000,half_bandwidth=16;dense:n=1000,m=1000;uniform:rows=60000,per_row=16;"
    "rmat:scale=16,edges=16;kron:scale=15,edges=16;circuit:n=200000;arrow:n=300000";
constexpr const char* medium_set =
    "poisson2d:n=1500;poisson3d:n=128;poisson3d27:n=80;fem3d:n=40,dof=3;tridiagonal:n=5000000;"
    "banded:n=500000,half_bandwidth=16;dense:n=4000,m=4000;uniform:rows=1000000,per_row=16;"
    "rmat:scale=20,edges=16;kron:scale=19,edges=16;circuit:n=3000000;arrow:n=4000000;"
    "poisson2d9:n=1300;rgg:scale=20;qcd:n=14;elasticity3d:n=44;kkt:n=66;cage:length=8;"
    "epidemiology:n=3000;trace3:n=2145;mesh2d:n=1400,shuffle=1;road:n=2500;debruijn:scale=22;"
    "web:n=3000000;patents:n=3000000;lp:rows=4284,cols=1090000;localized:n=150000";

/// This rank's rows, in memory as PETSc's own matrices have it.
struct local_rows {
  PetscInt rows = PETSC_DECIDE, cols = PETSC_DECIDE, all_rows = 0, all_cols = 0;
  std::vector<PetscInt> rowptr, colind;
  std::vector<PetscScalar> values;
};
PetscErrorCode take_rows(const lacuna::csr<double, int, int>& a, local_rows& r) {
  PetscFunctionBegin;
  r.all_rows = a.shape().row;
  r.all_cols = a.shape().col;
  PetscInt end = 0;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &r.rows, &r.all_rows));
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &r.cols, &r.all_cols));
  PetscCallMPI(MPI_Scan(&r.rows, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  r.rowptr.assign(a.rowptr().begin() + end - r.rows, a.rowptr().begin() + end + 1);
  const PetscInt first = r.rowptr.front(), last = r.rowptr.back();
  for (PetscInt& begin : r.rowptr) begin -= first;
  r.colind.assign(a.colind().begin() + first, a.colind().begin() + last);
  r.values.assign(a.values().begin() + first, a.values().begin() + last);
  PetscFunctionReturn(0);
}

/// A matrix of `type`'s blocks. On one rank all are the same arrays: two copies of a matrix differ
/// by up to a fourth in the time that one and the same loop takes, by where their pages lie.
PetscErrorCode make_matrix(local_rows& r, const char* type, Mat* made) {
  PetscFunctionBegin;
  PetscMPIInt ranks = 1;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsSetValue(nullptr, "-mat_seqaij_type", type));
  if (ranks == 1)
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, r.rows, r.cols, r.rowptr.data(),
                                        r.colind.data(), r.values.data(), made));
  else
    PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, r.rows, r.cols, r.all_rows, r.all_cols,
                                        r.rowptr.data(), r.colind.data(), r.values.data(), made));
  PetscFunctionReturn(0);
}

/// Seconds of a product on the slowest rank: of `count` in a row.
PetscErrorCode time_products(Mat a, Vec x, Vec y, int count, double* seconds) {
  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  const double began = MPI_Wtime();
  for (int k = 0; k < count; ++k) PetscCall(MatMult(a, x, y));
  const double mine = (MPI_Wtime() - began) / count;
  PetscCallMPI(MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

struct outcome {
  double ratio = 0, repaid = 0;
};

PetscErrorCode measure(const std::string& spec, const char* type, PetscInt rounds, outcome* found) {
  PetscFunctionBegin;
  local_rows rows;
  PetscCall(take_rows(spec.find('/') == std::string::npos
                          ? lacuna::gen::generate<double, int, int>(spec)
                          : lacuna::io::read_csr<double, int, int>(spec),
                      rows));
  std::array<Mat, 2> matrix{};
  PetscCall(make_matrix(rows, MATSEQAIJ, &matrix[0]));
  Vec x = nullptr, y = nullptr;
  PetscCall(MatCreateVecs(matrix[0], &x, &y));
  PetscCall(VecSetRandom(x, nullptr));
  double warm = 0;
  PetscCall(time_products(matrix[0], x, y, 2, &warm));
  // The first plan, and the median of some in memory that one before has had: what the system takes
  // to hand out memory varies, by a factor of five on a virtual machine.
  std::vector<double> first(4);
  for (double& seconds : first) {
    PetscCall(MatDestroy(&matrix[1]));
    PetscCall(make_matrix(rows, type, &matrix[1]));
    PetscCall(time_products(matrix[1], x, y, 1, &seconds)); // plans
  }
  const int count = std::clamp(static_cast<int>(0.02 / warm), 1, 1000);
  std::array<std::vector<double>, 2> seconds;
  for (PetscInt r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k < 2; ++k) {
      double t = 0;
      PetscCall(time_products(matrix[k], x, y, count, &t));
      seconds[k].push_back(t);
    }
  const double own = median(seconds[0]), ours = median(seconds[1]);
  const double in_new_memory = std::max(first[0] - ours, 0.0);
  first.erase(first.begin());
  const double plan = std::max(median(first) - ours, 0.0);
  found->ratio = own / ours;
  found->repaid = own > ours ? plan / (own - ours) : INFINITY;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %10.1f %10.1f %6.2f %8.1f %9.1f %9.1f\n",
                        spec.c_str(), own * 1e6, ours * 1e6, found->ratio, plan / own,
                        found->repaid, in_new_memory / own));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  for (Mat& m : matrix) PetscCall(MatDestroy(&m));
  PetscFunctionReturn(0);
}

PetscErrorCode run() {
  PetscFunctionBegin;
  std::vector<char> names(4096);
  PetscBool given = PETSC_FALSE;
  PetscInt rounds = 15;
  PetscCall(
      PetscOptionsGetString(nullptr, nullptr, "-matrices", names.data(), names.size(), &given));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-rounds", &rounds, nullptr));
  std::array<char, 64> type{"seqaijlacuna"};
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-type", type.data(), type.size(), nullptr));
  std::string set = given ? names.data() : "small";
  if (set == "small") set = small_set;
  if (set == "medium") set = medium_set;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %10s %10s %6s %8s %9s %9s\n", "", "PETSc, us",
                        "Lacuna, us", "ratio", "plan", "repaid by", "first"));
  std::istringstream list(set);
  double logarithms = 0, least = INFINITY;
  int count = 0;
  for (std::string spec; std::getline(list, spec, ';'); ++count) {
    outcome found;
    PetscCall(measure(spec, type.data(), rounds, &found));
    logarithms += std::log(found.ratio);
    least = std::min(least, found.ratio);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "geometric mean of %d: %.3f, least %.2f\n", count,
                        std::exp(logarithms / count), least));
  PetscFunctionReturn(0);
}

} // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  try {
    PetscCall(run());
  } catch (const std::exception& e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s", e.what());
  }
  return PetscFinalize();
}
