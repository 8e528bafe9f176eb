// lacuna solve --mpi beside lacuna solve.
#include <chrono>
#include <fstream>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>

#include "petsc_runs/job.hpp"
#include <lacuna/gen/generate.hpp>
#include <lacuna/io/read.hpp>
#include <lacuna/io/write.hpp>

namespace lacuna::test {
namespace {

const std::string solve = LACUNA_PROGRAM " solve ", solve_mpi = LACUNA_PROGRAM " solve --mpi ";

/// The object among what mpirun says.
nlohmann::json json_in(const job_outcome& job) {
  const std::size_t begin = job.output.find("{\n"), end = job.output.rfind("\n}");
  if (begin == std::string::npos || end == std::string::npos) return {};
  return nlohmann::json::parse(job.output.substr(begin, end + 2 - begin));
}

class MpiSolve : public Jobs {
protected:
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
};

TEST_F(MpiSolve, IsWhatOneProcessDoes) {
  const host_context host;
  const auto a = gen::generate<double, int, int>(host, "poisson2d:n=30");
  io::write(host, path("general.mtx"), a);
  io::write_options half;
  half.structure = io::symmetry::symmetric;
  io::write(host, path("half.mtx"), a.view(), half);
  const job_outcome alone = run(1, solve + "general.mtx -o x.mtx --precond jacobi --json");
  ASSERT_EQ(alone.code, 0) << alone.output;
  const auto expected = json_in(alone);
  const auto x = io::read_vector<double>(host, path("x.mtx"));
  for (const auto& [ranks, file] :
       {std::pair{1, "half.mtx"}, {2, "general.mtx"}, {3, "half.mtx"}, {4, "gen:poisson2d:n=30"}}) {
    SCOPED_TRACE(std::string(file) + " on " + std::to_string(ranks));
    const job_outcome job =
        run(ranks, solve_mpi + file + " -o y.mtx --precond jacobi --verify --json");
    ASSERT_EQ(job.code, 0) << job.output;
    const auto found = json_in(job);
    for (const auto& [key, value] : expected.items()) EXPECT_TRUE(found.contains(key)) << key;
    for (const char* key : {"method", "preconditioner", "rows", "nnz", "iterations", "reason"})
      EXPECT_EQ(found[key], expected[key]) << key;
    EXPECT_EQ(found["ranks"], ranks);
    EXPECT_LE(found["verify_residual"], 1e-8);
    EXPECT_EQ(found["history"].size(), expected["history"].size());
    const auto y = io::read_vector<double>(host, path("y.mtx"));
    ASSERT_EQ(x.size(), y.size());
    for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-6) << i;
  }
}

TEST_F(MpiSolve, ThreadsOfARank) {
  const std::string words = solve_mpi + "gen:poisson2d:n=5 ";
  for (const auto& [command, said] :
       {std::pair{"env -u OMP_NUM_THREADS " + words, "2 ranks of 1 thread,"},
        {"env OMP_NUM_THREADS=2 " + words, "2 ranks of 2 threads,"},
        {"env OMP_NUM_THREADS=2 " + words + "--threads 3", "2 ranks of 3 threads,"}}) {
    const job_outcome job = run(2, command);
    EXPECT_EQ(job.code, 0) << job.output;
    EXPECT_NE(job.output.find(said), std::string::npos) << job.output;
  }
}

TEST_F(MpiSolve, MoreRanksThanRows) {
  put("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n% two rows\n\n2 2 3\n1 1 2\n"
               "2 1 -1\n\n2 2 2");
  put("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n4\n");
  const job_outcome job = run(4, solve_mpi + "a.mtx -b b.mtx -o x.mtx --quiet");
  ASSERT_EQ(job.code, 0) << job.output;
  const auto x = io::read_vector<double>(host_context(), path("x.mtx"));
  EXPECT_NEAR(x[0], 2, 1e-7);
  EXPECT_NEAR(x[1], 3, 1e-7);
}

TEST_F(MpiSolve, SaysWhatIsWrongOnce) {
  put("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 x 3\n");
  put("short.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 2\n3 3 3\n");
  struct fault {
    const char* arguments;
    int code;
    const char* message;
  };
  for (const fault& f :
       {fault{"bad.mtx", 3, "lacuna: bad.mtx:5: "},
        {"short.mtx", 3, "3 of the 4 entries"},
        {"gen:poisson2d:n=20 --max-iter 2 -o x.mtx", 1, "not converged, so no x is written"}}) {
    SCOPED_TRACE(f.arguments);
    const job_outcome job = run(2, solve_mpi + f.arguments);
    EXPECT_EQ(job.code, f.code) << job.output;
    const std::size_t first = job.output.find(f.message);
    ASSERT_NE(first, std::string::npos) << job.output;
    EXPECT_EQ(job.output.find(f.message, first + 1), std::string::npos) << job.output;
  }
  for (const char* arguments :
       {"-", "gen:poisson2d:n=5 --precision f32", "gen:poisson2d:n=5 --order rcm",
        "gen:poisson2d:n=5 --precond chebyshev"})
    EXPECT_EQ(run(1, solve_mpi + arguments).code, 2) << arguments;
  EXPECT_FALSE(std::filesystem::exists(path("x.mtx")));
}

TEST_F(MpiSolve, ARankThatIsKilledEndsTheJob) {
  // It dies of SIGKILL a second after it has begun; alone the job would take minutes.
  put("rank.sh",
      "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then (sleep 1; kill -9 $$) & fi\nexec \"$@\"\n");
  put("x.mtx", "what was there before\n");
  const auto began = std::chrono::steady_clock::now();
  const job_outcome job = run(2, "sh rank.sh " + solve_mpi +
                                     "gen:poisson2d:n=500 --precond none --tol 1e-300 "
                                     "--max-iter 100000000 --time-limit 60 -o x.mtx");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  EXPECT_NE(job.code, 0);
  EXPECT_NE(job.output.find("signal 9"), std::string::npos) << job.output;
  std::ostringstream left;
  left << std::ifstream(path("x.mtx")).rdbuf();
  EXPECT_EQ(left.str(), "what was there before\n");
  int files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 2) << "something unfinished was left";
}

} // namespace
} // namespace lacuna::test
