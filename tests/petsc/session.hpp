// PETSc with the plug-in loaded, in the test's own process, which is one rank.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <petscksp.h>

#include <lacuna/format/csr.hpp>

namespace lacuna::test {

/// A fixture in which PETSc is running. Options that a test sets are gone after it.
class Petsc : public ::testing::Test {
protected:
  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;

  static void set(const char* option, const char* value);
  /// What PETSc reports when `call` fails, with its number before it: "56: Lacuna: …"; empty if it
  /// does not.
  template <class F> static std::string error_of(const F& call) {
    begin_errors();
    const PetscErrorCode code = call();
    return end_errors(code);
  }

private:
  static void begin_errors();
  static std::string end_errors(PetscErrorCode code);

  PetscOptions options_ = nullptr;
};

/// Fails the test where PETSc failed.
void ok(PetscErrorCode code);

/// A matrix with a's entries, of this type.
Mat make_mat(const csr<double, int, int>& a, const char* type);
/// With elements that depend on the seed, for A's columns or rows.
Vec make_vec(PetscInt size, int seed);
/// The largest difference of two vectors or matrices, relative to the largest element; both are of
/// the same size and pattern.
double difference(Vec a, Vec b);
double difference(Mat a, Mat b);

/// All products with vectors, of two matrices that should be the same, agree up to rounding.
void expect_same_products(Mat ours, Mat theirs);
/// Of every matrix of the battery, by the options that are set, with seqaij's.
void expect_battery();

} // namespace lacuna::test
