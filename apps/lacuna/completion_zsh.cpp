#include "lacuna/completion.hpp"

#include <fmt/format.h>
#include <string_view>

namespace lacuna::app {
namespace {

using kind = completed_value::kind;

/// Between single quotes, with the characters that _arguments and _describe give a meaning.
std::string quoted(const std::string& text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result;
}

std::string zsh_action(const completed_value& value) {
  switch (value.what) {
  case kind::words: return fmt::format("({})", fmt::join(value.words, " "));
  case kind::files: return "_files";
  case kind::matrices: return "_lacuna_matrices";
  default: return " ";
  }
}

/// Specifications for _arguments, one line a name.
std::string specifications(const std::vector<completed_option>& options, const char* indent) {
  std::string text;
  for (const auto& o : options) {
    const bool valued = o.value.what != kind::none;
    const std::string value =
        valued ? fmt::format(":{}:{}", quoted(o.value.title, ":"), zsh_action(o.value)) : "";
    for (const auto& name : o.names)
      text +=
          fmt::format("{}'({}){}{}[{}]{}'\n", indent, fmt::join(o.names, " "), name,
                      valued && name.starts_with("--") ? "=" : "", quoted(o.help, "[]:"), value);
  }
  return text;
}

} // namespace

std::string zsh_completion(const completed_program& program) {
  std::string text =
      "#compdef lacuna\n"
      "# zsh completion for lacuna. Load it with: source <(lacuna completion zsh)\n\n"
      "_lacuna_matrices() {\n"
      "  if compset -P 'gen:'; then\n"
      "    local -a generated=(\n";
  for (const auto& each : program.generated) text += fmt::format("      '{}'\n", each);
  text += fmt::format("    )\n"
                      "    compadd -a generated\n"
                      "    return\n"
                      "  fi\n"
                      "  _alternative 'files:matrix file:_files -g \"*.({})\"' \\\n"
                      "    'generated:generated matrix:compadd -S \"\" gen:'\n"
                      "}}\n\n",
                      fmt::join(matrix_endings, "|"));
  text += "_lacuna() {\n"
          "  local curcontext=$curcontext state line\n"
          "  local -A opt_args\n"
          "  local -a global=(\n";
  text += specifications(program.options, "    ");
  text += "  )\n  local -a commands=(\n";
  for (const auto& command : program.commands)
    text += fmt::format("    '{}:{}'\n", command.name, quoted(command.help, ":"));
  text += "  )\n"
          "  _arguments -C $global '1:command:->command' '*::argument:->argument' && return\n"
          "  case $state in\n"
          "    command) _describe -t commands command commands ;;\n"
          "    argument)\n"
          "      case $words[1] in\n";
  for (const auto& command : program.commands) {
    text += fmt::format("        {})\n          local -a own=(\n{}", command.name,
                        specifications(command.options, "            "));
    for (const auto& argument : command.arguments)
      text +=
          fmt::format("            ':{}:{}'\n", quoted(argument.title, ":"), zsh_action(argument));
    text += "          )\n          _arguments $global $own ;;\n";
  }
  return text + "      esac ;;\n  esac\n}\n\n"
                "if [[ $funcstack[1] == _lacuna ]]; then _lacuna \"$@\"; else compdef _lacuna "
                "lacuna; fi\n";
}

} // namespace lacuna::app
