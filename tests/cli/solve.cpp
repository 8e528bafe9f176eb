// lacuna solve, on systems small enough to know the answer.
#include "cli/program.hpp"

namespace lacuna::test {
namespace {

using nlohmann::json;

/// 2 -1; -1 2: with b = (1, 4) the solution is (2, 3).
const char* const two =
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n";
const char* const right = "%%MatrixMarket matrix array real general\n2 1\n1\n4\n";
/// 1 -1; -1 1: singular.
const char* const singular =
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 -1\n2 2 1\n";

TEST_F(Cli, SolveHasItsKeys) {
  write("a.mtx", two);
  write("b.mtx", right);
  const auto r = run({"solve", "a.mtx", "-b", "b.mtx", "-o", "x.mtx", "--verify", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const json report = r.json();
  EXPECT_EQ(report["method"], "cg");
  EXPECT_EQ(report["preconditioner"], "jacobi");
  EXPECT_EQ(report["converged"], true);
  EXPECT_EQ(report["reason"], "converged");
  EXPECT_LE(report["iterations"], 2);
  EXPECT_EQ(report["history"].size(), report["iterations"].get<std::size_t>() + 1);
  EXPECT_EQ(report["history"][0], 1);
  EXPECT_LE(report["relative_residual"], 1e-8);
  EXPECT_LE(report["verify_residual"], 1e-8);
  for (const char* key : {"setup_seconds", "solve_seconds"})
    EXPECT_GE(report[key].get<double>(), 0) << key;
  EXPECT_TRUE(report["levels"].is_array());
  EXPECT_TRUE(report.contains("operator_complexity"));
  EXPECT_EQ(report["b"], "b.mtx");
  const std::string x = read("x.mtx");
  EXPECT_TRUE(begins(x, "%%MatrixMarket matrix array real general\n2 1\n"));
  EXPECT_NEAR(std::stod(x.substr(x.find("2 1\n") + 4)), 2, 1e-7);
}

TEST_F(Cli, SolveForPeople) {
  const auto r = run({"solve", "gen:poisson2d:n=30", "--verify"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  for (const char* part :
       {"A x = b: A is gen:poisson2d:n=30", "b is seeded with 1", "cg with preconditioner",
        "symmetric with a positive diagonal", "  1e+00 |", "iterations\n", "✓ converged after",
        "relative residual", "an iteration", "by the reference loops"})
    EXPECT_TRUE(has(r.out, part));
  EXPECT_TRUE(begins(run({"solve", "gen:poisson2d:n=9", "--quiet"}).out, "converged after "));
}

TEST_F(Cli, SolveThatDoesNotConvergeIsExitCodeOne) {
  write("a.mtx", singular);
  write("b.mtx", right);
  const auto r = run({"solve", "a.mtx", "-b", "b.mtx", "-o", "x.mtx", "--json"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.json()["converged"], false);
  EXPECT_NE(r.json()["reason"], "converged");
  EXPECT_EQ(r.json()["output"], json());
  EXPECT_EQ(files(), (std::vector<std::string>{"a.mtx", "b.mtx"}));
  const auto few = run({"solve", "gen:poisson2d:n=40", "--max-iter", "3", "-o", "x.mtx"});
  EXPECT_EQ(few.code, 1);
  EXPECT_TRUE(has(few.out, "iteration_limit after 3 iterations"));
  EXPECT_TRUE(has(few.err, "no x is written"));
  const auto late = run({"solve", "gen:poisson2d:n=60", "--time-limit", "1e-9", "--json"});
  EXPECT_EQ(late.code, 1);
  EXPECT_EQ(late.json()["reason"], "time_limit");
}

TEST_F(Cli, SolveTakesItsOptions) {
  for (const char* method : {"cg", "flexible_cg", "minres", "bicgstab", "gmres"})
    for (const char* precond : {"none", "jacobi"}) {
      const auto r = run({"solve", "gen:poisson2d:n=12", "--method", method, "--precond", precond,
                          "--tol", "1e-6", "--restart", "20", "--json"});
      EXPECT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(r.json()["method"], method);
      EXPECT_EQ(r.json()["preconditioner"], precond);
      EXPECT_EQ(r.json()["tolerance"], 1e-6);
    }
  for (const char* order : {"rcm", "band-k"})
    EXPECT_EQ(run({"solve", "gen:mesh2d:n=20,shuffle=1", "--order", order, "--verify", "--json"})
                  .json()["order"],
              order);
  EXPECT_EQ(
      run({"solve", "gen:poisson2d:n=12", "--precision", "f32", "--json"}).json()["converged"],
      true);
  EXPECT_TRUE(
      has(run({"solve", "gen:poisson2d:n=12", "--method", "gmrs"}).err, "did you mean 'gmres'?"));
  EXPECT_EQ(run({"solve", "gen:poisson2d:n=12", "--tol", "2"}).code, 2);
}

TEST_F(Cli, SolveRefusesWhatDoesNotFit) {
  const auto wide = run({"solve", "gen:dense:n=3,m=4"});
  EXPECT_EQ(wide.code, 3);
  EXPECT_TRUE(has(wide.err, "rows of A (3)"));
  write("b.mtx", right);
  EXPECT_EQ(run({"solve", "gen:poisson2d:n=3", "-b", "b.mtx"}).code, 3);
}

} // namespace
} // namespace lacuna::test
