#include "common/print.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <lacuna/core/printable.hpp>

namespace lacuna::app {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// "UTF-8" of en_GB.UTF-8@euro, in lower case and without dashes.
std::string codeset() {
  std::string_view locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  const auto dot = locale.find('.');
  if (dot == std::string_view::npos) return {};
  std::string name;
  for (const char c : locale.substr(dot + 1, locale.find('@') - dot - 1))
    if (c != '-') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
/// Of a UTF-8 character all bytes but the first.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Every character beyond ASCII that we print.
constexpr std::array<std::pair<std::string_view, std::string_view>, 21> in_ascii = {
    {{"µ", "u"},   {"±", "+-"}, {"→", "->"}, {"ᵀ", "^T"}, {"²", "^2"}, {"³", "^3"}, {"×", "x"},
     {"…", "..."}, {"✓", "ok"}, {"✗", "!!"}, {"│", "|"},  {"█", "#"},  {"▉", "#"},  {"▊", "#"},
     {"▋", "#"},   {"▌", "#"},  {"▍", "."},  {"▎", "."},  {"▏", "."},  {"–", "-"},  {"·", "-"}}};

/// A pipe without a reader must not kill for a message.
class no_sigpipe {
public:
  no_sigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  no_sigpipe(const no_sigpipe&) = delete;
  no_sigpipe& operator=(const no_sigpipe&) = delete;
  ~no_sigpipe() {
    const timespec now{};
    if (!was_pending_) (void)sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

void write_to_stderr(std::string_view text) {
  const no_sigpipe guard;
  while (!text.empty()) {
    const ssize_t done = ::write(STDERR_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return; // nobody can be told
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

} // namespace

bool shows_unicode() {
  static const bool answer = codeset() == "utf8" && variable("TERM") != "dumb";
  return answer;
}

std::string shown(std::string_view foreign) {
  return shows_unicode() ? printable(foreign) : printable_ascii(foreign);
}

std::string printable_ascii(std::string_view foreign) {
  std::string result;
  for (const char c : printable(foreign))
    if (is_ascii(c))
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return result;
}

std::string for_terminal(std::string_view text) {
  if (shows_unicode()) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const auto known = std::find_if(in_ascii.begin(), in_ascii.end(),
                                    [&](const auto& pair) { return text.starts_with(pair.first); });
    if (known != in_ascii.end()) {
      result += known->second;
      text.remove_prefix(known->first.size());
    } else {
      result += is_ascii(text[0]) ? text[0] : '?';
      do text.remove_prefix(1);
      while (!text.empty() && continues(text[0]));
    }
  }
  return result;
}

void print_bytes(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size())
    throw lost_stdout(errno, std::generic_category());
}

void print_text(std::FILE* to, std::string_view text) {
  if (to == stderr)
    write_to_stderr(for_terminal(text));
  else
    print_bytes(for_terminal(text));
}

void guard_standard_streams() {
  // Opened such that its use fails, as that of a closed one does.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

} // namespace lacuna::app
