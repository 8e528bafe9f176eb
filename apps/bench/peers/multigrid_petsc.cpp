// lacuna-bench-multigrid-petsc: a system by CG with PETSc's GAMG and with hypre's BoomerAMG, run by
// lacuna-bench with as many ranks as Lacuna has threads (multigrid_exchange.hpp).
#include <petscksp.h>

#include "bench/peers/multigrid_exchange.hpp"

namespace {

using lacuna::bench::multigrid_task;

struct configuration {
  const char* name;
  const char* options;
};
#define LACUNA_HYPRE                                                                               \
  "-pc_type hypre -pc_hypre_type boomeramg -pc_hypre_boomeramg_interp_type ext+i "
/// Sensible ones, of which the best counts. BoomerAMG: PMIS or HMIS, extended+i interpolation of at
/// most 4 entries, thresholds for 2D and 3D, with and without aggressive coarsening.
constexpr configuration configurations[] = {
    {"PETSc GAMG", "-pc_type gamg"},
    {"PETSc GAMG, threshold 0.02",
     "-pc_type gamg -pc_gamg_threshold 0.02 -pc_gamg_threshold_scale 0.5"},
    {"PETSc GAMG, SOR",
     "-pc_type gamg -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type sor"},
    {"hypre BoomerAMG, HMIS, 0.25",
     LACUNA_HYPRE "-pc_hypre_boomeramg_coarsen_type HMIS -pc_hypre_boomeramg_P_max 4"},
    {"hypre BoomerAMG, HMIS, 0.5",
     LACUNA_HYPRE "-pc_hypre_boomeramg_coarsen_type HMIS -pc_hypre_boomeramg_P_max 4 "
                  "-pc_hypre_boomeramg_strong_threshold 0.5"},
    {"hypre BoomerAMG, PMIS, 0.5",
     LACUNA_HYPRE "-pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_P_max 4 "
                  "-pc_hypre_boomeramg_strong_threshold 0.5"},
    {"hypre BoomerAMG, HMIS, 0.25, aggressive",
     LACUNA_HYPRE "-pc_hypre_boomeramg_coarsen_type HMIS -pc_hypre_boomeramg_P_max 4 "
                  "-pc_hypre_boomeramg_agg_nl 1"},
    {"hypre BoomerAMG, HMIS, 0.5, aggressive",
     LACUNA_HYPRE "-pc_hypre_boomeramg_coarsen_type HMIS -pc_hypre_boomeramg_P_max 4 "
                  "-pc_hypre_boomeramg_agg_nl 1 -pc_hypre_boomeramg_strong_threshold 0.5"}};

struct task_on_ranks {
  Mat a = nullptr;
  Vec b = nullptr, x = nullptr;
  PetscMPIInt rank = 0;
};

PetscErrorCode take_in(const multigrid_task& t, task_on_ranks& to) {
  PetscFunctionBeginUser;
  PetscMPIInt ranks = 1;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &to.rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  const long nodes = t.rows / t.unknowns;
  const long first = nodes * to.rank / ranks * t.unknowns;
  const long rows = nodes * (to.rank + 1) / ranks * t.unknowns - first;
  auto rowptr = t.read<PetscInt>(".rowptr", first, rows + 1);
  const long at = rowptr.front(), entries = rowptr.back() - at;
  for (PetscInt& r : rowptr) r -= static_cast<PetscInt>(at);
  const auto colind = t.read<PetscInt>(".colind", at, entries);
  const auto values = t.read<double>(".values", at, entries);
  PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, static_cast<PetscInt>(rows),
                                      static_cast<PetscInt>(rows), PETSC_DETERMINE, PETSC_DETERMINE,
                                      rowptr.data(), colind.data(), values.data(), &to.a));
  PetscCall(MatSetOption(to.a, MAT_SPD, PETSC_TRUE));
  if (t.unknowns > 1) PetscCall(MatSetBlockSize(to.a, t.unknowns));
  PetscCall(MatCreateVecs(to.a, &to.x, &to.b));
  const auto fill = [&](Vec v, const char* end, long from) -> PetscErrorCode {
    PetscScalar* data = nullptr;
    PetscFunctionBeginUser;
    PetscCall(VecGetArray(v, &data));
    const auto some = t.read<double>(end, from + first, rows);
    std::copy(some.begin(), some.end(), data);
    PetscCall(VecRestoreArray(v, &data));
    PetscFunctionReturn(0);
  };
  PetscCall(fill(to.b, ".b", 0));
  if (t.vectors > 0) { // orthonormal, as PETSc wants them
    std::vector<Vec> near(static_cast<std::size_t>(t.vectors));
    for (std::size_t k = 0; k < near.size(); ++k) {
      PetscCall(VecDuplicate(to.b, &near[k]));
      PetscCall(fill(near[k], ".near", static_cast<long>(k) * t.rows));
      for (std::size_t before = 0; before < k; ++before) {
        PetscScalar along = 0;
        PetscCall(VecDot(near[k], near[before], &along));
        PetscCall(VecAXPY(near[k], -along, near[before]));
      }
      PetscCall(VecNormalize(near[k], nullptr));
    }
    MatNullSpace space = nullptr;
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, t.vectors, near.data(), &space));
    PetscCall(MatSetNearNullSpace(to.a, space));
    PetscCall(MatNullSpaceDestroy(&space));
    for (Vec& v : near) PetscCall(VecDestroy(&v));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode measure(const multigrid_task& t, const task_on_ranks& on, const configuration& c,
                       int number) {
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsClear(nullptr));
  PetscCall(PetscOptionsInsertString(nullptr, c.options));
  std::vector<double> set_up, solve;
  PetscInt iterations = 0;
  PetscReal grid = 0, complexity = 0;
  for (int round = 0; round < t.rounds; ++round) {
    KSP ksp = nullptr;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, on.a, on.a));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, t.tolerance, PETSC_DEFAULT, PETSC_DEFAULT, 300));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    double begin = MPI_Wtime();
    PetscCall(KSPSetUp(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    set_up.push_back(MPI_Wtime() - begin);
    PetscCall(VecSet(on.x, 0));
    begin = MPI_Wtime();
    PetscCall(KSPSolve(ksp, on.b, on.x));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    solve.push_back(MPI_Wtime() - begin);
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PC pc = nullptr;
    PetscBool multigrid = PETSC_FALSE;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(pc), PCGAMG, &multigrid));
    if (multigrid) PetscCall(PCMGGetGridComplexity(pc, &grid, &complexity));
    PetscCall(KSPDestroy(&ksp));
  }
  VecScatter gather = nullptr;
  Vec all = nullptr;
  PetscCall(VecScatterCreateToZero(on.x, &gather, &all));
  PetscCall(VecScatterBegin(gather, on.x, all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(gather, on.x, all, INSERT_VALUES, SCATTER_FORWARD));
  if (on.rank == 0) {
    const PetscScalar* x = nullptr;
    PetscCall(VecGetArrayRead(all, &x));
    t.answer(number, c.name, lacuna::bench::median_of(set_up), lacuna::bench::median_of(solve),
             static_cast<int>(iterations), complexity, x);
    PetscCall(VecRestoreArrayRead(all, &x));
  }
  PetscCall(VecDestroy(&all));
  PetscCall(VecScatterDestroy(&gather));
  PetscFunctionReturn(0);
}

} // namespace

int main(int count, char** words) {
  PetscFunctionBeginUser;
  const multigrid_task task(count, words);
  PetscCall(PetscInitialize(nullptr, nullptr, nullptr, nullptr));
  task_on_ranks on;
  PetscCall(take_in(task, on));
  int number = 0;
  for (const configuration& c : configurations) PetscCall(measure(task, on, c, number++));
  PetscCall(MatDestroy(&on.a));
  PetscCall(VecDestroy(&on.b));
  PetscCall(VecDestroy(&on.x));
  PetscCall(PetscFinalize());
  return 0;
}
