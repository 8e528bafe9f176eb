// lacuna man: the manual page, made from the options as they are.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sstream>

#include "common/exit.hpp"
#include "common/print.hpp"
#include "lacuna/options.hpp"
#include <lacuna/core/config.hpp>
#include <lacuna/plan/decision.hpp>

namespace lacuna::app {
namespace {

/// Text that roff prints as it stands.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) switch (c) {
    case '\\': result += "\\e"; break;
    case '-': result += "\\-"; break;
    case '\'': result += "\\(aq"; break;
    case '`': result += "\\(ga"; break;
    case '^': result += "\\(ha"; break;
    case '~': result += "\\(ti"; break;
    default:
      if (c == '.' && (result.empty() || result.back() == '\n')) result += "\\&";
      result += c;
    }
  return result;
}

/// "-o, --output FILE" in bold and italics.
std::string option_title(const CLI::Option& o) {
  std::string names;
  const auto add = [&](const std::string& name) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  };
  for (const auto& name : o.get_snames()) add("-" + name);
  for (const auto& name : o.get_lnames()) add("--" + name);
  if (o.get_positional()) add(o.get_name(true, false));
  if (!o.get_option_text().empty() && !o.get_positional())
    names += fmt::format(" \\fI{}\\fR", roff(o.get_option_text()));
  return names;
}

std::string option_list(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* o : app.get_options())
    if (o != app.get_help_ptr())
      text += fmt::format(".TP\n{}\n{}\n", option_title(*o), roff(o->get_description()));
  return text;
}

/// A footer is prose, then lines that begin with two blanks: commands to type.
std::string prose_and_examples(const std::string& footer) {
  std::string text;
  bool typed = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool types = line.starts_with("  ");
    if (types != typed) text += types ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n";
    typed = types;
    text += line.empty() ? ".PP\n" : roff(types ? line.substr(2) : line) + "\n";
  }
  return text + (typed ? ".fi\n.RE\n" : "");
}

std::string usage_line(const CLI::App& command) {
  std::string text = fmt::format("\\fBlacuna {}\\fR", roff(command.get_name()));
  for (const CLI::Option* o : command.get_options())
    if (o->get_positional()) {
      const std::string name = fmt::format("\\fI{}\\fR", roff(o->get_name(true, false)));
      text += o->get_required() ? " " + name : fmt::format(" [{}]", name);
    }
  for (const CLI::Option* o : command.get_options())
    if (!o->get_positional() && o->get_required())
      text += fmt::format(" \\fB\\-{}\\fR \\fI{}\\fR", o->get_snames().front(),
                          roff(o->get_option_text()));
  return text + " [\\fIOPTIONS\\fR]";
}

std::string page(const CLI::App& cli) {
  std::string text = fmt::format(
      ".TH LACUNA 1 \"\" \"Lacuna {0}\" \"User Commands\"\n"
      ".SH NAME\nlacuna \\- sparse matrices that adapt, change and solve, on CPUs and NVIDIA GPUs\n"
      ".SH SYNOPSIS\n\\fBlacuna\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n"
      ".SH DESCRIPTION\n"
      "A matrix is named by a file (.mtx, .npz of SciPy, .npy, .mat, .bsp.h5 of Binsparse, "
      "Rutherford\\-Boeing, or an archive of such files; packed by gzip, zstd or bzip2), by "
      "\\fB\\-\\fR (standard input, "
      "Matrix Market), or by \\fBgen:\\fINAME\\fR[\\fB:\\fIkey\\fB=\\fIvalue\\fR,...], a "
      "generated one; \\fBlacuna info gen:\\fR lists those.\n"
      ".PP\nVectors are Matrix Market array files, .npy, or matrices of one column.\n"
      ".PP\nResults go to standard output, progress and messages to standard error. "
      "\\fB\\-o\\fR writes a file in the format of its extension; it appears under its name when "
      "it "
      "is complete, or not at all.\n"
      ".SH OPTIONS\nThese may stand before or after the command.\n{1}",
      LACUNA_VERSION, option_list(cli));
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : cli.get_subcommands({}))
    text += fmt::format(".SS \"{}\"\n{}\n.PP\n{}\n{}.PP\n{}", roff(command->get_name()),
                        usage_line(*command), roff(command->get_description()),
                        option_list(*command), prose_and_examples(command->get_footer()));
  text += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] :
       {std::pair(0, "done"),
        {1, "the job ran and did not succeed, or its output could not be written"},
        {2, "wrong usage, or something this build does not offer"},
        {3, "unreadable or invalid input; the message names the file and line"},
        {4, "out of memory, or over \\-\\-memory\\-limit"},
        {5, "the device asked for is not there"}})
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code, meaning);
  text +=
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBNO_COLOR\\fR\nIf set and not empty, no colours in the terminal.\n"
      ".TP\n\\fBCOLUMNS\\fR\nWidth of pictures where standard output is no terminal.\n"
      ".TP\n\\fBLC_ALL\\fR, \\fBLC_CTYPE\\fR, \\fBLANG\\fR, \\fBTERM\\fR\nOnly ASCII is printed "
      "where the locale is not one of UTF\\-8 or the terminal is \\(lqdumb\\(rq.\n"
      ".TP\n\\fBOMP_NUM_THREADS\\fR\nThreads on the CPU, unless \\fB\\-\\-threads\\fR says.\n"
      ".TP\n\\fBLACUNA_CONFIG\\fR\nFolder of what \\fBlacuna tune\\fR has stored; else "
      "XDG_CONFIG_HOME/lacuna, else ~/.config/lacuna.\n"
      ".TP\n\\fBLACUNA_PROGRESS_AFTER\\fR\nSeconds of work after which progress is shown on a "
      "terminal; else 0.3.\n"
      ".TP\n\\fBLACUNA_FORCE_FORMAT\\fR\nThe format that every plan takes: ";
  text += planned_formats_in_words() + ".\n";
  return text;
}

} // namespace

void add_man(CLI::App& cli, action& chosen) {
  auto* command = cli.add_subcommand("man", "the manual page, for man -l");
  command->footer("Example:\n  lacuna man | man -l -");
  command->callback([&cli, &chosen] {
    chosen = [&cli] {
      print_bytes(page(cli));
      return static_cast<int>(exit_done);
    };
  });
}

} // namespace lacuna::app
