// The plug-in with its blocks on a device, beside PETSc's own types.
#include "petsc/session.hpp"
#include <lacuna/core/memory.hpp>
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

class PetscDevice : public Petsc {
protected:
  void SetUp() override {
    Petsc::SetUp();
    if (device_count() == 0) GTEST_SKIP() << "no device";
    set("-lacuna_device", "cuda");
  }
};

TEST_F(PetscDevice, MultipliesTheBattery) { expect_battery(); }

TEST_F(PetscDevice, FollowsValuesAndPatterns) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=12");
  Mat both[2] = {make_mat(a, "seqaijlacuna"), make_mat(a, MATSEQAIJ)};
  expect_same_products(both[0], both[1]);
  for (Mat m : both) ok(MatScale(m, 3)); // values
  expect_same_products(both[0], both[1]);
  for (Mat m : both) { // a new entry
    ok(MatSetOption(m, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    ok(MatSetValue(m, 3, 100, 7, INSERT_VALUES));
    ok(MatAssemblyBegin(m, MAT_FINAL_ASSEMBLY));
    ok(MatAssemblyEnd(m, MAT_FINAL_ASSEMBLY));
  }
  expect_same_products(both[0], both[1]);
  for (Mat& m : both) ok(MatDestroy(&m));
}

/// Matrices and hierarchies that come and go leave nothing on the device.
TEST_F(PetscDevice, KeepsNothingOfWhatWas) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=30");
  Vec x = make_vec(900, 1), y = make_vec(900, 2);
  std::int64_t before = -1;
  for (int k = 0; k < 4; ++k) {
    Mat ours = make_mat(a, "seqaijlacuna");
    PC pc = nullptr;
    ok(PCCreate(PETSC_COMM_SELF, &pc));
    ok(PCSetType(pc, "lacunaamg"));
    ok(PCSetOperators(pc, ours, ours));
    for (int product = 0; product < 3; ++product) {
      ok(MatMult(ours, x, y));
      ok(PCApply(pc, y, x));
      ok(MatScale(ours, 2));
    }
    ok(MatMultTranspose(ours, x, y));
    ok(PCDestroy(&pc));
    ok(MatDestroy(&ours));
    if (before < 0) before = memory(space::device).in_use;
    EXPECT_EQ(memory(space::device).in_use, before);
  }
  for (Vec* v : {&x, &y}) ok(VecDestroy(v));
}

TEST_F(PetscDevice, AmgIsThatOfTheHost) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=40");
  Mat matrix = make_mat(a, "seqaijlacuna");
  Vec b = make_vec(1600, 1), x[2] = {make_vec(1600, 2), make_vec(1600, 2)};
  PetscInt iterations[2] = {};
  set("-pc_lacunaamg_kind", "classical"); // coarsens alike on both engines
  for (int k = 0; k < 2; ++k) {
    set("-lacuna_device", k == 0 ? "cuda" : "host");
    KSP ksp = nullptr;
    PC pc = nullptr;
    ok(KSPCreate(PETSC_COMM_SELF, &ksp));
    ok(KSPSetType(ksp, KSPCG));
    ok(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    ok(KSPGetPC(ksp, &pc));
    ok(PCSetType(pc, "lacunaamg"));
    ok(KSPSetFromOptions(ksp));
    ok(KSPSetOperators(ksp, matrix, matrix));
    ok(VecSet(x[k], 0));
    ok(KSPSolve(ksp, b, x[k]));
    ok(MatScale(matrix, 1)); // new values, the same
    ok(KSPSetOperators(ksp, matrix, matrix));
    ok(VecSet(x[k], 0));
    ok(KSPSolve(ksp, b, x[k]));
    ok(KSPGetIterationNumber(ksp, &iterations[k]));
    ok(KSPDestroy(&ksp));
  }
  EXPECT_NEAR(iterations[0], iterations[1], 1);
  EXPECT_LT(difference(x[1], x[0]), 1e-7);
  for (Vec* v : {&b, &x[0], &x[1]}) ok(VecDestroy(v));
  ok(MatDestroy(&matrix));
}

TEST_F(PetscDevice, AutoTakesItForLargeBlocks) {
  set("-lacuna_device", "auto");
  for (const char* name : {"poisson2d:n=200", "poisson2d:n=20"}) {
    const auto a = gen::generate<double, int, int>(name);
    const bool large = a.size() > 100'000;
    Mat ours = make_mat(a, "seqaijlacuna");
    Vec in = make_vec(a.shape().row, 1), out = make_vec(a.shape().row, 1);
    const std::int64_t before = memory(space::device).in_use;
    ok(MatMult(ours, in, out));
    EXPECT_EQ(memory(space::device).in_use > before, large) << name;
    ok(MatDestroy(&ours));
    for (Vec* v : {&in, &out}) ok(VecDestroy(v));
  }
}

} // namespace
} // namespace lacuna::test
