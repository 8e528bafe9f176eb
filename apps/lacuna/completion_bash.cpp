#include "lacuna/completion.hpp"

#include <fmt/format.h>

namespace lacuna::app {
namespace {

using kind = completed_value::kind;

/// "-o --output --size".
std::string option_words(const std::vector<completed_option>& options) {
  std::string words;
  for (const auto& o : options) words += fmt::format(" {}", fmt::join(o.names, " "));
  return words.empty() ? words : words.substr(1);
}

/// What fills COMPREPLY.
std::string bash_action(const completed_value& value) {
  switch (value.what) {
  case kind::words: return fmt::format("_lacuna_words '{}'", fmt::join(value.words, " "));
  case kind::files: return "_lacuna_files";
  case kind::matrices: return "_lacuna_matrices";
  default: return ":";
  }
}

/// One case for each option that takes a value.
std::string value_cases(const std::vector<completed_option>& options, const char* indent) {
  std::string cases;
  for (const auto& o : options)
    if (o.value.what != kind::none)
      cases += fmt::format("{}{}) {}; return ;;\n", indent, fmt::join(o.names, "|"),
                           bash_action(o.value));
  return cases;
}

/// "--device|--threads": options before the command whose values are not the command.
std::string valued_options(const std::vector<completed_option>& options) {
  std::string names;
  for (const auto& o : options)
    if (o.value.what != kind::none)
      names += fmt::format("{}{}", names.empty() ? "" : "|", fmt::join(o.names, "|"));
  return names;
}

constexpr const char* functions =
    R"(# bash completion for lacuna. Load it with: source <(lacuna completion bash)

# Bash cuts words at : and =, and expects only what follows the last cut.
_lacuna_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
  local cut=${cur%"${cur##*[:=]}"}
  [[ $COMP_WORDBREAKS == *:* ]] || cut=
  COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}
_lacuna_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
_lacuna_matrices() {
  if [[ $cur == gen:* ]]; then
    _lacuna_words "$_lacuna_generated"
    return
  fi
  compopt -o filenames 2>/dev/null
  local each
  COMPREPLY=()
  while IFS= read -r each; do
    if [[ -d $each || $each =~ \.($_lacuna_endings)$ ]]; then COMPREPLY+=("$each"); fi
  done < <(compgen -f -- "$cur")
  if [[ gen: == "$cur"* ]]; then
    compopt +o filenames -o nospace 2>/dev/null
    COMPREPLY+=(gen:)
  fi
}

)";

constexpr const char* beginning =
    R"(_lacuna() {{
  local line=${{COMP_LINE:0:COMP_POINT}} word command= previous=
  local cur=${{line##*[[:space:]]}}
  local -a words
  read -ra words <<<"${{line%"$cur"}}"
  for word in "${{words[@]:1}}"; do
    case $previous in
      {}) ;; # its value
      *) if [[ -z $command && " {} " == *" $word "* ]]; then command=$word; fi ;;
    esac
    previous=$word
  done
  if [[ $cur == --*=* ]]; then
    previous=${{cur%%=*}}
    cur=${{cur#*=}}
  fi
  COMPREPLY=()
)";

} // namespace

std::string bash_completion(const completed_program& program) {
  std::string names;
  for (const auto& command : program.commands) names += (names.empty() ? "" : " ") + command.name;
  std::string text = functions;
  text += fmt::format("_lacuna_generated='gen:{}'\n_lacuna_endings='{}'\n\n",
                      fmt::join(program.generated, " gen:"), fmt::join(matrix_endings, "|"));
  text += fmt::format(beginning, valued_options(program.options), names);
  text += fmt::format("  case $previous in\n{}  esac\n  case $command in\n",
                      value_cases(program.options, "    "));
  const std::string global = option_words(program.options);
  text += fmt::format("    '') if [[ $cur == -* ]]; then _lacuna_words '{}'; else _lacuna_words "
                      "'{}'; fi ;;\n",
                      global, names);
  for (const auto& command : program.commands)
    text += fmt::format("    {})\n      case $previous in\n{}      esac\n"
                        "      if [[ $cur == -* ]]; then _lacuna_words '{} {}'; else {}; fi ;;\n",
                        command.name, value_cases(command.options, "        "),
                        option_words(command.options), global,
                        command.arguments.empty() ? ":" : bash_action(command.arguments.front()));
  return text + "  esac\n}\ncomplete -F _lacuna lacuna\n";
}

} // namespace lacuna::app
