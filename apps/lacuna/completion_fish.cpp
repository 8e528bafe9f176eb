#include "lacuna/completion.hpp"

#include <fmt/format.h>

namespace lacuna::app {
namespace {

using kind = completed_value::kind;

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string option_line(const completed_option& o, const std::string& when) {
  std::string text = "complete -c lacuna" + when;
  for (const auto& name : o.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (o.value.what == kind::files) text += " -r -F";
  if (o.value.what == kind::anything) text += " -x";
  if (o.value.what == kind::words)
    text += fmt::format(" -x -a '{}'", fmt::join(o.value.words, " "));
  return fmt::format("{} -d {}\n", text, quoted(o.help));
}

} // namespace

std::string fish_completion(const completed_program& program) {
  std::string names;
  for (const auto& command : program.commands) names += (names.empty() ? "" : " ") + command.name;
  std::string text =
      fmt::format("# fish completion for lacuna. Load it with: lacuna completion fish | source\n\n"
                  "function __lacuna_matrices\n"
                  "    set -l word (commandline -ct)\n"
                  "    if string match -q 'gen:*' -- $word\n"
                  "        printf '%s\\n' gen:{}\n"
                  "    else\n"
                  "        echo gen:\n"
                  "        complete -C \"__lacuna_no_command $word\" | string match -r "
                  "'^[^\\t]*(?:/|\\.(?:{}))(?:\\t.*)?$'\n"
                  "    end\n"
                  "end\n\n"
                  "complete -c lacuna -f\n",
                  fmt::join(program.generated, " gen:"), fmt::join(matrix_endings, "|"));
  const std::string none = fmt::format(" -n 'not __fish_seen_subcommand_from {}'", names);
  for (const auto& o : program.options) text += option_line(o, "");
  for (const auto& command : program.commands)
    text +=
        fmt::format("complete -c lacuna{} -a {} -d {}\n", none, command.name, quoted(command.help));
  for (const auto& command : program.commands) {
    const std::string when = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    for (const auto& o : command.options) text += option_line(o, when);
    if (command.arguments.empty()) continue;
    const completed_value& argument = command.arguments.front();
    if (argument.what == kind::matrices)
      text += fmt::format("complete -c lacuna{} -a '(__lacuna_matrices)'\n", when);
    if (argument.what == kind::words)
      text += fmt::format("complete -c lacuna{} -a '{}'\n", when, fmt::join(argument.words, " "));
  }
  return text;
}

} // namespace lacuna::app
