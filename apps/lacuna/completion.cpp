// lacuna completion bash: a script for the shell, made from the options as they are.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/exit.hpp"
#include "common/options.hpp"
#include "lacuna/options.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::app {
namespace {

/// "-o --output --size".
std::string option_words(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* o : app.get_options()) {
    for (const auto& name : o->get_snames()) words += " -" + name;
    for (const auto& name : o->get_lnames()) words += " --" + name;
  }
  return words.empty() ? words : words.substr(1);
}

/// One case for each option that takes a value: its choices, files, or nothing to offer.
std::string value_cases(const CLI::App& app) {
  std::string cases;
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_positional() || o->get_items_expected_max() == 0) continue;
    std::string names;
    for (const auto& name : o->get_snames()) names += (names.empty() ? "-" : "|-") + name;
    for (const auto& name : o->get_lnames()) names += (names.empty() ? "--" : "|--") + name;
    std::string choices = o->get_type_name();
    if (choices.find('|') != std::string::npos) {
      std::ranges::replace(choices, '|', ' ');
      cases += fmt::format("      {}) _lacuna_words '{}'; return ;;\n", names, choices);
    } else if (o->get_option_text() == "FILE") {
      cases += fmt::format("      {}) _lacuna_files; return ;;\n", names);
    } else {
      cases += fmt::format("      {}) return ;;\n", names);
    }
  }
  return cases;
}

/// What the first argument of a command can be.
std::string argument_line(const CLI::App& command) {
  for (const CLI::Option* o : command.get_options()) {
    if (!o->get_positional()) continue;
    if (o->get_option_text().starts_with("MATRIX")) return "_lacuna_matrices";
    std::string choices = o->get_type_name();
    std::ranges::replace(choices, '|', ' ');
    return fmt::format("_lacuna_words '{}'", choices);
  }
  return ":";
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
    case $each in
      *.mtx | *.mtx.gz | *.mtx.zst | *.mtx.bz2 | *.npz | *.npy | *.mat | *.h5 | *.rb | *.rua | *.rsa | *.tar.gz)
        COMPREPLY+=("$each") ;;
      *) if [[ -d $each ]]; then COMPREPLY+=("$each"); fi ;;
    esac
  done < <(compgen -f -- "$cur")
  if [[ gen: == "$cur"* ]]; then
    compopt +o filenames -o nospace 2>/dev/null
    COMPREPLY+=(gen:)
  fi
}

)";

std::string script(const CLI::App& cli) {
  std::string generated;
  for (const auto& g : gen::generators())
    generated +=
        fmt::format("{}gen:{}{}", generated.empty() ? "" : " ", g.name,
                    g.parameters.empty() ? "" : fmt::format(" gen:{}:{}", g.name, g.parameters));
  std::string commands, cases, values = value_cases(cli);
  for (const CLI::App* command : cli.get_subcommands({})) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {})\n"
                         "      case $previous in\n{}      esac\n"
                         "      if [[ $cur == -* ]]; then _lacuna_words '{} {}'; else {}; fi ;;\n",
                         command->get_name(), value_cases(*command), option_words(*command),
                         option_words(cli), argument_line(*command));
  }
  std::string text = functions;
  text += fmt::format("_lacuna_generated='{}'\n\n", generated);
  text += "_lacuna() {\n"
          "  local line=${COMP_LINE:0:COMP_POINT} word command= previous=\n"
          "  local cur=${line##*[[:space:]]}\n"
          "  local -a words\n"
          "  read -ra words <<<\"${line%\"$cur\"}\"\n"
          "  for word in \"${words[@]:1}\"; do\n"
          "    case \" " +
          commands +
          " \" in\n"
          "      *\" $word \"*) if [[ -z $command ]]; then command=$word; fi ;;\n"
          "    esac\n"
          "    previous=$word\n"
          "  done\n"
          "  COMPREPLY=()\n"
          "  case $previous in\n" +
          values + "  esac\n";
  text +=
      fmt::format("  case $command in\n"
                  "    '') if [[ $cur == -* ]]; then _lacuna_words '{}'; else _lacuna_words '{}'; "
                  "fi ;;\n{}  esac\n}}\ncomplete -F _lacuna lacuna\n",
                  option_words(cli), commands, cases);
  return text;
}

enum class shell { bash };

} // namespace

void add_completion(CLI::App& cli, action& chosen) {
  auto* command = cli.add_subcommand("completion", "a script that completes commands in the shell");
  const auto which = std::make_shared<shell>(shell::bash);
  add_choice<shell>(*command, "shell", *which, {{"bash", shell::bash}}, "bash")
      ->required()
      ->option_text("bash");
  command->footer("Example:\n  source <(lacuna completion bash)");
  command->callback([&cli, &chosen, which] { // which: must live until the parsing has set it
    chosen = [&cli] {
      fmt::print("{}", script(cli));
      return static_cast<int>(exit_done);
    };
  });
}

} // namespace lacuna::app
