// Runs lacuna in a folder of its own and keeps what it printed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lacuna::test {

struct outcome {
  int code = -1;  ///< exit code; -1 if a signal killed it
  int signal = 0; ///< that killed it
  std::string out, err;

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
};

struct run_settings {
  std::string program = {}; ///< its path; empty: lacuna
  std::string input = {};   ///< what stdin gives
  /// "NAME=value", beside the inherited ones, LC_ALL=C.UTF-8 and TERM=xterm.
  std::vector<std::string> environment = {};
  std::string output = {}; ///< a path for stdout; then `out` stays empty
  std::string errors = {}; ///< a path for stderr; then `err` stays empty
  bool without_stdout = false, without_stderr = false;   ///< closed before the program starts
  bool stdout_terminal = false, stderr_terminal = false; ///< 80 x 24; \n arrives as \r\n
  bool closed_pipe = false;                              ///< stdout is a pipe that nobody reads
  bool closed_error_pipe = false;                        ///< stderr is one
  bool ignore_sigpipe = false;
  int signal = 0; ///< sent as soon as signal_at stands in stderr
  std::string signal_at = {};
};

/// A fixture with an empty current folder.
class Cli : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  outcome run(const std::vector<std::string>& arguments, const run_settings& s = {});
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  /// Names in the folder, hidden ones too.
  [[nodiscard]] std::vector<std::string> files() const;

  std::filesystem::path folder_;
};

/// Whether the text holds, or begins with, a part.
::testing::AssertionResult has(const std::string& text, const std::string& part);
::testing::AssertionResult begins(const std::string& text, const std::string& part);

/// A symmetric 3 x 3 matrix with a zero on its diagonal, four entries in the file.
extern const char* const small_symmetric;

} // namespace lacuna::test
