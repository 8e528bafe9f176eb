#include "petsc_runs/job.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>

namespace lacuna::test {

void Jobs::SetUp() {
  std::string name = (std::filesystem::temp_directory_path() / "lacuna-job-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = name;
}
void Jobs::TearDown() {
  if (!folder_.empty()) std::filesystem::remove_all(folder_);
}

job_outcome Jobs::run(int ranks, const std::string& command) const {
  // More ranks than cores take turns, and none is bound to one; root may start them.
  std::string line = "cd " + folder_.string() +
                     " && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
                     " OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none"
                     " OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none"
                     " OMP_NUM_THREADS=1 ";
  if (ranks > 1) line += LACUNA_MPIRUN " -n " + std::to_string(ranks) + " ";
  line += command + " 2>&1 </dev/null";
  job_outcome result;
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    result.output.append(part.data(), got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

} // namespace lacuna::test
