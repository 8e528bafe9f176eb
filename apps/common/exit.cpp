#include "common/exit.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sstream>

#include "common/json.hpp"
#include "common/print.hpp"
#include "common/text.hpp"

#include <lacuna/core/error.hpp>

namespace lacuna::app {
namespace {

struct failure {
  exit_code code;
  const char* kind;
  std::string message;
  std::string file = {};
  std::int64_t line = 0;
  std::string advice = {}; ///< a line of its own
};

/// What the exception in flight means to the user. `usage` is what to type for help.
failure describe(const std::string& usage) {
  try {
    throw;
  } catch (const CLI::ParseError& e) {
    return {exit_usage, "usage", e.what(), {}, 0, fmt::format("Run {} --help for usage.", usage)};
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

/// Names what was not expected, and the option that is most like it.
CLI::ParseError unexpected(const CLI::App& cli) {
  const std::vector<std::string> extras = cli.remaining(true);
  const auto option = std::ranges::find_if(
      extras, [](const std::string& word) { return word.starts_with("-") && word != "-"; });
  const auto chosen = cli.get_subcommands();
  const std::string command_name = chosen.empty() ? cli.get_name() : chosen.front()->get_name();
  if (option == extras.end())
    return {fmt::format("{} has no use for '{}'", command_name, extras.front()), exit_usage};
  const std::string word = option->substr(0, option->find('='));
  std::vector<std::string> names;
  const auto add_names = [&](const CLI::App& app) {
    for (const CLI::Option* o : app.get_options()) {
      for (const auto& name : o->get_snames()) names.push_back("-" + name);
      for (const auto& name : o->get_lnames()) names.push_back("--" + name);
    }
  };
  for (const CLI::App* command : chosen) add_names(*command);
  add_names(cli);
  const std::string like = closest(word, names);
  return {fmt::format("{} has no option '{}'{}", command_name, word,
                      like.empty() ? "" : fmt::format("; did you mean '{}'?", like)),
          exit_usage};
}

/// An exit code says what failed even where this cannot be printed.
void report(const failure& f, const std::string& program, bool as_json) {
  const std::string advice = f.advice.empty() ? "" : "\n" + f.advice;
  if (!as_json) {
    print(stderr, "{}: {}{}\n", program, shown(f.message), advice);
    return;
  }
  const json at_file = f.file.empty() ? json() : json(f.file);
  const json at_line = f.line == 0 ? json() : json(f.line);
  try {
    print_json({{"error",
                 {{"kind", f.kind},
                  {"message", f.message + advice},
                  {"file", at_file},
                  {"line", at_line}}}});
  } catch (const lost_stdout&) { // the code tells
  }
}

/// What a failed write to stdout means. A reader who has seen enough (head -1) is no failure.
int lost_output(int reason, const std::string& program, int code) {
  if (reason == EPIPE) return code;
  print(stderr, "{}: cannot write standard output: {}\n", program, std::strerror(reason));
  return code == exit_done ? exit_failed : code;
}

int parse_and_run(CLI::App& cli, int argc, char** argv, bool json_errors,
                  const std::function<int()>& body) {
  try {
    try {
      cli.parse(argc, argv);
    } catch (const CLI::Success& e) { // --help: prints and stops
      std::ostringstream text;
      const int code = cli.exit(e, text, text);
      print_text(stdout, text.str());
      return code;
    } catch (const CLI::ExtrasError&) {
      throw unexpected(cli);
    }
    return body();
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0) throw; // what print() and fmt::print throw
    report({exit_failed, "error", e.what()}, cli.get_name(), json_errors);
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
  guard_standard_streams();
  try {
    const int code = parse_and_run(cli, argc, argv, json_errors, body);
    return std::fflush(stdout) == 0 ? code : lost_output(errno, cli.get_name(), code);
  } catch (const std::system_error& e) {
    return lost_output(e.code().value(), cli.get_name(), exit_done);
  }
}

} // namespace lacuna::app
