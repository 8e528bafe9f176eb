// The options every command has, and how a command joins the program.
#pragma once

#include <cstdint>
#include <functional>

#include "common/device.hpp"

namespace CLI {
class App;
}

namespace lacuna::app {

enum class precision { f64, f32 };

struct options {
  device_request device;
  int threads = 0; ///< 0: all
  precision values = precision::f64;
  std::uint64_t seed = 1;
  bool json = false;
  bool quiet = false;
};

/// What the command line chose to run; returns the exit code.
using action = std::function<int()>;

/// Each adds a subcommand, which sets `chosen` when it is given. All references outlive the
/// parsing.
void add_info(CLI::App& cli, const options& o, action& chosen);
void add_spy(CLI::App& cli, const options& o, action& chosen);
void add_plan(CLI::App& cli, const options& o, action& chosen);
void add_spmv(CLI::App& cli, const options& o, action& chosen);
void add_multiply(CLI::App& cli, const options& o, action& chosen);
void add_add(CLI::App& cli, const options& o, action& chosen);
void add_transpose(CLI::App& cli, const options& o, action& chosen);
void add_update(CLI::App& cli, const options& o, action& chosen);
void add_closure(CLI::App& cli, const options& o, action& chosen);
void add_convert(CLI::App& cli, const options& o, action& chosen);
void add_reorder(CLI::App& cli, const options& o, action& chosen);
void add_solve(CLI::App& cli, const options& o, action& chosen);
void add_report(CLI::App& cli, const options& o, action& chosen);
void add_tune(CLI::App& cli, const options& o, action& chosen);
void add_demo(CLI::App& cli, const options& o, action& chosen);
/// These describe `cli` itself, as it is when they run.
void add_completion(CLI::App& cli, action& chosen);
void add_man(CLI::App& cli, action& chosen);
void add_help(CLI::App& cli, action& chosen);

/// lacuna --version: facts of the build and of this machine.
int print_version(const options& o);

} // namespace lacuna::app
