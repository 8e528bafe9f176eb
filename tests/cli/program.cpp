#include "cli/program.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lacuna::test {

const char* const small_symmetric = "%%MatrixMarket matrix coordinate real symmetric\n"
                                    "% made by hand\n"
                                    "3 3 4\n1 1 2\n2 1 -1\n2 2 0\n3 3 4\n";

namespace {

/// Both ends of a pipe or of a terminal; what is written to `child` can be read from `parent`.
struct channel {
  int parent = -1, child = -1;
};

channel make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  return {ends[0], ends[1]};
}

channel make_terminal() {
  channel c;
  c.parent = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (c.parent < 0 || ::grantpt(c.parent) != 0 || ::unlockpt(c.parent) != 0) std::abort();
  c.child = ::open(::ptsname(c.parent), O_RDWR | O_NOCTTY | O_CLOEXEC);
  winsize size{};
  size.ws_col = 80;
  size.ws_row = 24;
  (void)::ioctl(c.parent, TIOCSWINSZ, &size);
  return c;
}

/// Between fork and exec.
[[noreturn]] void become_program(const std::vector<std::string>& arguments, const run_settings& s,
                                 const std::filesystem::path& folder, int in, int out, int err) {
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (s.without_stdout) ::close(1);
  if (s.without_stderr) ::close(2);
  std::signal(SIGPIPE, s.ignore_sigpipe ? SIG_IGN : SIG_DFL);
  ::unsetenv("NO_COLOR");
  ::unsetenv("COLUMNS");
  ::setenv("LC_ALL", "C.UTF-8", 1);
  ::setenv("TERM", "xterm", 1);
  for (const auto& each : s.environment) ::putenv(::strdup(each.c_str()));
  std::vector<char*> argv = {::strdup("lacuna")};
  for (const auto& a : arguments) argv.push_back(::strdup(a.c_str()));
  argv.push_back(nullptr);
  ::execv(s.program.empty() ? LACUNA_PROGRAM : s.program.c_str(), argv.data());
  ::_exit(127);
}

/// Appends what can be read; false at the end.
bool take(int fd, std::string& text) {
  char buffer[1 << 14];
  const ssize_t got = ::read(fd, buffer, sizeof buffer);
  if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  return got > 0; // a terminal without writers gives EIO
}

} // namespace

::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess() << text;
  return ::testing::AssertionFailure() << "no '" << part << "' in\n" << text;
}
::testing::AssertionResult begins(const std::string& text, const std::string& part) {
  if (text.starts_with(part)) return ::testing::AssertionSuccess() << text;
  return ::testing::AssertionFailure() << "'" << part << "' is not the beginning of\n" << text;
}

void Cli::SetUp() {
  std::string name = (std::filesystem::temp_directory_path() / "lacuna-cli-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  folder_ = name;
}
void Cli::TearDown() {
  if (!folder_.empty()) std::filesystem::remove_all(folder_);
}

outcome Cli::run(const std::vector<std::string>& arguments, const run_settings& s) {
  const channel in = make_pipe();
  const channel out = s.stdout_terminal ? make_terminal() : make_pipe();
  const channel err = s.stderr_terminal ? make_terminal() : make_pipe();
  const int file = s.output.empty() ? -1 : ::open(s.output.c_str(), O_WRONLY | O_CLOEXEC);
  const int errors = s.errors.empty() ? -1 : ::open(s.errors.c_str(), O_WRONLY | O_CLOEXEC);
  if (s.closed_pipe) ::close(out.parent);
  if (s.closed_error_pipe) ::close(err.parent);
  const pid_t child = ::fork();
  if (child == 0)
    become_program(arguments, s, folder_, in.parent, file >= 0 ? file : out.child,
                   errors >= 0 ? errors : err.child);
  for (const int fd : {in.parent, out.child, err.child, file, errors})
    if (fd >= 0) ::close(fd);
  // Inputs here are far smaller than a pipe's buffer.
  if (!s.input.empty() && ::write(in.child, s.input.data(), s.input.size()) < 0)
    ADD_FAILURE() << "the program does not read its input";
  ::close(in.child);

  outcome result;
  bool sent = s.signal == 0;
  pollfd open[2] = {{s.closed_pipe ? -1 : out.parent, POLLIN, 0},
                    {s.closed_error_pipe ? -1 : err.parent, POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    (void)::poll(open, 2, 10);
    if (open[0].fd >= 0 && open[0].revents != 0 && !take(open[0].fd, result.out)) open[0].fd = -1;
    if (open[1].fd >= 0 && open[1].revents != 0 && !take(open[1].fd, result.err)) open[1].fd = -1;
    if (!sent && result.err.find(s.signal_at) != std::string::npos) {
      ::kill(child, s.signal);
      sent = true;
    }
  }
  if (!s.closed_pipe) ::close(out.parent);
  if (!s.closed_error_pipe) ::close(err.parent);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

void Cli::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}
std::string Cli::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
  return text.str();
}
std::vector<std::string> Cli::files() const {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder_))
    names.push_back(each.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace lacuna::test
