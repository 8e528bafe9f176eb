// lacunaamg: on its own, with new values, and where it does not fit.
#include "petsc/session.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

/// Iterations of CG, and that it converged.
PetscInt iterations_of(KSP ksp, Vec b, Vec x) {
  PetscInt iterations = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  ok(VecSet(x, 0));
  ok(KSPSolve(ksp, b, x));
  ok(KSPGetIterationNumber(ksp, &iterations));
  ok(KSPGetConvergedReason(ksp, &reason));
  EXPECT_GT(reason, 0);
  return iterations;
}

TEST_F(Petsc, AmgPreconditionsAndFollowsValues) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=40");
  for (const char* kind : {"smoothed_aggregation", "classical"}) {
    set("-pc_lacunaamg_kind", kind);
    Mat matrix = make_mat(a, "seqaijlacuna");
    KSP ksp = nullptr;
    PC pc = nullptr;
    Vec b = make_vec(1600, 1), x = make_vec(1600, 2);
    ok(KSPCreate(PETSC_COMM_SELF, &ksp));
    ok(KSPSetType(ksp, KSPCG));
    ok(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    ok(KSPGetPC(ksp, &pc));
    ok(PCSetType(pc, "lacunaamg"));
    ok(KSPSetFromOptions(ksp));
    ok(KSPSetOperators(ksp, matrix, matrix));
    const PetscInt first = iterations_of(ksp, b, x);
    EXPECT_LT(first, 25);
    ok(MatScale(matrix, 1e6)); // with old values the preconditioner would be off by that
    ok(KSPSetOperators(ksp, matrix, matrix));
    EXPECT_EQ(iterations_of(ksp, b, x), first);
    ok(MatShift(matrix, 1e5));
    ok(KSPSetOperators(ksp, matrix, matrix));
    EXPECT_LE(iterations_of(ksp, b, x), first);
    ok(KSPDestroy(&ksp));
    ok(MatDestroy(&matrix));
    ok(VecDestroy(&b));
    ok(VecDestroy(&x));
  }
}

TEST_F(Petsc, AmgTakesBlocksAndNearNullSpaces) {
  const auto a = gen::generate<double, int, int>("fem3d:n=6,dof=3");
  Mat matrix = make_mat(a, MATSEQAIJ);
  ok(MatDestroy(&matrix));
  ok(MatCreate(PETSC_COMM_SELF, &matrix));
  ok(MatSetSizes(matrix, 648, 648, 648, 648));
  ok(MatSetBlockSize(matrix, 3));
  ok(MatSetType(matrix, MATSEQAIJ));
  ok(MatSeqAIJSetPreallocationCSR(matrix, a.rowptr().data(), a.colind().data(), a.values().data()));
  Vec modes[3] = {};
  for (PetscInt k = 0; k < 3; ++k) {
    modes[k] = make_vec(648, 1);
    ok(VecSet(modes[k], 0));
    for (PetscInt r = k; r < 648; r += 3) ok(VecSetValue(modes[k], r, 1, INSERT_VALUES));
    ok(VecAssemblyBegin(modes[k]));
    ok(VecAssemblyEnd(modes[k]));
    ok(VecNormalize(modes[k], nullptr));
  }
  MatNullSpace near = nullptr;
  ok(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_FALSE, 3, modes, &near));
  ok(MatSetNearNullSpace(matrix, near));
  PC pc = nullptr;
  ok(PCCreate(PETSC_COMM_SELF, &pc));
  ok(PCSetType(pc, "lacunaamg"));
  ok(PCSetOperators(pc, matrix, matrix));
  ok(PCSetUp(pc));
  ok(PCView(pc, PETSC_VIEWER_STDOUT_SELF));
  ok(PCDestroy(&pc));
  ok(MatNullSpaceDestroy(&near));
  for (Vec& v : modes) ok(VecDestroy(&v));
  ok(MatDestroy(&matrix));
}

TEST_F(Petsc, AmgRefusesWhatItCannotTake) {
  Mat dense = nullptr;
  ok(MatCreateSeqDense(PETSC_COMM_SELF, 4, 4, nullptr, &dense));
  ok(MatAssemblyBegin(dense, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(dense, MAT_FINAL_ASSEMBLY));
  PC pc = nullptr;
  ok(PCCreate(PETSC_COMM_SELF, &pc));
  ok(PCSetType(pc, "lacunaamg"));
  ok(PCSetOperators(pc, dense, dense));
  EXPECT_EQ(error_of([&] { return PCSetUp(pc); }),
            "56: -pc_type lacunaamg takes matrices of type aij, not seqdense");
  ok(PCDestroy(&pc));
  ok(MatDestroy(&dense));
}

} // namespace
} // namespace lacuna::test
