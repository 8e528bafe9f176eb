#include "petsc/session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "support/battery.hpp"

namespace lacuna::test {
namespace {

std::string message;

PetscErrorCode remember(MPI_Comm, int, const char*, const char*, PetscErrorCode code,
                        PetscErrorType type, const char* text, void*) {
  if (type == PETSC_ERROR_INITIAL) message = std::to_string(code) + ": " + text;
  return code;
}

void finalize() { (void)PetscFinalize(); }

} // namespace

void ok(PetscErrorCode code) { ASSERT_EQ(code, 0); }

void Petsc::SetUpTestSuite() {
  PetscBool running = PETSC_FALSE;
  ok(PetscInitialized(&running));
  if (running) return;
  static char name[] = "lacuna-test-petsc", option[] = "-dll_append",
              plugin[] = LACUNA_PETSC_PLUGIN;
  static char* words[] = {name, option, plugin, nullptr};
  int count = 3;
  char** arguments = words;
  ok(PetscInitialize(&count, &arguments, nullptr, nullptr));
  (void)std::atexit(finalize);
}
void Petsc::SetUp() {
  ok(PetscOptionsCreate(&options_));
  ok(PetscOptionsPush(options_));
}
void Petsc::TearDown() {
  ok(PetscOptionsPop());
  ok(PetscOptionsDestroy(&options_));
}

void Petsc::set(const char* option, const char* value) {
  ok(PetscOptionsSetValue(nullptr, option, value));
}

void Petsc::begin_errors() {
  message.clear();
  ok(PetscPushErrorHandler(remember, nullptr));
}
std::string Petsc::end_errors(PetscErrorCode code) {
  ok(PetscPopErrorHandler());
  return code == 0 ? std::string() : message;
}

Mat make_mat(const csr<double, int, int>& a, const char* type) {
  Mat made = nullptr;
  ok(MatCreate(PETSC_COMM_SELF, &made));
  ok(MatSetSizes(made, a.shape().row, a.shape().col, a.shape().row, a.shape().col));
  ok(MatSetType(made, type));
  ok(MatSeqAIJSetPreallocationCSR(made, a.rowptr().data(), a.colind().data(), a.values().data()));
  return made;
}

Vec make_vec(PetscInt size, int seed) {
  Vec made = nullptr;
  ok(VecCreateSeq(PETSC_COMM_SELF, size, &made));
  PetscScalar* element = nullptr;
  ok(VecGetArrayWrite(made, &element));
  for (PetscInt k = 0; k < size; ++k) element[k] = ((k * 37 + seed * 11) % 101 - 50) / 64.0;
  ok(VecRestoreArrayWrite(made, &element));
  return made;
}

double difference(Vec a, Vec b) {
  Vec d = nullptr;
  double size = 0, most = 0;
  ok(VecDuplicate(a, &d));
  ok(VecCopy(a, d));
  ok(VecNorm(a, NORM_INFINITY, &size));
  ok(VecAXPY(d, -1, b));
  ok(VecNorm(d, NORM_INFINITY, &most));
  ok(VecDestroy(&d));
  return size > 0 ? most / size : most;
}

double difference(Mat a, Mat b) {
  Mat d = nullptr;
  double size = 0, most = 0;
  ok(MatConvert(a, MATSEQAIJ, MAT_INITIAL_MATRIX, &d));
  ok(MatNorm(d, NORM_FROBENIUS, &size));
  ok(MatAXPY(d, -1, b, DIFFERENT_NONZERO_PATTERN));
  ok(MatNorm(d, NORM_FROBENIUS, &most));
  ok(MatDestroy(&d));
  return size > 0 ? most / size : most;
}

void expect_same_products(Mat ours, Mat theirs) {
  PetscInt rows = 0, cols = 0;
  ok(MatGetSize(ours, &rows, &cols));
  Vec x = make_vec(cols, 1), t = make_vec(rows, 2);
  Vec y[2] = {make_vec(rows, 3), make_vec(rows, 3)}, z[2] = {make_vec(cols, 4), make_vec(cols, 4)};
  const Mat both[2] = {ours, theirs};
  for (int k = 0; k < 2; ++k) ok(MatMult(both[k], x, y[k]));
  EXPECT_LT(difference(y[1], y[0]), 1e-13) << "MatMult";
  for (int k = 0; k < 2; ++k) ok(MatMultAdd(both[k], x, t, y[k]));
  EXPECT_LT(difference(y[1], y[0]), 1e-13) << "MatMultAdd";
  for (int k = 0; k < 2; ++k) ok(MatMultAdd(both[k], x, y[k], y[k]));
  EXPECT_LT(difference(y[1], y[0]), 1e-13) << "MatMultAdd in place";
  for (int k = 0; k < 2; ++k) ok(MatMultTranspose(both[k], t, z[k]));
  EXPECT_LT(difference(z[1], z[0]), 1e-13) << "MatMultTranspose";
  for (int k = 0; k < 2; ++k) ok(MatMultTransposeAdd(both[k], t, x, z[k]));
  EXPECT_LT(difference(z[1], z[0]), 1e-13) << "MatMultTransposeAdd";
  for (int k = 0; k < 2; ++k) ok(MatMultTransposeAdd(both[k], t, z[k], z[k]));
  EXPECT_LT(difference(z[1], z[0]), 1e-13) << "MatMultTransposeAdd in place";
  for (Vec* v : {&x, &t, &y[0], &y[1], &z[0], &z[1]}) ok(VecDestroy(v));
}

void expect_battery() {
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

} // namespace lacuna::test
