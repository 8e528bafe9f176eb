// Runs a program under mpirun, as users do, and keeps what it printed.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace lacuna::test {

struct job_outcome {
  int code = -1;      ///< exit code
  std::string output; ///< stdout and stderr
};

/// A fixture with an empty folder.
class Jobs : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// `command`, a program's path and its arguments, on so many ranks, in the folder. One rank is
  /// started without mpirun, which takes half a second.
  job_outcome run(int ranks, const std::string& command) const;
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

} // namespace lacuna::test
