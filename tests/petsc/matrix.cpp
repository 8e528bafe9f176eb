// seqaijlacuna beside seqaij: products with vectors, as entries and patterns change.
#include <fmt/format.h>

#include "petsc/session.hpp"
#include <lacuna/core/memory.hpp>
#include <lacuna/gen/generate.hpp>
#include <lacuna/plan/decision.hpp>

namespace lacuna::test {
namespace {

void expect_type(Mat a, const char* type) {
  PetscBool same = PETSC_FALSE;
  ok(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), type, &same));
  EXPECT_TRUE(same) << type;
}

TEST_F(Petsc, MultipliesTheBattery) { expect_battery(); }

TEST_F(Petsc, AutoIsTheHostWhereThereIsNoDevice) {
  if (device_count() > 0) GTEST_SKIP() << "there is a device";
  set("-lacuna_device", "auto");
  const auto a = gen::generate<double, int, int>("poisson2d:n=200"); // large enough for a device
  Mat ours = make_mat(a, "seqaijlacuna"), theirs = make_mat(a, MATSEQAIJ);
  expect_same_products(ours, theirs);
  ok(MatDestroy(&ours));
  ok(MatDestroy(&theirs));
}

TEST_F(Petsc, EveryFormatMultiplies) {
  const auto a = gen::generate<double, int, int>("fem3d:n=4,dof=3");
  Mat theirs = make_mat(a, MATSEQAIJ);
  for (const std::string& format : planned_formats()) {
    SCOPED_TRACE(format);
    set("-lacuna_format", format.c_str());
    Mat ours = make_mat(a, "seqaijlacuna");
    expect_same_products(ours, theirs);
    ok(MatDestroy(&ours));
  }
  ok(MatDestroy(&theirs));
}

TEST_F(Petsc, FollowsValuesAndPatterns) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=12");
  Mat both[2] = {make_mat(a, "seqaijlacuna"), make_mat(a, MATSEQAIJ)};
  expect_same_products(both[0], both[1]);
  for (Mat m : both) ok(MatScale(m, 3)); // values
  expect_same_products(both[0], both[1]);
  for (Mat m : both) {
    ok(MatSetValue(m, 5, 5, 0.25, ADD_VALUES));
    ok(MatAssemblyBegin(m, MAT_FINAL_ASSEMBLY));
    ok(MatAssemblyEnd(m, MAT_FINAL_ASSEMBLY));
  }
  expect_same_products(both[0], both[1]);
  for (Mat m : both) { // a new entry
    ok(MatSetOption(m, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    ok(MatSetValue(m, 3, 100, 7, INSERT_VALUES));
    ok(MatAssemblyBegin(m, MAT_FINAL_ASSEMBLY));
    ok(MatAssemblyEnd(m, MAT_FINAL_ASSEMBLY));
  }
  expect_same_products(both[0], both[1]);
  for (Mat m : both) { // written behind PETSc's functions for entries
    PetscScalar* values = nullptr;
    ok(MatSeqAIJGetArray(m, &values));
    values[7] = -4;
    ok(MatSeqAIJRestoreArray(m, &values));
  }
  expect_same_products(both[0], both[1]);
  const PetscInt rows[] = {2, 9};
  for (Mat m : both) ok(MatZeroRows(m, 2, rows, 1, nullptr, nullptr));
  expect_same_products(both[0], both[1]);
  for (Mat& m : both) ok(MatDestroy(&m));
}

TEST_F(Petsc, IsCopiedAndConverted) {
  const auto a = gen::generate<double, int, int>("circuit:n=500");
  Mat theirs = make_mat(a, MATSEQAIJ), ours = make_mat(a, "seqaijlacuna");
  for (const MatDuplicateOption how : {MAT_COPY_VALUES, MAT_SHARE_NONZERO_PATTERN}) {
    Mat copy = nullptr;
    ok(MatDuplicate(ours, how, &copy));
    expect_type(copy, "seqaijlacuna");
    if (how == MAT_SHARE_NONZERO_PATTERN) ok(MatCopy(ours, copy, SAME_NONZERO_PATTERN));
    expect_same_products(copy, theirs);
    ok(MatDestroy(&copy));
  }
  Mat back = nullptr, there = nullptr, transpose = nullptr, other = nullptr;
  ok(MatConvert(ours, MATSEQAIJ, MAT_INITIAL_MATRIX, &back));
  expect_type(back, MATSEQAIJ);
  expect_same_products(ours, back);
  ok(MatConvert(back, "seqaijlacuna", MAT_INITIAL_MATRIX, &there));
  expect_type(there, "seqaijlacuna");
  expect_same_products(there, theirs);
  ok(MatConvert(there, MATSEQAIJ, MAT_INPLACE_MATRIX, &there));
  expect_type(there, MATSEQAIJ);
  ok(MatConvert(there, "seqaijlacuna", MAT_INPLACE_MATRIX, &there));
  expect_same_products(there, theirs);
  for (const char* type : {MATSEQDENSE, MATSEQBAIJ}) { // what SeqAIJ converts to, so does ours
    ok(MatConvert(ours, type, MAT_INITIAL_MATRIX, &other));
    expect_same_products(other, theirs);
    ok(MatDestroy(&other));
  }
  ok(MatTranspose(ours, MAT_INITIAL_MATRIX, &transpose));
  ok(MatTranspose(theirs, MAT_INITIAL_MATRIX, &other));
  expect_same_products(transpose, other);
  for (Mat* m : {&theirs, &ours, &back, &there, &transpose, &other}) ok(MatDestroy(m));
}

/// Sweeps are SeqAIJ's, with inodes and without, and products between them stay right.
TEST_F(Petsc, SweepsAreThoseOfSeqaij) {
  for (const char* name : {"poisson2d:n=20", "fem3d:n=5,dof=3"}) {
    SCOPED_TRACE(name);
    const auto a = gen::generate<double, int, int>(name);
    Mat both[2] = {make_mat(a, "seqaijlacuna"), make_mat(a, MATSEQAIJ)};
    Vec b = make_vec(a.shape().row, 1),
        x[2] = {make_vec(a.shape().row, 2), make_vec(a.shape().row, 2)};
    for (int sweep = 0; sweep < 3; ++sweep) {
      expect_same_products(both[0], both[1]);
      for (int k = 0; k < 2; ++k) ok(MatSOR(both[k], b, 1, SOR_SYMMETRIC_SWEEP, 0, 1, 1, x[k]));
      EXPECT_EQ(difference(x[1], x[0]), 0);
      for (Mat m : both) ok(MatScale(m, 1.25));
    }
    for (Vec* v : {&b, &x[0], &x[1]}) ok(VecDestroy(v));
    for (Mat& m : both) ok(MatDestroy(&m));
  }
}

/// Values and patterns that change a thousand times leave no memory behind.
TEST_F(Petsc, KeepsNothingOfWhatWas) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=30");
  const std::int64_t without = memory(space::host).in_use;
  Mat ours = make_mat(a, "seqaijlacuna");
  ok(MatSetOption(ours, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  Vec x = make_vec(900, 1), y = make_vec(900, 2);
  ok(MatMult(ours, x, y));
  const std::int64_t before = memory(space::host).in_use;
  PetscLogDouble petscs_before = 0, petscs = 0;
  ok(PetscMallocGetCurrentUsage(&petscs_before));
  for (PetscInt k = 0; k < 1000; ++k) {
    ok(MatScale(ours, k % 2 == 0 ? 2 : 0.5));
    if (k % 10 == 9) { // one entry more
      ok(MatSetValue(ours, k % 900, (k * 7 + 450) % 900, 1, ADD_VALUES));
      ok(MatAssemblyBegin(ours, MAT_FINAL_ASSEMBLY));
      ok(MatAssemblyEnd(ours, MAT_FINAL_ASSEMBLY));
    }
    ok(MatMult(ours, x, y));
    ok(MatMultTranspose(ours, x, y));
  }
  ok(PetscMallocGetCurrentUsage(&petscs));
  // 100 entries came; PETSc keeps some room for more in each row that got one.
  EXPECT_LT(memory(space::host).in_use, before + before / 4 + 20'000);
  EXPECT_LT(petscs, petscs_before + 100'000);
  ok(MatDestroy(&ours));
  EXPECT_EQ(memory(space::host).in_use, without);
  for (Vec* v : {&x, &y}) ok(VecDestroy(v));
}

TEST_F(Petsc, ErrorsAreLacunasWords) {
  const auto a = gen::generate<double, int, int>("poisson2d:n=5");
  Vec x = make_vec(25, 1), y = make_vec(25, 2);
  const auto failing = [&](const char* option, const char* value) {
    Mat ours = make_mat(a, "seqaijlacuna");
    set(option, value);
    const std::string said = error_of([&] { return MatMult(ours, x, y); });
    ok(PetscOptionsClearValue(nullptr, option));
    EXPECT_EQ(error_of([&] { return MatMult(ours, x, y); }), "") << option;
    ok(MatDestroy(&ours));
    return said;
  };
  const std::string format = failing("-lacuna_format", "elll");
  EXPECT_NE(format.find("95: Lacuna: "), std::string::npos) << format;
  EXPECT_NE(format.find("elll"), std::string::npos) << format;
  for (const char* name : {"gpu", "cuda:", "cuda:0x"})
    EXPECT_EQ(failing("-lacuna_device", name),
              fmt::format("95: -lacuna_device {}: auto, host, cuda or cuda:N it may be", name));
  if (!built_with_cuda())
    EXPECT_EQ(failing("-lacuna_device", "cuda"),
              "56: -lacuna_device cuda: this Lacuna was built without CUDA");
  else if (device_count() == 0)
    EXPECT_EQ(failing("-lacuna_device", "cuda"),
              "97: -lacuna_device cuda: no CUDA device was found");
  else
    EXPECT_EQ(failing("-lacuna_device", "cuda:99"),
              fmt::format("97: -lacuna_device cuda:99: the last device found is cuda:{}",
                          device_count() - 1));
  EXPECT_EQ(failing("-lacuna_threads", "-3"), "95: -lacuna_threads -3 is negative");
  ok(VecDestroy(&x));
  ok(VecDestroy(&y));
}

} // namespace
} // namespace lacuna::test
