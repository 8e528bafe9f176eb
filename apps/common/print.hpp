// Text for people, as their terminal can show it.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace lacuna::app {

/// Whether more than ASCII may be printed: the locale (LC_ALL, else LC_CTYPE, else LANG) is one of
/// UTF-8, and TERM is not "dumb".
bool shows_unicode();

/// A name, or other text that is not ours, on one line of the terminal: printable(), or
/// printable_ascii() where that is all it shows.
std::string shown(std::string_view foreign);
/// printable(), and what is not ASCII as \xNN.
std::string printable_ascii(std::string_view foreign);
/// Our own text; without Unicode, in ASCII: "->" for an arrow.
std::string for_terminal(std::string_view text);

/// Standard output could not be written.
struct lost_stdout : std::system_error {
  using std::system_error::system_error;
};

/// Prints text for people. To stdout: throws lost_stdout. To stderr: whether anyone reads it, or
/// can, changes nothing.
void print_text(std::FILE* to, std::string_view text);
/// As it is, on stdout; throws lost_stdout.
void print_bytes(std::string_view text);

template <class... A> void print(std::FILE* to, fmt::format_string<A...> format, A&&... a) {
  print_text(to, fmt::format(format, std::forward<A>(a)...));
}
template <class... A> void print(fmt::format_string<A...> format, A&&... a) {
  print_text(stdout, fmt::format(format, std::forward<A>(a)...));
}

/// A closed stdin, stdout or stderr (2>&-) stays unusable, instead of becoming the next file that
/// is opened. Call before any file is.
void guard_standard_streams();

} // namespace lacuna::app
