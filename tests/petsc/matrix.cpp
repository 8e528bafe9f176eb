// seqaijlacuna beside seqaij: products with vectors, as entries and patterns change.
#include <algorithm>
#include <cmath>

#include "petsc/session.hpp"
#include "support/battery.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

constexpr double rounding = 1e-13;

/// All four products with vectors, of two matrices that should be the same.
void expect_same_products(Mat ours, Mat theirs) {
  PetscInt rows = 0, cols = 0;
  ok(MatGetSize(ours, &rows, &cols));
  Vec x = make_vec(cols, 1), t = make_vec(rows, 2);
  Vec y[2] = {make_vec(rows, 3), make_vec(rows, 3)}, z[2] = {make_vec(cols, 4), make_vec(cols, 4)};
  const Mat both[2] = {ours, theirs};
  for (int k = 0; k < 2; ++k) ok(MatMult(both[k], x, y[k]));
  EXPECT_LT(difference(y[1], y[0]), rounding) << "MatMult";
  for (int k = 0; k < 2; ++k) ok(MatMultAdd(both[k], x, t, y[k]));
  EXPECT_LT(difference(y[1], y[0]), rounding) << "MatMultAdd";
  for (int k = 0; k < 2; ++k) ok(MatMultAdd(both[k], x, y[k], y[k]));
  EXPECT_LT(difference(y[1], y[0]), rounding) << "MatMultAdd in place";
  for (int k = 0; k < 2; ++k) ok(MatMultTranspose(both[k], t, z[k]));
  EXPECT_LT(difference(z[1], z[0]), rounding) << "MatMultTranspose";
  for (int k = 0; k < 2; ++k) ok(MatMultTransposeAdd(both[k], t, x, z[k]));
  EXPECT_LT(difference(z[1], z[0]), rounding) << "MatMultTransposeAdd";
  for (int k = 0; k < 2; ++k) ok(MatMultTransposeAdd(both[k], t, z[k], z[k]));
  EXPECT_LT(difference(z[1], z[0]), rounding) << "MatMultTransposeAdd in place";
  for (Vec* v : {&x, &t, &y[0], &y[1], &z[0], &z[1]}) ok(VecDestroy(v));
}

void expect_type(Mat a, const char* type) {
  PetscBool same = PETSC_FALSE;
  ok(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), type, &same));
  EXPECT_TRUE(same) << type;
}

TEST_F(Petsc, MultipliesTheBattery) {
  for (const triplets& m : battery()) {
    SCOPED_TRACE(m.name);
    const auto finite = [](double v) { return std::isfinite(v); };
    if (!std::all_of(m.value.begin(), m.value.end(), finite))
      continue; // difference() has no number
    const auto a = make_csr<double, int, int>(m);
    Mat ours = make_mat(a, "seqaijlacuna"), theirs = make_mat(a, MATSEQAIJ);
    expect_same_products(ours, theirs);
    ok(MatDestroy(&ours));
    ok(MatDestroy(&theirs));
  }
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
  const std::string device = failing("-lacuna_device", "cuda");
  EXPECT_EQ(device, "56: -lacuna_device cuda: inside PETSc Lacuna runs on the host alone");
  EXPECT_EQ(failing("-lacuna_threads", "-3"), "95: -lacuna_threads -3 is negative");
  ok(VecDestroy(&x));
  ok(VecDestroy(&y));
}

} // namespace
} // namespace lacuna::test
