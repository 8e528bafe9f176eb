// MatMult with PETSc's own kernels and with Lacuna's, in turn, over generated matrices:
//
//   mpirun -n 2 lacuna-bench-petsc -dll_append liblacunapetsc.so -matrices
//   "poisson3d:n=64;fem3d:n=16,dof=3"
//
// Prints seconds of a product with either, their ratio, what the plan took, and after how many
// products it is repaid. Options of the plug-in (-lacuna_multiplies …) hold here, too.
#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <petscmat.h>

#include <lacuna/core/error.hpp>
#include <lacuna/gen/generate.hpp>

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

/// This rank's rows of a, as a matrix of `type`'s blocks.
PetscErrorCode make_matrix(const lacuna::csr<double, int, int>& a, const char* type, Mat* made) {
  PetscFunctionBegin;
  PetscMPIInt rank = 0, ranks = 1;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscInt rows = PETSC_DECIDE, cols = PETSC_DECIDE, all_rows = a.shape().row,
           all_cols = a.shape().col, end = 0;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &all_rows));
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &cols, &all_cols));
  PetscCallMPI(MPI_Scan(&rows, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  const PetscInt begin = end - rows;
  std::vector<PetscInt> rowptr(a.rowptr().begin() + begin, a.rowptr().begin() + end + 1);
  const PetscInt first = rowptr.front();
  for (PetscInt& r : rowptr) r -= first;
  PetscCall(PetscOptionsSetValue(nullptr, "-mat_seqaij_type", type));
  if (ranks == 1) {
    PetscCall(MatCreate(PETSC_COMM_SELF, made));
    PetscCall(MatSetSizes(*made, rows, cols, all_rows, all_cols));
    PetscCall(MatSetType(*made, MATSEQAIJ));
    PetscCall(MatSeqAIJSetPreallocationCSR(*made, rowptr.data(), a.colind().data() + first,
                                           a.values().data() + first));
  } else {
    PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, rows, cols, all_rows, all_cols,
                                        rowptr.data(), a.colind().data() + first,
                                        a.values().data() + first, made));
  }
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

PetscErrorCode measure(const std::string& spec, PetscInt rounds, outcome* found) {
  PetscFunctionBegin;
  const auto a = lacuna::gen::generate<double, int, int>(spec);
  std::array<Mat, 2> matrix{};
  PetscCall(make_matrix(a, MATSEQAIJ, &matrix[0]));
  PetscCall(make_matrix(a, "seqaijlacuna", &matrix[1]));
  Vec x = nullptr, y = nullptr;
  PetscCall(MatCreateVecs(matrix[0], &x, &y));
  PetscCall(VecSetRandom(x, nullptr));
  double first = 0, second = 0, warm = 0;
  PetscCall(time_products(matrix[0], x, y, 2, &warm));
  PetscCall(time_products(matrix[1], x, y, 1, &first)); // plans
  PetscCall(time_products(matrix[1], x, y, 1, &second));
  const int count = std::clamp(static_cast<int>(0.02 / warm), 1, 1000);
  std::array<std::vector<double>, 2> seconds;
  for (PetscInt r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k < 2; ++k) {
      double t = 0;
      PetscCall(time_products(matrix[k], x, y, count, &t));
      seconds[k].push_back(t);
    }
  const double own = median(seconds[0]), ours = median(seconds[1]);
  const double plan = std::max(first - ours, 0.0);
  found->ratio = own / ours;
  found->repaid = own > ours ? plan / (own - ours) : INFINITY;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %10.1f %10.1f %6.2f %8.1f %9.1f\n", spec.c_str(),
                        own * 1e6, ours * 1e6, found->ratio, plan / own, found->repaid));
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
  std::string set = given ? names.data() : "small";
  if (set == "small") set = small_set;
  if (set == "medium") set = medium_set;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-36s %10s %10s %6s %8s %9s\n", "", "PETSc, us",
                        "Lacuna, us", "ratio", "plan", "repaid by"));
  std::istringstream list(set);
  double logarithms = 0, least = INFINITY;
  int count = 0;
  for (std::string spec; std::getline(list, spec, ';'); ++count) {
    outcome found;
    PetscCall(measure(spec, rounds, &found));
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
