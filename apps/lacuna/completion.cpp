// lacuna completion SHELL: a script for the shell, made from the options as they are.
#include "lacuna/completion.hpp"

#include <CLI/CLI.hpp>

#include "common/exit.hpp"
#include "common/options.hpp"
#include "common/print.hpp"
#include "lacuna/options.hpp"
#include <lacuna/gen/generate.hpp>

namespace lacuna::app {
namespace {

completed_value value_of(const CLI::App& cli, const CLI::Option& o) {
  using kind = completed_value::kind;
  completed_value value;
  if (o.get_items_expected_max() == 0) return value;
  value.title = o.get_option_text();
  value.what = kind::anything;
  if (value.title.starts_with("MATRIX")) value.what = kind::matrices;
  if (value.title == "FILE") value.what = kind::files;
  if (value.title == "COMMAND")
    for (const CLI::App* command : cli.get_subcommands({}))
      value.words.push_back(command->get_name());
  if (o.get_type_name().find('|') != std::string::npos)
    value.words = CLI::detail::split(o.get_type_name(), '|');
  if (!value.words.empty()) value.what = kind::words;
  return value;
}

std::vector<completed_option> options_of(const CLI::App& cli, const CLI::App& app) {
  std::vector<completed_option> options;
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_positional()) continue;
    completed_option each{{}, o->get_description(), value_of(cli, *o)};
    for (const auto& name : o->get_snames()) each.names.push_back("-" + name);
    for (const auto& name : o->get_lnames()) each.names.push_back("--" + name);
    options.push_back(std::move(each));
  }
  return options;
}

completed_program describe(const CLI::App& cli) {
  completed_program program{options_of(cli, cli), {}, {}};
  for (const CLI::App* command : cli.get_subcommands({})) {
    completed_command each{
        command->get_name(), command->get_description(), options_of(cli, *command), {}};
    for (const CLI::Option* o : command->get_options())
      if (o->get_positional()) each.arguments.push_back(value_of(cli, *o));
    program.commands.push_back(std::move(each));
  }
  for (const auto& g : gen::generators()) {
    program.generated.push_back(g.name);
    if (!g.parameters.empty()) program.generated.push_back(g.name + ":" + g.parameters);
  }
  return program;
}

enum class shell { bash, zsh, fish };

std::string script(shell which, const completed_program& program) {
  switch (which) {
  case shell::bash: return bash_completion(program);
  case shell::zsh: return zsh_completion(program);
  case shell::fish: break;
  }
  return fish_completion(program);
}

} // namespace

void add_completion(CLI::App& cli, action& chosen) {
  auto* command = cli.add_subcommand("completion", "a script that completes commands in the shell");
  const auto which = std::make_shared<shell>(shell::bash);
  add_choice<shell>(*command, "SHELL", *which,
                    {{"bash", shell::bash}, {"zsh", shell::zsh}, {"fish", shell::fish}},
                    "bash, zsh or fish")
      ->required()
      ->option_text("bash|zsh|fish");
  command->footer("Examples:\n"
                  "  source <(lacuna completion bash)    # bash and zsh: in ~/.bashrc, ~/.zshrc\n"
                  "  lacuna completion fish | source     # in ~/.config/fish/config.fish");
  command->callback([&cli, &chosen, which] {
    chosen = [&cli, which] {
      print_bytes(script(*which, describe(cli)));
      return static_cast<int>(exit_done);
    };
  });
}

} // namespace lacuna::app
