// From exceptions to exit codes and messages, in one place for all programs and commands.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace lacuna::app {

enum exit_code : int {
  exit_done = 0,
  exit_failed = 1,        ///< the job ran and did not succeed
  exit_usage = 2,         ///< wrong usage, or something this build does not offer
  exit_bad_input = 3,     ///< unreadable or invalid input
  exit_out_of_memory = 4, ///< or over a memory limit
  exit_no_device = 5      ///< the device asked for is not there, or failed
};

/// Parses the command line, then runs body. Whatever either throws becomes a message (on stderr,
/// or with json_errors an {"error": …} object on stdout) and an exit code. So does a stdout that
/// cannot be written; one whose reader has gone (head -1) ends the program quietly.
int run_program(CLI::App& cli, int argc, char** argv, bool json_errors,
                const std::function<int()>& body);

} // namespace lacuna::app
