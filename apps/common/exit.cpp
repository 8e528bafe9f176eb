#include "common/exit.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <system_error>

#include "common/json.hpp"

#include <lacuna/core/error.hpp>

namespace lacuna::app {
namespace {

struct failure {
  exit_code code;
  const char* kind;
  std::string message;
  std::string file = {};
  std::int64_t line = 0;
};

/// What the exception in flight means to the user. `usage` is what to type for help.
failure describe(const std::string& usage) {
  try {
    throw;
  } catch (const CLI::ParseError& e) {
    return {exit_usage, "usage", fmt::format("{}\nRun {} --help for usage.", e.what(), usage)};
  } catch (const bad_input& e) {
    return {exit_bad_input, e.kind(), e.what(), e.file(), e.line()};
  } catch (const size_mismatch& e) {
    return {exit_bad_input, e.kind(), e.what()};
  } catch (const out_of_memory& e) {
    return {exit_out_of_memory, e.kind(), e.what()};
  } catch (const std::bad_alloc&) {
    return {exit_out_of_memory, "out_of_memory", "out of memory"};
  } catch (const device_error& e) {
    return {exit_no_device, e.kind(), e.what()};
  } catch (const unsupported& e) {
    return {e.file().empty() ? exit_usage : exit_bad_input, e.kind(), e.what(), e.file(), e.line()};
  } catch (const error& e) {
    return {exit_failed, e.kind(), e.what()};
  } catch (const std::exception& e) {
    return {exit_failed, "error", e.what()};
  }
}

/// "lacuna info" once the command is known.
std::string usage_of(const CLI::App& cli) {
  std::string text = cli.get_name();
  for (const CLI::App* command : cli.get_subcommands()) text += " " + command->get_name();
  return text;
}

void report(const failure& f, const std::string& program, bool as_json) {
  if (!as_json) {
    fmt::print(stderr, "{}: {}\n", program, f.message);
    return;
  }
  const json at_file = f.file.empty() ? json() : json(f.file);
  const json at_line = f.line == 0 ? json() : json(f.line);
  print_json({{"error",
               {{"kind", f.kind}, {"message", f.message}, {"file", at_file}, {"line", at_line}}}});
}

/// What a failed write to stdout means. A reader who has seen enough (head -1) is no failure.
int lost_output(int error, const std::string& program, int code) {
  if (error == EPIPE) return code;
  std::fprintf(stderr, "%s: cannot write standard output: %s\n", program.c_str(),
               std::strerror(error));
  return exit_failed;
}

int parse_and_run(CLI::App& cli, int argc, char** argv, bool json_errors,
                  const std::function<int()>& body) {
  try {
    try {
      cli.parse(argc, argv);
    } catch (const CLI::Success& e) { // --help: prints and stops
      return cli.exit(e);
    }
    return body();
  } catch (const std::system_error&) {
    if (std::ferror(stdout) != 0) throw;
    report(describe(usage_of(cli)), cli.get_name(), json_errors);
    return exit_failed;
  } catch (...) {
    const failure f = describe(usage_of(cli));
    report(f, cli.get_name(), json_errors);
    return f.code;
  }
}

} // namespace

int run_program(CLI::App& cli, int argc, char** argv, bool json_errors,
                const std::function<int()>& body) {
  try {
    const int code = parse_and_run(cli, argc, argv, json_errors, body);
    return std::fflush(stdout) == 0 ? code : lost_output(errno, cli.get_name(), code);
  } catch (const std::system_error& e) { // thrown by fmt::print
    return lost_output(e.code().value(), cli.get_name(), exit_done);
  }
}

} // namespace lacuna::app
