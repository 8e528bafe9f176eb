// PETSc's own tutorials, unmodified, with seqaij and with seqaijlacuna: as many iterations, the
// same residuals up to rounding, and Lacuna's kernels did the work.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <regex>
#include <vector>

#include "petsc_runs/job.hpp"
#include <lacuna/core/context.hpp>
#include <lacuna/gen/generate.hpp>

namespace lacuna::test {
namespace {

struct solved {
  int iterations = -1;
  double residual = -1;
  double multiplies = 0; ///< by Lacuna
};

solved read_solve(const job_outcome& job) {
  solved result;
  const std::regex monitor(R"((\d+) KSP Residual norm ([-+.e0-9]+))");
  for (std::sregex_iterator at(job.output.begin(), job.output.end(), monitor), end; at != end;
       ++at) {
    result.iterations = std::stoi((*at)[1]);
    result.residual = std::stod((*at)[2]);
  }
  std::smatch count;
  if (std::regex_search(job.output, count, std::regex(R"(Lacuna: .* (\d+) multiplies)")))
    result.multiplies = std::stod(count[1]);
  return result;
}

class Tutorials : public Jobs {
protected:
  /// Solves with each preconditioner, with PETSc's kernels and with Lacuna's.
  void compare(const char* program, int ranks, const std::string& arguments,
               const std::vector<const char*>& preconditioners,
               const std::string& ours_alone = "") {
    if (std::string(LACUNA_PETSC_TUTORIALS).empty())
      GTEST_SKIP() << "PETSc's tutorials are not installed (libpetsc3.18-dev-examples)";
    for (const char* pc : preconditioners) {
      const std::string command = std::string(LACUNA_PETSC_TUTORIALS "/lacuna-petsc-") + program +
                                  " " + arguments + " -ksp_monitor -pc_type " + pc;
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + command);
      const job_outcome theirs = run(ranks, command);
      // Blocks this small are left to PETSc's loop, unless many products are to come.
      const job_outcome ours = run(ranks, command +
                                              " -dll_append " LACUNA_PETSC_PLUGIN
                                              " -mat_seqaij_type seqaijlacuna -lacuna_count"
                                              " -lacuna_multiplies 1000" +
                                              ours_alone);
      ASSERT_EQ(theirs.code, 0) << theirs.output;
      ASSERT_EQ(ours.code, 0) << ours.output;
      const solved a = read_solve(theirs), b = read_solve(ours);
      EXPECT_GT(a.iterations, 0) << theirs.output;
      EXPECT_EQ(a.iterations, b.iterations) << ours.output;
      EXPECT_NEAR(a.residual, b.residual, 1e-6 * a.residual) << ours.output;
      EXPECT_EQ(a.multiplies, 0);
      EXPECT_GE(b.multiplies, ranks * b.iterations) << ours.output;
    }
  }
};

const std::vector<const char*> all = {"none", "jacobi", "bjacobi", "asm", "gamg", "hypre"};

TEST_F(Tutorials, Ex2OnOneRank) { compare("ex2", 1, "-m 30 -n 30", all); }
TEST_F(Tutorials, Ex2OnFourRanks) { compare("ex2", 4, "-m 30 -n 30", all); }
TEST_F(Tutorials, Ex45OnThreeRanks) {
  compare("ex45", 3, "-da_grid_x 9 -da_grid_y 9 -da_grid_z 9", {"jacobi", "asm", "gamg"});
}
TEST_F(Tutorials, Ex50OnTwoRanks) {
  compare("ex50", 2, "-da_grid_x 15 -da_grid_y 15", {"bjacobi", "gamg", "hypre"});
}

/// Ranks share the device where there is one.
TEST_F(Tutorials, Ex2OnADevice) {
  if (std::string(LACUNA_PETSC_TUTORIALS).empty())
    GTEST_SKIP() << "PETSc's tutorials are not installed (libpetsc3.18-dev-examples)";
  if (device_count() == 0) GTEST_SKIP() << "no device";
  for (const int ranks : {1, 2})
    compare("ex2", ranks, "-m 20 -n 20", {"none", "bjacobi", "gamg"}, " -lacuna_device cuda");
  const job_outcome job =
      run(2, LACUNA_PETSC_TUTORIALS
          "/lacuna-petsc-ex2 -m 30 -n 30 -ksp_monitor -pc_type asm -sub_pc_type "
          "lacunaamg -dll_append " LACUNA_PETSC_PLUGIN
          " -mat_seqaij_type seqaijlacuna -lacuna_device cuda -lacuna_pool_limit "
          "64 -lacuna_count");
  ASSERT_EQ(job.code, 0) << job.output;
  EXPECT_LT(read_solve(job).iterations, 25) << job.output;
  EXPECT_NE(job.output.find("2 amg set-ups"), std::string::npos) << job.output;
}

/// As PETSc's binary files are: integers and doubles with the highest byte first.
template <class U> void put(std::ofstream& to, U value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8)
    to.put(static_cast<char>(value >> shift & 0xff));
}
void write_petsc_binary(const std::string& path, const csr<double, int, int>& a) {
  std::ofstream to(path, std::ios::binary);
  const auto whole = [&](int v) { put(to, static_cast<std::uint32_t>(v)); };
  for (const int head : {1211216, a.shape().row, a.shape().col, a.size()}) whole(head);
  for (int r = 0; r < a.shape().row; ++r) whole(a.rowptr()[r + 1] - a.rowptr()[r]);
  for (const int c : a.colind()) whole(c);
  for (const double v : a.values()) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    put(to, bits);
  }
}

TEST_F(Tutorials, Ex10ReadsAFile) {
  write_petsc_binary(path("a.petsc"), gen::generate<double, int, int>("poisson3d:n=8"));
  compare("ex10", 1, "-f a.petsc -rhs one", {"none", "gamg"});
  compare("ex10", 3, "-f a.petsc -rhs one", {"bjacobi"});
}

/// The local solver of block methods.
TEST_F(Tutorials, AmgOfBlocks) {
  if (std::string(LACUNA_PETSC_TUTORIALS).empty())
    GTEST_SKIP() << "PETSc's tutorials are not installed (libpetsc3.18-dev-examples)";
  for (const char* pc : {"bjacobi", "asm"}) {
    const job_outcome job = run(
        2,
        std::string(LACUNA_PETSC_TUTORIALS "/lacuna-petsc-ex2 -m 60 -n 60 -ksp_monitor -pc_type ") +
            pc +
            " -sub_pc_type lacunaamg -dll_append " LACUNA_PETSC_PLUGIN " -lacuna_count -log_view");
    ASSERT_EQ(job.code, 0) << job.output;
    EXPECT_LT(read_solve(job).iterations, 25) << job.output;
    EXPECT_NE(job.output.find("2 amg set-ups"), std::string::npos) << job.output;
    EXPECT_NE(job.output.find("LacunaAMGApply"), std::string::npos) << "-log_view has our events";
  }
  const job_outcome whole =
      run(2, LACUNA_PETSC_TUTORIALS
          "/lacuna-petsc-ex2 -pc_type lacunaamg -dll_append " LACUNA_PETSC_PLUGIN);
  EXPECT_NE(whole.code, 0);
  EXPECT_NE(whole.output.find("is for the matrix of one rank, this one has 2"), std::string::npos)
      << whole.output;
}

} // namespace
} // namespace lacuna::test
