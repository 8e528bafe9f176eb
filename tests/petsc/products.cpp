// Products of matrices of type seqaijlacuna beside PETSc's own, twice: the second time values
// alone.
#include "petsc/session.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

constexpr double product_rounding = 1e-13;

using product = PetscErrorCode (*)(Mat, Mat, MatReuse, Mat*);
struct named_product {
  const char* name;
  product run;
};
const named_product all_products[] = {
    {"A B", [](Mat a, Mat b, MatReuse r, Mat* c) { return MatMatMult(a, b, r, 1.5, c); }},
    {"A^T B",
     [](Mat a, Mat b, MatReuse r, Mat* c) { return MatTransposeMatMult(a, b, r, 1.5, c); }},
    {"A B^T",
     [](Mat a, Mat b, MatReuse r, Mat* c) { return MatMatTransposeMult(a, b, r, 1.5, c); }},
    {"P^T A P", [](Mat a, Mat b, MatReuse r, Mat* c) { return MatPtAP(a, b, r, 1.5, c); }},
    {"R A R^T", [](Mat a, Mat b, MatReuse r, Mat* c) { return MatRARt(a, b, r, 1.5, c); }},
};

TEST_F(Petsc, ProductsAreThoseOfSeqaij) {
  const auto a = gen::generate<double, int, int>("poisson2d9:n=15");
  const auto b = gen::generate<double, int, int>("uniform:rows=225,per_row=3");
  for (const named_product& each : all_products) {
    SCOPED_TRACE(each.name);
    Mat left[2] = {make_mat(a, "seqaijlacuna"), make_mat(a, MATSEQAIJ)};
    Mat right[2] = {make_mat(b, "seqaijlacuna"), make_mat(b, MATSEQAIJ)}, c[2] = {};
    PetscInt blocks[2][2] = {};
    for (int k = 0; k < 2; ++k) { // GAMG coarsens by the blocks of what products give
      ok(MatSetBlockSizes(left[k], 5, 5));
      ok(MatSetBlockSizes(right[k], 5, 3));
      ok(each.run(left[k], right[k], MAT_INITIAL_MATRIX, &c[k]));
      ok(MatGetBlockSizes(c[k], &blocks[k][0], &blocks[k][1]));
    }
    EXPECT_EQ(blocks[0][0], blocks[1][0]);
    // PETSc gives A B^T the blocks of B's columns, which need not divide its own.
    EXPECT_EQ(blocks[0][1], std::string(each.name) == "A B^T" ? 5 : blocks[1][1]);
    EXPECT_LT(difference(c[0], c[1]), product_rounding);
    PetscBool ours = PETSC_FALSE;
    ok(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(c[0]), "seqaijlacuna", &ours));
    EXPECT_TRUE(ours);
    for (int k = 0; k < 2; ++k) {
      ok(MatScale(left[k], -2));
      ok(MatShift(left[k], 0.5));
      ok(MatScale(right[k], 3));
      ok(each.run(left[k], right[k], MAT_REUSE_MATRIX, &c[k]));
    }
    EXPECT_LT(difference(c[0], c[1]), product_rounding) << "other values";
    Vec x = make_vec(225, 1), y[2] = {make_vec(225, 2), make_vec(225, 2)};
    for (int k = 0; k < 2; ++k) ok(MatMult(c[k], x, y[k]));
    EXPECT_LT(difference(y[1], y[0]), 1e-12);
    for (Vec* v : {&x, &y[0], &y[1]}) ok(VecDestroy(v));
    for (Mat* m : {&left[0], &left[1], &right[0], &right[1], &c[0], &c[1]}) ok(MatDestroy(m));
  }
}

TEST_F(Petsc, ProductsWithOtherTypes) {
  const auto a = gen::generate<double, int, int>("circuit:n=200");
  Mat ours = make_mat(a, "seqaijlacuna"), theirs = make_mat(a, MATSEQAIJ);
  Mat dense = nullptr, both[2] = {}, mixed = nullptr;
  ok(MatCreateSeqDense(PETSC_COMM_SELF, 200, 3, nullptr, &dense));
  ok(MatSetRandom(dense, nullptr));
  ok(MatMatMult(ours, dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &both[0]));
  ok(MatMatMult(theirs, dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &both[1]));
  EXPECT_LT(difference(both[0], both[1]), product_rounding);
  for (Mat& m : both) ok(MatDestroy(&m));
  ok(MatMatMult(theirs, theirs, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &both[1]));
  ok(MatMatMult(ours, theirs, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &mixed));
  EXPECT_LT(difference(mixed, both[1]), product_rounding);
  ok(MatDestroy(&mixed));
  ok(MatMatMult(theirs, ours, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &mixed));
  EXPECT_LT(difference(mixed, both[1]), product_rounding);
  for (Mat* m : {&ours, &theirs, &dense, &both[1], &mixed}) ok(MatDestroy(m));
}

} // namespace
} // namespace lacuna::test
