// How help looks, and what to say to a command that does not exist.
#pragma once

#include <CLI/CLI.hpp>

namespace lacuna::app {

/// Layout of --help for `cli` and all its commands; call after they are added.
void set_help_style(CLI::App& cli);
/// A few lines for those who typed the program's name alone.
std::string short_help(const CLI::App& cli);
/// Throws a usage error that suggests the closest command if the first word is none.
void require_known_command(const CLI::App& cli, int argc, char** argv);

} // namespace lacuna::app
