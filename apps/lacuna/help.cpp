#include "lacuna/help.hpp"

#include <fmt/format.h>

#include "common/exit.hpp"
#include "common/print.hpp"
#include "common/text.hpp"
#include "lacuna/options.hpp"

namespace lacuna::app {
namespace {

/// CLI11's layout, with the usage line written for people.
class help_style : public CLI::Formatter {
public:
  help_style() {
    column_width(28);
    label("Positionals", "Arguments");
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (app->get_parent() == nullptr)
      return fmt::format("\nUsage: {} [OPTIONS] COMMAND ...\n", name);
    std::string text = fmt::format("\nUsage: {}", name);
    for (const CLI::Option* o : app->get_options())
      if (o->get_positional()) text += " " + make_option_usage(o);
    for (const CLI::Option* o : app->get_options())
      if (!o->get_positional() && o->get_required())
        text += fmt::format(" -{} {}", o->get_snames().front(), o->get_option_text());
    return text + " [OPTIONS]\n";
  }
  std::string make_option_name(const CLI::Option* o, bool is_positional) const override {
    if (is_positional) return o->get_name(true, false);
    // Long names of options with a short one, and of those without, begin in the same column.
    const std::string first = o->get_snames().empty() ? "    " : "-" + o->get_snames().front();
    if (o->get_lnames().empty()) return first;
    return first + (o->get_snames().empty() ? "--" : ", --") + o->get_lnames().front();
  }
  /// In lines of up to 100 characters; CLI11 indents those that follow.
  std::string make_option_desc(const CLI::Option* o) const override {
    const std::size_t width = 100 - get_column_width();
    std::string text = CLI::Formatter::make_option_desc(o);
    for (std::size_t line = 0; text.size() - line > width;) {
      const std::size_t space = text.rfind(' ', line + width);
      if (space == std::string::npos || space <= line) break;
      text[space] = '\n';
      line = space + 1;
    }
    return text;
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    return CLI::detail::find_and_replace(text, "\n\n\n", "\n\n");
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string own =
        app->get_parent() == nullptr
            ? ""
            : "Options of lacuna itself (--device, --json, ...) may stand here too.\n\n";
    return own + app->get_footer() + "\n";
  }
};

std::vector<std::string> command_names(const CLI::App& cli) {
  std::vector<std::string> names;
  for (const CLI::App* command : cli.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

} // namespace

void set_help_style(CLI::App& cli) {
  const auto style = std::make_shared<help_style>();
  cli.formatter(style);
  for (CLI::App* command : cli.get_subcommands({})) {
    command->formatter(style);
    command->group("Commands");
    command->get_help_ptr()->description("print this help and stop");
  }
  cli.get_help_ptr()->description("print this help and stop");
}

std::string short_help(const CLI::App& cli) {
  std::string text = fmt::format("{}\n\nUsage: {} [OPTIONS] COMMAND ...\n\n", cli.get_description(),
                                 cli.get_name());
  for (const CLI::App* command : cli.get_subcommands({}))
    text += fmt::format("  {:<12}{}\n", command->get_name(), command->get_description());
  return text + fmt::format("\nRun {0} COMMAND --help for one of them, {0} demo for a tour.\n",
                            cli.get_name());
}

namespace {

[[noreturn]] void throw_no_command(const CLI::App& cli, const std::string& word) {
  const auto names = command_names(cli);
  const std::string like = closest(word, names);
  throw CLI::ParseError(
      like.empty()
          ? fmt::format("there is no command '{}'; there are {}", word, fmt::join(names, ", "))
          : fmt::format("there is no command '{}'; did you mean '{}'?", word, like),
      exit_usage);
}

} // namespace

void add_help(CLI::App& cli, action& chosen) {
  auto* command = cli.add_subcommand("help", "help for a command, as COMMAND --help");
  const auto which = std::make_shared<std::string>();
  command->add_option("COMMAND", *which, "its name; without one, all commands")
      ->option_text("COMMAND");
  command->footer("Example:\n  lacuna help spmv");
  command->callback([&cli, &chosen, which] {
    chosen = [&cli, which] {
      const CLI::App* about = &cli;
      if (!which->empty()) {
        const auto commands = cli.get_subcommands({});
        const auto named = std::ranges::find(commands, *which, &CLI::App::get_name);
        if (named == commands.end()) throw_no_command(cli, *which);
        about = *named;
      }
      // Asked of the program itself, CLI11 would print the help of the command at hand: `help`.
      print_text(stdout, about->get_formatter()->make_help(
                             about, which->empty() ? "lacuna" : "lacuna " + *which,
                             CLI::AppFormatMode::Normal));
      return static_cast<int>(exit_done);
    };
  });
}

void require_known_command(const CLI::App& cli, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-") && word != "-") {
      const CLI::Option* const option = cli.get_option_no_throw(word.substr(0, word.find('=')));
      if (option == nullptr) return; // the parser tells
      if (option->get_items_expected_max() > 0 && word.find('=') == word.npos) ++i;
      continue;
    }
    const auto names = command_names(cli);
    if (std::ranges::find(names, word) != names.end()) return;
    throw_no_command(cli, word);
  }
}

} // namespace lacuna::app
