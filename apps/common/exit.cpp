#include "common/exit.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>

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

/// What the exception in flight means to the user.
failure describe(const std::string& program) {
  try {
    throw;
  } catch (const CLI::ParseError& e) {
    return {exit_usage, "usage", fmt::format("{}\nRun {} --help for usage.", e.what(), program)};
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
    return {exit_usage, e.kind(), e.what()};
  } catch (const error& e) {
    return {exit_failed, e.kind(), e.what()};
  } catch (const std::exception& e) {
    return {exit_failed, "error", e.what()};
  }
}

} // namespace

int run_program(CLI::App& cli, int argc, char** argv, bool json_errors,
                const std::function<int()>& body) {
  try {
    try {
      cli.parse(argc, argv);
    } catch (const CLI::Success& e) { // --help: prints and stops
      return cli.exit(e);
    }
    return body();
  } catch (...) {
    const failure f = describe(cli.get_name());
    if (json_errors) {
      using json = nlohmann::ordered_json;
      const json at_file = f.file.empty() ? json() : json(f.file);
      const json at_line = f.file.empty() ? json() : json(f.line);
      const json object = {
          {"error",
           {{"kind", f.kind}, {"message", f.message}, {"file", at_file}, {"line", at_line}}}};
      fmt::print("{}\n", object.dump(2));
    } else {
      fmt::print(stderr, "{}: {}\n", cli.get_name(), f.message);
    }
    return f.code;
  }
}

} // namespace lacuna::app
